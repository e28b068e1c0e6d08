"""Marks that say how a loop is wanted to run on a processor: `parallel`, `vectorise`, `unroll 4`.

    MARK: parallel                       #pragma omp parallel for
      BAND: S[i, j] → [i]        =>      for (int c0 = 0; c0 < M; c0 += 1)
        MARK: vectorise                    #pragma omp simd
          BAND: S[i, j] → [j]              for (int c1 = 0; c1 < N; c1 += 1)

A mark speaks of the first member of the band below it. The words are those of OpenMP and of gcc, too, so that trees of
isl and PPCG that have them mean the same: `omp parallel for`, `omp simd`, `omp parallel for simd`, `GCC unroll 4`. A
mark of any other name is a name for its place, and no wish; one that is nearly a wish, as `unroll x`, is refused.

Iterations that run at once, on several cores or in a vector, must not wait for one another. The dependences decide, as
for every transformation, each time code is made: a tree that was changed around its marks is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import BadSchedule, IllegalTransformation
from polyvolta.sched.legality import band_flags, violations
from polyvolta.sched.tree import Band, Mark, Path, Schedule

USUAL = 8  # times that a loop is unrolled where a mark says no number: gcc's own limit
MOST = 65534  # times that gcc takes


@dataclass(frozen=True, slots=True)
class Wish:
    """How a loop is wanted: on several cores, in vectors, unrolled so many times (0: as the compiler likes)."""

    parallel: bool = False
    vector: bool = False
    unroll: int = 0

    def __or__(self, other: Wish) -> Wish:
        return Wish(self.parallel or other.parallel, self.vector or other.vector, self.unroll or other.unroll)

    @property
    def pragma(self) -> str:
        """What says so to a C compiler, above the loop."""
        if self.unroll:
            return f"#pragma GCC unroll {self.unroll}"
        return "#pragma omp" + " parallel for" * self.parallel + " simd" * self.vector


NONE, PARALLEL, VECTOR = Wish(), Wish(parallel=True), Wish(vector=True)
WORDS = {
    **dict.fromkeys(("parallel", "omp parallel for"), PARALLEL),
    **dict.fromkeys(("vectorise", "vectorize", "simd", "omp simd"), VECTOR),
    "omp parallel for simd": PARALLEL | VECTOR,
}
UNROLL = re.compile(r"(?:GCC )?unroll(?: ([1-9]\d*))?")
HEADS = frozenset({"omp", "gcc", "ivdep", "unroll", *(word.split()[0] for word in WORDS)})  # first words of wishes


def wish(mark: str) -> Wish | None:
    """What the name of a mark says of the loop below it; None where it is only a name.

    >>> wish("vectorise"), wish("unroll 4").pragma, wish("tiles")
    (Wish(parallel=False, vector=True, unroll=0), '#pragma GCC unroll 4', None)
    """
    word = " ".join(mark.removeprefix("#pragma").split())
    if found := UNROLL.fullmatch(word):
        return Wish(unroll=USUAL if found[1] is None else int(found[1]))
    return WORDS.get(word)


def slip(mark: str) -> bool:
    """Whether a mark that is no wish seems to be meant as one: it begins with a wish's word, or is nearly one.

    >>> slip("unroll x"), slip("vectorize 4"), slip("paralel"), slip("simd"), slip("kernel")
    (True, True, True, False, False)
    """
    if wish(mark) is not None:
        return False
    words = mark.removeprefix("#pragma").casefold().split()
    near = get_close_matches(" ".join(words), [*WORDS, "unroll"], n=1, cutoff=0.8)
    return mark.startswith("#pragma") or bool(words) and (words[0] in HEADS or bool(near))


def wishes(schedule: Schedule, dependences: Iterable[Dependence] | None = None) -> dict[Path, Wish]:
    """What the marks of a tree want of loops: path of a band -> what is wanted of its first member.

    Parameters
    ----------
    dependences : what the iterations of loops may have to wait for; by default those of the schedule, and where it has
        none the flags of its bands decide.

    Raises
    ------
    IllegalTransformation : iterations that would run at once depend on one another: names two instances.
    BadSchedule : a mark that is nearly a wish, or stands above no band, or above several members where it means one; a
        loop that is to be unrolled besides, or so many times that no compiler does it.

    Cost: for each mark that wants a loop parallel or in vectors, the flags of its band.
    """
    known = schedule.dependences if dependences is None else tuple(dependences)
    found: dict[Path, Wish] = {}
    for at, node in schedule.walk():
        if not isinstance(node, Mark):
            continue
        if (wanted := wish(node.name)) is None:
            if slip(node.name):
                hint = f"known: {', '.join(WORDS)}, unroll, unroll 4; any other name is a comment"
                raise _bad(schedule, at, f"the mark {node.name!r} is no wish that a loop can have", hint)
            continue
        place = _band_below(schedule, at, node.name, wanted)
        both = found.get(place, NONE) | wanted
        if both.unroll and (both.parallel or both.vector):
            raise _bad(schedule, at, "a loop is unrolled, or it is parallel or in vectors", "mark another loop")
        if both.unroll > MOST:
            raise _bad(schedule, at, f"a loop is unrolled {MOST} times at most", 'such as "unroll 4"')
        found[place] = both
        if wanted.parallel or wanted.vector:
            _check(schedule, place, f"the mark {node.name!r}", known)
    return found


def independent(
    schedule: Schedule, at: Path, doing: str, member: int = 0, dependences: Iterable[Dependence] | None = None
) -> None:
    """Refuse a member of the band at a path whose iterations depend on one another where it stands.

    Parameters
    ----------
    doing : what would run them at once, for the message.
    dependences : see `wishes`.

    Raises
    ------
    IllegalTransformation : see `wishes`.
    """
    _check(schedule, at, doing, schedule.dependences if dependences is None else tuple(dependences), member)


def _band_below(schedule: Schedule, at: Path, name: str, wanted: Wish) -> Path:
    """The band that a mark speaks of."""
    place = at
    while isinstance(schedule.node(place), Mark):
        place = (*place, 0)
    band = schedule.node(place)
    if not isinstance(band, Band) or not band.members:
        raise _bad(schedule, at, f"the mark {name!r} speaks of a loop, and below it stands no band", "")
    if len(band.members) > 1 and wanted != PARALLEL:
        hint = "split the band, so that the member stands alone below its mark; vectorise(tree, at, member) does"
        raise _bad(schedule, at, f"the mark {name!r} speaks of one loop, and stands above {len(band.members)}", hint)
    return place


def _check(schedule: Schedule, at: Path, doing: str, known: tuple[Dependence, ...] | None, k: int = 0) -> None:
    """Refuse a member whose iterations depend on one another."""
    band = schedule.band(at)
    if known is None:
        if band.members[k].coincident:
            return
        raise IllegalTransformation(
            f"{doing} runs at once what may depend on one another: the band does not say that it is independent",
            where=schedule.marked(at),
            hint="a schedule with dependences finds out: tree.with_dependences(program)",
        )
    if band_flags(schedule, at, known).parallel[k]:
        return
    members = [replace(m, name="cores") if n == k else m for n, m in enumerate(band.members)]
    there = schedule.replace(at, replace(band, members=tuple(members)))
    found = next((v for v in violations(there, known) if v.at == at and v.member == k), None)
    if found is not None:
        raise IllegalTransformation(
            f"{doing} breaks a dependence: {replace(found, why='the loop runs them at once')}",
            where=schedule.marked(at),
            hint="only a loop that carries no dependence runs at once; skewing, or loops further in, may have one",
        )


def _bad(schedule: Schedule, at: Path, message: str, hint: str) -> BadSchedule:
    return BadSchedule(message, where=schedule.marked(at), hint=hint)
