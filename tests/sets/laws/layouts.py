"""Layouts: random bit matrices from lanes by registers to rows by columns, beside their points."""

import numpy as np

from polyvolta.sets import Layout
from tests.sets.laws import equal, family
from tests.sets.tables import holds

LANES, ELEMENTS = 16, 4
BITS = [("t", k) for k in range(4)] + [("r", k) for k in range(2)]
T, R = np.arange(LANES)[:, None], np.arange(ELEMENTS)[None, :]


class Swizzle:
    """A drawn layout, `l`, and its two outputs on all lanes and elements, `row` and `col`."""

    def __init__(self, source):
        order = list(range(6))
        for k in range(5, 0, -1):
            j = k - source.below(k + 1)
            order[k], order[j] = order[j], order[k]
        used = [[k] for k in order]
        for _ in range(source.below(4)):
            used[source.below(6)].append(source.below(6))
        if source.below(4) == 3:
            used[source.below(6)] = [source.below(6)]
        used = [sorted(set(bits)) for bits in used]
        split = 1 + source.below(5)
        self.sizes = 2**split, 2 ** (6 - split)
        self.row, row = word(used[:split])
        self.col, col = word(used[split:])
        self.text = f"{{ [t, r] -> C[{row}, {col}] : 0 <= t < {LANES} and 0 <= r < {ELEMENTS} }}"
        self.l = Layout(self.text)
        self.pairs = set(zip(self.row.flat, self.col.flat, strict=True))

    def __repr__(self):
        return self.text


def word(rows):
    """Bits, each an exclusive-or of bits of the inputs, as one number: its values, and its text."""
    total, texts = np.zeros((LANES, ELEMENTS), int), []
    for k, bits in enumerate(rows):
        names = [BITS[b] for b in bits]
        parts = [f"(floor({n}/{2**j}) mod 2)" for n, j in names]
        total = total + (sum((T if n == "t" else R) >> j & 1 for n, j in names) % 2) * 2**k
        text = parts[0]
        for part in parts[1:]:
            text = f"({text} ^ {part})"
        texts.append(f"{2**k}*{text}")
    return total, " + ".join(texts)


LAYOUTS = family("layouts", Swizzle, weight=1.4)


@LAYOUTS.law
def layout_evaluated(s):
    row, col = s.l(T, R)
    assert (row == s.row).all() and (col == s.col).all()


@LAYOUTS.law
def layout_printing(s):
    again = Layout(str(s.l))
    equal(again, s.l)
    row, col = again(T, R)
    assert (row == s.row).all() and (col == s.col).all()


@LAYOUTS.law
def layout_is_injective(s):
    equal(s.l.is_injective(), len(s.pairs) == LANES * ELEMENTS)


@LAYOUTS.law
def layout_is_surjective(s):
    whole = (np.ptp(s.row) + 1) * (np.ptp(s.col) + 1)
    equal(s.l.is_surjective(), len(s.pairs) == whole)


@LAYOUTS.law
def layout_inverse(s):
    if s.l.is_bijective():
        assert len(s.pairs) == LANES * ELEMENTS
        t, r = s.l.inverse()(s.row, s.col)
        assert (t == T).all() and (r == R).all()


@LAYOUTS.law
def layout_composed(s):
    if s.l.is_bijective():
        same = s.l.apply_range(s.l.inverse())
        t, r = same(T, R)
        assert (t == T).all() and (r == R).all()


@LAYOUTS.law
def layout_as_map(s):
    graph = s.l.to_map()
    t, r, row, col = (a.ravel() for a in np.broadcast_arrays(T, R, s.row, s.col))
    ones = np.ones(t.size)
    ((_, cs),) = graph.parts
    for shift in (0, 1, 3):
        at = np.stack([ones, t, r, row, col ^ shift], axis=1).astype(float)
        assert (np.any([holds(c, at) for c in cs], axis=0) == (shift == 0)).all(), f"wrong points: {graph}"
