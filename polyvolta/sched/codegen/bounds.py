"""What a conjunct says of one variable: its one value, its bounds and stride; and solving a leaf's iterators."""

from __future__ import annotations

from polyvolta.sets import Aff, Set, aff, var
from polyvolta.sets.build import affs_of, expression
from polyvolta.sets.conjunct import Conjunct, normalise


def solve_iterators(dims: tuple[str, ...], equations: list[tuple[Aff, Aff]]) -> tuple[Aff, ...] | None:
    """The iterators from `expression = value` of every member, if linear algebra on the expressions' atoms does it.

    i - 64*floor(i/64) = c, floor(i/64) - 2*floor(i/128) = w and floor(i/128) = b are linear in three atoms of i.
    """
    rows = [(e - e.const, value - e.const) for e, value in equations]
    atoms = {a for e, _ in rows for a, _ in e.terms if a not in dims} | set(dims)
    unknown = [a for a in atoms if Aff(((a, 1),)).names() & set(dims)]
    unknown.sort(key=lambda a: a in dims)  # floors go first
    found: dict[object, tuple[Aff, Aff]] = {}
    for atom in unknown:
        pivot = next(((e, v) for e, v in rows if abs(e.coefficient(atom)) == 1), None)
        if pivot is None:
            continue
        e, v = pivot
        c = e.coefficient(atom)
        rows = [
            (f - e * (c * f.coefficient(atom)), w - v * (c * f.coefficient(atom))) for f, w in rows if (f, w) != pivot
        ]
        found = {
            a: (f - e * (c * f.coefficient(atom)), w - v * (c * f.coefficient(atom))) for a, (f, w) in found.items()
        }
        found[atom] = (e * c, v * c)
    out = []
    for d in dims:
        e, v = found.get(d, (None, None))
        if e is None or any(a != d and a in unknown for a, _ in e.terms):
            return None
        out.append(v - (e - var(d)))
    return tuple(out)


def fixed_value(values: Set, name: str) -> Aff | None:
    """The one value that a variable has, as an expression of the other parameters."""
    others = tuple(p for p in values.param_names if p != name)
    at = values.param_names.index(name)
    (c,) = values.parts[0][1]
    for row in c.eqs:
        if abs(row[1 + at]) == 1 and not any(
            row[1 + c.n + k] and d is not None and _leans(c, k, 1 + at) for k, d in enumerate(c.divs)
        ):
            table = affs_of(c, values.param_names)
            value = [-row[1 + at] * x for x in row]
            value[1 + at] = 0
            e = expression(tuple(value), table)
            return e if e.names() <= set(others) else None
    return None


def bounds_of(
    c: Conjunct, names: tuple[str, ...], name: str
) -> tuple[tuple[Aff, ...], tuple[Aff, ...], tuple[int, Aff]]:
    """Lower bounds, upper bounds and stride (step, residue) of one variable in a conjunct."""
    col = 1 + names.index(name)
    table = affs_of(c, names)
    base = 1 + c.n
    leaning = [base + k for k, d in enumerate(c.divs) if d is not None and _leans(c, k, col)]
    step, residue, stride_div = 1, aff(0), None
    for row in c.eqs:
        divs = [d for d in leaning if row[d]]
        if abs(row[col]) == 1 and len(divs) == 1:
            sign = -row[col]
            step, stride_div = abs(row[divs[0]]), divs[0]
            slope = sign * row[divs[0]]  # v = slope * q + residue
            rest = [sign * x for x in row]
            rest[col] = rest[divs[0]] = 0
            residue = expression(tuple(rest), table)
    low, high = [], []
    for row in c.ineqs:
        used = [d for d in leaning if row[d]]
        if used and used != [stride_div] or not used and not row[col]:
            continue
        rest = list(row)
        a = rest[col]
        rest[col] = 0
        if used:  # q = (v - residue) / slope
            b = rest[stride_div]
            rest[stride_div] = 0
            e = (expression(tuple(rest), table) * abs(slope)) - residue * (b if slope > 0 else -b)
            a = a * abs(slope) + (b if slope > 0 else -b)
        else:
            e = expression(tuple(rest), table)
        if a > 0:
            low.append(-(e // a))
        elif a < 0:
            high.append(e // -a)
    return tuple(low), tuple(high), (step, residue)


def shadow(c: Conjunct, dim: int) -> Conjunct:
    """A conjunct that contains `c` and has no floors of dimension `dim`: Fourier-Motzkin over the rationals.

    Loops over its bounds visit too much, which the conditions inside the loop make good.
    """
    base = 1 + c.n
    leaning = [base + k for k in range(len(c.divs)) if _leans(c, k, 1 + dim)]
    rows = [*c.all_ineqs(), *c.eqs, *(tuple(-v for v in r) for r in c.eqs)]
    for col in leaning:
        low, high = [r for r in rows if r[col] > 0], [r for r in rows if r[col] < 0]
        rows = [r for r in rows if not r[col]]
        rows += [tuple(x * -b[col] + y * a[col] for x, y in zip(a, b)) for a in low for b in high]
    kept = [k for k in range(len(c.divs)) if base + k not in leaning]
    columns = [*range(base), *(base + k for k in kept)]
    divs = [(c.divs[k][0], tuple((*c.divs[k][1], *[0] * len(c.divs))[col] for col in columns)) for k in kept]
    return normalise(c.n, divs, (), [tuple(r[col] for col in columns) for r in rows]) or c


def aligned(low: Aff, step: int, residue: Aff) -> Aff:
    """The least value at or above a lower bound in the residue class."""
    return residue - step * ((residue - low) // step) if step > 1 else low


def _leans(c: Conjunct, k: int, col: int) -> bool:
    """Whether the div number k depends on a column."""
    row = c.divs[k][1]
    return bool(row[col]) or any(_leans(c, j, col) for j in range(k) if row[1 + c.n + j])
