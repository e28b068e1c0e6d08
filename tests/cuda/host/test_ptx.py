"""Inline PTX as C++: what is translated, and all that is refused."""

import ctypes
import subprocess

import pytest

from tests.cuda.host import compiled, needs_compiler
from tests.cuda.host.launch import machine
from tests.cuda.host.ptx import INSTRUCTIONS, Untranslatable, translated

MMA = (
    'asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "'
    ' "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"'
    ' : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b0));'
)
LOAD = 'asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at) : "memory");'
COPY = 'asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" :: "r"(to), "l"(from), "r"(n) : "memory");'
PACK = (
    'asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"'
    ' : "=r"(p) : "f"(x), "f"(y));'
)
WAIT = 'asm volatile("cp.async.wait_group 3;" ::: "memory");'
PRODUCT = (
    'asm volatile("{.reg .pred adds; setp.ne.b32 adds, %6, 0;"'
    ' "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, adds, 1, 1, 0, 1;}"'
    ' : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"((int)adds));'
)
BOX = (
    'asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"'
    ' " [%0], [%1, {%2, %3}], [%4];" :: "r"(to), "l"(&map), "r"(run), "r"(line), "r"(barrier) : "memory");'
)
PHASE = (
    'asm volatile("{.reg .pred complete;" "again: mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;"'
    ' "@!complete bra again;}" :: "r"(barrier), "r"(parity) : "memory");'
)
ARRIVE = 'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(barrier) : "memory");'

SAID = {
    MMA: "ptx_mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(d0, s1, s2, s3)",
    LOAD: "ptx_ldmatrix_sync_aligned_m8n8_x1_shared_b16(d0, s1)",
    COPY: "ptx_cp_async_ca_shared_global(s0, s1, 8, s3)",
    PACK: "ptx_mov_b32_pack(d0, s1)",
    WAIT: "ptx_cp_async_wait_group(3)",
    PRODUCT: "ptx_wgmma<8, false>(registers((d[0]), (d[1]), (d[2]), (d[3])), s1, s2, s3, 1, 1, 0, 1)",
    BOX: "mbarrier_complete_tx_bytes(s0, s1, s101, s2)",
    PHASE: "if (!reg_complete) goto again_0;",
    ARRIVE: "ptx_mbarrier_arrive_shared_cta_b64(s1)",
    'asm volatile("" : "+f"(x), "+f"(y));': "{}",
}


@pytest.mark.parametrize("statement", SAID)
def test_a_statement_becomes_calls(statement):
    assert SAID[statement] in translated(statement, own=True)


def test_the_text_around_stays_as_it_is_and_no_line_moves():
    before, after = 'int a; // asm("x")\nconst char *s = "asm volatile(";\n', "\nint b;\n"
    made = translated(before + PACK.replace(" : ", "\n  : ") + after)
    assert made.startswith(before) and made.endswith(after)
    assert made.count("\n") == (before + PACK.replace(" : ", "\n  : ") + after).count("\n")


REFUSED = {
    "an unknown instruction": ('asm("ex2.approx.f32 %0, %0;" : "+f"(x));', "no function"),
    "an unknown modifier": (MMA.replace("mma.sync.aligned", "mma.sync"), "no function"),
    "another shape": (MMA.replace("m16n8k8", "m16n8k32"), "no function"),
    "a satfinite": (PACK.replace("cvt.rn.f16.f32 l", "cvt.rn.satfinite.f16.f32 l"), "no function"),
    "another form": ('asm goto ("x");', "another form"),
    "not volatile": (LOAD.replace(" volatile", ""), "without volatile"),
    "memory that is not said": (COPY.replace(' : "memory"', ""), 'without "memory"'),
    "a register too few": (MMA.replace("{%4, %5}", "{%4}"), "2 registers are needed"),
    "an operand too few": (LOAD.replace(", [%1]", ""), "operands"),
    "another type": (MMA.replace('"r"(b0)', '"f"(b0)'), 'a register of type "f"'),
    "no address": (LOAD.replace("[%1]", "%1"), "an address is needed"),
    "an address of 64 bits": (LOAD.replace('"r"(at)', '"l"(at)'), 'a register of type "l"'),
    "an input that is written": (LOAD.replace("{%0}, [%1]", "{%1}, [%0]"), "no output"),
    "an output that is read": (LOAD.replace("[%1]", "[%0]"), "no input"),
    "an output that nobody writes": (PACK.replace("mov.b32 %0, {l, h};", ""), "%0 is never written"),
    "an input that nobody reads": (PACK.replace("cvt.rn.f16.f32 h, %2;", "cvt.rn.f16.f32 h, %1;"), "%2 is never read"),
    "an operand that there isn't": (PACK.replace("l, %1", "l, %7"), "neither an operand"),
    "a register that there isn't": (PACK.replace("{l, h};}", "{l, k};}"), "neither an operand"),
    "no semicolon": (WAIT.replace("3;", "3"), "no semicolon"),
    "accumulators that are only written": (PRODUCT.replace('"+f"(d[2])', '"=f"(d[2])'), r'no operand "\+f"'),
    "an accumulator twice": (PRODUCT.replace("%0, %1, %2, %3}", "%0, %1, %2, %2}"), "%2 twice"),
    "accumulators too few": (PRODUCT.replace("m64n8k16", "m64n16k16"), "8 registers are needed"),
    "a branch to nowhere": (PHASE.replace("bra again", "bra later"), "which is not before it"),
    "a branch by what isn't there": (PHASE.replace("@!complete", "@!done"), "neither an operand"),
    "one coordinate": (BOX.replace("{%2, %3}", "{%2}"), "2 registers are needed"),
    "a state that somebody wants": (ARRIVE.replace(" _,", " %0,"), "for _ alone"),
    "values that change unseen": ('asm volatile("" : "+f"(x) : "r"(y));', "%0 is never read"),
    "a constraint of another kind": (PACK.replace('"f"(y)', '"d"(y)'), "constraint"),
    "an input read too late": (
        'asm("mov.b32 %0, %2; mov.b32 %1, %3;" : "=r"(a), "=r"(b) : "r"(c), "r"(d));', "of the same register",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_refused(what):
    statement, said = REFUSED[what]
    with pytest.raises(Untranslatable, match=said):
        translated(statement, own=True)


def test_early_clobbers_may_be_written_before():
    made = translated('asm("mov.b32 %0, %2; mov.b32 %1, %3;" : "=&r"(a), "=r"(b) : "r"(c), "r"(d));')
    assert made.count("ptx_mov_b32(") == 2


@pytest.mark.parametrize(("statement", "arch"), [(MMA, 70), (LOAD, 70), (COPY, 75), (WAIT, 75)])
def test_instructions_that_an_architecture_does_not_have(statement, arch):
    with pytest.raises(Untranslatable, match=f"sm_{arch} has no"):
        translated(statement, arch)


def test_what_later_architectures_do_not_have():
    with pytest.raises(Untranslatable, match="sm_90 has no wgmma.* but sm_90a has"):
        translated(PRODUCT)


@needs_compiler
def test_a_register_of_another_size_does_not_compile(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        compiled(tmp_path, 'void f(float x, unsigned &y) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); }')


@needs_compiler
def test_the_wide_product_is_of_signed_numbers(tmp_path):
    statement = 'asm("mul.wide.s32 %0, %1, %2;" : "=l"(d) : "r"(a), "r"(b));'
    product = compiled(tmp_path, f'extern "C" long long f(int a, int b) {{ long long d; {statement} return d; }}').f
    product.argtypes, product.restype = [ctypes.c_int] * 2, ctypes.c_longlong
    numbers = (-(2**31), -3, 0, 7, 2**31 - 1)
    assert [product(a, b) for a in numbers for b in numbers] == [a * b for a in numbers for b in numbers]


def statement_of(name, known):
    """An asm statement with an instruction, its operands in arrays named by the letters of their registers."""
    operands, outs, ins = [], [], []

    def registers(letter, count, sign=""):
        side = outs if sign else ins
        first = len(outs) + len(ins)
        side += [f'"{sign}{letter}"({letter}[{first + k}])' for k in range(count)]
        numbers = ", ".join(f"%{first + k}" for k in range(count))
        return "{" + numbers + "}" if count > 1 else numbers

    for form in known.operands:
        letter, count = form.strip("=&[]?")[0], form.strip("=&[]?")[1:]
        match form.lstrip("?"):
            case "_":
                operands.append("_")
            case "n":
                operands.append("16" if "cp.async.c" in name else "24" if "setmaxnreg" in name else "1")
            case "=p":
                operands.append("q")
            case "p":
                operands.append("1")
            case "[lr2]":
                operands.append(f"[{registers('l', 1)}, {registers('r', 2)}]")
            case x:
                made = registers(letter, int(count or 1), {"=": "=", "&": "+" if letter == "f" else ""}.get(x[0], ""))
                operands.append(f"[{made}]" if x.startswith("[") else made)
    word, _, variant = name.partition(" ")
    operands += ["%cluster_ctarank"] if variant == "cluster_ctarank" else []
    clobbers = ' : "memory"' if known.memory else ""
    instruction = f"{word} {', '.join(operands)}".strip()
    return f'asm volatile("{{.reg .pred q; {instruction};}}" : {", ".join(outs)} : {", ".join(ins)}{clobbers});'


@needs_compiler
def test_every_instruction_of_the_table_has_a_function(tmp_path):
    """All of them in one text that compiles."""
    lines = [statement_of(*x) for x in INSTRUCTIONS.items()]
    machine()  # has what the functions of a warp call
    parameters = "unsigned short *h, unsigned *r, unsigned long long *l, float *f"
    text = f'extern "C" void all({parameters}) {{ {" ".join(lines)} }}'
    library = compiled(tmp_path, text, own=True)
    assert library.all
