"""Errors: what they say, and that they survive a pickle on their way out of a worker process."""

import copy
import pickle

import numpy as np
import pytest

from polyvolta.cuda.errors import CompileFailed, CompilerMissing
from polyvolta.sets import Map, NotAffine, PwAff, Set, aff, errors, var
from polyvolta.sets.errors import PolyvoltaError, SpaceMismatch, UnknownName, nearest


def test_str_has_id_message_place_and_hint():
    error = PolyvoltaError("no such thing", where="line 1\nline 2", hint="try another")
    assert str(error) == "[PV000] no such thing\n  line 1\n  line 2\nhint: try another"
    assert str(PolyvoltaError("bad")) == "[PV000] bad"


def test_a_long_line_of_a_place_is_shortened():
    many = Set(f"{{ A[i] : {' or '.join(f'{5 * k} <= i <= {5 * k + 2}' for k in range(300))} }}")
    with pytest.raises(SpaceMismatch) as caught:
        bool(many)
    assert len(str(caught.value)) < 1200 and "characters more" in str(caught.value) and caught.value.where == str(many)


@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "error",
    [
        PolyvoltaError("bad"),
        UnknownName("no 'x'", where="a, b", hint="did you mean 'a'?"),
        CompilerMissing("no NVRTC", hint="install it"),
        CompileFailed("two errors", where="1 | x", hint="see .log", log="all of it"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_errors_pickle_with_all_that_they_say(error, way):
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.args == error.args


def test_the_nearest_name_or_all_of_them():
    assert nearest("lexmn", ["lexmin", "apply"]) == "did you mean 'lexmin'?"
    assert nearest("zzz", ["lexmin", "apply"]) == "known: lexmin, apply"
    assert nearest("zzz", []) == ""
    many = [f"name{n}" for n in range(40)]
    assert nearest("zzz", many) == f"known: {', '.join(many[:12])} and 28 more"
    assert nearest("zzz", many[:12]) == f"known: {', '.join(many[:12])}"
    assert nearest("name391", many) == "did you mean 'name39'?"
    assert nearest("zzz", many, most=40) == f"known: {', '.join(many)}"


KINDS = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, PolyvoltaError)]


def test_every_error_has_an_id_of_its_own_and_an_example():
    assert len({k.id for k in KINDS}) == len(KINDS)
    for kind in KINDS:
        assert kind is PolyvoltaError or f"[{kind.id}]" in kind.__doc__, kind
        assert kind is PolyvoltaError or ">>>" in kind.__doc__, kind


S = Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 4 }")
T = Map("{ S[i, j] -> [i + j] }")
ARRAY = np.array([1, 0])
MISUSE = [
    lambda: Set(3),
    lambda: Set(None),
    lambda: Set(b"{ [i] }"),
    lambda: Set("{ [i] -> [j] }"),
    lambda: Map("{ [i] }"),
    lambda: S & 3,
    lambda: S - "{ [i] }",
    lambda: S | T,
    lambda: S.project_out(1.5),
    lambda: S.project_out(9),
    lambda: S.project_out("k"),
    lambda: S.fix(i="a"),
    lambda: S.fix(q=3),
    lambda: S.is_subset(T),
    lambda: S.gist(3),
    lambda: S.apply(S),
    lambda: T.apply_range(S),
    lambda: T.intersect_domain(T),
    lambda: T(3),
    lambda: S.count(),
    lambda: S.count(M=3),
    lambda: bool(S),
    lambda: Set("{ A[i]; B[i] }").project_out(0),
    lambda: var("i") + "a",
    lambda: var("i") - None,
    lambda: var("i") * 1.5,
    lambda: var("i") * var("j"),
    lambda: var("i") / 2,
    lambda: var("i") // 0,
    lambda: var("i") // var("j"),
    lambda: var("i") % -1,
    lambda: var("i").evaluate({"j": 1}),
    lambda: var(3),
    lambda: aff(1.5),
    lambda: S.rename_dims(-1),
    lambda: S.rename_params(-1),
    lambda: S.align_params(None),
    lambda: S.align_params(ARRAY),
    lambda: S.align_params("MN"),
    lambda: S.align_params(3),
    lambda: S.align_params([S]),
    lambda: PwAff("{ [i] -> [i] }").align_params("MN"),
    lambda: PwAff("{ [i] -> [i] }").align_params(None),
    lambda: PwAff("{ [i] -> [i] }").align_params(PwAff),
    lambda: S.project_out(ARRAY),
    lambda: S.eliminate(ARRAY),
    lambda: S.lower_bound(ARRAY, 1),
    lambda: S.move_dims(ARRAY, to="out"),
    lambda: S.insert_dims(ARRAY, "k"),
    lambda: S.project_out_params(ARRAY),
    lambda: S.equate("i", ARRAY),
    lambda: S.only(ARRAY),
    lambda: Set.from_points("S[i]", S),
    lambda: Set.from_points("S[i]", None),
    lambda: Set.from_points(Set("{ }"), [(1,)]),
    lambda: Set.universe(Set),
    lambda: Map.from_affs("", [1]),
    lambda: Map.from_affs("[i]", [1], "a b"),
    lambda: S.intersect_params(Set),
    lambda: S.intersect_params(None),
    lambda: (True, 0) in Set("{ [i, j] }"),
    lambda: S.contains(S),
    lambda: var("i").evaluate(None),
    lambda: var("i").evaluate("i"),
    lambda: var("i").evaluate({"i": "j"}),
    lambda: var("i").evaluate({"i": None}),
    lambda: var("i").subs(None),
    lambda: var("i").subs({"i": None}),
    lambda: var("i").rewrite(None),
    lambda: aff("i+"),
    lambda: aff("i/2"),
    lambda: var("a b"),
    lambda: var("and"),
    lambda: var(""),
]


@pytest.mark.parametrize("number", range(len(MISUSE)))
def test_misuse_is_an_error_of_ours(number):
    with pytest.raises(PolyvoltaError) as caught:
        MISUSE[number]()
    assert str(caught.value).startswith("[PV1")


def test_operands_that_know_better_are_asked():
    class Other:
        def __radd__(self, other):
            return "mine"

        __rsub__ = __rmul__ = __radd__

    i = var("i")
    assert (i + Other(), i - Other(), i * Other()) == ("mine",) * 3
    with pytest.raises(NotAffine, match="product"):
        i * i
    assert i * aff(2) == aff(2) * i == 2 * i


@pytest.mark.parametrize(
    "asked, hint",
    [
        (lambda: Set("{ S[i] }") & Set("{ [j] }"), "the second's .rename('S')"),
        (lambda: Set("{ S[i] }") - Set("{ T[i, j] }"), ""),
        (lambda: Set("{ S[i] }").lex_lt_set(Set("{ [j] }")), "the second's .rename('S')"),
        (lambda: Set("{ [i] }").apply(Map("{ S[i] -> [i] }")), "the set's .rename('S')"),
        (lambda: Map("{ S[i] -> A[i] }").apply_range(Map("{ B[i] -> [i] }")), "the second's .rename_domain('A')"),
        (lambda: Map("{ S[i] -> A[i] }").intersect_range(Set("{ B[i] }")), "the set's .rename('A')"),
        (lambda: Map("{ S[i] -> A[i] }") & Map("{ S[i] -> [i] }"), "the second's .rename_range('A')"),
        (
            lambda: Map("{ S[i] -> A[i] }") & Map("{ T[i] -> [i] }"),
            "the second's .rename_domain('S').rename_range('A')",
        ),
        (lambda: Map("{ S[i] -> A[i] }") & Map("{ T[i] -> [i, j] }"), ""),
    ],
)
def test_tuples_of_which_the_names_alone_differ_are_to_be_renamed(asked, hint):
    with pytest.raises(SpaceMismatch) as caught:
        asked()
    assert caught.value.hint == (hint and f"only the tuples' names differ: {hint}")
