"""The statements of the kernel IR as lines of CUDA: loops, conditions, and one line for each operation.

A loop says in front of it what moves with it: pointers to where a trip's loads start (`pointers`), rings of tiles
(`rings`), or their slots (`slots`). The loops of a strip's products are one call (`strips`).
"""

from __future__ import annotations

import re
from math import gcd

from polyvolta.cuda.ir.kernel_ir import Loop, Roles, Stmt, Tiles, When
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.text import operations, ranges, roles
from polyvolta.cuda.text.engines import persistent, slots
from polyvolta.cuda.text.helpers import async_copy, mma
from polyvolta.cuda.text.helpers.device_function import comment, wrapped
from polyvolta.cuda.text.helpers.engines import boxes, warpgroups
from polyvolta.cuda.text.pointers import Pointer, ending, moving
from polyvolta.cuda.text.rings import Ring, turn, turning
from polyvolta.cuda.text.scope import Scope, plus, single
from polyvolta.cuda.text.strips import Strip, strip_of
from polyvolta.sets import Aff, aff

MARK = "\0"  # between a line's text and the path of the statement that starts there


def statement(scope: Scope, s: Stmt, depth: int, at: IrPath) -> list[str]:
    """A statement's lines; the line on which the one at path `at` starts is marked with the path."""
    pad = "  " * depth
    match s:
        case Loop():
            strip = strip_of(s, scope.ir)
            return _strip(scope, s, strip, pad, at) if strip else _loop(scope, s, depth, at)
        case When():
            return _when(scope, s, depth, at)
        case Roles():
            return _roles(scope, s, depth, at)
        case Tiles():
            return _tiles(scope, s, depth, at)
        case _:
            return _marked(wrapped(pad + scope.typed(operations.statement(scope, s)) + ";", pad + "    "), at)


def _body(scope: Scope, stmts: tuple[Stmt, ...], depth: int, at: IrPath, first: int = 0) -> list[str]:
    lines: list[str] = []
    for k, s in enumerate(stmts, first):
        with scope.followed_by(k < first + len(stmts) - 1):
            lines += statement(scope, s, depth + 1, (*at, k))
    return lines


def _when(scope: Scope, s: When, depth: int, at: IrPath) -> list[str]:
    pad = "  " * depth
    test = " && ".join(scope.condition(e) for e in s.conditions)
    if scope.warpgroups and scope.whole and roles.any_lane(scope.ir, s):
        test = scope.call(boxes.ELECTED)
    lines = [*comment(s.comment, pad), *_marked(wrapped(f"{pad}if ({test}) {{", f"{pad}    "), at)]
    with scope.where(s):
        with scope.knowing(ranges.of_conditions(s.conditions, scope.ranges)):
            lines += _body(scope, s.body, depth, at)
        if s.orelse:
            lines += [pad + "} else {", *_body(scope, s.orelse, depth, at, len(s.body))]
    lines.append(pad + "}")
    if scope.whole and scope.followed and roles.parts_a_warp(scope.ir, s):
        lines += _meeting(pad)
    return lines


def _roles(scope: Scope, s: Roles, depth: int, at: IrPath) -> list[str]:
    """Roles one after the other, as branches; the first branch is where the statement starts."""
    pad, first, head = "  " * depth, 0, ""
    lines: list[str] = []
    whole = roles.whole_warpgroups(s)
    for which, role in enumerate(s.roles):
        conditions = roles.test(scope.ir, whole, which)
        tests = " && ".join(scope.condition(e) for e in conditions)
        head += f"if ({tests}) {{" if conditions or not which else "{"
        lines.append(f"{pad}{head}  // {role.name}")
        if role.registers:
            lines.append(f"{pad}  {scope.call(warpgroups.registers(role.registers, roles.gets_more(s, role)))};")
        idle = role != whole.roles[which]
        tests = " && ".join(scope.condition(e) for e in roles.among(scope.ir, role, whole.roles[which]))
        lines += [f"{pad}  if ({tests}) {{"] if idle else []
        with scope.acting(s, which, at):
            lines += _body(scope, role.body, depth + idle, at, first)
        lines += [f"{pad}  }}"] if idle else []
        first, head = first + len(role.body), "} else "
    return [*comment(s.comment, pad), *_marked(lines, at), pad + "}"]


def _tiles(scope: Scope, s: Tiles, depth: int, at: IrPath) -> list[str]:
    """A loop over a block's tiles; its head is where the statement starts."""
    if scope.warpgroups and scope.whole and all(isinstance(x, When) and roles.any_lane(scope.ir, x) for x in s.body):
        return _tiles_of_one_lane(scope, s, depth, at)
    with scope.followed_by(True):
        return _over_tiles(scope, s, depth, at, _body(scope, s.body, depth, at))


def _tiles_of_one_lane(scope: Scope, s: Tiles, depth: int, at: IrPath) -> list[str]:
    """The loop where all that is done in it is one lane's: that one alone goes from tile to tile.

    So its warp has no lanes that are ahead; see `roles.parts_a_warp`.
    """
    pad = "  " * depth
    body: list[str] = []
    for k, one in enumerate(s.body):
        assert isinstance(one, When)
        with scope.where(one), scope.knowing(ranges.of_conditions(one.conditions, scope.ranges)):
            body += [*comment(one.comment, pad + "    "), *_body(scope, one.body, depth + 1, (*at, k))]
    lines = [f"{pad}if ({scope.call(boxes.ELECTED)}) {{"]
    for k in range(len(s.body)):
        lines = _marked(lines, (*at, k))
    lines += [*_over_tiles(scope, s, depth + 1, at, body), pad + "}"]
    return [*lines, *(_meeting(pad) if scope.followed else [])]


def _over_tiles(scope: Scope, s: Tiles, depth: int, at: IrPath, body: list[str]) -> list[str]:
    pad = "  " * depth
    used = {word for line in body for word in re.findall(r"\w+", line)}
    before, head, place, steps = persistent.of_tiles(scope, s, used.__contains__)
    lines = [*comment(s.comment, pad), *(pad + line for line in before), *_marked([pad + head], at)]
    return [*lines, *(f"{pad}  {line}" for line in place), *body, *(f"{pad}  {line}" for line in steps), pad + "}"]


def _meeting(pad: str) -> list[str]:
    """Where lanes of a warp that have parted to wait meet."""
    return [*comment("lanes that wait for no phase don't run ahead", pad), pad + "__syncwarp();"]


def _strip(scope: Scope, s: Loop, strip: Strip, pad: str, at: IrPath) -> list[str]:
    """A strip's macro-MMAs in one call, which stands for all statements of the loops."""
    op = strip.op
    elements, outer = (op.a, op.b, op.d), (strip.a, strip.b, strip.d)
    alone = tuple(single(scope.ir.register(e.array)) for e in elements)
    a, b, d = (e.array + "".join(f"[{scope.c(i)}]" for i in (() if one else index))
               for e, index, one in zip(elements, outer, alone))  # fmt: skip
    call = scope.call(mma.products(op.macro, strip.rows, strip.cols, alone), d, a, b)
    lines = wrapped(f"{pad}{call};", pad + "    ")
    for path in (at, *((*at, *below) for below in strip.paths)):
        lines = _marked(lines, path)
    return [*comment(s.comment, pad), *lines]


def _loop(scope: Scope, s: Loop, depth: int, at: IrPath) -> list[str]:
    pad = "  " * depth
    scope.multiples[s.var] = gcd(s.step, *(b.const for b in s.lower)) if _constant(s.lower) else 1
    loads = moving(s, scope.ir)
    pointers = {p: scope.free(f"from_{p.tensor}") for p in dict.fromkeys(p for p, _ in loads.values())}
    what = "where the thread's loads of a trip start; the pointers move on with the loop"
    lines = _declared(pad, what, [_start(scope, p, name) for p, name in pointers.items()])
    rings = {ring: scope.free(ring.tile.replace("shared_", "ring_", 1)) for ring in turning(s, scope.ir)}
    what = "the tiles of a trip and of those to come; the rings turn with the loop"
    lines += _declared(pad, what, [_ring(scope, ring, name) for ring, name in rings.items()])
    lines += comment(s.comment, pad)
    once = scope.warpgroups and not s.unroll  # compilers would repeat the body, and move accumulators between
    lines += [f"{pad}{async_copy.unrolling(s, scope.ir)}"] if s.unroll else [f"{pad}#pragma unroll 1"] if once else []
    turned_slots = slots.turning(s, scope.ir) if once else None
    own = [f"{s.var} = {scope.extreme(s.lower, 'max')}"]
    if turned_slots is not None:
        own += [f"{n} = {scope.c(e)}" for n, e in zip((slots.SLOT, slots.PARITY), turned_slots.first(s), strict=True)]
    head = f"{pad}for (int {', '.join(own)}; {scope.upto(s)}; {s.var} += {s.step}) {{"
    lines += _marked(wrapped(head, pad + "    "), at)
    steps = [_advance(scope, p, name) for p, name in pointers.items()]
    last = ending(s, loads)
    moved = {op: (pointers[p], place) for op, (p, place) in loads.items()}
    turned = {(r.tile, e): f"{name}[{d}]" for r, name in rings.items() for e, d in r.at}
    known = ranges.of_loop(s) | (turned_slots.ranges if turned_slots else {})
    with scope.within(s, moved, turned), scope.knowing(known), scope.followed_by(True):
        for k, inner in enumerate(s.body):
            lines += statement(scope, turned_slots.put(inner) if turned_slots else inner, depth + 1, (*at, k))
            if inner is last:
                lines[-1:] = [*(f"{pad}    {step}" for step in steps), lines[-1]]
    steps = steps if last is None else []
    steps += [scope.typed(scope.call(turn(len(ring.first)), name)) + ";" for ring, name in rings.items()]
    if turned_slots is not None:
        steps.append(scope.call(slots.turn(turned_slots.size), slots.SLOT, slots.PARITY) + ";")
    return [*lines, *(f"{pad}  {step}" for step in steps), pad + "}"]


def _declared(pad: str, what: str, declarations: list[str]) -> list[str]:
    """What stands in front of a loop, if there is any, below a comment that says what it is."""
    lines = [line for text in declarations for line in wrapped(pad + text, pad + "    ")]
    return [f"{pad}// {what}", *lines, ""] if lines else []


def _start(scope: Scope, p: Pointer, name: str) -> str:
    """A pointer's declaration; its offset is computed in 64 bits, as those of loads are."""
    line, run = p.start
    lines = scope.c(line)
    lines = lines if lines.isidentifier() else f"({lines})"
    offsets = [f"(long long){lines} * {scope.ir.tensor(p.tensor).ld}"] if line != aff(0) else []
    offsets += [scope.c(run)] if run != aff(0) else []
    return f"{scope.typed('const fp16')} *{name} = {' + '.join([p.tensor, *offsets]).replace('+ -', '- ')};"


def _advance(scope: Scope, p: Pointer, name: str) -> str:
    """A pointer's step to the next trip."""
    line, run = p.step
    parts = [f"{line}LL * {scope.ir.tensor(p.tensor).ld}"] if line else []
    parts += [str(run)] if run else []
    return f"{name} += {' + '.join(parts)};"


def _ring(scope: Scope, ring: Ring, name: str) -> str:
    """A ring's declaration: where its tiles are in the loop's first trip."""
    chunks = scope.ir.tile(ring.tile).chunks
    tiles = ", ".join(plus(ring.tile, str(chunks * k) if k else "0") for k in ring.first)
    return scope.typed(f"half8 *{name}[{len(ring.first)}] = {{{tiles}}};")


def _marked(lines: list[str], at: IrPath) -> list[str]:
    """The lines, the first with a statement's path behind it."""
    return [lines[0] + MARK + ".".join(map(str, at)), *lines[1:]]


def _constant(bounds: tuple[Aff, ...]) -> bool:
    return len(bounds) == 1 and bounds[0].is_constant
