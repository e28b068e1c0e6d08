"""Integer sets beside isl: the same operations on the same inputs, in one process, turn by turn.

    python benchmarks/sets.py [--repeat 41] [--only 05,14]       # needs islpy: pip install -e ".[bench]"

`harness.py` says how. Prints a Markdown table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import harness
import islpy as isl

from polyvolta.sets import Map, Set

CONTEXT = "[M,N,K] -> { S[i,j,k] : M>0 and N>0 and K>0 }"
DOMAIN = "[M,N,K] -> { S[i,j,k] : 0<=i<M and 0<=j<N and 0<=k<K }"
CONCRETE = "{ S[i,j,k] : 0<=i<4096 and 0<=j<4096 and 0<=k<4096 }"
TILE1 = "{ S[i,j,k] -> [floor(i/128), floor(j/128), floor(k/32), i mod 128, j mod 128, k mod 32] }"
TILE3 = (
    "{ S[i,j,k] -> [floor(i/128), floor(j/128), floor(k/32), floor((i mod 128)/64), floor((j mod 128)/32), "
    "floor((k mod 32)/8), floor((i mod 64)/16), floor((j mod 32)/8), i mod 16, j mod 8, k mod 8] }"
)
ACCESS = "{ S[i,j,k] -> A[i,k] }"
FOOTPRINT = "[M,N,K] -> { [a,b,c] -> A[i,k] : 128a<=i<128a+128 and 32c<=k<32c+32 and 0<=i<M and 0<=k<K and 0<=128b<N }"
TILED = (
    "[M,N,K] -> { [a,b,c,x,y,z] : a>=0 and b>=0 and c>=0 and 0<=x<128 and 0<=y<128 and 0<=z<32 and 128a+x<M "
    "and 128b+y<N and 32c+z<K }"
)
TILES = "[M,N] -> { [a,b] : exists i,j: 0<=i<M and 0<=j<N and a=floor(i/128) and b=floor(j/128) }"
FULL = "[M,N] -> { [a,b] : 0<=a and 0<=b and 128a+127<M and 128b+127<N }"
TILE_CONTEXT = (
    "[M,N,K] -> { [a,b,c,x,y,z] : M>0 and N>0 and K>0 and 0<=x<128 and 0<=y<128 and 0<=z<32 and a>=0 and b>=0 "
    "and c>=0 }"
)
QUADRANTS = (
    "[M,N]->{[i,j]: 0<=i<M and 0<=j<N and i<64 and j<64; [i,j]: 0<=i<M and 0<=j<N and i>=64 and j<64;"
    "[i,j]: 0<=i<M and 0<=j<N and i<64 and j>=64; [i,j]: 0<=i<M and 0<=j<N and i>=64 and j>=64}"
)
LAYOUT = "{ T[t,r] -> C[i,j] : 0<=t<32 and 0<=r<4 and i=floor(t/4)+8*floor(r/2) and j=2*(t mod 4)+(r mod 2) }"
BIT = "((floor(c/{b}) + floor(r/{b})) mod 2)"
SWIZZLE = (
    "{ [r,c] -> [r, x] : 0<=r<8 and 0<=c<8 and x = " + " + ".join(f"{b}*{BIT.format(b=b)}" for b in (1, 2, 4)) + " }"
)
CHUNKS = "{ T[t] -> [r,c] : 0<=t<32 and r=floor(t/4) and c=8*(t mod 4) }"
BANKS = "{ [r,c] -> [b] : b=(36r+c) mod 32 }"


ROWS: list[harness.Row] = []


def row(name: str, read: Callable, ours: Callable, isls: Callable | None = None) -> None:
    """One operation in both libraries; `read` makes the inputs from texts, given that library's Set and Map."""
    mine = harness.Side(lambda: read(Set, Map), ours)
    theirs = harness.Side(lambda: read(isl.Set, isl.Map), isls or ours)
    ROWS.append(harness.Row(name, mine, theirs))


def tiled(S, M, tile: str):
    return M(tile).intersect_domain(S(DOMAIN)).reverse().apply_range(M(ACCESS))


def footprint(m):
    return m.project_out(isl.dim_type.in_, 3, 3) if isinstance(m, isl.Map) else m.project_out(3, 4, 5)


def both(S, *texts: str):
    """Intersected, so that parsing has not already decided emptiness."""
    return (functools.reduce(lambda a, b: a.intersect(b), map(S, texts)),)


def domain_and_tile(tile: str) -> Callable:
    return lambda S, M: (S(DOMAIN), M(tile))


row("01 parse the matmul domain", lambda S, M: (S,), lambda S: S(DOMAIN))
row("02 parse a 1-level tile map", lambda S, M: (M,), lambda M: M(TILE1))
row("03 parse a 3-level tile map", lambda S, M: (M,), lambda M: M(TILE3))
row("04 print a 3-level tile map", lambda S, M: (M(TILE3),), str)
row("05 apply 1-level tile map to domain", domain_and_tile(TILE1), lambda d, t: d.apply(t))
row("06 apply 3-level tile map to domain", domain_and_tile(TILE3), lambda d, t: d.apply(t))
for level, tile in (("07", TILE1), ("08", TILE3)):
    row(
        f"{level} tile^-1 . access A ({'13'[level == '08']}-level)",
        lambda S, M, tile=tile: (S(DOMAIN), M(tile), M(ACCESS)),
        lambda d, t, a: t.intersect_domain(d).reverse().apply_range(a),
    )
row("09 block footprint: project out 3 dims", lambda S, M: (tiled(S, M, TILE1),), footprint)
row(
    "09b ... known divs, irredundant, coalesced",
    lambda S, M: (tiled(S, M, TILE1),),
    lambda m: footprint(m).known_divs().remove_redundancies().coalesce(),
    lambda m: footprint(m).compute_divs().remove_redundancies().coalesce(),
)
row(
    "10 footprint end to end",
    lambda S, M: (S(DOMAIN), M(TILE1), M(ACCESS)),
    lambda d, t, a: footprint(t.intersect_domain(d).reverse().apply_range(a)),
)
row(
    "11 box hull of the footprint",
    lambda S, M: (footprint(tiled(S, M, TILE1)),),
    lambda m: m.box_hull(),
    lambda m: m.get_range_simple_fixed_box_hull(),
)
row(
    "12 lexmin of the footprint, piecewise",
    lambda S, M: (footprint(tiled(S, M, TILE1)),),
    lambda m: m.lexmin_pw_multi_aff(),
)
row(
    "13 lexmax of the footprint, piecewise",
    lambda S, M: (footprint(tiled(S, M, TILE1)),),
    lambda m: m.lexmax_pw_multi_aff(),  # ours says min(128*i0 + 127, M - 1), isl splits it
)
row(
    "13b ... split into pieces without min",
    lambda S, M: (footprint(tiled(S, M, TILE1)),),
    lambda m: m.lexmax_pw_multi_aff().pieces,
    lambda m: m.lexmax_pw_multi_aff(),
)
row(
    "14 is_equal(footprint, closed form)",
    lambda S, M: (footprint(tiled(S, M, TILE1)), M(FOOTPRINT)),
    lambda a, b: a.is_equal(b),
)
for name, texts in {
    "15 is_empty: tiled system, feasible": (TILED, "[M,N,K] -> { [a,b,c,x,y,z] : x + 2y >= 5 }"),
    "16 is_empty: tiled, rationally empty": (TILED, "[M,N,K] -> { [a,b,c,x,y,z] : 128a - M >= 200 }"),
    "16b is_empty: thin parallelogram": ("{ [x,y] : 3x-3y+2>=0 and -3x+3y-1>=0 }", "{ [x,y] : 0<=x<=100 }"),
    "16c is_empty: needle triangle": (
        "{ [x,y] : y>=0 and 300000x-299999y-100000>=0 }",
        "{ [x,y] : -300000x+299998y+200000>=0 }",
    ),
    "16d is_empty: with divs": (
        "[M] -> { [i] : 0<=i<M and i mod 4 = 2 }",
        "[M] -> { [i] : exists q : i = 8q + 3 or i = 8q }",
    ),
}.items():
    row(name, lambda S, M, texts=texts: both(S, *texts), lambda s: s.is_empty())
row("17 subtract: all tiles - full tiles", lambda S, M: (S(TILES), S(FULL)), lambda a, b: a.subtract(b))
row(
    "18 gist(tiled domain, context)",
    lambda S, M: (S(DOMAIN).apply(M(TILE1)), S(TILE_CONTEXT)),
    lambda a, c: a.gist(c),
)
row("19 coalesce 4 quadrants", lambda S, M: (S(QUADRANTS),), lambda s: s.coalesce())
row("20 is_bijective, m16n8 layout", lambda S, M: (M(LAYOUT),), lambda m: m.is_bijective())
row("21 inverse of the m16n8 layout", lambda S, M: (M(LAYOUT),), lambda m: m.reverse().as_pw_multi_aff())
row(
    "22 bank conflicts: compose, count",
    lambda S, M: (M(CHUNKS), M(BANKS)),
    lambda a, b: a.apply_range(b).range().count(),
    lambda a, b: a.apply_range(b).range().count_val(),
)
row("23 sample of a concrete tiled domain", lambda S, M: (S(CONCRETE).apply(M(TILE1)),), lambda s: s.sample_point())
row("24 lexmin of a concrete tiled domain", lambda S, M: (S(CONCRETE).apply(M(TILE1)),), lambda s: s.lexmin())
row("25 affine hull of the access graph", lambda S, M: (tiled(S, M, TILE1).wrap(),), lambda s: s.affine_hull())
row("26 intersect(domain, context)", lambda S, M: (S(DOMAIN), S(CONTEXT)), lambda a, b: a.intersect(b))
row("27 complement(domain)", lambda S, M: (S(DOMAIN),), lambda a: a.complement())
row(
    "28 is_subset with divs",
    lambda S, M: (S("[M]->{[i]: 0<=i<M and i mod 16 = 0}"), S("[M]->{[i]: 0<=i<M and i mod 8 = 0}")),
    lambda a, b: a.is_subset(b),
)
row(
    "29 transitive closure of a chain",
    lambda S, M: (M("[K] -> { [k] -> [k+1] : 0<=k<K-1 }"),),
    lambda m: m.transitive_closure()[0],
)
row("S1 inverse of a 3-bit XOR swizzle", lambda S, M: (M(SWIZZLE),), lambda m: m.reverse().as_pw_multi_aff())
row("S2 is_bijective, 3-bit XOR swizzle", lambda S, M: (M(SWIZZLE),), lambda m: m.is_bijective())


if __name__ == "__main__":
    core = [n for n in (r.name.split()[0] for r in ROWS) if n != "13b" and not n.startswith("S")]
    harness.main(__doc__, ROWS, repeat=41, groups={"rows 01 to 29 without 13b": core})
