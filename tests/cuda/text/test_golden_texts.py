"""The CUDA texts that people review: unchanged, and compiled without spills."""

import pytest

from polyvolta.cuda.run.nvrtc import compile_cubin
from tests.cuda.text.golden_texts import CASES, FOLDER, path


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_reviewed_one(name):
    assert CASES[name].text() == path(name).read_text(), "if it is meant: python -m tests.cuda.text.golden_texts"


def test_there_are_no_other_texts():
    assert {p.stem for p in FOLDER.glob("*.cu")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_it_compiles_for_its_target_without_spills(name):
    found = compile_cubin(path(name).read_text(), CASES[name].target, name="kern0").resources("kern0")
    assert found.registers <= 255
    assert (found.spill_stores, found.spill_loads, found.local_bytes) == (0, 0, 0)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_no_longer_than_120_characters(name):
    assert max(map(len, path(name).read_text().splitlines())) <= 120
