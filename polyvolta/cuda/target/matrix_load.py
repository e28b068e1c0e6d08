"""`ldmatrix`: eight lanes name the lines of an 8x8 matrix in shared memory, and all lanes of the warp share its values.

An instruction brings 1, 2 or 4 matrices of 16-bit values. Lanes 8j to 8j + 7 name the lines of matrix j, each a *chunk*
of 8 values (16 bytes); lanes beyond name nothing. Afterwards register j of lane l holds two values of matrix j:
2(l mod 4) and the next one of line l/4, or, transposed, value l/4 of lines 2(l mod 4) and the next. So who names a
line and who gets its values are two things, and the relation between them is what the instruction is:

    { [lane, i] -> [source, place] }        value i of a lane is value `place` of the chunk that lane `source` names

Followed by the lines that lanes name, a relation that a kernel chooses, it gives every lane's elements.

`stmatrix` is `ldmatrix` turned around: the same lanes name lines, and the same lane has the same value of a line. Its
relation is the same, and so are the lines that lanes name for values that they own (`lines_of`).

Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.instruction import LANE, I, owned
from polyvolta.display.shown import Record
from polyvolta.sets import aff, var

LINES = 8  # of a matrix, and values of a line


@dataclass(frozen=True, slots=True)
class MatrixLoad(Record):
    """An instruction that loads 8x8 matrices of 16-bit values from shared memory, `ldmatrix`.

    Parameters
    ----------
    title : what people call it.
    counts : how many matrices one instruction can bring.
    """

    title: str = "ldmatrix"
    counts: tuple[int, ...] = (1, 2, 4)

    def name(self, count: int, transposed: bool) -> str:
        """The PTX instruction.

        >>> MatrixLoad().name(4, True)
        'ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16'
        """
        return f"{self.title}.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"

    def opcode(self, count: int, transposed: bool) -> str:
        """What disassemblers call the machine instruction that it becomes.

        >>> MatrixLoad().opcode(4, False), MatrixLoad().opcode(1, True)
        ('LDSM.16.M88.4', 'LDSM.16.MT88')
        """
        return f"LDSM.16.M{'T' if transposed else ''}88{f'.{count}' if count > 1 else ''}"

    def distribution(self, count: int, transposed: bool) -> IndexMap:
        """{ [lane, i] -> [source, place] }: which value of which lane's chunk each of a lane's 2 * count values is.

        >>> print(MatrixLoad().distribution(1, False))
        { [lane, i] -> [source = floor(lane/4), place = i + 2*(lane mod 4)] : 0 <= lane < 32 and 0 <= i < 2 }
        """
        return _distribution(count, transposed)


@dataclass(frozen=True, slots=True)
class MatrixStore(Record):
    """An instruction that stores 8x8 matrices of 16-bit values to shared memory, `stmatrix`: a load turned around.

    Parameters
    ----------
    title : what people call it.
    counts : how many matrices one instruction can store.
    """

    title: str = "stmatrix"
    counts: tuple[int, ...] = (1, 2, 4)

    def name(self, count: int, transposed: bool) -> str:
        """The PTX instruction.

        >>> MatrixStore().name(4, True)
        'stmatrix.sync.aligned.m8n8.x4.trans.shared.b16'
        """
        return f"{self.title}.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"

    def opcode(self, count: int, transposed: bool) -> str:
        """What disassemblers call the machine instruction that it becomes.

        >>> MatrixStore().opcode(4, False)
        'STSM.16.M88.4'
        """
        return MatrixLoad().opcode(count, transposed).replace("LDSM", "STSM")

    def distribution(self, count: int, transposed: bool) -> IndexMap:
        """{ [lane, i] -> [source, place] }: which value of which lane's chunk each of 2 * count values becomes.

        >>> print(MatrixStore().distribution(1, True))
        { [lane, i] -> [source = i + 2*(lane mod 4), place = floor(lane/4)] : 0 <= lane < 32 and 0 <= i < 2 }
        """
        return _distribution(count, transposed)


@lru_cache(maxsize=8)
def _distribution(count: int, transposed: bool) -> IndexMap:
    own = {"source": LANE // 4, "place": 2 * (LANE % 4) + I % 2}
    if transposed:
        own = {"source": own["place"], "place": own["source"]}
    return owned(2 * count, source=LINES * (I // 2) + own["source"], place=own["place"])


@lru_cache(maxsize=256)
def lines_of(ownership: IndexMap, load: MatrixLoad, count: int, transposed: bool) -> IndexMap:
    """{ [lane, n] -> [...] }: the first element of the line that each lane names in instruction n, so that lanes get
    what an ownership map { [lane, i] -> [...] } says, 2 * count values with each instruction.

    Source s names where place 0 of its line belongs: the distribution turned around there, then the ownership map.
    Lanes beyond the last line name those that lanes before name. Whether all other places fit is for `delivered`.

    >>> own = owned(4, row=LANE // 4 + 8 * (I // 2), k=2 * (LANE % 4) + I % 2)
    >>> print(lines_of(own, MatrixLoad(), 2, False))
    { [lane, n] -> [row = lane mod 16, k = 0] : 0 <= lane < 32 and 0 <= n < 1 }
    """
    (_, lanes), (_, values) = ownership.inputs
    line, matrix, n = LANE % LINES, LANE // LINES % count, var("n")
    holder, half = (line // 2, line % 2) if transposed else (4 * line, aff(0))
    places = ownership.at(holder, 2 * (count * n + matrix) + half)
    outputs = tuple((name, e) for (name, _), e in zip(ownership.outputs, places, strict=True))
    return IndexMap((("lane", lanes), ("n", values // (2 * count))), outputs).simplified()


@lru_cache(maxsize=256)
def delivered(lines: IndexMap, load: MatrixLoad, count: int, transposed: bool, run: int) -> IndexMap:
    """{ [lane, i] -> [...] }: what lanes get that name these lines; `run` is the dimension along which a line goes.

    >>> own = owned(8, row=LANE // 4 + 8 * (I // 2 % 2), k=2 * (LANE % 4) + I % 2 + 8 * (I // 4))
    >>> lines = lines_of(own, MatrixLoad(), 4, False)
    >>> delivered(lines, MatrixLoad(), 4, False, 1).relation.is_equal(own.relation)
    True
    """
    (_, lanes), (_, instructions) = lines.inputs
    source, place = load.distribution(count, transposed).at(LANE, I % (2 * count))
    first = lines.at(source, I // (2 * count))
    named = zip(lines.outputs, first, strict=True)
    outputs = tuple((name, e + place if d == run else e) for d, ((name, _), e) in enumerate(named))
    return IndexMap((("lane", lanes), ("i", 2 * count * instructions)), outputs).simplified()


LDMATRIX = MatrixLoad()
STMATRIX = MatrixStore()
