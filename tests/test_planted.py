"""The lines that `tests.planted` changes are there, and what they become is Python: each error can still be planted."""

import ast

import pytest

from tests.campaigns import ROOT
from tests.planted import SETS, TREES

ERRORS = {**SETS, **TREES}


@pytest.mark.parametrize("name", ERRORS)
def test_the_line_of_an_error_is_there_once(name):
    file, old, new = ERRORS[name]
    text = (ROOT / "polyvolta" / file).read_text(encoding="utf-8")
    assert text.count(old) == 1 and old != new
    ast.parse(text.replace(old, new))
