"""The text of kernels whose blocks compute several tiles, and what NVRTC makes of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.compiler.rule.values import BadOption
from polyvolta.cuda.ir.kernel_ir import Roles, Tiles
from polyvolta.cuda.ir.well_formed import IllFormed
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.sets import var
from tests.cuda.persistent import IN_TURN, TILES, K, M, N, compiled, plain

BIG = replace(TILES, block_tile=(128, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16", group=8)
THREE = replace(TILES, block_tile=(192, 192, 64), warp_tile=(64, 192, 64), macro_mma="m64n192k16")


def body(kernel: pv.Kernel) -> str:
    return kernel.source[kernel.source.index('extern "C"') :]


def test_a_role_goes_from_tile_to_tile():
    text = body(compiled("product"))
    loop = """\
    int tiles = 0;  // of the ring, that the block had before
    for (unsigned number = blockIdx.x; number < columns * rows; number += gridDim.x) {
      // tiles in groups of 2 rows, a group column by column
      const unsigned group = number / (2 * columns);
      const unsigned place = number % (2 * columns);
      const unsigned height = min(2u, rows - 2 * group);
      const int blockIdx_x = place / height;
      const int blockIdx_y = 2 * group + place % height;
"""
    deeper = "".join(f"  {line}" for line in loop.splitlines(keepends=True))  # the producer's, of one lane
    assert text.count(loop) == text.count(deeper) == 1
    assert text.count("      tiles += (K + 63) / 64;\n    }\n") == 1
    assert text.count("        tiles += (K + 63) / 64;\n      }\n    }\n  }\n}") == 1
    assert "  const unsigned columns = (N + 63) / 64;\n  const unsigned rows = (M + 127) / 128;\n" in text
    assert "gridDim.y" not in text and not re.search(r"\bturn\b", text)
    end = text.rindex("      tiles += (K + 63) / 64;\n    }\n", 0, text.index("} else {  // producer"))
    assert text[end:].startswith(
        "      tiles += (K + 63) / 64;\n    }\n"
        "    if (rank == 0) {\n      wait_stores();\n    }\n  } else {  // producer\n"
    )


PARTED = re.compile(
    r"^( *)if \((?:elected\(\)|lane == 0|rank == 0)\) \{\n((?:(?!\1\}).*\n)*)\1\}\n(?: *//.*\n)*(.*)\n", re.M
)


@pytest.mark.parametrize("options", [TILES, IN_TURN, replace(TILES, cluster=(2, 1))], ids=["one", "turns", "cluster"])
@pytest.mark.parametrize("name", ["product", "residual"])
def test_lanes_that_wait_for_no_phase_do_not_run_ahead(name, options):
    """One lane goes from tile to tile by itself; where others do something behind it, the warp meets first."""
    text = body(compiled(name, options=options))
    (found,) = [(pad, inside, then) for pad, inside, then in PARTED.findall(text) if "await_phase(" in inside]
    pad, inside, then = found
    assert f"{pad}  for (unsigned number = blockIdx.x; number < columns * rows; number += gridDim.x) {{" in inside
    assert then.strip() == ("__syncwarp();" if options.cluster != (1, 1) else "}")
    once = body(plain(name, replace(options, persistent=False, pingpong=False)))
    assert "await_phase(" in once and ("__syncwarp();" in once) == (options.cluster != (1, 1))


def test_in_the_plain_order_numbers_along_x_come_first():
    kernel = plain("product", replace(TILES, group=1))
    place = r"const int blockIdx_x = number % columns;\n +const int blockIdx_y = number / columns;\n"
    assert len(re.findall(place, body(kernel))) == 2


def test_operands_have_the_phase_of_their_tile():
    text = body(compiled("residual"))
    assert "await_phase(operands, turn % 2);" in text
    assert text.index("await_phase(vacant, (turn + 1) % 2);") < text.index("arrive_expecting(operands, 16384);")
    assert text.count("int turn = 0;  // number of the block's tile\n") == text.count("turn += 1;\n") == 2
    end = text.index("} else {  // producer")
    assert text[:end].rindex("wait_stores();") < text[:end].rindex("arrive(vacant);")


def test_names_of_users_stay_theirs():
    S, T = pv.sizes("tiles turn")
    out = pv.relu(pv.tensor("A", (S, K)) @ pv.tensor("number", (K, T)) + pv.tensor("rows", (S, T)))
    text = body(pv.compile(out, target=SM_90A, options=TILES))
    assert "int turn_2 = 0;" in text and "int tiles_2 = 0;" in text and "unsigned number_2 = blockIdx.x" in text
    pv.compile(out, target=SM_90A, options=TILES).compiled("sm_90a")


CASES = [(name, BIG) for name in ("product", "residual", "bias", "sum", "operands", "two")]
TALL = replace(IN_TURN, block_tile=(128, 128, 64), warp_tile=(128, 128, 64), macro_mma="m64n128k16")
LONG = replace(IN_TURN, block_tile=(64, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16")
CASES += [(name, options) for options in (TALL, LONG) for name in ("product", "residual")]
CASES += [("product", THREE), ("residual", TILES), ("two", TILES)]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_nothing_is_spilled_nor_serialized(name, options):
    kernel = plain(name, options)
    found = kernel.compiled("sm_90a")
    used = found.resources(kernel.name)
    assert used.spill_stores == used.spill_loads == used.local_bytes == 0
    assert not any(code in found.log for code in ("C7510", "C7513", "C7514", "serializ", "setmaxnreg"))
    assert used.registers * kernel.ir.threads <= 65536


@pytest.mark.parametrize("layout", ["row", "col"])
def test_registers_are_shared_out_where_consumers_need_more(layout):
    R = pv.tensor("R", (M, N), layout="col")
    out = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col") + R)
    kernel = pv.compile(pv.output(out, "D", layout=layout), target=SM_90A, options=BIG)
    (roles,) = (s for s in kernel.ir.body if isinstance(s, Roles))
    own = [r.registers for r in roles.roles]
    assert own == [240, 24] and kernel.ir.threads == 384
    text = body(kernel)
    assert "if (warp <= 7) {  // consumer\n    take_240_registers();\n" in text
    assert "} else {  // producer\n    keep_24_registers();\n    if (warp <= 8) {\n" in text
    assert "__launch_bounds__(384, 1)" in text
    assert sum(r.registers * (8 if r.name == "consumer" else 4) for r in roles.roles) * 32 <= 65536
    assert kernel.compiled("sm_90a").resources(kernel.name).spill_stores == 0


def test_three_consumers_have_160_registers():
    kernel = plain("product", THREE)
    (roles,) = (s for s in kernel.ir.body if isinstance(s, Roles))
    assert [r.registers for r in roles.roles] == [160, 32] and kernel.ir.threads == 512
    wide = replace(THREE, block_tile=(192, 256, 64), warp_tile=(64, 256, 64), macro_mma="m64n256k16")
    words = "at least 154 registers a thread at the start, for m64n256k16, sm_90a has 128"
    with pytest.raises(BadOption, match=words):
        plain("product", wide)


def test_persistent_is_for_kernels_of_boxes():
    A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N))
    for target, out in (("sm_70", A @ B), ("sm_80", A @ B), (SM_90A, (A + pv.tensor("P", (M, K))) @ B)):
        with pytest.raises(BadOption, match="persistent blocks have boxes of their next tile brought"):
            pv.compile(out, target=target, options=pv.Options(persistent=True))
    with pytest.raises(BadOption, match="persistent is True or False, not 1"):
        pv.Options(persistent=1)
    assert pv.compile(A @ B, target=SM_90A, options=pv.Options(persistent=True)).options.macro_mma == "m64n256k16"


def test_the_tree_says_who_computes_what():
    kernel = plain("product", TILES)
    assert list(kernel.stages)[-2:] == ["persistent", "grouped"]
    assert "  MARK: tile n by block n mod 132\n    BAND: S" in str(kernel.stages["persistent"])
    assert "  MARK: tile n by block n mod 132\n    MARK: blocks in groups of 2 rows\n" in str(kernel.stages["grouped"])


def wrong(kernel: pv.Kernel, what: str):
    ir = kernel.ir
    (roles,) = (s for s in ir.body if isinstance(s, Roles))
    (consumer, producer) = roles.roles

    def both(one, other):
        return replace(ir, body=tuple(replace(s, roles=(one, other)) if s is roles else s for s in ir.body))

    def of(**changes):
        return both(consumer, replace(producer, body=(replace(producer.body[0], **changes),)))

    match what:
        case "are launched":
            return replace(ir, resident=0)
        case "every 0th":
            return of(step=0)
        case "something else is called so":
            return of(turn="K")
        case "has no value there":
            return of(counters=(("tiles", var("linearId")),))
        case "stands in a loop or a condition":
            return of(body=(producer.body[0],))
        case "not a multiple of 8":
            return both(consumer, replace(producer, registers=30))
        case "shares a warpgroup":
            return both(replace(consumer, registers=240), producer)


WRONG = ("are launched", "every 0th", "something else is called so", "has no value there",
         "stands in a loop or a condition", "not a multiple of 8", "shares a warpgroup")  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_means_nothing_is_refused(what):
    with pytest.raises(IllFormed, match=what):
        print_cuda(wrong(compiled("product"), what))


def test_tiles_are_statements_of_their_own():
    (roles,) = (s for s in compiled("product").ir.body if isinstance(s, Roles))
    assert all(isinstance(r.body[0], Tiles) for r in roles.roles)


def test_warpgroups_take_turns():
    text = body(plain("residual", IN_TURN))
    for name, first, count in (("consumer0", "", "int turn = 0;"), ("consumer1", " + gridDim.x", "int turn = 1;")):
        start = text.index(f"// {name}")
        assert text.index(count, start) < text.index("for (", start)
        head = f"for (unsigned number = blockIdx.x{first}; number < columns * rows; number += 2 * gridDim.x) {{"
        mine = "await_phase(order + (turn + 1) % 2, ((turn + 1) / 2 + 1) % 2);"
        assert text.index(head, start) < text.index(mine, start)
    assert text.count("tiles += 2 * ((K + 63) / 64);") == text.count("arrive(order + turn % 2);") == 2
    assert "sync_128_threads(1)" in text and "sync_128_threads(2)" in text


def test_taking_turns_wants_tiles_of_a_warpgroup():
    cases = ("are a block_tile", {"block_tile": (128, 64, 64)}), ("persistent=False", {"persistent": False})
    for words, more in cases:
        with pytest.raises(BadOption, match=words):
            plain("product", replace(IN_TURN, **more))
