"""Where an operand that is computed must be 0 whatever its formula says: beyond a product's k range.

What boxes bring beside a tensor is 0, and of zeros a formula makes something else than 0 perhaps. A product adds
nothing there if one of its factors is 0 and the other one is finite. So it is enough that one operand vanishes, as a
tensor as it is does, and relu of one, while the other one's formula makes a finite number of zeros. Of a formula with
scalars nobody knows what it makes.
"""

from __future__ import annotations

from polyvolta.cuda.build.promotion.footprints import full_where
from polyvolta.cuda.build.promotion.model import TILE, Nest
from polyvolta.cuda.build.promotion.operands import keeps_zero
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.plans import Contraction, Operand
from polyvolta.sets import Set

LARGEST_HALF = 65504.0
"""Of fp16; bf16 has larger numbers."""


def masked(contraction: Contraction, nest: Nest, context: Set) -> tuple[bool, bool]:
    """Whether values of the left and of the right operand must be set to 0 beyond the product's k range.

    Parameters
    ----------
    context : what may be assumed of the sizes.
    """
    k = nest.iterators[2]
    if not full_where(nest, TILE, (k,), context):
        return False, False
    (left, right) = ((keeps_zero(o, k), _finite(o)) for o in (contraction.left, contraction.right))
    of_right = not right[0] and not (right[1] and left[0])
    of_left = not left[0] and not (left[1] and (right[0] or of_right))
    return of_left, of_right


def _finite(operand: Operand) -> bool:
    """Whether the formula makes of zeros a number that 16 bits have, for certain."""
    if operand.scalars:
        return False
    return abs(float(evaluate(operand.formula, [0.0] * len(operand.accesses)))) <= LARGEST_HALF
