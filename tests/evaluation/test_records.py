"""Rows as a CSV file: back as they were, cut off, of something else, not to be written."""

import math
from dataclasses import replace

import pytest

from polyvolta.evaluation import records
from polyvolta.evaluation.errors import BadRecords
from polyvolta.evaluation.records import append, read
from polyvolta.evaluation.spelling import read_options
from tests.evaluation.made import row, rows


def same(a, b):
    """Whether two rows are, to a nanosecond, and NaN is NaN."""
    return all(x == y or (isinstance(x, float) and (abs(x - y) < 1e-3 or math.isnan(x) and math.isnan(y)))
               for x, y in zip(*(vars_of(r) for r in (a, b)), strict=True))  # fmt: skip


def vars_of(r):
    return [getattr(r, name) for name in records.NAMES]


def test_rows_come_back_as_they_were(tmp_path):
    path, some = tmp_path / "deep" / "e.csv", rows(3)
    append(path, some[:4])
    for r in some[4:]:
        append(path, [r])
    assert all(same(a, b) for a, b in zip(read(path), some, strict=True))
    assert path.read_text().count("gpu,library") == 1


def test_no_file_has_no_rows(tmp_path):
    assert read(tmp_path / "none.csv") == []
    (tmp_path / "empty.csv").touch()
    assert read(tmp_path / "empty.csv") == []


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_that_was_cut_off_is_not_there_and_goes_with_the_next_one(tmp_path, cut):
    path, (first, second, third) = tmp_path / "e.csv", rows(3)[:3]
    append(path, [first, second])
    path.write_bytes(path.read_bytes()[:-cut])
    assert [r.key for r in read(path)] == [first.key]
    append(path, [third])
    assert [r.key for r in read(path)] == [first.key, third.key]


def test_a_head_that_was_cut_off_is_written_again(tmp_path):
    path = tmp_path / "e.csv"
    append(path, [row()])
    path.write_bytes(path.read_bytes()[:20])
    append(path, [row()])
    assert len(read(path)) == 1


def test_of_two_rows_for_one_thing_the_last_counts(tmp_path):
    path = tmp_path / "e.csv"
    append(path, [row(), replace(row(), tuned_us=7.0)])
    assert [r.tuned_us for r in read(path)] == [7.0]


def test_another_target_gpu_or_size_is_another_thing():
    keys = {row().key, row(target="sm_80").key, row(gpu="x").key, row(K=128).key, row(benchmark="add").key}
    assert len(keys) == 5
    assert row(library="torch 3", tuned_us=1).key == row().key


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,b\n1,2\n", "is no file of an evaluation"), (",".join(records.NAMES) + "\nx,y\n", "line 2"),
     (",".join(records.NAMES) + "\n" + "x," * 4 + "many" + ",1" * 15 + "\n", "line 2")],
)  # fmt: skip
def test_files_of_something_else_are_refused(tmp_path, text, words):
    path = tmp_path / "e.csv"
    path.write_text(text)
    with pytest.raises(BadRecords) as wrong:
        read(path)
    assert words in str(wrong.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(BadRecords, match="can't be read"):
        read(path)


def test_where_nothing_can_be_written_it_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadRecords, match="can't be written"):
        append(tmp_path / "file" / "e.csv", [row()])


@pytest.mark.parametrize("text", ["", "128x256", "128x256x64/64x256x64 m64n256k16 speed=9", "axbxc/dxexf m buffers=1"])
def test_texts_that_say_no_options(text):
    with pytest.raises(BadRecords, match="says no options"):
        read_options(text)
