"""Sectors of global memory: how many of its 32-byte pieces a warp's request takes, and whether fewer would do.

Memory moves in sectors of 32 bytes, sixteen values of 16 bits. Which values a warp wants is given; how many sectors
they lie in depends on how they are gathered:

- Within a *line* of a tensor, which is contiguous, the warp's values should be next to each other: then a line takes as
  few sectors as its bytes fill, and one more where it starts inside of one. Lines lie a leading dimension apart, so
  values of different lines share no sector.
- Of a tile of whose lines a thread takes eight values each, every sector should belong to one request: the lanes of a
  warp take a line's chunks one after another. Where a request ends inside of a sector, the next one takes that sector
  again, so that each request may have one in common with another; more than that is waste, as when lanes walk down the
  rows and each takes half a sector of its own. (Of an array whose alignment allows narrow accesses only, the several
  accesses to a thread's values count as one here.)

Some accesses can't be like that. A tensor whose lines run across the eight values that a thread keeps is read value by
value: a request has few values of each of many lines, 8 bytes of a sector of 32, and the next requests take the same
sectors again. A column vector of a row-major tensor has a line for each value. There the first point is shown and not
the second, and the report says how many sectors a request takes and how many its bytes would fill.

A box takes lines of a tensor by itself, whole sectors of each: its lines are a whole number of sectors, and begin with
one.

Numbers are for a tensor whose address and leading dimension are multiples of a sector; of others each line may start
inside of one, and take one more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from polyvolta.cuda.ir.accesses import Access
from polyvolta.cuda.ir.kernel_ir import BoxCopy, BoxStore, GlobalTensor, KernelIR
from polyvolta.cuda.verify.accesses.requests import Case, Requests, placed, requests
from polyvolta.cuda.verify.engine.addresses import offsets
from polyvolta.cuda.verify.engine.symbols import known_multiple
from polyvolta.cuda.verify.report.records import Verdict

SECTOR = 16  # values
NONE = np.int64(-(2**62))  # the sector of a lane that takes no part
LINE = np.int64(2**40)  # more than any line is long


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """What the warps of one operation reach in a tensor, but for what is symbolic.

    Parameters
    ----------
    access : which of the operation's.
    line, run : [combination, warp, lane, value]: the line, and where in it.
    multiple : what is symbolic in `run` is a multiple of so many values, at most a sector.
    vector : whether a thread's values follow one another along a line.
    """

    requests: Requests
    access: Access
    tensor: GlobalTensor
    line: np.ndarray
    run: np.ndarray
    multiple: int
    vector: bool

    @property
    def groups(self) -> tuple[slice, ...]:
        """The values that belong together: all of them of vectors, else what one instruction moves."""
        count = self.run.shape[-1]
        step = count if self.vector else min(self.access.width, count)
        return tuple(slice(v, v + step) for v in range(0, count, step))

    def rows(self, x: np.ndarray, group: slice) -> np.ndarray:
        """[request, lane and value] of a group's values, those of lanes that take no part `NONE`."""
        active = self.requests.active
        part = x[..., group]
        if active is not None:
            part = np.where(active[..., None], part, NONE)
        return part.reshape(-1, part.shape[2] * part.shape[3])

    def places(self, group: slice) -> np.ndarray:
        """The values' places as numbers, those of one line next to each other: `rows`."""
        return self.rows(self.line * LINE + self.run, group)

    def sectors(self, group: slice, shift: int) -> np.ndarray:
        """The sectors, as numbers, where the lines' beginnings are `shift` values into one: `rows`."""
        return self.rows(self.line * LINE + (self.run + shift) // SECTOR, group)

    @property
    def shifts(self) -> range:
        return range(0, SECTOR, self.multiple)


def reached(r: Requests, access: Access) -> Reached:
    """What an access of an operation reaches in global memory."""
    tensor = r.ir.tensor(access.array)
    split = [r.split(e) for e in access.index]
    index = [x[..., None] + more for (_, x), more in zip(split, offsets(access), strict=True)]
    run = tensor.order[-1]
    line = index[tensor.order[0]] if len(index) > 1 else np.zeros_like(index[0])
    multiple = int(np.gcd(known_multiple(split[run][0], r.ir), SECTOR))
    vector = access.along == run
    return Reached(r, access, tensor, line, index[run], multiple, vector)


def counts(rows: np.ndarray) -> np.ndarray:
    """How many different numbers there are in each row, `NONE` left out."""
    ordered = np.sort(rows, axis=-1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (new & (ordered != NONE)).sum(-1)


def runs(rows: np.ndarray) -> np.ndarray:
    """How many runs of consecutive numbers there are in each row, `NONE` left out."""
    ordered = np.sort(rows, axis=-1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] - ordered[:, :-1] > 1
    return (new & (ordered != NONE)).sum(-1)


def astray(rows: np.ndarray, shifts: range) -> int:
    """The most sectors that a row's places take if each line begins at the worst of some shifts.

    >>> astray(np.arange(32)[None], range(0, 16, 8)), astray(np.arange(8)[None], range(0, 16, 8))
    (3, 1)
    """
    ordered = np.sort(rows, axis=-1)
    new = np.ones((len(ordered), ordered.shape[1] + 1), bool)  # before each place, and after the last one
    new[:, 1:-1] = ordered[:, 1:] - ordered[:, :-1] > 1
    row, first = np.nonzero(new[:, :-1] & (ordered != NONE))
    _, last = np.nonzero(new[:, 1:] & (ordered != NONE))
    start, end = ordered[row, first], ordered[row, last]
    most = np.max([(end + s) // SECTOR - (start + s) // SECTOR + 1 for s in shifts], axis=0)
    return int(np.bincount(row, most).max()) if len(row) else 0


def sectors(ir: KernelIR) -> Verdict:
    """Whether warps want values that lie side by side, and share few sectors where they could share few.

    Raises
    ------
    Undecided : an index that mixes threads and sizes.
    """
    told: dict[tuple[str, str], str] = {}
    found: Case | None = None
    apart: list[str] = []
    for r in requests(ir, "global"):
        for here in (reached(r, access) for access in r.accesses):
            key = r.title, here.tensor.name
            if key not in told:
                told[key] = _figures(here)
                if not here.vector and here.tensor.name not in apart:
                    apart.append(here.tensor.name)
            if found is None:
                found = _scattered(here) or _shared(here)
    statement = (
        "what a warp wants of a line of global memory at once lies side by side, in as many sectors of 32 bytes as it "
        "fills, and up to one more where the address or leading dimension is no multiple of 16 values; the requests "
        "for a tile have at most one sector each in common with others"
    )
    if apart:
        names = " and ".join(apart)
        statement += f"; {names} {'is' if len(apart) == 1 else 'are'} moved value by value, so requests share sectors"
    if ir.maps:
        statement += "; boxes have whole sectors of each of their lines"
        for r in placed(ir, BoxCopy, BoxStore):
            told.setdefault((r.title, ""), _of_box(r))
            found = found or _split(r)
    relation = "; ".join(told.values())
    if found is None:
        return Verdict(statement, relation)
    return Verdict(statement, relation, found.counter_example, found.requests.path)


def _figures(here: Reached) -> str:
    """How many sectors, of how many bytes, an operation's requests take."""
    r, tensor = here.requests, here.tensor
    wanted = taken = worst = 0
    for group in here.groups:
        places = here.places(group)
        wanted = max(wanted, int(counts(places).max()))
        worst = max(worst, astray(places, range(0, SECTOR, np.gcd(here.multiple, tensor.align))))
        taken = max(taken, *(int(counts(here.sectors(group, s)).max()) for s in here.shifts))
    count = here.access.instructions if here.vector else len(here.groups)
    width = 8 * here.access.bytes
    what = f"{count} x {width} bits a lane, each " if count > 1 else f"{width} bits a lane, "
    of = f"{2 * wanted // count} of {2 * wanted} bytes" if here.vector and count > 1 else f"{2 * wanted} bytes"
    noun = "sector" if taken == 1 else "sectors"
    text = f"{r.title}: {tensor.name}, {what}{of} in {taken} {noun}, at least {-(-wanted // SECTOR)}"
    if worst == taken:
        return text
    unlike = f"the address or {tensor.ld}" if tensor.ld else "the address"
    return f"{text}; up to {worst} where {unlike} is no multiple of {SECTOR} values"


def _of_box(r: Requests) -> str:
    """What a box takes, in words."""
    op = r.op
    assert isinstance(op, BoxCopy | BoxStore)
    m = r.ir.box_map(op.map)
    return f"{r.title}: {m.tensor}, {m.box.lines} lines of {2 * m.box.run} bytes, each in {m.box.run // SECTOR} sectors"


def _split(r: Requests) -> Case | None:
    """A box whose lines have a part of a sector."""
    op = r.op
    assert isinstance(op, BoxCopy | BoxStore)
    m = r.ir.box_map(op.map)
    e = op.index[r.ir.tensor(m.tensor).order[-1]]
    symbolic, numbers = r.split(e)
    what = f"a box has lines of {m.box.run} values of {m.tensor} from {e} on, no whole sectors of {SECTOR}"
    if m.box.run % SECTOR:
        return r.first(np.ones(r.shape, bool), what)
    if known_multiple(symbolic, r.ir) % SECTOR == 0:
        return r.first((numbers + symbolic.const) % SECTOR != 0, what)
    for value in np.unique(numbers % SECTOR):
        case = r.first(numbers % SECTOR == value, what, ((symbolic + int(value)) % SECTOR - 1,))
        if case is not None:
            return case
    return None


def _scattered(here: Reached) -> Case | None:
    """A request whose values in a line lie apart."""
    r = here.requests
    for group in here.groups:
        lines, pieces = counts(here.rows(here.line, group)), runs(here.places(group))
        for row in np.flatnonzero(pieces > lines):
            combination, warp = divmod(int(row), r.shape[1])
            spread = f"{pieces[row]} separate runs in {lines[row]} line{'' if lines[row] == 1 else 's'}"
            case = _case(here, combination, warp, f"what warp {warp} wants of {here.tensor.name} lies in {spread}")
            if case is not None:
                return case
    return None


def _shared(here: Reached) -> Case | None:
    """A tile of whose sectors requests have more in common than one each."""
    r = here.requests
    if not here.vector or len(here.tensor.dims) < 2 or 1 in here.tensor.dims:
        return None
    (group,) = here.groups
    places = np.sort(here.places(group), axis=-1)
    _, different = np.unique(places, axis=0, return_index=True)  # what is read again is another matter
    for shift in here.shifts:
        rows = here.sectors(group, shift)[np.sort(different)]
        rows = rows[(rows != NONE).any(-1)]
        total, distinct = int(counts(rows).sum()), len(np.setdiff1d(rows, [NONE]))
        if total - distinct <= max(len(rows) - 1, 0):
            continue
        for row in np.sort(different).tolist():
            combination, warp = divmod(row, r.shape[1])
            wanted = int(counts(places[row : row + 1])[0])
            taken = int(counts(here.sectors(group, shift)[row : row + 1])[0])
            what = (
                f"warp {warp} takes {taken} sectors for {2 * wanted} bytes, which fill {-(-wanted // SECTOR)}: the "
                f"tile's {distinct} sectors are taken {total} times by {len(rows)} requests"
            )
            case = _case(here, combination, warp, what)
            if case is not None:
                return case
    return None


def _case(here: Reached, combination: int, warp: int, what: str) -> Case | None:
    r = here.requests
    lanes = [0] if r.active is None else np.flatnonzero(r.active[combination, warp])[:1].tolist()
    for lane in lanes:
        case = r.case(what, (combination, warp, lane))
        if case is not None:
            return replace(case, address=element(case, here.access))
    return None


def element(case: Case, access: Access) -> str:
    """The element of a tensor, or of a tile, that a case's thread starts at, such as "A[128, 5]"."""
    names = {**case.point, **case.numbers}
    return f"{access.array}[{', '.join(str(e.evaluate(names)) for e in access.index)}]"
