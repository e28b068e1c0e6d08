"""Random formulas, decoded from bytes: their text in isl's notation, and their value on numpy arrays.

Everything is drawn from a `Source`, a string of bytes that is read from the left and continues with zeros. A zero
always means the simplest choice, so that a failure shrinks by zeroing and shortening the bytes, which is what
hypothesis does with a draw of `bytes`, and the campaign with a loop of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tests.sets.tables import HIGH, LOW, PARAMS, axes, shape


class Source:
    """Choices, read off bytes."""

    def __init__(self, data):
        self.rest = iter(data)

    def below(self, n):
        """A number from 0 to n - 1, for n up to 256."""
        return next(self.rest, 0) % n

    def of(self, choices):
        """One of a sequence; the first is the simplest."""
        return choices[self.below(len(choices))]


@dataclass(frozen=True)
class Drawn:
    """An expression or a formula: its text, and its value where names have values."""

    isl: str
    value: Callable

    def __repr__(self):
        return self.isl


def expression(source, names, depth=2):
    """A quasi-affine expression with small numbers."""
    first = source.below(len(names))
    used = {names[first], names[(first + source.below(2)) % len(names)]}
    terms = []
    for name in sorted(used):
        c = source.of((1, 1, 1, -1, 2, -2, 3, -3, 5))
        terms.append(Drawn(f"{c}*{name}", lambda at, c=c, name=name: c * at[name]))
    if depth and source.below(3) == 2:
        inner = expression(source, names, depth - 1)
        c, d = source.of((1, 1, -1, 2, -4)), source.of((2, 2, 3, 4, 6))
        if source.below(2):
            terms.append(Drawn(f"{c}*floor(({inner.isl})/{d})", lambda at: c * (inner.value(at) // d)))
        else:
            terms.append(Drawn(f"{c}*(({inner.isl}) mod {d})", lambda at: c * (inner.value(at) % d)))
    const = source.of((0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5))
    text = " + ".join(t.isl for t in terms) + (f" + {const}" if const else "")
    return Drawn(text, lambda at: sum((t.value(at) for t in terms), np.int64(const)))


COMPARE = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "<": np.less,
    ">": np.greater,
    "=": np.equal,
    "!=": np.not_equal,
}


def comparison(source, names, depth=2):
    """A comparison of two expressions, or a residue."""
    left = expression(source, names, depth)
    if source.below(4) == 3:
        d = source.of((2, 3, 4, 6))
        r = source.below(d)
        return Drawn(f"({left.isl}) mod {d} = {r}", lambda at: left.value(at) % d == r)
    op = source.of(("<=", ">=", "<=", ">=", "<", ">", "=", "=", "!="))
    compare = COMPARE[op]
    if source.below(2):
        right = expression(source, names, max(depth - 1, 0))
        return Drawn(f"{left.isl} {op} {right.isl}", lambda at: compare(left.value(at), right.value(at)))
    number = source.of((0, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4))
    return Drawn(f"{left.isl} {op} {number}", lambda at: compare(left.value(at), number))


def formula(source, names, depth=2, inside=False):
    """A formula with and, or, not and bounded existentials (a negated one is not nested in another)."""
    kinds = ("atom", "atom", "and", "and", "or", "not", "exists", "not exists")
    kind = source.of(kinds) if depth else "atom"
    if kind == "atom":
        return comparison(source, names, 1 if inside else 2)  # floors of existentials knot them: keep those mild
    if kind in ("and", "or"):
        a, b = (formula(source, names, depth - 1, inside) for _ in range(2))
        join = np.logical_and if kind == "and" else np.logical_or
        return Drawn(f"({a.isl} {kind} {b.isl})", lambda at: join(a.value(at), b.value(at)))
    if kind == "not" or (kind == "not exists" and inside):
        a = formula(source, names, 0, inside)
        return Drawn(f"not ({a.isl})", lambda at: np.logical_not(a.value(at)))
    e = f"e{depth}"
    a = formula(source, (*names, e, e), depth - 1, True)
    some = lambda at: reduce(np.logical_or, (a.value({**at, e: np.int64(v)}) for v in range(-2, 4)))
    isl = f"(exists {e} : -2 <= {e} <= 3 and {a.isl})"
    return Drawn(isl, some) if kind == "exists" else Drawn(f"not {isl}", lambda at: np.logical_not(some(at)))


def mild(source, names, depth=2):
    """One or two comparisons or residues of affine expressions, joined by `and` or `or`."""
    a = comparison(source, names, 0)
    kind = source.of((None, "and", "and", "or"))
    if kind is None:
        return a
    b = comparison(source, names, 0)
    join = np.logical_and if kind == "and" else np.logical_or
    return Drawn(f"({a.isl} {kind} {b.isl})", lambda at: join(a.value(at), b.value(at)))


def spelling(source, names):
    """An expression in the less usual spellings."""
    a, b = expression(source, names, 0), expression(source, names, 0)
    d = source.of((2, 3, 4))
    return (
        lambda: Drawn(f"ceil(({a.isl})/{d})", lambda at: -(-a.value(at) // d)),
        lambda: Drawn(f"({a.isl}) // {d}", lambda at: a.value(at) // d),
        lambda: Drawn(f"({a.isl}) % {d}", lambda at: a.value(at) % d),
        lambda: Drawn(f"floord({a.isl}, {d})", lambda at: a.value(at) // d),
        lambda: Drawn(f"min({a.isl}, {b.isl})", lambda at: np.minimum(a.value(at), b.value(at))),
        lambda: Drawn(f"max({a.isl}, {b.isl})", lambda at: np.maximum(a.value(at), b.value(at))),
        lambda: Drawn(f"abs({a.isl})", lambda at: np.abs(a.value(at))),
        lambda: Drawn(f"{d}({a.isl}) - ({b.isl})", lambda at: d * a.value(at) - b.value(at)),
    )[source.below(8)]()


def notation(source, names, depth=2):
    """A formula in the less usual spellings: chains, implications, lists, min and max, fractions."""
    kinds = ("chain", "chain", "list", "fraction", "implies", "and", "or", "not")
    kind = source.of(kinds) if depth else "chain"
    if kind in ("implies", "and", "or"):
        a, b = notation(source, names, depth - 1), notation(source, names, depth - 1)
        join = {"and": np.logical_and, "or": np.logical_or, "implies": lambda x, y: np.logical_or(~x, y)}[kind]
        return Drawn(f"({a.isl} {kind} {b.isl})", lambda at: join(a.value(at), b.value(at)))
    if kind == "not":
        a = notation(source, names, depth - 1)
        return Drawn(f"not ({a.isl})", lambda at: np.logical_not(a.value(at)))
    a, b, c = spelling(source, names), expression(source, names, 0), spelling(source, names)
    first, second = (source.of(("<=", "<", ">=", ">", "=", "!=")) for _ in range(2))
    f, g = COMPARE[first], COMPARE[second]
    if kind == "list":
        both = lambda at: f(a.value(at), c.value(at)) & f(b.value(at), c.value(at))
        return Drawn(f"{a.isl}, {b.isl} {first} {c.isl}", both)
    if kind == "fraction":
        d = source.of((2, 3, 4))
        e = expression(source, names, 0)
        return Drawn(f"({e.isl})/{d} {first} {b.isl}", lambda at: f(e.value(at), d * b.value(at)))
    chain = lambda at: f(a.value(at), b.value(at)) & g(b.value(at), c.value(at))
    return Drawn(f"{a.isl} {first} {b.isl} {second} {c.isl}", chain)


# ---- sets and maps


@dataclass(frozen=True)
class Case:
    """A drawn set or map: its text, and the truth table that it must have."""

    text: str
    truth: np.ndarray

    def __repr__(self):
        return self.text


def box(dims):
    """The bounds that keep dimensions in the box."""
    return " and ".join(f"{LOW} <= {d} <= {HIGH}" for d in dims)


def case(
    source,
    inputs=(),
    outputs=("i", "j"),
    params=("N",),
    tuples=("S", "A"),
    depth=2,
    boxed=True,
    place=None,
    write=formula,
):
    """A set (no inputs) or map; it stays in the box, its parameters too where `boxed` is "params".

    `place` is the tuple to write where a nested one is meant, `write` draws the formula.
    """
    dims = (*inputs, *outputs)
    names = (*dims, *params) if source.below(4) else dims
    f = write(source, names, depth)
    head = f"[{', '.join(params)}] -> " if params else ""
    if place is None:
        place = f"{tuples[0]}[{', '.join(outputs)}]"
        if inputs:
            place = f"{tuples[0]}[{', '.join(inputs)}] -> {tuples[1]}[{', '.join(outputs)}]"
    arrays = axes(len(params), len(dims))
    truth = np.broadcast_to(f.value(dict(zip((*params, *dims), arrays, strict=True))), shape(len(params), len(dims)))
    bounds = []
    if boxed:
        bounds.append(box(dims))
        inside = (np.logical_and(a >= LOW, a <= HIGH) for a in arrays[len(params) :])
        truth = reduce(np.logical_and, inside, truth)
    if boxed == "params":
        bounds += [f"{PARAMS[0]} <= {p} <= {PARAMS[-1]}" for p in params]
    return Case(f"{head}{{ {place} : {' and '.join([*bounds, f.isl])} }}", truth)


@dataclass(frozen=True)
class Function:
    """A drawn piecewise function: its text, where it is defined, and its values there."""

    text: str
    where: np.ndarray
    values: np.ndarray

    def __repr__(self):
        return self.text


def function(source, dims=("i", "j"), params=("N",), tuples=("S", ""), outputs=1):
    """A function on the box in one to three pieces, the later ones where the earlier ones are not."""
    arrays = axes(len(params), len(dims))
    at = dict(zip((*params, *dims), arrays, strict=True))
    full = shape(len(params), len(dims))
    free = reduce(np.logical_and, ((a >= LOW) & (a <= HIGH) for a in arrays[len(params) :]), np.ones(full, bool))
    where, values = np.zeros(full, bool), np.zeros((outputs, *full), np.int64)
    texts, others = [], box(dims)
    for _ in range(source.of((1, 2, 1, 2, 3))):
        f = formula(source, tuple(at), 1, True)
        es = [expression(source, tuple(at), 1) for _ in range(outputs)]
        here = free & f.value(at)
        where |= here
        free = free & ~here
        for k, e in enumerate(es):
            values[k] = np.where(here, e.value(at), values[k])
        texts.append(
            f"{tuples[0]}[{', '.join(dims)}] -> {tuples[1]}[{', '.join(e.isl for e in es)}] : {others} and {f.isl}"
        )
        others = f"{others} and not ({f.isl})"
    head = f"[{', '.join(params)}] -> " if params else ""
    return Function(f"{head}{{ {'; '.join(texts)} }}", where, values if outputs > 1 else values[0])
