"""Mutants of the schedule tree: the order of instances, and the tiles of the domain.

They change the trees that a kernel comes from. Its IR stays as it is, so nothing is to be seen when it runs: only a
proof about the trees finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.cuda.mutants.model import Mutant, NothingToBreak
from polyvolta.sched.cases import Cases
from polyvolta.sched.nodes import Domain
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Aff, Map, Set, var
from polyvolta.sets.values.aff import Floor

Stages = Mapping[str, Schedule]


def _backwards(stages: Stages) -> Stages:
    """The last tree with the k tiles of every product in reverse order."""
    name = [*stages][-1]
    tree, summed = stages[name], _summed(stages)
    for at in tree.bands():
        band = tree.band(at)
        members = tuple(replace(m, exprs=tuple(_reversed(s, e, summed) for s, e in m.exprs)) for m in band.members)
        if members != band.members:
            tree = tree.replace(at, replace(band, members=members))
    return {**stages, name: tree}


def _summed(stages: Stages) -> dict[str, str]:
    """Each product's statement with the name of the dimension that it sums over."""
    first = stages[next(iter(stages))].domain
    spaces = [space.out for space, _ in first.parts]
    return {space.name: space.dims[2] for space in spaces if space.name and len(space.dims) == 3}


def _reversed(statement: str, e: Aff | Cases, summed: Mapping[str, str]) -> tuple[str, Aff | Cases]:
    """A band member's expression, with the opposite sign if it is the number of a k tile."""
    match e:
        case Aff(((Floor(num, _), 1),), 0) as found if statement in summed and num == var(summed[statement]):
            return statement, -found
    return statement, e


def _shifted(stages: Stages) -> Stages:
    """From domain contraction on, every macro tile one row further down."""
    names = [*stages]
    if "contracted" not in names:
        raise NothingToBreak(f"no stage is called contracted: {', '.join(names)}")
    out = dict(stages)
    for name in names[names.index("contracted") :]:
        root = stages[name].root
        assert isinstance(root, Domain)
        out[name] = stages[name].replace((), replace(root, domain=root.domain.apply(_one_down(root.domain))))
    return out


def _one_down(domain: Set) -> Map:
    parts = []
    for space, _ in domain.parts:
        first, *rest = space.out.dims
        moved = ", ".join([f"{first} + 1", *rest])
        parts.append(f"{space.out.name}[{', '.join(space.out.dims)}] -> {space.out.name}[{moved}]")
    return Map(f"{{ {'; '.join(parts)} }}")


MUTANTS = (
    Mutant(
        "k tiles backwards",
        "the final tree runs the k tiles of every product from the last one to the first one",
        ("dependences",), (), trees=_backwards,
    ),
    Mutant(
        "macro tiles one row down",
        "the macro tiles of the domain begin one row further down: the first row is in none",
        ("partition",), (), trees=_shifted,
    ),
)  # fmt: skip
