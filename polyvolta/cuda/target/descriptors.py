"""Matrix descriptors: how `wgmma` finds an operand in shared memory.

A descriptor is a 64-bit number: where the operand starts, two distances, and a swizzle. The operand is mn x k values
(mn its rows for A, its columns for B), and its *major* dimension is the one that lies side by side in memory. It is cut
into atoms that are one span of the swizzle along the major dimension and 8 lines of the other one; in chunks of eight
values, relative to the start and before the swizzle is applied to the absolute chunk, with w chunks of a span,

    K-major    w (mn mod 8) + stride floor(mn/8) + floor(k/8)
    MN-major   w (k mod 8) + stride floor(k/8) + floor((mn mod 8w)/8) + leading floor(mn/(8w))

Without a swizzle an atom is 8 lines of one chunk. Then K-major has a second chunk of k `leading` further, and MN-major
changes the two distances' roles: `leading` is between eight k and the next, `stride` between eight mn and the next.

A descriptor for a start that is further by so many chunks is the same number plus that: addresses count in 16 bytes.
The base offset stays 0, as all patterns start where the address says: what starts at a multiple of the pattern, or
moves within a line of one that does.

Source: PTX ISA, "Matrix Descriptor Format" and "Strides" of wgmma's shared memory layouts.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.target.boxes import CHUNK, SWIZZLES, BadBox, Swizzle
from polyvolta.cuda.target.checks import Rule, each, of, settle, whole
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.display.shown import Record
from polyvolta.sets import var

MAJORS = ("k", "mn")
FIELD = 2**14  # chunks that an address or distance can say
_LEADING, _STRIDE, _MODE = 16, 32, 62  # first bits; a start is in bits 0 to 13


@dataclass(frozen=True, slots=True)
class Descriptor(Record):
    """A matrix descriptor but for the start.

    Parameters
    ----------
    major : "k" or "mn", what lies side by side.
    swizzle : of the operand's atoms.
    leading, stride : the two distances, in chunks; K-major swizzled has no leading one, and 1 stands for it.

    Raises
    ------
    BadBox : another kind of value, or a distance that no field holds.

    >>> d = Descriptor("k", Swizzle(128), 1, 64)
    >>> hex(d.constant), d.at(32) == d.constant + 32
    ('0x4000004000010000', True)
    >>> print(d.reads(64)["chunk"])
    8*r + floor(k/8)
    """

    major: str
    swizzle: Swizzle
    leading: int
    stride: int

    def __post_init__(self) -> None:
        settle(self, _RULES, BadBox)

    @property
    def constant(self) -> int:
        """The 64 bits with a start of 0."""
        return self.leading << _LEADING | self.stride << _STRIDE | self.swizzle.mode << _MODE

    def advance(self, chunks: int) -> int:
        """What is added to the descriptor, in its low 32 bits, for a start so many chunks further.

        Raises
        ------
        BadBox : no field holds it.
        """
        if not (whole(0)(chunks) and chunks < FIELD):
            raise BadBox(f"{chunks!r} is no chunk that a descriptor can start at", hint=f"0 <= chunks < {FIELD}")
        return chunks

    def at(self, start: int) -> int:
        """The 64 bits of an operand that starts at a chunk of shared memory."""
        return self.constant + self.advance(start)

    def reads(self, mn: int, k: int = 16) -> IndexMap:
        """{ [r, k] -> [chunk] }: the chunk of each value of an operand of mn x k, from the start, not yet swizzled."""
        r, depth, w = var("r"), var("k"), self.swizzle.width
        match self.major, bool(self.swizzle.bytes):
            case "k", True:
                chunk = r % 8 * w + r // 8 * self.stride + depth // CHUNK
            case "k", False:
                chunk = r % 8 + r // 8 * self.stride + depth // CHUNK * self.leading
            case "mn", True:
                across = r % (CHUNK * w) // CHUNK + r // (CHUNK * w) * self.leading
                chunk = depth % 8 * w + depth // 8 * self.stride + across
            case _:
                chunk = depth % 8 + depth // 8 * self.leading + r // CHUNK * self.stride
        return IndexMap((("r", mn), ("k", k)), (("chunk", chunk),)).simplified()

    def __str__(self) -> str:
        return f"{self.major}-major, {self.swizzle}, leading {self.leading}, stride {self.stride}"


_DISTANCE = Rule("distance in chunks that 14 bits hold", "64", lambda v: whole(0)(v) and v < FIELD)
_RULES = {
    "major": Rule("major dimension, k or mn", "'k'", lambda v: isinstance(v, str) and v in MAJORS),
    "swizzle": of(Swizzle, "swizzle", "Swizzle(128)"),
    "leading": _DISTANCE,
    "stride": _DISTANCE,
}


@dataclass(frozen=True, slots=True)
class InShared(Record):
    """Where an operand is that an instruction reads from shared memory itself: what its descriptor may say.

    Parameters
    ----------
    major : "k" or "mn".
    swizzles : that there are, the preferred first.

    >>> InShared("mn").transposed, InShared("k").transposed
    (1, 0)
    """

    major: str = "k"
    swizzles: tuple[Swizzle, ...] = SWIZZLES

    def __post_init__(self) -> None:
        settle(self, _PLACE_RULES, BadBox)

    @property
    def transposed(self) -> int:
        """The instruction's immediate for it, 1 for an operand that is not K-major."""
        return int(self.major != "k")


_PLACE_RULES = {
    "major": _RULES["major"],
    "swizzles": each("tuple of swizzles", "(Swizzle(128), Swizzle(64))", lambda v: isinstance(v, Swizzle)),
}


def in_registers(own: IndexMap | InShared) -> IndexMap:
    """Which lane owns which value, of an operand that is known not to be in shared memory."""
    assert isinstance(own, IndexMap)
    return own
