"""Compiling without a GPU, and what a cubin says of itself. NVRTC comes with the `test` extra."""

from __future__ import annotations

import re
import struct
import subprocess
import sys

import pytest

from polyvolta.cuda.errors import BadImage, CompileFailed, CompilerMissing, UnsupportedArch
from polyvolta.cuda.run import nvrtc
from polyvolta.cuda.run.nvrtc import Cubin, Resources, compile_cubin, known_cubin, resources
from polyvolta.sets.errors import PolyvoltaError

COPY = """
extern "C" __global__ void copy(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }
"""
# a block's reversal through shared memory, and a second kernel whose array is indexed at run time
TWO = """
extern "C" __global__ void reverse(float *v) {
  __shared__ float all[96];
  all[threadIdx.x] = v[threadIdx.x];
  __syncthreads();
  v[threadIdx.x] = all[95 - threadIdx.x];
}
extern "C" __global__ void pick(const int *which, float *v) {
  float local[64];
  for (int i = 0; i < 64; i += 1) local[which[i]] = v[i];
  v[threadIdx.x] = local[which[64 + threadIdx.x]];
}
"""
MMA = """
extern "C" __global__ void mma(const unsigned *a, float *c) {
  float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  asm("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%8, %9}, "
      "{%0, %1, %2, %3, %4, %5, %6, %7};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "r"(a[threadIdx.x]), "r"(a[threadIdx.x + 32]));
  for (int i = 0; i < 8; i += 1) c[8 * threadIdx.x + i] = d[i];
}
"""


def crowded(values: int, bound: str) -> str:
    """A kernel that keeps so many floats alive across a barrier, under a launch bound."""
    loads = "\n".join(f"  float x{i} = v[threadIdx.x + {i} * 1024];" for i in range(values))
    stores = "\n".join(f"  v[threadIdx.x + {i} * 1024] = x{values - 1 - i};" for i in range(values))
    return f'extern "C" __global__ void {bound} crowded(float *v) {{\n{loads}\n  __syncthreads();\n{stores}\n}}'


def test_compiles_for_volta_without_a_gpu():
    cubin = compile_cubin(COPY, name="copy")
    assert cubin.arch == "sm_70"
    assert cubin.image[:4] == b"\x7fELF"
    (flags,) = struct.unpack_from("<I", cubin.image, 0x30)
    assert flags & 0xFF == 70  # the ELF header's own word for the architecture
    assert compile_cubin(COPY, name="copy") is cubin


@pytest.mark.parametrize("arch", ["sm_70", "sm_75", "sm_80", "sm_90", "sm_90a"])
def test_shared_and_local_memory_are_read_from_the_cubin(arch):
    cubin = compile_cubin(TWO, arch, name="two")
    reverse, pick = cubin.resources("reverse"), cubin.resources("pick")
    assert (reverse.shared_bytes, reverse.local_bytes) == (96 * 4, 0)
    assert (pick.shared_bytes, pick.local_bytes) == (0, 64 * 4)
    assert pick.spill_stores == pick.spill_loads == 0  # an indexed array is no spill
    assert 0 < reverse.constant_bytes


@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
@pytest.mark.parametrize("source, entry", [(COPY, "copy"), (TWO, "reverse"), (MMA, "mma")])
def test_registers_agree_with_the_assembler(arch, source, entry):
    cubin = compile_cubin(source, arch, name="k")
    said = re.search(rf"Function properties for {entry}\s.*?Used (\d+) registers", cubin.log, re.DOTALL)
    assert said and cubin.resources(entry).registers == int(said[1])


def test_spills_of_a_kernel_with_too_few_registers():
    roomy = compile_cubin(crowded(100, "__launch_bounds__(128)"), name="roomy").resources("crowded")
    tight = compile_cubin(crowded(100, "__launch_bounds__(1024, 2)"), name="tight").resources("crowded")
    assert roomy.spill_stores == roomy.spill_loads == roomy.local_bytes == 0
    assert roomy.registers > 100
    assert tight.registers <= 32
    assert tight.spill_stores >= 60 * 4 and tight.spill_loads >= 60 * 4
    assert tight.local_bytes >= 60 * 4


def test_without_the_log_spills_are_unknown():
    cubin = compile_cubin(COPY, name="copy")
    bare = resources(cubin.image, "copy")
    assert bare == Resources(bare.registers, 0, 0, None, None, bare.constant_bytes)
    assert Cubin(cubin.image, "sm_70", cubin.log).resources("copy").spill_stores == 0


def test_a_syntax_error_shows_its_line_and_keeps_the_log():
    with pytest.raises(CompileFailed) as caught:
        compile_cubin(COPY.replace("to[threadIdx.x]", "two[threadIdx.x]"), name="wrong")
    error = caught.value
    assert isinstance(error, PolyvoltaError) and error.id == "PV502"
    assert "wrong.cu has an error for sm_70" in str(error)
    assert "   2 | " in error.where and "two[threadIdx.x]" in error.where
    assert 'identifier "two" is undefined' in error.where
    assert "wrong.cu(2)" in error.log


def test_many_errors_are_counted():
    body = "\n".join(f"  no{i} = 1;" for i in range(9))
    with pytest.raises(CompileFailed, match="9 errors") as caught:
        compile_cubin(f"__global__ void k() {{\n{body}\n}}", name="k")
    assert caught.value.where.endswith("and 4 more")


def test_what_is_said_of_equal_lines_stands_there_once():
    wrong = "  v[0] = ;\n" * 40 + "  v[0] = x;\n"
    with pytest.raises(CompileFailed, match="41 errors") as caught:
        compile_cubin(f'extern "C" __global__ void k(float *v) {{\n{wrong}}}', name="k")
    lines = caught.value.where.splitlines()
    assert len(lines) == 4 and lines[0].split() == ["2", "|", "v[0]", "=", ";"]
    assert lines[1].endswith("error: expected an expression   (40 times, the last in line 41)")
    assert lines[2].split()[0] == "42" and "times" not in lines[3]
    assert caught.value.log.count("expected an expression") == 40


def test_machine_code_is_known_where_it_is_in_memory_or_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    text = COPY.replace("copy", "known")
    assert known_cubin(text, "sm_70", name="known") is None
    made = compile_cubin(text, "sm_70", name="known")
    assert known_cubin(text, "sm_70", name="known") is made
    assert known_cubin(text, "sm_80", name="known") is known_cubin(text + " ", "sm_70", name="known") is None
    monkeypatch.setattr(nvrtc, "_in_memory", {})
    assert known_cubin(text, "sm_70", name="known") == made
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "0")
    assert known_cubin(text, "sm_70", name="known") is None


def test_an_error_of_the_assembler_is_one_too():
    with pytest.raises(CompileFailed) as caught:
        compile_cubin('__global__ void k() { asm("wrong.instruction;"); }', name="k")
    assert "wrong" in str(caught.value)


def test_unknown_architectures():
    with pytest.raises(UnsupportedArch, match="'volta' is no GPU architecture"):
        compile_cubin(COPY, "volta", name="k")
    with pytest.raises(UnsupportedArch, match="no installed NVRTC targets sm_999") as caught:
        compile_cubin(COPY, "sm_999", name="k")
    assert caught.value.id == "PV503" and "sm_70" in caught.value.where and "cuda13" in caught.value.hint
    with pytest.raises(UnsupportedArch, match="there is no such chip; the nearest are sm_80 and sm_86"):
        compile_cubin(COPY, "sm_81", name="k")


def test_every_architecture_that_an_installed_compiler_targets_is_a_chip():
    assert set(nvrtc._nvrtc_for("sm_80").targets) <= set(nvrtc.CHIPS)


def test_an_nvrtc_without_volta_is_passed_over_or_named(monkeypatch):
    real = nvrtc._nvrtc_for("sm_70")
    new = nvrtc._Nvrtc(real.lib, "/new/libnvrtc.so.13", (13, 0), (75, 80, 90))
    monkeypatch.setattr(nvrtc, "_load", {"/new": new, "/old": real}.get)
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/new", "/old"]))
    assert nvrtc._nvrtc_for("sm_70") is real
    assert nvrtc._nvrtc_for("sm_90") is new
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/new"]))
    with pytest.raises(UnsupportedArch, match=r"12\.9 is the last that targets Volta") as caught:
        nvrtc._nvrtc_for("sm_70")
    assert "NVRTC 13.0 at /new/libnvrtc.so.13" in caught.value.where
    assert "polyvolta[cuda12]" in caught.value.hint


def test_beside_cuda_13_its_own_nvrtc_is_loaded_first(monkeypatch, tmp_path):
    """NVIDIA's Python packages take what is loaded, 13 before 12: with 12.9 alone they would take ours."""
    folder = tmp_path / "nvidia" / "cu13" / ("bin/x86_64" if sys.platform == "win32" else "lib")
    folder.mkdir(parents=True)
    theirs = folder / ("nvrtc64_130_0.dll" if sys.platform == "win32" else "libnvrtc.so.13")
    theirs.touch()
    real, load, loaded = nvrtc._nvrtc_for("sm_70"), nvrtc._load, []
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(nvrtc, "_load", lambda path: loaded.append(path) or load(path))
    assert nvrtc._nvrtc_for("sm_70") is real
    assert loaded == [str(theirs), real.path]


def test_without_nvrtc_the_hint_installs_it(monkeypatch):
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(["/nowhere/libnvrtc.so.12"]))
    with pytest.raises(CompilerMissing, match="polyvolta\\[cuda12\\]") as caught:
        compile_cubin(COPY + "// not in the cache", name="k")
    assert caught.value.id == "PV501" and isinstance(caught.value, ImportError)


def test_what_is_no_cubin():
    with pytest.raises(BadImage, match="no cubin"):
        resources(b"PTX", "copy")
    image = compile_cubin(COPY, name="copy").image
    with pytest.raises(BadImage, match="it has copy"):
        resources(image, "paste")
    for size in range(64, len(image), 257):
        try:
            resources(image[:size], "copy")
        except BadImage:
            continue


def test_importing_costs_nothing():
    code = (
        "import sys, polyvolta.cuda.run.nvrtc, polyvolta.cuda.run.launch\n"
        "costly = {'numba', 'numba_cuda', 'cuda.core', 'cuda.bindings', 'numpy'}\n"
        "sys.exit(' '.join(costly & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
