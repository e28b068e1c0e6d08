"""Unroll and jam: blocks of iterations of outer loops, written out inside of the innermost one.

    for i, for k, for j                    for i by 2, for k by 2
      C[i,j] += A[i,k]*B[k,j];      =>       for j
                                               C[i,j] += A[i,k]*B[k,j];      C[i,j] += A[i,k+1]*B[k+1,j];
                                               C[i+1,j] += A[i+1,k]*B[k,j];  C[i+1,j] += A[i+1,k+1]*B[k+1,j];

What was loaded for one iteration is in a register for the next ones: in the example B[k, j] for two rows, C[i, j] for
two values of k. It is a tile of a few points, those of a full tile written out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polyvolta.sched.errors import BadTile
from polyvolta.sched.passes.bands.isolate import isolate_full_tiles
from polyvolta.sched.passes.bands.tile import tile
from polyvolta.sched.passes.common.arguments import table, whole
from polyvolta.sched.passes.common.places import MemberRef, members_at
from polyvolta.sched.structure.given import of_a_tree
from polyvolta.sched.tree import Path, Schedule
from polyvolta.sets import Set
from polyvolta.sets.values.space import distinct


@of_a_tree
def unroll_and_jam(
    schedule: Schedule, at: Path, times: Mapping[MemberRef, int], context: Set | str | None = None
) -> Schedule:
    """Write out so many iterations of some members of the band at a path inside of its last member.

        BAND: S[i, j] → [i, j]      =>      BAND: S[i, j] → [⌊i/2⌋, j]         unroll_and_jam(tree, at, {"i": 2})
                                              BAND: S[i, j] → [i - 2⌊i/2⌋, 0]

    What is left over, where the iterations are no multiple, is looped over.

    Parameters
    ----------
    times : by member, how many iterations; the last member of the band is best left out.
    context : what is known of the parameters.

    Raises
    ------
    BadPath, BadArgument : no such member; times that are no mapping.
    BadTile : a number that is not positive.
    IllegalTransformation : a dependence points backwards in a member.

    Cost: tiling the band and isolating its full tiles.

    Source: D. Callahan, S. Carr, K. Kennedy, "Improving register allocation for subscripted variables" (PLDI 1990).

    >>> from polyvolta.sched import Band, Domain, Member, Schedule, to_c
    >>> from polyvolta.sets import Set, var
    >>> band = Band(tuple(Member((("S", var(n)),)) for n in "ij"), permutable=True)
    >>> tree = Schedule(Domain(Set("[M] -> { S[i, j] : 0 <= i < M and 0 <= j < 64 }"), band))
    >>> print(to_c(unroll_and_jam(tree, (0,), {"i": 2}), macros=False))
    for (int c0 = 0; c0 < floord(M, 2); c0 += 1)
      for (int c1 = 0; c1 < 64; c1 += 1) {
        S(2 * c0, c1);
        S(2 * c0 + 1, c1);
      }
    if (M >= 1 && (M + 1) % 2 == 0)
      for (int c1 = 0; c1 < 64; c1 += 1)
        S(M - 1, c1);
    """
    band = schedule.band(at)
    times = table(times, "how often, by member", '{"i": 4}')
    sizes = dict(zip(members_at(schedule, at, times), times.values(), strict=True))
    for n in sizes.values():
        if whole(n) is None or n < 1:
            raise BadTile(f"iterations are written out {n!r} times", where=schedule.marked(at), hint='such as {"i": 4}')
    made = tile(schedule, at, [sizes.get(k, 1) for k in range(len(band.members))])
    made = isolate_full_tiles(made, at, context)
    outer, inner = made.band(at), made.band((*at, 0))
    tiles = outer.isolate
    assert tiles is not None
    members = tuple(replace(m, isolated_type="unroll") if k in sizes else m for k, m in enumerate(inner.members))
    more = distinct((f"p{k}" for k in range(len(members))), (*tiles.param_names, *tiles.space.dims))
    return made.replace((*at, 0), replace(inner, members=members, isolate=tiles.add_dims(*more)))
