"""Every kernel that the package makes is proved to compute its graph: no false alarm."""

import combinations as cb
import pytest

import polyvolta as pv
from polyvolta.cli.gallery import IDIOMS, idiom
from polyvolta.cuda.verify.engine.machine import run
from polyvolta.cuda.verify.values.contents import Contents

M, N, K, L = pv.sizes("M N K L")
SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
LARGE_MMA = {"block_tile": (32, 32, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"}
WAYS = {
    "plain": SMALL,
    "buffers": {**SMALL, "buffers": 2},
    "split": {**SMALL, "split_k": 2},
    "split, buffers": {**LARGE_MMA, "split_k": 4, "buffers": 2},
    "pad": {**SMALL, "partial": "pad"},
    "m32n32k8": LARGE_MMA,
}


def tensor(name, dims, layout="row"):
    return pv.tensor(name, dims, layout=layout)


A, B, P, Q = (tensor(n, d) for n, d in zip("ABPQ", [(M, K), (K, N)] * 2))


def contents(kernel):
    client = Contents(kernel.ir, kernel.graph)
    return client, run(kernel.ir, [client])


def findings(kernel):
    return contents(kernel)[1].findings


def proved(kernel):
    client, done = contents(kernel)
    assert done.findings == {}
    return client, done


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", IDIOMS)
def test_the_gallery_is_proved(name, way):
    client, done = proved(pv.compile(idiom(name), options=pv.Options(**WAYS[way])))
    assert done.ways == 1  # a sum over no k is no way of its own
    for proof in client.proofs:
        assert client.shown(proof).relation


GRAPHS = {
    "one k": lambda: tensor("A", (M, 1)) @ tensor("B", (1, N)),
    "one row": lambda: tensor("A", (1, K)) @ B + tensor("b", (N,)),
    "one column": lambda: pv.relu(A @ tensor("B", (K, 1)) + tensor("b", (M, 1))),
    "a tensor twice": lambda: pv.relu(tensor("S", (N, N)) @ tensor("S", (N, N))) + tensor("S", (N, N)),
    "thirds": lambda: pv.relu((A @ B) / 3 - 0.1 * (P @ Q) + 1) * 2,
    "a product twice": lambda: (A @ B) * (A @ B) + A @ B,
    "nothing": lambda: (A @ B) - (A @ B),
    "infinite beside k": lambda: pv.log(A) @ pv.exp(B),
    "scalars": lambda: pv.scalar("a") * ((pv.scalar("b") * A + 1) @ B),
    "vectors": lambda: (A * tensor("r", (M, 1)) + tensor("k", (K,))) @ (B * tensor("c", (N,)) + tensor("q", (K, 1))),
    "vectors alone": lambda: (tensor("r", (M, 1)) * tensor("k", (K,))) @ B,
    "another depth": lambda: A @ B - 2 * (tensor("P", (M, L)) @ tensor("Q", (L, N))),
    "products and more": lambda: [A @ B, pv.relu(A @ B), pv.tanh(A @ B) + tensor("b", (1, N)) * tensor("z", (1, 1))],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_all_kinds_are_proved(name):
    assert findings(pv.compile(GRAPHS[name](), options=pv.Options(**SMALL))) == {}


@pytest.mark.parametrize("depth", [8, 17, 512])
@pytest.mark.parametrize("way", ["plain", "buffers", "split"])
def test_depths_given_as_numbers_are_proved(depth, way):
    graph = tensor("A", (100, depth)) @ tensor("B", (depth, 40), "col")
    assert findings(pv.compile(graph, options=pv.Options(**WAYS[way]))) == {}


def test_narrower_accesses_are_proved():
    assert findings(pv.compile(pv.relu(A @ B), options=pv.Options(**SMALL)).variant(A=4, B=1)) == {}


@pytest.mark.parametrize("combination", cb.chosen("", "11/83"), ids=lambda c: c.name)
def test_a_sample_of_the_matrix_is_proved(combination):
    assert findings(combination.compile()) == {}


def test_what_is_shown_has_the_kernel_in_it():
    graph = pv.relu(2 * (pv.relu(A) @ B) - P @ Q + tensor("bias", (N,)))
    client, _ = proved(pv.compile(graph, options=pv.Options(**WAYS["split"])))
    fresh, sums, result = (client.shown(p) for p in ("fresh", "sums", "result"))
    assert "{ shared_A[i, k] = relu(A[32*blockIdx.y + i, 32*c2 + k]) }" in fresh.relation
    assert "{ shared_Q[k, j] = Q[32*c2 + k, 32*blockIdx.x + j] }" in fresh.relation
    assert sums.statement == "each k of relu(A) @ B and of P @ Q is summed once, and none beyond; sums are fp32"
    assert "k = 32*t + o : 0 <= k < K and 0 <= o < 32 }, o of 2 parts: 0 .. 15 | 16 .. 31" in sums.relation
    assert "computed as relu(sub(bias, (-2*(relu(A) @ B) + (P @ Q))))" in result.relation


@pytest.mark.parametrize(("target", "depth"), [("sm_70", 32), ("sm_75", 32), ("sm_80", 64)])
def test_what_a_tile_is_is_told_of_any_trip(target, depth):
    """On sm_80 the first tile's fragments are read before the loop; that isn't what is shown of the others."""
    M, N, K = pv.sizes("M N K")
    plain = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)), target=target)
    relation = plain.verify("fresh")["fresh"].relation
    rows, columns, _ = plain.options.block_tile
    assert relation == (f"{{ shared_A[i, k] = A[{rows}*blockIdx.y + i, {depth}*c2 + k] }}; "
                        f"{{ shared_B[k, j] = B[{depth}*c2 + k, {columns}*blockIdx.x + j] }}")  # fmt: skip
