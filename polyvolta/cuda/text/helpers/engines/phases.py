"""Barriers whose phases count, `mbarrier`: begun by one thread, arrived at, waited for by parity.

A barrier is eight bytes of shared memory. Who waits names the parity of the phase that is to be complete: a barrier
that is in phase p says so of the parity of p - 1, whatever p is. Phase -1, complete from the start, has parity 1.

What a thread wrote before it arrived is seen by those who waited for the phase: both instructions order memory among
the threads of the block, which is what they do without further words. A wait comes back after a time that the hardware
limits, complete or not; so it stands in a loop.

Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from polyvolta.cuda.ir.memories import PhaseBarriers
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS

TYPE = "typedef unsigned long long mbarrier;  // a barrier in shared memory whose phases count"

FENCE_PROXY = DeviceFunction(
    "fence_async_proxy",
    "void",
    (),
    ('asm volatile("fence.proxy.async.shared::cta;" ::: "memory");',),
    "what the thread wrote to shared memory is there for the copy engine and for the tensor cores' descriptors",
    (),
)

_BEGIN = DeviceFunction(
    "begin_phases",
    "void",
    ("mbarrier *barrier", "int arrivals"),
    (
        'asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"',
        '             :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");',
    ),
    "the barrier is in phase 0; so many arrivals complete a phase, once all bytes that it expects have come",
    (SHARED_ADDRESS,),
)


@cache
def begin(rows: tuple[PhaseBarriers, ...]) -> DeviceFunction:
    """All barriers of some rows begin; by one thread."""
    lines = []
    for row in rows:
        lines += ["#pragma unroll", f"for (int i = 0; i < {row.slots}; i += 1)",
                  f"  {_BEGIN.name}({row.name} + i, {row.arrivals});"]  # fmt: skip
    lines += ['asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");', f"{FENCE_PROXY.name}();"]
    return DeviceFunction(
        "begin_barriers",
        "void",
        tuple(f"mbarrier *{row.name}" for row in rows),
        tuple(lines),
        "all barriers begin, for the copy engine, too; the other threads see it behind a barrier of the block",
        (_BEGIN, FENCE_PROXY),
    )


WAIT = DeviceFunction(
    "await_phase",
    "void",
    ("mbarrier *barrier", "unsigned parity"),
    (
        'asm volatile("{.reg .pred complete;"',
        '             "again: mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;"',
        '             "@!complete bra again;}"',
        '             :: "r"(shared_address(barrier)), "r"(parity) : "memory");',
    ),
    "waits until the phase of that parity is complete: the barrier's, or the one before it",
    (SHARED_ADDRESS,),
)

ARRIVE = DeviceFunction(
    "arrive",
    "void",
    ("mbarrier *barrier",),
    (
        'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"',
        '             :: "r"(shared_address(barrier)) : "memory");',
    ),
    "arrives in the barrier's phase",
    (SHARED_ADDRESS,),
)

ARRIVE_EXPECTING = DeviceFunction(
    "arrive_expecting",
    "void",
    ("mbarrier *barrier", "unsigned bytes"),
    (
        'asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"',
        '             :: "r"(shared_address(barrier)), "r"(bytes) : "memory");',
    ),
    "arrives in the barrier's phase, which waits for so many bytes of copies, too",
    (SHARED_ADDRESS,),
)


ARRIVE_IN_BLOCK = DeviceFunction(
    "arrive_in_block",
    "void",
    ("mbarrier *barrier", "unsigned block"),
    (
        'asm volatile("{.reg .b32 remote;"',
        '             "mapa.shared::cluster.u32 remote, %0, %1;"',
        '             "mbarrier.arrive.shared::cluster.b64 _, [remote];}"',
        '             :: "r"(shared_address(barrier)), "r"(block) : "memory");',
    ),
    "arrives in the phase of that barrier of a block of the cluster",
    (SHARED_ADDRESS,),
)

SYNC_CLUSTER = DeviceFunction(
    "sync_cluster",
    "void",
    (),
    ('asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");',),
    "all threads of the cluster's blocks wait for one another, and see one another's writes",
)


MEET_CLUSTER = DeviceFunction(
    "meet_cluster",
    "void",
    (),
    ('asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;" ::: "memory");',),
    "all threads of the cluster's blocks wait for one another; of what they wrote they see what was fenced before",
)


@cache
def sync(threads: int) -> DeviceFunction:
    """The barrier of some warps of a block, told from others by its number."""
    return DeviceFunction(
        f"sync_{threads}_threads",
        "void",
        ("int number",),
        (f'asm volatile("bar.sync %0, {threads};" :: "r"(number) : "memory");',),
        f"{threads} threads wait for one another at barrier `number` of the block's 16, and see one another's writes",
    )


def declared(rows: Sequence[PhaseBarriers]) -> list[str]:
    """The lines that say where the rows are."""
    return [
        f"  mbarrier *const {x.name} = (mbarrier *)(shared_memory + {x.start});  // {x.slots} of {x.arrivals} "
        f"arrival{'s' * (x.arrivals > 1)}"
        for x in rows
    ]
