"""The C of functions by isl's printer: what it computes where they have a value, and islpy's text of plain ones."""

import pytest

import polyvolta.isl as isl
from tests.sched.by_isl.running import C

BY_CASES = [
    "{ [i, j] -> [floor(i/3) + 2*j] : i > j; [i, j] -> [4 - i] : i <= j }",
    "{ [i, j] -> [1] : 0 <= i < 4 or i > 9; [i, j] -> [5] : i = 6 }",
    "{ [i, j] -> [3] : i > j and (i + j) mod 3 = 1; [i, j] -> [i] : i < j or (i = j and j mod 4 = 1) }",
    "{ [i, j] -> [max(i, j)] }",
    "{ [i, j] -> [(i + j) mod 4 - floor((i - j)/3)] }",
    "{ [i, j] -> [i/2] : i mod 2 = 0; [i, j] -> [(2i + 1)/3] : i mod 6 = 1 }",
    "[j] -> { [i] -> [i - j] : i > j; [i] -> [j] : i <= j }",
    "[i, j] -> { [(i + floor(j/2))] }",
]
PLAIN = ["[N] -> { [i] -> [i + N] }", "{ [i] -> [i/2] }", "{ [i] -> [i mod 5] }", "[n] -> { [(n)] }",
         "{ [i] -> [i] : i > 3 }", "{ [i] -> [(-3 + i)/2] }", "{ [i, j] -> [2*j + floor(i/3)] }"]  # fmt: skip


def printed(m, f, method="print_pw_aff"):
    printer = m.Printer.to_str(m.DEFAULT_CONTEXT).set_output_format(m.format.C)
    return getattr(printer, method)(f).get_str()


def python(code):
    """An expression of C in Python, its choices turned round."""
    parts, depth = [""], 0
    for c in code:
        depth += (c == "(") - (c == ")")
        if c in "?:" and not depth:
            parts.append("")
        else:
            parts[-1] += c
    if len(parts) > 1:
        condition, then, other = map(python, parts)
        return f"(({then}) if ({condition}) else ({other}))"
    head, opened, rest = code.partition("(")
    if opened:
        end = next(k for k in range(len(rest)) if rest[: k + 1].count(")") > rest[: k + 1].count("("))
        return f"{python(head)}({python(rest[:end])}){python(rest[end + 1 :])}"
    return code.replace("&&", "and").replace("||", "or").replace("/", "//")


@pytest.mark.parametrize("text", BY_CASES)
def test_the_c_of_a_function_computes_it(text):
    f = isl.PwAff(text)
    code, found = python(printed(isl, f)), 0
    graph = f.as_map() if hasattr(f, "as_map") else isl.Map.from_pw_aff(f)
    for i in range(-7, 12):
        for j in range(-7, 8):
            values = {"i": i, "j": j}
            there, params = graph, {p: values[p] for p in graph.param_names}
            if graph.space.inp.dims:
                at = ", ".join(str(values[d]) for d in graph.space.inp.dims)
                there = there.intersect_domain(isl.Set(f"{{ [{at}] }}"))
            if not there.fix(params).is_empty():
                names = {"floord": lambda a, b: C(int(a) // b), "i": C(i), "j": C(j)}
                assert there.range().contains((int(eval(code, names)),), **params), (i, j)
                found += 1
    assert found > 60


@pytest.mark.parametrize("text", PLAIN)
def test_what_has_one_case_is_islpys_text(text):
    islpy = pytest.importorskip("islpy")
    assert printed(isl, isl.PwAff(text)) == printed(islpy, islpy.PwAff(text))


def test_what_has_no_text_in_c_is_refused():
    with pytest.raises(isl.PolyvoltaError, match="NaN is no number in C"):
        printed(isl, isl.PwAff("{ [i] -> [NaN] }"))
    with pytest.raises(isl.PolyvoltaError, match="alone are written in C"):
        printed(isl, isl.Set("{ [i] }"), "print_set")


def test_a_schedule_is_computed_of_instances():
    islpy = pytest.importorskip("islpy")
    text, pairs = "{ S[i] : 0 <= i < 9; T[i] : 0 <= i < 9 }", "{ S[i] -> T[i] }"
    trees = [m.UnionSet(text).compute_schedule(m.UnionMap(pairs), m.UnionMap(pairs)) for m in (isl, islpy)]
    ours, theirs = (islpy.Schedule(str(tree)).get_map() for tree in trees)
    assert ours.is_equal(theirs) and isinstance(trees[0], isl.Schedule)


def test_values_of_a_tuple_of_nothing_are_known_everywhere():
    islpy = pytest.importorskip("islpy")
    for name in ("", "A"):
        ours, theirs = (m.MultiUnionPwAff.zero(m.Set(f"[n] -> {{ {name}[] : }}").get_space()) for m in (isl, islpy))
        assert str(ours) == str(theirs).replace("[n] -> ", "")
        assert isl.Set(f"{{ {name}[] }}").get_space().zero_multi_union_pw_aff() == ours
    with pytest.raises(isl.PolyvoltaError, match="known everywhere has no values"):
        isl.MultiUnionPwAff.zero(isl.Set("{ [i] }").get_space())


KNOWN = ["[n, m] -> { : }", "[n, m] -> { : 1 <= n <= m }", "[n, m] -> { : n >= 1 and m <= -1 }",
         "[n, m] -> { : n >= 0 or (m >= 3 and n = -1) }"]  # fmt: skip


def built(m, context):
    return m.AstBuild.from_context(m.Set(context))


@pytest.mark.parametrize("context", KNOWN)
@pytest.mark.parametrize("den", [2, 3, 4])
@pytest.mark.parametrize("e", ["n", "m", "n + m", "-n", "m + 2n"])
def test_conditions_on_remainders_beside_islpy(context, den, e):
    islpy = pytest.importorskip("islpy")
    for rest in range(den):
        text = f"[n, m] -> {{ : ({e}) mod {den} = {rest} }}"
        mine, theirs = (built(m, context).expr_from_set(m.Set(text)).to_C_str() for m in (isl, islpy))
        theirs = theirs.replace("2 * n + m", "m + 2 * n").replace("n + m", "m + n")
        assert mine in (theirs, theirs.replace("n - m", "m - n").replace("- 1)", "+ 1)"),
                        theirs.replace("n - m", "m - n").replace("+ 1)", "- 1)"))  # fmt: skip


@pytest.mark.parametrize(("context", "e", "wanted"), [
    (KNOWN[1], "m mod 7", "m % 7"), (KNOWN[1], "floor(m/7)", "m / 7"), (KNOWN[1], "(n - m) mod 3", None),
    (KNOWN[1], "(m - n) mod 3", "(m - n) % 3"), (KNOWN[1], "floor((n - m)/3)", "-((m - n + 2) / 3)"),
    (KNOWN[0], "m mod 7", "m - 7 * floord(m, 7)"), (KNOWN[3], "(n + 1) mod 7", "(n + 1) % 7"),
    (KNOWN[3], "n mod 7", "n - 7 * floord(n, 7)"), (KNOWN[2], "m mod 3", None), (KNOWN[2], "floor((n - m)/2)", None),
])  # fmt: skip
def test_what_is_known_tells_the_signs_of_dividends(context, e, wanted):
    """What is written is what C computes, and as isl writes it: with `%` and `/` where it does."""
    islpy = pytest.importorskip("islpy")
    mine, theirs = (
        built(m, context).expr_from_pw_aff(m.PwAff(f"[n, m] -> {{ [{e}] }}")).to_C_str() for m in (isl, islpy)
    )
    assert wanted is None or mine == wanted
    assert "floord" not in mine or "floord" in theirs
    f, known = isl.PwAff(f"[n, m] -> {{ [{e}] }}").as_map(), isl.Set(context)
    names = {"floord": lambda a, b: C(int(a) // b)}
    for n in range(-9, 10):
        for m in range(-9, 10):
            if known.contains((), n=n, m=m):
                value = int(eval(mine.replace("/", "//"), names | {"n": C(n), "m": C(m)}))
                assert f.range().contains((value,), n=n, m=m), (n, m)
