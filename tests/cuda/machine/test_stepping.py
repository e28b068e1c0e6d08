"""Stepping through one block: what the steps say, against the arrays that went in and came out."""

import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cli.commands import main
from polyvolta.cuda.ir.kernel_ir import FragmentLoad, GlobalLoad, GlobalStore, Mma, SharedStore
from polyvolta.cuda.ir.walk import operations, walk
from polyvolta.cuda.ir.walk import replaced as with_statement
from polyvolta.cuda.machine.errors import OutOfBounds
from polyvolta.cuda.machine.stepping import BadBlock

SMALL = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16)}
M, N, K = pv.sizes("M N K")


def product(layouts=("row", "col"), **options):
    a, b = pv.tensor("A", (M, K), layout=layouts[0]), pv.tensor("B", (K, N), layout=layouts[1])
    return pv.compile(a @ b, options=pv.Options(**{**SMALL, **options}))


def arrays(m, n, k, layouts=("row", "col"), seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((m, k)).astype("f2"), rng.standard_normal((k, n)).astype("f2")
    return [np.asfortranarray(x) if layout == "col" else x for x, layout in zip(found, layouts)]


def numbered(m, k):
    """A matrix of numbers, all different, that fp16 holds."""
    assert m * k <= 2048
    return np.arange(m * k, dtype="f2").reshape(m, k)


def box(text):
    """The slices of a box's text such as A[0:16, 3]."""
    inside = re.fullmatch(r"\w+\[([^\]]*)\](?: buffer \d+)?", text)[1]
    bounds = [[int(x) for x in side.split(":")] for side in inside.split(", ")]
    return tuple(slice(b[0], b[1] if len(b) == 2 else b[0] + 1) for b in bounds)


# ---- what is moved where


@pytest.mark.parametrize(
    ("layouts", "options", "sizes"),
    [
        (("row", "col"), {}, (48, 40, 24)),
        (("col", "row"), {"macro_mma": "m16n16k8"}, (40, 56, 24)),
        (("row", "row"), {"split_k": 2, "buffers": 2}, (35, 33, 37)),
        (("col", "col"), {"macro_mma": "m32n32k8", "warp_tile": (32, 32, 16)}, (64, 32, 16)),
        (("row", "col"), {"partial": "pad"}, (33, 65, 17)),
    ],
)
def test_the_steps_of_all_blocks_store_every_element_of_the_result_once_and_right(layouts, options, sizes):
    kernel = product(layouts, **options)
    given = arrays(*sizes, layouts)
    result = kernel.interpret(*given)
    m, n = (-(-x // 32) * 32 for x in sizes[:2]) if kernel.options.partial == "pad" else sizes[:2]
    expected = np.zeros((m, n), "f2")
    expected[: sizes[0], : sizes[1]] = result
    times = np.zeros((m, n), int)
    x, y, _ = kernel.launch_config(M=sizes[0], N=sizes[1], K=sizes[2]).grid
    for at in np.ndindex(x, y):
        for step in kernel.trace(*given, block=at):
            if not isinstance(step.op, GlobalStore):
                continue
            (values,) = step.values.values()
            for touch in step.writes:
                where = box(touch.text)
                times[where] += 1
                stored = Counter(values[touch.warp].astype("f2").reshape(-1).tolist())
                assert not Counter(expected[where].reshape(-1).tolist()) - stored
                assert touch.bytes == 2 * times[where].size
                assert (times[where].size < 256) == touch.cut
    assert (times == 1).all()


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize("layout", ["row", "col"])
def test_a_tile_of_a_matrix_goes_through_registers_and_shared_memory_into_fragments(layout, buffers):
    kernel = product((layout, "col"), buffers=buffers)
    a, b = numbered(64, 32), np.asfortranarray(np.ones((32, 32), "f2"))
    a = np.asfortranarray(a) if layout == "col" else a
    loads, stores, fragments = Counter(), Counter(), 0
    for step in kernel.trace(a, b, block=(0, 1)):
        if step.statement == "load_A":
            for t in step.reads:
                held = step.values[step.writes[0].text][t.warp]
                assert sorted(held.reshape(-1)) == sorted(a[box(t.text)].reshape(-1))
                loads.update(a[box(t.text)].reshape(-1).tolist())
        if isinstance(step.op, SharedStore) and step.op.tile == "shared_A":
            trip = sum(stores.values()) // 512
            for t in step.writes:
                part = a[32:, 16 * trip : 16 * trip + 16][box(t.text)]
                stores.update(part.reshape(-1).tolist())
                assert len(t.chunks) == 32 and t.bytes == 512
                assert t.text.endswith(f" buffer {trip}") == (buffers == 2)
        if isinstance(step.op, FragmentLoad) and step.op.tile == "shared_A":
            fragments += 1
            trip = 16 * (fragments > 2)
            for t in step.reads:
                part = a[32:, trip : trip + 16][box(t.text)]
                assert set(step.values[step.writes[0].text][t.warp].reshape(-1)) == set(part.reshape(-1))
                assert part.shape == (16, 8) and len(t.chunks) == 16
    assert loads == stores == Counter(a[32:].reshape(-1).tolist())
    assert fragments == 4  # two of 8 along each k tile of 16


def test_an_mma_adds_what_its_fragments_hold():
    kernel = product(block_tile=(32, 64, 16), warp_tile=(16, 32, 16))
    ones = np.ones((32, 16), "f2"), np.asfortranarray(np.ones((16, 64), "f2"))
    steps = [s for s in kernel.trace(*ones) if isinstance(s.op, Mma)]
    texts = ["hmma_C[0][0] += hmma_A @ hmma_B[0]", "hmma_C[0][1] += hmma_A @ hmma_B[1]"]
    assert [s.does for s in steps] == [(((0, 1, 2, 3), text),) for text in 2 * texts]
    for step, sums in zip(steps, (8, 8, 16, 16)):
        touched = step.does[0][1][:12]
        assert {*step.values} == {touched, "hmma_A", touched.replace("C[0]", "B")}
        assert step.values[touched].shape == (4, 32, 8) and (step.values[touched] == sums).all()


def test_addresses_are_those_of_the_elements():
    kernel = product()
    a, b = arrays(32, 32, 16)
    spaces = set()
    for step in kernel.trace(a, b):
        for access in step.accesses:
            spaces.add((access.space, access.kind))
            assert access.address.shape == (1, 4, 32)
            for t in step.writes if access.kind == "write" else step.reads:
                if access.space == "shared":
                    tile = kernel.ir.tile(access.array)
                    chunks = access.address[0, t.warp] // 16 - tile.start
                    assert set(chunks) <= set(t.chunks)
                else:
                    where = box(t.text)
                    strides = kernel.ir.tensor(access.array).order == (0, 1)
                    line, run = (where[0], where[1]) if strides else (where[1], where[0])
                    ld = 32 if access.array == "C" else 16
                    first = access.address[0, t.warp] // 2
                    assert {*(first // ld)} == {*range(line.start, line.stop)}
                    assert {*(first % ld)} == {*range(run.start, run.stop, 8)}
    assert spaces == {(space, kind) for space in ("shared", "global") for kind in ("read", "write")}


# ---- the steps themselves


def test_one_step_for_each_operation_in_the_order_of_the_interpreter():
    kernel = product(split_k=2)
    given, seen = arrays(32, 32, 64), []
    kernel.interpret(*given, hook=lambda machine, op, values: seen.append(op))
    steps = list(kernel.trace(*given))
    assert [s.op for s in steps] == seen
    assert [s.number for s in steps] == [*range(len(steps))]


def test_places_are_lines_of_the_text_and_nodes_of_the_tree():
    kernel = product()
    lines, tree = kernel.source.split("\n"), str(kernel.schedule).split("\n")
    for step in kernel.trace(*arrays(32, 32, 32)):
        assert step.cuda.startswith(lines[step.place.line - 1].strip()) and step.cuda.endswith(";")
        assert step.node in map(str.strip, tree) and step.node.startswith(f"FILTER: {step.statement}[")
    assert kernel.schedule.node(step.place.node).statements == ("free_C",)


def test_a_misaligned_view_is_traced_in_the_text_with_narrower_accesses():
    kernel = product()
    a, b = arrays(32, 32, 34)
    a = a[:, 1:33]
    text = kernel.variant(A=1, B=1).source.split("\n")
    (step,) = islice((s for s in kernel.trace(a, b[1:33]) if s.statement == "load_A"), 1)
    assert "128" not in step.cuda.split("(")[0]
    assert step.cuda.startswith(text[step.place.line - 1].strip())
    assert [access.width for access in step.accesses] == 8 * [2]


def test_loops_are_those_around_and_their_values():
    kernel = product(block_tile=(32, 64, 16), warp_tile=(32, 32, 16), macro_mma="m16n16k8")
    loops = [(s.statement, dict(s.loops)) for s in kernel.trace(*arrays(32, 64, 32))]
    assert [d["c2"] for name, d in loops if name == "sync_read"] == [-1, 0]
    zeroed = [tuple(d.values()) for name, d in loops if name == "zero_C"]
    assert zeroed == [(0, 0), (0, 16), (16, 0), (16, 16)]


def test_printed_it_reads_well():
    graph = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col") + pv.tensor("bias", (N,)))
    kernel = pv.compile(graph, options=pv.Options(**SMALL, split_k=2))
    given = [*arrays(40, 32, 40), np.ones(32, "f2")]
    found = {}
    for s in kernel.trace(*given, block=(0, 1)):
        found.setdefault(s.statement, s)
    step = found["frag_A"]
    assert str(step).split("\n") == [
        "step 9  frag_A  c2 = 0, c8 = 0",
        "  tree       FILTER: frag_A[by, bx, kt, wy, wx, wz, ks, f]",
        f"  line {step.place.line}   hmma_load_a_row_swizzled(hmma_A, shared_A, "
        "16 * warpIdx_y, 8 * c8 + 16 * warpIdx_z, lane);",
        "  warps 0-1  hmma_A = shared_A[0:16, 0:8]",
        "  warps 2-3  hmma_A = shared_A[16:32, 0:8]",
        "  warps 4-5  hmma_A = shared_A[0:16, 16:24]",
        "  warps 6-7  hmma_A = shared_A[16:32, 16:24]",
    ]
    says = {n: [text for _, text in s.does] for n, s in found.items()}
    assert says["load_A"][0] == "private_A = A[32:40, 0:32]"
    assert says["load_A"][-1] == "private_A = 0  (all outside of A)"
    assert says["S2"] == ["run_D = relu_add(run_C, run_bias)"]
    assert says["gather_C"][0] == "run_C = exchange slot 0 + exchange slot 4"
    assert says["write_D"][0] == "D[32:40, 0:16] = run_D  (nothing outside of D)"
    assert says["sync_read"] == ["waits for all warps of the block"]


def test_in_a_notebook_it_is_a_table():
    step = next(s for s in product().trace(*arrays(32, 32, 16)) if s.statement == "load_A")
    html = step._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == len(step.lines())
    assert "<code>private_A = A[0:16, 0:16]</code>" in html
    assert "<code>private_A = load_global_128(from_A, 0, 0, ldA);</code>" in html


def test_in_a_notebook_angle_brackets_are_text():
    step = replace(next(product().trace(*arrays(32, 32, 16))), cuda="a < b;")
    assert "<code>a &lt; b;</code>" in step._repr_html_()


# ---- what tracing leaves alone


def test_the_callers_arrays_stay_as_they_are():
    given = arrays(40, 40, 24)
    before = [x.copy() for x in given]
    for x in given:
        x.flags.writeable = False
    list(product().trace(*given))
    assert all((x == y).all() for x, y in zip(given, before))


def test_a_wrong_kernel_is_traced_up_to_where_it_goes_wrong():
    kernel = product()
    path = next(p for p, s in walk(kernel.ir.body) if isinstance(s, GlobalLoad) and s.guarded and s.tensor == "B")
    load = dict(walk(kernel.ir.body))[path]
    broken = replace(kernel, ir=replace(kernel.ir, body=with_statement(kernel.ir.body, path, (load.unguarded(),))))
    steps = broken.trace(*arrays(32, 24, 16))
    seen = [next(steps).statement for _ in range(2)]
    assert seen == ["zero_C", "load_A"]
    with pytest.raises(OutOfBounds, match="load_B"):
        next(steps)


# ---- errors


@pytest.mark.parametrize(
    ("block", "message", "hint"),
    [
        ((2, 0), "there is no block (2, 0)", "the nearest is (1, 0)"),
        ((0, -1), "there is no block (0, -1)", "the nearest is (0, 0)"),
        ((7, 9, 3), "there is no block (7, 9, 3)", "the nearest is (1, 2)"),
        ((0,), "(0,) is no block", "two or three ints"),
        ((0, 0, 0, 0), "(0, 0, 0, 0) is no block", "two or three ints"),
        (3, "3 is no block", "two or three ints"),
        ("00", "'00' is no block", "two or three ints"),
        ((0.0, 0), "(0.0, 0) is no block", "two or three ints"),
        ((True, False), "(True, False) is no block", "two or three ints"),
        (None, "None is no block", "two or three ints"),
    ],
)
def test_a_block_that_is_none_is_refused_at_once(block, message, hint):
    with pytest.raises(BadBlock) as wrong:
        product().trace(*arrays(96, 40, 16), block=block)
    assert wrong.value.message == message
    assert wrong.value.hint.startswith(hint)
    if "nearest" in hint:
        assert wrong.value.where == "the grid for M = 96, N = 40, K = 16 has 2 x 3 x 1 blocks along x, y, z"


def test_an_empty_result_has_no_block():
    with pytest.raises(BadBlock) as wrong:
        product().trace(np.ones((0, 8), "f2"), np.asfortranarray(np.ones((8, 8), "f2")))
    assert "no block has work" in wrong.value.hint


def test_numpys_ints_are_ints():
    given = arrays(64, 32, 16)
    assert next(product().trace(*given, block=np.array([0, 1]))).block == (0, 1, 0)


# ---- the command line


TRACE = ["trace", "--block-tile", "32x32x16", "--warp-tile", "16x16x16", "--size", "64x64x16"]


def listed(capsys, *more):
    with pytest.raises(SystemExit) as left:
        main([*TRACE, *more])
    out, err = capsys.readouterr()
    return left.value.code or 0, out, err


def test_the_command_line_lists_steps_below_lines_below_nodes(capsys):
    code, out, err = listed(capsys, "--block", "1,0", "--steps", "3")
    assert (code, err) == (0, "")
    lines = out.split("\n")
    start = lines.index("FILTER: zero_C[i, j]")
    assert lines[start - 2] == "Block (1, 0) of 2 x 2 x 1; standard normal fp16 data, seed 0."
    assert re.fullmatch(r"  line \d+  hmma_zero\(.*\);", lines[start + 1])
    assert lines[start + 2] == "        0  all warps  hmma_C = 0"
    assert lines[start + 3] == "FILTER: load_A[by, bx, kt, c, t]"
    assert lines[-2] == "and so on; --first 3 goes on"


def test_the_command_line_lists_one_statement(capsys):
    code, out, _ = listed(capsys, "--statement", "store_B")
    assert code == 0 and "and so on" not in out
    assert re.findall(r"^FILTER.*", out, re.M) == ["FILTER: store_B[by, bx, kt, c, t]"]
    assert out.count(" = private_B") == 2


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (("--block", "2,5"), "error PV558: there is no block (2, 5)"),
        (("--block", "0"), "error PV601: '0' is no block"),
        (("--block", "a,b"), "error PV601: 'a,b' is no block"),
        (("--statement", "load_a"), "error PV103: no operation is called 'load_a'"),
        (("--size", "64x64"), "error PV601: '64x64' is no size"),
    ],
)
def test_bad_input_is_exit_code_2_and_says_what_to_try(capsys, argv, error):
    code, _, err = listed(capsys, *argv)
    assert code == 2
    assert err.startswith(error) and "\nhint: " in err


@pytest.mark.parametrize("of, also", [("", ()), (" of store_B", ("--statement", "store_B"))])
def test_steps_beyond_the_last_are_an_error_that_names_the_last(capsys, of, also):
    _, out, _ = listed(capsys, "--steps", "9999", *also)
    last = int(re.findall(r"^ {4} *(\d+)  ", out, re.M)[-1])
    code, _, err = listed(capsys, "--first", f"{last + 1}", *also)
    assert code == 2
    assert err == (
        f"error PV606: block (0, 0) takes no step{of} from number {last + 1} on\nhint: the last is number {last}\n"
    )


@pytest.mark.parametrize("scalar", [2.0, -0.5])
def test_every_kind_of_operation_is_told(scalar):
    p, q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))
    a, b = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    kernel = pv.compile(pv.relu(scalar * (a @ b) + p @ q), options=pv.Options(**SMALL))
    told = {type(s.op).__name__: s.does[0][1] for s in kernel.trace(*2 * arrays(32, 32, 16, ("row", "row")))}
    assert set(told) == {type(op).__name__ for op in operations(kernel.ir.body)}
    assert told["Scale"] == f"hmma_C *= {scalar:g}"
    assert told["Zero"] == "hmma_C = 0"


@pytest.mark.parametrize(("target", "options", "sizes", "block"), [
    ("sm_70", {}, (70, 33, 65), (0, 0)), ("sm_70", {"split_k": 2, "buffers": 2}, (70, 33, 0), (0, 0)),
    ("sm_80", {"group": 2}, (140, 130, 1000), (0, 1)), ("sm_90a", {}, (140, 300, 200), (0, 0)),
    ("sm_90a", {"persistent": True}, (2200, 3000, 64), (0, 0)),
    ("sm_90a", {"pingpong": True}, (2400, 3000, 64), (7, 0)),
    ("sm_90a", {"cluster": (2, 1), "buffers": 3}, (300, 300, 130), (0, 1)),
], ids=str)  # fmt: skip
def test_a_trace_counts_its_steps_without_taking_them(target, options, sizes, block):
    kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), target, pv.Options(**options))
    trace = kernel.trace(*arrays(*sizes), block=block)
    several = [next(trace) for _ in range(5)]
    counted = len(trace)
    assert repr(trace).endswith("5 steps so far; print it>") and several[-1] is trace[4]
    assert counted == sum(1 for _ in trace) == len(trace)
    assert trace[-1].number == counted - 1
