"""The exchange: from where the macro-MMA leaves a result to runs of eight values, and on to the output.

Three maps meet here. The accumulator map says which element each lane's values are; the store's pieces say where in the
warp's buffer they go; the load's vectors and words say where a lane's run comes from. That they fit together is one
statement: load after store after accumulator is `owns`, value v of a run being v further along. It is checked for every
lane, round and value, and so is that

- the pieces of all lanes fill the buffer, each place once, and nothing lies outside of it;
- the runs of all lanes and rounds are the whole fragment, each element once;
- what takes runs out of a buffer goes by the exchange that put them in;
- a store to an output has its run's elements where `owns` says, for all lanes: its 128-bit pieces are those runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from polyvolta.cuda.ir.kernel_ir import (
    CHUNK,
    CHUNK_BYTES,
    LANES,
    Element,
    Exchange,
    ExchangeLoad,
    ExchangeStore,
    GlobalStore,
    KernelIR,
    Mma,
    Pointwise,
)
from polyvolta.cuda.ir.walk import IrPath, walk
from polyvolta.cuda.layouts.exchange import BYTES
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.verify.accesses.requests import Case, Requests, requests
from polyvolta.cuda.verify.accesses.sectors import element
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Verdict
from polyvolta.graph.dag import Graph
from polyvolta.sched.tree import Schedule

Fault = tuple[str, int | None, dict[str, int], str]  # what, the lane, loop variables, the address


@lru_cache(maxsize=256)
def wrong_exchange(exchange: Exchange, macro: MacroMma) -> Fault | None:
    """What is wrong with the exchange of a macro-MMA's accumulators, if something is.

    Cost: 32 lanes by the values of a fragment, once for each exchange.
    """
    buffer = np.full((exchange.chunks * CHUNK_BYTES // BYTES[exchange.kind], 2), -1)
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
    per_vector = CHUNK_BYTES // BYTES[exchange.kind]
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
    NoMeaning : the kernel has no exchange.
    """
    used = list(dict.fromkeys(s.exchange for _, s in walk(ir.body) if isinstance(s, ExchangeStore | ExchangeLoad)))
    if not used:
        raise NoMeaning("the kernel has no accumulator exchange")
    found = _stores(ir) or _loads(ir) or _outputs(ir)
    statement = (
        "the accumulator exchange fits together: each element that a lane of the product owns goes to one place of its "
        "warp's buffer and comes out, once, in the run that says that it has it; runs are stored where they belong"
    )
    relation = "; ".join(
        f"{e.kind}, {len(e.pieces)} pieces of {len(e.pieces[0])}: store {e.store}, load {e.load}, words {e.words}, "
        f"owns {e.owns} and {CHUNK - 1} further along {('rows', 'columns')[e.along]}"
        for e in used
    )
    case, at, other = found if found is not None else (None, None, None)
    return Verdict(statement, relation, case, at, other)


Found = tuple[CounterExample, IrPath, IrPath | None]


def _stores(ir: KernelIR) -> Found | None:
    """An exchange that doesn't fit the macro-MMA whose accumulators it stores."""
    macros = {s.d.array: s.macro for _, s in walk(ir.body) if isinstance(s, Mma)}
    for at, s in walk(ir.body):
        if isinstance(s, ExchangeStore):
            macro = macros.get(s.source.array)
            if macro is None:
                return CounterExample(f"no product has its result in {s.source.array}"), at, None
            fault = wrong_exchange(s.exchange, macro)
            if fault is not None:
                what, lane, loops, address = fault
                return CounterExample(what, lane=lane, iteration=loops, address=address), at, None
    return None


def _loads(ir: KernelIR) -> Found | None:
    """A load whose exchange is another one than that which filled the buffer."""
    filled: dict[str, tuple[IrPath, Exchange]] = {}
    for at, s in walk(ir.body):
        if isinstance(s, ExchangeStore):
            filled[s.buffer] = at, s.exchange
        elif isinstance(s, ExchangeLoad):
            if s.buffer not in filled:
                return (
                    CounterExample(f"nothing is stored to {s.buffer} before it is loaded", address=s.buffer),
                    at,
                    None,
                )
            before, stored = filled[s.buffer]
            if stored != s.exchange:
                lane, r = _different(stored, s.exchange)
                what = f"{s.buffer} is loaded by another exchange than it was stored by"
                return CounterExample(what, lane=lane, iteration={"round": r}, address=s.buffer), at, before
    return None


def _different(one: Exchange, two: Exchange) -> tuple[int, int]:
    """The first lane and round for which two exchanges load something else, or something for another element."""
    for r in range(min(one.rounds, two.rounds)):
        inputs = {"lane": _LANE, "round": r}
        for f, g in ((one.load, two.load), (one.owns, two.owns)):
            for x, y in zip(_lanes(f.evaluate(inputs)), _lanes(g.evaluate(inputs))):
                if (x != y).any():
                    return int(np.argmax(x != y)), r
    return 0, 0


def _outputs(ir: KernelIR) -> Found | None:
    """A store to an output whose lanes have other elements than the run that they store."""
    runs: dict[str, tuple[IrPath, ExchangeLoad]] = {}  # register array -> where its run came from
    stores = {r.path: r for r in requests(ir, "global")}
    for at, s in walk(ir.body):
        match s:
            case ExchangeLoad():
                runs[s.target.array] = at, s
            case Pointwise():
                taken = [runs[e.array] for e in s.operands if isinstance(e, Element) and e.array in runs]
                if taken:
                    runs[s.target.array] = taken[0]
            case GlobalStore() if s.source.array in runs and at in stores:
                before, load = runs[s.source.array]
                r = stores[at]
                if s.along != load.exchange.along:
                    what = f"runs along dimension {load.exchange.along} are stored to {s.tensor} along {s.along}"
                    return CounterExample(what, address=s.tensor), before, at
                case = _misplaced(r, s, load)
                if case is not None:
                    return case.counter_example, before, at
    return None


def _misplaced(r: Requests, store: GlobalStore, load: ExchangeLoad) -> Case | None:
    """A lane whose run is stored elsewhere, seen from lane 0, than `owns` has it."""
    inputs = {"lane": r.numbers["lane"], "round": r.values(load.round)}
    for d, (e, own) in enumerate(zip(store.index, load.exchange.owns.evaluate(inputs), strict=True)):
        base = r.split(e)[1] - np.broadcast_to(own, r.shape)
        what = f"a lane stores its run to {store.tensor} not where it belongs"
        case = r.first(base != base[..., :1], what)
        if case is not None:
            away = int(base[case.at] - base[(*case.at[:2], 0)])
            sense = f"{abs(away)} {('rows', 'columns')[d]} {'beyond' if away > 0 else 'before'} where it belongs"
            what = f"lane {case.at[2]} stores its run to {store.tensor} {sense}, seen from lane 0"
            return replace(case, what=what, address=element(case, r.accesses[0]))
    return None
