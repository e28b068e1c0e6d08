"""Arrays one behind another at sums of sizes that no promise bounds: the same loops in any order of the text."""

from itertools import permutations

import pytest

from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from tests.sched.loops.counting import counted
from tests.sched.loops.oracle import deviation

LONGEST = 120  # characters of the head of a loop
ALIKE = 1.05  # how much longer the text of another order may be
SIZES = ((3, 3, 3, 3), (1, 4, 20, 3), (20, -3, 7, 2), (-4, 9, 2, 30), (3, 0, -7, 12), (2, 40, -20, 3), (9, -20, 25, -3))


def concatenated(order, offsets, rows):
    """A tree of parts A, B, ... of a, b, ... values each, which stand in some order in the text."""
    at = "[i, j]" if rows else "[j]"
    inside = "0 <= i < N and " if rows else ""
    domain = "; ".join(f"{s}{at} : {inside}0 <= j < {s.lower()}" for s in order)
    last = "; ".join(f"{s}{at} -> [j + {offsets[s]}]" for s in order)
    first = f"{{ {'; '.join(f'{s}{at} -> [i]' for s in order)} }}, " if rows else ""
    params = f"[{', '.join(['N'] * rows + [s.lower() for s in sorted(order)])}]"
    return Schedule.parse(
        f'{{ domain: "{params} -> {{ {domain} }}", child: {{ schedule: "{params} -> [{first}{{ {last} }}]" }} }}'
    )


def forwards(names):
    return {s: " + ".join(["0", *(t.lower() for t in names[:k])]) for k, s in enumerate(names)}


def backwards(names):
    return {s: " - ".join(["0", *(t.lower() for t in names[: k + 1])]) for k, s in enumerate(names)}


@pytest.mark.parametrize("offsets", [forwards, backwards])
@pytest.mark.parametrize(("names", "rows"), [("ABC", 0), ("ABC", 1), ("ABCD", 0), ("ABCD", 1)])
def test_parts_one_behind_another_have_the_same_loops_in_any_order_of_the_text(names, rows, offsets):
    where = offsets(names)
    every = [{"N": 2, **dict(zip("abcd"[: len(names)], some, strict=False))} for some in SIZES]
    every = [{k: v for k, v in sizes.items() if rows or k != "N"} for sizes in every]
    trees = {order: concatenated(order, where, rows) for order in [*permutations(names)][:: len(names)]}
    found = {order: scan(tree) for order, tree in trees.items()}
    lengths = [len(str(one)) for one in found.values()]
    assert max(lengths) <= ALIKE * min(lengths)
    heads = [line for one in found.values() for line in str(one).splitlines() if "for (" in line]
    assert not any("?" in line or len(line) > LONGEST for line in heads)
    for sizes in every:
        counts = [counted(one.body, sizes) for one in found.values()]
        assert max(counts) <= 1.25 * min(counts), sizes
    for order in [*trees][::3]:
        for sizes in every:
            assert deviation(trees[order], found[order], sizes) is None
