"""When roles do what: one block is run, and a clock says how long each thing takes.

The machine runs the block on zeros, so that all is there that a run has: phases that must be complete, barriers where
others must come, groups that must be over. Whose turn it is the clock decides: the role whose time is the earliest. A
role's time goes on by what its operations take, and to the end of what it waits for. So no length but those of `Clock`
is put in: what overlaps, and who waits for whom how long, is what the kernel's phases and waits make of it.

The clock is simple, and says so. Boxes follow one another through the copy engine, and take some time more until they
are there; products follow one another through the tensor cores, whosever they are; stored boxes leave one after the
other. No caches, no other blocks but those of a cluster, each with its own copy engine and tensor cores; a box for
several of them is one that is there for all at the same time.

Which k tile a box brings is the order in which boxes came to its row of barriers; which one a product multiplies is
what the last box brought to the buffer that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polyvolta.cuda.ir.engines.unfolded import OF_BLOCK
from polyvolta.cuda.pictures.svg import Svg


@dataclass(frozen=True, slots=True)
class Clock:
    """How long things take, in ticks.

    Parameters
    ----------
    multiply_adds : of the tensor cores in a tick.
    bytes : that the copy engine moves in a tick, each way.
    way : ticks more until a box is there.
    operation : ticks of any operation of a role's threads.
    """

    multiply_adds: int = 2048
    bytes: int = 64
    way: int = 500
    operation: int = 8

    def __str__(self) -> str:
        return (
            f"Clock: {self.multiply_adds:,} multiply-adds a tick, {self.bytes} bytes of boxes a tick and {self.way} "
            f"ticks on the way, {self.operation} ticks an operation."
        )


WAIT, WORK, PRODUCT, FLIGHT, HELD, OUT = "wait", "work", "product", "flight", "held", "out"
"""What a span is: a role waits, works, has products in flight, boxes on their way; a slot is held; a box is stored."""


LETTERS = {WAIT: ".", WORK: "#", PRODUCT: "?", FLIGHT: "~", HELD: "=", OUT: ">"}
WIDTH = 84  # letters of a line


@dataclass(slots=True)
class Span:
    """Something that lasts.

    Parameters
    ----------
    kind : see above.
    start, end : ticks.
    tiles : the k tiles that it is of.
    statements : what they are called.
    what : of a wait, what it is for.
    number : of what boxes bring, which of all that come to their row it is.
    """

    kind: str
    start: float
    end: float
    tiles: frozenset[int] = frozenset()
    statements: dict[str, None] = field(default_factory=dict)
    what: str = ""
    number: int = -1

    def __str__(self) -> str:
        tiles = f" of k tile {' and '.join(map(str, sorted(self.tiles)))}" if self.tiles else ""
        what = f" for {self.what}" if self.what else ""
        return f"{', '.join(self.statements)}: {self.kind}{tiles}{what}, ticks {self.start:g} to {self.end:g}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """A block's roles over time.

    Parameters
    ----------
    kernel : its name.
    clock : how long things take.
    sizes : in words.
    lanes : name -> its spans: each role's, or warpgroup's, own time, "... products" and "... stores" of those that have
        some, and each slot that boxes come to. Products of a k tile are one span, whoever has the tensor cores between.
    roles : the names of those that are roles.
    blocks : lane -> blockIdx of its block, in a cluster, whose blocks' lanes stand together; {} of a block alone.
    """

    kernel: str
    clock: Clock
    sizes: str
    lanes: Mapping[str, Sequence[Span]]
    roles: tuple[str, ...]
    blocks: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """When all is over."""
        return max(s.end for spans in self.lanes.values() for s in spans)

    def total(self, lane: str, kind: str) -> float:
        """How long a lane has something of a kind."""
        return sum(s.end - s.start for s in self.lanes[lane] if s.kind == kind)

    @property
    def overlapped(self) -> tuple[float, float]:
        """How long products are in flight, and how long of that boxes are on their way, too."""
        products = [s for spans in self.lanes.values() for s in spans if s.kind == PRODUCT]
        boxes = [s for spans in self.lanes.values() for s in spans if s.kind == FLIGHT]
        return _covered(products), _covered(products) + _covered(boxes) - _covered([*products, *boxes])

    def part_of_role(self, lane: str) -> bool:
        """Whether it is one of a role's lanes beside its own time."""
        return lane not in self.roles and any(lane.startswith(f"{r} ") for r in self.roles)

    def label(self, lane: str) -> str:
        """A lane's name among those of its block: of a role's lanes what is behind the role's name."""
        role = next((r for r in self.roles if lane == r or lane.startswith(f"{r} ")), "")
        if role:
            return lane[len(role) + 1 :] or role.partition(OF_BLOCK)[0]
        return f"{lane.partition('.')[0]}{lane[lane.index('[') :]}" if lane in self.blocks else lane

    def heads(self) -> Mapping[str, str]:
        """The first lane of each block of a cluster, and its block in words."""
        first: dict[tuple[int, int, int], str] = {}
        for lane, block in self.blocks.items():
            first.setdefault(block, lane)
        return {lane: f"block {block}" for block, lane in first.items()}

    def svg(self) -> Svg:
        """The picture."""
        from polyvolta.cuda.pictures.roles.lanes import drawn

        return drawn(self)

    def __str__(self) -> str:
        """The lanes in letters, `WIDTH` of them for all the time."""
        per, heads = self.end / WIDTH, self.heads()
        names = {n: f"  {self.label(n)}" if self.part_of_role(n) else self.label(n) for n in self.lanes}
        room = max(map(len, names.values()))
        lines = []
        for n, spans in self.lanes.items():
            lines += [heads[n]] if n in heads else []
            lines.append(f"{names[n]:<{room}}  {_letters(spans, per)}".rstrip())
        of, during = self.overlapped
        scale = f"a letter is {per:.0f} ticks; ~ on its way, = there, a digit: of that k tile, . waits, # works, > goes"
        return "\n".join([f"{self.kernel}; {self.sizes}", str(self.clock), *lines, scale, overlap_text(of, during)])


def overlap_text(of: float, during: float) -> str:
    """What overlaps, in words."""
    return f"Products run for {of:,.0f} ticks; during {during:,.0f} of these boxes are on their way."


def _letters(spans: Sequence[Span], per: float) -> str:
    line = [" "] * WIDTH
    for s in sorted(spans, key=lambda s: s.kind == WORK):  # what is short is seen
        first, last = int(s.start / per), max(round(s.end / per), int(s.start / per) + 1)
        held = s.kind in (HELD, PRODUCT) and len(s.tiles) == 1
        letter = str(min(s.tiles) % 10) if held else LETTERS[s.kind]
        line[first:last] = letter * len(line[first:last])
    return "".join(line)


def _covered(spans: Sequence[Span]) -> float:
    """How long any of some spans lasts."""
    total, until = 0.0, 0.0
    for s in sorted(spans, key=lambda s: s.start):
        total += max(s.end, until) - max(s.start, until)
        until = max(s.end, until)
    return total
