"""Arguments by islpy's keywords, and that the order in which these are kept is that of its signatures."""

import re

import pytest

import polyvolta.isl as isl
from polyvolta.sets.by_isl.keywords import ALONE, OTHERWISE, RANK, placed

islpy = pytest.importorskip("islpy")

S, T = "[n] -> { A[i, j] : 0 <= i < n and 0 <= j < i }", "[n] -> { A[i, j] : i = j + 1 }"
CALLS = [
    "m.Set(s=S).project_out(type=m.dim_type.set, first=0, n=1)",
    "m.Set(S).project_out(n=1, first=0, type=m.dim_type.set)",
    "m.Set(S, context=m.DEFAULT_CONTEXT).intersect(set2=m.Set(s=T))",
    "m.Set(S).is_subset(set2=m.Set(T))",
    "m.Set(S).fix_val(type=m.dim_type.set, pos=0, v=m.Val(3))",
    "m.Set(S).fix_val(m.dim_type.set, pos=0, v=m.Val(3))",
    "m.Set(S).lower_bound_val(type=m.dim_type.set, pos=0, value=m.Val(2))",
    "m.Set(S).set_dim_name(type=m.dim_type.set, pos=0, s='q')",
    "m.Set(S).dim(type=m.dim_type.param)",
    "m.Set(S).add_dims(type=m.dim_type.set, n=1)",
    "m.Set(S).set_tuple_id(id=m.Id(name='Q'))",
    "m.BasicSet('{ [i] : i > 0 }').intersect(bset2=m.BasicSet('{ [i] : i < 9 }'))",
    "m.Map('{ A[i, j] -> B[i] }').apply_range(map2=m.Map('{ B[i] -> [i + 1] }'))",
    "m.Map('{ A[i, j] -> B[i] }').intersect_domain(set=m.Set('{ A[i, j] : i > 0 }'))",
    "m.Map('{ A[i, j] -> B[i] }').move_dims(dst_type=m.dim_type.out, dst_pos=0,"
    " src_type=m.dim_type.in_, src_pos=1, n=1)",
    "m.Map.universe(space=m.Map('{ A[i] -> B[j] }').get_space())",
    "m.Map.from_pw_aff(pwaff=m.PwAff('{ [i] -> [(i)] }'))",
    "m.UnionMap('{ A[i] -> B[i] }').apply_range(umap2=m.UnionMap('{ B[i] -> C[i] }'))",
    "m.Val(3).add(v2=m.Val(4))",
    "m.MultiVal.zero(space=m.Set(T).get_space()).set_val(pos=0, el=m.Val(2))",
    "m.Schedule.from_domain(domain=m.UnionSet('{ S[i] : 0 <= i < 9 }')).get_root().child(pos=0)"
    ".insert_partial_schedule(schedule=m.MultiUnionPwAff('[{ S[i] -> [(i)] }]')).band_set_permutable(permutable=1)"
    ".band_member_set_coincident(pos=0, coincident=1).band_member_set_ast_loop_type(pos=0, type=m.ast_loop_type.unroll)"
    ".get_schedule().get_map()",
    "m.AstExpr.from_val(v=m.Val(3)).add(expr2=m.AstExpr.from_id(id=m.Id('n'))).pdiv_q(expr2=m.AstExpr.from_val(m.Val(4)))"
    ".eq(expr2=m.AstExpr.from_val(m.Val(4))).to_C_str()",
    "m.Val('7/2').add(v2=m.Val(3)).div(v2=m.Val('2/3'))",
    "m.Val('7/2').le(v2=m.Val(3)), m.Val('7/2').cmp_si(i=3)",
    "m.PwAff('{ A[i] -> [(i)/2] : i > 0 }').union_add(pwaff2=m.PwAff('{ A[i] -> [(i)] }'))"
    ".intersect_domain(set=m.Set('{ A[3] }')).eval(pnt=m.Set('{ A[3] }').sample_point())",
    "m.PwAff('{ A[i] -> [(i)/2] }').lt_set(pwaff2=m.PwAff('{ A[i] -> [(4)] }')).is_empty()",
    "m.Aff('{ A[i] -> [(i)/2] }').bind_id(id=m.Id('n')).is_empty()",
    "m.MultiAff('{ A[i] -> S[(i)/2, (i)] }').set_at(pos=0, el=m.Aff('{ A[i] -> [(3)] }')).get_at(pos=0).is_cst()",
    "m.PwMultiAff('{ A[i] -> S[(i)/2] : i > 0 }').gist(set=m.Set('{ A[i] : i > 0 }')).domain().is_empty()",
    "m.MultiPwAff('{ A[i] -> S[(i : i > 0), (2i)] }').set_at(pos=0, el=m.PwAff('{ A[i] -> [(3)] }'))"
    ".get_at(pos=0).is_cst()",
    "m.UnionPwAff('{ A[i] -> [(i)/2] }').add(upa2=m.UnionPwAff('{ A[i] -> [(i)] }')).get_space().is_params()",
    "m.UnionSet('{ A[i]; B[] }').contains(space=m.Set('{ A[i] }').get_space())",
    "m.UnionSet('{ A[i]; B[] }').contains(space=m.Set('{ C[i] }').get_space())",
    "m.AstBuild.from_context(set=m.Set('{ : }')).node_from_schedule_map("
    "schedule=m.UnionMap('{ S[i] -> [i] : 0 <= i < 4 }')).to_C_str()",
]  # fmt: skip


def same(ours, theirs):
    if isinstance(theirs, (islpy.Set, islpy.Map, islpy.BasicSet, islpy.UnionMap, islpy.BasicMap)):
        return type(theirs)(str(ours)).is_equal(type(theirs)(str(theirs)))
    return str(ours) == str(theirs)


@pytest.mark.parametrize("call", CALLS)
def test_calls_by_keywords(call):
    ours, theirs = (eval(call, {"m": m, "S": S, "T": T}) for m in (isl, islpy))
    assert same(ours, theirs)


def test_what_isl_names_a_function_is_a_keyword_too():
    for m in (isl, islpy):
        f = m.PwAff("{ [i] -> [(i)] }")
        assert f.add(pwaff2=f).mul(pwaff2=m.PwAff("{ [i] -> [(3)] }")).is_equal(m.PwAff("{ [i] -> [(6i)] }"))
        assert f.union_add(pwaff2=f).is_equal(f.add(f)) and not f.lt_set(pwaff2=f.neg()).is_empty()
        found = []
        m.Set("{ [i] : i = 3 or i = 5 }").foreach_basic_set(fn=found.append)
        assert len(found) == 2


def signatures():
    """The names of the arguments of each of islpy's methods."""
    for kind in vars(islpy).values():
        for name in dir(kind) if isinstance(kind, type) else ():
            f = getattr(kind, name)
            for text, *_ in () if name.startswith("_") else getattr(f, "__nb_signature__", None) or ():
                found = re.match(r"def \w+\((.*)\) -> ", text.splitlines()[-1])
                args = [a.strip() for a in re.split(r",(?![^\[]*\])", found[1])] if found else []
                if "/" not in args:
                    yield name, [re.split(r"[:=]", a)[0].strip() for a in args if a != "self"]


def test_the_order_is_that_of_all_signatures():
    seen = set()
    for name, args in signatures():
        seen |= {*args}
        given = {a: k for k, a in enumerate(args)}
        assert len(args) < 2 or not {*args} & {*ALONE.split()} - {"context"}, (name, args)
        found = placed(lambda self: None, ("self",), dict(reversed(given.items())))
        if name in OTHERWISE and set(args) == set(OTHERWISE[name]):
            assert tuple(args) == OTHERWISE[name]
        elif args:
            assert found == ("self", *range(len(args))), (name, args)
    assert len(seen) > 150 and seen <= RANK.keys()


def test_other_keywords_are_refused_and_our_own_stay():
    s = isl.Set(S)
    with pytest.raises((TypeError, isl.Error), match="other_set|keyword"):
        s.intersect(other_set=s)
    assert s.count(n=3) == 3 and s.intersect(other=s).is_equal(s)


@pytest.mark.parametrize(
    "call",
    [
        "project_out(type=m.dim_type.set, n=1)",
        "project_out(m.dim_type.set, n=1)",
        "project_out(first=0, n=1)",
        "eliminate(type=m.dim_type.set, n=1)",
        "insert_dims(type=m.dim_type.set, n=1)",
        "drop_constraints_involving_dims(type=m.dim_type.set, n=1)",
        "move_dims(dst_type=m.dim_type.param, src_type=m.dim_type.set, src_pos=1, n=1)",
    ],
)
def test_a_keyword_takes_no_place_of_one_that_is_missing(call):
    """`n=1` without `first` was the second dimension."""
    for m in (isl, islpy):
        with pytest.raises(TypeError):
            eval(f"m.Set(S).{call}", {"m": m, "S": S})
    assert str(isl.PwAff("{ [i] -> [(i)] }").add_dims(type=isl.dim_type.param, n=1)) == "[p0] -> { [i] -> [(i)] }"


def test_errors_say_names_that_users_know():
    half = isl.PwAff("{ A[i] -> [(i)/2] }")
    for call in (
        lambda: half.eq_set(other_function=half),
        lambda: half.add(half, half),
        lambda: isl.Val("7/2").add(other_number=3),
        lambda: half.no_such_name,
        lambda: isl.PwMultiAff("{ A[i] -> S[(i)/2] : i > 0 }").no_such_name,
        lambda: isl.PwMultiAff("{ A[i] -> S[(i)/2] : i > 0 }").union_add(3),
    ):
        with pytest.raises((TypeError, AttributeError, isl.Error)) as wrong:
            call()
        assert not any(word in str(wrong.value) for word in ("Rational", "MultiFunction", "Number", "Fractions"))
