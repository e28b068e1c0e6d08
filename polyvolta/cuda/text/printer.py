"""The kernel IR as CUDA C++: one self-contained text that compiles without a header.

The text is for people: loops and conditions say which statements of the tree they hold, every operation is one
call of a device function, and every index is printed from an expression of the IR. fp16 is a storage type here (fp16
is an unsigned short, half8 a 128-bit vector): values are moved, or converted by an instruction. So is bf16, in a kernel
of that kind: what is written here and in the device functions for fp16 is said in its words, see `helpers.kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

from polyvolta.cuda.ir.kernel_ir import (
    AsyncCopy,
    Barrier,
    CommitCopies,
    Element,
    ExchangeLoad,
    ExchangeStore,
    FragmentLoad,
    GlobalLoad,
    GlobalStore,
    GlobalTensor,
    Inside,
    KernelIR,
    LoadMatrix,
    Loop,
    Mma,
    Op,
    Pointwise,
    RegisterArray,
    Role,
    Roles,
    Scale,
    SharedStore,
    Stmt,
    StoreMatrix,
    TakeRun,
    WaitCopies,
    Wgmma,
    When,
    Zero,
)
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.ir.well_formed import check
from polyvolta.cuda.text import asynchronous, ranges, roles
from polyvolta.cuda.text.block_order import BLOCKS, place_of_block
from polyvolta.cuda.text.c_expr import KernelSpeller, NotPrintable
from polyvolta.cuda.text.expression import literal
from polyvolta.cuda.text.helpers import (
    async_copy,
    boxes,
    exchange,
    global_fragment,
    global_memory,
    matrix_load,
    matrix_store,
    mma,
    phases,
    pointwise,
    runs,
    shared,
    warpgroups,
)
from polyvolta.cuda.text.helpers.device_function import DeviceFunction, DeviceFunctions, comment, wrapped
from polyvolta.cuda.text.helpers.kinds import function_in, in_kind, written
from polyvolta.cuda.text.helpers.values import PACK_HALF8, declared
from polyvolta.cuda.text.kernel_head import arguments, banner, known, opening
from polyvolta.cuda.text.pointers import Place, Pointer, apart, ending, moving
from polyvolta.cuda.text.rings import Ring, turn, turning
from polyvolta.cuda.text.strips import Strip, strip_of
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.aff import Floor

PRELUDE = """\
typedef unsigned short fp16;  // a storage type: fp16 values are only moved here, or converted by an instruction
typedef uint2 half4;          // four fp16 values, one 64-bit access
typedef uint4 half8;          // eight fp16 values, one 128-bit access"""
PRELUDES = {
    "half": PRELUDE,
    "bfloat16": """\
typedef unsigned short bf16;  // a storage type: bf16 values are only moved here, or converted by an instruction
typedef uint2 bf16x4;         // four bf16 values, one 64-bit access
typedef uint4 bf16x8;         // eight bf16 values, one 128-bit access""",
}
"""By the kernel's kind."""

BOX_ALIGN = 1024  # bytes: a box with the widest swizzle starts at a multiple of its pattern
MARK = "\0"  # between a line's text and the path of the statement that starts there


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel's text.

    Parameters
    ----------
    text : CUDA C++.
    lines : for each statement of the body, by its path (see `ir_walk`), the number of its first line, counted from 1.
    """

    text: str
    lines: Mapping[IrPath, int]


def print_cuda(ir: KernelIR) -> str:
    """The kernel's text; see `printed`."""
    return printed(ir).text


def printed(ir: KernelIR) -> Printed:
    """The kernel's text, and where in it each statement is.

    Raises
    ------
    IllFormed : the IR means nothing.
    NotPrintable : an index whose floor is not C's division, or an operation between kinds that have no conversion.
    """
    check(ir)
    printer = Printer(ir)
    kernel = printer.kernel()
    four = in_kind("half4", ir.kind)
    prelude = [line for line in PRELUDES[ir.kind].splitlines() if four not in line or printer.uses(four)]
    prelude += [phases.TYPE] * bool(ir.barriers) + [boxes.TYPE] * bool(ir.maps)
    marked = "\n\n".join([banner(ir), "\n".join(prelude), *printer.functions.texts(), kernel]) + "\n"
    lines: dict[IrPath, int] = {}
    texts = []
    for number, line in enumerate(marked.split("\n"), 1):
        text, *paths = line.split(MARK)
        texts.append(text)
        lines.update({tuple(map(int, path.split("."))): number for path in paths})
    return Printed("\n".join(texts), lines)


class Printer:
    """Prints statements, and collects the device functions that they call."""

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        taken = {*ir.sizes, *ir.scalars, *(n for n, _ in ir.derived), ir.name}
        arrays = (*ir.tensors, *ir.tiles, *ir.registers, *ir.barriers, *ir.maps)
        taken |= {x.name for x in arrays} | {t.ld for t in ir.tensors if t.ld}
        taken |= {"shared_memory", "linearId", *BLOCKS.values(), *ir.ranges}
        self.functions = DeviceFunctions(taken)
        self.operands = {op.tile: op.operand for op in operations(ir.body) if isinstance(op, FragmentLoad | LoadMatrix)}
        self.sizes = dict(ir.context)
        self.speller = KernelSpeller(known(ir), BLOCKS)
        self.multiples: dict[str, int] = {}  # of loop variables, by the loops around
        products = [op for op in operations(ir.body) if isinstance(op, Wgmma)]
        self.held = {e.array for op in products for e in op.d}
        self.begun = {e.array for op in products for e in op.d if op.adds}
        self.kinds = {r.name: written(r.kind) for r in ir.registers}
        self.products = pointwise.products(ir)
        self.unrolled: frozenset[str] = frozenset()  # variables of the unrolled loops around
        self.moving: dict[Op, tuple[str, Place]] = {}  # in the loop around: pointer and place from there
        self.turning: dict[tuple[str, Aff], str] = {}  # in the loop around: tiles by their numbers in a ring
        self.whole = True  # whether all lanes of the warps that are here are
        self.role: tuple[Role, IrPath] | None = None  # around, and where it stands
        self.named_barriers = roles.NamedBarriers()
        self.warpgroups = any(op.together == "warpgroup" for op in operations(ir.body))

    def typed(self, text: str) -> str:
        """A piece of text in the words of the kernel's kind."""
        return in_kind(text, self.ir.kind)

    def uses(self, word: str) -> bool:
        """Whether a device function has a word in its text."""
        return any(word in line for f in self.functions.names for line in (*f.parameters, *f.body))

    # ---- the kernel

    def kernel(self) -> str:
        ir = self.ir
        *lines, head = opening(ir).splitlines()
        lines += wrapped(f"{head}{', '.join(map(self.typed, arguments(ir)))}) {{", "    ")
        align = f" __align__({BOX_ALIGN})" if ir.maps else ""
        lines.append(self.typed(f"  extern __shared__{align} half8 shared_memory[];"))
        for t in ir.tiles:
            start = f" + {t.start}" if t.start else ""
            copies = f"{t.buffers} buffers of " if t.buffers > 1 else ""
            pointer = self.typed("half8 *const")
            lines.append(f"  {pointer} {t.name} = shared_memory{start};  // {copies}{t.chunks} chunks of 8 values")
        lines += phases.declared(ir.barriers)
        lines += ["", "  const int linearId = threadIdx.x;"]
        lines += [f"  const int {name} = {self.derived(e)};" for name, e in ir.derived]
        body = [line for k, s in enumerate(ir.body) for line in ["", *self.stmt(s, 1, (k,))]]
        lines += place_of_block(ir.block_order, lambda name: any(name in x for x in body), self.free)
        lines.append("")
        for r in ir.registers:
            shape = "" if self.single(r) else "".join(f"[{n}]" for n in r.shape)
            if self.kinds[r.name] == "half":
                lines.append(f"  {self.typed(declared(f'{r.name}{shape}', r.width))};")
            else:
                lines.append(f"  float {r.name}{shape}[{r.width}];")
        return "\n".join([*lines, *self.prefetched(), *body, "}"])

    def derived(self, e: Aff) -> str:
        """The number of a thread's warp as what a lane of it says, which compilers take for the same in all of them."""
        text = self.c(e)
        return f"__shfl_sync(0xffffffffu, {text}, 0)" if self.warpgroups and e == roles.WARP else text

    def prefetched(self) -> list[str]:
        """The maps, asked for by one thread before the first box is."""
        if not self.ir.maps:
            return []
        calls = [f"    {self.call(boxes.PREFETCH, m.name)};" for m in self.ir.maps]
        return ["", "  if (linearId == 0) {", *calls, "  }"]

    # ---- expressions

    def c(self, e: Aff) -> str:
        return self.speller.text(e)

    def extreme(self, bounds: tuple[Aff, ...], fn: str) -> str:
        text = self.c(bounds[0])
        for b in bounds[1:]:
            text = f"{fn}({text}, {self.c(b)})"
        return text

    def upto(self, loop: Loop) -> str:
        (first, *more) = loop.upper
        if not more and not first.is_constant and first.const == -1:
            return f"{loop.var} < {self.c(first + 1)}"
        return f"{loop.var} <= {self.extreme(loop.upper, 'min')}"

    def condition(self, e: Aff) -> str:
        """`e >= 0` with positive terms on both sides; a size known to be a multiple stands undivided."""
        for atom, c in e.terms:
            if isinstance(atom, Floor) and len(atom.num.terms) == 1 and not atom.num.const:
                ((size, k),) = atom.num.terms
                if isinstance(size, str) and k == 1 and self.sizes.get(size, 1) % atom.den == 0:
                    e = (e - Aff(((atom, c),))) * atom.den + c * var(size)
                    break
        plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
        minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
        if not plus.terms and len(minus.terms) == 1 and minus.terms[0][1] == 1 and not minus.const:
            low = self.speller.ranges.get(minus.terms[0][0], (None, None))[0]  # type: ignore[call-overload]
            return f"{self.c(minus)} {'==' if low == plus.const else '<='} {plus.const}"
        if e.const == -1 and minus.terms:
            return f"{self.c(plus)} > {self.c(minus - 1)}"
        return f"{self.c(plus)} >= {self.c(minus)}"

    def element(self, e: Element) -> str:
        return e.array + ("" if self.single(self.ir.register(e.array)) else "".join(f"[{self.c(i)}]" for i in e.index))

    def place(self, index: tuple[Aff, ...], order: tuple[int, ...]) -> list[str]:
        """An index in memory order: line and run, or the one of a vector."""
        return [self.c(index[d]) for d in order]

    # ---- control

    @contextmanager
    def knowing(self, more: Mapping[str, tuple[int | None, int | None]]) -> Iterator[None]:
        outer = self.speller.ranges
        self.speller.ranges = {**outer, **more}
        yield
        self.speller.ranges = outer

    def stmt(self, s: Stmt, depth: int, at: IrPath) -> list[str]:
        """A statement's lines; the line on which the one at path `at` starts is marked with the path."""
        pad = "  " * depth
        match s:
            case Loop():
                strip = strip_of(s, self.ir)
                return self.strip(s, strip, pad, at) if strip else self.loop(s, depth, at)
            case When():
                test = " && ".join(self.condition(e) for e in s.conditions)
                if self.warpgroups and self.whole and roles.any_lane(self.ir, s):
                    test = self.call(boxes.ELECTED)
                above = comment(s.comment, pad)
                lines = [*above, *_marked(wrapped(f"{pad}if ({test}) {{", f"{pad}    "), at)]
                apart = any(e.names() & roles.own_names(self.ir) for e in s.conditions)
                outer, self.whole = self.whole, self.whole and not apart
                with self.knowing(ranges.of_conditions(s.conditions, self.speller.ranges)):
                    lines += self.body(s.body, depth, at)
                if s.orelse:
                    lines += [pad + "} else {", *self.body(s.orelse, depth, at, len(s.body))]
                self.whole = outer
                return [*lines, pad + "}"]
            case Roles():
                return self.roles(s, depth, at)
            case _:
                return _marked(wrapped(pad + self.typed(self.op(s)) + ";", pad + "    "), at)

    def roles(self, s: Roles, depth: int, at: IrPath) -> list[str]:
        """Roles one after the other, as branches; the first branch is where the statement starts."""
        pad, first, head = "  " * depth, 0, ""
        lines: list[str] = []
        for which, role in enumerate(s.roles):
            conditions = roles.test(self.ir, s, which)
            tests = " && ".join(self.condition(e) for e in conditions)
            head += f"if ({tests}) {{" if conditions or not which else "{"
            lines.append(f"{pad}{head}  // {role.name}")
            outer, self.role = self.role, (role, (*at, which))
            with self.knowing(roles.within(self.ir, role, self.speller.ranges)):
                lines += self.body(role.body, depth, at, first)
            self.role, first, head = outer, first + len(role.body), "} else "
        return [*comment(s.comment, pad), *_marked(lines, at), pad + "}"]

    def strip(self, s: Loop, strip: Strip, pad: str, at: IrPath) -> list[str]:
        """A strip's macro-MMAs in one call, which stands for all statements of the loops."""
        op = strip.op
        elements, outer = (op.a, op.b, op.d), (strip.a, strip.b, strip.d)
        single = tuple(self.single(self.ir.register(e.array)) for e in elements)
        a, b, d = (e.array + "".join(f"[{self.c(i)}]" for i in (() if alone else index))
                   for e, index, alone in zip(elements, outer, single))  # fmt: skip
        call = self.call(mma.products(op.macro, strip.rows, strip.cols, single), d, a, b)
        lines = wrapped(f"{pad}{call};", pad + "    ")
        for path in (at, *((*at, *below) for below in strip.paths)):
            lines = _marked(lines, path)
        return [*comment(s.comment, pad), *lines]

    def loop(self, s: Loop, depth: int, at: IrPath) -> list[str]:
        pad = "  " * depth
        self.multiples[s.var] = gcd(s.step, *(b.const for b in s.lower)) if _constant(s.lower) else 1
        loads = moving(s, self.ir)
        pointers = {p: self.free(f"from_{p.tensor}") for p in dict.fromkeys(p for p, _ in loads.values())}
        lines = []
        if pointers:
            lines.append(f"{pad}// where the thread's loads of a trip start; the pointers move on with the loop")
            lines += [x for p, name in pointers.items() for x in wrapped(pad + self.start(p, name), pad + "    ")]
            lines.append("")
        rings = {ring: self.free(ring.tile.replace("shared_", "ring_", 1)) for ring in turning(s, self.ir)}
        if rings:
            lines.append(f"{pad}// the tiles of a trip and of those to come; the rings turn with the loop")
            lines += [x for ring, name in rings.items() for x in wrapped(pad + self.ring(ring, name), pad + "    ")]
            lines.append("")
        lines += comment(s.comment, pad)
        once = self.warpgroups and not s.unroll  # compilers would repeat the body, and move accumulators between
        lines += [f"{pad}#pragma unroll"] if s.unroll else [f"{pad}#pragma unroll 1"] if once else []
        head = f"{pad}for (int {s.var} = {self.extreme(s.lower, 'max')}; {self.upto(s)}; {s.var} += {s.step}) {{"
        lines += _marked([head], at)
        outer, self.moving = self.moving, {**self.moving, **{op: (pointers[p], at) for op, (p, at) in loads.items()}}
        steps = [self.advance(p, name) for p, name in pointers.items()]
        last = ending(s, loads)
        still = self.turning
        self.turning = {**still, **{(r.tile, e): f"{name}[{d}]" for r, name in rings.items() for e, d in r.at}}
        unrolled, self.unrolled = self.unrolled, self.unrolled | {s.var} if s.unroll else self.unrolled
        with self.knowing(ranges.of_loop(s)):
            for k, inner in enumerate(s.body):
                lines += self.stmt(inner, depth + 1, (*at, k))
                if inner is last:
                    lines[-1:] = [*(f"{pad}    {step}" for step in steps), lines[-1]]
        self.moving, self.unrolled, self.turning = outer, unrolled, still
        steps = steps if last is None else []
        steps += [self.typed(self.call(turn(len(ring.first)), name)) + ";" for ring, name in rings.items()]
        return [*lines, *(f"{pad}  {step}" for step in steps), pad + "}"]

    def free(self, wish: str) -> str:
        """A name of the kernel's body that nothing else has."""
        name, number = wish, 2
        while name in self.functions.taken:
            name, number = f"{wish}_{number}", number + 1
        self.functions.taken.add(name)
        return name

    def start(self, p: Pointer, name: str) -> str:
        """A pointer's declaration; its offset is computed in 64 bits, as those of loads are."""
        line, run = p.start
        lines = self.c(line)
        lines = lines if lines.isidentifier() else f"({lines})"
        offsets = [f"(long long){lines} * {self.ir.tensor(p.tensor).ld}"] if line != aff(0) else []
        offsets += [self.c(run)] if run != aff(0) else []
        return f"{self.typed('const fp16')} *{name} = {' + '.join([p.tensor, *offsets]).replace('+ -', '- ')};"

    def advance(self, p: Pointer, name: str) -> str:
        """A pointer's step to the next trip."""
        line, run = p.step
        parts = [f"{line}LL * {self.ir.tensor(p.tensor).ld}"] if line else []
        parts += [str(run)] if run else []
        return f"{name} += {' + '.join(parts)};"

    def ring(self, ring: Ring, name: str) -> str:
        """A ring's declaration: where its tiles are in the loop's first trip."""
        tiles = ", ".join(_plus(ring.tile, str(self.ir.tile(ring.tile).chunks * k) if k else "0") for k in ring.first)
        return self.typed(f"half8 *{name}[{len(ring.first)}] = {{{tiles}}};")

    def body(self, stmts: tuple[Stmt, ...], depth: int, at: IrPath, first: int = 0) -> list[str]:
        return [line for k, s in enumerate(stmts, first) for line in self.stmt(s, depth + 1, (*at, k))]

    # ---- operations

    def single(self, register: RegisterArray) -> bool:
        """Whether an array has one element, and is printed as that."""
        return all(n == 1 for n in register.shape)

    def call(self, function: DeviceFunction, *arguments: str) -> str:
        return f"{self.functions.name(function_in(function, self.ir.kind))}({', '.join(arguments)})"

    def op(self, op: Op) -> str:
        match op:
            case Zero(target) if target.array in self.held - self.begun:
                return self.call(warpgroups.zero(self.width(target)), self.element(target))
            case Zero(target):
                return self.call(mma.zero(self.width(target)), self.element(target))
            case Scale(target, factor):
                return self.call(mma.scale(self.width(target)), self.element(target), literal(factor))
            case GlobalLoad():
                return self.global_load(op)
            case GlobalStore():
                return self.global_store(op)
            case Pointwise():
                return self.pointwise(op)
            case SharedStore(source, tile, index, buffer):
                t = self.ir.tile(tile)
                function = shared.store(t, self.operands.get(tile, "tile"))
                return self.call(function, self.buffer(tile, buffer), self.element(source), *self.place(index, t.order))
            case StoreMatrix():
                return self.matrix_store(op)
            case FragmentLoad() | LoadMatrix():
                return self.fragment_load(op)
            case Mma(d, a, b, macro):
                return self.call(mma.mma(macro), *(self.element(e) for e in (d, a, b)))
            case ExchangeStore(source, buffer, slot, plan):
                function = exchange.store(plan, self.width(source))
                return self.call(function, _plus(buffer, self.c(plan.chunks * slot)), self.element(source), "lane")
            case ExchangeLoad():
                return self.exchange_load(op)
            case AsyncCopy():
                return self.async_copy(op)
            case CommitCopies():
                return self.call(async_copy.COMMIT)
            case WaitCopies(pending):
                return self.call(async_copy.wait(pending))
            case TakeRun(target, source, plan, number):
                function = runs.take(plan, self.width(source))
                which = [self.c(number)] if plan.rounds > 1 else []
                return self.call(function, self.element(target), self.element(source), *which)
            case Barrier(scope):
                return self.barrier(scope)
        if type(op) in asynchronous.TEXTS:
            return asynchronous.TEXTS[type(op)](self, op)
        if type(op) not in TEXTS:
            raise NotPrintable(
                f"a {type(op).__name__} has no text",
                where=str(op),
                hint="enter what prints it in `polyvolta.cuda.text.printer.TEXTS`",
            )
        return TEXTS[type(op)](self, op)

    def barrier(self, scope: str) -> str:
        role, place = self.role or (Role("block", 0, self.ir.warps, ()), ())
        if scope == "block":
            return "__syncthreads()"
        if scope == "warp" or (scope == "role" and role.warps == 1):
            return "__syncwarp()"
        number, threads = self.named_barriers.of(scope, place, role, roles.warp_of(self.ir))
        return self.call(phases.sync(threads), self.c(number))

    def width(self, e: Element) -> int:
        return self.ir.register(e.array).width

    def buffer(self, tile: str, number: Aff) -> str:
        if (tile, number) in self.turning:
            return self.turning[tile, number]
        return _plus(tile, self.c(self.ir.tile(tile).chunks * number))

    def need_kind(self, e: Element, kind: str, what: str) -> None:
        if self.kinds[e.array] != kind:
            raise NotPrintable(f"{what} needs {kind} registers, {e.array} has {self.kinds[e.array]}")

    def global_load(self, op: GlobalLoad) -> str:
        self.need_kind(op.target, "half", f"a load of {op.tensor}")
        t = self.ir.tensor(op.tensor)
        rank = len(t.dims)
        if op.own is not None:
            function = global_fragment.load(op.own, t.order, op.width(self.ir), op.guarded)
            return f"{self.element(op.target)} = {self.call(function, *self.access(op, t), 'lane')}"
        along = "one" if op.along is None else "run" if op.along == t.order[-1] else "line"
        function = global_memory.load(rank, along, t.align if along == "run" else 1, op.guarded)
        return f"{self.element(op.target)} = {self.call(function, *self.access(op, t))}"

    def async_copy(self, op: AsyncCopy) -> str:
        tensor, tile = self.ir.tensor(op.tensor), self.ir.tile(op.tile)
        extent = tensor.dims[op.along]
        ends = tensor.whole and (not isinstance(extent, int) or extent % tensor.align == 0)
        if op.guarded and tensor.align > 1 and not ends:
            raise NotPrintable(
                f"a copy with guards brings all of {tensor.align} values or none, and {op.tensor} may end among them",
                where=str(op),
                hint=f"its extent {extent} is to be a multiple of {tensor.align} (whole), or its alignment less",
            )
        pieces = op.pieces(tensor.align)
        function = async_copy.copy(len(tensor.dims), tensor.align, op.guarded, pieces)
        chunk = async_copy.chunk(tile, self.operands.get(op.tile, "tile"))
        start, rest = zip(*(apart(e, self.unrolled) for e in op.place), strict=True)
        strides = {n: self.multiples[n] for e in rest for n in e.names() if self.multiples[n]}
        place, further = async_copy.behind(tile, start, rest, self.speller.ranges, strides)
        at = self.call(chunk, self.buffer(op.tile, op.buffer), *self.place(place, tile.order))
        at = _plus(at, self.c(further))
        return self.call(function, at, *self.access(op, tensor), *(["lane"] if pieces else []))

    def access(self, op: GlobalLoad | GlobalStore | AsyncCopy, t: GlobalTensor) -> list[str]:
        """The arguments that say where a tensor is accessed."""
        if op in self.moving:
            name, place = self.moving[op]
            left = [self.c(aff(str(t.dims[d])) - op.index[d] + e) for d, e in zip(t.order, place)] if op.guarded else []
            return [name, *map(self.c, place), str(t.ld), *left]
        extents = [str(t.dims[d]) for d in t.order] if op.guarded else []
        return [t.name, *self.place(op.index, t.order), *([t.ld] if t.ld else []), *extents]

    def global_store(self, op: GlobalStore) -> str:
        t = self.ir.tensor(op.tensor)
        along = "run" if op.along == t.order[-1] else "line"
        function = global_memory.store(len(t.dims), along, t.align if along == "run" else 1, op.guarded)
        value = self.element(op.source)
        if self.kinds[op.source.array] == "float":
            value = self.call(PACK_HALF8, value)
        return self.call(function, *self.access(op, t), value)

    def pointwise(self, op: Pointwise) -> str:
        half = self.kinds[op.target.array] == "half"
        kinds = pointwise.operand_kinds(op, self.kinds, self.products)
        function = pointwise.pointwise(op.name, op.formula, kinds, "half" if half else "float", op.inside is not None)
        arguments = [self.element(e) if isinstance(e, Element) else e for e in op.operands]
        target = self.element(op.target)
        if op.inside is not None:
            arguments.append(self.count(op.inside))
        return f"{target} = {self.call(function, *arguments)}" if half else self.call(function, target, *arguments)

    def count(self, inside: Inside) -> str:
        """How many of eight values are inside: the first ones."""
        tests = []
        for d, (at, extent) in enumerate(zip(inside.index, inside.extents, strict=True)):
            if d != inside.along:
                tests.append(self.condition(extent - at - 1))
        along = inside.along
        number = "8" if along is None else self.c(inside.extents[along] - inside.index[along])
        return f"{' && '.join(tests)} ? {number} : 0" if tests else number

    def fragment_load(self, op: FragmentLoad | LoadMatrix) -> str:
        tile = self.ir.tile(op.tile)
        steps = tuple(gcd(x, self.multiple(e)) for x, e in zip(shared.extents(op.ownership), op.origin))
        start, origin = self.buffer(op.tile, op.buffer), op.origin
        if isinstance(op, LoadMatrix):
            function = matrix_load.load_matrix(tile, op, steps)
            if each := matrix_load.per_line(tile, op, steps):  # what all threads have alike is the tile's
                at = tile.order[0]
                own, further = apart(origin[at] - origin[at].const, self.unrolled)
                start = _plus(start, self.c(each * (further + origin[at].const)))
                origin = (*origin[:at], own, *origin[at + 1 :])
        else:
            function = shared.fragment_load(tile, op.operand, op.ownership, op.access, steps)
        return self.call(function, self.element(op.target), start, *self.place(origin, tile.order), "lane")

    def matrix_store(self, op: StoreMatrix) -> str:
        tile, source = self.ir.tile(op.tile), self.ir.register(op.source.array)
        steps = tuple(gcd(x, self.multiple(e)) for x, e in zip(shared.extents(op.ownership), op.origin))
        function = matrix_store.store_matrix(tile, op, self.kinds[source.name], steps)
        start = self.buffer(op.tile, op.buffer)
        return self.call(function, start, *self.place(op.origin, tile.order), self.element(op.source), "lane")

    def multiple(self, e: Aff) -> int:
        """A number that an expression is known to be a multiple of; 0 for the number 0."""
        return gcd(e.const, *(c * self.multiples.get(a, 1) if isinstance(a, str) else c for a, c in e.terms))

    def exchange_load(self, op: ExchangeLoad) -> str:
        plan = op.exchange
        self.need_kind(op.target, written(plan.kind), "an exchange")
        function = exchange.load(plan, op.parts, op.stride)
        where = [_plus(op.buffer, self.c(plan.chunks * op.slot)), *([self.c(op.round)] if plan.rounds > 1 else [])]
        target = self.element(op.target)
        if written(plan.kind) == "half":
            return f"{target} = {self.call(function, *where, 'lane')}"
        return self.call(function, target, *where, "lane")


TEXTS: dict[type, Callable[[Printer, Any], str]] = {}
"""Of operations that are defined elsewhere: the statement, without its semicolon."""


def _marked(lines: list[str], at: IrPath) -> list[str]:
    """The lines, the first with a statement's path behind it."""
    return [lines[0] + MARK + ".".join(map(str, at)), *lines[1:]]


def _plus(start: str, offset: str) -> str:
    return start if offset == "0" else f"{start} + {offset}"


def _constant(bounds: tuple[Aff, ...]) -> bool:
    return len(bounds) == 1 and bounds[0].is_constant
