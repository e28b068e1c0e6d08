"""What a batch of blocks holds outside of registers: tensors in global memory, and the blocks' shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyvolta.cuda.ir.memories import CHUNK

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
