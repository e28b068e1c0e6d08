"""Options: what makes sense, what a target can serve, the space of all that are legal, and the default rule."""

import pickle
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.needs import Needs, needs_of
from polyvolta.compiler.options import Options, default_options
from polyvolta.compiler.rule.problems import fits
from polyvolta.compiler.rule.values import ACCUMULATORS, BadOption
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.cuda.target.registry import target_of
from polyvolta.graph.dag import Graph
from polyvolta.graph.plans.idioms import ACCUMULATORS as KINDS_OF_ACCUMULATORS
from polyvolta.graph.plans.idioms import plan

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L), layout="col"), pv.tensor("Q", (L, N))
bias = pv.tensor("bias", (N,))
GRAPHS = {
    "product": A @ B,
    "epilogue": pv.relu(A @ B + bias),
    "prologue": pv.relu(A + pv.tensor("A2", (M, K))) @ B,
    "sum": A @ B + P @ Q,
    "two": (A @ B) * (P @ Q),
    "outputs": [A @ B, P @ Q],
}
SM_70 = target_of("sm_70")


# ---- on their own


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block_tile": (128, 128)}, "(?s)block_tile is three positive ints.*hint: try block_tile=.128, 128, 32."),
        ({"block_tile": 128}, "block_tile is three positive ints"),
        ({"warp_tile": (64, 0, 32)}, "(?s)warp_tile is three positive ints.*hint: try warp_tile=.64, 64, 32."),
        ({"block_tile": (128, 128, 32.0)}, "block_tile is three positive ints"),
        ({"macro_mma": 16}, "macro_mma is a name"),
        ({"split_k": 0}, "split_k is 1, 2, 4 or 8, not 0\nhint: try split_k=1"),
        ({"split_k": True}, "split_k is 1, 2, 4 or 8, not True"),
        ({"split_k": 3}, "split_k is 1, 2, 4 or 8, not 3\nhint: try split_k=2"),
        ({"split_k": 16}, "split_k is 1, 2, 4 or 8, not 16\nhint: try split_k=8"),
        ({"buffers": 9}, "buffers is 1, 2, 3, 4, 5, 6, 7 or 8, not 9\nhint: try buffers=8"),
        ({"prefetch": 8}, "prefetch is 0, 1, 2, 3, 4, 5, 6 or 7, not 8\nhint: try prefetch=7"),
        ({"partial": "guards"}, "did you mean 'guard'"),
        ({"accumulators": 2}, "accumulators is 'auto' or 'one' or 'separate', not 2"),
        ({"blok_tile": (1, 2, 3)}, "did you mean 'block_tile'"),
    ],
)
def test_options_that_mean_nothing(options, words):
    with pytest.raises(BadOption, match=words):
        pv.Options(**options)


@pytest.mark.parametrize("value, near", [("2", 2), ("3", 2), (4.0, 4), (100, 8), (-1, 1), ("two", 1), (True, 1)])
def test_hints_take_what_is_no_number_for_the_one_it_means(value, near):
    with pytest.raises(BadOption) as caught:
        pv.Options(split_k=value)
    assert caught.value.hint == f"try split_k={near}"


def test_whatever_counts_is_an_int():
    """Numbers of numpy, as loops over sizes give them."""
    wanted = pv.Options((64, 64, 32), (32, 32, 32), split_k=2, buffers=2, prefetch=1, fragments=1, group=4, occupancy=2)
    made = pv.Options(
        tuple(np.array([64, 64, 32])), [np.int32(32), np.uint8(32), np.int16(32)], split_k=np.int64(2),
        buffers=np.uint8(2), prefetch=np.int64(1), fragments=np.int8(1), group=np.int64(4), occupancy=np.int64(2),
    )  # fmt: skip
    assert made == wanted and repr(made) == repr(wanted) and made.given == wanted.given
    assert pv.compile(A @ B, options=made).source == pv.compile(A @ B, options=wanted).source
    for wrong in ({"buffers": np.float32(2)}, {"buffers": np.True_}, {"block_tile": (64, np.float64(64), 32)}):
        with pytest.raises(BadOption):
            pv.Options(**wrong)


def test_options_know_accumulators_as_their_makers_do():
    """Options are light and repeat a small table of a module that they don't import."""
    assert ACCUMULATORS == KINDS_OF_ACCUMULATORS


def test_options_are_values():
    assert pv.Options(buffers=2) == pv.Options(buffers=2) != pv.Options()
    assert eval(repr(pv.Options(split_k=4)), {"Options": pv.Options}) == pv.Options(split_k=4)
    assert hash(pv.Options()) == hash(pv.Options(block_tile=pv.Options().block_tile))
    with pytest.raises(AttributeError):
        pv.Options().buffers = 2


def test_options_know_which_were_given():
    options = pv.Options(split_k=4, buffers=None)
    assert options.given == {"split_k"} == pickle.loads(pickle.dumps(options)).given
    assert replace(options, buffers=2).given == set(OPTIONS) and replace(options, buffers=2).split_k == 4


# ---- against the target


@pytest.mark.parametrize(
    ("graph", "options", "words"),
    [
        ("product", {"block_tile": (96, 128, 32), "warp_tile": (64, 64, 32)}, "along M: 96 and 64"),
        ("product", {"block_tile": (128, 128, 32), "warp_tile": (64, 8, 32)}, "m16n16k8 along N: 8 and 16"),
        ("product", {"block_tile": (128, 128, 12), "warp_tile": (64, 64, 12)}, "along K: 12 and 8"),
        ("product", {"block_tile": (64, 64, 32), "warp_tile": (64, 16, 32), "macro_mma": "m32n32k8"}, "N: 16 and 32"),
        ("product", {"block_tile": (128, 128, 32), "warp_tile": (64, 64, 16)}, "different depths, 32 and 16"),
        ("product", {"block_tile": (512, 512, 128), "warp_tile": (64, 64, 128)}, "2048 threads, sm_70 has 1024"),
        ("product", {"split_k": 8, "block_tile": (128, 64, 16), "warp_tile": (32, 32, 16)}, "2048 threads, sm_70"),
        (
            "product",
            {"block_tile": (256, 256, 128), "warp_tile": (64, 64, 128)},
            "131072 bytes of shared memory, sm_70 has 98304",
        ),
        ("product", {"block_tile": (128, 128, 128), "buffers": 2}, "131072 bytes of shared memory.*or buffers=1"),
        ("product", {"block_tile": (256, 128, 32), "warp_tile": (128, 128, 32)}, "registers a thread, sm_70 has 255"),
        ("two", {"warp_tile": (64, 64, 32)}, "320 registers a thread, sm_70 has 255"),
        ("product", {"block_tile": (256, 256, 32), "warp_tile": (64, 32, 32)}, "registers a block, sm_70 has 65536"),
        ("product", {"macro_mma": "m16n16k4"}, "no macro-MMA called 'm16n16k4'.*did you mean 'm16n16k8'"),
    ],
)
def test_options_that_the_target_cannot_serve(graph, options, words):
    with pytest.raises(BadOption, match=f"(?s){words}"):
        pv.compile(GRAPHS[graph], options=pv.Options(**options))


SEVERAL = [
    pv.Options((64, 64, 32), (32, 32, 32), macro, p, buffers, accumulators=how)
    for macro, p, buffers, how in product(("m16n16k8", "m32n32k8"), (1, 4), (1, 2), ("auto", "separate"))
]


@pytest.mark.parametrize("name", GRAPHS)
def test_limits_are_told_of_what_kernels_really_take(name):
    graph = Graph.of(GRAPHS[name])
    for options in SEVERAL[:: 5 if name != "sum" else 2]:
        needs = needs_of(plan(graph, options.accumulators))
        ir = pv.compile(graph, options=options).ir
        assert (options.threads_on(SM_70), options.shared_bytes(needs, SM_70)) == (ir.threads, ir.shared_bytes)


def test_a_buffer_that_does_not_fit_beside_the_tiles_takes_their_place():
    options = pv.Options((128, 128, 64), (32, 64, 64), "m32n32k8", 1, 2)  # tiles of 64 KB, 8 warps' 32 KB
    needs = Needs(exchange=4)
    assert options.shared_bytes(needs, SM_70) == 96 * 1024
    assert options.shared_bytes(needs, replace(SM_70, shared_bytes=96 * 1024 - 1)) == 64 * 1024


# ---- given in part

PARTS = [
    {"split_k": 2},
    {"split_k": 8, "buffers": 2},
    {"macro_mma": "m32n32k8"},
    {"accumulators": "separate"},
    {"buffers": 2},
    {"buffers": 3, "prefetch": 1},
    {"prefetch": 3},
    {"block_tile": (64, 64, 32)},
    {"block_tile": (16, 48, 8)},
    {"block_tile": (112, 80, 24)},
    {"warp_tile": (16, 16, 32)},
    {"warp_tile": (48, 32, 16), "split_k": 2},
]
LAID = {
    f"{a} {b} {name}": make(pv.tensor("A", (M, K), layout=a), pv.tensor("B", (K, N), layout=b))
    for a, b in product(("row", "col"), repeat=2)
    for name, make in (
        ("product", lambda a, b: a @ b),
        ("sum", lambda a, b: pv.relu(a @ b + P @ Q)),
        ("two", lambda a, b: (a @ b) * (P @ Q)),
        ("prologue", lambda a, b: pv.relu(a + pv.tensor("A2", (M, K))) @ b),
    )
}


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_what_is_not_given_is_chosen_for_every_idiom_and_layout(part):
    for name, graph in LAID.items():
        options = default_options(Graph.of(graph), options=pv.Options(**part))
        assert {n: getattr(options, n) for n in part} == part, name
        assert options.given == set(OPTIONS)


@pytest.mark.parametrize("at", range(len(PARTS)))
def test_kernels_of_options_given_in_part_are_legal_and_have_all_options(at):
    graph = list(LAID.values())[3 * at % len(LAID)]
    kernel = pv.compile(graph, options=pv.Options(**PARTS[at]))
    assert kernel.options == default_options(Graph.of(graph), options=pv.Options(**PARTS[at]))
    assert pv.compile(graph, options=kernel.options).source == kernel.source
    assert kernel.ir.shared_bytes <= SM_70.shared_bytes and kernel.ir.threads == kernel.options.threads_on(SM_70)


def test_the_macro_mma_is_one_that_divides_the_tiles_given():
    skew = Graph.of(LAID["col row product"])
    for part, macro in (({}, "m32n32k8"), ({"block_tile": (16, 16, 8)}, "m16n16k8"), ({"split_k": 2}, "m32n32k8")):
        assert default_options(skew, options=pv.Options(**part)).macro_mma == macro


REFUSED = [
    {"warp_tile": (96, 96, 32)},
    {"warp_tile": (256, 64, 32)},
    {"block_tile": (1024, 1024, 32)},
    {"block_tile": (24, 24, 12)},
    {"block_tile": (16, 16, 8), "macro_mma": "m32n32k8"},
    {"block_tile": (128, 128, 32), "warp_tile": (16, 16, 32)},
    {"block_tile": (128, 128, 32), "warp_tile": (64, 64, 16)},
    {"block_tile": (128, 128, 128), "split_k": 8, "buffers": 2},
    {"buffers": 2, "prefetch": 4},
    {"block_tile": (128, 128, 32), "buffers": 8},
    {"block_tile": (128, 128, 32), "warp_tile": (256, 64, 32), "split_k": 8},
]


@pytest.mark.parametrize("part", REFUSED, ids=str)
def test_refusals_show_what_was_given_and_hint_at_values_that_work(part):
    with pytest.raises(BadOption) as refused:
        pv.compile(A @ B, options=pv.Options(**part))
    assert refused.value.where == f"Options({', '.join(f'{n}={v!r}' for n, v in part.items())})"
    hint = refused.value.hint.removeprefix("try ")
    changes = [hint.removesuffix(" together")] if hint.endswith(" together") else hint.split(", or ")
    for change in changes:
        values = eval(f"dict({change})")
        assert values.keys() <= part.keys()
        assert default_options(Graph.of(A @ B), options=pv.Options(**{**part, **values}))


def test_a_graph_that_no_tile_serves_is_refused_with_a_hint():
    products = [pv.tensor(f"A{n}", (M, K)) @ pv.tensor(f"B{n}", (K, N), layout="col") for n in range(40)]
    with pytest.raises(BadOption, match="registers a thread.*(?s:.*)several kernels"):
        default_options(Graph.of(products))


# ---- the space


@cache
def space(name):
    return list(pv.Options.space(GRAPHS[name]))


def test_the_space_is_every_legal_combination():
    """Against a plain enumeration that asks each one."""
    sides = (16, 32, 64, 128, 256)
    needs = Needs()
    for macro, block, k in (("m16n16k8", (64, 128), 16), ("m32n32k8", (64, 128), 64), ("m32n32k8", (256, 16), 16)):
        expected = [
            o
            for y, x, p, b in product(sides, sides, (1, 2, 4, 8), (1, 2))
            for o in [pv.Options((*block, k), (y, x, k), macro, p, b)]
            if fits(o, SM_70, needs)
        ]
        found = [o for o in space("product") if (o.macro_mma, o.block_tile) == (macro, (*block, k))]
        assert found == expected and (found or macro == "m32n32k8")


def test_the_space_is_in_order_and_without_repetition():
    keys = [(o.macro_mma, o.block_tile, o.warp_tile, o.split_k, o.buffers) for o in space("epilogue")]
    assert keys == sorted(set(keys))


def test_what_a_graph_needs_narrows_its_space():
    two, outputs, epilogue, total, product = (len(space(n)) for n in ("two", "outputs", "epilogue", "sum", "product"))
    assert two == outputs < epilogue < total == product


@pytest.mark.parametrize("part", range(4))
def test_members_of_the_space_compile(part):
    options = space("sum")[7 + part * (len(space("sum")) // 4)]
    kernel = pv.compile(GRAPHS["sum"], options=options)
    assert kernel.launch_config(M=100, N=100, K=10, L=0).shared_bytes <= SM_70.shared_bytes


# ---- the default


@pytest.mark.parametrize(("a", "b"), list(product(("row", "col"), repeat=2)))
def test_the_default_macro_mma_has_wide_fragment_loads(a, b):
    graph = Graph.of(pv.tensor("A", (M, K), layout=a) @ pv.tensor("B", (K, N), layout=b))
    assert default_options(graph).macro_mma == ("m16n16k8" if (a, b) == ("row", "col") else "m32n32k8")


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("sizes", [None, (1, 1, 1, 1), (4096, 4096, 64, 8), (64, 512, 4096, 4096), (7, 3000, 100, 1)])
def test_defaults_are_legal_and_leave_registers(name, sizes):
    graph = Graph.of(GRAPHS[name])
    if sizes is not None:
        m, n, k, l = sizes  # noqa: E741
        a, b = pv.tensor("A", (m, k)), pv.tensor("B", (k, n), layout="col")
        p, q = pv.tensor("P", (m, l), layout="col"), pv.tensor("Q", (l, n))
        graph = Graph.of({"sum": a @ b + p @ q, "two": (a @ b) * (p @ q), "outputs": [a @ b, p @ q]}.get(name, a @ b))
    options, needs = default_options(graph), needs_of(plan(graph))
    assert fits(options, SM_70, needs)
    room = min(255, 65536 // options.threads_on(SM_70)) - options.registers(needs, SM_70)
    assert room >= needs.spare_registers(SM_70)


def test_sizes_that_are_known_shape_the_default():
    def chosen(m, n, k):
        return default_options(Graph.of(pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")))

    assert chosen(M, N, K).block_tile == chosen(4096, 4096, 4096).block_tile == (128, 128, 32)
    assert chosen(20, 8192, 64).block_tile[0] == 32  # no more rows than there are
    assert chosen(64, 512, 4096).split_k > 1 == chosen(64, 512, 32).split_k  # few blocks, and a sum long enough
    assert chosen(64, 512, K).split_k == 1


def test_several_accumulators_take_smaller_warp_tiles_not_smaller_blocks():
    for name, graph in LAID.items():
        options = default_options(Graph.of(graph))
        assert options.block_tile == (128, 128, 32), name
        assert options.warp_tile == ((64, 64, 32) if name.endswith("product") else (64, 32, 32)), name


def test_tiles_are_as_small_as_the_targets_multiprocessors_ask_for():
    graph = Graph.of(pv.tensor("A", (512, 4096)) @ pv.tensor("B", (4096, 512), layout="col"))
    few, many = (default_options(graph, replace(SM_70, multiprocessors=n)) for n in (16, 64))
    assert (few.block_tile, many.block_tile) == ((128, 128, 32), (64, 64, 32))


def test_the_target_that_is_asked_is_named():
    with pytest.raises(pv.PolyvoltaError, match="did you mean 'sm_70'"):
        pv.Options.space(A @ B, "sm70")
    assert isinstance(next(Options.space(A @ B)), Options)
