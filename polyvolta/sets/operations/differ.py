"""Whether a relation has two outputs for one input: emptiness tests of pairs of its pieces, side by side.

To compose it with its reverse, and to ask whether that is the identity, takes projections, which existentials and many
dimensions make long; nothing is projected here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..conjuncts import conjunct as cj
from ..conjuncts.conjunct import Conjunct
from ..conjuncts.implies import box
from ..hulls.intervals import touch

if TYPE_CHECKING:
    from ..values.map import Map


def two_outputs(self: Map) -> bool:
    """Whether some input has two outputs; exact. Pairs whose inputs numbers put apart are not looked at.

    >>> from polyvolta.sets import Map
    >>> two_outputs(Map("{ [i] -> [j] : 3j <= i <= 3j + 2 }")), two_outputs(Map("{ [i] -> [j] : 3j <= i <= 3j + 3 }"))
    (False, True)
    """
    for at, (left, cs) in enumerate(self.parts):
        for right, ds in self.parts[at:]:
            if left.source.key != right.source.key:
                continue
            first = len(self.param_names) + left.n_in
            between, n = first + left.n_out, first + left.n_out + right.n_out
            begin, other = ([box(c)[:first] for c in some] for some in (cs, ds))
            ours = [cj.reindex(c, n, tuple(range(between))) for c in cs]
            theirs = [cj.reindex(c, n, (*range(first), *range(between, n))) for c in ds]
            for k, a in enumerate(ours):
                for j, b in enumerate(theirs[k:] if left is right else theirs):
                    if not touch(begin[k], other[j + k if left is right else j]):
                        continue
                    both = cj.conjoin(a, b)
                    outs = range(left.n_out) if left is right else None
                    if both is not None and _differ(both, first, between, outs, left is right and not j):
                        return True
    return False


def _differ(both: Conjunct, first: int, second: int, outs: range | None, alike: bool) -> bool:
    """Whether outputs from column `first` on and those from `second` on differ at some point; any do if these are None.

    `alike`: whether both are of one piece, so that either order of two is as good.
    """
    if outs is None:
        return not both.is_empty
    for k in outs:
        for sign in (1,) if alike else (1, -1):
            row = [0] * (1 + both.n + len(both.divs))
            row[0], row[1 + first + k], row[1 + second + k] = -1, sign, -sign
            found = cj.normalise(both.n, both.divs, both.eqs, (*both.ineqs, tuple(row)))
            if found is not None and not found.is_empty:
                return True
    return False
