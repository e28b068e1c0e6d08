"""isl's schedule constraints, gathered one by one: what the arguments of `schedule` are.

>>> from polyvolta.isl import ScheduleConstraints, UnionMap, UnionSet
>>> chain = UnionMap("{ S[i] -> S[i + 1] }")
>>> asked = ScheduleConstraints.on_domain(UnionSet("[N] -> { S[i] : 0 <= i < N }")).set_validity(chain)
>>> print(asked.compute_schedule().get_root().child(0).band_get_partial_schedule())
{ S[i] -> [i] }
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from polyvolta.sched.by_isl.plain import Plain, checks_arguments
from polyvolta.sched.by_isl.schedule import Schedule
from polyvolta.sched.errors import BadProgram
from polyvolta.sched.scheduler.fusion import Fuse
from polyvolta.sched.scheduler.schedule import schedule
from polyvolta.sched.scheduler.texts import ARGUMENTS, arguments_of
from polyvolta.sched.tree import Context
from polyvolta.sets import Map, Set
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.by_isl.objects.context import option
from polyvolta.sets.errors import kind_of
from polyvolta.sets.values.space import Tuple
from polyvolta.sets.values.unions import gives_union, united

NOTHING = Map("{ }")


@take_keywords
@checks_arguments
@dataclass(frozen=True, slots=True)
class ScheduleConstraints(Plain):
    """What a schedule of some instances has to respect and should bring together; immutable.

    Parameters
    ----------
    domain : the instances; or isl's text of the constraints, alone.
    context : what is known of the parameters.
    validity, proximity, coincidence, condition, conditional_validity : relations between instances; see `schedule`.
    """

    domain: Set
    context: Set | None = None
    validity: Map = NOTHING
    proximity: Map = NOTHING
    coincidence: Map = NOTHING
    condition: Map = NOTHING
    conditional_validity: Map = NOTHING

    def __post_init__(self) -> None:
        """Read a text, as islpy does.

        Raises
        ------
        BadProgram : the domain is no Set.
        TreeSyntaxError : it is a text that says no schedule constraints.
        """
        if isinstance(self.domain, str):
            read = self.read_from_str(self.domain)
            for f in fields(read):
                object.__setattr__(self, f.name, getattr(read, f.name))
        elif not isinstance(self.domain, Set):
            raise _no_instances(self.domain)

    @staticmethod
    def on_domain(domain: Set) -> ScheduleConstraints:
        """Constraints that ask nothing of some instances.

        Raises
        ------
        BadProgram : they are no Set.
        """
        if not isinstance(domain, Set):
            raise _no_instances(domain)
        return ScheduleConstraints(domain)

    @staticmethod
    def read_from_str(*text: object) -> ScheduleConstraints:
        """What a text in isl's notation says; a context of isl before it means nothing here.

        Raises
        ------
        TreeSyntaxError : it says no schedule constraints.
        """
        names = {argument: key for key, argument in ARGUMENTS.items()}
        return ScheduleConstraints(**{names[n]: value for n, value in arguments_of(str(text[-1])).items()})

    def _having(self, **relations: Map) -> ScheduleConstraints:
        for name, m in relations.items():
            if not isinstance(m, Map):
                raise BadProgram(f"{name} is a Map between instances, not {kind_of(m)}", where=str(m))
        return replace(self, **relations)

    def set_context(self, context: Set) -> ScheduleConstraints:
        """The same, with what is known of the parameters."""
        return replace(self, context=context)

    def set_validity(self, validity: Map) -> ScheduleConstraints:
        """The same, with pairs whose first has to run before the second, or with it."""
        return self._having(validity=validity)

    def set_proximity(self, proximity: Map) -> ScheduleConstraints:
        """The same, with pairs that should run close to each other."""
        return self._having(proximity=proximity)

    def set_coincidence(self, coincidence: Map) -> ScheduleConstraints:
        """The same, with pairs that coincident members of bands have at one value."""
        return self._having(coincidence=coincidence)

    def set_conditional_validity(self, condition: Map, validity: Map) -> ScheduleConstraints:
        """The same, with pairs that are valid wherever pairs of `condition` beside them do not run at one time."""
        return self._having(condition=condition, conditional_validity=validity)

    @gives_union
    def get_domain(self) -> Set:
        """The instances."""
        return self.domain

    def get_context(self) -> Set:
        """What is known of the parameters."""
        return self.context if self.context is not None else Set("{ : }")

    @gives_union
    def get_validity(self) -> Map:
        """Pairs whose first has to run before the second, or with it."""
        return self.validity

    @gives_union
    def get_proximity(self) -> Map:
        """Pairs that should run close to each other."""
        return self.proximity

    @gives_union
    def get_coincidence(self) -> Map:
        """Pairs that coincident members of bands have at one value."""
        return self.coincidence

    @gives_union
    def get_conditional_validity_condition(self) -> Map:
        """Pairs on which conditional validity depends."""
        return self.condition

    @gives_union
    def get_conditional_validity(self) -> Map:
        """Pairs that are valid under a condition."""
        return self.conditional_validity

    def apply(self, changed: Map) -> ScheduleConstraints:
        """The constraints of other instances, given by a relation from the present ones.

        >>> chain = ScheduleConstraints(Set("{ S[i] : 0 <= i < 4 }"), validity=Map("{ S[i] -> S[i + 1] }"))
        >>> print(chain.apply(Map("{ S[i] -> T[i, 0] }")).get_validity())
        { T[i, i1] -> T[i + 1, 0] : i1 = 0 }
        """
        moved = {
            f.name: value.apply_domain(changed).apply_range(changed)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Map)
        }
        return replace(self, domain=self.domain.apply(changed), **moved)

    def compute_schedule(self) -> Schedule:
        """A schedule tree that respects them, statements in one band where one uses what another made nearby, as isl's.

        Where isl's options of a context say so, only those that need it share one, `set_schedule_serialize_sccs(1)`, or
        those that lose neither width nor outer parallelism by it, `set_schedule_maximize_coincidence(1)`.
        docs/isl.md has a table of all options. The context of these constraints is what may be assumed, which the tree
        does not tell. Pairs of instances that the domain does not have ask nothing, as in isl, also of statements that
        it does not have.

        Raises and costs what `polyvolta.sched.schedule` does.
        """
        known = Set.universe(self.domain)
        found = schedule(
            self.domain,
            _fusing(),
            validity=_between(known, self.validity),
            proximity=_between(known, self.proximity),
            coincidence=_between(known, self.coincidence),
            conditional_validity=_between(known, _with_conditions(self.conditional_validity, self.condition)),
            conditional_validity_condition=_between(known, self.condition),
            context=self.context,
            **_asked(),
        )
        top = found.root.children[0]
        return Schedule.of(found.replace((0,), top.child) if isinstance(top, Context) else found)

    def to_str(self) -> str:
        """isl's text of them, which `read_from_str` and `schedule` read."""
        return str(self)

    def __str__(self) -> str:
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return "{ " + ", ".join(f'{n}: "{v}"' for n, v in said.items() if v is not None and v != NOTHING) + " }"


def _fusing() -> Fuse:
    """Which statements share a band, as the options of the context say."""
    if option("schedule_serialize_sccs"):
        return "min"
    return "paper" if option("schedule_maximize_coincidence") else "near"


def _with_conditions(pairs: Map, condition: Map) -> Map:
    """The pairs that some condition ends before or begins after, with isl's tags if there are any.

    Others ask nothing, as in isl: there is no condition that would have to be local instead.
    """
    pairs, condition = united(pairs), united(condition)  # of statements that may have none in common
    return pairs.intersect_domain(condition.range()).union(pairs.intersect_range(condition.domain()))


def _between(known: Set, pairs: Map) -> Map:
    """The pairs of a relation whose statements are known, those with isl's tags, `[S[i] -> x[]]`, too."""
    names = {space.out.key for space, _ in known.parts}

    def is_known(side: Tuple) -> bool:
        tagged = side.inner is not None and side.name is None and side.inner.source.key in names
        return tagged or side.key in names

    kept = [(s, cs) for s, cs in pairs.parts if is_known(s.source) and is_known(s.out)]
    return Map._of(pairs.param_names, kept)


def _asked() -> dict[str, Any]:
    """The arguments of `schedule` that options of the context say; a bound is none where it is negative."""
    most = {"max_coefficient": "schedule_max_coefficient", "max_constant": "schedule_max_constant_term"}
    bounds = {name: value for name, of in most.items() if (value := int(option(of))) >= 0}
    forced, apart = option("schedule_outer_coincidence"), option("schedule_treat_coalescing")
    return {"outer_coincidence": bool(forced), "coalesce": not apart, **bounds}


def _no_instances(domain: object) -> BadProgram:
    return BadProgram(f"instances are a Set, not {kind_of(domain)}", where=str(domain))
