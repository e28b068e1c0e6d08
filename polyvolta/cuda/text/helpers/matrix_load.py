"""Fragments by `ldmatrix`: the lines that lanes name, as addresses in shared memory.

Which chunk an element lies in is the tile's layout; which chunks a lane names is the operation's map. Their composition
is an exclusive-or of what the thread knows once and for all, its lane, and of where the fragment lies in the tile:

    chunk = rest + (own ^ crossed)          own of the lane alone, crossed and rest without it

An exclusive-or and a sum of numbers that have no bit in common are one thing, so k / 8 + lane / 16 is taken apart where
k is a multiple of 16, and 8 * (lane % 16) + (x ^ k / 8 % 8) put together. In unrolled loops `crossed` and the part of
`rest` that depends on them are constants: a register for each value of the former, an offset in the instruction for the
latter. The instruction has addresses in bytes, in 32 bits, and so are these sums: of indices of chunks, compilers fold
constants into the index and not into the address.

What differs between warps is a part of `rest`, too. It comes before the exclusive-or, which it has no bit in common
with, and the tile after it: then all that differs between threads is one sum, computed before the loop over k tiles
for each value of `crossed`, and a load adds the tile, which is the same for all threads, and a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import gcd

from polyvolta.cuda.ir.kernel_ir import CHUNK, CHUNK_BYTES, LANES, LoadMatrix, SharedTile
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import MatrixLoad
from polyvolta.cuda.text.c_expr import c_expr, in_steps, is_sum, narrowed
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.shared import LANE, extents, layout_name, shown
from polyvolta.cuda.text.helpers.values import declared, word
from polyvolta.sets import Aff, aff, var, xor
from polyvolta.sets.values.aff import Xor
from polyvolta.sets.values.simplify import Range, interval, simplify

SHARED_ADDRESS = DeviceFunction(
    "shared_address",
    "unsigned",
    ("const void *p",),
    ("return __cvta_generic_to_shared(p);",),
    "a place in shared memory as instructions name it, in 32 bits",
)
MATRICES = {1: "an 8x8 matrix", 2: "two 8x8 matrices", 4: "four 8x8 matrices"}


@lru_cache(maxsize=16)
def instruction(load: MatrixLoad, count: int, transposed: bool) -> DeviceFunction:
    """The instruction: a register for each matrix from the lines that the warp's lanes name."""
    names = [f"r{n}" for n in range(count)]
    outs = ", ".join(f'"=r"({name})' for name in names)
    braces = "{" + ", ".join(f"%{n}" for n in range(count)) + "}"
    turned = "" if not transposed else ", transposed" if count == 1 else ", each transposed"
    matrix = "it" if count == 1 else "matrix l / 8"
    naming = f"; lane l{f' < {count * CHUNK}' * (count * CHUNK < LANES)} names line l % 8 of {matrix}"
    return DeviceFunction(
        f"load_matrix_x{count}{'_transposed' if transposed else ''}",
        "void",
        (*(f"unsigned &{name}" for name in names), "unsigned line"),
        (
            f'asm volatile("{load.name(count, transposed)} {braces}, [%{count}];"',
            f'             : {outs} : "r"(line) : "memory");',
        ),
        f"{MATRICES[count]} of shared memory{turned}, a register of each{naming}",
    )


def load_matrix(tile: SharedTile, op: LoadMatrix, steps: tuple[int, ...]) -> DeviceFunction:
    """The load of one operand fragment: layout o (origin + lines), one instruction after the other.

    Parameters
    ----------
    steps : the origin's coordinates are multiples of these.
    """
    return _load_matrix(
        tile.layout, tile.order, op.operand, op.ownership, op.lines, op.load, op.count, op.transposed, steps
    )


@lru_cache(maxsize=256)
def _load_matrix(
    layout: IndexMap, order: tuple[int, ...], operand: str, ownership: IndexMap, lines: IndexMap,
    load: MatrixLoad, count: int, transposed: bool, steps: tuple[int, ...],
) -> DeviceFunction:  # fmt: skip
    names = tuple(n for n, _ in layout.inputs)
    line, run = (names[d] for d in order)
    ranges = {**LANE, line: (0, None), run: (0, None)}
    values = ownership.inputs[1][1]
    made, places = places_in_c([p.scaled(CHUNK_BYTES) for p in chunks_named(layout, lines, steps)], ranges)
    single = instruction(load, count, transposed)
    for n, place in enumerate(places):
        registers = (word("v", i, i + 1, values) for i in range(2 * count * n, 2 * count * (n + 1), 2))
        made.append(f"{single.name}({', '.join(registers)}, {place});")
    target = declared("&v", values)
    size = "x".join(map(str, extents(ownership)))
    return DeviceFunction(
        f"hmma_load_{operand}_{layout_name(order)}_swizzled",
        "void",
        (target if "[" not in target else declared("(&v)", values), "const half8 *tile", f"int {line}", f"int {run}",
         "int lane"),
        tuple(made),
        f"the lane's part of the {size} fragment at [{', '.join(names)}], value n of it at\n{shown(ownership, names)}\n"
        f"for it the lane names {'the line' if len(places) == 1 else 'in load n the line'} that starts at\n"
        f"{lines_named(lines, names)}",
        (SHARED_ADDRESS, single),
    )  # fmt: skip


def per_line(tile: SharedTile, op: LoadMatrix, steps: tuple[int, ...]) -> int:
    """How many chunks further the same load is a line further on, for all lanes and places; 0 if swizzles tell them.

    Parameters
    ----------
    steps : the origin's coordinates, and so many lines, are multiples of these.
    """
    assert tile.layout is not None
    line = tile.layout.inputs[tile.order[0]][0]
    each, *others = {p.per_line(line) for p in chunks_named(tile.layout, op.lines, steps)}
    return 0 if others else each


@lru_cache(maxsize=256)
def chunks_named(layout: IndexMap, lines: IndexMap, steps: tuple[int, ...]) -> tuple[LaneApart, ...]:
    """The chunks that a lane names for a fragment at an origin, one of each instruction."""
    names = tuple(n for n, _ in layout.inputs)
    ranges = {**LANE, **dict.fromkeys(names, (0, None))}
    apart = []
    for n in range(lines.inputs[1][1]):
        own = {name: simplify(e.subs({"n": n}), LANE) for name, e in zip(names, lines.exprs)}
        chunk = narrowed(in_steps(layout["chunk"], dict(zip(names, steps)), LANE, own), ranges)
        apart.append(lane_apart(chunk, ranges))
    return tuple(apart)


def lines_named(lines: IndexMap, names: Sequence[str]) -> IndexMap:
    """The map of lines in the names of the tile's dimensions; without the instruction's number if there is but one."""
    (lane, (_, count)) = lines.inputs
    exprs = [simplify(e.subs({"n": 0}), LANE) for e in lines.exprs] if count == 1 else lines.exprs
    outputs = tuple((f"+{name}", e) for name, e in zip(names, exprs, strict=True))
    return IndexMap((lane,) if count == 1 else (lane, ("n", count)), outputs)


@dataclass(frozen=True, slots=True)
class LaneApart:
    """A place, rest + (own ^ crossed): `own`, above + low, depends on the lane alone, the others not at all.

    Bits of `crossed` are bits of `low` alone, and none of `above` is one of these: both are less than `span`.
    """

    above: Aff
    low: Aff
    crossed: Aff
    rest: Aff
    span: int = 1

    def scaled(self, factor: int) -> LaneApart:
        """In units of which one is a power of 2 of such."""
        parts = (factor * e for e in (self.above, self.low, self.crossed, self.rest))
        return LaneApart(*parts, span=factor * self.span)

    def beside(self) -> tuple[Aff, Aff]:
        """What of the rest may come before the exclusive-or, as no bit of it is one of `crossed`, and what is left."""
        first = Aff(tuple((a, c) for a, c in self.rest.terms if c % self.span == 0))
        return first, self.rest - first

    def per_line(self, line: str) -> int:
        """What a step of a coordinate adds, whatever the others are; 0 if that depends on more."""
        each = dict(self.rest.terms).get(line, 0)
        elsewhere = (self.above, self.low, self.crossed, self.rest - each * var(line))
        return 0 if any(line in e.names() for e in elsewhere) else each

    def own(self, ranges: Mapping[str, Range]) -> str:
        """What depends on the lane, as C."""
        return " + ".join(c_expr(e, ranges) for e in (self.above, self.low) if e != aff(0))


def lane_apart(e: Aff, ranges: Mapping[str, Range]) -> LaneApart:
    """A place taken apart into what depends on the lane and what doesn't; all of it is `above` if that can't be done.

    >>> from polyvolta.sets import var
    >>> l, k = var("lane"), var("k")
    >>> place = 8 * var("i") + 8 * (l % 16) + xor(2 * (k // 16) + l // 16, l % 8, 3)
    >>> parts = lane_apart(place, {"lane": (0, 31), "k": (0, 63), "i": (0, None)})
    >>> print(parts.above, parts.low, parts.crossed, parts.rest, sep=" / ")
    8*(lane mod 16) / (lane mod 8 ^ floor(lane/16)) / 2*floor(k/16) / 8*i
    """
    lane, others = _by_lane(e)
    mixed = [(atom, c) for atom, c in lane.terms if isinstance(atom, Xor) and lane_free(atom)]
    if not mixed:
        return LaneApart(lane, aff(0), aff(0), others)
    if len(mixed) > 1 or mixed[0][1] != 1:
        return LaneApart(e, aff(0), aff(0), aff(0))
    atom = mixed[0][0]
    lane = lane - Aff((mixed[0],))
    bits = atom.bits
    parts = [part for side in (atom.left, atom.right) for part in _disjoint(side, ranges)]
    if not parts or _step(lane) % 2**bits or any(_by_lane(p)[0].terms and _by_lane(p)[1] != aff(0) for p in parts):
        return LaneApart(e, aff(0), aff(0), aff(0))
    own = [p for p in parts if "lane" in p.names()]
    crossed = [p for p in parts if "lane" not in p.names()]
    together = lambda xs: reduce(lambda x, y: xor(x, y, bits), xs)  # noqa: E731
    return LaneApart(lane, together(own), together(crossed) if crossed else aff(0), others, 2**bits)


def lane_free(atom: Xor) -> bool:
    """Whether something in an exclusive-or doesn't depend on the lane."""
    return any(_by_lane(side)[1] != aff(0) for side in (atom.left, atom.right))


def _by_lane(e: Aff) -> tuple[Aff, Aff]:
    """The terms that depend on the lane, and the others."""
    lane = Aff(tuple((a, c) for a, c in e.terms if "lane" in Aff(((a, c),)).names()))
    return lane, e - lane


def _disjoint(e: Aff, ranges: Mapping[str, Range]) -> list[Aff]:
    """What depends on the lane in a sum and what doesn't, if the two have no bit in common; else the sum."""
    lane, others = _by_lane(e)
    if not lane.terms or others == aff(0):
        return [e]
    for low, high in ((lane, others), (others, lane)):
        least, most = interval(low, ranges)
        if least is not None and most is not None and 0 <= least and not _step(high) % 2 ** most.bit_length():
            return [lane, others]
    return [e]


def _step(e: Aff) -> int:
    """What all values of an expression are multiples of; 0 of the number 0."""
    return gcd(e.const, *(c for _, c in e.terms))


def places_in_c(apart: Sequence[LaneApart], ranges: Mapping[str, Range]) -> tuple[list[str], list[str]]:
    """The lines before and the addresses as C: what the lane says has a name, and so has a place near others."""
    first = apart[0]
    if any((p.above, p.low) != (first.above, first.low) for p in apart):
        return [], [_place(p.own(ranges), p, ranges) for p in apart]
    lines, whole = [f"const int own = {first.own(ranges)};"], _place("own", first, ranges)
    near = [p.rest - first.rest for p in apart if p.crossed == first.crossed]
    if len(apart) == 1 or len(near) < len(apart) or not all(e.is_constant for e in near):
        return lines, [_place("own", p, ranges) for p in apart]
    lines.append(f"const unsigned line = {whole};")
    return lines, ["line" if e == aff(0) else f"line + {e}" for e in near]


def _place(own: str, p: LaneApart, ranges: Mapping[str, Range]) -> str:
    first, rest = p.beside()
    if first != aff(0):
        own = f"{own} + {c_expr(first, ranges)}"
    if p.crossed != aff(0):
        left, right = (f"({x})" if is_sum(x) else x for x in (own, c_expr(p.crossed, ranges)))
        own = f"({left} ^ {right})"
    elif "^" in own:
        own = f"({own})"
    return " + ".join([own, "shared_address(tile)", *([c_expr(rest, ranges)] if rest != aff(0) else [])])
