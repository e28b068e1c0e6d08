"""`kernel.verify()`: every kind of proof asked of its prover, and the answers put together as a report.

Two kinds of provers there are. A *function* decides a statement from the kernel's trees and maps alone: a module's
`PROVERS` has its functions by the proofs' names, each called with (ir, graph, stages). A *client* of the symbolic
machine (`machine`) watches the kernel run once for all sizes: a module's `CLIENTS` are called with (ir, graph) and
give one each; after the run `client.shown(proof)` says what was to be shown, and what the machine recorded against it
refutes it. That is run once more, for its own sizes, so that it is a case that happens; but for proofs in the client's
`confirmed`, whose cases the client itself has looked at with numbers. All clients share one run, and only those take
part whose proofs are asked for.

Both answer with a `Verdict`, raise `NoMeaning` where a kernel has no use for a proof, and `Undecided` where they have
no exact answer; the set core's `BudgetExceeded` is no answer either. What is not decided is never called proved: it
stands in the report with the reason and the place, the report isn't ok, and the other proofs are none the worse.

Of a kernel whose blocks form clusters all of this is said of its clusters as blocks (`ir.unfolded`); what is found is
told of the block and the warp that it is about.

A size is any integer here; that it fits the 32 bits of an `int` is checked at the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import Any, Protocol

from polyvolta.cuda.ir.engines.unfolded import Unfolded, unfolded
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.well_formed import IllFormed, check
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.cuda.text.places import Places
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.engine.symbolic import Client, Refutation
from polyvolta.cuda.verify.engine.symbols import loops_over_tiles
from polyvolta.cuda.verify.engine.turns import in_turn, whole_of
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.asked import PROOFS, asked
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Proof, Verdict
from polyvolta.cuda.verify.report.report import Report
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule
from polyvolta.sets import BudgetExceeded, PolyvoltaError

Stages = Mapping[str, Schedule]
Progress = Callable[[str, int, int], None]
Prover = Callable[[KernelIR, Graph, Stages], Verdict]


TRIED = (256, 130)  # sizes at which a case is looked for that doesn't happen at its own


class Watcher(Client, Protocol):
    """A client that can say what it shows."""

    def shown(self, proof: str) -> Verdict:
        """The statement and the relation of a proof, about the kernel at hand."""
        ...


NO_ANSWER = (Undecided, BudgetExceeded)  # how a prover says that it doesn't know


def verify(
    ir: KernelIR,
    graph: Graph,
    stages: Stages,
    only: str | Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Decide every statement about a kernel, or some of them.

    Parameters
    ----------
    only : names of proofs, or one text with commas between; by default all that the kernel has a use for.
    progress : called as progress(name, done, total) when a proof begins; with "the rest" when the machine does.

    Raises
    ------
    UnknownProof : a name that no proof has.
    NoMeaning : a proof was asked for by name that the kernel has no use for.
    IllFormed : the IR means nothing that could be proved or refuted, or has no text.

    Cost: seconds; most of it is one run of the kernel on symbols.
    """
    wanted = asked(only)
    check(ir)
    schedule = stages[list(stages)[-1]]
    places = Places(ir, schedule)
    text = _printed(places)
    found = Found({}, {}, {})
    functions, whole = {**provers(), **orders(ir)}, unfolded(ir)
    by_functions(functions, whole.ir, graph, stages, wanted, found, progress)
    if progress is not None:
        progress("the rest", sum(name in functions for name in wanted), len(wanted))
    by_machine(whole.ir, graph, [name for name in wanted if name not in functions], found)
    if only is not None and found.without:
        name, reason = next(iter(found.without.items()))
        raise _no_meaning(name, reason, ir, [n for n in wanted if n not in found.without])
    sizes = covered(ir)
    proofs = [
        _proof(n, *found.verdicts[n], sizes, places, whole) if n in found.verdicts
        else _not_decided(n, found.unknown.get(n, Undecided("no prover answers it")), sizes, places, whole)
        for n in wanted if n not in found.without
    ]  # fmt: skip
    title = f"{ir.name}: {ir.about}" if ir.about else ir.name
    return Report(title, tuple(proofs), text, schedule)


def _printed(places: Places) -> str:
    """The kernel's text, that of a well-formed IR."""
    try:
        return places.printed.text
    except NotPrintable as wrong:
        raise IllFormed(f"it has no text: {wrong.message}", where=wrong.where, hint=wrong.hint) from wrong


# ---- who decides what


@dataclass(frozen=True, slots=True)
class Found:
    """What became of the proofs, by name.

    Attributes
    ----------
    verdicts : those decided, with the seconds that it took.
    without : those that the kernel has no use for.
    unknown : those not decided.
    """

    verdicts: dict[str, tuple[Verdict, float]]
    without: dict[str, NoMeaning]
    unknown: dict[str, PolyvoltaError]


@cache
def provers() -> Mapping[str, Prover]:
    """The functions, by the names of the proofs that they decide."""
    from polyvolta.cuda.verify.accesses import grids
    from polyvolta.cuda.verify.accesses import single as accesses
    from polyvolta.cuda.verify.coverage import arguments, schedule
    from polyvolta.cuda.verify.order import proofs
    from polyvolta.cuda.verify.values import ownership
    from polyvolta.cuda.verify.values.engines import layouts

    modules: tuple[Any, ...] = (arguments, schedule, layouts, ownership, accesses, proofs, grids)
    return {name: prover for module in modules for name, prover in module.PROVERS.items()}


def orders(ir: KernelIR) -> Mapping[str, Prover]:
    """The functions that decide, of a kernel with roles, what a client of the machine decides of others."""
    from polyvolta.cuda.verify.order import proofs

    return proofs.OF_ROLES if proofs.has_roles(ir) else {}


@cache
def clients() -> tuple[Callable[[KernelIR, Graph], Watcher], ...]:
    """What makes the clients of the symbolic machine."""
    from polyvolta.cuda.verify.accesses import barriers, bounds, races
    from polyvolta.cuda.verify.coverage import copies, written_once
    from polyvolta.cuda.verify.values import contents

    modules: tuple[Any, ...] = (contents, races, bounds, barriers, copies, written_once)
    return tuple(made for module in modules for made in module.CLIENTS)


def by_functions(
    functions: Mapping[str, Prover], ir: KernelIR, graph: Graph, stages: Stages, wanted: Sequence[str], found: Found,
    progress: Progress | None = None,
) -> None:  # fmt: skip
    """Ask the functions, one proof after the other."""
    for n, name in enumerate(name for name in wanted if name in functions):
        if progress is not None:
            progress(name, n, len(wanted))
        start = perf_counter()
        try:
            found.verdicts[name] = functions[name](ir, graph, stages), perf_counter() - start
        except NoMeaning as reason:
            found.without[name] = reason
        except NO_ANSWER as unknown:
            found.unknown[name] = unknown


def by_machine(ir: KernelIR, graph: Graph, wanted: Iterable[str], found: Found) -> None:
    """Run the kernel on symbols for all clients with a proof that is asked for; where roles take turns at tiles, what
    it does for each remainder of a tile's number. What is refuted for one is, and what is undecided for one is."""
    names, each = set(wanted), []
    for part in in_turn(ir):
        each.append(Found({}, {}, {}))
        _one_by_machine(part, graph, names, each[-1])
    for name in names:
        decided = [part.verdicts[name] for part in each if name in part.verdicts]
        unknown = next((part.unknown[name] for part in each if name in part.unknown), None)
        wrong = next((v for v, _ in decided if v.counter_example is not None), None)
        if wrong is not None or (decided and unknown is None):
            found.verdicts[name] = wrong or decided[0][0], sum(seconds for _, seconds in decided)
        elif unknown is not None:
            found.unknown[name] = unknown
        elif without := [part.without[name] for part in each if name in part.without]:
            found.without[name] = without[0]


def _one_by_machine(ir: KernelIR, graph: Graph, names: set[str], found: Found) -> None:
    """Run a kernel on symbols. If that comes to no end, each client runs alone: what stops one of them is no matter of
    the others."""
    chosen = [made for made in clients() if names.intersection(made(ir, graph).proofs)]
    if not chosen:
        return
    try:
        findings = _watched(ir, [made(ir, graph) for made in chosen], names, found)
    except NO_ANSWER:
        findings = {}
        for made in chosen:
            client = made(ir, graph)
            try:
                findings |= _watched(ir, [client], names, found)
            except NO_ANSWER as unknown:
                before = getattr(unknown, "findings", {})  # they hold, whatever stopped the machine
                findings |= before
                for name in names.intersection(client.proofs):
                    if name in before:
                        found.verdicts[name] = client.shown(name), 0.0
                    else:
                        found.unknown[name] = unknown
    _refute(ir, graph, chosen, {n: f for n, f in findings.items() if n in names}, found)


def _refute(ir: KernelIR, graph: Graph, chosen: list, findings: Mapping[str, Refutation], found: Found) -> None:
    """Turn what was found into refutations, each after a run at its own sizes, or at others, in which it happens."""
    again: dict[tuple[int, ...], Happening] = {}
    sure = {name for made in chosen for name in getattr(made, "confirmed", ())}
    for name, finding in findings.items():
        verdict, seconds = found.verdicts[name]
        case = finding if name in sure else None
        own = {n: finding.point[n] for n in ir.sizes}
        tried = (own, *(_sizes(ir, n) for n in TRIED))
        for sizes in (each for given in tried for each in _tiles(ir, given)):
            key = tuple(sizes.values())
            if case is None and key not in again:
                again[key] = _happening(ir, graph, chosen, sizes)
            case = case or again[key].findings.get(name)
        if case is not None:
            found.verdicts[name] = refuted(verdict, case, ir), seconds
        else:
            del found.verdicts[name]
            at = ", ".join(f"{n} = {v}" for n, v in own.items())
            stopped = again[tuple(next(_tiles(ir, own)).values())].unknown.get(name)
            but = f"but not for {at}" if stopped is None else f"but the case {at} is not decided: {stopped.message}"
            found.unknown[name] = unknown = Undecided(f"{finding.what}: so it seems, {but}")
            unknown.path = finding.path


@dataclass(frozen=True, slots=True)
class Happening:
    """A run of the kernel at some sizes.

    Attributes
    ----------
    findings : what happened there against which proofs.
    unknown : for each proof whose client came to no end, why.
    """

    findings: Mapping[str, Refutation]
    unknown: Mapping[str, PolyvoltaError]


def _happening(ir: KernelIR, graph: Graph, chosen: list, sizes: Mapping[str, int]) -> Happening:
    """What happens at some sizes; if all clients together come to no end, each looks alone."""
    try:
        return Happening(run(ir, [made(ir, graph) for made in chosen], sizes).findings, {})
    except NO_ANSWER as stopped:
        if len(chosen) == 1:  # what it found before holds, whatever stopped it
            return Happening(getattr(stopped, "findings", {}), dict.fromkeys(chosen[0](ir, graph).proofs, stopped))
    alone = [_happening(ir, graph, [made], sizes) for made in chosen]
    findings = {n: f for one in alone for n, f in one.findings.items()}
    return Happening(findings, {n: u for one in alone for n, u in one.unknown.items()})


def _tiles(ir: KernelIR, sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes with which of its tiles a block is at, and what it has counted: two of several."""
    loops = loops_over_tiles(ir)
    first, step = (loops[0].first, loops[0].step) if whole_of(ir) is not ir else (0, 1)
    for turn in (first, first + step) if loops else (0,):
        counted = {n: turn * int(e.evaluate(sizes)) for s in loops for n, e in s.counters}  # type: ignore[call-overload]
        yield {**sizes, **dict.fromkeys((s.turn for s in loops), turn), **counted}


def _sizes(ir: KernelIR, number: int) -> dict[str, int]:
    """Every size a number, or the next of its multiples."""
    multiples = dict(ir.context)
    return {n: -(-number // multiples.get(n, 1)) * multiples.get(n, 1) for n in ir.sizes}


def _watched(ir: KernelIR, watching: list[Watcher], names: set[str], found: Found) -> Mapping[str, Refutation]:
    """One run with some clients, whose proofs share their time; what it found against them."""
    done = run(ir, watching)
    for client, own in zip(watching, done.seconds, strict=True):
        decided = names.intersection(client.proofs)
        seconds = (own + done.control / len(watching)) / len(decided)
        for name in decided:
            start = perf_counter()
            try:
                verdict = client.shown(name)
            except NoMeaning as reason:
                if name not in done.findings:
                    found.without[name] = reason
                    continue
                verdict = Verdict(PROOFS[name], "")
            except Undecided as unknown:
                if name not in done.findings:
                    found.unknown[name] = unknown
                    continue
                verdict = Verdict(PROOFS[name], "")
            found.verdicts[name] = verdict, seconds + perf_counter() - start
    return done.findings


def refuted(verdict: Verdict, finding: Refutation, ir: KernelIR) -> Verdict:
    """A verdict with what the machine found against it."""
    point = dict(finding.point)
    block = tuple(point.pop(f"blockIdx.{axis}", None) for axis in "xyz")
    x, y, z = (b or 0 for b in block)
    sizes = {n: point.pop(n) for n in ir.sizes if n in point}
    case = CounterExample(
        finding.what,
        sizes,
        (x, y, z) if any(b is not None for b in block) else None,
        finding.warp,
        finding.lane,
        point,
        finding.address,
    )
    return replace(verdict, counter_example=case, at=finding.path or None, other=finding.other)


# ---- the report's parts


def _proof(name: str, verdict: Verdict, seconds: float, sizes: str, places: Places, whole: Unfolded) -> Proof:
    case = verdict.counter_example
    if case is not None:
        found = {"place": verdict.at, "other": verdict.other}
        case = replace(case, **{which: places[whole.path(at)] for which, at in found.items() if at})
        if case.block is not None:
            block, warp = whole.block(case.block, case.warp)
            case = replace(case, block=block, warp=warp)
    return Proof(name, verdict.statement, verdict.relation, case is None, seconds, verdict.sizes or sizes, case)


def _no_meaning(name: str, reason: NoMeaning, ir: KernelIR, others: list[str]) -> NoMeaning:
    """The error for a user who asked for it by name."""
    rest = f"verify(only=...) without it: {', '.join(others)}; " if others else ""
    return NoMeaning(
        f"the proof {name!r} has no meaning here: {reason.message}",
        where=f"{ir.name}: {ir.about}",
        hint=f"{rest}verify() has all that have a meaning",
    )


def _not_decided(name: str, unknown: PolyvoltaError, sizes: str, places: Places, whole: Unfolded) -> Proof:
    """What stopped it, and the place where the machine stood."""
    reason = "; ".join([unknown.message, *unknown.where.splitlines()])
    at = getattr(unknown, "path", None)
    return Proof(name, PROOFS[name], "", False, 0.0, sizes, None, reason, places[whole.path(at)] if at else None)


def covered(ir: KernelIR) -> str:
    """The sizes that a proof about a kernel covers, as a sentence's end.

    >>> import polyvolta as pv
    >>> M, N, K = pv.sizes("M N K")
    >>> covered(pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))).ir)
    'all M >= 1, N >= 1, K >= 0'
    >>> covered(pv.compile(pv.tensor("A", (512, K)) @ pv.tensor("B", (K, 256))).ir)
    'all K >= 0, with A[512, K], B[K, 256], C[512, 256]'
    """
    shapes = ", ".join(f"{t.name}[{', '.join(map(str, t.dims))}]" for t in ir.tensors)
    if not ir.sizes:
        return f"the sizes {shapes} alone"
    free = ", ".join(f"{n} >= {ir.ranges.get(n, (0, None))[0]}" for n in ir.sizes)
    multiples = "".join(f", {words}" for words in _multiples(ir.context))
    fixed = any(isinstance(d, int) and (t.written or d != 1) for t in ir.tensors for d in t.dims)
    return f"all {free}{multiples}{f', with {shapes}' if fixed else ''}"


def _multiples(context: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """What sizes are multiples of, those of one number together."""
    for multiple in dict.fromkeys(m for _, m in context):
        names = [n for n, m in context if m == multiple]
        verb = "multiples" if len(names) > 1 else "a multiple"
        yield f"{' and '.join(names)} {verb} of {multiple}"
