"""Formulas: what a pointwise operation does to one element, as a small tree.

A statement's expression tree has array elements for leaves; a formula is the same tree over numbered inputs, so
that it can be evaluated on whatever holds the values: numpy arrays in the interpreter and the reference, registers
in a kernel's text.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    """Operand number `position`."""

    position: int


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Call:
    """A pointwise function, by its name in `graph.functions.FUNCTIONS`, of formulas."""

    function: str
    arguments: tuple[Formula, ...]


Formula = Input | Number | Call
