"""Arrays inside larger allocations, poisoned all around: what a kernel may not touch, it cannot touch unnoticed.

A `Guarded` array is a strided view into a flat buffer of 16-bit words: a guard band, lines with a leading dimension
larger than the line, another guard band. All words that are not the array's own hold a NaN of a pattern that no
computation makes, different for inputs and outputs, and an output's own words hold it, too. After a run

  * every word around an array, and every word of an input, is what it was, bit for bit;
  * no word of an output has the pattern: all were written;
  * a NaN in an output that the expected result does not have has leaked out of a padding.

Buffers are numpy's, or torch's on a GPU; `Library` says which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

GUARD = 128  # 16-bit words before and after; twice what a 128-bit access of a warp's lane could miss by


@dataclass(frozen=True)
class Precision:
    """What is different between 16-bit element types.

    Parameters
    ----------
    dtype : its name.
    input_poison, output_poison : a quiet and a signalling NaN.
    half_step : how far a rounded value is off at most, relative to it: 2^-11 with 11 significant bits.
    smallest, largest : normal number; what is rounded to infinity.
    """

    dtype: str
    input_poison: int
    output_poison: int
    half_step: float
    smallest: float
    largest: float

    @property
    def limit(self) -> float:
        """Largest relative L2 error of a result that was rounded once."""
        return 1.024 * self.half_step

    @property
    def numpy(self) -> np.dtype:
        """As numpy has it; bfloat16 is of the package ml_dtypes."""
        if self.dtype == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(self.dtype)


FP16 = Precision("float16", 0x7EA5, 0x7D5A, 2**-11, 2**-14, 65520.0)
BF16 = Precision("bfloat16", 0x7FE5, 0x7F9A, 2**-8, 2**-126, (2 - 2**-8) * 2.0**127)
PRECISIONS = {p.dtype: p for p in (FP16, BF16)}
INPUT_POISON, OUTPUT_POISON, LIMIT = FP16.input_poison, FP16.output_poison, FP16.limit


@dataclass(frozen=True)
class Library:
    """Where buffers lie, numpy's host memory or torch's memory on the GPU, and what their elements are."""

    gpu: bool = False
    precision: Precision = FP16

    @property
    def xp(self) -> Any:
        """numpy or torch."""
        if not self.gpu:
            return np
        import torch

        return torch

    def words(self, values: np.ndarray) -> Any:
        """A buffer with those 16-bit words, starting at a multiple of 16 bytes."""
        values = np.ascontiguousarray(values, np.int16)
        return self.xp.from_numpy(values).cuda() if self.gpu else values

    def view(self, buffer: Any, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """View into a buffer; strides and offset in values."""
        if self.gpu:
            kind = getattr(self.xp, self.precision.dtype)
            return buffer.view(kind).as_strided(tuple(shape), tuple(strides), offset)
        halves = buffer.view(self.precision.numpy)[offset:]
        return np.lib.stride_tricks.as_strided(halves, tuple(shape), tuple(2 * s for s in strides))

    def double(self, array: Any) -> Any:
        """The values in float64."""
        return array.double() if self.gpu else array.astype(np.float64)


@dataclass
class Guarded:
    """An array with everything around it.

    Parameters
    ----------
    buffer : int16, flat, all of it.
    array : the view that is passed to the kernel.
    mine : a view of the same shape and place, of int16.
    before : a copy of the buffer as it was.
    align : how many values the array's address and leading dimension are multiples of: 8, 4, 2 or 1, no more.
    output : whether the kernel writes it.
    """

    library: Library
    buffer: Any
    array: Any
    mine: Any
    before: Any
    align: int
    output: bool

    def touched(self) -> int:
        """How many words around the array, or of an input, are not what they were."""
        now = self.buffer
        if self.output:  # its own words may change
            mine = self.mine.clone() if self.library.gpu else self.mine.copy()
            self.mine[...] = _word(self.library.precision.output_poison)
            count = int((now != self.before).sum())
            self.mine[...] = mine
            return count
        return int((now != self.before).sum())

    def unwritten(self) -> int:
        """How many values of an output still hold the pattern."""
        return int((self.mine == _word(self.library.precision.output_poison)).sum())


def _word(pattern: int) -> int:
    return int(np.array(pattern, np.uint16).view(np.int16))


def guarded(
    library: Library, values: np.ndarray | Sequence[int], layout: str, align: int, rng: np.random.Generator
) -> Guarded:
    """An array at a random place in a poisoned buffer.

    Parameters
    ----------
    values : of the library's precision for an input, the shape for an output; an empty shape is as good as any.
    layout : "row" or "col".
    align : see `Guarded`; 0: contiguous, at the start of a 16-byte word, as a plain array lies.
    """
    output = not isinstance(values, np.ndarray)
    shape = tuple(values) if output else values.shape
    lines, run = (shape if layout == "row" else shape[::-1]) if len(shape) == 2 else (1, shape[0])
    unit = align or 8
    ld, offset = run, GUARD
    if align:
        ld = _odd_multiple(run + int(rng.integers(0, 24)), unit)
        offset = _odd_multiple(GUARD + int(rng.integers(0, 64)), unit)
    strides = (1,) if len(shape) == 1 else (ld, 1) if layout == "row" else (1, ld)
    poison = _word(library.precision.output_poison if output else library.precision.input_poison)
    words = np.full(offset + max(lines, 1) * max(ld, 1) + GUARD, poison, np.int16)
    if not output:
        place = Library(False, library.precision).view(words, shape, strides, offset)
        place.view(np.int16)[...] = values.view(np.int16) if values.size else 0
    buffer = library.words(words)
    array = library.view(buffer, shape, strides, offset)
    mine = array.view(library.xp.int16)
    before = buffer.clone() if library.gpu else buffer.copy()
    return Guarded(library, buffer, array, mine, before, unit, output)


def _odd_multiple(least: int, unit: int) -> int:
    """The smallest multiple of `unit` from `least` on that is one of nothing wider; of 8 any multiple will do."""
    n = -(-least // unit)
    return unit * (n + (n % 2 == 0 and unit < 8))


def random_values(
    shape: Sequence[int], kind: str, rng: np.random.Generator, precision: Precision = FP16
) -> np.ndarray:
    """16-bit values: "normal" ones, "coarse" ones, multiples of 1/8 up to 2 in size, or "special": a few not finite.

    Sums, products and maxima of a few coarse numbers are 16-bit numbers again. A result of few values, where one
    rounding more would show in the error, is computed from them.
    """
    if kind == "normal":
        return rng.standard_normal(tuple(shape), np.float32).astype(precision.numpy)
    values = (rng.integers(-16, 17, tuple(shape)) / 8).astype(precision.numpy)
    if kind == "special" and values.size > 3:
        values.reshape(-1)[rng.integers(0, values.size, 3)] = rng.choice((np.nan, np.inf, -np.inf), 3)
    return values


def relative_error(library: Library, got: Any, expected: Any) -> float:
    """Relative L2 error; values that are not finite count as right where both are the same, else as infinite.

    Values are taken for no smaller than the smallest normal number: below it digits are lost.
    """
    xp, got = library.xp, library.double(got)
    same = (got == expected) | (xp.isnan(got) & xp.isnan(expected))
    zeros = xp.zeros_like(got)
    difference = xp.where(same, zeros, got) - xp.where(same, zeros, expected)
    size = float(xp.linalg.norm(xp.where(xp.isfinite(expected), expected, zeros).reshape(-1)))
    error = float(xp.linalg.norm(difference.reshape(-1)))
    if error == 0:
        return 0.0
    size = max(size, library.precision.smallest * math.prod(got.shape) ** 0.5)
    return error / size if np.isfinite(error) else float("inf")


def outliers(library: Library, got: Any, expected: Any) -> int:
    """How many values are wrong by themselves: off by more than four roundings of the expected one and 1/64 of the
    usual one (of bfloat16 1/8).

    One wrong value of a large result hides in an L2 error.
    """
    xp = library.xp
    finite = xp.isfinite(expected)
    size = xp.abs(xp.where(finite, expected, xp.zeros_like(expected)))
    usual = float((size**2).mean()) ** 0.5 if math.prod(size.shape) else 0.0
    difference = xp.abs(xp.where(finite, library.double(got), size) - xp.where(finite, expected, size))
    step = library.precision.half_step
    return int((difference > 4 * step * size + 32 * step * usual + 1e-6).sum())


@dataclass(frozen=True)
class Verdict:
    """What a run did.

    Parameters
    ----------
    error : relative L2 error, the worst output's.
    limit : what it may be.
    outliers, unwritten, leaked : values of outputs that are far off, that were not written, that are NaN and should
        not be.
    touched : names of arrays with changes where nothing may change, with the number of words.
    """

    error: float
    limit: float
    outliers: int
    unwritten: int
    leaked: int
    touched: Mapping[str, int]

    @property
    def good(self) -> bool:
        return self.error <= self.limit and not (self.outliers or self.unwritten or self.leaked or self.touched)

    def __str__(self) -> str:
        parts = [f"error {self.error:.2e}"]
        parts += [f"{self.outliers} far off"] * bool(self.outliers)
        parts += [f"{self.unwritten} not written"] * bool(self.unwritten)
        parts += [f"{self.leaked} NaN"] * bool(self.leaked)
        parts += [f"{n} words of {name} changed" for name, n in self.touched.items()]
        return ", ".join(parts)


def judge(
    library: Library, inputs: Mapping[str, Guarded], outputs: Sequence[Guarded], expected: Sequence[Any], limit: float
) -> Verdict:
    """Look at all arrays after a run."""
    with np.errstate(all="ignore"):
        return _judge(library, inputs, outputs, expected, limit)


def _judge(
    library: Library, inputs: Mapping[str, Guarded], outputs: Sequence[Guarded], expected: Sequence[Any], limit: float
) -> Verdict:
    xp = library.xp
    largest = library.precision.largest
    expected = [xp.where(xp.abs(e) >= largest, e * float("inf"), e) for e in expected]  # no 16-bit numbers
    errors = [relative_error(library, o.array, e) for o, e in zip(outputs, expected, strict=True)]
    leaked = sum(int((xp.isnan(o.array) & ~xp.isnan(e)).sum()) for o, e in zip(outputs, expected, strict=True))
    unwritten = sum(o.unwritten() for o in outputs)
    named = {**inputs, **{f"output {n}": o for n, o in enumerate(outputs)}}
    touched = {name: count for name, g in named.items() if (count := g.touched())}
    far = sum(outliers(library, o.array, e) for o, e in zip(outputs, expected, strict=True))
    return Verdict(max(errors), limit, far, unwritten, leaked, touched)
