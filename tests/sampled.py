"""Which cases of a test run where not all of them do: one in n, and as many more as its parameters need.

A parameter with at most `FEW` values names kinds of something: layouts, targets, idioms. Each of its values runs at
least once. One with more values, or with another value in each case of the test, is a list of cases: one in n of them
runs, and nothing is said of each. Parameters that are `ALIKE` say when or how much, to all tests of a file the same:
each of their few values runs in one of these tests, and the others take in turn what came least often.

>>> cases = [{"target": t, "buffers": b} for t in ("sm_80", "sm_90a") for b in range(1, 5)]
>>> [tuple(cases[i].values()) for i in sample(cases, 8)]
[('sm_80', 1), ('sm_80', 3), ('sm_90a', 2), ('sm_90a', 4)]
>>> sample([{"kernel": number} for number in range(40)], 9)
[0, 9, 18, 27, 36]
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

FEW = 5
"""Up to how many values of one parameter are kinds, each of which runs: as many as there are idioms."""
ALIKE = frozenset(("copies", "sizes", "seed", "counts", "blocks", "buffers", "ahead", "stages"))
"""When things happen, and how many or how large they are: no other kind of kernel or proof."""
PLAIN = (bool, int, float, str, bytes, type(None))


def kinds(cases: Sequence[Mapping[str, Hashable]]) -> set[tuple[str, Hashable]]:
    """Parameters and values of which one case at least has to run: of at most `FEW` that some of the cases share."""
    values = defaultdict(set)
    for case in cases:
        for name, value in case.items():
            values[name].add(value)
    few = {name for name, known in values.items() if len(known) <= FEW and len(known) < len(cases)}
    return {(name, value) for name in few for value in values[name]}


def sample(
    cases: Sequence[Mapping[str, Hashable]], step: int, had: Counter[tuple[str, Hashable]] | None = None
) -> list[int]:
    """Places, in order, of those of a test's cases that run: one in `step`, more where a kind needs it.

    `had` says how often each value of parameters that are `ALIKE` ran in the file's tests before, and is counted on.

    The next is always the case that brings most kinds which none before it has; of such cases, one whose values came
    least often; of these, the first in strides of `step`. Of all combinations of some values it takes no
    more than one in `step`, or than the parameter with most kinds has; with one parameter it is every n-th case.

    >>> sample([{"a": a, "b": b} for a in "xy" for b in range(20)], 10)  # both of a; b is a list
    [0, 1, 30, 31]
    >>> had = Counter()
    >>> orders = [{"copies": c, "layout": a} for c in ("eager", "lazy", 1) for a in "xy"]
    >>> sample(orders, 6, had), sample(orders, 6, had)
    ([0, 3, 4], [0, 3])
    """
    had = Counter() if had is None else had
    missing, came = kinds(cases) - had.keys(), Counter(had)
    left = sorted(range(len(cases)), key=lambda place: place % step)  # 0, n, 2 n, ..., 1, n + 1, ...
    count, taken = -(-len(cases) // step), []

    def rank(place: int) -> tuple[int, int]:
        values = cases[place].items()
        return len(missing & {*values}), -sum(came[value] for value in values)

    while missing or len(taken) < count:
        place = max(left, key=rank)
        left.remove(place)
        taken.append(place)
        missing -= {*cases[place].items()}
        came.update(cases[place].items())
    had.update(value for place in taken for value in cases[place].items() if value[0] in ALIKE)
    return sorted(taken)


def same(value: object) -> Hashable:
    """What two values of a parameter have in common if they are one: plain data its text, anything else itself."""
    return repr(value) if _plain(value) else id(value)


def _plain(value: object) -> bool:
    match value:
        case dict():
            return all(_plain(part) for item in value.items() for part in item)
        case tuple() | list():
            return all(map(_plain, value))
    return type(value) in PLAIN
