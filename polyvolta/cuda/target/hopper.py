"""Hopper: `wgmma` of warpgroups on fp16 and bf16, boxes of tensors by TMA, clusters; and all that Ampere has.

Limits are per block or thread, from the CUDA C++ Programming Guide's table of compute capabilities; how many
multiprocessors there are is that of the H100 and H200 (SXM), from their data sheets. "a" in the name: `wgmma` and
`setmaxnreg` run on this architecture alone.
"""

from __future__ import annotations

from polyvolta.cuda.target.ampere import SM_80
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.warpgroup import WGMMA

SM_90A = Target(
    name="sm_90a",
    threads=1024,
    registers=255,
    block_registers=65536,
    shared_bytes=227 * 1024,
    grid=(2**31 - 1, 65535, 65535),
    macro_mmas=SM_80.macro_mmas,
    multiprocessors=132,
    block_tile=(128, 128, 64),
    spare=SM_80.spare,
    spare_formulas=SM_80.spare_formulas,
    copies=SM_80.copies,
    buffers=3,
    fragments=2,
    group=8,
    families=(WGMMA,),
    cluster=8,
    dependent_launch=True,
)
