"""The exchange: from where the macro-MMA leaves a result to runs of eight values, and on to the output.

Three maps meet here. The accumulator map says which element each lane's values are; the store's pieces say where in the
warp's buffer they go; the load's vectors and words say where a lane's run comes from. That they fit together is one
statement: load after store after accumulator is `owns`, value v of a run being v further along. It is checked for every
lane, round and value, and so is that

- the pieces of all lanes fill the buffer, each place once, and nothing lies outside of it;
- the runs of all lanes and rounds are the whole fragment, each element once;
- what takes runs out of a buffer goes by the exchange that put them in;
- a store to an output has its run's elements where `owns` says, for all lanes: its 128-bit pieces are those runs.

Lanes that have whole runs already take them out of their own fragments, through no buffer (`taken_runs`): of these the
accumulator map and the runs' are held against one another, and the stores likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    VALUE_BYTES,
    Access,
    Exchange,
    KernelIR,
    Scale,
    Zero,
)
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.accesses.requests import Case, Requests, requests
from polyvolta.cuda.verify.accesses.sectors import element
from polyvolta.cuda.verify.engine.symbolic import Undecided
from polyvolta.cuda.verify.fragments.taken_runs import Taken, taken, wrong_runs
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.cuda.verify.values.declared import Exchanged, exchanged, products, statements
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule

Fault = tuple[str, int | None, dict[str, int], str]  # what, the lane, loop variables, the address


@lru_cache(maxsize=256)
def wrong_exchange(exchange: Exchange, macro: MacroMma) -> Fault | None:
    """What is wrong with the exchange of a macro-MMA's accumulators, if something is.

    Cost: 32 lanes by the values of a fragment, once for each exchange.
    """
    buffer = np.full((exchange.chunks * CHUNK_BYTES // VALUE_BYTES[exchange.kind], 2), -1)
    return _filled(buffer, exchange, macro) or _emptied(buffer, exchange, macro)


def _filled(buffer: np.ndarray, exchange: Exchange, macro: MacroMma) -> Fault | None:
    """Put every lane's elements, [row, col] each, into a warp's buffer, [value, 2], which has -1 where nothing is."""
    element = np.stack([np.broadcast_to(x, (LANES, macro.values[2])) for x in _owned(macro)], axis=-1)
    stored = sorted(v for piece in exchange.pieces for v in piece)
    if stored != list(range(macro.values[2])):
        missing = next(v for v in range(macro.values[2]) if stored.count(v) != 1)
        return f"value {missing} of a lane's fragment is in {stored.count(missing)} pieces", 0, {}, ""
    places = _lanes(exchange.store.evaluate({"lane": _LANE}))
    for number, (piece, place) in enumerate(zip(exchange.pieces, places, strict=True)):
        for lane in range(LANES):
            first = int(place[lane]) * len(piece)
            at = f"value {first} of the buffer"
            if not 0 <= first <= len(buffer) - len(piece):
                return f"piece {number} of lane {lane} lies outside of the buffer", lane, {}, at
            if (buffer[first : first + len(piece)] >= 0).any():
                return f"piece {number} of lane {lane} lies where another one does", lane, {}, at
            buffer[first : first + len(piece)] = element[lane, list(piece)]
    return None


def _emptied(buffer: np.ndarray, exchange: Exchange, macro: MacroMma) -> Fault | None:
    """Take every lane's runs out of a warp's buffer: each is what it says, and together they are the fragment."""
    if sorted(exchange.words) != list(range(CHUNK)):
        word = next(w for w in exchange.words if exchange.words.count(w) != 1 or not 0 <= w < CHUNK)
        return f"a run takes word {word} {exchange.words.count(word)} times", None, {}, ""
    seen = np.zeros(macro.shape[:2], bool)
    per_vector = CHUNK_BYTES // VALUE_BYTES[exchange.kind]
    step = np.array((1, 0) if exchange.along == 0 else (0, 1))
    for number in range(exchange.rounds):
        inputs, here = {"lane": _LANE, "round": number}, {"round": number}
        vectors, owns = _lanes(exchange.load.evaluate(inputs)), _lanes(exchange.owns.evaluate(inputs))
        for lane in range(LANES):
            places = [int(v[lane]) * per_vector + x for v in vectors for x in range(per_vector)]
            if not all(0 <= x < len(buffer) for x in places):
                return f"lane {lane} loads from outside of the buffer", lane, here, f"vector {vectors[0][lane]}"
            if len(places) != CHUNK:
                return f"lane {lane} loads {len(places)} values for a run of {CHUNK}", lane, here, ""
            first = np.array([int(x[lane]) for x in owns])
            for v, word in enumerate(exchange.words):
                wanted, given = first + v * step, buffer[places[word]]
                if (wanted != given).any():
                    what = f"value {v} of lane {lane}'s run is {_name(given)}, not {_name(wanted)} as it says"
                    return what, lane, here, f"value {places[word]} of the buffer"
                if seen[tuple(wanted)]:
                    return f"{_name(wanted)} of the fragment comes twice", lane, here, ""
                seen[tuple(wanted)] = True
    if not seen.all():
        return f"{_name(np.argwhere(~seen)[0])} of the fragment comes to no lane", None, {}, ""
    return None


_LANE = np.arange(LANES)


def _owned(macro: MacroMma) -> tuple:
    (lane, _), (value, count) = macro.d.inputs
    return macro.d.evaluate({lane: _LANE[:, None], value: np.arange(count)})


def _lanes(outputs: tuple) -> list[np.ndarray]:
    return [np.broadcast_to(x, (LANES,)) for x in outputs]


def _name(at: np.ndarray) -> str:
    return f"[{int(at[0])}, {int(at[1])}]"


# ---- a kernel


def exchange(ir: KernelIR, graph: Graph, stages: Mapping[str, Schedule]) -> Verdict:
    """Whether a kernel's exchanges bring every element to the run that says that it has it.

    Raises
    ------
    NoMeaning : the kernel has no exchange, and takes no runs out of accumulators.
    Undecided : what is stored to a buffer, or taken out of one, comes or goes in a way that isn't known here.
    """
    through = [e for at, op in statements(ir) if (e := exchanged(ir, at, op)) is not None]
    own = taken(ir)
    used = list(dict.fromkeys(e.plan for e in through))
    if not used and not own:
        raise NoMeaning("the kernel has no accumulator exchange")
    found = _stores(ir, through) or _loads(ir, through) or _takes(ir, own) or _outputs(ir, through, own, graph.whole)
    statement = (
        "the accumulator exchange fits together: each element that a lane of the product owns goes to one place of its "
        "warp's buffer and comes out, once, in the run that says that it has it; runs are stored where they belong"
    )
    if not used:
        statement = (
            "each element that a lane of the product owns is in one place of one of the runs that the lane takes out "
            "of its accumulators, the place that the run says; runs are stored where they belong"
        )
    relations = [
        f"{e.kind}, {len(e.pieces)} pieces of {len(e.pieces[0])}: store {e.store}, load {e.load}, words {e.words}, "
        f"owns {e.owns} and {CHUNK - 1} further along {('rows', 'columns')[e.along]}"
        for e in used
    ]
    relations += [
        f"runs {r.picks}, owns {r.owns} and {CHUNK - 1} further along {('rows', 'columns')[r.along]}"
        for r in dict.fromkeys(t.plan for t in own)
    ]
    case, at, other = found if found is not None else (None, None, None)
    return Verdict(statement, "; ".join(relations), case, at, other)


Found = tuple[CounterExample, IrPath, IrPath | None]


def _stores(ir: KernelIR, through: list[Exchanged]) -> Found | None:
    """An exchange that doesn't fit the macro-MMA whose accumulators it stores."""
    stores = (e for e in through if e.shared.writes)
    return next(filter(None, (_unfit(ir, e.path, e.registers, partial(wrong_exchange, e.plan)) for e in stores)), None)


def _takes(ir: KernelIR, own: list[Taken]) -> Found | None:
    """Runs that don't fit the macro-MMA out of whose accumulators they are taken."""
    return next(filter(None, (_unfit(ir, t.path, t.source, partial(wrong_runs, t.plan)) for t in own)), None)


def _unfit(ir: KernelIR, at: IrPath, registers: str, wrong: Callable[[MacroMma], Fault | None]) -> Found | None:
    """What is wrong with taking the accumulators of an array for those of the products that end there."""
    faults = [wrong(m) for m in dict.fromkeys(p.warp for p in products(ir) if p.d == registers)]
    if not faults:
        _nothing_else(ir, "registers", registers)
        return CounterExample(f"no product has its result in {registers}"), at, None
    if all(faults):
        what, lane, loops, address = faults[0]  # type: ignore[misc]
        return CounterExample(what, lane=lane, iteration=loops, address=address), at, None
    if any(faults):
        raise Undecided(f"{registers} has the results of several products that lie there in different ways")
    return None


def _loads(ir: KernelIR, through: list[Exchanged]) -> Found | None:
    """A load whose exchange is another one than that which filled the buffer."""
    filled: dict[str, Exchanged] = {}
    for e in through:
        buffer = e.shared.array
        if e.shared.writes:
            filled[buffer] = e
        elif buffer not in filled:
            _nothing_else(ir, "shared", buffer)
            return CounterExample(f"nothing is stored to {buffer} before it is loaded", address=buffer), e.path, None
        elif filled[buffer].plan != e.plan:
            lane, r = _different(filled[buffer].plan, e.plan)
            what = f"{buffer} is loaded by another exchange than it was stored by"
            case = CounterExample(what, lane=lane, iteration={"round": r}, address=buffer)
            return case, e.path, filled[buffer].path
    return None


def _nothing_else(ir: KernelIR, space: str, array: str) -> None:
    """Nothing writes an array in a way that isn't known here.

    Raises
    ------
    Undecided
    """
    for _, op in statements(ir):
        if op.plan is None and not isinstance(op, Zero | Scale):
            if any(a.writes and (a.space, a.array) == (space, array) for a in op.accesses(ir)):
                raise Undecided(f"what a {type(op).__name__} leaves in {array} is not known here")


def _different(one: Exchange, two: Exchange) -> tuple[int, int]:
    """The first lane and round for which two exchanges load something else, or something for another element."""
    for r in range(min(one.rounds, two.rounds)):
        inputs = {"lane": _LANE, "round": r}
        for f, g in ((one.load, two.load), (one.owns, two.owns)):
            for x, y in zip(_lanes(f.evaluate(inputs)), _lanes(g.evaluate(inputs))):
                if (x != y).any():
                    return int(np.argmax(x != y)), r
    return 0, 0


def _outputs(ir: KernelIR, through: list[Exchanged], own: list[Taken], whole: tuple[int, int]) -> Found | None:
    """A store to an output whose lanes have other elements than the run that they store.

    Parameters
    ----------
    whole : for each dimension of a result that of a fragment.
    """
    loads: dict[IrPath, Exchanged | Taken] = {e.path: e for e in through if not e.shared.writes}
    loads |= {t.path: t for t in own}
    runs: dict[str, Exchanged | Taken] = {}  # register array -> where its run came from
    stores = {r.path: r for r in requests(ir, "global")}
    for at, op in statements(ir):
        if at in loads:
            runs[loads[at].registers] = loads[at]
            continue
        found = op.accesses(ir)
        taken = [runs[a.array] for a in found if a.space == "registers" and not a.writes and a.array in runs]
        if not taken:
            continue
        load = taken[0]
        for a in (a for a in found if a.writes):
            if a.space == "registers":
                runs[a.array] = load
            elif a.space == "global" and a.along is None:
                raise Undecided(f"a {type(op).__name__} stores a run to {a.array}, and along no dimension")
            elif a.space == "global" and at in stores:
                if a.along != (along := whole.index(load.plan.along)):
                    what = f"runs along dimension {along} are stored to {a.array} along {a.along}"
                    return CounterExample(what, address=a.array), load.path, at
                case = _misplaced(stores[at], a, load, whole)
                if case is not None:
                    return case.counter_example, load.path, at
    return None


def _misplaced(r: Requests, store: Access, load: Exchanged | Taken, whole: tuple[int, int]) -> Case | None:
    """A lane whose run is stored elsewhere, seen from lane 0, than `owns` has it."""
    (round,) = (load.round,) if isinstance(load, Taken) else load.shared.given
    inputs = {"lane": r.numbers["lane"], "round": r.values(round)}
    owned = load.plan.owns.evaluate(inputs)
    for d, (e, own) in enumerate(zip(store.index, (owned[p] for p in whole), strict=True)):
        base = r.split(e)[1] - np.broadcast_to(own, r.shape)
        what = f"a lane stores its run to {store.array} not where it belongs"
        case = r.first(base != base[..., :1], what)
        if case is not None:
            away = int(base[case.at] - base[(*case.at[:2], 0)])
            sense = f"{abs(away)} {('rows', 'columns')[d]} {'beyond' if away > 0 else 'before'} where it belongs"
            what = f"lane {case.at[2]} stores its run to {store.array} {sense}, seen from lane 0"
            return replace(case, what=what, address=element(case, r.accesses[0]))
    return None
