"""Lists, vectors of numbers, printers and expressions of a ported program; the answers are typed by hand."""

import re
from pathlib import Path

import pytest

import polyvolta.isl as isl
from polyvolta.sets import PolyvoltaError

SET = isl.dim_type.set
TREE = isl.Schedule("{ domain: '[N] -> { S[i, j] : 0 <= i, j < N }', "
                    "child: { schedule: '[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]' } }")  # fmt: skip
GUIDE = Path(__file__).parents[3].joinpath("docs", "isl.md").read_text()


def test_the_guides_program_runs(capsys):
    program, callbacks = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(callbacks, {})
    exec(program, {})  # noqa: S102
    assert capsys.readouterr().out == "c0 by 32\n c1 by 16\n  c2 by 1\n   c3 by 1\nS ['c0 + c2', 'c1 + c3']\n"


def test_lists_have_isls_methods():
    pieces = isl.Set("{ [i] : i > 5; [i] : i < -3 }").get_basic_set_list()
    assert pieces.n_basic_set() == pieces.size() == len(pieces) == 2
    assert pieces.get_basic_set(0) | pieces.get_at(1) == isl.Set("{ [i] : i > 5 or i < -3 }")
    numbers = isl.ValList.alloc(isl.DEFAULT_CONTEXT, 2).add(isl.Val(4)).add(5)
    assert numbers == [4, 5] and numbers.n_val() == 2 and numbers.get_val(1) == 5
    assert isl.IdList.from_id(isl.Id("a")).get_id(0).name == "a" and numbers.concat(numbers).drop(1, 2) == [4, 5]
    assert isl.UnionPwAffList.from_union_pw_aff(3).n_union_pw_aff() == 1
    assert isl.PwQPolynomialList([3]).n_pw_qpolynomial() == 1
    assert numbers.set_at(0, 9) == [9, 5] and numbers == [4, 5]
    seen = []
    numbers.foreach(seen.append)
    assert seen == [4, 5]
    assert isl.UnionMap("{ A[] -> B[]; C[] -> D[] }").get_map_list().n_map() == 2
    with pytest.raises(AttributeError):
        numbers.n_vall()
    with pytest.raises(AttributeError, match="FooList"):
        isl.FooList  # noqa: B018


def test_sequences_of_lists_and_bands_of_numbers():
    root = isl.Schedule.from_domain(isl.UnionSet("{ S[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }")).get_root()
    filters = isl.UnionSetList.alloc(None, 2).add(isl.UnionSet("{ T[i] }")).add(isl.UnionSet("{ S[i] }"))
    tree = root.child(0).insert_sequence(filters).get_schedule()
    assert tree.get_map() == isl.UnionMap("{ T[i] -> [0]; S[i] -> [1] }")
    node = TREE.get_root().child(0)
    sizes = isl.MultiVal.from_val_list(node.band_get_space(), isl.ValList.from_val(isl.Val(4)).add(isl.Val(1)))
    times = "{ S[i, j] -> [4 * floor(i / 4), j, i mod 4, 0] }"
    assert node.band_tile(sizes).get_schedule().get_map() == isl.UnionMap(times)


def test_vectors_of_numbers():
    space = isl.Space.create_from_names(None, set=["a", "b"])
    two = isl.MultiVal.zero(space).set_val(0, 4).set_val(1, isl.Val(-2))
    assert two == (4, -2) and two.dim(SET) == 2 and two.get_at(1).to_python() == -2 and str(two) == "{ [4, -2] }"
    assert two.scale_val(3) == isl.MultiVal.read_from_str(None, "{ [12, -6] }")
    f = isl.MultiAff("{ [i, j] -> [i + 1, j - 1] }")
    assert f.scale_multi_val(two) == isl.MultiAff("{ [i, j] -> [4i + 4, 2 - 2j] }")
    assert f.mod_multi_val([4, 2]).as_map() == isl.Map("{ [i, j] -> [(i + 1) mod 4, (j - 1) mod 2] }")
    assert f.set_aff(0, f.get_aff(1)) == isl.MultiAff("{ [i, j] -> [j - 1, j - 1] }")
    for wrong in (lambda: isl.MultiVal([1], space), lambda: two.get_val(2), lambda: f.scale_multi_val([1]),
                  lambda: isl.MultiVal.read_from_str("{ [i] }"), lambda: two.set_val(-3, 0)):  # fmt: skip
        with pytest.raises(PolyvoltaError):
            wrong()


def test_printers_gather_texts(capsys):
    p = isl.Printer.to_str(isl.DEFAULT_CONTEXT)
    p.print_str("x").print_int(5).print_val(isl.Val(7)).print_map(isl.Map("{ [i] -> [0] }"))
    assert p.get_str() == "x57{ [i] -> [0] }"
    loop = isl.AstBuild.alloc().node_from_schedule_map(isl.UnionMap("{ S[i] -> [i] : 0 <= i <= 4 }"))
    p = p.flush().set_output_format(isl.format.C).indent(2).start_line().print_ast_node(loop).print_str("//").end_line()
    assert p.get_str() == "  " + loop.to_C_str() + "//\n" and "S(c0);" in p.get_str()
    assert isl.Schedule(isl.Printer.to_str().print_schedule(TREE).get_str()) == TREE
    with pytest.raises(PolyvoltaError, match="loops and functions of one value alone are written in C"):
        p.print_set(isl.Set("{ [i] }"))
    with pytest.raises(PolyvoltaError, match="isl's or C's"):
        p.set_output_format(isl.format.OMEGA)
    TREE.dump()
    assert isl.Schedule(capsys.readouterr().err) == TREE


def test_expressions_of_loops_have_parts():
    times = isl.UnionMap("[n] -> { S[i, j] -> [i, j] : 3 <= i < n and 0 <= j < 2i + 1 }")
    loop = isl.AstBuild.from_context(isl.Set("[n] -> { : n > 9 }")).node_from_schedule_map(times)
    assert loop.for_get_init().get_type() is isl.ast_expr_type.int and loop.for_get_init().get_val() == 3
    assert loop.for_get_iterator().get_type() is isl.ast_expr_type.id and loop.for_get_iterator().get_id().name == "c0"
    until = loop.for_get_cond()
    assert until.get_op_type() is isl.ast_expr_op_type.lt and until.op_get_arg(1).get_id() == "n"
    inner = loop.for_get_body().for_get_cond()
    assert inner.op_get_n_arg() == 2 and inner.get_op_arg(1).get_type() is isl.ast_expr_type.op
    call = loop.for_get_body().for_get_body().user_get_expr()
    assert call.get_op_type() is isl.ast_expr_op_type.call and call.get_op_n_arg() == 3
    assert [call.get_op_arg(k).to_C_str() for k in range(3)] == ["S", "c0", "c1"]
    for wrong in (call.get_id, call.get_val, loop.for_get_init().get_id, loop.for_get_init().get_op_type,
                  lambda: call.get_op_arg(3), lambda: call.get_op_arg(-1)):  # fmt: skip
        with pytest.raises(PolyvoltaError, match="expression is no|there is no argument"):
            wrong()
    times = isl.UnionMap("{ S[i] -> [i, 0] : 0 <= i < 9; T[i] -> [i, 1] : 0 <= i < 9 }")
    assert isl.AstBuild.alloc().node_from_schedule_map(times).for_get_body().block_get_children().n_ast_node() == 2


def test_numbers_of_numpy_contexts_and_kinds():
    np = pytest.importorskip("numpy")
    f, s = isl.PwAff("{ [i] -> [i] }"), isl.Set("{ [i, j] : 0 <= i, j < 15 }")
    assert f + np.int64(3) == np.int64(3) + f == f.add_constant_val(np.int32(3)) == isl.PwAff("{ [i] -> [i + 3] }")
    assert s.fix_val(SET, np.int64(0), np.int64(3)) == isl.Set("{ [3, j] : 0 <= j < 15 }") and isl.Val(np.int8(4)) == 4
    ctx = isl.Context()
    assert isl.Set("{ [i] }", context=ctx).get_ctx() == ctx == isl.DEFAULT_CONTEXT and hash(ctx) == hash(isl.Context())
    assert [int(k) for k in (isl.dim_type.param, isl.dim_type.in_, SET, isl.dim_type.out)] == [1, 2, 3, 3]
    mark = TREE.get_root().child(0).insert_mark("kernel")
    assert mark.mark_get_id().name == "kernel"


def test_constraints_bound_and_polynomials_have_powers():
    low, same = isl.BasicSet("{ [i, j] : i >= 3 }").get_constraints()[0], isl.BasicSet("{ [i, j] : i = 3 }")
    assert low.is_lower_bound(SET, 0) and not low.is_upper_bound(SET, 0) and not low.is_lower_bound(SET, 1)
    (eq,) = same.get_constraints()
    assert eq.is_lower_bound(SET, 0) and eq.is_upper_bound(SET, 0) and not eq.is_upper_bound(SET, 1)
    q = isl.PwQPolynomial("[n] -> { [i] -> i^2 + n : 0 <= i < n }")
    at = {"n": 5, "i": 3}
    assert [(q**k).eval_with_dict(at) for k in range(4)] == [1, 14, 196, 2744] and q.pow(2).eval_with_dict(at) == 196
    assert (q**0).eval_with_dict({"n": 5, "i": 9}) == 0
    assert q.gist(isl.Set("[n] -> { [i] : i >= 0 }")).eval_with_dict(at) == 14
    with pytest.raises(PolyvoltaError, match="a power is of an integer"):
        q**-1  # noqa: B018


WRITES, READS = isl.UnionMap("{ S[i] -> A[i] : 0 <= i < 9 }"), isl.UnionMap("{ T[i] -> A[i] : 0 <= i < 12 }")


def test_flow_by_the_older_method():
    times = isl.UnionMap("{ S[i] -> [0, i]; U[i] -> [1, i]; T[i] -> [2, i] }")
    texts = {  # what may write -> sure, not sure, surely without a source, maybe without one
        "{ }": ("{ S[i] -> T[i] : 0 <= i < 9 }", "{ }", "{ T[i] -> A[i] : 9 <= i < 12 }", "{ }"),
        "{ U[i] -> A[i] : 7 <= i < 11 }": (
            "{ S[i] -> T[i] : 0 <= i < 7 }", "{ S[i] -> T[i] : 7 <= i < 9; U[i] -> T[i] : 7 <= i < 11 }",
            "{ T[11] -> A[11] }", "{ T[i] -> A[i] : 9 <= i < 11 }"),
    }  # fmt: skip
    for may, expected in texts.items():
        status, *found = READS.compute_flow(WRITES, isl.UnionMap(may), times)
        assert status == 0 and len(found) == 4
        assert all(got.is_equal(isl.UnionMap(text)) for got, text in zip(found, expected, strict=True))
    with pytest.raises(PolyvoltaError, match="accesses"):
        READS.compute_flow(WRITES, None, times)


def test_contexts_of_trees_and_spaces_of_parameters():
    root = TREE.get_root()
    assert TREE.get_ctx() == root.get_ctx() == root.child(0).get_ctx() == isl.DEFAULT_CONTEXT
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 2)
    assert space.is_params() and space.dim(isl.dim_type.param) == 2 and space.dim(SET) == 0
