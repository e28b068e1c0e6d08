"""Pictures of what was observed: each against numbers worked out by hand, or against a picture made another way."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, GlobalStore
from polyvolta.cuda.machine.observe.errors import NotObserved
from polyvolta.cuda.mutants import broken
from polyvolta.cuda.pictures import shared_tile
from polyvolta.cuda.pictures.errors import NothingToDraw
from polyvolta.cuda.pictures.svg import text_width
from polyvolta.sets import UnknownName, var
from tests.cuda.machine.observe.small import OPTIONS, K, M, N, operands, product
from tests.cuda.machine.observe.small import broken as changed
from tests.cuda.pictures.reading import SVG, groups, parsed, words


def observed(kernel, observe, m=40, n=48, k=40):
    return kernel.interpret(**operands(kernel, m, n, k), observe=observe)


def titles(svg, start):
    return [g.title for g in groups(svg) if g.title.startswith(start)]


# ---- bank conflicts


def test_the_worst_conflict_shows_which_lanes_meet_in_which_banks():
    """Without its swizzle A's tile has rows of 32 bytes one after the other: rows r and r + 4 share their banks."""
    svg = observed(broken(product(), "swizzle dropped"), "bank_conflicts").picture("bank_conflicts")
    assert "2-way bank conflicts" in words(svg)
    expected = []
    for row in range(16):
        first = row if row < 8 else row + 8  # lanes 0 .. 7 load rows 0 .. 7, lanes 16 .. 23 rows 8 .. 15
        expected.append(f"byte {32 * row}, chunk {2 * row}: lanes {first}, {first + 8}, 2-way conflict")
    assert titles(svg, "byte ") == expected


@pytest.mark.parametrize(
    "more, tile, statement",
    [
        ({}, "shared_A", "frag_A"),
        ({"buffers": 2}, "shared_B", "frag_B"),
        ({"b": "row"}, "shared_B", "store_B"),
        ({"split_k": 2}, "exchange", "exchange_C"),
        ({"split_k": 2}, "exchange", "gather_C"),
    ],
)
def test_without_a_conflict_the_picture_is_that_of_the_access(more, tile, statement):
    """What a run recorded, against the same access found without any data."""
    kernel = product(**more)
    svg = observed(kernel, "all", 32, 32, 32).picture("bank_conflicts", statement)
    assert any("free of bank conflicts" in w for w in words(svg))
    other = shared_tile(kernel, tile, statement)
    assert groups(svg) == groups(other)
    assert words(svg)[-1] == words(other)[-1]


def test_by_default_it_is_the_most_frequent_access():
    seen = observed(product(), "bank_conflicts")
    most = max(r.accesses for r in seen.bank_conflicts.rows)
    assert any(f"{most:,} such accesses" in w for w in words(seen.picture("bank_conflicts")))


# ---- coalescing


def test_sectors_hold_the_lanes_whose_bytes_lie_in_them():
    """Rows of A are 54 bytes: lane 2 r + h of warp 0 loads value 8 h of row r, two bytes, at 54 r + 16 h."""
    svg = observed(product(), "coalescing", 45, 37, 27).picture("coalescing", "load_A")
    lanes: dict[int, list[int]] = {}
    for lane in range(32):
        lanes.setdefault((54 * (lane // 2) + 16 * (lane % 2)) // 32, []).append(lane)
    expected = [(s, f"{2 * len(who)} of 32 bytes") for s, who in sorted(lanes.items())]
    found = [re.match(r"sector (\d+): lanes? [\d, -]+, (.*)", t).groups() for t in titles(svg, "sector ")]
    assert [(int(s), much) for s, much in found] == expected
    assert "sector 0: lanes 0-1, 4 of 32 bytes" in titles(svg, "sector ")
    assert any(w.startswith("24 sectors, 2 could hold its bytes") for w in words(svg))


def test_whole_sectors_leave_nothing_over():
    """A[32, 16] has rows of one sector; lanes 2 r and 2 r + 1 take its halves."""
    svg = observed(product(), "coalescing", 32, 32, 16).picture("coalescing", "load_A")
    assert titles(svg, "sector ") == [f"sector {r}: lanes {2 * r}-{2 * r + 1}, 32 of 32 bytes" for r in range(16)]
    assert any(w.startswith("16 sectors, as few as can be") for w in words(svg))
    (asked,) = titles(svg, "Of the whole run: load_A")
    assert asked.endswith("asked: 1 KiB")


def test_what_many_lanes_want_is_moved_once():
    """A row's two lanes read 8 values of the bias each, every row the same 16: one sector for all."""
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + pv.tensor("bias", (N,)), options=OPTIONS)
    svg = observed(kernel, "coalescing", 32, 32, 16).picture("coalescing", "read_bias")
    assert titles(svg, "sector ") == ["sector 0: lanes 0-31, 32 of 32 bytes"]
    assert any(w.startswith("1 sector, as few as can be") for w in words(svg))
    assert "one place for lanes of several eights" in words(svg)
    assert not {"lanes 0 to 7", "moved for nothing"} & set(words(svg))
    (sector,) = (g for g in groups(svg) if g.title.startswith("sector "))
    assert [w.split(", ")[:2] for w in sector.words] == [["0", "2"], ["1", "3"]]
    assert all(text_width(w, 9) <= 82 and w.endswith("…") for w in sector.words)


# ---- counts


def test_bars_are_as_long_as_the_counts():
    """One block, two tiles along k: 128 HMMA, 36 LDS.128; see the counts' own test for why."""
    svg = observed(product(), "counts", 32, 32, 32).picture("counts")
    long = {}
    for g in parsed(svg).iter(f"{SVG}g"):
        title, kind, amount = g.find(f"{SVG}title").text.split(": ")
        if title == "Instructions of warps":
            *_, frame = g.iter(f"{SVG}rect")
            long[kind] = float(frame.get("width")), int(amount.split()[0].replace(",", ""))
    assert long["HMMA.884.F32"] == (420, 128)
    assert long["LDS.128"] == (pytest.approx(420 * 36 / 128, abs=0.01), 36)
    assert all(width == pytest.approx(420 * n / 128, abs=0.01) for width, n in long.values())
    # a k tile: 16 LDS.128 of four warps, two strips, two operands; 4 STS.128; four phases each
    assert "A k tile of a block, on average: shared memory serves: 80 times" in titles(svg, "A k tile")


# ---- races


def test_a_race_shows_both_threads_and_what_happens_between():
    seen = observed(broken(product(), "no barrier after the stores"), "races")
    svg = seen.picture("races", "frag_A")
    (race,) = [r for r in seen.races.rows if r.place.statement == "frag_A"]
    assert race.between[0] == race.other and race.between[-1] == race.place
    assert not any(isinstance(p.stmt, Barrier) for p in race.between)
    assert "A race: read after write at byte 32 of shared_A" in words(svg)
    assert "chunk 2: elements [1, 0–7]" in words(svg)  # two chunks a row, the second row
    assert {"warp 0, lane 2", "warp 0, lane 1"} <= set(words(svg))  # lane 2 copies row 1, lane 1 reads it
    assert titles(svg, "writes ") == ["writes byte 32 of shared_A"]
    assert titles(svg, "reads ") == ["reads byte 32 of shared_A"]


def test_a_barrier_that_orders_other_threads_is_shown():
    svg = observed(broken(product(), "warp barrier after the stores"), "races").picture("races")
    assert "a barrier that doesn't order these two threads" in words(svg)


def test_threads_of_one_operation_stand_below_one_another():
    svg = observed(broken(product(), "last row over the one before"), "races").picture("races")
    first, second = (g for g in groups(svg) if g.title.startswith("writes "))
    assert first.x == second.x and first.y < second.y
    assert "a step of the block" not in words(svg)


def test_accesses_of_two_blocks_have_no_steps_between():
    def first_column(s):
        block = var("blockIdx.x")
        return replace(s, index=(s.index[0], s.index[1] - 32 * block)) if isinstance(s, GlobalStore) else s

    svg = observed(changed(product(), first_column), "races", 32, 64, 16).picture("races")
    assert "Nothing orders the two: either may be the first" in words(svg)
    assert {"block (0, 0, 0)", "block (1, 0, 0)"} <= set(words(svg))
    assert "a step of the block" not in words(svg)
    assert words(svg).count("write_C") == 2


def test_many_steps_between_are_shortened():
    seen = observed(broken(product(), "no barrier after the stores"), "races")
    race = seen.races.rows[0]
    middle = [p for p in race.between for _ in range(3)]
    apart = [p for n in range(40) for p in race.between[n % 2 : n % 2 + 1]]
    for between, expected in ((middle, " × 3"), (apart, "more")):
        longer = replace(race, between=(race.between[0], *between, race.between[-1]))
        svg = replace(seen, races=replace(seen.races, rows=(longer,))).picture("races")
        assert any(w.endswith(expected) for w in words(svg))
        assert svg.size[0] < 1400


# ---- refusals


@pytest.mark.parametrize(
    "name, statement, error, says",
    [
        ("bank_conflict", None, UnknownName, "did you mean 'bank_conflicts'"),
        ("counts", None, NotObserved, r"interpret\(..., observe=\('races', 'bounds', 'bank_conflicts', 'counts'\)\)"),
        ("races", None, NothingToDraw, "no race was seen"),
        ("bounds", None, NothingToDraw, "its table"),
        ("divergence", None, NothingToDraw, "its table"),
        ("bank_conflicts", "frag_a", UnknownName, "did you mean 'frag_A'"),
        (3, None, UnknownName, "no observer is called 3"),
    ],
)
def test_what_cannot_be_drawn_says_why(name, statement, error, says):
    seen = observed(product(), ("races", "bank_conflicts", "bounds"), 32, 32, 16)
    with pytest.raises(error, match=says):
        seen.picture(name, statement)


@pytest.mark.parametrize("name", ["races", "bank_conflicts", "coalescing", "counts"])
def test_an_empty_run_has_no_pictures(name):
    seen = product().interpret(np.zeros((0, 8), "f2"), np.zeros((8, 4), "f2", order="F"), observe="all")
    with pytest.raises(NothingToDraw):
        seen.picture(name)
    assert "<svg" not in seen._repr_html_()


def test_counts_are_of_no_single_statement():
    with pytest.raises(NothingToDraw, match="of the whole run"):
        observed(product(), "counts", 32, 32, 16).picture("counts", "frag_A")


def test_notebooks_show_the_pictures_folded():
    seen = observed(product(), ("races", "counts", "bank_conflicts"), 32, 32, 16)
    html = seen._repr_html_()
    assert re.findall(r"<summary>(.*?)</summary>", html) == ["picture of bank_conflicts", "picture of counts"]
    assert seen.picture("counts")._html() in html
