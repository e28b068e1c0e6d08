"""What isl refuses because two tuples differ, or a relation is no function, and what it takes, beside islpy."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

B, HALF = 'M("B[{ A[i] -> [(i)] }]")', 'M("B[{ A[i] -> [(i)] }]").scale_down_val(isl.Val(2))'
SEVERAL = 'isl.UnionMap("{ A[i] -> B[j] : 0 <= j < i }")'
TWICE = 'isl.UnionMap("{ A[i] -> B[i]; A[i] -> C[i] }")'
TWO = 'isl.UnionMap("{ A[i] -> B[i]; B[i] -> C[i] }")'
WRONG = [
    *(f'{f}.{name}(M("C[{{ A[i] -> [(i)] }}]"))' for f in (B, HALF) for name in ("add", "sub", "union_add")),
    f'{B}.intersect_domain(isl.UnionSet("{{ Z[i] }}")).add(M("C[{{ A[i] -> [(i)] }}]"))',
    f'{B}.apply_multi_aff(isl.MultiAff("{{ C[x] -> D[(x)] }}"))',
    f'{HALF}.apply_multi_aff(isl.MultiAff("{{ C[x] -> D[(x)] }}"))',
    f'{B}.apply_pw_multi_aff(isl.PwMultiAff("{{ C[x] -> D[(x)] }}"))',
    f'{B}.apply_aff(isl.Aff("{{ C[x] -> [(x)] }}"))',
    f'{B}.apply_pw_aff(isl.PwAff("{{ C[x] -> [(x)] }}"))',
    *(f"{B}.{name}()" for name in ("factor_range", "range_factor_range", "range_factor_domain")),
    *(f'{B}.{name}_multi_val(isl.MultiVal("{{ [3] }}"))' for name in ("scale", "scale_down", "mod")),
    *(f'isl.{kind}("{{ A[i, j] -> B[(i + j)] }}").bind(isl.MultiId("{{ {names} }}"))'
      for kind in ("MultiAff", "MultiPwAff") for names in ("A[x, y]", "B[x, y]", "C[x]")),
    f'{B}.bind(isl.MultiId("{{ A[x] }}"))',
    'isl.Set("{ A[i, j] }").bind(isl.MultiId("{ B[x, y] }"))',
    'isl.Map("{ A[i] -> A[j] }").bind_range(isl.MultiId("{ B[x] }"))',
    'isl.UnionPwAff.aff_on_domain(isl.UnionSet("{ B[i] : 0 <= i < 3 }"), isl.Aff("{ A[i] -> [(i)] }"))',
    'isl.UnionPwAff.pw_aff_on_domain(isl.UnionSet("{ B[i] : 0 <= i < 3 }"), isl.PwAff("{ A[i] -> [(i)] }"))',
    'M.multi_aff_on_domain(isl.UnionSet("{ B[i] : 0 <= i < 3 }"), isl.MultiAff("{ A[i] -> D[(i)] }"))',
    'M.pw_multi_aff_on_domain(isl.UnionSet("{ B[i] : 0 <= i < 3 }"), isl.PwMultiAff("{ A[i] -> D[(i)] }"))',
    f"isl.UnionPwMultiAff.from_union_map({SEVERAL})",
    f"isl.UnionPwMultiAff.from_union_map({TWICE})",
    f"{SEVERAL}.as_union_pw_multi_aff()",
    f"{SEVERAL}.as_multi_union_pw_aff()",
    f"M.from_union_map({SEVERAL})",
    f"M.from_union_map({TWICE})",
    f"M.from_union_map({TWO})",
    f"isl.UnionPwMultiAff.from_union_map({TWO}).as_multi_union_pw_aff()",
    'isl.UnionPwMultiAff.from_union_set(isl.UnionSet("{ B[i] : 0 <= i < 3 }"))',
    'isl.PwMultiAff("{ A[i] -> B[(i)] : i > 0 }").as_multi_aff()',
    'isl.PwMultiAff("{ A[i] -> B[] : i > 0 }").as_multi_aff()',
    'isl.MultiPwAff("{ A[i] -> B[(i)] : i > 0 }").as_multi_aff()',
    'isl.PwMultiAff("{ A[i] -> B[(i)] : i > 0; A[i] -> B[(-i)] : i <= 0 }").as_multi_aff()',
    *(f'isl.Map("{{ [A[i] -> B[j]] -> {out} }}").{name}()' for name in ("deltas", "deltas_map")
      for out in ("[C[i] -> D[i + j]]", "[A[i] -> D[i + j]]", "C[i, j]")),
    'isl.Map("{ X[A[i] -> [B[j] -> C[k]]] -> X[A[i] -> [B[j] -> D[k]]] }").deltas()',
    'isl.UnionPwQPolynomial("{ A[i] -> i }").add_pw_qpolynomial(isl.PwQPolynomial("{ A[i] -> i }"))',
    'isl.UnionPwQPolynomial("{ A[i] -> i : i > 0 }").add_pw_qpolynomial(isl.PwQPolynomial("{ A[i] -> i : i <= 0 }"))',
    'isl.UnionPwAff("{ A[i] -> [(i)] }").add_pw_aff(isl.PwAff("{ A[i] -> [(i)] : i > 3 }"))',
    'isl.UnionPwAff("{ A[i] -> [(i)/2] }").add_pw_aff(isl.PwAff("{ A[i] -> [(i)] : i > 3 }"))',
    'isl.UnionPwMultiAff("{ A[i] -> B[(i)] }").add_pw_multi_aff(isl.PwMultiAff("{ A[i] -> B[(i)] }"))',
    'isl.UnionPwMultiAff("{ A[i] -> B[(i)] }").add_pw_multi_aff(isl.PwMultiAff("{ A[i] -> C[(i)] : i > 9 }"))',
    *(f'isl.{kind}("{{ A[i] -> B[(i)] }}").{name}_multi_val(isl.MultiVal("{{ [3] }}"))'
      for kind, name in (("PwMultiAff", "scale"), ("MultiPwAff", "mod"), ("MultiAff", "scale_down"),
                         ("MultiAff", "add_constant"))),
    'isl.Set("{ B[i] }").lower_bound_multi_val(isl.MultiVal("{ [3] }"))',
    'isl.Set("{ B[i] }").upper_bound_multi_pw_aff(isl.MultiPwAff("{ [(3)] }"))',
]  # fmt: skip


@pytest.mark.parametrize("call", WRONG)
def test_what_isl_refuses_is_refused(call):
    for library in (isl, ours):
        with pytest.raises(library.Error):
            eval(call, {"isl": library, "M": library.MultiUnionPwAff})


TAKEN = {
    f"{B}.add({B})": "{ A[i] -> B[2i] }",
    f'{B}.apply_multi_aff(isl.MultiAff("{{ B[x] -> D[(x)] }}"))': "{ A[i] -> D[i] }",
    f'{B}.range_product(M("C[{{ A[i] -> [(i)] }}]")).factor_range()': "{ A[i] -> C[i] }",
    f'{B}.scale_multi_val(isl.MultiVal("{{ B[3] }}"))': "{ A[i] -> B[3i] }",
    f"isl.UnionPwMultiAff.from_union_map({TWO})": "{ A[i] -> B[i]; B[i] -> C[i] }",
    f"{TWO}.as_union_pw_multi_aff()": "{ A[i] -> B[i]; B[i] -> C[i] }",
    'isl.UnionPwMultiAff("{ A[i] -> C[(i)] }").range_factor_range()': "{ }",
    'isl.UnionPwMultiAff("{ A[i] -> B[(i)] : i > 0 }").add_pw_multi_aff(isl.PwMultiAff("{ A[i] -> C[(i)] : i < 0 }"))':
        "{ A[i] -> B[i] : i > 0; A[i] -> C[i] : i < 0 }",
    'isl.UnionPwAff.aff_on_domain(isl.UnionSet("{ B[i] : 0 <= i < 3 }"), isl.Aff("[n] -> { [(n)] }"))':
        "[n] -> { B[i] -> [n] : 0 <= i < 3 }",
    'isl.UnionMap("{ [A[i] -> B[j]] -> [C[i] -> D[j]]; A[i] -> A[i + 1] }").deltas_map()':
        "{ [A[i] -> A[i + 1]] -> A[1] }",
    'isl.UnionMap("{ A[i] -> A[j] }").bind_range(isl.MultiId("{ B[x] }"))': "{ }",
    'isl.Map("{ [A[i] -> B[j]] -> [A[i] -> B[i + j]] }").deltas()': "{ [A[0] -> B[j]] }",
    'isl.PwMultiAff("{ A[i] -> B[(i)] }").as_multi_aff().to_multi_union_pw_aff()': "{ A[i] -> B[i] }",
}  # fmt: skip


MAKES = {"MultiUnionPwAff": "from_multi_union_pw_aff", "UnionPwAff": "from_union_pw_aff",
         "UnionPwMultiAff": "from_union_pw_multi_aff"}  # fmt: skip


@pytest.mark.parametrize("call", TAKEN)
def test_what_fits_is_taken(call):
    for library in (isl, ours):
        found = eval(call, {"isl": library, "M": library.MultiUnionPwAff})
        make = MAKES.get(type(found).__name__)
        text = str(getattr(library.UnionMap, make)(found) if make else found)
        kind = ours.UnionSet if "Set" in type(found).__name__ else ours.UnionMap
        assert kind(text).is_equal(kind(TAKEN[call])), library.__name__


def test_polynomials_of_points_of_other_tuples_are_added():
    for library in (isl, ours):
        f = library.UnionPwQPolynomial("{ A[i] -> i }").add_pw_qpolynomial(library.PwQPolynomial("{ B[i] -> i }"))
        assert str(f) == "{ A[i] -> i; B[i] -> i }"


@pytest.mark.parametrize("name", ["eq_from_names", "ineq_from_names"])
@pytest.mark.parametrize(("said", "hint"), [
    ({"zz": 1}, "known: n, i, j"), ({"i": 1, "k": 0}, "known: n, i, j"), ({"I": 2, 1: 3}, "did you mean 'i'?"),
])  # fmt: skip
def test_coefficients_of_names_that_a_space_lacks_are_refused_at_once(name, said, hint):
    space = isl.Set("[n] -> { S[i, j] }").get_space()
    with pytest.raises(KeyError):
        getattr(isl.Constraint, name)(space, said)
    for space in (ours.Set("[n] -> { S[i, j] }").get_space(),
                  ours.Space.create_from_names(ours.DEFAULT_CONTEXT, set=["i", "j"], params=["n"])):  # fmt: skip
        wanted = r"^\[PV103\] no parameter or dimension is called '(zz|k|I)'"
        with pytest.raises(ours.UnknownName, match=wanted) as raised:
            getattr(ours.Constraint, name)(space, said)
        assert raised.value.hint == hint
        assert str(getattr(ours.Constraint, name)(space, {"n": 1, "j": 2, 1: -3})).startswith("2*j + n - 3 ")


@pytest.mark.parametrize("signs", ["v + v", "v * 2", "2 * v", "v + (1, 2)", "v + 1", "1 + v", "v - v", "-v", "v * v"])
def test_tuples_of_numbers_and_of_names_have_no_signs(signs):
    for m in (isl, ours):
        for v in (m.MultiVal("{ A[1, 2] }"), m.MultiId("{ A[x, y] }")):
            with pytest.raises(TypeError):
                eval(signs, {"v": v})
    with pytest.raises(TypeError, match=r"a MultiVal has no \+ and \*, as in isl"):
        ours.MultiVal("{ A[1, 2] }") + ours.MultiVal("{ A[1, 2] }")
    assert str(ours.MultiVal("{ A[1, 2] }").add(ours.MultiVal("{ A[1, 2] }"))) == "{ A[2, 4] }"
