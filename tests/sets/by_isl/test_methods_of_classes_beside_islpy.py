"""A method that is looked up on a class is that of the value, whichever class the value is of."""

import pickle
from functools import singledispatch

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

VALUES = {
    "Val": ["1/2", "-1/2", "infty", "NaN", "7"],
    "Aff": ["{ [i] -> [(i/2)] }", "{ [i] -> [(i + 1)] }"],
    "PwAff": ["{ [i] -> [(i/2)] : i > 0 }", "{ [i] -> [(i)] : i > 0 }"],
    "MultiAff": ["{ [i] -> [(i/2), (i)] }", "{ [i] -> [(3), (i)] }"],
    "MultiPwAff": ["{ A[i] -> B[(i : i > 0), (i)] }", "{ A[i] -> B[(i/2)] }", "{ A[i] -> B[(i)] : i > 3 }"],
    "UnionPwAff": ["{ A[i] -> [(i)/2]; B[i] -> [(i)] }"],
    "UnionPwMultiAff": ["{ A[i] -> [(i)/2]; B[i] -> [(i)] }"],
    "MultiUnionPwAff": ["[{ A[i] -> [(i)/2]; B[i] -> [(i)] }]",
                        "[{ A[i] -> [(i)]; B[k] -> [(k)] }, { A[i] -> [(0)] }]"],
}  # fmt: skip
ASKED = [(name, text) for name, texts in VALUES.items() for text in texts]


def outcome(f, *args):
    try:
        return repr(f(*args))
    except Exception as wrong:  # noqa: BLE001 - whatever it is, both are to raise it
        return f"{type(wrong).__name__}: {wrong}"


@pytest.mark.parametrize(("name", "text"), ASKED)
def test_all_methods_are_those_of_the_value(name, text):
    """All that islpy has, with no other argument; what makes a value, of one or of islpy's, is of the class."""
    kind = getattr(ours, name)
    value = kind(text)
    for method in dir(getattr(isl, name)):
        makes = method.startswith(("_", "from_", "int_from", "zero", "read_from")) or method in (
            "as_union_map",
            "get_local_space",
        )
        if makes or not hasattr(value, method) or not callable(getattr(value, method)):
            continue
        found, wanted = outcome(getattr(kind, method), value), outcome(getattr(value, method))
        if wanted.startswith(("TypeError", "SetSyntaxError")):  # an argument is missing, which each says its way
            continue
        assert found == wanted, method


CALLS = [
    lambda m: m.Aff.floor(m.Aff("{ [i] -> [(i/2)] }")).eval(m.Set("{ [7] }").sample_point()),
    lambda m: m.Val.get_den_val(m.Val("-1/2")),
    lambda m: m.Aff.get_denominator_val(m.Aff("{ [i] -> [(i/2)] }")),
    lambda m: [bool(x) for x in map(m.Val.is_pos, [m.Val("1/2"), m.Val(-3), m.Val("infty")])],
    lambda m: [bool(x) for x in map(m.Val.is_int, [m.Val("1/2"), m.Val(-3)])],
    lambda m: m.MultiPwAff.domain(m.MultiPwAff("{ A[i] -> B[(i : i > 0), (i)] }")).is_equal(m.Set("{ A[i] : i > 0 }")),
    lambda m: m.Val.to_str(m.Val("1/2")),
    lambda m: m.Val.add(m.Val("1/2"), m.Val("1/3")),
    lambda m: m.PwAff.is_equal(m.Aff("{ [i] -> [(i/2)] }").to_pw_aff(), m.PwAff("{ [i] -> [(i/2)] }")),
    lambda m: m.UnionPwAff.floor(m.UnionPwAff("{ A[i] -> [(i)/2] }")).plain_is_equal(
        m.UnionPwAff("{ A[i] -> [(floor(i/2))] }")),
    lambda m: m.MultiUnionPwAff.dim(m.MultiUnionPwAff("[{ A[i] -> [(i)]; B[] -> [(2)] }, { A[i] -> [(0)] }]"),
                                    m.dim_type.set),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_calls_through_a_class(k):
    found, wanted = (CALLS[k](m) for m in (ours, isl))
    assert str(found) == str(wanted)


@pytest.mark.parametrize(("name", "text"), ASKED)
def test_functions_dispatch_by_the_class(name, text):
    for m in (ours, isl):
        kind = getattr(m, name)

        @singledispatch
        def called(value):
            return "another"

        called.register(kind)(lambda value: "of the class")
        called.register(m.UnionSet)(lambda value: "a set")
        assert called(kind(text)) == "of the class" and called(3) == "another"
        assert issubclass(type(kind(text)), kind) and not issubclass(int, kind)


def test_methods_of_classes_are_functions():
    floor = ours.Aff.floor
    assert floor is ours.Aff.floor and pickle.loads(pickle.dumps(floor)) is floor
    for text in ("{ [i] -> [(i)] }", "{ [i] -> [(i/2)] }"):
        assert type(ours.PwAff.neg(ours.Aff(text)).to_pw_aff()) is type(ours.PwAff.neg(ours.Aff(text)))
