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

SAID = {
    MMA: "ptx_mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(d0, s1, s2, s3)",
    LOAD: "ptx_ldmatrix_sync_aligned_m8n8_x1_shared_b16(d0, s1)",
    COPY: "ptx_cp_async_ca_shared_global(s0, s1, 8, s3)",
    PACK: "ptx_mov_b32_pack(d0, s1)",
    WAIT: "ptx_cp_async_wait_group(3)",
}


@pytest.mark.parametrize("statement", SAID)
def test_a_statement_becomes_calls(statement):
    assert SAID[statement] in translated(statement)


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
    "a constraint of another kind": (PACK.replace('"f"(y)', '"d"(y)'), "constraint"),
    "an input read too late": (
        'asm("mov.b32 %0, %2; mov.b32 %1, %3;" : "=r"(a), "=r"(b) : "r"(c), "r"(d));', "of the same register",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_is_refused(what):
    statement, said = REFUSED[what]
    with pytest.raises(Untranslatable, match=said):
        translated(statement)


def test_early_clobbers_may_be_written_before():
    made = translated('asm("mov.b32 %0, %2; mov.b32 %1, %3;" : "=&r"(a), "=r"(b) : "r"(c), "r"(d));')
    assert made.count("ptx_mov_b32(") == 2


@pytest.mark.parametrize(("statement", "arch"), [(MMA, 70), (LOAD, 70), (COPY, 75), (WAIT, 75)])
def test_instructions_that_an_architecture_does_not_have(statement, arch):
    with pytest.raises(Untranslatable, match=f"sm_{arch} has no"):
        translated(statement, arch)


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


@needs_compiler
def test_every_instruction_of_the_table_has_a_function(tmp_path):
    """All of them in one text that compiles."""
    lines = []
    for name, known in INSTRUCTIONS.items():
        operands, constraints, outs, ins = [], [], [], []
        for form in known.operands:
            letter, count = form.strip("=[]?")[0], int(form.strip("=[]?")[1:] or 1)
            if letter == "n":
                operands.append("16" if "cp.async.c" in name else "1")
                continue
            side = outs if form.startswith("=") else ins
            names = [f"{letter}[{len(outs) + len(ins) + k}]" for k in range(count)]
            side += [f'"{"=" * form.startswith("=")}{letter}"({x})' for x in names]
            numbers = [f"%{len(constraints) + k}" for k in range(count)]
            constraints += numbers
            joined = "{" + ", ".join(numbers) + "}" if count > 1 else numbers[0]
            operands.append(f"[{joined}]" if "[" in form else joined)
        clobbers = ' : "memory"' if known.memory else ""
        instruction = " ".join([name.split()[0], ", ".join(operands)]).strip()
        lines.append(f'asm volatile("{instruction};" : {", ".join(outs)} : {", ".join(ins)}{clobbers});')
    machine()  # has what the functions of a warp call
    parameters = "unsigned short *h, unsigned *r, unsigned long long *l, float *f"
    library = compiled(tmp_path, f'extern "C" void all({parameters}) {{ {" ".join(lines)} }}')
    assert library.all
