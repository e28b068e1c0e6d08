"""Whether a schedule respects the dependences, and where it does not.

A schedule tree orders two instances where their ways down from the root part: in a band by the first member in which
their times differ, in a sequence by the children they go to. So one walk down the tree decides everything. It takes
along, for each dependence, the pairs (source, sink) that have had equal times so far, and at each node some of them

- are *satisfied*: the source runs first, and they are taken along no further;
- are *violated*: the sink runs first, or the two run at once or in any order;
- stay: equal times here, too.

In a band with the expressions e for the source and f for the sink the distance is d = f(sink) - e(source). A pair is
violated where d < 0 and stays where d = 0; a member that is mapped to processors runs its iterations at once, so there
it is violated where d is not 0. What arrives at a leaf has no order. All three questions are emptiness tests on
integers, so the answer is exact.

The same walk tells the flags of a band: `band_flags`.

Source: S. Verdoolaege, S. Guelton, T. Grosser, A. Cohen, "Schedule Trees" (IMPACT 2014), section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from polyvolta.display.shown import Record
from polyvolta.sched.dependence.descent import Descent, Violation
from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.program.assuming import context_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Leaf, Path, Schedule
from polyvolta.sets import Map, Set


@dataclass(frozen=True, slots=True)
class BandFlags(Record):
    """What the dependences allow for a band.

    Parameters
    ----------
    permutable : whether no dependence that reaches the band has a negative distance in any member.
    coincident : for each member, whether all dependences that reach the band have distance 0 there. Then its iterations
        are independent wherever in the band it stands, and so are those of its tiles.
    parallel : for each member, whether all dependences that reach it, distance 0 in the members before it, have
        distance 0 there. Then its iterations are independent where it stands.

    >>> from polyvolta.sched import BandFlags
    >>> BandFlags(permutable=True, coincident=(True, False), parallel=(True, False)).parallel
    (True, False)
    """

    permutable: bool
    coincident: tuple[bool, ...]
    parallel: tuple[bool, ...]

    def _title(self) -> str:
        return ""


@of_a_tree
def violations(
    schedule: Schedule, dependences: Iterable[Dependence] | Map | None = None, context: Set | str | None = None
) -> Iterator[Violation]:
    """The dependences that a schedule does not respect, one pair of instances for each at each node.

    Parameters
    ----------
    dependences : by default those that the schedule carries; a relation is of instances that must run before others.
    context : what is known of the parameters, a set without dimensions, or its text.

    Raises
    ------
    BadProgram : what is given are no dependences, or they are of statements with other iterators.
    BadSchedule : a band has no expression for a statement.

    Exact, for every tree. Instances that the schedule's domain does not have, as after a contraction, take no part,
    nor do statements that the tree adds in extension nodes. Two emptiness tests a dependence and band member.

    >>> from polyvolta.sched import dependences, nest, schedule, violations
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> list(violations(schedule(chain), dependences(chain)))
    []
    """
    walk = Descent(schedule, dependences, context_of(context))
    return walk.down(walk.schedule.root, (), walk.pending, {})


@of_a_tree
def check(
    schedule: Schedule, doing: str = "scheduling", at: Path | None = None, context: Set | str | None = None
) -> Schedule:
    """The schedule, if it respects the dependences it carries, or carries none.

    Parameters
    ----------
    doing : what was done to it, for the message.
    at : the node that is pointed out if the pair has no order at all; else the node where the order goes wrong is.

    Raises
    ------
    IllegalTransformation : names a dependence and two of its instances.
    BadProgram, BadSchedule : see `violations`.

    Cost: see `violations`.

    `context` is what is known of the parameters.

    >>> from polyvolta.sched import check, dependences, nest, schedule
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> tree = check(schedule(chain), dependences(chain))
    """
    found = next(violations(schedule, context=context), None) if schedule.dependences else None
    if found is not None:
        place = found.at
        if isinstance(schedule.node(place), Leaf):
            place = at if at is not None else place[:-1]
        raise IllegalTransformation(
            f"{doing} breaks a dependence: {found}",
            where=schedule.marked(place),
            hint=_hint(schedule, found, doing),
        )
    return schedule


def _hint(schedule: Schedule, found: Violation, doing: str) -> str:
    """What helps, where something does."""
    d = found.dependence
    if found.member is None:
        if d.source == d.sink:
            return f"only a band, or a sequence of some instances each, orders instances of {d.source}"
        back = any((o.source, o.sink) == (d.sink, d.source) for o in schedule.dependences or ())
        if back:
            return f"{d.source} and {d.sink} wait for one another: a band has to tell their instances apart"
        return f"a sequence that puts {d.source} first orders them"
    if "at once" in found.why:
        return "only a member in which all dependences have distance 0 can be mapped to processors"
    if doing.startswith("reversing"):
        return "only a loop that carries no dependence runs both ways"
    if doing.startswith("sinking"):
        return "the loops below would have to respect the dependence, too"
    return "skewing, or another order of the members, can make all distances positive"


@of_a_tree
def band_flags(schedule: Schedule, at: Path, dependences: Iterable[Dependence] | Map | None = None) -> BandFlags:
    """What the dependences allow for the band at a path.

    Parameters
    ----------
    dependences : by default those that the schedule carries; where it carries none, everything is allowed.

    Exact. Two emptiness tests a dependence and member at worst.

    Raises
    ------
    BadPath : there is no band.
    BadProgram, BadSchedule : see `violations`.

    >>> from polyvolta.sched import band_flags, dependences, nest, schedule
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> band_flags(schedule(chain), (0,), dependences(chain))
    BandFlags(permutable=True, coincident=(False,), parallel=(False,))
    """
    walk = Descent(schedule, dependences, None)
    band = walk.schedule.band(at)
    pieces = walk.reaching(at)
    permutable, coincident, parallel = True, [], []
    here = pieces
    for member in band.members:
        timed = walk.timed(pieces, member)
        back = any(t.signed(-1) for t in timed)
        permutable = permutable and not back
        coincident.append(not back and not any(t.signed(1) for t in timed))
        left = walk.timed(here, member)
        parallel.append(coincident[-1] or not any(t.signed(s) for t in left for s in (-1, 1)))
        here = [z for t in left if (z := t.equal()) is not None]
    return BandFlags(permutable, tuple(coincident), tuple(parallel))
