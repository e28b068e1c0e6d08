"""Quasi-affine expressions as C: floors of what cannot be negative are `/`, remainders `%`, exclusive-ors `^`."""

from __future__ import annotations

from collections.abc import Mapping

from polyvolta.cuda.errors import CudaError
from polyvolta.sched.codegen.expressions import CSpeller
from polyvolta.sets import Aff, var
from polyvolta.sets.simplify import Range, simplify


class NotPrintable(CudaError):
    """An expression for which C's truncating division is not the floor: its argument may be negative."""

    id = "PV513"


class KernelSpeller(CSpeller):
    """C for kernels: what is divided must be known not to be negative, for there are no slow divisions."""

    def turns(self, num: Aff, den: int) -> bool:
        return False

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        return f"{self._dividend(num)} / {den}", False

    def remainder(self, num: Aff, den: int) -> str:
        return f"{self._dividend(num)} % {den}"

    def _dividend(self, num: Aff) -> str:
        if not self.unsigned(num):
            raise NotPrintable(f"{num} may be negative, so / and % would not round down", where=str(dict(self.ranges)))
        return self.operand(num)


def c_expr(e: Aff, ranges: Mapping[str, Range]) -> str:
    """C for an expression; `ranges` must show that what is divided cannot be negative.

    >>> from polyvolta.sets import var
    >>> c_expr(128 * var("y") + 8 * (var("t") % 4) + var("t") // 4, {"t": (0, 127)})
    '128 * y + t / 4 + 8 * (t % 4)'
    """
    return KernelSpeller(ranges).text(e)


def in_steps(
    e: Aff, steps: Mapping[str, int], ranges: Mapping[str, Range], shifts: Mapping[str, Aff] | None = None
) -> Aff:
    """An expression simplified under the knowledge that each name in `steps` is a multiple of its step.

    `shifts` are added to such names first: while ranges are known, so a remainder of the sum is seen to be the shift's.

    >>> from polyvolta.sets import var
    >>> print(in_steps((var("row") + var("l")) // 2 % 4, {"row": 16}, {"l": (0, 15)}))
    floor(l/2) mod 4
    >>> print(in_steps(var("row") // 2 % 4, {"row": 16}, {"l": (0, 15)}, {"row": var("l")}))
    floor(l/2) mod 4
    """
    counts = dict.fromkeys(steps, (0, None))
    put = {n: s * var(n) + (shifts or {}).get(n, 0) for n, s in steps.items()}
    counted = simplify(e, {**ranges, **counts}, put)
    whole = sum((c // steps[a] * var(a) for a, c in counted.terms if a in steps and c % steps[a] == 0), Aff((), 0))
    rest = Aff(tuple((a, c) for a, c in counted.terms if not (a in steps and c % steps[a] == 0)), counted.const)
    return whole + rest.subs({n: var(n) // s for n, s in steps.items()})
