"""What a batch of blocks holds outside of registers: tensors in global memory, and the blocks' shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from polyvolta.cuda.ir.accesses import Access, Operation
from polyvolta.cuda.ir.engines.unfolded import Unfolded
from polyvolta.cuda.ir.kernel_ir import KernelIR
from polyvolta.cuda.ir.memories import CHUNK
from polyvolta.sets import Aff, PolyvoltaError

POISON = {"half": np.uint16(0xFEAD).view(np.float16), "bfloat16": np.uint16(0xFFAD),
          "float": np.uint32(0xFFC0DEAD).view(np.float32)}  # fmt: skip
"""NaN of each kind, in the dtype of arrays of that kind: bf16's are bit patterns, see `graph.functions.formats`."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A tensor's memory: its values from first to last, [n] of its kind; its shape; its strides, in values."""

    values: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def runs(self) -> np.ndarray:
        """Every run of eight consecutive values, [n - 7, 8]."""
        count = self.values.size - CHUNK + 1
        return np.lib.stride_tricks.as_strided(self.values, (max(count, 0), CHUNK), self.values.strides * 2)


class Memories(Protocol):
    """Who holds them: a `Machine`.

    Attributes
    ----------
    shape : (blocks, warps, 32).
    tensors : name -> `Memory`.
    memory : the blocks' shared memory, [block, chunk, 8].
    poison : the 16 bits of what nobody wrote there.
    """

    shape: tuple[int, int, int]
    tensors: Mapping[str, Memory]
    memory: np.ndarray
    poison: np.ndarray


class Blocks(Memories, Protocol):
    """A batch of blocks as those see it who work beside its threads: a `Machine`, whose attributes these are."""

    ir: KernelIR
    blocks: np.ndarray
    values: dict[str, Any]
    registers: dict[str, np.ndarray]
    path: tuple[int, ...]
    unfolded: Unfolded

    def who(self, block: int, thread: int) -> tuple[tuple[int, int, int], int]: ...

    def refuse(self, wrong: PolyvoltaError, threads: np.ndarray | None) -> None: ...

    def block(self, where: np.ndarray) -> tuple[int, ...]: ...

    def accesses(self, op: Operation) -> tuple[Access, ...]: ...

    def index(self, name: str, index: tuple[Aff, ...]) -> tuple[int, ...]: ...

    def loops(self, block: int = 0, warp: int = 0) -> dict[str, int]: ...
