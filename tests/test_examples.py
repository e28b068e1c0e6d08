"""The examples run, each in a process of its own as its readers would run it.

The first one in a Python of its own; of the others each is a copy of a process that has imported what all of them
import, where the system copies processes: they import no name of the package but by themselves.
"""

import multiprocessing
import os
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from multiprocessing.context import BaseContext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
HEAVY = ["polyvolta.compiler.driver", "polyvolta.cuda.verify.verify", "polyvolta.cuda.machine.interpreter", __name__]


@cache
def copies() -> BaseContext:
    """What makes processes that have imported `HEAVY` and know nothing of this one, or bare ones."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(HEAVY)
    return made


def _run(path: str, arguments: tuple[str, ...], out: str) -> None:
    sys.argv = [path, *arguments]
    with open(out, "w", encoding="utf-8") as file, redirect_stdout(file):
        runpy.run_path(path, run_name="__main__")


def output_of(example: str, *arguments: str) -> str:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        process = copies().Process(target=_run, args=(str(ROOT / "examples" / example), arguments, str(out)))
        process.start()
        process.join()
        assert process.exitcode == 0, example
        return out.read_text(encoding="utf-8")


def output_in_a_new_python(example: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / example)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8", env=env).stdout


def test_matmul():
    shape, error = output_in_a_new_python("matmul.py").splitlines()
    assert shape == "(256, 128) float16"
    assert 0 < float(error.removeprefix("relative error ")) <= 5e-4


def test_stages():
    names = re.findall(r"^(\w+)\nDOMAIN: ", output_of("stages.py"), re.M)
    assert (names[0], names[-1], len(names)) == ("initial", "prefetched", 8)


def test_tiles():
    *configs, signature = output_of("tiles.py").splitlines()
    assert [re.search(r"grid=(\(.*?\))", c)[1] for c in configs] == ["(8, 8, 1)", "(16, 16, 1)", "(32, 32, 1)"]
    assert " gemm(int M, int N, int K, " in signature


def test_device_function():
    config, *result = output_of("device_function.py").splitlines()
    assert "grid=(3, 4, 1)" in config
    assert result in ([], ["equal: True"])  # with a GPU


def test_numba_mma():
    a, b, c, *result = output_of("numba_mma.py").splitlines()
    assert "-> [row = " in a and "-> [k = " in b and "-> [row = " in c
    assert result in ([], ["equal: True"])


def test_timing():
    config, *result = output_of("timing.py").splitlines()
    assert "grid=(" in config
    assert not result or result[0].endswith(" ms a run")


def test_train_mlp():
    pytest.importorskip("torch")
    lines = output_of("train_mlp.py").splitlines()
    losses = [float(line.rpartition(" ")[2]) for line in lines if line.startswith("step ")]
    assert lines[0] == "KernelModule(" and len(losses) == 4 and losses[-1] < 0.2 * losses[0]


def test_pictures(tmp_path):
    lines = output_of("pictures.py", str(tmp_path)).splitlines()
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert len(lines) == len(written) == 8
    assert all(text.startswith("<svg ") for text in written.values())
    assert "4-way bank conflicts" in written["unswizzled.svg"] and "free of bank" in written["access.svg"]


NARROW, SUM = "A @ B, 64-bit loads", "A @ B + P @ Q"


def test_new_target(request):
    """Kernels compile without a spill, are proved, and compute: two of six, with --whole all; a target's 150 lines for
    the others' 30."""
    whole = request.config.getoption("--whole")
    head, *rows = output_of("new_target.py", *([] if whole else [NARROW, SUM])).splitlines()
    assert head.split() == "kernel macro-MMA warp tile registers spills shared proved in error".split()
    names = [row[:20].rstrip() for row in rows]
    all_of_them = ["A @ B", NARROW, "relu(A @ B + bias)", "relu(A) @ B", SUM, "A @ B, split K"]
    assert names == (all_of_them if whole else [NARROW, SUM])
    for row in rows:
        macro, tile, registers, spills, _, proofs, _, _, error = row[20:].split()
        assert macro in ("m16n16k32", "m16n16k16") and tile in ("64x64x32", "64x32x32")
        assert int(registers) <= 255 and spills == "0" and len(set(proofs.split("/"))) == 1
        assert 0 < float(error) < 1e-3
    assert {row[20:].split()[0] for row in rows} == {"m16n16k32", "m16n16k16"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_tested_and_says_what_it_shows(path):
    text = path.read_text()
    assert text.startswith('"""')
    assert len(text.splitlines()) <= (150 if path.stem == "new_target" else 30)
    assert f"def test_{path.stem}(" in Path(__file__).read_text()
