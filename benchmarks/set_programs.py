"""Short programs of users beside isl: the same text run with islpy and with `polyvolta.isl`, turn by turn.

    python benchmarks/set_programs.py [--repeat 9] [--only 04,21]       # needs islpy: pip install -e ".[bench]"

A row of `sets.py` is one operation on inputs that are at hand; here a program reads its texts, and what it makes goes
on to the next operation, which meets pieces that no one has written. `harness.py` says how they are measured: `first`
is a program in a session that has computed nothing yet, `again` the same one a second time. Prints a Markdown table.
The tests run every program and compare what both libraries make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import harness
import islpy

import polyvolta.isl

Program = Callable[[Any], Iterator[Any]]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    PROGRAMS[f"{len(PROGRAMS) + 1:02} {(f.__doc__ or '').rstrip('.')}"] = f
    return f


# ---- functions


def variables(m: Any) -> list[Any]:  # noqa: ANN401
    space = m.LocalSpace.from_space(m.Space.create_from_names(m.DEFAULT_CONTEXT, set=["i", "j"], params=["N"]))
    kinds = (m.dim_type.set, 0), (m.dim_type.set, 1), (m.dim_type.param, 0)
    return [m.Aff.var_on_domain(space, *at) for at in kinds]


@program
def quotients(m):
    """Remainders of expressions."""
    i, j, n = variables(m)
    e = i
    for k in range(1, 30):
        e = e + (i * k + j * 3 - k) + n
        e = e - e.scale_down_val(m.Val(k + 1)).floor() * (k + 1)
        e = i + j * k if k % 4 == 0 else e
    yield e


@program
def sums(m):
    """Sums of expressions."""
    i, j, _ = variables(m)
    e = i - i
    for k in range(1, 60):
        e = (e + i.scale_val(m.Val(k)) - j + k).neg()
    yield e


@program
def piecewise_sums(m):
    """Sums of functions, a maximum, a comparison."""
    i, j, n = (m.PwAff(f"[N] -> {{ [i, j] -> [({e})] }}") for e in "ijN")
    e = i
    for k in range(12):
        e = e + j * m.PwAff(f"[N] -> {{ [i, j] -> [({k + 1})] }}") - n + k
    e = e.max(i).min(n)
    yield e
    yield e.ge_set(j)


@program
def maxima(m):
    """A maximum of five, compared."""
    e = m.PwAff("[N, M] -> { [i, j] -> [(i)] }")
    for t in ("j", "N - i", "M - j", "i + j"):
        e = e.max(m.PwAff(f"[N, M] -> {{ [i, j] -> [({t})] }}"))
    yield e
    yield e.lt_set(m.PwAff("[N, M] -> { [i, j] -> [(N + M)] }"))


@program
def cases(m):
    """Functions of cases: maximum, sum, choice, gist."""
    a = m.PwAff("[N] -> { [i] -> [(i)] : 0 <= i < 10; [i] -> [(20 - i)] : 10 <= i < N }")
    b = m.PwAff("[N] -> { [i] -> [(2i - 5)] : 0 <= i <= 12; [i] -> [(5)] : 13 <= i < N }")
    most = a.max(b)
    yield most.coalesce()
    yield a.union_add(b)
    yield a.cond(b, most)
    yield most.gist(m.Set("[N] -> { [i] : 30 <= N and 0 <= i < N }")).intersect_domain(most.domain())
    yield a.add(b).mod_val(m.Val(7))


@program
def pulled_back(m):
    """A sorting step after itself, three times."""
    f = m.PwMultiAff("{ [i, j] -> [i, j] : i >= j; [i, j] -> [j, i] : j > i }")
    g = m.PwMultiAff("{ [i, j] -> [i - j, j] : i >= 2j; [i, j] -> [j, i] : i < 2j }")
    for _ in range(3):
        f = g.pullback_pw_multi_aff(f).coalesce()
    yield f


@program
def values(m):
    """A polynomial by pieces at 200 points."""
    tiles = [(4 * a, 4 * b) for a in range(5) for b in range(5)]
    cases = [f"[i, j] -> i*j + {a}*i - {b} : {a} <= i < {a + 4} and {b} <= j < {b + 4}" for a, b in tiles]
    f, total = m.PwQPolynomial(f"{{ {'; '.join(cases)} }}"), 0
    zero = m.Point.zero(f.get_domain_space())
    for k in range(200):
        at = zero.set_coordinate_val(m.dim_type.set, 0, m.Val(k % 20))
        total += f.eval(at.set_coordinate_val(m.dim_type.set, 1, m.Val(k // 20))).to_python()
    yield m.Set(f"{{ [{total}] }}")


# ---- differences and unions


@program
def boxes(m):
    """Boxes taken from a box."""
    s = m.Set("{ [i, j] : 0 <= i < 100 and 0 <= j < 100 }")
    for k in range(8):
        box = f"{{ [i, j] : {10 * k} <= i < {10 * k + 15} and {5 * k} <= j < {5 * k + 20} }}"
        s = s.subtract(m.Set(box)).coalesce()
    yield s


@program
def frames(m):
    """What is left of a square outside of others, collected."""
    s = m.Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < N }")
    u = m.Set("[N] -> { [i, j] : 1 = 0 }")
    for k in range(6):
        box = m.Set(f"[N] -> {{ [i, j] : {k} <= i < {k - 3} + N and {k} <= j < N - {k} }}")
        u = u.union(s.subtract(box)).coalesce()
        s = s.intersect(box)
    yield s
    yield u


@program
def prisms(m):
    """Prisms taken from a cube, parts of them put back."""
    s = m.Set("[N] -> { [i, j, k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }")
    for k in range(4):
        t = m.Set(f"[N] -> {{ [i, j, k] : {k + 1} <= i < N - {k + 1} and {k + 1} <= j <= i and k >= {k} }}")
        s = s.subtract(t).union(t.intersect(m.Set(f"[N] -> {{ [i, j, k] : k <= {2 * k + 1} }}"))).coalesce()
    yield s


@program
def halo(m):
    """The halo of a grid, and what is beside it."""
    grid = m.Set("[N, M] -> { [i, j] : 0 <= i < N and 0 <= j < M }")
    inner = m.Set("[N, M] -> { [i, j] : 1 <= i < N - 1 and 1 <= j < M - 1 }")
    near = m.Map("{ [i, j] -> [x, y] : -1 <= x - i <= 1 and -1 <= y - j <= 1 }")
    edge = grid.subtract(inner).coalesce()
    around = inner.apply(near).subtract(inner).coalesce()
    both = edge.union(around).coalesce()
    yield from (edge, around, both, grid.subtract(both).coalesce())


@program
def shifted(m):
    """A square and squares beside it."""
    square = u = m.Set("[N] -> { [i, j] : 0 <= i < N and 0 <= j < N }")
    for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1), (2, 0), (0, 2)):
        u = u.union(square.apply(m.Map(f"{{ [i, j] -> [i + {a}, j + {b}] }}"))).coalesce()
    yield u


@program
def squares_apart(m):
    """A hundred squares apart, of them what is in fifty others."""

    def squares(count: int, by: int) -> Any:  # noqa: ANN401
        corners = [(10 * (k % 10) + by, 10 * (k // 10)) for k in range(count)]
        return m.Set(f"{{ {'; '.join(f'[i, j] : {a} <= i < {a + 8} and {b} <= j < {b + 8}' for a, b in corners)} }}")

    u = squares(100, 0).coalesce()
    yield u
    yield u.intersect(squares(50, 5)).coalesce()
    yield u.subtract(squares(50, 5))


@program
def full_tiles(m):
    """Full and partial tiles of a triangle."""
    points = m.Set("[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M and j <= i }")
    tiles = points.apply(m.Map("{ S[i, j] -> [floor(i/32), floor(j/32)] }"))
    own = m.Map("{ [a, b] -> S[i, j] : 32a <= i < 32a + 32 and 32b <= j < 32b + 32 }")
    full = tiles.subtract(own.subtract_range(points).domain()).coalesce()
    yield full
    yield tiles.subtract(full).coalesce()


# ---- dependences

THREE_POINTS = (
    "[T, N] -> { S[t, i] -> S[t + 1, x] : -1 <= x - i <= 1 and 0 <= t < T - 1 and 0 < i < N - 1 and 0 < x < N - 1 }"
)


@program
def closures(m):
    """Closures of dependences of stencils."""
    for text in (
        THREE_POINTS,
        "[N] -> { S[i, j] -> S[i + 1, j] : 0 <= i < N - 1 and 0 <= j < N;"
        " S[i, j] -> S[i, j + 1] : 0 <= i < N and 0 <= j < N - 1 }",
    ):
        yield m.Map(text).transitive_closure()[0]


@program
def closures_of_mixed_steps(m):
    """Closures of steps of several lengths, and of two statements."""
    square = "0 <= i < N and 0 <= j < N"
    steps = "; ".join(f"[i, j] -> [i + {a}, j + {b}] : {square}" for a, b in ((1, 0), (0, 1), (1, 1)))
    yield m.Map(f"[N] -> {{ {steps} }}").transitive_closure()[0]
    by_one, by_three = (f"[i] -> [i + {d}] : 0 <= i < N and i mod 2 = {d // 2}" for d in (1, 3))
    yield m.Map(f"[N] -> {{ {by_one}; {by_three} }}").transitive_closure()[0]
    yield m.UnionMap(
        "[N, M] -> { S[i, j] -> S[i + 1, j] : 0 <= i < N and 0 <= j < M; S[i, j] -> T[i] : 0 <= i < N and 0 <= j < M;"
        " T[i] -> S[i + 1, 0] : 0 <= i < N }"
    ).transitive_closure()[0]


@program
def tile_dependences(m):
    """Dependences between skewed tiles."""
    steps = m.Map(THREE_POINTS)
    tile = m.Map("{ S[t, i] -> [floor(t/8), floor((t + i)/32)] }")
    between = steps.apply_domain(tile).apply_range(tile)
    yield between.coalesce()
    yield between.deltas().coalesce()
    yield between.subtract(m.Map("{ [a, b] -> [a, b] }")).coalesce()


@program
def last_writers(m):
    """The last write before a write to the same place."""
    writes = m.UnionMap("[N] -> { S[i, j] -> A[i + j] : 0 <= i < N and 0 <= j < N }")
    order = m.UnionMap("{ S[i, j] -> [i, j] }")
    same = m.Map.from_union_map(writes.apply_range(writes.reverse()).intersect(order.lex_gt_union_map(order)))
    last = same.lexmax()
    yield last.coalesce()
    yield same.domain().subtract(last.domain())


# ---- caches


def same_line(m: Any, accesses: str, times: str, lines: str, points: str) -> tuple[Any, Any]:  # noqa: ANN401
    """The lines that times touch, and the next time that touches the same one."""
    domain = m.UnionSet(points)
    order, touching = (m.UnionMap(text).intersect_domain(domain) for text in (times, accesses))
    touched = order.reverse().apply_range(touching).apply_range(m.UnionMap(lines))
    same = m.Map.from_union_map(touched.apply_range(touched.reverse()))
    later = m.Map.lex_lt(m.Set.from_union_set(touched.domain()).get_space())
    return touched, same.intersect(later).lexmin()


CUBE = "{ S[i, j, k] : 0 <= i < 64 and 0 <= j < 64 and 0 <= k < 64 }"
ORDER = "{ S[i, j, k] -> [i, j, k] }"


@program
def reuse(m):
    """The next access to a line of A, of a product of any size."""
    points = "[N] -> { S[i, j, k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }"
    _, soon = same_line(m, "{ S[i, j, k] -> A[i, k] }", ORDER, "{ A[i, j] -> L[i, floor(j/8)] }", points)
    yield soon.coalesce()


@program
def reuse_of_all(m):
    """The next access to a line of A, B or C."""
    accesses = m.UnionMap("{ [i, j, k, 0] -> C[i, j]; [i, j, k, 1] -> A[i, k]; [i, j, k, 2] -> B[k, j] }")
    accesses = accesses.intersect_domain(m.UnionSet("{ [i, j, k, a] : 0 <= i < 64 and 0 <= j < 64 and 0 <= k < 64 }"))
    lines = "{ A[i, j] -> A[i, floor(j/8)]; B[i, j] -> B[i, floor(j/8)]; C[i, j] -> C[i, floor(j/8)] }"
    touched = accesses.apply_range(m.UnionMap(lines))
    same = m.Map.from_union_map(touched.apply_range(touched.reverse()))
    yield same.intersect(m.Map.lex_lt(same.domain().get_space())).lexmin().coalesce()


@program
def reuse_in_tiles(m):
    """The next access but one to a line, in tiles."""
    times = "{ S[i, j, k] -> [floor(i/16), floor(j/16), i, j, k] }"
    _, soon = same_line(m, "{ S[i, j, k] -> A[i, k] }", times, "{ A[i, j] -> L[i, floor(j/8)] }", CUBE)
    yield soon.apply_range(soon).coalesce()


@program
def reuse_distance(m):
    """The lines touched until the next access to one."""
    touched, soon = same_line(m, "{ S[i, j, k] -> B[k, j] }", ORDER, "{ B[i, j] -> L[i, floor(j/8)] }", CUBE)
    space = soon.domain().get_space()
    between = m.Map.lex_le(space).intersect(soon.apply_range(m.Map.lex_lt(space).reverse()))
    between = between.intersect_range(m.Set.from_union_set(touched.domain()))
    yield between.coalesce()
    yield m.UnionMap.from_map(between).apply_range(touched).coalesce()


@program
def reuse_of_a_stencil(m):
    """The next access to a line, in a stencil of three points."""
    accesses = "{ S[t, i] -> A[i]; S[t, i] -> A[i - 1]; S[t, i] -> A[i + 1] }"
    points = "[T, N] -> { S[t, i] : 0 <= t < T and 1 <= i < N - 1 }"
    _, soon = same_line(m, accesses, "{ S[t, i] -> [t, i] }", "{ A[i] -> L[floor(i/8)] }", points)
    yield soon.coalesce()


@program
def reuse_of_statements(m):
    """The last access to an element before each of four statements', what lies between, and what is touched first."""
    points = m.UnionSet(
        "[N] -> { S[i] : 0 <= i < N; T[i, j] : 0 <= i < N and 0 <= j < N; U[i] : 0 <= i < N;"
        " V[i, j] : 0 <= i < N and 0 <= j < i }"
    )
    accesses = m.UnionMap(
        "{ S[i] -> x[i]; T[i, j] -> x[i]; T[i, j] -> A[i, j]; T[i, j] -> y[j]; U[i] -> y[i]; U[i] -> x[i];"
        " V[i, j] -> A[i, j]; V[i, j] -> x[j] }"
    ).intersect_domain(points)
    times = "{ S[i] -> [0, i, 0]; T[i, j] -> [1, i, j]; U[i] -> [2, i, 0]; V[i, j] -> [3, i, j] }"
    when = m.UnionMap(times).intersect_domain(points).reverse()
    touched = when.apply_range(accesses)
    same = m.Map.from_union_map(touched.apply_range(touched.reverse()))
    space = same.get_space().domain()
    last = same.intersect(m.Map.lex_gt(space)).lexmax()
    back = m.UnionMap.from_map(last).apply_domain(when).apply_range(when)
    between = m.Map.lex_ge(space).intersect(last.apply_range(m.Map.lex_le(space)))
    between = between.intersect_range(m.Set.from_union_set(touched.domain()))
    yield from (back, points.subtract(back.domain()).coalesce(), same.subtract(last).coalesce())
    yield m.UnionMap.from_map(between).apply_range(touched).coalesce()


# ---- footprints, layouts, gists


@program
def footprints(m):
    """What tiles touch in a stencil of five points."""
    points = m.Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }")
    tiles = m.Map("{ S[i, j] -> [floor(i/32), floor(j/32)] }").intersect_domain(points).reverse()
    found = tiles.apply_range(m.Map("{ S[i, j] -> A[i, j] }"))
    for at in ("i + 1, j", "i - 1, j", "i, j + 1", "i, j - 1"):
        found = found.union(tiles.apply_range(m.Map(f"{{ S[i, j] -> A[{at}] }}"))).coalesce()
    yield found
    yield found.range().coalesce()


@program
def diamonds(m):
    """What diamonds touch, and which there are."""
    points = m.Set("[T, N] -> { S[t, i] : 0 <= t < T and 0 <= i < N }")
    tile = m.Map("{ S[t, i] -> [floor((t + i)/16), floor((t - i)/16)] }").intersect_domain(points)
    touched = tile.reverse().apply_range(m.Map("{ S[t, i] -> A[i] }").union(m.Map("{ S[t, i] -> A[i + 1] }")))
    yield from (touched.coalesce(), touched.lexmin(), tile.range().coalesce())


@program
def padded(m):
    """A padded layout, its inverse and its banks."""
    layout = m.Map("{ A[i, j] -> [68 i + j + 4*floor(j/32)] : 0 <= i < 64 and 0 <= j < 64 }")
    banks = layout.apply_range(m.Map("{ [x] -> B[x mod 32] }"))
    below = m.Map("{ A[i, j] -> A[x, y] : y = j and x > i }")
    yield from (layout.reverse(), layout.apply_range(layout.reverse()).coalesce(), layout.range().coalesce())
    yield banks.apply_range(banks.reverse()).intersect(below).lexmin().coalesce()


@program
def extremes(m):
    """Parametric extremes."""
    for text in (
        "[N, M] -> { [i] -> [j, k] : 0 <= j < N and j + k <= M and 0 <= k <= i and i <= 2 j }",
        "[N] -> { [i, j] -> [x, y] : 3x + 2y <= N + i and x >= 0 and y >= j and x <= y }",
        "[N] -> { [i] -> [j] : exists e : j = 3 e + i and 0 <= j < N }",
    ):
        yield from (m.Map(text).lexmax(), m.Map(text).lexmin())


@program
def gists(m):
    """Gists in a loop, beside contexts that grow."""
    points = m.Set("[N, M] -> { [i, j, k] : 0 <= i < N and 0 <= j < M and i <= k < i + 32 and k < N + M }")
    for k in range(10):
        context = m.Set(
            f"[N, M] -> {{ [i, j, k] : N >= {k} and M >= {k} and i >= {k % 3} and j < M - {k} and k >= i }}"
        )
        yield points.gist(context).intersect(context)
        yield points.intersect(context).gist(points).intersect(points)


if __name__ == "__main__":

    def side(m: Any, f: Program) -> harness.Side:  # noqa: ANN401
        return harness.Side(tuple, lambda: [*f(m)])

    rows = [harness.Row(name, side(polyvolta.isl, f), side(islpy, f)) for name, f in PROGRAMS.items()]
    harness.main(__doc__, rows, repeat=9)
