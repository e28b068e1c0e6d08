"""Short programs as courses on polyhedral compilers have them, run with islpy and with `polyvolta.isl`."""

import pytest

import polyvolta.isl as ours


def tiles_by_hand(m):
    """Tiles as isl's programs make them, which divide and round, beside `band_tile`."""
    domain = m.UnionSet("{ S[i, j] : 0 <= i < 20 and 0 <= j < 20 }")
    times = m.MultiUnionPwAff("[{ S[i, j] -> [(i)] }, { S[i, j] -> [(i + j)] }]")
    sizes = m.MultiVal.from_val_list(times.get_space(), m.ValList.from_val(m.Val(4)).add(m.Val(8)))
    tile, point = times.scale_down_multi_val(sizes).floor(), times.mod_multi_val(sizes)
    node = m.Schedule.from_domain(domain).get_root().child(0)
    yield node.insert_partial_schedule(tile).child(0).insert_partial_schedule(point).get_schedule().get_map()
    yield node.insert_partial_schedule(times).band_tile(sizes).get_schedule().get_map()
    yield m.UnionMap.from_multi_union_pw_aff(tile.scale_multi_val(sizes).add(point))
    yield tile.sub(tile).zero_union_set()


def blocks(m):
    """The instances of one block of threads, and what they touch."""
    tree = """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }", child: { schedule:
      "[{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]", permutable: 1, coincident: [ 1, 1 ] } }"""
    node = m.Schedule.read_from_str(m.DEFAULT_CONTEXT, tree).get_root().child(0)
    sizes = m.MultiVal.from_val_list(node.band_get_space(), m.ValList.from_val(m.Val(32)).add(m.Val(32)))
    node = node.band_tile(sizes)
    which = node.band_get_partial_schedule().get_union_pw_aff(0).scale_down_val(m.Val(32)).floor()
    yield which.sub(m.UnionPwAff("[N, b] -> { S[i, j] -> [(b)] }")).zero_union_set()
    above = node.child(0).get_prefix_schedule_union_map()
    touched = m.Map.from_union_map(above.reverse().apply_range(m.UnionMap("[N] -> { S[i, j] -> A[i + j] }")))
    yield touched
    yield node.child(0).get_prefix_schedule_multi_union_pw_aff().get_space().dim(m.dim_type.set)


def stencil(m):
    """Flow, what is live, and the footprints of tiles of a stencil in one dimension."""
    domain = m.UnionSet("[T, N] -> { S[t, i] : 0 <= t < T and 1 <= i < N - 1 }")
    reads = m.UnionMap("{ S[t, i] -> A[t, i - 1]; S[t, i] -> A[t, i]; S[t, i] -> A[t, i + 1] }")
    reads = reads.intersect_domain(domain)
    writes = m.UnionMap("{ S[t, i] -> A[t + 1, i] }").intersect_domain(domain)
    yield reads.range().subtract(writes.range())
    flow = writes.apply_range(reads.reverse())
    yield flow.deltas()
    yield m.UnionMap("{ S[t, i] -> [floor(t/4), floor(i/8)] }").reverse().apply_range(reads)
    needed = writes.range().intersect(m.UnionSet("[T] -> { A[T, i] }")).apply(writes.reverse())
    steps, _ = m.Map.from_union_map(flow.reverse()).transitive_closure()
    yield needed.union(needed.apply(m.UnionMap.from_map(steps)))
    yield flow.lexmax()
    yield m.UnionMap.empty(flow.get_space()).union(m.UnionMap("{ Q[] -> R[] }"))


def tagged(m):
    """Accesses that carry the name of a reference."""
    text = "[n] -> { [S[i] -> r[]] -> A[i] : 0 <= i < n; [S[i] -> s[]] -> A[i + 1] : 0 <= i < n }"
    accesses = m.UnionMap(text)
    yield accesses.domain_factor_domain()
    untag = accesses.domain().unwrap().domain_map_union_pw_multi_aff()
    yield m.UnionMap("{ S[i] -> [i] }").preimage_domain_union_pw_multi_aff(untag)
    yield accesses.curry().uncurry()
    yield untag.get_space().is_params()


@pytest.mark.parametrize("program", [tiles_by_hand, blocks, stencil, tagged])
def test_a_program(program):
    isl = pytest.importorskip("islpy")
    for found, wanted in zip(program(ours), program(isl), strict=True):
        if hasattr(wanted, "is_equal"):
            assert wanted.is_equal(type(wanted)(str(found)))
        else:
            assert found == wanted


def test_tiles_by_hand():
    by_hand, tiled, back, same = map(str, tiles_by_hand(ours))
    assert by_hand == "{ S[i, j] -> [floor(i/4), floor((i + j)/8), i mod 4, (i + j) mod 8] }"
    assert tiled == "{ S[i, j] -> [4*floor(i/4), 8*floor((i + j)/8), i mod 4, (i + j) mod 8] }"
    assert back == "{ S[i, j] -> [i, i + j] }" and same == "{ S[i, j] }"
