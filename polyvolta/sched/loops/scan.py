"""From a schedule tree to loops.

The tree is walked from the root (`walk`) with the instances that come each way, as pieces (`instances`, `pieces`):
conjunctions in which every band member above is a column, solved for as soon as it is met. The loops of a band come
from the projections of its pieces (`lanes`), which are grouped and ordered along each member (`groups`), bounded
(`bounds`) and written (`members`). What loops and conditions ensure is known below (`known`), so that nothing is tested
twice, and a condition is written where the columns in it are all outside.

A leaf calls its statements. Iterators that no member determines get loops of their own there, in any order.

Where a projection is not exact the loop runs too far, never too short, and the condition that it lost is tested
inside: what is called is exact whatever the loops are.

Quilleré, Rajopadhye and Wilde (Int. J. of Parallel Programming 28, 2000) and Bastoul (PACT 2004) scan unions of
polyhedra by separation; the types of loops, isolation and schedule trees as the input are those of Grosser,
Verdoolaege and Cohen, "Polyhedral AST generation is more than scanning polyhedra" (TOPLAS 37, 2015). Here the default
shares a loop between statements whose values interleave and tests inside, unless iterations would find nothing
(`unions`); `separate` asks for loops without tests.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from math import inf

from polyvolta.sched.by_cases import by_cases
from polyvolta.sched.errors import NotScannable, says_keywords
from polyvolta.sched.loops.ast import Ast, Call, If, conditional, endless, mapped
from polyvolta.sched.loops.conditions import guarded, has_rows, stated
from polyvolta.sched.loops.hoisting.branches import branched, meeting
from polyvolta.sched.loops.hoisting.decided import without_decided
from polyvolta.sched.loops.hoisting.either import needed_around, without_implied
from polyvolta.sched.loops.hoisting.guards import met
from polyvolta.sched.loops.hoisting.idle import asked_before
from polyvolta.sched.loops.hoisting.inside import asked_once
from polyvolta.sched.loops.hoisting.least import least_apart
from polyvolta.sched.loops.hoisting.needs import less, needed_by_all
from polyvolta.sched.loops.hoisting.prefixes import asked_first
from polyvolta.sched.loops.hoisting.tidy import tidied
from polyvolta.sched.loops.hoisting.together import asked_apart, asked_together, neighbours
from polyvolta.sched.loops.instances import added_anywhere, instances, parameters
from polyvolta.sched.loops.names import check_extents, given_extents, mapped_names
from polyvolta.sched.loops.needless.asking import without_needless
from polyvolta.sched.loops.notation.names import plain
from polyvolta.sched.loops.notation.widths import largest
from polyvolta.sched.loops.parts.ways import without_ways
from polyvolta.sched.loops.plainer.common import without_common
from polyvolta.sched.loops.plainer.twice import said_once
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.rows.columns import Columns, numbered
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sched.loops.rows.linear import System
from polyvolta.sched.loops.rows.pieces import Piece
from polyvolta.sched.loops.state import State
from polyvolta.sched.loops.walk import Scanner
from polyvolta.sched.loops.weighing.below import few_found_apart
from polyvolta.sched.loops.weighing.cells import dense, denser, longest
from polyvolta.sched.loops.weighing.large import better, large
from polyvolta.sched.loops.weighing.lasting import lasting_apart
from polyvolta.sched.loops.weighing.multiples import multiples_before
from polyvolta.sched.loops.weighing.nothing import something_before
from polyvolta.sched.loops.weighing.remainders import remainders_before
from polyvolta.sched.loops.weighing.short import short_apart
from polyvolta.sched.loops.weighing.sizes import by_absence, is_atomic, needed_in_all
from polyvolta.sched.loops.weighing.versions import value_apart
from polyvolta.sched.program.assuming import context_of
from polyvolta.sched.structure.expansion import expanded
from polyvolta.sched.structure.given import need_schedule
from polyvolta.sched.structure.reach import names_of
from polyvolta.sched.tree import Context, Domain, Extension, Mark, Schedule
from polyvolta.sets import Aff, BudgetExceeded, Set, UnknownName, nearest
from polyvolta.sets.budgets import bounded, left, metered, spent

__all__ = ["Scan", "scan"]

MET = 20_000  # steps, and a part of those there are, in which guards are asked of the domain
PART = 0.1
LARGE = 75_000  # steps of code beyond which it is not made anew for some sizes
CUT = 40_000  # the same, with all loops cut
BRIEF = 5_000  # steps in which it may be made for some sizes nevertheless
AGAIN = 150_000  # steps in which it is, and no more than twice as many as it took for all


@says_keywords
@metered
def scan(
    schedule: Schedule,
    context: Set | str | None = None,
    extents: Mapping[str, int | Aff] | None = None,
    *,
    parted: bool = True,
) -> Scan:
    """Loops that visit exactly the instances of a schedule tree in its order.

    Members that are mapped to a name, as to `threadIdx.x`, have no loop: for each value of the name the loops visit the
    instances with this value, and those that no member mapped to it is above. All instances come where the name takes
    all its values, as many as the result's `extents` says; extents that are given are taken as they are.

    A loop over values without an upper bound never ends (`For`), and no text of it does; it stands under a condition
    where instances come at some sizes only. What the tree orders after it stands there, and never runs.

    Loop variables are called c0, c1, ... by their depth; one that the tree has as a name of something else gets an
    underscore.

    Parameters
    ----------
    context : what may be assumed of the parameters, a set without dimensions, or its text. Of one without points there
        are no loops.
    extents : numbers of values of names that members are mapped to, where they are given and not inferred; each a
        number, or an expression of the parameters.
    parted : whether statements that take turns get several loops where one would run through values at which there is
        none of them, and conditions that exclude each other `else`. False: one loop, with tests; less code, where
        bodies are long and loops short, as in kernels.

    Raises
    ------
    NotScannable : a loop without a lower bound, or one that is to be unrolled and has no constant number of iterations;
        a name that members are mapped to has no value where other instances run.
    BadSchedule : a statement that a band has no expression for, or that no child of a sequence takes; a context, a
        guard or what is isolated has other dimensions than there are members.
    UnknownName : an extent is given of a name that no member is mapped to.
    BadArgument : this is no schedule, the context no set, an extent no integer.
    BudgetExceeded : the tree is too large for the steps of one operation; `with budget(...)` allows more, and with
        `parted=False` it takes fewer.

    Cost: some linear programs for each loop and each condition. What may multiply them: `unroll` by the iterations,
    `separate` by the cells of a union: up to 64, or 136 of ranges in a band's last loop that differ in numbers alone;
    beyond, one for each 2000 steps left, 256 at most, less the loops beside those above that are still to be made.
    Where there would be more, the cells are those of every second range, or third, of such as differ in numbers alone,
    at most 64 with what the others have besides. Where that is more, too, or beyond 16 different ranges that do not all
    lie between numbers, what all have is separate if that leaves but four loops, the statements share the others as by
    default, and the notes say so, in both cases.
    While it runs Python collects no cycles of objects, of which it leaves few: that is a tenth of its time.

    >>> from polyvolta.sched import Band, Domain, Member, Schedule
    >>> from polyvolta.sets import Set, var
    >>> band = Band((Member((("S", var("i") // 32),)), Member((("S", var("i")),))))
    >>> tree = Schedule(Domain(Set("[N] -> { S[i] : 0 <= i < N }"), band))
    >>> outer, = scan(tree).body
    >>> inner, = outer.body
    >>> print(*inner.lower, *inner.upper, *inner.body[0].args)
    32*c0 N - 1 32*c0 + 31 c1
    """
    try:
        return scanned(schedule, context, extents, parted, parted)
    except BudgetExceeded as error:
        error.hint += "; or scan(..., parted=False): simpler code, in fewer steps" if parted else ""
        raise


@metered
@numbered
def scanned(
    schedule: Schedule,
    context: Set | str | None,
    extents: Mapping[str, int | Aff] | None,
    parted: bool,
    branches: bool,
    apart: bool = False,
) -> Scan:
    """`scan`, whose conditions have other branches only if that is asked for.

    Parameters
    ----------
    apart : whether each leaf has code of its own, also where one statement's do the same.
    """
    need_schedule(schedule, "scan", "")
    if not isinstance(schedule.root, Domain):
        raise NotScannable("a tree starts with its Domain", where=str(schedule))
    if (root := expanded(schedule.root)) is not schedule.root:
        schedule = replace(schedule, root=root)
    context = context_of(context)
    given = given_extents(extents or {})
    names = mapped_names(schedule.root)
    for name in given:
        if name not in names:
            raise UnknownName(f"no member is mapped to {name}", where=str(schedule), hint=nearest(name, names))
    if given:
        check_extents(given, [*parameters(schedule.root), *(context.param_names if context is not None else ())])
    marked = any(isinstance(node, Mark) for _, node in schedule.walk())
    called = _statements(schedule)
    made, refused = None, None
    try:
        made = _scanned(schedule, context, given, called, parted, branches, apart)
    except NotScannable as error:
        refused = error
    if made is None or endless(made.body):
        narrower = _narrowed(schedule, context)
        if narrower is not None:
            with suppress(NotScannable):
                made = _scanned(narrower, context, given, called, parted, branches, apart)
    if made is None:
        assert refused is not None
        raise refused
    named = plain((*called, *(made.params or ())))
    return Scan(made.body, made.extents, made.ranges, made.notes, made.params, made.largest, named, schedule, marked)


def _scanned(
    schedule: Schedule,
    context: Set | None,
    given: Mapping[str, int | Aff],
    avoided: set[str],
    parted: bool,
    branches: bool,
    apart: bool,
) -> Scan:
    """The loops of a tree; their variables are called like none of the `avoided`."""
    assert isinstance(schedule.root, Domain)
    asked: Set | None = None
    if parted and not mapped_names(schedule.root):
        root = schedule.root
        with suppress(BudgetExceeded):  # guards of many pieces stay where they are
            root, asked = bounded(int(min(PART * left(), MET)), met, root)
        root = root if apart else without_ways(root)
        schedule = schedule if root is schedule.root else replace(schedule, root=root)
    assert isinstance(schedule.root, Domain)
    split = by_cases(schedule.root)
    if split is not None:
        schedule = replace(schedule, root=split.root)
        made = _scanned(schedule, context, given, avoided, parted, branches, apart)
        return replace(made, body=tuple(_called(node, split.names) for node in made.body))
    scanners: list[Scanner] = []

    def scanner() -> Scanner:
        one = Scanner(schedule, context, given, parted, apart)
        one.columns.avoid(avoided)
        one.asked = asked
        if scanners:  # its searches have the steps that those before left, however few all of it may take
            one.spare = scanners[0].spare
        scanners.append(one)
        return one

    collecting = gc.isenabled()
    try:
        if collecting:  # else another thread's scan may end in between, and nobody begins again
            gc.disable()  # cycles are of what is known, which ends here: a collection would find next to nothing
        return _walked(scanner, schedule.root, context, branches)
    finally:
        for one in scanners:
            one.columns.given.clear()
        if collecting:
            gc.enable()


def _walked(scanner: Callable[[], Scanner], domain: Domain, context: Set | None, branches: bool) -> Scan:
    """The loops of a tree; as other scanners make them, with fewer cells, for two cases of sizes, with cells in all
    loops, or for one value of a size, where these test less.
    """
    one, before = scanner(), spent()
    never = context is not None and context.is_empty()
    pieces = () if never else tuple(instances(one.columns, domain.domain))
    body = _finished(one, one.known, domain, pieces, branches)
    steps = spent() - before
    if one.rough and large(body):
        with suppress(BudgetExceeded):
            found = bounded(int(min(steps, left() / 2)), _made, _joining(scanner), domain, branches)
            one, body = found if better(one.known, found[1], body) else (one, body)
    if branches and one.parted:
        first, most = one, int(min(2 * steps, AGAIN))
        told = partial(_told_apart, scanner, domain, pieces, most, steps > LARGE)
        one, body = told(one, body)
        if steps <= CUT and first.shares and dense(one.known, body):
            with suppress(BudgetExceeded, NotScannable):
                cut = _joining(scanner, first.joins, True, longest(body))
                found = told(*bounded(most, _made, cut, domain, branches))
                if found[0].notes == first.notes and denser(one.known, body, found[1]):
                    one, body = found
        body = one.searched(body, lasting_apart, one.known, body, one)
        if conditional(body):
            one, body = _valued(scanner, domain, len(pieces), most, one, body)
            body = one.searched(body, few_found_apart, first.known, pieces, body)
    if one.parted:
        body = one.searched(body, without_needless, one.known, body, spent() - before)
        body = without_common(one.known, body) if branches else body
        body = said_once(body) if branches and not one.apart else body
    made = Scan(body, one.extents, {**one.ranges, **one.seen}, tuple(one.notes), one.params)
    return replace(made, largest=largest(made))


def _told_apart(
    scanner: Callable[[], Scanner],
    domain: Domain,
    pieces: Sequence[Piece],
    most: int,
    large: bool,
    one: Scanner,
    body: tuple[Ast, ...],
) -> tuple[Scanner, tuple[Ast, ...]]:
    """The code with two cases of sizes, which a scanner of their own makes, where these test less; and what made it.

    Parameters
    ----------
    most : steps in which these are looked for.
    large : whether code of one of them is to be found in few steps, as all of it took many.
    """
    if len(pieces) < 2:
        return one, body
    found, other = None, cache(partial(_joining, scanner, one.joins, one.cells))
    again, once = partial(_within, other, domain, pieces[0].columns), is_atomic(domain, frozenset(parameters(domain)))
    brief = partial(bounded, BRIEF, again) if once or large else again
    with suppress(BudgetExceeded, NotScannable):
        found = bounded(most, by_absence, one.known, pieces, body, brief, once)
    if found is None:
        return one, body
    (there, inside), (_, beside) = found
    first, one = one, other()
    stays, conditions = inside is body, stated(one.columns, there, one.tidy)
    if stays:
        one.share(first)
        inside = asked_once(inside, conditions)
    elif not once:
        with suppress(BudgetExceeded, NotScannable):
            inside = bounded(most, _told_again, one, there, pieces, inside, again)
    body = (If(conditions, inside, (0,), beside),)
    with suppress(BudgetExceeded):
        if not stays and has_rows(sizes := needed_in_all(one.known, found)):
            body = guarded(stated(one.columns, sizes, one.tidy), body, (0,))
    return one, body


def _valued(
    scanner: Callable[[], Scanner], domain: Domain, n: int, most: int, one: Scanner, body: tuple[Ast, ...]
) -> tuple[Scanner, tuple[Ast, ...]]:
    """The code with one value of a size apart, where that tests less; and what made it.

    Parameters
    ----------
    n, most : pieces there are; steps in which it is looked for.
    """
    other = cache(partial(_joining, scanner, one.joins, one.cells))
    make = partial(_within, other, domain, one.columns, some=range(n))
    with suppress(BudgetExceeded, NotScannable):
        once = is_atomic(domain, frozenset(parameters(domain)))
        found = bounded(most, value_apart, one.known, body, make, once)
        if found is not None:
            other().share(one)
            return other(), found
    return one, body


def _joining(scanner: Callable[[], Scanner], joins: bool = True, cells: bool = False, most: float = inf) -> Scanner:
    """A scanner of cells as few as what is exact tells apart, or of all; of all loops, or some; of so much code."""
    one = scanner()
    one.joins, one.cells, one.longest = joins, cells, most
    return one


def _made(one: Scanner, domain: Domain, branches: bool) -> tuple[Scanner, tuple[Ast, ...]]:
    """A scanner, and the code that it makes."""
    return one, _finished(one, one.known, domain, tuple(instances(one.columns, domain.domain)), branches)


def _told_again(
    one: Scanner,
    case: System,
    pieces: Sequence[Piece],
    body: tuple[Ast, ...],
    make: Callable[[System, Collection[int]], tuple[Ast, ...]],
) -> tuple[Ast, ...]:
    """Code where one size is told apart and all statements have something by it, of which another may tell some, too.

    Two sizes at most are: each takes two more scans, and only where code of all tests much for nothing.
    """
    found = by_absence(one.known.given(case), pieces, body, lambda rows, of: make(rows.copy().add(case), of))
    if found is None:
        return body
    (there, inside), (_, beside) = found
    conditions = stated(one.columns, there, one.tidy)
    return (If(conditions, asked_once(inside, conditions), (0,), beside),)


def _within(
    scanner: Callable[[], Scanner], domain: Domain, columns: Columns, case: System, some: Collection[int]
) -> tuple[Ast, ...]:
    """The code where some rows over sizes hold, of the pieces of some numbers: others have nothing there.

    None where the rows speak of floors that have other columns here. The same domain first makes the same ones.
    """
    one = scanner()
    pieces = [piece for k, piece in enumerate(instances(one.columns, domain.domain)) if k in some]
    if not all(one.columns.agree(columns, ((c, 1),)) for c in case.columns()):
        return ()
    known = one.known.given(case)
    with one.within(known):
        return _finished(one, known, domain, pieces, True)


def _finished(
    scanner: Scanner, known: Known, domain: Domain, pieces: Sequence[Piece], branches: bool
) -> tuple[Ast, ...]:
    """The code of a tree where sizes are known to be so, with conditions where they first hold."""
    body = scanner.whole(domain.child, State(tuple(pieces), known))
    sizes = needed_by_all(known, body)
    if has_rows(sizes):
        conditions = stated(scanner.columns, sizes, scanner.tidy)
        body = guarded(conditions, less(body, conditions), (0,))
    body = needed_around(known, body, (0,))
    if scanner.parted:
        body = scanner.searched(body, asked_before, known, body, scanner)
        more = partial(added_anywhere, known.columns, scanner.schedule)
        body = scanner.searched(body, something_before, known, pieces, body, scanner, more)
        body = scanner.searched(body, multiples_before, known, body, scanner)
        if any(scanner.columns.of_sizes(((c, 1),)) for c in scanner.columns.floors):
            body = scanner.searched(body, remainders_before, known, body, scanner)
    body = _asked_little(scanner, known, body, branches) if conditional(body) else body
    body = least_apart(known, body) if branches else body
    if not scanner.parted:
        return body
    if conditional(body):
        body = scanner.searched(body, without_implied, known, scanner.searched(body, without_decided, known, body))
    return scanner.searched(body, short_apart, known, body) if branches else body


def _asked_little(scanner: Scanner, known: Known, body: tuple[Ast, ...], branches: bool) -> tuple[Ast, ...]:
    """The same code with its conditions where they are asked least; of code without any there is nothing to ask."""
    body = tidied(asked_once(tidied(body)))
    if scanner.parted and neighbours(body):
        found = scanner.searched(body, asked_together, known, body)
        body = body if found == body else tidied(asked_once(found))
    body = asked_first(body)
    body = asked_apart(body) if branches else body
    if branches and meeting(body):
        body = scanner.searched(body, branched, known, body, (), 0, scanner.apart)
    return body


def _called(node: Ast, names: Mapping[str, str]) -> Ast:
    """The code with calls of the statements whose cases were called."""
    if isinstance(node, Call):
        return replace(node, statement=names.get(node.statement, node.statement))
    return mapped(node, lambda body: tuple(_called(inner, names) for inner in body))


def _narrowed(schedule: Schedule, context: Set | None) -> Schedule | None:
    """The tree with its domain by the cases of what is known of the parameters; None where there are no cases.

    The walk knows one conjunction. A bound that each case gives, none of them alone, is one of the domain's pieces.
    """
    assert isinstance(schedule.root, Domain)
    known = [] if context is None else [context]
    node = schedule.root.child
    while isinstance(node, Context):
        known.append(node.context)
        node = node.child
    domain = schedule.root.domain
    for s in known:
        if len(s.parts) == 1 and not s.space.n_out and len(s.parts[0][1]) > 1:
            domain = domain.intersect_params(s)
    return None if domain is schedule.root.domain else schedule.replace((), replace(schedule.root, domain=domain))


def _statements(schedule: Schedule) -> set[str]:
    """The statements of a tree, those of its extensions, too."""
    found = set(names_of(schedule.domain))
    for _, node in schedule.walk():
        if isinstance(node, Extension):
            found.update(names_of(node.extension.range()))
    return found
