"""Differences of trees: the paper's figures, with the lines that the paper shades.

The shading below was typed from the paper's figures, lines in a box marked by a bar. Each figure is compared with the
tree that its caption transforms: sched1-warp-tile tiles the block tile's inner band, and the last figure the tree of
sched3-separation over the domain of macro-MMA instances.
"""

import re

import pytest

from polyvolta.sched.tree import Filter, Leaf, Mark, Schedule, Sequence
from polyvolta.sched.views.diff import diff
from polyvolta.sets import Set
from tests.sched.views.trees import DOMAIN, FUSED, band, filters, tree

EVERY = "i mod 16 = 0 and j mod 16 = 0"
STRIDED = DOMAIN.replace("}", f"and {EVERY} and k mod 8 = 0 }}")
FUSED_STRIDED = FUSED.replace(";", f" and {EVERY} and k mod 8 = 0;").replace("}", f"and {EVERY} }}")
BLOCK = "i//128, j//128, k//32"
IN_BLOCK = "i - 128*floor(i/128), j - 128*floor(j/128), k - 32*floor(k/32)"
WARP = "floor(i/64) - 2*floor(i/128), floor(j/64) - 2*floor(j/128)"
IN_WARP = "i - 64*floor(i/64), j - 64*floor(j/64), k - 32*floor(k/32)"
IN_STRIP = "i - 64*floor(i/64), j - 64*floor(j/64), k - 8*floor(k/8)"
STRIP = "0, 0, floor(k/8) - 4*floor(k/32)"
BLOCKS, WARPS = "blockIdx.y, blockIdx.x, -", "warpIdx_y, warpIdx_x, -"


def last(text):
    """The expressions of S2, which has K in place of k."""
    return text.replace("k", "K")


initial = tree(DOMAIN, band(None, S="i, j, k"))
block_tile = tree(DOMAIN, band(band(None, S=IN_BLOCK), S=BLOCK))
warp_tile = tree(DOMAIN, band(band(band(None, S=IN_WARP), S=WARP + ", 0"), S=BLOCK))
parametric = tree(DOMAIN, band(band(band(None, S=IN_WARP), S=WARP + ", 0", names=WARPS), S=BLOCK, names=BLOCKS))
inside = band(band(None, S=IN_STRIP), S=STRIP)
mapped = band(band(inside, S=WARP + ", 0", names=WARPS), S=BLOCK, names=BLOCKS)
strip_mined, constrained = tree(DOMAIN, mapped), tree(STRIDED, mapped)

split_block = "i//128, j//128, k//64"
split_k = WARP + ", floor(k/32) - 2*floor(k/64)"
block_tile2 = tree(DOMAIN, band(band(None, S=IN_BLOCK.replace("32", "64")), S=split_block))
warp_tile2 = tree(DOMAIN, band(band(band(None, S=IN_WARP), S=split_k), S=split_block))
parametric2 = tree(
    DOMAIN,
    band(band(band(None, S=IN_WARP), S=split_k, names="warpIdx_y, warpIdx_x, warpIdx_z"), S=split_block, names=BLOCKS),
)

both = filters(S1=None, S2=None)
initial3 = tree(FUSED, band(both, S1="i, j, k", S2="i, j, K"))
block_tile3 = tree(FUSED, band(band(both, S1=IN_BLOCK, S2=last(IN_BLOCK)), S1=BLOCK, S2=last(BLOCK)))
hoisted = filters(S1=band(band(None, S1=IN_BLOCK), S1="k//32"), S2=band(band(None, S2=last(IN_BLOCK)), S2="K//32"))
separation = tree(FUSED, band(hoisted, S1="i//128, j//128", S2="i//128, j//128"))
contracted = tree(FUSED_STRIDED, band(hoisted, S1="i//128, j//128", S2="i//128, j//128"))


def thread(s, name):
    """The bands of a warp and below, in the last figure."""
    return band(band(band(None, **{name: s(IN_STRIP)}), **{name: s(STRIP)}), names=WARPS, **{name: WARP + ", 0"})


warp_tile3 = tree(
    FUSED_STRIDED,
    band(
        filters(S1=band(thread(str, "S1"), S1="k//32"), S2=band(thread(last, "S2"), S2="K//32")),
        names="blockIdx.y, blockIdx.x",
        S1="i//128, j//128",
        S2="i//128, j//128",
    ),
)

FIGURES = {
    "sched1-warp-tile": (
        block_tile,
        warp_tile,
        """\
  DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
    BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]
┃     BAND: S[i, j, k] → [⌊i/64⌋ - 2⌊i/128⌋, ⌊j/64⌋ - 2⌊j/128⌋, 0]
┃       BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    ),
    "sched1-parametric": (
        warp_tile,
        parametric,
        """\
  DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
┃   BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
┃     BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
        BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    ),
    "sched1-strip-mined": (
        parametric,
        strip_mined,
        """\
  DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
    BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
      BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
┃       BAND: S[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
┃         BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]""",
    ),
    "sched1-constrained-domain": (
        strip_mined,
        constrained,
        """\
┃ DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k
    BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
      BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
        BAND: S[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
          BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]""",
    ),
    "sched2-warp-tile": (
        block_tile2,
        warp_tile2,
        """\
  DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
    BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/64⌋]
┃     BAND: S[i, j, k] → [⌊i/64⌋ - 2⌊i/128⌋, ⌊j/64⌋ - 2⌊j/128⌋, ⌊k/32⌋ - 2⌊k/64⌋]
┃       BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    ),
    "sched2-parametric": (
        warp_tile2,
        parametric2,
        """\
  DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
┃   BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/64⌋]
┃     BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, warpIdx_z]
        BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]""",
    ),
    "sched3-block-tile": (
        initial3,
        block_tile3,
        """\
  DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
          S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
┃   BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋];
┃         S2[i, j] → [⌊i/128⌋, ⌊j/128⌋, ⌊K/32⌋]
┃     BAND: S1[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋];
┃           S2[i, j] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, K - 32⌊K/32⌋]
        SEQUENCE
          FILTER: S1[i, j, k]
          FILTER: S2[i, j]""",
    ),
    "sched3-separation": (
        block_tile3,
        separation,
        """\
  DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
          S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
┃   BAND: S1[i, j, k] → [⌊i/128⌋, ⌊j/128⌋];
┃         S2[i, j] → [⌊i/128⌋, ⌊j/128⌋]
┃     SEQUENCE
┃       FILTER: S1[i, j, k]
┃         BAND: S1[i, j, k] → [⌊k/32⌋]
┃           BAND: S1[i, j, k] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, k - 32⌊k/32⌋]
┃       FILTER: S2[i, j]
┃         BAND: S2[i, j] → [⌊K/32⌋]
┃           BAND: S2[i, j] → [i - 128⌊i/128⌋, j - 128⌊j/128⌋, K - 32⌊K/32⌋]""",
    ),
    "sched3-warp-tile-strip-mined": (
        contracted,
        warp_tile3,
        """\
  DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j ∧ 8⌊k/8⌋ = k;
          S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 16⌊i/16⌋ = i ∧ 16⌊j/16⌋ = j
┃   BAND: S1[i, j, k] → [blockIdx.y, blockIdx.x];
┃         S2[i, j] → [blockIdx.y, blockIdx.x]
      SEQUENCE
        FILTER: S1[i, j, k]
          BAND: S1[i, j, k] → [⌊k/32⌋]
┃           BAND: S1[i, j, k] → [warpIdx_y, warpIdx_x, 0]
┃             BAND: S1[i, j, k] → [0, 0, ⌊k/8⌋ - 4⌊k/32⌋]
┃               BAND: S1[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 8⌊k/8⌋]
        FILTER: S2[i, j]
          BAND: S2[i, j] → [⌊K/32⌋]
┃           BAND: S2[i, j] → [warpIdx_y, warpIdx_x, 0]
┃             BAND: S2[i, j] → [0, 0, ⌊K/8⌋ - 4⌊K/32⌋]
┃               BAND: S2[i, j] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, K - 8⌊K/8⌋]""",
    ),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_the_lines_that_the_paper_shades_are_marked_and_no_others(figure):
    old, new, shaded = FIGURES[figure]
    assert str(diff(old, new)) == shaded


@pytest.mark.parametrize("figure", FIGURES)
def test_without_the_bars_it_is_the_new_tree_and_with_the_removed_lines_the_old_one(figure):
    old, new, _ = FIGURES[figure]
    found = diff(old, new)
    assert re.sub("^(┃| ) ", "", str(found), flags=re.M) == str(new)
    kept = [line[2:] for line in found.text(removed=True).splitlines() if not line.startswith("┃")]
    assert sorted(line.strip() for line in kept) == sorted(line.strip() for line in str(old).splitlines())


@pytest.mark.parametrize("figure", FIGURES)
def test_a_tree_does_not_differ_from_itself(figure):
    _, new, _ = FIGURES[figure]
    assert not diff(new, new)
    assert not new.diff(new)


def test_a_subtree_that_moves_down_is_not_new():
    old = tree(DOMAIN, band(None, S="i, j, k"))
    new = tree(DOMAIN, Mark("kernel", old.node((0,))))
    assert new.diff(old).changed == ((0,),)
    assert old.diff(new).removed == ((0,),)


def test_other_flags_are_shown_behind_a_band():
    from dataclasses import replace

    old = tree(DOMAIN, band(None, S="i, j, k"))
    new = old.replace((0,), replace(old.band((0,)), permutable=True))
    assert str(new.diff(old)).splitlines()[1] == "┃   BAND: S[i, j, k] → [i, j, k]   (permutable)"


def test_a_sequence_whose_children_change_places_shows_which_moved():
    def ordered(*names):
        return tree("{ A[]; B[]; C[] }", Sequence(tuple(Filter((n,)) for n in names)))

    found = diff(ordered("A", "B", "C"), ordered("B", "C", "A"))
    assert found.changed == ((0, 2),)
    assert found.removed == ((0, 0),)


def test_a_filter_with_another_condition_is_changed():
    def half(condition):
        return tree("{ S[i] : 0 <= i < 8 }", Filter(("S",), Leaf(), Set(f"{{ S[i] : {condition} }}")))

    assert diff(half("i < 4"), half("i < 5")).changed == ((0,),)


def test_in_latex_the_changed_lines_stand_in_boxes():
    text = diff(warp_tile, parametric).to_latex().replace(r"j - 64\lfloor{j/64}\rfloor, ", "")
    assert (
        text
        == r"""DOMAIN: $S[i, j, k] : 0 \le i < M \land 0 \le j < N \land 0 \le k < K$
\mybox{\hspace*{0.3cm}BAND: $S[i, j, k] \rightarrow [\textit{blockIdx.y}, \textit{blockIdx.x}, \lfloor{k/32}\rfloor]$ \\
\hspace*{0.6cm}BAND: $S[i, j, k] \rightarrow [\textit{warpIdx\_y}, \textit{warpIdx\_x}, 0]$}\par
\hspace*{0.9cm}BAND: $S[i, j, k] \rightarrow [i - 64\lfloor{i/64}\rfloor, k - 32\lfloor{k/32}\rfloor]$
"""
    )


def test_in_notebooks_changed_lines_are_shaded_and_old_ones_struck_through():
    html = diff(warp_tile, parametric)._repr_html_()
    assert html.count('class="pv-new"') == html.count('class="pv-gone"') == 2
    assert html.count("<div") == html.count("</div>") == 2 + 4 + 2


def test_in_a_terminal_the_bars_are_there_too():
    from rich.console import Console

    console = Console(width=120, record=True, file=open("/dev/null", "w"))
    console.print(diff(warp_tile, parametric))
    marks = [line[0] for line in console.export_text().splitlines()]
    assert marks == [" ", "-", "-", "┃", "┃", " "]


def test_nothing_in_common_but_the_domain():
    found = diff(Schedule(initial.root), tree(DOMAIN, Mark("a", Mark("b"))))
    assert found.changed == ((0,), (0, 0))
    assert found.removed == ((0,),)
