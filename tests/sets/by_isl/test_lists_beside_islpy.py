"""isl's lists: what their methods give is what islpy's give."""

import copy
import pickle
from collections import Counter

import pytest

from polyvolta import isl
from polyvolta.sets.by_isl import methods

CASES = [
    ("Val", ("3", "4", "5"), lambda v, lib: v.swap(0, 2)),
    ("Val", ("3", "4", "5"), lambda v, lib: v.map(lambda x: x.add(lib.Val(1)))),
    ("Val", ("3", "-4"), lambda v, lib: v.every(lambda x: x.is_pos())),
    ("Val", (), lambda v, lib: v.every(lambda x: x.is_pos())),
    ("Val", ("3", "4", "5"), lambda v, lib: v.set_val(1, lib.Val(9))),
    ("Set", ("{ [i] : i > 3 }", "{ [i] : i < 0 }", "{ [5] }"), lambda v, lib: v.union()),
    ("UnionSet", ("{ A[i] : i > 3 }", "{ B[i] : i < 0 }"), lambda v, lib: v.union()),
    ("BasicSet", ("{ [i] : i > 3 }", "{ [i] : i < 10 }"), lambda v, lib: v.intersect()),
    ("BasicMap", ("{ [i] -> [j] : i > j }", "{ [i] -> [j] : i < 10 }"), lambda v, lib: v.intersect()),
    ("PwAff", ("{ [i] -> [i] }", "{ [i] -> [3] }"), lambda v, lib: v.min()),
    ("PwAff", ("{ [i] -> [i] : i > 0 }", "{ [i] -> [3] }", "{ [i] -> [2i - 7] }"), lambda v, lib: v.max()),
    ("PwAff", (), lambda v, lib: v.max()),
    ("Set", (), lambda v, lib: v.union()),
    ("BasicSet", (), lambda v, lib: v.intersect()),
]


def of(lib, kind, texts):
    values = getattr(lib, f"{kind}List").alloc(lib.DEFAULT_CONTEXT, 0)
    for text in texts:
        values = values.add(lib.Val(int(text)) if kind == "Val" else getattr(lib, kind)(text))
    return values


@pytest.mark.parametrize("kind, texts, call", CASES)
def test_methods_of_lists(kind, texts, call):
    theirs = pytest.importorskip("islpy")
    try:
        wanted = call(of(theirs, kind, texts), theirs)
    except theirs.Error:
        with pytest.raises(isl.Error):
            call(of(isl, kind, texts), isl)
        return
    found = call(of(isl, kind, texts), isl)
    if hasattr(found, "is_equal"):
        assert found.is_equal(type(found)(wanted.to_str())) and type(found).__name__ == type(wanted).__name__
    else:
        assert found == wanted if isinstance(found, bool) else found.to_str() == wanted.to_str()


TEXTS = [
    ("Set", "({ [i] : i > 0 },{ [i] : i < 4 })"),
    ("Set", "()"),
    ("Set", " ( [N] -> { A[i, j] : i > 0; A[0, N] } ) "),
    ("Val", "(1/2, infty,-3)"),
    ("Id", "(a,b)"),
    ("UnionSet", "({ A[i]; B[i, j] }, { C[i] })"),
    ("Aff", "({ [i] -> [i] },{ [i, j] -> [(i + floor(j/2))] })"),
    ("PwAff", "({ [i] -> [i] : i < 4; [i] -> [2] : i > 3 }, { [i] -> [2] })"),
    ("Map", "({ [i] -> [i] })"),
    ("PwMultiAff", "({ [i] -> [i, 2] },{ [i] -> A[i, 2, floor(i/3)] })"),
    ("UnionPwAff", "({ A[i] -> [(i)]; B[i] -> [(2i)] }, { A[i] -> [(0)] })"),
]


@pytest.mark.parametrize(("kind", "text"), TEXTS)
def test_lists_of_texts_are_read_as_islpy_reads_them(kind, text):
    islpy = pytest.importorskip("islpy")
    ours = getattr(isl, f"{kind}List").read_from_str(isl.DEFAULT_CONTEXT, text)
    theirs = getattr(islpy, f"{kind}List").read_from_str(islpy.DEFAULT_CONTEXT, text)
    assert len(ours) == len(theirs) and isinstance(ours, isl.SetList) and ours == getattr(isl, f"{kind}List")(ours)
    for mine, other in zip(ours, (theirs.get_at(k) for k in range(len(theirs))), strict=True):
        if kind in ("Id", "Val"):
            assert mine.to_str() == other.to_str()
        else:
            again = getattr(islpy, kind)(mine.to_str())
            same = "plain_is_equal" if kind in ("Aff", "UnionPwAff") else "is_equal"
            assert getattr(again, same)(other)


BAD = [("Set", "{ [i] }"), ("Val", "[1, 2]"), ("Set", "({ [i] },)"), ("AstExpr", "(a)")]


@pytest.mark.parametrize(("kind", "text"), BAD)
def test_what_is_no_list_is_refused(kind, text):
    with pytest.raises((isl.PolyvoltaError, AttributeError)):
        getattr(isl, f"{kind}List").read_from_str(text)


@pytest.mark.parametrize("name", ["eq_set", "ge_set", "gt_set", "le_set", "lt_set", "ne_set"])
def test_lists_of_functions_are_compared_element_by_element(name):
    islpy = pytest.importorskip("islpy")
    first, second = "({ [i] -> [i] },{ [i] -> [2i] })", "({ [i] -> [3] },{ [i] -> [7 - i] })"
    ours, theirs = (
        getattr(lib.PwAffList.read_from_str(lib.DEFAULT_CONTEXT, first), name)(
            lib.PwAffList.read_from_str(lib.DEFAULT_CONTEXT, second)
        )
        for lib in (isl, islpy)
    )
    assert islpy.Set(str(ours)).is_equal(theirs)


def test_lists_are_stored_and_copied():
    for made in (isl.ValList.read_from_str("(1,1/2)"), isl.PwAffList.from_pw_aff(isl.PwAff("{ [i] -> [i/2] }"))):
        for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
            assert again == made and isinstance(again, isl.ValList) and again.concat(made).size() == 2 * len(made)


def test_lists_of_values_have_isls_methods():
    assert isl.MultiPwAff("{ [i] -> [i, 3] }").get_list().n_pw_aff() == 2
    assert isl.PwAff("{ [i] -> [i] }").get_pw_aff_list().get_at(0).is_equal(isl.PwAff("{ [i] -> [i] }"))


def test_each_of_isls_names_is_of_one_method():
    named = Counter((kind, name) for kinds, names, _ in methods() for kind in kinds.split() for name in names.split())
    assert [key for key, n in named.items() if n > 1] == []
