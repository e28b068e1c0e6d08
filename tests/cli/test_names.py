"""Names on the command line, what programs read of it, bars, narrow terminals, and what is loaded before a refusal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys

import pytest
from rich.console import Console

import polyvolta as pv
from polyvolta.cli import names, terminal, values
from polyvolta.cli.commands import main
from polyvolta.cli.gallery import IDIOMS
from polyvolta.cli.progress import Bar
from polyvolta.cli.work import trial
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.errors import NoGpu
from polyvolta.cuda.mutants import MUTANTS
from polyvolta.evaluation import records
from polyvolta.evaluation.benchmarks import BENCHMARKS
from polyvolta.graph.functions.formats import FORMATS
from polyvolta.sets import code_cache
from polyvolta.tuner import tune
from tests.evaluation.made import rows

SMALL = ("--block-tile", "32x32x16", "--warp-tile", "16x16x16")


@pytest.fixture
def product():
    m, n, k = pv.sizes("M N K")
    return pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")


# ---- names


def test_names_are_those_of_the_api():
    assert tuple(IDIOMS) == names.IDIOMS
    assert tuple(FORMATS) == names.DTYPES
    assert (*pv.targets, AUTO) == names.TARGETS
    assert tuple(MUTANTS) == names.MUTANTS
    assert {t.name: (*t.macro_names, *(m.name for f in t.families for m in f)) for t in pv.targets.values()} \
        == names.MACRO_MMAS
    assert tuple(b.name for b in BENCHMARKS) == names.BENCHMARKS


@pytest.mark.parametrize(("target", "given"), [
    ("sm_70", {}), ("sm_80", {"swap": True, "group": 4}), ("sm_90a", {"persistent": True, "cluster": (2, 1)}),
], ids=str)  # fmt: skip
def test_every_stage_of_a_kernel_is_known(product, target, given):
    stages = list(pv.compile(pv.relu(product), target, pv.Options(**given)).stages)
    assert [s for s in names.STAGES if s in stages] == stages


@pytest.mark.parametrize(("words", "found"), [
    ("show --idiom e", ["epilogue"]), ("emit --target sm_9", ["sm_90a"]),
    ("show --layouts row,", ["row,row", "row,col"]),
    ("verify --only bounds,fr", ["bounds,fresh"]), ("draw o", ["ownership", "output"]), ("bench --only ad", ["add"]),
    ("show --stage warp", ["warp_tiled"]), ("run --dtype b", ["bfloat16"]), ("emit --macro-mma m32n32", ["m32n32k8"]),
    ("show --partial ", ["guard", "pad"]), ("targ", ["targets"]), ("tune --bud", ["--budget"]),
], ids=str)  # fmt: skip
def test_a_shell_completes(cli, monkeypatch, words, found):
    monkeypatch.setenv("_POLYVOLTA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"polyvolta {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(f"polyvolta {words}".split(" ")) - 1))
    assert cli()[1].split() == found


def test_options_may_be_written_as_the_api_has_them(cli):
    given = cli("show", "--stage", "warp_tiled", "--block_tile", "(32, 32, 16)", "--warp_tile", "16,16,16")
    assert given == cli("show", "--stage", "warp_tiled", *SMALL) and given[0] == 0


@pytest.mark.parametrize(("argv", "message"), [
    (["show", "--stage", "warp_tild"], "did you mean 'warp_tiled'?"),
    (["verify", "--only", "bonds"], "did you mean 'bounds'?"),
    (["verify", "--break", "no barier after the stores"], "did you mean 'no barrier after the stores'?"),
    (["draw", "pipline"], "did you mean 'pipeline'?"), (["emit", "-o", "x", "--cubin", "x"], "can't hold both"),
], ids=str)  # fmt: skip
def test_names_are_refused_before_a_kernel_is_made(cli, monkeypatch, argv, message):
    monkeypatch.setattr("polyvolta.compiler.driver.compile", lambda *_, **__: pytest.fail("compiled"))
    code, out, err = cli(*argv)
    assert (code, out) == (2, "") and message in err


REFUSED = {
    "show --idiom matmull": "did you mean 'matmul'?", "show --layouts rw,col": "no layout 'rw'",
    "show --dtype float61": "did you mean 'float16'?", "show --output-layout rw": "no layout 'rw'",
    "show --block-tile 1x2": "no block tile", "show --warp-tile 0x1x1": "no warp tile",
    "show --cluster 3x1": "cluster is",
    "show --macro-mma m16n16k7": "no target has a macro-MMA called",
    "show --macro-mma m64n65k16 --target sm_90a": "sm_90a has no macro-MMA",
    "show --target sm_86": "take 'sm_80'", "show --partial gard": "did you mean 'guard'?",
    "show --accumulators two": "accumulators is", "show --split-k 3": "split_k is", "show --buffers 0": "buffers is",
    "show --prefetch -1": "prefetch is", "show --fragments 3": "fragments is", "show --group 65": "group is",
    "show --occupancy 9": "occupancy is", "show --stage warp_tild": "did you mean 'warp_tiled'?",
    "verify --only bonds": "did you mean 'bounds'?", "verify --only bounds,frsh": "did you mean 'fresh'?",
    "verify --break swizle": "no mutant is called", "verify --break barrier": "those with this word: ",
    "draw pipline": "did you mean 'pipeline'?",
    "draw output --tile shared_B": "has no use for --tile", "draw -o /dev/null/x": "no folder",
    "draw --break x": "no mutant",
    "run --size 1x2": "no size", "trace --block 1": "no block", "trace --size 1": "no size",
    "tune --size 0x1x1": "no size", "tune --target sm_71": "take 'sm_70'",
    "calibrate --target sm_9": "target is called", "bench --target sm_99": "'sm_80'",
    "bench --only gem": "did you mean 'gemm'?", "emit --cubin -": "to files alone", "emit -o /dev/null/x": "be written",
}  # fmt: skip


def test_what_is_wrong_by_itself_is_refused_before_anything_heavy_is_loaded():
    """In one process after the other's refusal: what one of them loads is seen at the next."""
    code = """import sys
from polyvolta.cli.commands import main
for line in sys.stdin.read().splitlines():
    try:
        main(line.split())
    except SystemExit as left:
        print(left.code, *sys.modules)
        print(file=sys.stderr)"""
    lines = "\n".join(REFUSED)
    done = subprocess.run([sys.executable, "-c", code], input=lines, capture_output=True, text=True, check=True)
    heavy = {"numpy", "sympy", "networkx", "numba", "rich.console", "polyvolta.sets.values", "polyvolta.sched.tree",
             "polyvolta.cuda.ir.kernel_ir", "polyvolta.cuda.target", "polyvolta.compiler.options"}  # fmt: skip
    errors = done.stderr.strip().split("\n\n")
    for (line, words), error, ended in zip(REFUSED.items(), errors, done.stdout.splitlines(), strict=True):
        code, *loaded = ended.split()
        assert code == "2" and words in error, (line, error)
        assert not heavy & {*loaded}, line


# ---- for programs


def read(text: str):
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_stages_as_data(cli):
    found = read(cli("show", "--json", *SMALL)[1])
    assert found["options"]["block_tile"] == [32, 32, 16] and found["outputs"] == {"C": "A @ B"}
    (tiled,) = [s for s in found["stages"] if s["stage"] == "warp_tiled"]
    assert tiled["tree"] + "\n" == cli("show", "--stage", "warp_tiled", *SMALL)[1] and tiled["changed"]
    assert [tiled] == read(cli("show", "--json", "--stage", "warp_tiled", *SMALL)[1])["stages"]


def test_text_proofs_and_runs_as_data(cli, tmp_path):
    assert read(cli("emit", "--json", *SMALL)[1])["source"] == cli("emit", *SMALL)[1]
    broken = "verify", "--json", "--only", "barriers_between", "--break", "no barrier after the stores", *SMALL
    code, out, err = cli(*broken)
    (proof,) = read(out)["proofs"]
    assert (code, proof["outcome"], read(out)["ok"]) == (1, "refuted", False) and "broken on purpose" in err
    assert proof["counter_example"]["sizes"].keys() == {"M", "N", "K"} and proof["counter_example"]["place"]["line"] > 1
    run = read(cli("run", "--json", "--interpret", "--size", "20x30x9", *SMALL)[1])
    assert run["ok"] and run["sizes"] == {"M": 20, "N": 30, "K": 9} and 0 < run["relative_error"] < run["tolerance"]
    steps = read(cli("trace", "--json", "--steps", "2", "--size", "32x32x16", *SMALL)[1])["steps"]
    assert [s["number"] for s in steps] == [0, 1] and steps[0]["does"][0]["warps"] == [0, 1, 2, 3]


def test_targets(cli):
    found = read(cli("targets", "--json")[1])
    assert [t["name"] for t in found] == list(pv.targets) and found[0]["shared_bytes"] == 98304
    code, out, _ = cli("targets")
    assert code == 0 and re.findall(r"^(\w+) ", out, re.M) == list(pv.targets)


def test_measurements_as_data(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # no figures
    records.append(tmp_path / "evaluation.csv", [r for r in rows(1) if r.benchmark == "add"])
    (row,) = read(cli("bench", "--report", "--json", "-o", str(tmp_path))[1])
    assert row["benchmark"] == "add" and row["tuned_us"] > 0


@pytest.mark.parametrize("argv", [("--idiom", "matmull"), ("--target", "sm_71"), ("--limit", "0")], ids=str)
def test_tune_says_what_is_wrong_before_it_looks_for_a_gpu(cli, monkeypatch, argv):
    monkeypatch.setattr(tune, "_gpu", lambda _: pytest.fail("looked for a GPU"))
    code, out, err = cli("tune", "--json", *argv)
    assert (code, out) == (2, "") and read(err)["error"]["id"] != NoGpu.id


def test_errors_as_data(cli):
    code, out, err = cli("show", "--json", "--idiom", "epilog")
    assert (code, out) == (2, "")
    assert read(err)["error"] == {"id": "PV603", "kind": "UnknownIdiom", "message": "there is no idiom 'epilog'",
                                  "where": "", "hint": "did you mean 'epilogue'?"}  # fmt: skip


def test_what_has_no_number_is_null():
    assert values.plain({"a": float("inf"), 2: (float("nan"), 1.5, None)}) == {"a": None, "2": [None, 1.5, None]}


# ---- terminals


def on_terminal(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def test_a_bar_says_how_long_is_left():
    clock = iter(range(0, 100, 10))
    bar = Bar("loading", on_terminal(60), lambda: next(clock))
    bar.reach("proving", 1, 5, "bounds")  # ten seconds after it was begun with
    bar.reach("proving", 2, 5)
    assert bar.share == "2 of 5, 0:30 left"
    bar.reach("drawing", 0.25, 1.0)
    assert bar.share.startswith("25%")
    assert not Bar("loading", Console(file=io.StringIO(), force_terminal=False)).is_shown


@pytest.mark.parametrize("target", ["sm_70", "sm_90a"])
def test_what_the_interpreter_will_do_is_counted_right(product, target, monkeypatch):
    """At the end of each batch the count is its forecast, of kernels with roles and without."""
    kernel = pv.compile(product, target, pv.Options(block_tile=(64, 64, 64)))
    shares, steps = [], None

    class Noted:
        def reach(self, what, done, of):
            shares.append(done)

    monkeypatch.setattr(trial, "monotonic", iter(range(10**6)).__next__)
    steps = trial.Steps(Noted())
    kernel.interpret(*trial.random_arrays(kernel, {"M": 130, "N": 70, "K": 200}, 1), hook=steps)
    assert shares[-1] == 1.0 and shares == sorted(shares)
    assert steps._every == 6 and steps._done == steps._of


@pytest.mark.parametrize("argv", [("show", "--idiom", "epilogue"), ("targets",), ("trace", "--help"),
                                  ("verify", "--break", "nope"), ("run", "--size", "1x2"),
                                  ("verify", "--only", "bank_conflicts", *SMALL)], ids=str)  # fmt: skip
def test_everything_fits_a_terminal_of_60_columns(monkeypatch, capsys, argv):
    like = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm", "COLUMNS": "60"}  # styles keep their codes
    for name, value in like.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", True)  # as a first import finds it in that environment
    with pytest.raises(SystemExit):
        main(argv)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "\n".join(capsys.readouterr())).replace("\r", "\n").splitlines()
    assert lines and max(map(len, lines)) <= 60


def test_text_on_a_terminal_is_highlighted_and_copies_as_it_is(product):
    source = pv.compile(product).source
    out = Console(file=io.StringIO(), force_terminal=True, width=60, color_system="standard", soft_wrap=True)
    terminal.print_text(out, source)
    said = out.file.getvalue()
    assert "\x1b[" in said and re.sub(r"\x1b\[[0-9;]*m", "", said) == source


def test_a_cache_that_can_not_be_written_is_said_once(cli, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.delenv("POLYVOLTA_CACHE_SIZE", raising=False)
    monkeypatch.setattr(pv.compiler.kernel.Kernel, "cubin", lambda kernel: twice())

    def twice() -> bytes:
        code_cache.write(bytes(32), b"x", "")
        code_cache.write(bytes(32), b"x", "")
        return b"code"

    code, _, err = cli("emit", "--cubin", str(tmp_path / "k.cubin"), *SMALL)
    assert code == 0 and err.count("note: ") == 1 and "POLYVOLTA_CACHE_DIR names another" in err
