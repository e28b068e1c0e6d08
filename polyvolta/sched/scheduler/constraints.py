"""What a schedule is to respect, said as isl says it: validity, proximity, coincidence, conditional validity.

    validity               pairs of which the first runs before the second, or both at one time and in that order below
    proximity              pairs that are better near one another, in whichever order
    coincidence            pairs that a member has to run at one time for its iterations to be independent
    conditional validity   pairs that are valid, or whose conditions are local: each pair of the condition, such as a
                           value's definition and its use, runs at one time in the whole band

Conditions and what depends on them may have isl's tags, `[S[i] -> x[]] -> [T[j] -> x[]]`, which tell which of them
belong together: pairs are valid, or the conditions with their tags are local. Tags that some pair has at its two ends
belong together, too. In isl it takes an instance that both share besides, here their statements' instances may be any.

Each is a union relation between instances. Pairs outside the domain are dropped, and so are those of an instance with
itself, which no order can part. The dependences of a program are all three of the first, but for anti and output
dependences, which need not be near.

Source: S. Verdoolaege, G. Janssens, "Scheduling for PPCG" (CW 706, 2017); of conditional validity S. Verdoolaege, A.
Cohen, "Live-Range Reordering" (IMPACT 2016).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from polyvolta.sched.dependence.given import of_relation
from polyvolta.sched.dependence.model import Dependence, Kind
from polyvolta.sched.errors import BadProgram
from polyvolta.sets import Map
from polyvolta.sets.errors import kind_of

KINDS: dict[str, Kind] = {
    "validity": "validity",
    "proximity": "proximity",
    "coincidence": "coincidence",
    "conditional_validity": "conditional validity",
    "conditional_validity_condition": "condition",
}


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of a schedule, by isl's names; None for those that there are none of.

    >>> c = Constraints(validity=Map("{ S[i] -> S[i + 1]; S[i] -> S[i] }"))
    >>> for d in c.dependences():
    ...     print(d.kind, d.relation)
    validity { S[i] -> S[i + 1] }
    """

    validity: Map | None = None
    proximity: Map | None = None
    coincidence: Map | None = None
    conditional_validity: Map | None = None
    conditional_validity_condition: Map | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in KINDS)

    def dependences(self, statements: Collection[str] = ()) -> list[Dependence]:
        """One dependence for each kind and pair of statements, without the pairs of an instance with itself.

        Parameters
        ----------
        statements : the names of those whose instances may be pairs, which are no tags.

        Raises
        ------
        BadProgram : a constraint is no Map.
        """
        relations: dict[Kind, Map] = {}
        for name, kind in KINDS.items():
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, str):
                given = Map(given)
            if not isinstance(given, Map):
                raise BadProgram(f"{name} is a Map, not {kind_of(given)}", where=repr(given))
            relations[kind] = given
        conditions = {k: r for k, r in relations.items() if k in ("condition", "conditional validity")}
        tagged = {k: _untagged(r, statements) for k, r in conditions.items()}
        leads = _together([tags for parts in tagged.values() for tags, _ in parts])
        out = []
        for kind, given in relations.items():
            for tags, pairs in tagged.get(kind, [(("",), given)]):
                out += of_relation(kind, pairs, leads.get(tags[0], ""))
        return out


def _untagged(given: Map, statements: Collection[str]) -> list[tuple[tuple[str, ...], Map]]:
    """The pairs without isl's tags, which are what pairs of nameless tuples have behind their instances, and the tags'
    names; pairs without tags have an empty one."""
    out: dict[tuple[str, ...], Map] = {}
    for space, pieces in given.parts:
        sides, tags = (space.source, space.out), ("",)
        pairs = Map._of(given.param_names, [(space, pieces)])
        if all(t.inner is not None and t.name is None and t.label not in statements for t in sides):
            tags = tuple([t.inner.out.label for t in sides if t.inner is not None])
            pairs = pairs.zip().domain().unwrap()
        out[tags] = out[tags].union(pairs) if tags in out else pairs
    return list(out.items())


def _together(some: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """For each tag one of those that it belongs together with, the same for all of these.

    >>> _together([("x", "y"), ("z", "z"), ("w", "y")])
    {'x': 'w', 'y': 'w', 'z': 'z', 'w': 'w'}
    """
    leads: dict[str, str] = {}
    for tags in some:
        lead = min(leads.get(t, t) for t in tags)
        old = {leads.get(t, t) for t in tags}
        leads |= dict.fromkeys(tags, lead)
        leads = {t: lead if other in old else other for t, other in leads.items()}
    return leads
