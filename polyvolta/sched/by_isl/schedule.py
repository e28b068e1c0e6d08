"""Trees that print as isl's do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyvolta.sched import tree
from polyvolta.sched.errors import BadSchedule
from polyvolta.sched.structure.check import check_structure
from polyvolta.sched.views.isl_read import parse
from polyvolta.sets import Set
from polyvolta.sets.by_isl.keywords import take_keywords


@take_keywords
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Schedule(tree.Schedule):
    """A schedule tree whose text is isl's, which makes the tree again; everything else is as in `polyvolta.sched`.

    >>> tree = Schedule('{ domain: "{ S[i] : 0 <= i < 8 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    >>> print(tree)
    { domain: "{ S[i] : 0 <= i <= 7 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }
    >>> Schedule(str(tree)) == tree
    True
    >>> print(tree.show())
    DOMAIN: S[i] : 0 ≤ i ≤ 7
      BAND: S[i] → [i]
    """

    @staticmethod
    def parse(text: str, check: bool = True) -> Schedule:
        """The tree that a text in isl's notation says, with its expansion nodes.

        Raises
        ------
        TreeSyntaxError, BadSchedule : see `polyvolta.sched.Schedule.parse`.
        """
        return Schedule.of(parse(text, check, expansions=True))

    @staticmethod
    def empty(space: Any) -> Schedule:  # noqa: ANN401
        """The tree of no instances, with the parameters of a space, if it knows any.

        >>> print(Schedule.empty(None))
        { domain: "{ }" }
        """
        nothing = Set("{ }")
        return Schedule(tree.Domain(nothing.align_params(space) if getattr(space, "param_names", None) else nothing))

    @staticmethod
    def of(schedule: tree.Schedule) -> Schedule:
        """The tree, with its dependences, as one that prints so."""
        return schedule if isinstance(schedule, Schedule) else Schedule(schedule.root, schedule.dependences)

    def check_structure(self) -> Schedule:
        """The tree itself, if it is a schedule; a band without members is one here, which orders nothing.

        Raises
        ------
        BadSchedule : see `polyvolta.sched.Schedule.check_structure`.
        """
        check_structure(self, empty_bands=True)
        return self

    def __eq__(self, other: object) -> bool:
        return self.root == other.root if isinstance(other, tree.Schedule) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.root,))

    def __str__(self) -> str:
        try:
            return self.to_isl()
        except BadSchedule:  # what isl has no text for, as a band of a statement that nothing declares
            return self.show()

    def __repr__(self) -> str:
        return f'Schedule("{self}")'
