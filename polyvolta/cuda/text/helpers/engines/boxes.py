"""Boxes between matrices and shared memory, by the copy engine: `cp.async.bulk.tensor`.

What the engine knows of a matrix, its place, extents, stride, box and swizzle, is an argument of the kernel that the
host has encoded: 128 bytes that nobody but the engine reads, a `TensorMap`, by its address. An instruction names the
box's first value, the coordinate along the contiguous dimension first.

An instruction takes its operands from registers of the warp. Where several lanes could be meant, compilers ask for
one lane's box after the other's, in a loop around each instruction. So who is alone is not lane 0 but the lane that the
warp elects, if it is all the same which one (`text.roles.any_lane`); that there is one alone is then known to them.

Source: PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".
"""

from __future__ import annotations

from functools import cache

from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS

TYPE = """\
struct __align__(64) TensorMap {  // what the copy engine knows of a matrix; the driver encodes it
  unsigned long long opaque[16];
};"""

ELECTED = DeviceFunction(
    "elected",
    "bool",
    (),
    (
        "unsigned one;",
        'asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p;}" : "=r"(one));',
        "return one;",
    ),
    "whether the lane is the one that all of the warp elect, always the same; compilers know that it is one alone",
)

PREFETCH = DeviceFunction(
    "prefetch_map",
    "void",
    ("const TensorMap &map",),
    ('asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");',),
    "the copy engine reads the map before the first copy needs it",
)

COPY = DeviceFunction(
    "copy_box",
    "void",
    ("half8 *to", "const TensorMap &map", "int line", "int run", "mbarrier *barrier"),
    (
        'asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"',
        '             " [%0], [%1, {%2, %3}], [%4];"',
        '             :: "r"(shared_address(to)), "l"(&map), "r"(run), "r"(line), "r"(shared_address(barrier))',
        '             : "memory");',
    ),
    "the box that starts at [line, run] of the matrix to shared memory, some time later, with zeros for what is "
    "outside of it; the barrier's phase counts its bytes",
    (SHARED_ADDRESS,),
)

COPY_TO = DeviceFunction(
    "copy_box_to",
    "void",
    ("unsigned short blocks", "half8 *to", "const TensorMap &map", "int line", "int run", "mbarrier *barrier"),
    (
        'asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"',
        '             ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"',
        '             :: "r"(shared_address(to)), "l"(&map), "r"(run), "r"(line), "r"(shared_address(barrier)),',
        '                "h"(blocks) : "memory");',
    ),
    "as copy_box, to the same place of each block of the cluster whose bit is set, and a barrier of each counts",
    (SHARED_ADDRESS,),
)

STORE = DeviceFunction(
    "store_box",
    "void",
    ("const TensorMap &map", "int line", "int run", "const half8 *from"),
    (
        'asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"',
        '             :: "l"(&map), "r"(run), "r"(line), "r"(shared_address(from)) : "memory");',
    ),
    "the box that starts at [line, run] of the matrix from shared memory, some time later, but for what is outside "
    "of it",
    (SHARED_ADDRESS,),
)

COMMIT = DeviceFunction(
    "commit_stores",
    "void",
    (),
    ('asm volatile("cp.async.bulk.commit_group;" ::: "memory");',),
    "the boxes that the thread has had stored since the last commit are a group",
)


@cache
def wait(pending: int) -> DeviceFunction:
    """The wait until all groups of stored boxes have been read but for the newest `pending`."""
    newest = f", but for the newest {pending}" if pending else ""
    return DeviceFunction(
        f"wait_stores_but_{pending}" if pending else "wait_stores",
        "void",
        (),
        (f'asm volatile("cp.async.bulk.wait_group.read {pending};" ::: "memory");',),
        f"waits until shared memory of all of the thread's groups of stored boxes{newest} has been read",
    )
