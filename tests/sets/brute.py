"""The oracle of the set tests: truth tables over a window of integers, by numpy alone.

A random formula is drawn as two texts at once, one in isl's notation and one in Python over arrays. `table` reads a
relation of the library row by row, knowing nothing of how it came about: an array of booleans, one axis per
parameter and dimension. With both, every operation is a law about arrays: projecting is `any` over an axis.
"""

import os
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from polyvolta.sets.project import with_known_divs

LOW, HIGH = -4, 5  # all generated sets live in this box ...
WINDOW = range(LOW - 2, HIGH + 3)  # ... and are looked at in this one
PARAMS = range(-2, 4)
EXTRA = range(-60, 61)  # where an existential of the library is looked for


def examples(n):
    """The same `n` examples in every run; POLYVOLTA_EXAMPLES asks for that many times more, at random."""
    factor = float(os.environ.get("POLYVOLTA_EXAMPLES", "0"))
    return settings(
        max_examples=max(1, int(n * (factor or 1))),
        derandomize=not factor,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


# ---- reading a relation


def axes(n_params, n_dims, extra=0):
    """One coordinate array per parameter, dimension and existential, for broadcasting."""
    ranges = [PARAMS] * n_params + [WINDOW] * n_dims + [EXTRA] * extra
    return np.meshgrid(*map(np.array, ranges), indexing="ij", sparse=True)


def conjunct_table(c, n_params):
    """The truth table of one conjunct, from its rows."""
    unknown = [k for k, d in enumerate(c.divs) if d is None]
    if len(unknown) > 1:  # too many places to look in; `test_known_divs_keep_the_points` is for this
        return reduce(np.logical_or, (conjunct_table(p, n_params) for p in with_known_divs(c)), np.False_)
    arrays = axes(n_params, c.n - n_params, len(unknown))
    columns = [np.int64(1), *arrays[: c.n], *[None] * len(c.divs)]
    for k, array in zip(unknown, arrays[c.n :], strict=True):
        columns[1 + c.n + k] = array

    def value(row):
        return sum((v * columns[at] for at, v in enumerate(row) if v), np.int64(0))

    for k, div in enumerate(c.divs):
        if div is not None:
            columns[1 + c.n + k] = value(div[1]) // div[0]
    shape = tuple(len(r) for r in [PARAMS] * n_params + [WINDOW] * (c.n - n_params) + [EXTRA] * len(unknown))
    truth = reduce(np.logical_and, [value(r) == 0 for r in c.eqs] + [value(r) >= 0 for r in c.ineqs], np.True_)
    truth = np.broadcast_to(truth, shape)
    return truth.any(axis=tuple(range(c.n, c.n + len(unknown)))) if unknown else truth


def table(relation, key=None):
    """The truth table of a relation of one space (or of its part with that space key), parameters first."""
    parts = [(s, cs) for s, cs in relation.parts if key is None or s.key == key]
    n_params = len(relation.param_names)
    if not parts:
        return None
    assert len(parts) == 1
    ((space, cs),) = parts
    shape = (len(PARAMS),) * n_params + (len(WINDOW),) * len(space.dims)
    return reduce(np.logical_or, (conjunct_table(c, n_params) for c in cs), np.zeros(shape, bool))


# ---- random formulas


@dataclass(frozen=True)
class Text:
    """The same expression or formula in isl's notation and in Python over arrays."""

    isl: str
    py: str


def combine(form, *parts):
    """A text from texts; `form` has one {} per part and reads the same in both languages."""
    return Text(form.format(*(p.isl for p in parts)), form.format(*(p.py for p in parts)))


@st.composite
def expressions(draw, names, depth=2):
    """Quasi-affine expressions with small numbers."""
    terms = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
        c = draw(st.sampled_from((1, 1, 1, -1, 2, -2, 3, -3, 5)))
        terms.append(Text(f"{c}*{name}", f"{c}*{name}"))
    if depth and draw(st.integers(0, 2)) == 0:
        inner = draw(expressions(names, depth - 1))
        c, d = draw(st.sampled_from((1, 1, -1, 2, -4))), draw(st.sampled_from((2, 2, 3, 4, 6)))
        if draw(st.booleans()):
            terms.append(Text(f"{c}*floor(({inner.isl})/{d})", f"{c}*(({inner.py})//{d})"))
        else:
            terms.append(Text(f"{c}*(({inner.isl}) mod {d})", f"{c}*(({inner.py})%{d})"))
    const = draw(st.integers(-5, 5))
    text = reduce(lambda a, b: combine("{} + {}", a, b), terms)
    return Text(f"{text.isl} + {const}", f"{text.py} + {const}") if const else text


@st.composite
def comparisons(draw, names, depth=2):
    """A comparison of two expressions, or a residue."""
    left = draw(expressions(names, depth))
    if draw(st.integers(0, 3)) == 0:
        d = draw(st.sampled_from((2, 3, 4, 6)))
        r = draw(st.integers(0, d - 1))
        return Text(f"({left.isl}) mod {d} = {r}", f"(({left.py}) % {d} == {r})")
    right = draw(expressions(names, depth - 1)) if draw(st.booleans()) else Text(*[str(draw(st.integers(-4, 8)))] * 2)
    op = draw(st.sampled_from(("<=", "<=", ">=", ">=", "<", ">", "=", "=", "!=")))
    python = "==" if op == "=" else op
    return Text(f"{left.isl} {op} {right.isl}", f"(({left.py}) {python} ({right.py}))")


@st.composite
def formulas(draw, names, depth=2, inside=False):
    """Formulas with and, or, not and bounded existentials (a negated one is not nested in another)."""
    kind = (
        draw(st.sampled_from(("atom", "atom", "and", "and", "or", "not", "exists", "not exists"))) if depth else "atom"
    )
    if kind == "atom":
        return draw(comparisons(names, 1 if inside else 2))  # floors of existentials knot them: keep those mild
    if kind in ("and", "or"):
        a, b = draw(formulas(names, depth - 1, inside)), draw(formulas(names, depth - 1, inside))
        return Text(f"({a.isl} {kind} {b.isl})", f"({a.py} {'&' if kind == 'and' else '|'} {b.py})")
    if kind == "not" or (kind == "not exists" and inside):
        a = draw(formulas(names, 0, inside))
        return Text(f"not ({a.isl})", f"(~{a.py})")
    e = f"e{depth}"
    a = draw(formulas((*names, e, e), depth - 1, True))
    isl = f"(exists {e} : -3 <= {e} <= 4 and {a.isl})"
    py = f"some(lambda {e}: {a.py}, range(-3, 5))"
    return Text(isl, py) if kind == "exists" else Text(f"not {isl}", f"(~{py})")


def some(f, values):
    """Whether the formula holds for one of the values."""
    return reduce(np.logical_or, (f(np.int64(v)) for v in values))


def truth(py, params, dims):
    """The truth table of a Python formula that stands with the box."""
    arrays = axes(len(params), len(dims))
    shape = (len(PARAMS),) * len(params) + (len(WINDOW),) * len(dims)
    inside = reduce(np.logical_and, ((LOW <= a) & (a <= HIGH) for a in arrays[len(params) :]), np.True_)
    value = eval(py, {"some": some, **dict(zip((*params, *dims), arrays, strict=True))})  # noqa: S307
    return np.broadcast_to(np.logical_and(value, inside), shape)


def box(dims):
    return " and ".join(f"{LOW} <= {d} <= {HIGH}" for d in dims)


@dataclass(frozen=True)
class Case:
    """A drawn set or map: its text, and the truth table that it must have."""

    text: str
    truth: np.ndarray

    def __repr__(self):
        return self.text


@st.composite
def cases(draw, inputs=(), outputs=("i", "j"), params=("N",), tuples=("S", "A"), depth=2, mild=False):
    """Sets (no inputs) and maps inside the box; mild ones don't nest floors in floors."""
    dims = (*inputs, *outputs)
    some_params = tuple(p for p in params if draw(st.booleans()))
    f = draw(formulas((*dims, *some_params), depth, mild))
    head = f"[{', '.join(params)}] -> " if params else ""
    place = f"{tuples[0]}[{', '.join(outputs)}]"
    if inputs:
        place = f"{tuples[0]}[{', '.join(inputs)}] -> {tuples[1]}[{', '.join(outputs)}]"
    return Case(f"{head}{{ {place} : {box(dims)} and {f.isl} }}", truth(f.py, params, dims))


def points(array):
    """The coordinates of the true entries of a table without parameters."""
    return [tuple(WINDOW[k] for k in at) for at in np.argwhere(array)]


def instances(array, n_params):
    """(parameter values, table) for every choice of parameters."""
    for at in product(range(len(PARAMS)), repeat=n_params):
        yield tuple(PARAMS[k] for k in at), array[at]


def first_true(array, n_keep, last=False):
    """The table that keeps, along the axes after `n_keep`, the lexicographically first (last) true entry alone."""
    flat = array.reshape(*array.shape[:n_keep], -1)
    if last:
        flat = flat[..., ::-1]
    keep = np.zeros_like(flat)
    np.put_along_axis(keep, flat.argmax(axis=-1)[..., None], True, axis=-1)
    keep &= flat
    return (keep[..., ::-1] if last else keep).reshape(array.shape)
