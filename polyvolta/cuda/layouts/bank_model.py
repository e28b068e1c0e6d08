"""Bank conflicts of one warp-wide access to shared memory, by the usual model of the hardware.

Shared memory is 32 banks of 4-byte words: byte address x lies in bank floor(x/4) mod 32. A bank serves one
word at a time, and that word to any number of lanes. A warp's access is served in phases of up to 128 bytes:
all lanes together at 4 bytes a lane, sixteen at 8 bytes, eight at 16. In one phase, lanes that want different
words of one bank wait for each other; lanes in different phases never do.

It is a model: NVIDIA documents the banks, and leaves the phases to be measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.kernel_ir import LANES

BANKS, WORD = 32, 4


class BadAccess(CudaError, ValueError):
    """Not an access that a warp can make: its width, alignment or number of addresses."""

    id = "PV530"


def phases(byte_addresses: Sequence[int], width_bytes: int) -> tuple[int, ...]:
    """How many times each phase of an access is served: 1 is conflict-free.

    Parameters
    ----------
    byte_addresses : where each of the 32 lanes reads or writes, in bytes; multiples of the width.
    width_bytes : bytes per lane: 2, 4, 8 or 16; a word serves both its halves.

    Raises
    ------
    BadAccess

    >>> phases(range(0, 512, 16), 16)  # consecutive chunks
    (1, 1, 1, 1)
    >>> phases(range(0, 2048, 64), 16)  # chunks 64 bytes apart: every second one meets in the same banks
    (4, 4, 4, 4)
    """
    if width_bytes not in (2, 4, 8, 16):
        raise BadAccess(f"a lane moves 2, 4, 8 or 16 bytes, not {width_bytes}")
    addresses = [int(x) for x in byte_addresses]
    if len(addresses) != LANES:
        raise BadAccess(f"a warp has {LANES} lanes, not {len(addresses)}")
    for lane, x in enumerate(addresses):
        if x < 0 or x % width_bytes:
            raise BadAccess(f"lane {lane} reaches byte {x}, which isn't a multiple of {width_bytes} bytes")
    group = LANES * WORD // max(width_bytes, WORD)
    return tuple(_degree(addresses[first : first + group], width_bytes) for first in range(0, LANES, group))


def _degree(addresses: Sequence[int], width_bytes: int) -> int:
    words = {x // WORD + w for x in addresses for w in range(max(1, width_bytes // WORD))}
    return max(Counter(w % BANKS for w in words).values())


def conflict_degree(byte_addresses: Sequence[int], width_bytes: int) -> int:
    """The worst phase of an access: 1 is conflict-free, n is an n-way conflict. Parameters as of `phases`.

    >>> conflict_degree([128 * lane for lane in range(32)], 4)
    32
    >>> conflict_degree([0] * 32, 4)  # one word for all lanes is a broadcast
    1
    """
    return max(phases(byte_addresses, width_bytes))


def degrees(byte_addresses: np.ndarray, width_bytes: int) -> np.ndarray:
    """How many times each phase of many accesses is served.

    Parameters
    ----------
    byte_addresses : [..., 32], multiples of the width; negative where a lane takes no part.
    width_bytes : bytes per lane: 2, 4, 8 or 16; a word serves both its halves.

    Returns
    -------
    array [..., phase]; 0 for a phase in which no lane takes part.

    >>> degrees(np.arange(64).reshape(2, 32) * 64, 16)
    array([[4, 4, 4, 4],
           [4, 4, 4, 4]])
    >>> degrees(np.arange(32) * 2, 2), degrees(np.arange(32) * 128, 2)
    (array([1]), array([32]))
    """
    width = max(width_bytes, WORD)
    group = LANES * WORD // width  # lanes of a phase; as many units of this width span the banks
    addresses = np.asarray(byte_addresses)
    units = np.sort(addresses.reshape(-1, group) // width, axis=-1)
    new = np.ones(units.shape, bool)
    new[:, 1:] = units[:, 1:] != units[:, :-1]  # a unit that several lanes want counts once
    new &= units >= 0
    phase = np.arange(len(units))[:, None]
    wanted = np.bincount((phase * group + units % group)[new], minlength=units.size)
    return wanted.reshape(-1, group).max(1, initial=0).reshape(*addresses.shape[:-1], -1)


def worst_degree(byte_addresses: np.ndarray, width_bytes: int) -> int:
    """The worst phase of many accesses at once. Parameters as of `degrees`.

    >>> worst_degree(np.arange(64).reshape(2, 32) * 64, 16)
    4
    """
    return int(degrees(byte_addresses, width_bytes).max(initial=1))


def conflict_free(units: np.ndarray, width_bytes: int) -> np.ndarray:
    """Which of some programs have no conflict in any access.

    Parameters
    ----------
    units : [program, access, 32], where each lane reads or writes, counted in widths.
    width_bytes : bytes per lane: 2, 4, 8 or 16.

    Returns
    -------
    array [program] of bools.
    """
    width = max(width_bytes, WORD)
    group = LANES * WORD // width
    phases_of = (units * width_bytes // width).reshape(len(units), -1, group)
    keys = np.sort(phases_of % group << 32 | phases_of, axis=-1)  # by bank, then by place
    same_bank = keys[..., 1:] >> 32 == keys[..., :-1] >> 32
    return ~(same_bank & (keys[..., 1:] != keys[..., :-1])).any((1, 2))
