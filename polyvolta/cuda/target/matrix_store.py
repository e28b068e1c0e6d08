"""`stmatrix`: all lanes of a warp give values, and eight lanes name where the lines of an 8x8 matrix go.

It is `ldmatrix` turned around: the same lanes name lines, and the same lane has the same value of a line. So its
relation

    { [lane, i] -> [source, place] }        value i of a lane becomes value `place` of lane `source`'s chunk

is the one of `ldmatrix`, and what there finds the lines that lanes name (`lines_of`) finds them here.

Source: PTX ISA, "Warp-level matrix store instruction: stmatrix".
"""

from __future__ import annotations

from dataclasses import dataclass

from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.matrix_load import LDMATRIX


@dataclass(frozen=True, slots=True)
class MatrixStore:
    """An instruction that stores 8x8 matrices of 16-bit values to shared memory, `stmatrix`.

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
        return LDMATRIX.opcode(count, transposed).replace("LDSM", "STSM")

    def distribution(self, count: int, transposed: bool) -> IndexMap:
        """{ [lane, i] -> [source, place] }: which value of which lane's chunk each of 2 * count values becomes.

        >>> print(MatrixStore().distribution(1, True))
        { [lane, i] -> [source = i + 2*(lane mod 4), place = floor(lane/4)] : 0 <= lane < 32 and 0 <= i < 2 }
        """
        return LDMATRIX.distribution(count, transposed)


STMATRIX = MatrixStore()
