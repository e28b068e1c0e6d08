"""The rows that hold at several places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from polyvolta.sched.loops.rows.columns import Row
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import Key


def shared(there: Sequence[Known], rows: Iterable[Row]) -> list[Row]:
    """Those of some rows that are implied at all of some places, of each key the strongest, as they come.

    Where a row is not, no stronger one of its key is. So many rows of one key, as a loop that is written out has, take
    a question at each place for those that are, and one more.
    """
    order: dict[Key, dict[int, int]] = {}  # of each row, where it is
    for at, (key, const) in enumerate(rows):
        order.setdefault(key, {}).setdefault(const, at)

    def everywhere(row: Row) -> bool:
        return all(place.implies(*row) for place in there)

    found: list[tuple[int, Row]] = []
    for key, each in order.items():
        implied = [*takewhile(everywhere, [(key, const) for const in sorted(each, reverse=True)])]
        if implied:
            found.append((min(each[const] for _, const in implied), implied[-1]))
    return [row for _, row in sorted(found)]
