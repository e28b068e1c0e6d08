"""Unions of `polyvolta.isl`, any of whose tuples may lack a counterpart: beside islpy, isl's own table, work lists."""

import pickle
import random

import pytest

import polyvolta.isl as ours
from polyvolta import sets

isl = pytest.importorskip("islpy")

SETS = ["union", "subtract", "intersect", "product", "gist", "is_subset", "is_equal", "is_disjoint",
        "is_strict_subset", "lex_lt_union_set", "lex_le_union_set", "lex_gt_union_set",
        "lex_ge_union_set"]  # fmt: skip
MAPS = ["union", "subtract", "intersect", "product", "domain_product", "flat_domain_product", "range_product",
        "flat_range_product", "gist", "intersect_domain_factor_domain", "intersect_domain_factor_range",
        "intersect_range_factor_domain", "intersect_range_factor_range", "apply_domain", "apply_range", "is_subset",
        "is_equal", "is_disjoint", "is_strict_subset", "lex_lt_union_map", "lex_le_union_map", "lex_gt_union_map",
        "lex_ge_union_map"]  # fmt: skip
RESTRICTED = ["gist_domain", "gist_range", "intersect_domain", "intersect_domain_union_set", "intersect_range",
              "intersect_range_union_set", "intersect_domain_wrapped_domain_union_set",
              "intersect_range_wrapped_domain_union_set", "subtract_domain", "subtract_range"]  # fmt: skip
AT = [f"{name}_at_multi_union_pw_aff" for name in ("eq", "lex_lt", "lex_le", "lex_gt", "lex_ge")]
ALONE_SET = ["identity", "unwrap", "wrapped_domain_map", "params", "lexmin", "coalesce", "detect_equalities",
             "is_empty"]  # fmt: skip
ALONE_MAP = ["domain", "range", "domain_map", "range_map", "reverse", "domain_reverse", "range_reverse", "deltas",
             "deltas_map", "wrap", "zip", "curry", "range_curry", "uncurry", "factor_domain", "factor_range",
             "domain_factor_domain", "domain_factor_range", "range_factor_domain", "range_factor_range", "lexmax",
             "is_single_valued", "is_injective", "is_bijective", "is_identity", "params"]  # fmt: skip
FUNCTIONS = ["pullback_union_pw_multi_aff", "add", "union_add", "sub", "range_product", "flat_range_product"]
ON_DOMAIN = ["gist", "intersect_domain", "intersect_domain_union_set", "intersect_domain_wrapped_domain",
             "intersect_domain_wrapped_range", "subtract_domain", "subtract_domain_union_set"]  # fmt: skip


class Texts:
    """Random unions of at most three tuples, often of one alone."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def tuple(self, dims, wrapped=0.3):
        """A tuple of the names of `dims`, which are left for the next one, or one that is wrapped."""
        if self.random.random() < wrapped:
            within = 0.1 if wrapped > 0.1 else 0  # at most four names a side
            return f"[{self.tuple(dims, within)} -> {self.tuple(dims, within)}]"
        return f"{self.random.choice('ABC')}[{dims.pop()}]"

    def union(self, *sides):
        parts = []
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            dims = list("ponmlkji")
            there = " -> ".join(self.tuple(dims, wrapped) for wrapped in sides)
            used = "ijklmnop"[: 8 - len(dims)]
            rows = [f"{a} <= {d} < {a + self.random.randint(1, 4)}"
                    for d in used for a in [self.random.randint(0, 2)]]  # fmt: skip
            if len(used) > 1 and self.random.random() < 0.4:
                rows.append(f"{used[0]} <= {used[-1]}")
            if self.random.random() < 0.2:
                rows.append(f"{used[0]} < N")
            parts.append(f"{there} : {' and '.join(rows)}")
        return f"[N] -> {{ {'; '.join(parts)} }}"

    def set(self):
        return self.union(0.3)

    def map(self):
        return self.union(0.3, 0.3)

    def function(self):
        """One function: the tuples of its inputs differ."""
        found = []
        for inp in self.random.sample(["A[i]", "B[i]", "C[i]", "[A[i] -> B[j]]"], self.random.choice([1, 1, 1, 2])):
            low = self.random.randint(0, 2)
            value = f"{self.random.choice('ABC')}[(i + {self.random.randint(-1, 1)})]"
            found.append(f"{inp} -> {value} : {low} <= i < {low + 3}")
        return f"[N] -> {{ {'; '.join(found)} }}"

    def one_value(self):
        inputs = self.random.sample(["A[i]", "B[i]", "C[i]"], self.random.choice([1, 1, 2]))
        return "[{ " + "; ".join(f"{t} -> [(i + {k})]" for k, t in enumerate(inputs)) + " }]"


def relation(value):
    """What islpy gave, as a union of sets or of pairs."""
    if isinstance(value, (isl.Set, isl.Map)):
        return isl.UnionSet(value) if isinstance(value, isl.Set) else isl.UnionMap(value)
    if isinstance(value, isl.UnionPwMultiAff):
        return isl.UnionMap.from_union_pw_multi_aff(value)
    return value


def check(name, kind, text, *given, within=None):
    """Both sides give the same, a union here where islpy gives one.

    A gist is one within its context, `within`, alone.
    """
    calls = [getattr(lib, kind)(text) for lib in (ours, isl)]
    arguments = [[getattr(lib, k)(t) for k, t in given] for lib in (ours, isl)]
    case = f"{kind}({text!r}).{name}{given}"
    try:
        wanted = getattr(calls[1], name)(*arguments[1])
    except isl.Error:
        with pytest.raises(ours.Error):
            getattr(calls[0], name)(*arguments[0])
        return
    found = getattr(calls[0], name)(*arguments[0])
    if isinstance(wanted, bool):
        assert found == wanted, case
        return
    of_unions = isinstance(wanted, (isl.UnionSet, isl.UnionMap, isl.UnionPwMultiAff))
    assert isinstance(found, (ours.UnionSet, ours.UnionMap)) == of_unions, case
    same, wanted = type(relation(wanted))(str(found)), relation(wanted)
    if within is not None:
        same, wanted = within(same), within(wanted)
    assert same.is_equal(wanted), f"{case} is {found}, not {wanted}"


@pytest.mark.parametrize("seed", range(12))
def test_methods_of_unions_beside_islpy(seed):
    t = Texts(seed)
    for name in SETS:
        a, b = t.set(), t.set()
        within = (lambda s, b=b: s.intersect(isl.UnionSet(b))) if name == "gist" else None
        check(name, "UnionSet", a, ("UnionSet", b), within=within)
    for name in MAPS:
        a, b = t.map(), t.map()
        within = (lambda m, b=b: m.intersect(isl.UnionMap(b))) if name == "gist" else None
        check(name, "UnionMap", a, ("UnionMap", b), within=within)
    for name in RESTRICTED:
        a, b = t.map(), t.set()
        side = f"intersect_{name[5:]}" if name.startswith("gist") else None
        within = (lambda m, b=b, side=side: getattr(m, side)(isl.UnionSet(b))) if side else None
        check(name, "UnionMap", a, ("UnionSet", b), within=within)
    check("apply", "UnionSet", t.set(), ("UnionMap", t.map()))
    check("preimage_union_pw_multi_aff", "UnionSet", t.set(), ("UnionPwMultiAff", t.function()))
    check("preimage_domain_union_pw_multi_aff", "UnionMap", t.map(), ("UnionPwMultiAff", t.function()))
    check("preimage_range_union_pw_multi_aff", "UnionMap", t.map(), ("UnionPwMultiAff", t.function()))
    for name in AT:
        check(name, "UnionMap", t.map(), ("MultiUnionPwAff", t.one_value()))
    for name in ALONE_SET:
        check(name, "UnionSet", t.set())
    for name in ALONE_MAP:
        check(name, "UnionMap", t.map())
    for name in FUNCTIONS:
        check(name, "UnionPwMultiAff", t.function(), ("UnionPwMultiAff", t.function()))
    for name in ON_DOMAIN:
        b = t.set()
        within = (lambda m, b=b: m.intersect_domain(isl.UnionSet(b))) if name == "gist" else None
        check(name, "UnionPwMultiAff", t.function(), ("UnionSet", b), within=within)


TABLE = [  # umap_bin_tests of isl_test.c
    ("intersect", "[n] -> { A[i] -> [] : 0 <= i <= n; B[] -> [] }", "[m] -> { A[i] -> [] : 0 <= i <= m; C[] -> [] }",
     "[m, n] -> { A[i] -> [] : 0 <= i <= n and i <= m }"),
    ("intersect_domain_factor_domain", "{ [A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { B[i] -> C[N] }", "{ }"),
    ("intersect_domain_factor_domain", "{ [A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { A[i] -> C[N] }",
     "[N] -> { [A[N - 2] -> B[N - 1]] -> C[N] }"),
    ("intersect_domain_factor_domain", "{ T[A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { A[i] -> C[N] }",
     "[N] -> { T[A[N - 2] -> B[N - 1]] -> C[N] }"),
    ("intersect_domain_factor_range", "{ [A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { B[i] -> C[N] }",
     "[N] -> { [A[N - 2] -> B[N - 1]] -> C[N] }"),
    ("intersect_domain_factor_range", "{ T[A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { B[i] -> C[N] }",
     "[N] -> { T[A[N - 2] -> B[N - 1]] -> C[N] }"),
    ("intersect_domain_factor_range", "{ [A[i] -> B[i + 1]] -> C[i + 2] }", "[N] -> { A[i] -> C[N] }", "{ }"),
    ("intersect_range_factor_domain", "{ A[i] -> [B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> B[N] }",
     "[N] -> { A[N - 1] -> [B[N] -> C[N + 1]] }"),
    ("intersect_range_factor_domain", "{ A[i] -> T[B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> B[N] }",
     "[N] -> { A[N - 1] -> T[B[N] -> C[N + 1]] }"),
    ("intersect_range_factor_domain", "{ A[i] -> [B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> C[N] }", "{ }"),
    ("intersect_range_factor_range", "{ A[i] -> [B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> C[N] }",
     "[N] -> { A[N - 2] -> [B[N - 1] -> C[N]] }"),
    ("intersect_range_factor_range", "{ A[i] -> T[B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> C[N] }",
     "[N] -> { A[N - 2] -> T[B[N - 1] -> C[N]] }"),
    ("intersect_range_factor_range", "{ A[i] -> [B[i + 1] -> C[i + 2]] }", "[N] -> { A[i] -> B[N] }", "{ }"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "one", "two", "wanted"), TABLE)
def test_isls_own_table(name, one, two, wanted):
    found = getattr(ours.UnionMap(one), name)(ours.UnionMap(two))
    assert found.is_equal(ours.UnionMap(wanted)) and isinstance(found, ours.UnionMap)


def reached(lib):
    """What a work list reaches, and in how many steps; the front is of one tuple at some of them."""
    step = lib.UnionMap("{ A[i] -> B[i + 1] : i < 6; B[i] -> A[i] : i < 4; B[i] -> C[2i] : i > 2; C[i] -> [] }")
    front = seen = lib.UnionSet("{ A[0] }")
    for steps in range(100):
        front = front.apply(step).subtract(seen)
        if front.is_empty():
            return seen, steps
        seen = seen.union(front)
    raise AssertionError


def test_a_work_list_ends():
    (found, steps), (wanted, others) = reached(ours), reached(isl)
    assert isl.UnionSet(str(found)).is_equal(wanted) and steps == others == 8


def test_sets_and_relations_stay_strict():
    for kind, a, b in (("Set", "{ A[i] }", "{ B[i] }"), ("Map", "{ A[i] -> C[i] }", "{ B[i] -> C[i] }")):
        of_sets, of_unions = getattr(ours, kind), getattr(ours, f"Union{kind}")
        for name in ("intersect", "subtract", "gist"):
            with pytest.raises(ours.Error):
                getattr(of_sets(a), name)(of_sets(b))
            assert isinstance(getattr(of_unions(a), name)(of_sets(b)), of_unions)  # isl's unions take these
            with pytest.raises(ours.Error):
                getattr(of_sets(of_unions(a)), name)(of_sets(b))
    assert sets.UnionSet is sets.Set is ours.Set and sets.UnionMap is sets.Map is ours.Map


def test_conditions_on_parameters_are_refused():
    """isl's `{ : }` restricts parameters and `{ [] }` doesn't; here they are one set, so that both are refused."""
    for one, two in (("{ A[i] }", "{ : }"), ("{ [] }", "{ A[i] }")):
        with pytest.raises(ours.Error, match="condition on parameters"):
            ours.UnionSet(one).intersect(ours.UnionSet(two))
    with pytest.raises(ours.Error, match="condition on parameters"):
        ours.UnionMap("{ A[i] -> B[i] }").intersect_domain(ours.UnionSet("{ : }"))


def test_values_of_both_classes_are_equal():
    for kind, text in (("Set", "[N] -> { A[i] : i < N; B[j] }"), ("Map", "{ A[i] -> B[i] : i > 3 }")):
        s, u = getattr(ours, kind)(text), getattr(ours, f"Union{kind}")(text)
        assert s == u and u == s and hash(s) == hash(u) and {s: 1}[u] == 1
        for value in (s, u):
            again = pickle.loads(pickle.dumps(value))
            assert again == value and type(again) is type(value)
        assert repr(u) == f"Union{s!r}" and type(u) is type(eval(repr(u), vars(ours)))
    assert ours.UnionSet("{ A[i] }") != ours.UnionMap("{ A[i] -> B[i] }")


def test_the_map_of_wrapped_pairs_has_a_space_where_there_are_none():
    none = sets.Set("[N] -> { W[S[i] -> T[j]] : i < j < i }").wrapped_domain_map()
    assert str(none) == "[N] -> { W[S[i] -> T[j]] -> S[i'] : false }"
    assert str(sets.Set("{ S[i] : false }").wrapped_domain_map()) == "{ }"


def test_what_is_a_union():
    some, pairs = ours.Set("{ A[i] : 0 <= i < 9 }"), ours.Map("{ A[i] -> B[i] }")
    assert isinstance(some.to_union_set(), ours.UnionSet) and isinstance(pairs.to_union_map(), ours.UnionMap)
    unions = [ours.UnionSet.from_set(some), ours.UnionSet(some), ours.UnionSet.read_from_str(None, "{ A[i] }"),
              ours.UnionSet.empty_ctx(None), ~ours.UnionSet(some), ours.UnionMap(pairs)(some),
              ours.UnionMap.from_map(pairs), ours.UnionMap.from_domain(some), ours.UnionMap.identity(some),
              *ours.UnionMap(pairs).transitive_closure()[:1], ours.UnionMap(pairs).reverse().reverse()]  # fmt: skip
    assert all(isinstance(u, (ours.UnionSet, ours.UnionMap)) for u in unions)
    u = ours.UnionSet(some)
    calls: list = []
    u.foreach_set(calls.append)
    strict = [u.as_set(), u.params(), u.extract_set(some.space), *u.get_set_list(), *u.get_basic_set_list(), *calls,
              ours.Set.from_union_set(u), ours.Map.from_union_map(ours.UnionMap(pairs))]  # fmt: skip
    assert len(strict) == 8 and not any(isinstance(s, (ours.UnionSet, ours.UnionMap)) for s in strict)


def test_what_trees_and_dataflow_give_is_a_union():
    tree = ours.Schedule("{ domain: '{ S[i] : 0 <= i < 8 }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
    node = tree.get_root().child(0)
    other = ours.UnionSet("{ T[i] }")
    assert tree.get_domain().intersect(other).is_empty() and tree.get_map().intersect_domain(other).is_empty()
    assert node.get_domain().subtract(other).is_equal(tree.get_domain())
    assert node.band_get_partial_schedule_union_map().intersect_domain(other).is_empty()
    writes, reads = ours.UnionMap("{ S[i] -> a[i] : 0 <= i < 8 }"), ours.UnionMap("{ T[i] -> a[i] : 0 <= i < 8 }")
    info = ours.UnionAccessInfo.from_sink(reads).set_must_source(writes)
    flow = info.set_schedule_map(ours.UnionMap("{ S[i] -> [0, i]; T[i] -> [1, i] }")).compute_flow()
    assert flow.get_must_dependence().intersect_domain(other).is_empty()
    assert flow.get_full_must_dependence().intersect_domain(other).is_empty()
    none = ours.UnionMap("{ }")
    for m in reads.compute_flow(writes, none, ours.UnionMap("{ S[i] -> [0, i]; T[i] -> [1, i] }"))[1:]:
        assert isinstance(m, ours.UnionMap)
    asked = ours.ScheduleConstraints.on_domain(tree.get_domain()).set_validity(ours.UnionMap("{ S[i] -> S[i + 1] }"))
    assert asked.get_domain().intersect(other).is_empty() and asked.get_validity().intersect_domain(other).is_empty()
    assert asked.compute_schedule().get_domain().is_equal(tree.get_domain())


@pytest.mark.parametrize("expression", [
    'm.UnionSet("[N] -> { A[i] : i < N }").get_space().is_params()',
    'm.UnionSet("[N] -> { A[i] : i < N; B[i] }").get_space().dim(m.dim_type.param)',
    'm.UnionMap("[N] -> { A[i] -> B[i]; C[i] -> B[i] }").get_space().is_params()',
    'm.UnionMap.empty(m.UnionSet("[N] -> { A[i]; B[i] }").get_space()).dim(m.dim_type.param)',
    'm.UnionMap.empty(m.Space.params_alloc(m.DEFAULT_CONTEXT, 0)).union(m.UnionMap("{ A[i] -> B[i] }"))',
    'm.UnionSet.empty(m.Map("{ A[i] -> B[i] }").get_space()).union(m.UnionSet("{ C[i] }"))',
    'm.UnionSet("{ A[i] : i < 3; B[5] }").universe()',
    'm.UnionSet.universe(m.UnionSet("{ A[i] : i < 3; B[5] }"))',
    'm.UnionMap("{ A[i] -> [i + 2]; B[i] -> C[i] : i > 2 }").universe()',
])  # fmt: skip
def test_spaces_of_unions_and_unions_of_spaces(expression):
    found, wanted = (eval(expression, {"m": m}) for m in (ours, isl))
    if hasattr(found, "is_equal"):
        assert found.is_equal(type(found)(str(wanted)))
    else:
        assert found == wanted


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("{ A[i] : i > 0 and i < 0; B[i] }", "{ B[i] }", True),
        ("{ A[i] : exists e : 2e = 1 and i < 4; B[i] }", "{ B[i]; C[] : 1 = 0 }", True),
        ("{ A[i] : 1 = 0 }", "{ B[i] : 1 = 0 }", True),
        ("{ A[i] }", "{ A[i] : i = 3 }", False),
        ("{ A[i] }", "{ A[i]; B[i] }", False),
        ("{ A[i] }", "{ A[i] : 1 = 0 }", False),
    ],
)
def test_what_has_no_point_makes_no_difference_to_plain_is_equal(one, other, same):
    assert ours.UnionSet(one).plain_is_equal(ours.UnionSet(other)) == same
    assert ours.UnionSet(other).plain_is_equal(ours.UnionSet(one)) == same
    if one.count("[") == other.count("[") == 1 and not same:
        assert not ours.Set(one).plain_is_equal(ours.Set(other))


def test_sets_of_two_spaces_are_not_plainly_equal():
    assert not ours.Set("{ A[i] : 1 = 0 }").plain_is_equal(ours.Set("{ B[i] : 1 = 0 }"))
    assert ours.Set("{ A[i] : 1 = 0 }").plain_is_equal(ours.Set("{ A[i] : exists e : 2e = 1 and i < 4 }"))


def test_a_point_of_the_tuple_that_has_one_at_these_parameters():
    union = ours.UnionSet("[N] -> { A[i] : N = 5 and i = 0; B[i] : N = 3 and i = 1 }")
    assert union.sample_point(N=3) == (1,) and union.sample_point(N=5) == (0,)
    for empty in ("{ A[i] : false }", "{ }"):
        with pytest.raises(ours.EmptySet, match="no point"):
            ours.UnionSet(empty).sample_point()
