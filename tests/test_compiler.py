"""pv.compile and the kernel: what runs, and how bad input is refused before anything is computed."""

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler import Unsupported
from polyvolta.cuda.kernel_ir import FragmentLoad, SharedStore
from polyvolta.cuda.target import UnknownTarget
from polyvolta.graph.errors import ArrayMismatch, BadName
from polyvolta.kernel import MissingSize, NotAMultiple, TooLarge
from polyvolta.options import BadOption
from polyvolta.run import BadArray
from polyvolta.sets import UnknownName

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
SMALL = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(A @ B, options=SMALL)


def data(m, n, k):
    rng = np.random.default_rng()
    a = rng.standard_normal((m, k)).astype(np.float16)
    return a, np.asfortranarray(rng.standard_normal((k, n)).astype(np.float16))


def error(got, a, b):
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return np.linalg.norm(got.astype(np.float64) - expected) / np.linalg.norm(expected)


# ---- running


@pytest.mark.parametrize("size", [(32, 32, 16), (64, 32, 48), (96, 128, 16), (160, 64, 160)])
def test_the_interpreter_multiplies(kernel, size):
    a, b = data(*size)
    out = np.full(size[:2], np.nan, np.float16)
    assert kernel.interpret(a, b, out=out) is out
    assert error(out, a, b) <= 5e-4


def test_the_default_tiles_multiply():
    kernel = pv.compile(A @ B)
    a, b = data(256, 128, 96)
    assert error(kernel.interpret(a, b), a, b) <= 5e-4


def test_arrays_by_name_and_allocation(kernel):
    a, b = data(32, 64, 32)
    got = kernel(B=b, A=a)
    assert got.shape == (32, 64) and got.dtype == np.float16
    assert error(got, a, b) <= 5e-4
    np.testing.assert_allclose(pv.reference(A @ B, A=a, B=b), a.astype(float) @ b.astype(float))


def test_sizes_may_be_numbers():
    kernel = pv.compile(pv.tensor("A", (64, 48)) @ pv.tensor("B", (48, 32), layout="col"), options=SMALL)
    assert kernel.launch_config().grid == (1, 2, 1)
    a, b = data(64, 32, 48)
    assert error(kernel.interpret(a, b), a, b) <= 5e-4


def test_one_size_may_be_used_twice():
    kernel = pv.compile(pv.tensor("A", (M, M)) @ pv.tensor("B", (M, M), layout="col"), options=SMALL)
    assert kernel.ir.context == (("M", 32),)
    a, b = data(64, 64, 64)
    assert error(kernel.interpret(a, b), a, b) <= 5e-4


def test_poisoning_one_shared_word_changes_the_result(kernel):
    a, b = data(32, 32, 16)
    clean = kernel.interpret(a, b)
    seen = []

    def poison(machine, op, _):
        if isinstance(op, SharedStore) and op.tile == "shared_A" and not seen:
            seen.append(op)
            machine.shared["shared_A"][0, 0, 0] = np.float16(1000)

    dirty = kernel.interpret(a, b, hook=poison)
    changed = np.flatnonzero((dirty != clean).any(axis=1))
    assert seen and len(changed) == 1  # one row of A, so one row of C


def test_skipping_a_fragment_changes_the_result(kernel):
    a, b = data(32, 32, 16)

    def spoil(machine, op, _):
        if isinstance(op, FragmentLoad) and op.operand == "b":
            machine.registers[op.target.array][..., 0, 0] = np.float16(np.nan)

    assert np.isnan(kernel.interpret(a, b, hook=spoil)).any()


def test_launch_configuration(kernel):
    config = kernel.launch_config(M=320, N=64, K=16)
    assert (config.grid, config.block) == ((2, 10, 1), (128, 1, 1))
    assert config.shared_bytes == 2 * (32 + 32) * 16 + 4 * 512


def test_the_kernel_shows_itself(kernel):
    assert "kern0 for sm_70" in repr(kernel)
    assert kernel.name in kernel.source
    named = pv.compile(A @ B, options=SMALL, name="gemm")
    assert 'extern "C"' in named.source and " gemm(" in named.source


# ---- bad graphs and options


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (lambda: pv.relu(A @ B), "2 operations"),
        (lambda: pv.relu(A) @ B, "computed, not loaded"),
        (lambda: A @ pv.tensor("B", (K, N)), "row and row; row and col"),
        (lambda: pv.tensor("A", (M, K), layout="col") @ B, "col and col"),
        (lambda: A + pv.tensor("D", (M, K)), "1 operations"),
    ],
)
def test_other_graphs_are_refused(outputs, words):
    with pytest.raises(Unsupported, match=words):
        pv.compile(outputs())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"block_tile": (96, 128, 32), "warp_tile": (64, 64, 32)}, "along M: 96 and 64"),
        ({"block_tile": (128, 128, 32), "warp_tile": (64, 8, 32)}, "m16n16k8 along N: 8 and 16"),
        ({"block_tile": (128, 128, 12), "warp_tile": (64, 64, 12)}, "along K: 12 and 8"),
        ({"block_tile": (128, 128, 32), "warp_tile": (64, 64, 16)}, "different depths, 32 and 16"),
        ({"block_tile": (512, 512, 128), "warp_tile": (64, 64, 128)}, "2048 threads, sm_70 has 1024"),
        (
            {"block_tile": (256, 256, 128), "warp_tile": (64, 64, 128)},
            "139264 bytes of shared memory, sm_70 has 98304",
        ),
        ({"block_tile": (256, 128, 32), "warp_tile": (128, 128, 32)}, "registers a thread, sm_70 has 255"),
        ({"split_k": 2}, "split_k=2"),
    ],
)
def test_options_that_the_target_cannot_serve(options, words):
    with pytest.raises(BadOption, match=words):
        pv.compile(A @ B, options=pv.Options(**options))


@pytest.mark.parametrize(
    "make",
    [
        lambda: pv.Options(block_tile=(128, 128)),
        lambda: pv.Options(block_tile=128),
        lambda: pv.Options(warp_tile=(64, 0, 32)),
        lambda: pv.Options(block_tile=(128, 128, 32.0)),
        lambda: pv.Options(split_k=0),
        lambda: pv.Options(macro_mma=16),
    ],
)
def test_options_that_mean_nothing(make):
    with pytest.raises(BadOption):
        make()


def test_unknown_names_suggest_the_nearest(kernel):
    with pytest.raises(BadOption, match="did you mean 'block_tile'"):
        pv.Options(blok_tile=(1, 2, 3))
    with pytest.raises(UnknownTarget, match="did you mean 'sm_70'"):
        pv.compile(A @ B, target="sm70")
    with pytest.raises(UnknownTarget, match="did you mean 'm16n16k8'"):
        pv.compile(A @ B, options=pv.Options(macro_mma="m16n16k4"))
    with pytest.raises(UnknownName, match="did you mean 'warp_tiled'"):
        kernel.stages["warptiled"]


@pytest.mark.parametrize("name", ["lane", "shared_A", "linearId", "exchange", "c2", "kern0"])
def test_names_of_the_kernel_are_taken(name):
    with pytest.raises(BadName, match="uses itself|the kernel's name"):
        pv.compile(pv.tensor(name, (M, K)) @ B)


@pytest.mark.parametrize("name", ["out", "hook", "stream"])
def test_names_of_the_calls_arguments_are_taken(name):
    with pytest.raises(BadName, match="an argument of the kernel's call"):
        pv.compile(pv.tensor(name, (M, K)) @ B)


def test_a_kernel_is_not_called_like_its_helpers():
    with pytest.raises(BadName, match="uses itself"):
        pv.compile(A @ B, name="half8")


def test_sizes_beyond_the_grid_and_beyond_an_int(kernel):
    with pytest.raises(TooLarge, match="65536 blocks along y, sm_70 has at most 65535"):
        kernel.launch_config(M=32 * 65536, N=32, K=16)
    with pytest.raises(TooLarge, match="32 bits"):
        kernel.launch_config(M=2**40, N=32, K=16)


def test_masked_arrays_are_refused(kernel):
    a, b = data(32, 32, 16)
    with pytest.raises(BadArray, match="masked"):
        kernel(np.ma.masked_array(a), b)


def test_a_kernels_name_is_an_identifier():
    with pytest.raises(BadName):
        pv.compile(A @ B, name="my kernel")


def test_numbers_that_are_no_multiple():
    with pytest.raises(NotAMultiple, match="100 is no multiple of the block tile's 32"):
        pv.compile(pv.tensor("A", (100, 32)) @ pv.tensor("B", (32, 32), layout="col"), options=SMALL)


# ---- bad arrays and sizes


def test_sizes_that_are_no_multiple(kernel):
    a, b = data(32, 40, 16)
    with pytest.raises(NotAMultiple, match="N = 40 is no multiple of the block tile's 32"):
        kernel(a, b)
    with pytest.raises(NotAMultiple, match="32 and 64"):
        kernel.launch_config(M=32, N=40, K=16)


@pytest.mark.parametrize(
    "sizes", [{}, {"M": 32, "N": 32}, {"M": 0, "N": 32, "K": 16}, {"M": 32, "N": 32, "K": 16, "Q": 1}]
)
def test_launch_sizes(kernel, sizes):
    with pytest.raises(MissingSize):
        kernel.launch_config(**sizes)


def bad_calls():
    a, b = data(32, 32, 16)
    yield "dtype float32", (a.astype(np.float32), b), {}
    yield "A is not contiguous", (np.asfortranarray(a), b), {}
    yield "B is not contiguous", (a, np.ascontiguousarray(b)), {}
    yield "A is not contiguous", (np.zeros((64, 16), np.float16)[::2], b), {}
    yield "is no array: list", (a.tolist(), b), {}
    yield "out has dtype", (a, b), {"out": np.zeros((32, 32))}
    yield "out has shape", (a, b), {"out": np.zeros((32, 64), np.float16)}
    frozen = np.zeros((32, 32), np.float16)
    frozen.flags.writeable = False
    yield "read-only", (a, b), {"out": frozen}


@pytest.mark.parametrize(("words", "arrays", "named"), list(bad_calls()))
def test_arrays_that_do_not_fit(kernel, words, arrays, named):
    with pytest.raises((BadArray, ArrayMismatch, pv.PolyvoltaError), match=words):
        kernel(*arrays, **named)


def test_an_output_that_overlaps_an_input():
    kernel = pv.compile(pv.tensor("A", (M, K)) @ B, options=SMALL)
    memory = np.zeros((32, 48), np.float16).reshape(-1)
    a, out = memory[:1024].reshape(32, 32), memory[512:1536].reshape(32, 32)
    b = np.asfortranarray(np.zeros((32, 32), np.float16))
    with pytest.raises(BadArray, match="out overlaps the input A"):
        kernel(a, b, out=out)


def test_nothing_is_written_when_a_call_is_refused(kernel):
    a, b = data(32, 32, 16)
    out = np.full((32, 32), 7, np.float16)
    with pytest.raises(BadArray):
        kernel(a, np.ascontiguousarray(b), out=out)
    assert (out == 7).all()


def test_options_in_the_wrong_place():
    with pytest.raises(BadOption, match="pass pv.Options"):
        pv.compile(A @ B, options={"block_tile": (32, 32, 16)})
    with pytest.raises(BadOption, match="options=..."):
        pv.compile(A @ B, SMALL)


def test_schedules_have_short_representations(kernel):
    assert repr(kernel.stages["initial"]) == "<Schedule of S, 3 nodes; print it>"


def test_a_set_has_no_truth_value():
    with pytest.raises(pv.PolyvoltaError, match="is_empty"):
        bool(pv.sets.Set("{ S[i] : false }"))
