"""Rarer questions that isl answers: names of values, coefficients of unions, what a function with fractions is of."""

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

TIMES = "[n] -> L[{ A[i] -> [(i)]; B[j] -> [(j)] }, { A[i] -> [(n)]; B[j] -> [(4)] }]"
HALF = "[n] -> L[{ A[i] -> [(i)/2] }, { A[i] -> [(n)] }]"


@pytest.mark.parametrize("text", [TIMES, HALF])
@pytest.mark.parametrize(("kind", "pos"), [("set", 0), ("out", 1), ("param", 0)])
def test_values_of_several_tuples_have_names(text, kind, pos):
    for m in (ours, isl):
        f = m.MultiUnionPwAff(text)
        g = f.set_dim_id(getattr(m.dim_type, kind), pos, m.Id("t"))
        assert g.get_dim_id(getattr(m.dim_type, kind), pos).get_name() == "t"
        assert g.find_dim_by_name(getattr(m.dim_type, kind), "t") == pos
        h = f.set_dim_name(getattr(m.dim_type, kind), pos, "t")
        assert kind == "param" or h.plain_is_equal(f)
        with pytest.raises(m.Error):
            f.set_dim_name(m.dim_type.in_, 0, "t")
        with pytest.raises(m.Error):
            f.set_dim_name(m.dim_type.set, 2, "t")


UNIONS = ["{ A[i] : 0 < i < 9; B[j] : j > 3 }", "[n] -> { A[i] : 0 < i < n; B[j] : j > 3 }",
          "{ A[i] : 0 < i < 9 or i > 10; B[i, j] : j > 3 and i > j }", "{ A[i] : i > 3 }", "{ }"]  # fmt: skip


@pytest.mark.parametrize("text", UNIONS)
def test_coefficients_of_each_tuple(text):
    found, wanted = (m.UnionSet(text).coefficients() for m in (ours, isl))
    of = lambda s: {(p.split(" : ")[0], isl.BasicSet(f"{{ {p} }}")) for p in str(s).strip("{} ").split("; ") if p}  # noqa: E731
    assert len(of(found)) == len(of(wanted))
    for name, s in of(found):
        other = [t for n, t in of(wanted) if t.get_space().is_equal(s.get_space())]
        assert len(other) == 1 and other[0].is_equal(s), name
    if "or" not in text and text != "{ }":
        back, again = found.solutions(), wanted.solutions()
        assert sorted(str(back).replace("*", "").strip("{} ").split("; ")) == sorted(
            str(again).replace("*", "").strip("{} ").split("; ")) or "n" in text  # fmt: skip


FUNCTIONS = ["{ A[i] -> B[(i), (4)] }", "[n] -> { A[i] -> B[(i), (n)] : i > 0; A[i] -> B[(2), (3)] : i < -2 }"]
QUESTIONS = [
    lambda m, f: f.has_tuple_name(m.dim_type.out),
    lambda m, f: f.has_tuple_name(m.dim_type.in_),
    lambda m, f: f.get_dim_name(m.dim_type.in_, 0),
    lambda m, f: f.n_piece(),
    lambda m, f: f.every_piece(lambda s, g: not s.is_empty()),
    lambda m, f: f.fix_si(m.dim_type.in_, 0, 3).domain().is_equal(m.Set("[n] -> { A[3] }")),
]


@pytest.mark.parametrize("k", range(len(QUESTIONS)))
@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_with_fractions_is_asked(text, k):
    found, wanted = (QUESTIONS[k](m, m.PwMultiAff(text).scale_down_val(m.Val(2))) for m in (ours, isl))
    assert found == wanted


@pytest.mark.parametrize("text", FUNCTIONS)
def test_pieces_of_a_function_with_fractions(text):
    found, seen = [], []
    for m, into in ((ours, found), (isl, seen)):
        f = m.PwMultiAff(text).scale_down_val(m.Val(2))
        f.foreach_piece(lambda s, g, into=into: into.append((isl.Set(str(s)), isl.MultiAff(str(g)))))
    assert len(found) == len(seen)
    for s, f in found:
        assert any(s.is_equal(t) and f.plain_is_equal(g) for t, g in seen)


def test_constraints_are_ordered_by_their_last_dimension():
    def listed(m):
        space = m.BasicSet("[n] -> { [i, j, k, l] }").get_space()
        said = [
            {"i": 2},
            {"n": 1, "i": -1, 1: -1},
            {"i": -3, "j": 1},
            {"k": 1, "l": -3, "n": 2},
            {"l": 1},
            {"n": 1},
            {},
        ]
        return [m.Constraint.ineq_from_names(space, c) for c in said]

    found, wanted = listed(ours), listed(isl)
    for c, d in zip(found, wanted, strict=True):
        assert [c.cmp_last_non_zero(e) for e in found] == [d.cmp_last_non_zero(e) for e in wanted]


def test_constraints_without_floors():
    for m in (ours, isl):
        found = m.BasicSet("{ [i] : i mod 4 <= 1 and i > 0 }").get_constraints()
        assert any(c.is_div_constraint() for c in found) == (m is isl)  # 0 <= i - 4*floor(i/4), which we do not list
        left = [c.drop_all_locals().get_coefficients_by_name() for c in found]
        assert {"i": -1, 1: 1} in [{n: int(str(v)) for n, v in c.items()} for c in left]


def test_the_version_is_asked_for():
    for m in (ours, isl):
        assert isinstance(m.isl_version(), str) and m.version.VERSION == m.VERSION >= (2025, 1)
        assert m.version.VERSION_TEXT.startswith(".".join(map(str, m.VERSION)))


def test_numbers_of_another_tuple_are_refused():
    text = "{ A[i] -> S[(i : i > 0; 3 : i < 0), (2i)] }"
    for m in (ours, isl):
        with pytest.raises(m.Error):
            m.MultiPwAff(text).add_constant_multi_val(m.MultiVal("{ S[2] }"))
    added = ours.MultiPwAff(text).add_constant_multi_val(ours.MultiVal("{ S[2, 3] }"))
    wanted = isl.MultiPwAff(text).add_constant_multi_val(isl.MultiVal("{ S[2, 3] }"))
    assert wanted.is_equal(isl.MultiPwAff(str(added)))


def test_whether_there_is_a_space_is_asked():
    assert hasattr(ours.UnionSet("{ A[i] }"), "space") and not hasattr(ours.UnionSet("{ A[i]; B[] }"), "space")
    assert not hasattr(ours.UnionMap("{ A[i] -> B[]; B[] -> A[3] }"), "space")
    with pytest.raises(ours.SpaceMismatch, match="a single space"):
        _ = ours.UnionMap("{ }").space


@pytest.mark.parametrize("text", ["[n] -> { A[i, j] }", "[n] -> { A[i] -> B[j] }"])
def test_kinds_of_names(text):
    kind = "Map" if "] -> B" in text else "Set"
    (found, wanted) = (getattr(m, kind)(text).get_var_dict() for m in (ours, isl))
    name = lambda kind: {"out": "set"}.get(kind.name, kind.name)  # noqa: E731 - which are one kind in both
    assert {n: (name(k), p) for n, (k, p) in found.items()} == {n: (name(k), p) for n, (k, p) in wanted.items()}
    assert ours.dim_type.out == ours.dim_type.set
