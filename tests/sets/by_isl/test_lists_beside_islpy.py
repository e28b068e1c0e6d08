"""isl's lists: what their methods give is what islpy's give."""

import pytest

from polyvolta import isl

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
