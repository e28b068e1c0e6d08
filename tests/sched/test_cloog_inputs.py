"""CLooG's files as maps: what `benchmarks/cloog.py` reads of both formats."""

import pytest
from cloog import map_and_context

from polyvolta.sets import Map, Set

OLD = """
c
1 3          # n >= 2
1 1 -2
1
n
2            # statements
1
2 4          # 0 <= i <= n
1 1 0 0
1 -1 1 0
0 0 0
2            # i = 0 or i = n
1 4
0 1 0 0
1 4
0 1 -1 0
0 0 0
0
2
1 5          # c0 = i + 1
0 -1 1 0 1
2 6          # c0 = 0, c1 = i
0 1 0 0 0 0
0 0 1 -1 0 0
0
"""
NEW = """
c
1
1 3 0 0 0 1
1 1 0
1
in
1
1
2 5 1 0 1 1  # i = 2e, i <= in
0 1 -2 0 0
1 -1 0 1 0
0 0 0
0
0
"""


def read(tmp_path, text):
    file = tmp_path / "one.cloog"
    file.write_text(text)
    relation, context = map_and_context(file).split("\n")
    return Map(relation), Set(context)


def test_two_statements_with_scattering(tmp_path):
    relation, context = read(tmp_path, OLD)
    assert relation.is_equal(
        Map("[n] -> { S1[i] -> [i + 1, 0] : 0 <= i <= n; S2[i] -> [0, i] : i = 0; S2[i] -> [0, i] : i = n }")
    )
    assert context.is_equal(Set("[n] -> { : n >= 2 }"))


def test_existentials_and_no_scattering(tmp_path):
    relation, context = read(tmp_path, NEW)
    assert relation.is_equal(Map("[in_] -> { S1[i] -> [i] : i mod 2 = 0 and i <= in_ }"))
    assert context.is_equal(Set("[in_] -> { : in_ >= 0 }"))


def test_what_is_none_of_the_formats_is_refused(tmp_path):
    with pytest.raises((ValueError, IndexError)):
        read(tmp_path, "c\n[n] -> { : }\n0\n")
