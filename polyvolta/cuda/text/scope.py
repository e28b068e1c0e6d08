"""What is known and named where a piece of a kernel's text stands: expressions, conditions and elements in its words.

A `Scope` goes down the statements with whoever prints them. It spells indices by the ranges that names have there, and
tiles and tensors by the pointers that a loop around has moved to them; and it collects the device functions that
statements call, and the names that the text declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import gcd

from polyvolta.cuda.ir.ints import Ints
from polyvolta.cuda.ir.kernel_ir import (
    Element,
    FragmentLoad,
    KernelIR,
    LoadMatrix,
    Loop,
    Op,
    RegisterArray,
    Role,
    Roles,
    Wgmma,
    When,
)
from polyvolta.cuda.ir.walk import IrPath, operations
from polyvolta.cuda.text import roles
from polyvolta.cuda.text.c_expr import KernelSpeller
from polyvolta.cuda.text.head.block_order import BLOCKS
from polyvolta.cuda.text.head.kernel_head import known
from polyvolta.cuda.text.helpers import pointwise
from polyvolta.cuda.text.helpers.device_function import DeviceFunction, DeviceFunctions
from polyvolta.cuda.text.helpers.kinds import function_in, in_kind, written
from polyvolta.cuda.text.pointers import Place
from polyvolta.sets import Aff, var
from polyvolta.sets.values.aff import Floor
from polyvolta.sets.values.simplify import Range


class Scope:
    """A place in a kernel's text.

    Attributes
    ----------
    functions : the device functions that are called so far, and the names that are taken.
    operands : tile -> the operand whose fragments are loaded from it.
    kinds : register array -> "half" or "float", as its text is written.
    products : register arrays that hold products; see `pointwise.products`.
    multiples : variables of the loops around -> what they are multiples of.
    unrolled : those of the unrolled ones.
    moving : operation -> the pointer of the loop around that its address starts from, and its place from there.
    turning : (tile, buffer) -> what the ring of the loop around calls it.
    warpgroups : whether the kernel has products of warpgroups.
    held : register arrays that such products add to.
    begun : those of them that a first product may begin.
    whole : whether all lanes of the warps that are here are.
    role : the one around, and its place; none: () and all warps.
    """

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir
        taken = {*ir.sizes, *ir.scalars, *(n for n, _ in ir.derived), ir.name}
        arrays = (*ir.tensors, *ir.tiles, *ir.registers, *ir.barriers, *ir.maps)
        taken |= {x.name for x in arrays} | {t.ld for t in ir.tensors if t.ld}
        taken |= {"shared_memory", "linearId", *BLOCKS.values(), *ir.ranges}
        self.functions = DeviceFunctions(taken)
        self.operands = {op.tile: op.operand for op in operations(ir.body) if isinstance(op, FragmentLoad | LoadMatrix)}
        self.kinds = {r.name: written(r.kind) for r in ir.registers}
        self.products = pointwise.products(ir)
        self.multiples: dict[str, int] = {}
        self.unrolled: frozenset[str] = frozenset()
        self.moving: dict[Op, tuple[str, Place]] = {}
        self.turning: dict[tuple[str, Aff], str] = {}
        products = [op for op in operations(ir.body) if isinstance(op, Wgmma)]
        self.warpgroups = bool(products)
        self.held = frozenset(e.array for op in products for e in op.d)
        self.begun = frozenset(e.array for op in products for e in op.d if op.adds)
        self.whole = True
        self.followed = False
        self.role: tuple[Role, IrPath] = (Role("block", 0, ir.warps, ()), ())
        self._barriers = roles.NamedBarriers()
        self._own: dict[str, str] = {}
        self._sizes = dict(ir.context)
        self._ints = Ints.of(ir)
        self._speller = KernelSpeller(known(ir), BLOCKS, self._ints)

    # ---- names

    def typed(self, text: str) -> str:
        """A piece of text in the words of the kernel's kind."""
        return in_kind(text, self.ir.kind)

    def free(self, wish: str) -> str:
        """A name of the kernel's body that nothing else has."""
        name, number = wish, 2
        while name in self.functions.taken:
            name, number = f"{wish}_{number}", number + 1
        self.functions.taken.add(name)
        return name

    def own(self, wish: str) -> str:
        """A name for something that stands in several places of the body, none within another."""
        if wish not in self._own:
            self._own[wish] = self.free(wish)
        return self._own[wish]

    def call(self, function: DeviceFunction, *arguments: str) -> str:
        """A call, in the words of the kernel's kind."""
        return f"{self.functions.name(function_in(function, self.ir.kind))}({', '.join(arguments)})"

    # ---- what is known

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Of names: the least and the largest number that each may be."""
        return self._speller.ranges

    @contextmanager
    def knowing(self, more: Mapping[str, Range]) -> Iterator[None]:
        """Within: these ranges, too."""
        outer = self._speller.ranges
        self._speller.ranges = {**outer, **more}
        yield
        self._speller.ranges = outer

    @contextmanager
    def within(
        self, loop: Loop, moving: Mapping[Op, tuple[str, Place]], turning: Mapping[tuple[str, Aff], str]
    ) -> Iterator[None]:
        """Within: a loop's body, with the pointers and the rings that the loop moves."""
        outer = self.moving, self.turning, self.unrolled
        self.moving, self.turning = {**self.moving, **moving}, {**self.turning, **turning}
        self.unrolled = self.unrolled | {loop.var} if loop.unroll else self.unrolled
        yield
        self.moving, self.turning, self.unrolled = outer

    @contextmanager
    def where(self, s: When) -> Iterator[None]:
        """Within: the branches of a condition, which lanes of a warp may not take together."""
        outer = self.whole
        self.whole = outer and not any(e.names() & roles.own_names(self.ir) for e in s.conditions)
        yield
        self.whole = outer

    @contextmanager
    def followed_by(self, more: bool) -> Iterator[None]:
        """Within: a statement behind which the kernel does more, another statement or the same once again."""
        outer = self.followed
        self.followed = outer or more
        yield
        self.followed = outer

    @contextmanager
    def acting(self, s: Roles, which: int, at: IrPath) -> Iterator[None]:
        """Within: the body of a role of the statement at a path."""
        outer, self.role = self.role, (s.roles[which], (*at, which))
        with self.knowing(roles.within(self.ir, s.roles[which], self.ranges)):
            yield
        self.role = outer

    def named_barrier(self, scope: str) -> tuple[Aff, int]:
        """The number of the role's barrier of a scope, and the threads that wait there."""
        role, place = self.role
        return self._barriers.of(scope, place, role, roles.warp_of(self.ir))

    def multiple(self, e: Aff) -> int:
        """A number that an expression is known to be a multiple of; 0 for the number 0."""
        return gcd(e.const, *(c * self.multiples.get(a, 1) if isinstance(a, str) else c for a, c in e.terms))

    # ---- expressions

    def c(self, e: Aff) -> str:
        """An expression in C."""
        return self._speller.text(e)

    def extreme(self, bounds: tuple[Aff, ...], fn: str) -> str:
        """The least or the largest of several, by a function of two."""
        text = self.c(bounds[0])
        for b in bounds[1:]:
            text = f"{fn}({text}, {self.c(b)})"
        return text

    def upto(self, loop: Loop) -> str:
        """The condition with which a loop goes on."""
        (first, *more) = loop.upper
        if not more and not first.is_constant and first.const == -1:
            return f"{loop.var} < {self.c(first + 1)}"
        return f"{loop.var} <= {self.extreme(loop.upper, 'min')}"

    def condition(self, e: Aff) -> str:
        """`e >= 0` with positive terms on both sides; a size known to be a multiple stands undivided.

        Several conditions where their sums might not fit an int together.
        """
        word, several = self._ints.cases(e)
        if len(several) > 1:
            text = {"any": " || ", "all": " && "}[word].join(map(self.condition, several))
            return f"({text})" if word == "any" else text
        for atom, c in e.terms:
            if isinstance(atom, Floor) and len(atom.num.terms) == 1 and not atom.num.const:
                ((size, k),) = atom.num.terms
                if isinstance(size, str) and k == 1 and self._sizes.get(size, 1) % atom.den == 0:
                    e = (e - Aff(((atom, c),))) * atom.den + c * var(size)
                    break
        plus = Aff(tuple((a, c) for a, c in e.terms if c > 0), max(e.const, 0))
        minus = Aff(tuple((a, -c) for a, c in e.terms if c < 0), max(-e.const, 0))
        if not plus.terms and len(minus.terms) == 1 and minus.terms[0][1] == 1 and not minus.const:
            low = self.ranges.get(minus.terms[0][0], (None, None))[0]  # type: ignore[call-overload]
            return f"{self.c(minus)} {'==' if low == plus.const else '<='} {plus.const}"
        if e.const == -1 and minus.terms:
            return f"{self.c(plus)} > {self.c(minus - 1)}"
        return f"{self.c(plus)} >= {self.c(minus)}"

    def place(self, index: tuple[Aff, ...], order: tuple[int, ...]) -> list[str]:
        """An index in memory order: line and run, or the one of a vector."""
        return [self.c(index[d]) for d in order]

    # ---- what is in registers and in shared memory

    def element(self, e: Element) -> str:
        """An element of a register array."""
        return e.array + ("" if single(self.ir.register(e.array)) else "".join(f"[{self.c(i)}]" for i in e.index))

    def width(self, e: Element) -> int:
        """How many values an element has."""
        return self.ir.register(e.array).width

    def buffer(self, tile: str, number: Aff) -> str:
        """Where a tile's buffer of a number starts."""
        if (tile, number) in self.turning:
            return self.turning[tile, number]
        return plus(tile, self.c(self.ir.tile(tile).chunks * number))


def single(register: RegisterArray) -> bool:
    """Whether an array has one element, and is printed as that."""
    return all(n == 1 for n in register.shape)


def plus(start: str, offset: str) -> str:
    """An address, and one further on."""
    return start if offset == "0" else f"{start} + {offset}"
