"""Pictures of kernels as SVG text, without any dependency: notebooks show them, `save` writes them.

    ownership("m32n32k8")                      who owns which element of a macro-MMA, the paper's second figure
    instruction("row", "col")                  the same for one instruction, the paper's first figure
    shared_tile(kernel, "shared_A", "frag_A")  a tile in shared memory, and what one access asks of the banks
    output_tiles(kernel, M=300, N=500)         blocks, warps and fragments of an output
    pipeline(kernel)                           a k loop in time, or the roles of warps
    roles_over_time(kernel)                    the same of roles in words, by a clock that can be chosen

Each is drawn from the kernel's own relations: maps, places and the order of its operations, never from its options; so
a broken kernel's picture shows what is broken. A kernel is given as such, or as its IR.
"""

from polyvolta.cuda.pictures.banks import shared_tile
from polyvolta.cuda.pictures.grid import output_tiles
from polyvolta.cuda.pictures.k_loop import pipeline, roles_over_time
from polyvolta.cuda.pictures.owners import instruction, ownership
from polyvolta.cuda.pictures.svg import Svg

__all__ = ["Svg", "instruction", "output_tiles", "ownership", "pipeline", "roles_over_time", "shared_tile"]
