"""Targets, instructions and the macro-MMAs composed from them, as data.

    Instruction, Scope, WARP, QUAD_PAIR, owned      what a tensor-core instruction multiplies, and who holds what
    Interleave, Composition, MacroMma               larger products made of it
    MatrixLoad, LDMATRIX                            the instruction that loads fragments of any layout
    MatrixStore, STMATRIX                           the one that stores them
    WARPGROUP, InShared, Family                     products of a warpgroup, operands that are read from shared memory
    Box, Descriptor                                 how those come there, and how they are found
    Target                                          an architecture: limits and macro-MMAs
    targets                                         the registry, `pv.targets`

`docs/extending.md` adds one, and so does `examples/new_target.py`.
"""

from polyvolta.cuda.errors import UnknownTarget as UnknownTarget
from polyvolta.cuda.target.boxes import Box as Box
from polyvolta.cuda.target.checks import BadTarget as BadTarget
from polyvolta.cuda.target.descriptors import Descriptor as Descriptor
from polyvolta.cuda.target.descriptors import InShared as InShared
from polyvolta.cuda.target.index_map import IndexMap as IndexMap
from polyvolta.cuda.target.instruction import QUAD_PAIR as QUAD_PAIR
from polyvolta.cuda.target.instruction import WARP as WARP
from polyvolta.cuda.target.instruction import WARPGROUP as WARPGROUP
from polyvolta.cuda.target.instruction import Instruction as Instruction
from polyvolta.cuda.target.instruction import Scope as Scope
from polyvolta.cuda.target.instruction import owned as owned
from polyvolta.cuda.target.macro_mma import Composition as Composition
from polyvolta.cuda.target.macro_mma import Interleave as Interleave
from polyvolta.cuda.target.macro_mma import MacroMma as MacroMma
from polyvolta.cuda.target.macro_mma import NoInstruction as NoInstruction
from polyvolta.cuda.target.matrix_load import LDMATRIX as LDMATRIX
from polyvolta.cuda.target.matrix_load import STMATRIX as STMATRIX
from polyvolta.cuda.target.matrix_load import MatrixLoad as MatrixLoad
from polyvolta.cuda.target.matrix_load import MatrixStore as MatrixStore
from polyvolta.cuda.target.registry import targets as targets
from polyvolta.cuda.target.target import Target as Target
from polyvolta.cuda.target.warpgroup import Family as Family
