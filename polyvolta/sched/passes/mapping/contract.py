"""Schedule domain contraction: one instance stands for a whole tile of instances.

    DOMAIN: S[i] : 0 ≤ i < M      =>      DOMAIN: S[i] : 16⌊i/16⌋ = i ∧ 0 ≤ i < M

The instances whose iterators are multiples of the tile stay, and each now performs what the instances of its
tile did; what that is (a macro-MMA) is for the statement's operation to say. That is legal when every instance has such
a tile, every tile is full, goes one way through the filters, lies in one iteration of all bands but the innermost, and
runs after what any of its instances depends on. A tile may be partial where the operation can do with fewer instances
than the tile has points: one that reads zeros outside of its operands, and writes nothing outside of its result. The
dependences become those between the instances that stay: what depended on an instance of a tile depends on the one that
stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from polyvolta.sched.dependence.model import Dependence
from polyvolta.sched.errors import IllegalTransformation
from polyvolta.sched.example import example
from polyvolta.sched.passes.common.arguments import positive, table
from polyvolta.sched.passes.common.legal import checked, reflagged, unflagged
from polyvolta.sched.program.assuming import context_of
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Band, Filter, Schedule
from polyvolta.sets import Aff, Map, Set, Tuple, UnknownName, nearest, var
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.conjuncts import project as pj
from polyvolta.sets.conjuncts.conjunct import Conjunct
from polyvolta.sets.values.build import RowBuilder
from polyvolta.sets.values.space import Space


@of_a_tree
def contract(
    schedule: Schedule,
    statement: str,
    factors: Mapping[str, int],
    context: Set | str | None = None,
    *,
    partial: bool = False,
) -> Schedule:
    """Keep the instances of a statement at multiples of `factors`, by iterator name.

        DOMAIN: S[i] : 0 ≤ i < M      =>      DOMAIN: S[i] : 16⌊i/16⌋ = i ∧ 0 ≤ i < M

    Parameters
    ----------
    context : what is known of the parameters, a set without dimensions, or a text that says one.
    partial : whether a tile may reach beyond the domain. Its base point, the instance that stays, must be inside;
        points outside are no instances, and what the statement does on a tile has to leave them alone.

    Raises
    ------
    BadTile, BadArgument : a factor is no positive integer; factors that are no mapping, a context that is no set.
    SetSyntaxError : a text that is no set.
    UnknownName : no such statement or iterator.
    IllegalTransformation : an instance is in no tile that stays; a tile reaches beyond the domain, across iterations of
        an outer band or through several filters; or two tiles depend on one another in the wrong order.

    Cost: one projection and one subset test; for a dependence of the statement two compositions, and a check of the
    new tree.

    Source: the paper, section "Schedule Domain Contraction", figure sched1-constrained-domain.

    >>> from polyvolta.sched import Domain, Schedule
    >>> print(contract(Schedule(Domain(Set("{ S[i, j] : 0 <= i < 64 and 0 <= j < 8 }"))), "S", {"i": 16}))
    DOMAIN: S[i, j] : 0 ≤ i ≤ 48 ∧ 0 ≤ j ≤ 7 ∧ 16⌊i/16⌋ = i
    >>> print(contract(Schedule(Domain(Set("[M] -> { S[i] : 0 <= i < M }"))), "S", {"i": 16}, partial=True))
    DOMAIN: S[i] : 0 ≤ i < M ∧ 16⌊i/16⌋ = i
    """
    _known(schedule, statement)
    return contract_each(schedule, {statement: factors}, context, partial=partial)


def contract_each(
    schedule: Schedule,
    factors: Mapping[str, Mapping[str, int]],
    context: Set | str | None = None,
    *,
    partial: bool = False,
) -> Schedule:
    """`contract` for several statements at once: their factors by iterator name, by statement.

    Raises
    ------
    BadTile, BadArgument, SetSyntaxError, UnknownName, IllegalTransformation : see `contract`.

    >>> from polyvolta.sched import Domain, Schedule
    >>> tree = Schedule(Domain(Set("{ S[i, k] : 0 <= i < 64 and 0 <= k < 64; T[i] : 0 <= i < 64 }")))
    >>> print(contract_each(tree, {"S": {"i": 16, "k": 8}, "T": {"i": 16}}))
    DOMAIN: S[i, k] : 0 ≤ i ≤ 48 ∧ 0 ≤ k ≤ 56 ∧ 16⌊i/16⌋ = i ∧ 8⌊k/8⌋ = k;
            T[i] : 0 ≤ i ≤ 48 ∧ 16⌊i/16⌋ = i
    """
    context = context_of(context)
    domain = schedule.domain
    sizes: dict[Tuple, dict[str, int]] = {}
    for statement, given in table(factors, "the factors by statement", '{"S": {"i": 16}}').items():
        found = _known(schedule, statement)
        sizes[found] = {n: f for n, f in _factors(schedule, found, given).items() if f > 1}
    sizes = {s: given for s, given in sizes.items() if given}
    if not sizes:
        return schedule
    stay = {s.name: _contracted(schedule, domain.only(s.name), given, context, partial) for s, given in sizes.items()}
    parts = [p for s, c in domain.parts for p in (stay[s.out.name].parts if s.out.name in stay else ((s, c),))]
    root = replace(schedule.root, domain=Set._of(domain.param_names, parts))
    new = replace(schedule, root=root, dependences=between_tiles(schedule.dependences, sizes))
    bands = {at: new.band(at) for at in new.bands()}
    inner = {next((at for at in reversed(bands) if s.name in bands[at].statements), ()): s for s in sizes}
    if schedule.dependences:
        checked(schedule, new, "contracting", next(iter(inner)))
    for at, s in inner.items():
        if at and schedule.dependences != () and not _in_step(bands[at], str(s.name), sizes[s]):
            new = unflagged(new, at) if schedule.dependences is None else reflagged(new, at)
    return new


def _known(schedule: Schedule, statement: str) -> Tuple:
    """The statement of that name."""
    known = names_of(schedule.domain)
    if statement not in known:
        raise UnknownName(
            f"no statement is called {statement!r}", where=str(schedule), hint=nearest(str(statement), known)
        )
    return schedule.domain.only(statement).space.out


def _factors(schedule: Schedule, statement: Tuple, given: object) -> dict[str, int]:
    """The factors of a statement's iterators, positive numbers."""
    factors = table(given, "the factors by iterator name", '{"i": 16}')
    for name in factors:
        if name not in statement.dims:
            raise UnknownName(f"{statement.name} has no iterator {name!r}", hint=nearest(str(name), statement.dims))
    return dict(zip(factors, positive(schedule, (), factors.values(), "contraction factors"), strict=True))


def _contracted(schedule: Schedule, mine: Set, factors: Mapping[str, int], context: Set | None, partial: bool) -> Set:
    """The instances of a statement that stay."""
    dims = mine.space.out.dims
    strides = [("eq", var(n) - f * (var(n) // f)) for n, f in factors.items()]
    knife = RowBuilder((*mine.param_names, *dims)).conjunct(strides)
    fewer = mine & Set._of(mine.param_names, [(mine.space, (knife,) if knife is not None else ())])
    _check_tiles(schedule, mine, fewer, factors, context, partial)
    _check_bands(schedule, str(mine.space.out.name), factors)
    _check_filters(schedule, mine, fewer, factors)
    return Set._of(schedule.domain.param_names, fewer.parts)


def _in_step(band: Band, statement: str, factors: Mapping[str, int]) -> bool:
    """Whether the band's flags surely stay: one statement, and each expression gets a multiple of one factor only."""
    stands = {n: f * (var(n) // f) for n, f in factors.items()}
    return band.statements == (statement,) and all(
        any(e.subs(stands) == f * (e // f) for f in (1, *factors.values())) for e in band.schedule(statement)
    )


def between_tiles(
    dependences: tuple[Dependence, ...] | None, factors: Mapping[Tuple, Mapping[str, int]]
) -> tuple[Dependence, ...] | None:
    """The dependences between the instances that stand for tiles of statements; within a tile there is none."""
    if not dependences:
        return dependences
    sizes = {s.name: [given.get(d, 1) for d in s.dims] for s, given in factors.items() if given}
    out = []
    done: dict[Map, Map] = {}
    for d in dependences:
        if d.source in sizes or d.sink in sizes:
            if d.relation not in done:
                done[d.relation] = _between(d.relation, sizes.get(d.source), sizes.get(d.sink), d.source == d.sink)
            d = replace(d, relation=done[d.relation])
        if not d.relation.is_empty():
            out.append(d)
    return tuple(out)


def _between(relation: Map, source: Sequence[int] | None, sink: Sequence[int] | None, same: bool) -> Map:
    """Tiles of which one has an instance that is related to one of the other; a side without factors stays.

    Tiles are counted first, which needs no quotients: instance x is in tile q where f q <= x < f (q + 1). The multiples
    f q, the instances that stay, take the place of the counts in what is left.

    Parameters
    ----------
    same : whether both sides are one statement's; no tile is related to itself then.
    """
    space, params = relation.space, relation.param_names
    n, m = len(params), space.n_in + space.n_out
    sizes = [*(source or [1] * space.n_in), *(sink or [1] * space.n_out)]
    counts, inside = [f"#{k}" for k in range(m)], [f"@{k}" for k in range(m)]
    pairs = list(zip(map(var, counts), map(var, inside), sizes, strict=True))
    apart = [row for q, x, f in pairs for row in (("ge", x - q * f), ("ge", q * f + (f - 1) - x))]
    pieces = _images((c for _, cs in relation.parts for c in cs), (*params, *counts, *inside), apart, n, m)
    counted = Map._of(params, [(space, tuple(pieces))])
    if same:
        counted = counted - Map.identity(Space(None, space.out))
    stay = [("eq", x - q * f) for x, q, f in pairs]
    left = (c for _, cs in counted.parts for c in cs if not c.is_empty)
    return Map._of(params, [(space, tuple(_images(left, (*params, *counts, *inside), stay, n, m)))])


def _images(
    pieces: Iterable[Conjunct], names: tuple[str, ...], rows: list[tuple[str, Aff]], n: int, m: int
) -> Iterator[Conjunct]:
    """Images of conjuncts under a relation: `rows` over n parameters, m columns of the image and m of the pieces."""
    box = RowBuilder(names).conjunct(rows)
    assert box is not None
    columns = tuple(range(n + m, n + 2 * m))
    for c in pieces:
        both = cj.conjoin(cj.reindex(c, len(names), (*range(n), *columns)), box)
        image = None if both is None else pj.project(both, columns)
        if image is not None:
            yield image


def _check_tiles(
    schedule: Schedule, mine: Set, fewer: Set, factors: Mapping[str, int], context: Set | None, partial: bool
) -> None:
    """The tiles of the instances that stay are the domain, or with `partial` hold it."""
    if context is not None:
        mine, fewer = mine.intersect_params(context), fewer.intersect_params(context)
    reached = fewer.apply(_tiles(mine, factors))
    missed = mine - reached
    if not missed.is_empty():
        raise IllegalTransformation(
            f"no tile of {dict(factors)} that stays has {example(missed)}: its tile starts outside of the domain",
            where=str(schedule),
            hint="domains that start at multiples of the factors keep the base point of every tile",
        )
    beyond = None if partial else reached - mine
    if beyond is not None and not beyond.is_empty():
        raise IllegalTransformation(
            f"a tile of {dict(factors)} reaches beyond the domain, for example to {example(beyond)}",
            where=str(schedule),
            hint="give the context in which sizes are multiples of the factors, or allow partial tiles: partial=True",
        )


def _tiles(mine: Set, factors: Mapping[str, int]) -> Map:
    """The instances that stay -> all of their tiles, in the domain or not."""
    dims = mine.space.out.dims
    inside = tuple(d + "'" for d in dims)
    rows = []
    for d, e in zip(dims, inside):
        rows += [("ge", var(e) - var(d)), ("ge", var(d) + (factors.get(d, 1) - 1) - var(e))]
    space = Space(mine.space.out, Tuple(mine.space.out.name, inside))
    box = RowBuilder((*mine.param_names, *dims, *inside)).conjunct(rows)
    return Map._of(mine.param_names, [(space, (box,) if box is not None else ())])


def _check_filters(schedule: Schedule, mine: Set, fewer: Set, factors: Mapping[str, int]) -> None:
    """No filter tells the instances of a tile apart."""
    for at, node in schedule.walk():
        if not isinstance(node, Filter) or node.instances is None or mine.space.out.name not in node.statements:
            continue
        inside = node.instances.only(mine.space.out.name)
        apart = ((fewer & inside).apply(_tiles(mine, factors)) & mine) - inside
        if not apart.is_empty():
            raise IllegalTransformation(
                f"a filter tells the instances of a tile of {dict(factors)} apart, for example {example(apart)}",
                where=schedule.marked(at),
                hint="contract first, or let the filter keep tiles together",
            )


def _check_bands(schedule: Schedule, statement: str, factors: Mapping[str, int]) -> None:
    """The bands above the innermost one do not tell the instances of a tile apart."""
    first = {n: f * (var(n) // f) for n, f in factors.items()}
    bands = [(at, schedule.band(at)) for at in schedule.bands()]
    for at, band in [b for b in bands if statement in b[1].statements][:-1]:
        for m in band.members:
            if m.of(statement).subs(first) != m.of(statement):
                raise IllegalTransformation(
                    f"a tile of {dict(factors)} spans several values of {m.of(statement)}",
                    where=schedule.marked(at),
                    hint="factors must divide the tile sizes of the bands above",
                )
