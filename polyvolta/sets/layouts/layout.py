"""Layouts: functions of a box that are sums of digits, and bits under exclusive-or.

Which lane and register of a warp holds which element of a matrix, where a swizzle puts a chunk, how a tile lies in
memory: each is a function of a few bounded indices whose digits are moved about, or exclusive-ored where they are
bits. As a `Map` such a function is a relation like any other; read as a `Layout` it is a small matrix, and questions
that are searches over the integers become inspection and Gaussian elimination:

- it is *injective* when its digits are found again in its outputs: the strides of each output grow fast enough that
  no digit reaches into the next (1, 2, 16 for digits below 2, 8, 2), and the units, the digits and exclusive-ors
  that the strides multiply, determine the digits: a matrix over F2 (`bits`) of full column rank;
- it is *surjective* onto the box of its outputs when, moreover, the strides leave no gap and the units are independent;
- its *inverse* takes the output's digits back to where they came from, the matrix inverted: one piece, always.

    >>> C = Layout("{ T[t, r] -> C[floor(t/4) + 8*floor(r/2), 2*(t mod 4) + (r mod 2)] : 0 <= t < 32 and 0 <= r < 4 }")
    >>> C.is_bijective()
    True
    >>> print(C.inverse())
    { C[i0, i1] -> T[t = floor(i1/2) + 4*(i0 mod 8), r = 2*floor(i0/8) + (i1 mod 2)] : 0 <= i0 < 16 and 0 <= i1 < 8 }
    >>> print(Layout.swizzle(32, 8).inverse())
    { [row, chunk] -> [row, (chunk ^ row mod 8)] : 0 <= row < 32 and 0 <= chunk < 8 }

How expressions become digits is told in `digitsum`. What has no such form, `floor((x + y)/4)` of two indices say, or
a stride that is a parameter, is refused with `NotSupported`; the general `Map` takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..budgets import metered_class
from ..errors import NotSupported, SpaceMismatch, kind_of
from ..values.aff import Aff, aff, var, xor
from ..values.space import Space, Tuple, distinct, whole
from . import bits
from .digitsum import Axis, Digit, DigitSum, Output, Reader, Term, Unit, output, with_cuts
from .layout_text import read_affs, unit_sum

if TYPE_CHECKING:
    from ..values.map import Map


@metered_class
@dataclass(frozen=True, eq=False)
class Layout:
    """A function from a box of integer coordinates to others by digits, strides and exclusive-or; immutable.

    Parameters
    ----------
    text : isl's notation of a map, in which `(a ^ b)` is the bitwise exclusive-or (never a power); or a `Map`.

    Cost of reading: a pass over the expressions for every divisor that they have.

    Raises
    ------
    NotSupported : the domain is no bounded box, or an output is no sum of digits; says which.
    SetSyntaxError : the text is not in isl's notation.

    Source: the algebra of linear layouts over F2 (Zhou et al., 2025) beside the mixed radix of CUTLASS' CuTe.

    >>> print(Layout("{ [row, col] -> [36*row + col] : 0 <= row < 8 and 0 <= col < 32 }").is_injective())
    True
    >>> Layout("{ [i, j] -> [floor((i + j)/4)] : 0 <= i < 8 and 0 <= j < 8 }")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NotSupported: [PV108] this is no sum of digits: a carry is left over
      { [i, j] -> [floor((i + j)/4)] : 0 <= i <= 7 and 0 <= j <= 7 }
    hint: a Map takes any quasi-affine function
    """

    axes: tuple[Axis, ...]
    outputs: tuple[Output, ...]
    names: tuple[str | None, str | None]

    def __init__(self, text: str | Map) -> None:
        from .recognise_layout import layout_of, layout_of_text

        made = layout_of_text(text) if isinstance(text, str) else layout_of(text)
        self._fill(made.axes, made.outputs, made.names)

    def _fill(self, axes: Sequence[Axis], outputs: Sequence[Output], names: tuple[str | None, str | None]) -> None:
        for field, value in (("axes", tuple(axes)), ("outputs", tuple(outputs)), ("names", names)):
            object.__setattr__(self, field, value)

    @classmethod
    def _of(cls, axes: Sequence[Axis], outputs: Sequence[Output], names: tuple[str | None, str | None]) -> Layout:
        self = object.__new__(cls)
        self._fill(axes, outputs, names)
        if any(a.extent & (a.extent - 1) for a in axes):  # digits may be cut finer than the function needs
            self._fill(axes, outputs_of(self.axes, [out.name for out in self.outputs], self._affs), names)
        return self

    @cached_property
    def _key(self) -> tuple:
        axes = tuple((a.low, a.extent) for a in self.axes)
        return axes, tuple((out.low, out.terms) for out in self.outputs), self.names

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        """The same digits, strides and tuple names; names of dimensions don't matter. Cheap."""
        return isinstance(other, Layout) and self._key == other._key

    # ---- making one

    @staticmethod
    def from_map(m: Map) -> Layout:
        """The layout that a map is; see the class for cost and errors.

        `m` is a map, or its text.

        >>> from polyvolta.sets import Map
        >>> print(Layout.from_map(Map("{ [t] -> [r, c] : 0 <= t < 32 and t = 4r + c and 0 <= c < 4 }")))
        { [t] -> [r = floor(t/4), c = t mod 4] : 0 <= t < 32 }
        """
        from .recognise_layout import layout_of

        return layout_of(m)

    @staticmethod
    def of(
        inputs: Mapping[str, int | tuple[int, int]],
        outputs: Mapping[str, Aff | int | str] | Sequence[Aff | int | str],
        names: tuple[str | None, str | None] = (None, None),
    ) -> Layout:
        """A layout from extents and expressions.

        Each input is independent of the others.

        Parameters
        ----------
        inputs : for each name an extent, or the least and the greatest value.
        outputs : expressions in the inputs (`Aff`, text or number), with names or without.
        names : of the input tuple and the output tuple.

        >>> lane = var("lane")
        >>> print(Layout.of({"lane": 32}, {"row": lane // 4, "col": "2*(lane mod 4)"}))
        { [lane] -> [row = floor(lane/4), col = 2*(lane mod 4)] : 0 <= lane < 32 }

        Raises
        ------
        NotSupported, SpaceMismatch, NotAffine : no box of integers, or outputs that are no expressions of its inputs.
        """
        axes = []
        for name, size in _extents(inputs).items():
            pair = (0, size - 1) if isinstance(size, int) else size
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(v, int) for v in pair)):
                raise NotSupported("an input needs an extent or a pair of numbers", where=f"{name}: {size!r}")
            low, high = pair
            if high < low:
                raise NotSupported("a layout needs a box with points", where=f"{low} <= {name} <= {high}")
            axes.append(Axis(name, low, high - low + 1))
        if isinstance(outputs, str) or not isinstance(outputs, (Mapping, Sequence)):
            raise SpaceMismatch(
                f"outputs are a list of expressions, or expressions by names, not {kind_of(outputs)}",
                where=str(outputs),
                hint='such as ["floor(i/4)", "i mod 4"]',
            )
        if not isinstance(outputs, Mapping):
            outputs = {f"i{k}": e for k, e in enumerate(outputs)}
        affs = read_affs(outputs.values(), [a.name for a in axes])
        return Layout._of(axes, outputs_of(axes, tuple(outputs), affs), names)

    @staticmethod
    def identity(inputs: Mapping[str, int | tuple[int, int]], name: str | None = None) -> Layout:
        """Every coordinate where it is.

        `inputs` are extents, or the least and the greatest value, by name; `name` is that of both tuples.

        >>> print(Layout.identity({"i": 4}))
        { [i] -> [i] : 0 <= i < 4 }
        """
        return Layout.of(inputs, {n: var(n) for n in _extents(inputs)}, (name, name))

    @staticmethod
    def swizzle(
        rows: int, width: int, shift: int = 0, bits: int | None = None, names: tuple[str, str] = ("row", "chunk")
    ) -> Layout:
        """`(row, chunk) -> (row, chunk ^ (floor(row / 2**shift) mod 2**bits))`; its own inverse.

        `names` are those of the coordinates.

        Parameters
        ----------
        rows, width : the extents of the two coordinates.
        bits : by default as many as the width has.

        >>> print(Layout.swizzle(64, 4, shift=1))
        { [row, chunk] -> [row, (chunk ^ floor(row/2) mod 4)] : 0 <= row < 64 and 0 <= chunk < 4 }

        Raises
        ------
        NotSupported : the width is no multiple of 2**bits, so that lines would not be permuted.
        SpaceMismatch : an extent, the shift or the number of bits is no integer.
        """
        for what, value in (("rows", rows), ("width", width), ("shift", shift), ("bits", 0 if bits is None else bits)):
            if whole(value) is None:
                raise SpaceMismatch(f"{what} is an integer here, not {kind_of(value)}", where=str(value))
        count = (width & -width).bit_length() - 1 if bits is None else bits
        if shift < 0 or count < 0:
            raise NotSupported("a swizzle needs a shift and bits of at least 0", where=f"{shift=}, {bits=}")
        row, chunk = var(names[0]), var(names[1])
        if width % 2**count:
            raise NotSupported(f"a swizzle of {count} bits needs a width that is a multiple of {2**count}, not {width}")
        moved = xor(chunk, row // 2**shift % 2**count, (width - 1).bit_length()) if count else chunk
        return Layout.of({names[0]: rows, names[1]: width}, {names[0]: row, names[1]: moved})

    # ---- what holds of it

    @cached_property
    def _independent(self) -> tuple[bool, bool]:
        """Whether the units determine the digits, and whether they take all combinations of values."""
        units = {t.unit for out in self.outputs for t in out.terms}
        count = sum(len(out.terms) for out in self.outputs)
        digits = [d for axis in self._digits for d in axis]
        place = {d: k for k, d in enumerate(d for d in digits if d.radix == 2)}
        rows = [sum(1 << place[d] for d in u) for u in units if u[0].radix == 2]
        rank = bits.rank(rows)
        whole = all((d,) in units for d in digits if d.radix != 2)
        return whole and rank == len(place), len(units) == count and rank == len(rows)

    @cached_property
    def _digits(self) -> tuple[tuple[Digit, ...], ...]:
        """The digits of each axis: those that occur, and what lies between."""
        found: list[set[int]] = [set() for _ in self.axes]
        for out in self.outputs:
            for t in out.terms:
                for d in t.unit:
                    found[d.axis] |= {d.stride, d.stride * d.radix}
        for k, axis in enumerate(self.axes):
            found[k] -= {1, axis.extent}
        return tuple(tuple(digits) for digits in Reader(self.axes, found).digits)

    def _injective(self) -> bool | None:
        """Whether it is injective; None where digits overlap in an output, so that they don't tell."""
        if not self._independent[0]:
            return False
        return True if all(out.apart for out in self.outputs) else None

    def is_injective(self) -> bool:
        """Whether no two points of the box have one image.

        Exact. O(n^2) for n digits; where strides overlap (`i + 3j`), what it costs a `Map`.

        >>> Layout("{ [i] -> [i mod 4] : 0 <= i < 8 }").is_injective()
        False
        """
        known = self._injective()
        return self.to_map().is_injective() if known is None else known

    def is_surjective(self) -> bool:
        """Whether the images are a whole box, every point between the least and the greatest of each output.

        Exact; cost as `is_injective`.

        >>> Layout("{ [i] -> [2i] : 0 <= i < 8 }").is_surjective()
        False
        """
        if all(out.apart for out in self.outputs):
            return self._independent[1] and all(out.dense for out in self.outputs)
        image = self.to_map().range()
        return image.bounding_box().is_subset(image)

    def _ends(self, k: int) -> tuple[int, int]:
        """The least and the greatest value of an output; exact, by the general engine."""
        image = self.to_map().range()
        value = var(image.space.dims[k])
        low, high = image.min(value), image.max(value)
        assert isinstance(low, int) and isinstance(high, int)  # there are no parameters
        return low, high

    def is_bijective(self) -> bool:
        """Whether every point of the outputs' box is the image of exactly one point; exact, see `is_injective`.

        >>> from polyvolta.sets import Layout
        >>> layout = Layout("{ [i] -> [i mod 4, floor(i/4)] : 0 <= i < 16 }")
        >>> layout.is_bijective()
        True
        """
        return self.is_injective() and self.is_surjective()

    # ---- new ones

    def inverse(self) -> Layout:
        """The layout that leads back, in one piece. Exact; Gaussian elimination on the bits, O(n^2).

        >>> print(Layout("{ [i] -> [floor(i/5), i mod 5] : 0 <= i < 15 }").inverse())
        { [i0, i1] -> [i = 5*i0 + i1] : 0 <= i0 < 3 and 0 <= i1 < 5 }

        Raises
        ------
        NotSupported : it is not bijective, or bijective by sums that carry.
        """
        if not (self._injective() and self._independent[1] and all(out.dense for out in self.outputs)):
            two = "two points have one image" if self._injective() is False else "its digits leave gaps or overlap"
            raise NotSupported(
                f"no layout is the inverse of this one: {two}",
                where=str(self),
                hint="reverse() of the Map has no limits",
            )
        names = distinct(out.name for out in self.outputs)
        axes = tuple(Axis(n, out.low, out.extent) for n, out in zip(names, self.outputs, strict=True))
        sources: dict[Digit, tuple[Unit, bool]] = {}  # digit of the input -> unit of the outputs' digits
        of_bits: list[tuple[Unit, Digit, bool]] = []
        for k, out in enumerate(self.outputs):
            for t in out.terms:
                place = Digit(k, t.stride, t.radix)
                if t.radix == 2:
                    of_bits.append((t.unit, place, t.flip))
                else:
                    sources[t.unit[0]] = ((place,), t.flip)
        columns = [d for axis in self._digits for d in axis if d.radix == 2]
        position = {d: k for k, d in enumerate(columns)}
        back = bits.inverse([sum(1 << position[d] for d in unit) for unit, _, _ in of_bits]) or []
        for digit, row in zip(columns, back, strict=True):
            used = [b for k, b in enumerate(of_bits) if row >> k & 1]
            flip = sum(f for _, _, f in used) % 2 == 1
            sources[digit] = (tuple(sorted(place for _, place, _ in used)), flip)
        outputs = [
            Output(axis.name, axis.low, tuple(Term(d.stride, *sources[d]) for d in digits))
            for axis, digits in zip(self.axes, self._digits, strict=True)
        ]
        return Layout._of(axes, outputs, (self.names[1], self.names[0]))

    def apply_range(self, other: Layout | Map | str) -> Layout:
        """First this, then the other, a layout or what `Layout` takes. Exact; cost as reading the other's expressions.

        >>> tile = Layout("{ [i] -> [floor(i/4), i mod 4] : 0 <= i < 12 }")
        >>> print(tile.apply_range(Layout("{ [a, b] -> [a + 3b] : 0 <= a < 3 and 0 <= b < 4 }")))
        { [i] -> [floor(i/4) + 3*(i mod 4)] : 0 <= i < 12 }

        Raises
        ------
        SpaceMismatch : this one's outputs are not the other's inputs, or leave its box.
        NotSupported : the composition is no sum of digits.
        """
        other = _layout(other)
        if (self.names[1], len(self.outputs)) != (other.names[0], len(other.axes)):
            raise SpaceMismatch("the outputs of the first are not the inputs of the second", where=f"{self}\n{other}")
        for k, (out, axis) in enumerate(zip(self.outputs, other.axes, strict=True)):
            low, high = self._ends(k) if out.beyond(axis) else (axis.low, axis.low)
            if low < axis.low or high >= axis.low + axis.extent:
                raise SpaceMismatch(
                    f"{low} <= {out.name} < {high + 1} is not within {axis.bounds}", where=f"{self}\n{other}"
                )
        affs = other.as_affs()

        def read(reader: Reader) -> list[DigitSum]:
            middle = [reader.expression(e, _inputs(reader)) for e in self.as_affs()]
            named = {axis.name: m for axis, m in zip(other.axes, middle, strict=True)}
            return [reader.expression(e, named) for e in affs]

        sums = with_cuts(self.axes, read)
        outputs = [output(out.name, s) for out, s in zip(other.outputs, sums, strict=True)]
        return Layout._of(self.axes, outputs, (self.names[0], other.names[1]))

    def compose(self, inner: Layout | Map | str) -> Layout:
        """First the inner one, then this; `inner.apply_range(self)`.

        `inner` is a layout, a map or a text; `SpaceMismatch` is raised where it leads elsewhere.

        >>> from polyvolta.sets import Layout
        >>> half = Layout("{ [i] -> [floor(i/2)] : 0 <= i < 8 }")
        >>> print(half.compose("{ [j] -> [j + 2] : 0 <= j < 4 }"))
        { [j] -> [floor(j/2) + 1] : 0 <= j < 4 }
        """
        return _layout(inner).apply_range(self)

    def product(self, other: Layout | Map | str) -> Layout:
        """Both side by side: `{ [x, y] -> [f(x), g(y)] }`, in flat tuples without names. Linear.

        `other` is a layout, a map or a text.

        >>> half = Layout("{ [i] -> [floor(i/2)] : 0 <= i < 4 }")
        >>> print(half.product(half))
        { [i, i'] -> [floor(i/2), floor(i'/2)] : 0 <= i < 4 and 0 <= i' < 4 }
        """
        other = _layout(other)
        names = distinct(a.name for a in (*self.axes, *other.axes))
        axes = [a._replace(name=n) for n, a in zip(names, (*self.axes, *other.axes), strict=True)]
        shift = len(self.axes)

        def moved(t: Term) -> Term:
            return t._replace(unit=tuple(d._replace(axis=d.axis + shift) for d in t.unit))

        theirs = [out._replace(terms=tuple(map(moved, out.terms))) for out in other.outputs]
        outs = (*self.outputs, *theirs)
        labels = distinct(f"i{k}" if out.name.startswith("i") else out.name for k, out in enumerate(outs))
        outputs = [out._replace(name=n) for n, out in zip(labels, outs, strict=True)]
        return Layout._of(axes, outputs, (None, None))

    # ---- reading it

    def as_affs(self) -> tuple[Aff, ...]:
        """The outputs as expressions of the inputs, one each, with `mod`, `floor` and `^`. Linear.

        >>> from polyvolta.sets import Layout
        >>> layout = Layout("{ [i] -> [i mod 4, floor(i/4)] : 0 <= i < 16 }")
        >>> print(*layout.as_affs(), sep=", ")
        i mod 4, floor(i/4)
        """
        return self._affs

    @cached_property
    def _affs(self) -> tuple[Aff, ...]:
        return tuple(aff(out.low) + unit_sum(self.axes, out.terms) for out in self.outputs)

    def __call__(self, *point: object) -> tuple:
        """The image of a point: numbers, or arrays of integers elementwise.

        >>> Layout.swizzle(32, 8)(3, 5)
        (3, 6)

        Raises
        ------
        SpaceMismatch : the point has not as many coordinates as the layout.
        """
        if len(point) != len(self.axes):
            raise SpaceMismatch(f"a point here has {len(self.axes)} coordinates, not {len(point)}", where=str(self))
        values = {axis.name: v for axis, v in zip(self.axes, point, strict=True)}
        return tuple(e.evaluate(values) for e in self._affs)

    def to_map(self) -> Map:
        """The same function as a map of one conjunct; exclusive-ors are written in floors. Linear.

        >>> Layout.swizzle(32, 8).to_map().is_equal(Layout.swizzle(32, 8).inverse().to_map())
        True
        """
        from ..values.build import RowBuilder
        from ..values.map import Map

        ins = tuple(a.name for a in self.axes)
        outs = distinct((out.name for out in self.outputs), ins)
        constraints = [("eq", e - var(o)) for o, e in zip(outs, self._affs, strict=True)]
        for axis in self.axes:
            x = var(axis.name)
            constraints += [("ge", x - axis.low), ("ge", axis.low + axis.extent - 1 - x)]
        c = RowBuilder((*ins, *outs)).conjunct(constraints)
        space = Space(Tuple(self.names[0], ins), Tuple(self.names[1], outs))
        return Map._of((), [(space, () if c is None else (c,))])

    def __str__(self) -> str:
        ins = [a.name for a in self.axes]
        outs = []
        for k, (out, e) in enumerate(zip(self.outputs, self._affs, strict=True)):
            plain = out.name in (f"i{k}", str(e)) or not out.name.isidentifier() or out.name in ins
            outs.append(str(e) if plain else f"{out.name} = {e}")
        tuples = [f"{n or ''}[{', '.join(x)}]" for n, x in zip(self.names, (ins, outs), strict=True)]
        bounds = " and ".join(a.bounds for a in self.axes)
        return f"{{ {' -> '.join(tuples)}{' : ' if bounds else ''}{bounds} }}"

    def __repr__(self) -> str:
        return f"Layout({str(self)!r})"

    def _repr_html_(self) -> str:
        from ..text.notebook import html

        return html(str(self))


def _layout(value: Layout | Map | str) -> Layout:
    return value if isinstance(value, Layout) else Layout(value)


def _extents(inputs: object) -> Mapping[str, int | tuple[int, int]]:
    """The extents that a caller gave."""
    if not isinstance(inputs, Mapping):
        raise SpaceMismatch(
            f"inputs are extents by names, not {kind_of(inputs)}", where=str(inputs), hint='such as {"i": 32}'
        )
    return inputs


def _inputs(reader: Reader) -> dict[str, DigitSum]:
    return {axis.name: s for axis, s in zip(reader.axes, reader.inputs, strict=True)}


def outputs_of(axes: Sequence[Axis], names: Sequence[str], affs: Sequence[Aff]) -> list[Output]:
    """Expressions in the axes as outputs."""
    sums = with_cuts(axes, lambda reader: [reader.expression(e, _inputs(reader)) for e in affs])
    return [output(n, s) for n, s in zip(names, sums, strict=True)]
