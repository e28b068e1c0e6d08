"""Least and greatest points and values beside isl: lexmin, lexmax, dim_min, dim_max, min_val, max_val.

    python benchmarks/optima.py [--repeat 21] [--only 05,14]       # needs islpy: pip install -e ".[bench]"

Triangles, tiles with floors, last writers with parameters, unions of two to five pieces, existentials; `harness.py`
says how is measured. Prints a Markdown table.
"""

from __future__ import annotations

from collections.abc import Callable

import harness
import islpy as isl

from polyvolta.sets import Map, PwAff, Set

ROWS: list[harness.Row] = []


def row(kind: str, text: str, name: str, op: Callable, isls: Callable | None = None) -> None:
    """An operation on what a text says; `kind` is the class that reads it, in both libraries."""
    mine = {"Set": Set, "Map": Map, "PwAff": PwAff}[kind]
    theirs = getattr(isl, kind)
    number = f"{len(ROWS) + 1:02}"
    ROWS.append(
        harness.Row(
            f"{number} {name}",
            harness.Side(lambda: (mine(text),), op),
            harness.Side(lambda: (theirs(text),), isls or op),
        )
    )


def points(kind: str, text: str, name: str, *ops: str) -> None:
    """Rows of `lexmin`, `lexmax`, and both as functions (`min`, `max`, `pw min`, `pw max`)."""
    known = {
        "min": lambda s: s.lexmin(),
        "max": lambda s: s.lexmax(),
        "pw min": lambda s: s.lexmin_pw_multi_aff(),
        "pw max": lambda s: s.lexmax_pw_multi_aff(),
    }
    for op in ops:
        row(kind, text, f"{op}: {name}", known[op])


def extent(kind: str, text: str, name: str, *ops: tuple[str, int]) -> None:
    """Rows of `dim_min` and `dim_max` of a dimension by its position."""
    for op, at in ops:
        row(kind, text, f"{op} {at}: {name}", lambda s, op=op, at=at: getattr(s, op)(at))


TRIANGLE = "[N] -> { [i, j] : 0 <= i < N and i <= j < N }"
points("Set", TRIANGLE, "triangle", "min", "max", "pw max")
points("Map", "[N] -> { S[i] -> A[j] : 0 <= i < N and i <= 2j and j < N }", "half steps", "min", "pw min")
points("Map", "[N, M] -> { S[i] -> A[j, k] : 0 <= i, j < N and i <= j + k and 0 <= k < M }", "strip", "min", "max")
points("Set", "[N] -> { [i, j, k] : 0 <= i < N and i < j < N and j < k < N and 2k >= 3i }", "tetrahedron", "min", "max")
points("Set", "{ [i, j] : 0 <= i < 64 and i <= 3j + 1 and 2j <= 70 - i and i + j >= 9 }", "of numbers", "min", "max")

TILES = "[N, M] -> { [a, b, x, y] : a = floor(x/32) and b = floor(y/16) and 0 <= x < N and 0 <= y < M }"
points("Set", TILES, "tiles", "min", "max")
TILE_TO_POINT = "[N] -> { T[t] -> [i, j] : t = floor(i/32) and 0 <= i < N and i <= j < N and j mod 4 = 1 }"
points("Map", TILE_TO_POINT, "first point of a tile", "min", "max", "pw max")
points("Map", "[N] -> { S[i] -> [b] : exists j : b = floor((i + j)/8) and 0 <= j < 5 and 0 <= i < N }", "window", "max")
points("Map", "{ S[i] -> [j] : exists q : j = 3q + 1 and i <= j <= i + 7 and 0 <= i < 100 }", "residues", "min", "max")
points("Set", "[N] -> { [i] : exists a, b : i = 4a + 6b and 0 <= a and 0 <= b and i >= N }", "4a + 6b", "min")
points("Set", "[N] -> { [i, j] : exists k : 0 <= k < N and i = 2k and k <= j < N }", "doubled", "min", "pw max")

WRITERS = "[N] -> { R[i, j] -> W[t, x] : 0 <= i < N and 0 <= j < N and 0 <= t < i and x = j and 0 < x < N - 1 }"
points("Map", WRITERS, "writer before", "max", "pw max")
STENCIL = (
    "[T, N] -> { R[t, i] -> W[s, k] : 0 <= t < T and 0 < i < N and 0 <= s < T and 0 < k < N and k = i - 1 "
    "and s < t; R[t, i] -> W[s, k] : 0 <= t < T and 0 < i < N and 0 <= s < T and 0 < k < N and k = i and s = t }"
)
points("Map", STENCIL, "writers of a stencil", "max", "pw max")
TRIANGULAR = (
    "[N] -> { R[i, j] -> W[k, l] : 0 <= i < N and 0 <= j < i and 0 <= k < N and 0 <= l < k and l = j and k < i; "
    "R[i, j] -> W[k, l] : 0 <= i < N and 0 <= j < i and 0 <= k < N and 0 <= l < k and k = j and l < j }"
)
points("Map", TRIANGULAR, "writers of a solver", "max", "pw max")
points(
    "Map",
    "[N, M] -> { R[i] -> W[a, b] : a = 0 and 0 <= b < M and b = i and 0 <= i < N; "
    "R[i] -> W[a, b] : a = 1 and 0 <= b < N and 2b = i and 0 <= i < N }",
    "two loops' writers",
    "max",
    "pw max",
)
points("Map", "[N] -> { R[i] -> W[j] : 0 <= j < i < N; R[i] -> W[j] : j = 2i and 0 <= i < N }", "two", "min", "max")
points(
    "Map",
    "[N] -> { R[i] -> W[j] : 0 <= j < i < N; R[i] -> W[j] : j = N - i and 0 <= i < N; R[i] -> W[j] : 5 <= j <= i + 9 }",
    "three",
    "min",
    "max",
    "pw max",
)
points(
    "Set",
    "[N, M] -> { [i, j] : N <= i <= 9 and j = 1; [i, j] : M <= i <= 7 and 0 <= j <= i; [i, j] : i = N + M and j = 0; "
    "[i, j] : i = 4 and j = N }",
    "four of two parameters",
    "min",
    "pw min",
)
points(
    "Set",
    "[N] -> { [i, j] : 0 <= i < N and j = 0; [i, j] : 3 <= i < 9 and j = N; [i, j] : i = N - 5 and 2 <= j <= 4; "
    "[i, j] : i >= 7 and i mod 3 = 1 and j = i and i < N; [i, j] : 2i = N and j = 1 }",
    "five",
    "min",
    "max",
)
points(
    "Map",
    "[N] -> { S[i] -> A[a] : a = floor(i/4) and 0 <= i < N; S[i] -> A[a] : 3a = i and i >= 6; "
    "S[i] -> A[a] : a = 5 and i < 40 }",
    "tiles and residues",
    "min",
    "max",
)
points(
    "Map",
    "{ S[i, j] -> A[x] : x = i + j and 0 <= i, j < 8; S[i, j] -> A[x] : x = 2i and 0 <= i, j < 8; "
    "S[i, j] -> A[x] : x = 7 and i = j and 0 <= i < 8 }",
    "addresses",
    "min",
    "pw max",
)

extent("Set", TRIANGLE, "triangle", ("dim_min", 1), ("dim_max", 0))
extent("Set", TILES, "tiles", ("dim_max", 0), ("dim_max", 2))
extent("Set", "[N, M] -> { [i, j] : 0 <= i < N and i <= j < M and 2j >= 3i }", "wedge", ("dim_min", 1), ("dim_max", 0))
extent(
    "Set",
    "[N] -> { [i] : 0 <= i < N; [i] : i = 2N; [i] : 3 <= i <= 9 and N > 4 }",
    "three",
    ("dim_min", 0),
    ("dim_max", 0),
)
extent("Map", TILE_TO_POINT, "points of a tile", ("dim_min", 0), ("dim_max", 1))
extent("Map", TRIANGULAR, "writers of a solver", ("dim_max", 0))

FORM = "{ [i, j] -> [2i - 3j] }"
for text, name in (
    ("{ [i, j] : 0 <= i < 64 and i <= j < 80 }", "triangle of numbers"),
    ("{ [i, j] : exists q : i = 4q + 1 and 0 <= i < 64 and 2i <= 3j and j < 80 }", "residues"),
    (
        "{ [i, j] : 0 <= i < 9 and j = 4; [i, j] : 3 <= j < 12 and i = 2j; [i, j] : i + j = 20 and 0 <= i <= j }",
        "three",
    ),
):
    for op in ("min", "max"):
        row(
            "Set",
            text,
            f"{op}_val: {name}",
            lambda s, op=op: getattr(s, op)("2i - 3j"),
            lambda s, op=op: getattr(s, f"{op}_val")(isl.Aff(FORM)),
        )
row(
    "PwAff",
    "{ [i] -> [i // 4] : 3 <= i < 99; [i] -> [9 - i] : 100 <= i < 140 }",
    "min_val: piecewise",
    lambda f: f.min_val(),
)
row("PwAff", "{ [i, j] -> [i + 2j] : 0 <= i < 9 and i <= j < 9 }", "max_val: triangle", lambda f: f.max_val())


if __name__ == "__main__":
    harness.main(__doc__, ROWS, repeat=21)
