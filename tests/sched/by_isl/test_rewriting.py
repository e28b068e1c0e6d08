"""Expressions of loops, made by hand and from functions; the texts are isl's, typed by hand."""

import pytest

import polyvolta.isl as isl
from polyvolta.sets import PolyvoltaError

BUILD = isl.AstBuild.from_context(isl.Set("{ : }"))
KNOWN = isl.AstBuild.from_context(isl.Set("[n] -> { : n >= 10 }"))
x, y, z = (isl.AstExpr.from_id(isl.Id(name)) for name in "xyz")
four, less = isl.AstExpr.from_val(isl.Val(4)), isl.AstExpr.from_val(isl.Val(-3))


@pytest.mark.parametrize("made, wanted", [
    (x.add(y).mul(z), "(x + y) * z"), (x.mul(y).add(z), "x * y + z"), (x.sub(y.sub(z)), "x - (y - z)"),
    (x.sub(y).sub(z), "x - y - z"), (x.add(y.add(z)), "x + (y + z)"), (x.neg(), "-x"), (x.add(y).neg(), "-(x + y)"),
    (x.neg().neg(), "--x"), (less.add(x), "-3 + x"), (x.add(less), "x + -3"), (x.sub(less), "x - -3"),
    (x.div(y), "x / y"), (x.pdiv_q(four), "x / 4"), (x.pdiv_r(four), "x % 4"), (x.pdiv_r(four).mul(y), "(x % 4) * y"),
    (x.mul(y.pdiv_r(four)), "x * (y % 4)"), (x.mul(y).pdiv_r(four), "x * y % 4"), (x.and_(y), "x && y"),
    (x.and_then(y), "x && y"), (x.or_else(y), "x || y"), (x.and_(y.or_(z)), "x && (y || z)"),
    (x.or_(y.and_(z)), "x || (y && z)"), (x.lt(y.add(z)), "x < y + z"), (x.gt(y).and_(z.le(x)), "x > y && z <= x"),
    (x.gt(y).eq(z), "x > y == z"), (x.le(y).add(z), "(x <= y) + z"), (x.pdiv_q(y).pdiv_q(z), "x / y / z"),
    (x.pdiv_q(y.pdiv_q(z)), "x / (y / z)"), (x.div(y).mul(z), "(x / y) * z"), (x.neg().mul(y), "-x * y"),
    (x.mul(y.neg()), "x * -y"), (x.add(y.neg()), "x + -y"), (x.access([y, z.add(x)]), "x[y][z + x]"),
    (x.call([y.add(z), z.le(x)]), "x(y + z, z <= x)"), (x.access([y]).address_of(), "&x[y]"), (x.call([]), "x()"),
    (x.access([y]).add(z), "x[y] + z"), (x.access([]), "x"), (x.access([y]).access([z]), "x[y][z]"),
])  # fmt: skip
def test_expressions_made_by_hand(made, wanted):
    assert made.to_C_str() == wanted


def test_parts_and_other_parts():
    e = x.access([y.add(four)])
    assert e.to_str() == "{ op: access, args: [ { id: x }, { op: add, args: [ { id: y }, { val: 4 } ] } ] }"
    assert e.get_op_arg(1).get_op_type() == isl.ast_expr_op_type.add and e.get_op_n_arg() == 2
    assert e.set_op_arg(0, z).to_C_str() == "z[y + 4]"
    assert e.substitute_ids({isl.Id("y"): z.mul(x)}).to_C_str() == "x[z * x + 4]"
    assert x.add(y).is_equal(isl.AstExpr.from_id(isl.Id("x")).add(y)) and not x.is_equal(y)
    for wrong in (x.address_of, lambda: x.add(3), lambda: isl.AstExpr.from_id(3), lambda: e.get_op_arg(2)):
        with pytest.raises(PolyvoltaError):
            wrong()


@pytest.mark.parametrize("text, wanted", [
    ("[n] -> { [(floor(n/32))] }", "n / 32"), ("[n] -> { [(n mod 4)] }", "n % 4"), ("[n] -> { [(n)] : n >= 5 }", "n"),
    ("[n, m] -> { [(floor(m/4))] }", "floord(m, 4)"), ("[n, m] -> { [(-m - 1)] }", "-m - 1"),
    ("[n, m] -> { [(m mod 4)] }", "m - 4 * floord(m, 4)"), ("[n, m] -> { [(-m)] }", "-m"),
    ("[n] -> { [n/2] }", "n / 2"), ("[n] -> { [n/2 + 1/3] }", "(3 * n + 2) / 6"),
    ("[n] -> { [(n)/2] : n >= 99; [(2n)/2] : n < 99 }", "n >= 99 ? n / 2 : n"),
])  # fmt: skip
def test_functions_of_parameters(text, wanted):
    assert KNOWN.expr_from_pw_aff(isl.PwAff(text)).to_C_str() == wanted


@pytest.mark.parametrize("text, wanted", [
    ("[n] -> { : n >= 5 }", "1"), ("[n] -> { : n >= 15 }", "n >= 15"), ("[n] -> { : n < 5 }", "0"),
    ("[n, m] -> { : m mod 2 = 0 }", "m % 2 == 0"), ("[n, m] -> { : n >= 15 and m < 3 }", "n >= 15 && m <= 2"),
])  # fmt: skip
def test_conditions_on_parameters(text, wanted):
    assert KNOWN.expr_from_set(isl.Set(text)).to_C_str() == wanted


def test_a_function_by_cases_takes_its_value_where_they_hold():
    text = "[n, m] -> { [(n)] : m <= n; [(m + 1)] : n < m <= n + 5; [(7 - m)] : m > n + 5 }"
    e = BUILD.expr_from_pw_aff(isl.PwAff(text))
    c = e.to_C_str()
    for n in range(-4, 5):
        for m in range(-4, 15):
            assert _value(e, {"n": n, "m": m}) == (n if m <= n else m + 1 if m <= n + 5 else 7 - m), c


def _value(e, names):
    """The value of an expression of sums, comparisons and choices, by its parts."""
    kind, op = e.get_type(), isl.ast_expr_op_type
    if kind == isl.ast_expr_type.int:
        return int(e.get_val())
    if kind == isl.ast_expr_type.id:
        return names[e.get_id().name]
    args = [_value(e.get_op_arg(k), names) for k in range(e.get_op_n_arg())]
    how = {
        op.add: lambda a, b: a + b, op.sub: lambda a, b: a - b, op.mul: lambda a, b: a * b, op.minus: lambda a: -a,
        op.and_: lambda a, b: a and b, op.or_: lambda a, b: a or b, op.le: lambda a, b: a <= b,
        op.ge: lambda a, b: a >= b, op.lt: lambda a, b: a < b, op.gt: lambda a, b: a > b, op.eq: lambda a, b: a == b,
        op.select: lambda a, b, c: b if a else c,
    }  # fmt: skip
    return how[e.get_op_type()](*args)


ACCESSES = {"S": "{ S[i, j] -> A[i + j, 2i] }", "T": "{ T[i] -> B[i - 1] }"}
TILED = """{ domain: "[n] -> { S[i, j] : 0 <= i < n and 0 <= j < 4 }", child: {
    schedule: "[n] -> [{ S[i, j] -> [(32*floor(i/32))] }]", child: {
    schedule: "[n] -> [{ S[i, j] -> [(i mod 32)] }, { S[i, j] -> [(j)] }]" } } }"""


@pytest.mark.parametrize("times, calls, accesses", [
    ("[n] -> { S[i, j] -> [i, 0, j] : 0 <= i, j < n; T[i] -> [i, 1, 0] : 0 <= i < n }",
     ["S(c0, c2)", "T(c0)"], ["A[c0 + c2][2 * c0]", "B[c0 - 1]"]),
    ("{ S[i, j] -> [j, i] : 0 <= i < 5 and 0 <= j < i }", ["S(c1, c0)"], ["A[c0 + c1][2 * c1]"]),
    (TILED, ["S(c0 + c1, c2)"], ["A[c0 + c1 + c2][2 * c0 + 2 * c1]"]),
])  # fmt: skip
def test_accesses_are_rewritten_in_loop_variables(times, calls, accesses):
    found = []

    def rewritten(node, build):
        back = isl.PwMultiAff.from_map(isl.Map.from_union_map(build.get_schedule()).reverse())
        name = node.user_get_expr().get_op_arg(0).get_id().name
        access = isl.PwMultiAff(ACCESSES[name]).pullback_pw_multi_aff(back)
        found.append((build.call_from_pw_multi_aff(back).to_C_str(),
                      build.access_from_pw_multi_aff(access).to_C_str()))  # fmt: skip
        return isl.AstNode.user_from_expr(isl.AstExpr.from_id(isl.Id("use")).call(
            [build.access_from_multi_pw_aff(access).address_of(), four]))  # fmt: skip

    build, _ = BUILD.set_at_each_domain(rewritten)
    loops = (build.node_from_schedule(isl.Schedule(times)) if times.startswith("{ domain")
             else build.node_from_schedule_map(isl.UnionMap(times)))  # fmt: skip
    assert found == list(zip(calls, accesses, strict=True))
    assert [f"use(&{a}, 4);" for a in accesses] == [w.strip() for w in loops.to_C_str().splitlines() if "use" in w]
    while loops.get_type() != isl.ast_node_type.user:
        loops = loops.for_get_body() if loops.get_type() == isl.ast_node_type.for_ else loops.block_get_children()[-1]
    assert loops.user_get_expr().get_op_arg(0).to_C_str() == "use"


def test_inputs_are_the_loops_of_the_place():
    with pytest.raises(PolyvoltaError, match="0 loops here"):
        BUILD.expr_from_pw_aff(isl.PwAff("{ [i] -> [(i)] }"))


def test_nodes_are_replaced_children_first():
    times = (
        "[n] -> { S[i] -> [i, 0, 0] : 0 <= i < n; T[i, j] -> [i, 1, j] : 2 <= i < n and 0 <= j < i and i mod 3 = 0 }"
    )
    kinds = []

    def new(node):
        kinds.append(node.get_type().name)
        return isl.AstNode.alloc_user(x) if kinds[-1] == "user" else node

    loops = BUILD.node_from_schedule_map(isl.UnionMap(times))
    before = loops.to_C_str()
    changed = loops.map_descendant_bottom_up(new)
    assert kinds == ["user", "user", "for_", "if_", "block", "for_"]
    assert (
        changed.to_C_str() == before.replace("S(c0);", "x;").replace("T(c0, c2);", "x;") and loops.to_C_str() == before
    )


def test_at_a_call_that_never_runs_any_value_is_right():
    times = isl.UnionMap(
        "{ S[i, j] -> [3j + 2, i + j - 2] : 0 <= i <= 1 and -3 <= j <= 4 and j >= 2i - 1; "
        "T[i] -> [floor((2 - i)/3), -i - 3] : -2 <= i <= 2 }"
    )

    def same(node, build):
        back = isl.PwMultiAff.from_map(isl.Map.from_union_map(build.get_schedule()).reverse())
        call = build.call_from_pw_multi_aff(back)
        if not build.get_schedule().is_empty():
            assert call.get_op_arg(0).to_C_str() == node.user_get_expr().get_op_arg(0).to_C_str()
        return node

    assert BUILD.set_at_each_domain(same)[0].node_from_schedule_map(times).get_type() in isl.ast_node_type


def test_expressions_are_of_integers():
    for value in (isl.Val("1/2"), isl.Val.infty(), isl.Val.nan(), "3", None, 1.5):
        with pytest.raises(PolyvoltaError, match="an expression is of an integer"):
            isl.AstExpr.from_val(value)


def test_a_function_of_parameters_alone_whose_tuple_has_a_name_has_no_fields():
    for m in (isl, pytest.importorskip("islpy")):
        build = m.AstBuild.from_context(m.Set("{ : }"))
        for text, wanted in (("R[A[n] -> x[2n]]", "R[n][2 * n]"), ("A[[n] -> [1]]", "A[n][1]")):
            element = build.access_from_pw_multi_aff(m.PwMultiAff(f"[n] -> {{ {text} }}"))
            assert element.to_C_str() == wanted


def test_elements_of_fields():
    for text, wanted in (
        ("[A[n] -> x[n + 1]]", "A[n].x[n + 1]"), ("[A[] -> x[n]]", "A.x[n]"), ("[A[n] -> x[]]", "A[n].x"),
        ("[[A[n] -> x[1]] -> y[2]]", "A[n].x[1].y[2]"), ("[R[A[n] -> x[2n]] -> y[]]", "A[n].x[2 * n].y"),
    ):  # fmt: skip
        element = KNOWN.access_from_pw_multi_aff(isl.PwMultiAff(f"[n] -> {{ {text} }}"))
        assert element.to_C_str() == wanted
    element = KNOWN.access_from_pw_multi_aff(isl.PwMultiAff("[n] -> { [A[n] -> x[2n]] }"))
    field = element.get_op_arg(0)
    assert (element.get_op_type(), field.get_op_type()) == (isl.ast_expr_op_type.access, isl.ast_expr_op_type.member)
    assert (field.get_op_arg(0).to_C_str(), field.get_op_arg(1).get_id()) == ("A[n]", "x")
    for text in ("[A[n] -> [n]]", "[A[n] -> [x[1] -> y[2]]]"):
        with pytest.raises(PolyvoltaError, match="a field of an array has a name"):
            KNOWN.access_from_pw_multi_aff(isl.PwMultiAff(f"[n] -> {{ {text} }}"))


@pytest.mark.parametrize("f, wanted", [
    ("[n] -> { [(n mod 7)] : n <= 5 }", "n"), ("[n] -> { [(n mod 7)] }", "n % 7"),
    ("[n] -> { [(floor(n/4))] : n <= 3; [(n mod 4)] : n >= 8 }", "n <= 3 ? 0 : n % 4"),
    ("[n, m] -> { [(m + (n + m) mod 7)] : 0 <= n + m <= 5 }", "2 * m + n"),
])  # fmt: skip
def test_a_floor_that_has_one_value_where_a_function_has_any_is_that(f, wanted):
    build = isl.AstBuild.from_context(isl.Set("[n, m] -> { : n >= 0 }"))
    assert build.expr_from_pw_aff(isl.PwAff(f)).to_C_str() == wanted


def test_expressions_may_nest_deeper_than_functions_may_call():
    """A sum of 3,000 names, as a program adds them one by one, and the same in parentheses; islpy writes it so."""
    names = [isl.AstExpr.from_id(isl.Id(f"x{k}")) for k in range(3000)]
    left, right = names[0], names[-1]
    for one in names[1:]:
        left = left.add(one)
    for one in names[-2::-1]:
        right = one.add(right)
    assert left.to_C_str() == " + ".join(f"x{k}" for k in range(3000))
    assert left.substitute_ids({"x1": four}).to_C_str().startswith("x0 + 4 + x2 + ")
    assert left.to_str().count("op: add") == 2999 and not left.macros()
    assert right.to_C_str().startswith("x0 + (x1 + (x2 + ")
