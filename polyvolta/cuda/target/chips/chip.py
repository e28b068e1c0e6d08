"""A GPU as data: how many multiprocessors it has, what they compute and move in a cycle, and what was fitted to it.

A target says which kernels can be made, a `Chip` how fast one of the GPUs is that run them. Rates are those of data
sheets and manuals. What no data sheet says, how long a block takes to start or what share of a rate a kernel reaches,
is `Fitted`: a dozen numbers for products of warps, and as many for those of warpgroups. `polyvolta calibrate` finds
them on the GPU at hand; `known` has those of the GPUs that were measured, and says of the others that they weren't.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.target.checks import COUNT, Rule, each, of, settle
from polyvolta.display.shown import Brief, Record

MEASURED, DATA_SHEET = "measured", "data sheet"


class BadChip(CudaError, ValueError):
    """A GPU's data of which some field makes no sense, or a file that has none."""

    id = "PV529"


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


POSITIVE = Rule("number above 0", "1.5e-6", _positive)


@dataclass(frozen=True, slots=True)
class Fitted(Record):
    """What is fitted: seconds, shares of a rate, and how sharply the slowest of several things decides.

    Parameters
    ----------
    launch : seconds of a launch that nothing else hides.
    block : seconds until a block has what it needs to begin: its barriers, its maps, room on a multiprocessor.
    latency : seconds until a tile of the operands that was asked for is there.
    trip : seconds that who multiplies loses at each k tile, when nobody else multiplies meanwhile.
    finish : seconds between a tile's last product and its first result on its way.
    piece : seconds that each piece of a warpgroup's result takes more: to wait for its place, and to have it stored.
    operand : seconds until a piece's values of a matrix that an epilogue reads are there.
    single : seconds of loading a thousand values of such a matrix one by one, as those that lie across a fragment.
    store : share of a multiprocessor's L2 bandwidth that results, and the epilogue's operands, get.
    function : seconds of one function of an epilogue's formula for a thousand values of a block.
    meet : seconds in which the blocks of a cluster wait for each other, once a tile.
    together : seconds that blocks of a cluster lose at each k tile, as a slot has to be free in all of them.
    exchange : share of the shared memory's bandwidth at which the blocks that split K add up.
    prologue : seconds of computing a thousand values of an operand on the way to registers.
    rewrite : likewise of one that is written back to shared memory.
    strip : seconds that who multiplies loses at each strip of such registers: a load's way, and the products' begin.
    back : seconds that who multiplies loses at each k tile that is written back: the way there and back, and a barrier.
    crowd : how much longer the main loop takes, as a share, for each other block on the same multiprocessor.
    outside : bytes a second, of all multiprocessors together, of boxes that lie outside of tensors and are zeros.
    far : how much more than others L2 delivers lines that blocks share whose numbers are a group apart.
    ragged : how much more L2 delivers for tensors whose lines don't start at multiples of 128 bytes.
    tensor, shared, l2, dram : shares of these rates.
    power : how much longer a launch takes that keeps all tensor cores busy, as a share: clocks fall at the power limit.
    sharp : exponent of the norm by which times that overlap add: the larger, the more the longest alone decides.
    """

    launch: float = 2.5e-6
    block: float = 0.8e-6
    latency: float = 0.8e-6
    trip: float = 40e-9
    finish: float = 0.5e-6
    piece: float = 50e-9
    operand: float = 50e-9
    single: float = 20e-9
    store: float = 0.5
    function: float = 2e-9
    meet: float = 1.0e-6
    together: float = 20e-9
    exchange: float = 0.3
    prologue: float = 20e-9
    rewrite: float = 25e-9
    strip: float = 40e-9
    back: float = 80e-9
    crowd: float = 0.03
    outside: float = 1.5e12
    far: float = 1.2
    ragged: float = 1.6
    tensor: float = 0.9
    shared: float = 0.9
    l2: float = 0.7
    dram: float = 0.85
    power: float = 0.1
    sharp: float = 6.0

    def __post_init__(self) -> None:
        settle(self, dict.fromkeys(self.__slots__, POSITIVE), BadChip)

    def _title(self) -> str:
        return ""


_TEXT = Rule("text", "'H200'", lambda v: isinstance(v, str) and bool(v))
_RULES = {
    "name": _TEXT,
    "architecture": _TEXT,
    "source": Rule("text that says where the figures are from", "'measured'", lambda v: isinstance(v, str) and bool(v)),
    "multiprocessors": COUNT,
    "shared_bytes": COUNT,
    "l2_bytes": COUNT,
    **dict.fromkeys(("clock", "l2_bandwidth", "dram_bandwidth", "shared_width", "l2_width"), POSITIVE),
    "neighbours": each("tuple of numbers of multiprocessors", "(16, 18)", COUNT.fits),
    "warps": of(Fitted, "Fitted", "Fitted()"),
    "warpgroups": of(Fitted, "Fitted", "Fitted()"),
}


@dataclass(frozen=True, slots=True, repr=False)
class Chip(Brief):
    """A GPU.

    Parameters
    ----------
    name : as a part of what its driver calls it, "H200".
    architecture : that it is, "sm_90".
    multiprocessors : how many.
    clock : of these while tensor cores work, in Hz.
    rates : multiply-adds of 16-bit values that a multiprocessor makes in a cycle, by the scope of the instruction that
        makes them: ("warp", 1024).
    shared_bytes : of shared memory that a block may have.
    l2_bytes : of the second-level cache.
    l2_bandwidth, dram_bandwidth : bytes a second, of all together.
    shared_width, l2_width : bytes that a multiprocessor reads in a cycle from its shared memory, and from L2.
    neighbours : multiprocessors of each of the groups in which a cluster lies; () where there are no clusters.
    warps, warpgroups : what was fitted to products of either.
    source : where the figures are from; "measured" says that the fitted ones are this chip's own.

    Raises
    ------
    BadChip : a field is something else.
    """

    name: str
    architecture: str
    multiprocessors: int
    clock: float
    rates: tuple[tuple[str, float], ...]
    shared_bytes: int
    l2_bytes: int
    l2_bandwidth: float
    dram_bandwidth: float
    shared_width: float = 128.0
    l2_width: float = 64.0
    neighbours: tuple[int, ...] = ()
    warps: Fitted = Fitted()
    warpgroups: Fitted = Fitted()
    source: str = DATA_SHEET

    def __post_init__(self) -> None:
        settle(self, _RULES, BadChip)
        for scope, rate in self.rates:
            if not isinstance(scope, str) or not _positive(rate):
                raise BadChip(f"rates has {scope!r}: {rate!r}", hint='rates=(("warp", 1024),)')
        if not self.rates:
            raise BadChip(f"{self.name} multiplies nothing: rates=()", hint='rates=(("warp", 1024),)')

    @property
    def measured(self) -> bool:
        """Whether the fitted figures are this chip's own."""
        return self.source.startswith(MEASURED)

    def rate(self, scope: str) -> float:
        """Multiply-adds a cycle of a multiprocessor; of an instruction that it doesn't know, those of its slowest."""
        return dict(self.rates).get(scope, min(rate for _, rate in self.rates))

    def fitted(self, scope: str) -> Fitted:
        """What was fitted to the products of a scope."""
        return self.warpgroups if scope == "warpgroup" else self.warps

    def reachable(self, blocks: int, persistent: bool = False) -> int:
        """Multiprocessors that clusters of so many blocks can be on at a time, a block on each.

        Parameters
        ----------
        persistent : whether a launch has no more clusters than the driver says there is room for. It counts as if each
            group had no more multiprocessors than the smallest one.

        >>> from polyvolta.cuda.target.chips.known import chips
        >>> [chips["H200"].reachable(n) for n in (1, 2, 4, 8)], chips["H200"].reachable(2, persistent=True)
        ([132, 132, 128, 128], 128)
        """
        if blocks == 1 or not self.neighbours:
            return self.multiprocessors
        least = min(self.neighbours)
        return max(blocks, sum((least if persistent else n) // blocks * blocks for n in self.neighbours))

    def with_fitted(self, scope: str, fitted: Fitted, source: str | None = None) -> Self:
        """The same with other fitted figures for the products of a scope."""
        name = "warpgroups" if scope == "warpgroup" else "warps"
        return replace(self, **{name: fitted, "source": source or self.source})

    def as_data(self) -> dict[str, Any]:
        """Numbers, texts, lists and dicts alone; `from_data` reads it."""
        return {f.name: _data(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """The chip of such data.

        Raises
        ------
        BadChip : it isn't one.

        >>> from polyvolta.cuda.target.chips.known import chips
        >>> Chip.from_data(chips["A100"].as_data()) == chips["A100"]
        True
        """
        if not isinstance(data, Mapping):
            raise BadChip(f"a chip's data is a table of its fields, not {type(data).__name__}")
        names = {f.name for f in fields(cls)}
        if odd := sorted(set(data) ^ names):
            raise BadChip(f"of a chip's fields these are missing, or too many: {', '.join(map(str, odd))}")
        try:
            fitted = {n: Fitted(**data[n]) for n in ("warps", "warpgroups")}
            made = {"rates": tuple((s, r) for s, r in data["rates"]), "neighbours": tuple(data["neighbours"])}
        except (TypeError, ValueError) as wrong:
            raise BadChip(f"no chip's data: {wrong}") from None
        return cls(**{**data, **fitted, **made})

    def _title(self) -> str:
        return self.name

    def _facts(self) -> list[tuple[str, object]]:
        rates = [f"{rate:g} multiply-adds a cycle, by products of a {scope}" for scope, rate in self.rates]
        return [
            ("architecture", self.architecture), ("multiprocessors", self.multiprocessors),
            ("clock", f"{1e-9 * self.clock:.2f} GHz"), ("tensor cores", "; ".join(rates)),
            ("shared memory", f"{self.shared_bytes:,} bytes a block, {self.shared_width:g} read a cycle"),
            ("L2", f"{self.l2_bytes:,} bytes, {1e-12 * self.l2_bandwidth:.2f} TB/s, {self.l2_width:g} bytes a cycle"),
            ("memory", f"{1e-12 * self.dram_bandwidth:.2f} TB/s"), ("clusters lie in groups of", self.neighbours),
            ("fitted to warps", self.warps), ("fitted to warpgroups", self.warpgroups), ("source", self.source),
        ]  # fmt: skip


def _data(value: object) -> object:
    if isinstance(value, Fitted):
        return {name: getattr(value, name) for name in value.__slots__}
    return [list(v) if isinstance(v, tuple) else v for v in value] if isinstance(value, tuple) else value
