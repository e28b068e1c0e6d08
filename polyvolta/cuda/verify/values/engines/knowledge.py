"""What is known of a kernel while it runs on tags, beside what its memories hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from polyvolta.cuda.verify.values.expressions import Meaning
from polyvolta.cuda.verify.values.products import Products
from polyvolta.cuda.verify.values.results import Notes
from polyvolta.cuda.verify.values.values import Table


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of a kernel beside its state.

    Parameters
    ----------
    meaning : the graph's.
    table : of skeletons.
    products : the macro-MMAs.
    tiles : for each shared tile the operands that fragments of it were, in words.
    parts : for each product the places of a k tile that the parts of a split K have.
    notes : what was seen of results.
    """

    meaning: Meaning
    table: Table
    products: Products
    tiles: dict[str, dict[str, bool]] = field(default_factory=dict)
    parts: dict[int, dict[int, None]] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
