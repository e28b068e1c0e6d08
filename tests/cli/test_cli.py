"""The command line: what it prints on a terminal and in a pipe, its files, errors and exit codes."""

import json
import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

import polyvolta
import polyvolta as pv
from polyvolta.cli.errors import print_error
from polyvolta.cli.options import Choice
from polyvolta.cli.work import trial
from polyvolta.cli.work.trial import TOLERANCE
from polyvolta.compiler.kernel import Kernel
from polyvolta.cuda.errors import CompilerMissing
from polyvolta.cuda.machine import interpreter

STAGES = "initial block_tiled warp_tiled mapped strip_mined contracted promoted prefetched".split()
WARP_TILED = """\
DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
  BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]
    BAND: S[i, j, k] → [⌊i/64⌋ - 2⌊i/128⌋, ⌊j/64⌋ - 2⌊j/128⌋, 0]
      BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]
"""
ESCAPE = "\x1b"


@pytest.fixture
def terminal(monkeypatch, cli):
    """The same on what looks like a terminal, of 100 columns if nothing else is said."""
    import typer.rich_utils  # which asks the environment once, when it is imported  # noqa: F401

    def run(*argv: str, columns: int = 100) -> tuple[int, str, str]:
        like = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm", "COLUMNS": str(columns)}
        for name, value in like.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("NO_COLOR", raising=False)
        return cli(*argv)

    return run


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def relative_error(out: str) -> float:
    return float(re.search(r"^relative error +(\S+)", out, re.M)[1])


# ---- demo --------------------------------------------------------------------------------------------------


def test_demo_goes_from_graph_to_result(cli):
    code, out, err = cli("demo")
    assert (code, err) == (0, "")
    headings = re.findall(r"^(\w[^─\n]*) ─+$", out, re.M)
    assert headings[:9] == [*STAGES, "CUDA"]
    assert headings[9] == "launch for M = 256, N = 256, K = 128"
    assert headings[10:] == ["machine code for sm_70", "run 256 x 256 x 128"]
    assert re.search(r"^grid +2 x 2 x 1 blocks$", out, re.M)
    assert re.search(r"^block +128 threads, 2 x 2 x 1 warps along rows, columns and k$", out, re.M)
    assert 'extern "C" __global__ void __launch_bounds__(128) kern0(' in out
    assert "mma.sync.aligned.m8n8k4" in out
    assert re.search(r"^ran on +(interpreter \(no GPU\)|GPU, sm_\d+)$", out, re.M)
    assert re.search(r"^time +[\d.]+ m?s", out, re.M)
    assert 0 < relative_error(out) <= TOLERANCE["float16"]


def test_demo_tells_the_resources(cli):
    out = cli("demo")[1]
    if "[PV501]" not in out:
        assert re.search(r"^registers +\d+ a thread, of 255$", out, re.M)
        assert re.search(r"^spills +none\nlocal memory +none$", out, re.M)


def test_demo_goes_on_without_a_compiler(cli, monkeypatch):
    def missing(kernel):
        raise CompilerMissing("NVRTC isn't installed", hint="pip install it")

    monkeypatch.setattr(Kernel, "resources", missing)
    code, out, _ = cli("demo", "--interpret")
    assert code == 0
    assert "[PV501] NVRTC isn't installed\nhint: pip install it" in out
    assert relative_error(out) <= TOLERANCE["float16"]


@pytest.mark.parametrize("idiom", ["matmul", "epilogue", "prologue", "sum"])
def test_run_in_bf16(cli, idiom):
    pytest.importorskip("ml_dtypes")
    given = "--target", "sm_80", "--dtype", "bfloat16", "--block-tile", "64x64x32", "--warp-tile", "32x32x32"
    code, out, _ = cli("run", "--interpret", "--idiom", idiom, "--size", "72x40x56", *given)
    assert code == 0 and "standard normal bf16 data" in out
    assert TOLERANCE["float16"] < relative_error(out) <= TOLERANCE["bfloat16"]


def test_bf16_on_a_target_without_it(cli):
    code, _, err = cli("emit", "--dtype", "bf16", "--target", "sm_75")
    assert code and "PV517: sm_75 has no instruction that multiplies bfloat16" in err and "sm_80" in err


@pytest.mark.parametrize("command", ["demo", "run"])
def test_a_wrong_result_is_exit_code_1(cli, monkeypatch, command):
    monkeypatch.setattr(Kernel, "interpret", lambda kernel, a, b: 0 * (a.astype("f4") @ b))
    code, out, err = cli(command, "--interpret")
    assert code == 1
    assert relative_error(out) == 1
    assert err.startswith("the result is wrong")


def test_a_pipe_gets_whole_lines_without_escape_codes(cli):
    out = cli("demo")[1]
    assert ESCAPE not in out
    assert max(map(len, out.splitlines())) > 150
    assert not re.search(r"[^\n ] +$", out, re.M)


def test_a_terminal_gets_colours_folded_trees_and_shading(terminal):
    code, out, _ = terminal("show")
    assert code == 0
    assert max(map(len, plain(out).splitlines())) <= 100
    shaded = [plain(line) for line in out.splitlines() if "48;2;220;220;220" in line]
    assert shaded[0].rstrip() == "▌   BAND: S[i, j, k] → [⌊i/128⌋, ⌊j/128⌋, ⌊k/32⌋]"
    assert all(len(line) == 100 for line in shaded)


# ---- show --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [
    ["--help"], ["run", "--help"], ["targets"], ["show", "--stage", "promoted"], ["verify", "--only", "bounds,fresh"],
    ["trace", "--size", "64x64x64", "--first", "20", "--steps", "9"], ["run", "--size", "64x64x64", "--interpret"],
    ["emit", "-o", "a-folder-that-is-not-there/and-one-below/kernel.cu"], ["verify", "--only", "nonsense"],
    ["run", "--size", "3x3"], ["show", "--dtype", "bfloat16"], ["emit", "--block-tile", "63x64x32"],
], ids=" ".join)  # fmt: skip
def test_what_people_read_fits_a_terminal_of_60_columns(terminal, argv):
    _, out, err = terminal(*argv, columns=60)
    lines = plain(out + err).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) > 20 and [line for line in lines if len(line.rstrip()) > 60] == []


def test_show_prints_one_stage_as_in_the_paper(cli):
    assert cli("show", "--stage", "warp_tiled") == (0, WARP_TILED, "")


def test_help_may_be_asked_for_by_a_word(cli):
    assert cli("help") == cli("--help") and cli("help", "show") == cli("show", "--help")
    assert cli("help")[0] == 0 and "--stage" in cli("help", "show")[1]


def test_show_in_ascii(cli):
    signs = {"⌊i/64⌋": "floor(i/64)", "≤": "<=", "→": "->", "∧": "and"}
    out = cli("show", "--stage", "warp_tiled", "--ascii")[1]
    assert out.isascii()
    assert re.sub(r"floor\((\w)/(\d+)\)", r"⌊\1/\2⌋", out).replace("*⌊", "⌊") == re.sub(
        "|".join(map(re.escape, signs)), lambda m: signs[m[0]] if m[0] in "≤→∧" else m[0], WARP_TILED
    )
    assert cli("show", "--ascii")[1].replace("─", "").isascii()


SEVERAL = """import sys
from polyvolta.cli.commands import main
for line in sys.argv[1:]:
    try:
        main(line.split("|"))
    except SystemExit as left:
        print(f"ends with {left.code}", flush=True)
        print("and", file=sys.stderr, flush=True)"""
"""Several commands in one process, whose outputs they share."""


@pytest.mark.parametrize("set_by", [
    {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
], ids=str)  # fmt: skip
def test_an_encoding_without_the_signs_gets_ascii_and_ends_no_command(set_by):
    """In a process of its own, whose stdout can't encode them."""
    lines = ("verify|--only|bounds", "verify|--only|partition|--break|macro tiles one row down",
             "show|--idiom|matm\u00fcl", "show|--stage|warp_tiled")  # fmt: skip
    env = {**set_by, "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", SEVERAL, *lines], capture_output=True, env=env, check=True)
    assert b"Traceback" not in done.stderr and done.stdout.isascii() and done.stderr.isascii()
    *parts, rest = re.split(r"ends with (\S+)\n", done.stdout.decode())
    assert rest == "" and parts[1::2] == ["0", "1", "2", "0"]
    proved, refuted, _, shown = parts[::2]
    assert "+  bounds" in proved and "-  partition" in refuted and "matm" in done.stderr.decode().split("and\n")[2]
    assert "[floor(i/128), floor(j/128), floor(k/32)]" in shown


def test_show_marks_what_a_pass_changed(cli):
    out = cli("show")[1]
    assert re.findall(r"^(\w+) ─+$", out, re.M) == STAGES
    mapped = out.split("mapped ─")[1].split("strip_mined ─")[0]
    assert re.findall(r"^▌ +BAND: .*\[(\w+)", mapped, re.M) == ["blockIdx", "warpIdx_y"]


def test_tiles_reach_the_trees(cli):
    out = cli("show", "--stage", "warp_tiled", "--block-tile", "64x64x16", "--warp-tile", "32X64×16")[1]
    assert "[⌊i/64⌋, ⌊j/64⌋, ⌊k/16⌋]" in out
    assert "[i - 32⌊i/32⌋, j - 64⌊j/64⌋, k - 16⌊k/16⌋]" in out


# ---- emit --------------------------------------------------------------------------------------------------


def test_emit_writes_the_text_to_stdout_or_a_file(cli, tmp_path):
    code, text, err = cli("emit")
    assert (code, err) == (0, "")
    assert text.startswith("// kern0: ")
    assert text.endswith("}\n")
    code, out, err = cli("emit", "-o", str(tmp_path / "kern.cu"))
    assert (code, out) == (0, "")
    assert err.startswith(f"wrote {tmp_path / 'kern.cu'}, ")
    assert (tmp_path / "kern.cu").read_text() == text


def test_emit_is_the_same_on_a_terminal(cli, terminal):
    assert terminal("emit")[1] == cli("emit")[1]


def test_emit_writes_machine_code(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(Kernel, "cubin", lambda kernel: b"\x7fELF of " + kernel.target.name.encode())
    code, out, _ = cli("emit", "--cubin", str(tmp_path / "kern.cubin"))
    assert (code, out) == (0, "")
    assert (tmp_path / "kern.cubin").read_bytes() == b"\x7fELF of sm_70"


# ---- run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size, choice",
    [
        ("128x256x64", []),
        ("64x32x48", ["--block-tile", "64x32x16"]),
        ("33x1x129", ["--idiom", "epilogue", "--split-k", "2"]),
        ("70x50x20", ["--idiom", "sum", "--layouts", "col,row"]),
        ("17x40x7", ["--idiom", "prologue", "--macro-mma", "m32n32k8", "--buffers", "2"]),
        ("17x40x9", ["--output-layout", "col", "--partial", "pad"]),
        ("20x30x9", ["--idiom", "sum", "--accumulators", "separate", "--warp-tile", "32x32x32"]),
    ],
)
def test_run(cli, size, choice):
    code, out, _ = cli("run", "--size", size, "--seed", "7", *choice)
    assert code == 0
    assert f"run {size.replace('x', ' x ')}" in out
    assert "seed 7" in out
    assert 0 < relative_error(out) <= TOLERANCE["float16"]


@pytest.mark.parametrize("size", ["0x5x7", "5x0x7", "3x5x0"])
def test_a_run_of_nothing_is_right(cli, size):
    code, out, _ = cli("run", "--size", size, "--interpret")
    assert code == 0 and relative_error(out) == 0


def test_options_reach_the_kernel(cli):
    assert "K split in 2, 2 buffers, arrays padded, sm_70" in cli(
        "show", "--block-tile", "32x32x16", "--split-k", "2", "--buffers", "2", "--partial", "pad", "--target", "sm_70"
    )[1]  # fmt: skip
    text = cli("emit", "--idiom", "sum", "--output-layout", "col", "--accumulators", "one")[1]
    assert "E[M, N] col-major" in text


def test_a_long_run_is_announced(cli, monkeypatch):
    """By a clock that the interpreter measures itself with; once, and in the words of notes."""
    clock = count(step=4.0)
    monkeypatch.setattr(interpreter, "perf_counter", lambda: next(clock))
    code, out, err = cli("run", "--size", "20x20x20", "--block-tile", "32x32x16", "--interpret")
    assert re.fullmatch(r"note: interpreting kern0 on these arrays takes about \d+ minutes\n", err)
    assert code == 0 and "relative error" in out


# ---- verify ------------------------------------------------------------------------------------------------

SMALL = ("--block-tile", "32x32x16", "--warp-tile", "16x16x16")


@pytest.mark.parametrize("argv,title,stages", [
    (("--cluster", "2x1"), ", clusters of 2x1 blocks, sm_90a",
     ["Who has tiles copied", "what several of them read is copied once."]),
    (("--split-k", "2"), "K split in 2", ["Who has tiles copied", "clusters: each has one of 2 parts of K."]),
    (("--persistent", "--pingpong"), ", persistent, warpgroups in turn, sm_90a", ["as many as run at a time"]),
], ids=str)  # fmt: skip
def test_the_title_says_how_blocks_are_launched_and_each_stage_what_its_pass_did(cli, argv, title, stages):
    code, out, _ = cli("show", "--target", "sm_90a", "--block-tile", "64x64x64", *argv)
    assert code == 0 and title in out.splitlines()[0] and all(words in out for words in stages)
    assert "for each warpgroup." in out and "run one iteration ahead" not in out


def test_verify_prints_a_report_and_exits_with_0(cli):
    code, out, err = cli("verify", *SMALL, "--only", "bank_conflicts, barriers_between")
    assert (code, err) == (0, "")
    assert "block tile 32x32x16, warp tile 16x16x16, m16n16k8, sm_70" in out
    assert "for all M >= 1, N >= 1, K >= 0\n2 statements proved in " in out
    assert re.findall(r"^([✓✗])  (\w+)", out, re.M) == [("✓", "barriers_between"), ("✓", "bank_conflicts")]
    assert ESCAPE not in out and max(map(len, out.splitlines())) <= 100


def test_verify_of_a_broken_kernel_exits_with_1(cli):
    argv = ("verify", *SMALL, "--only", "barriers_between", "--break", "no barrier after the stores")
    code, out, err = cli(*argv)
    assert (code, err) == (1, "")
    assert out.startswith("broken on purpose, no barrier after the stores: ")
    assert "✗ barriers_between refuted" in out
    assert re.search(r"^  > +\d+ \| .*hmma_load_a_row", out, re.M)
    assert out.rstrip().endswith("<-- here")


@pytest.mark.parametrize("mutant, found", [(None, 0), ("no barrier after the stores", 1)])
def test_the_exit_code_is_the_same_where_nobody_reads_on(mutant, found):
    argv = [sys.executable, "-m", "polyvolta", "verify", *SMALL, "--only", "barriers_between"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        done = subprocess.run(argv + ["--break", mutant] * bool(mutant), stdout=nobody, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (found, b"")


@pytest.mark.parametrize("argv", [("trace", "--size", "32x32x32"), ("emit",)])
def test_a_reader_that_leaves_early_is_no_failure(argv):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as nobody:
        done = subprocess.run([sys.executable, "-m", "polyvolta", *argv, *SMALL], stdout=nobody, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_many_names_are_listed_in_short_lines_and_stay_whole(cli):
    from polyvolta.cuda.mutants import MUTANTS

    _, _, err = cli("verify", *SMALL, "--break", "nope")
    lines = err.splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 100
    listed = " ".join(line.strip() for line in lines[1:]).removeprefix("hint: known: ").split(", ")
    assert listed == list(MUTANTS)
    assert all(line.endswith(",") for line in lines[1:-1])


def test_verify_of_what_is_not_decided_exits_with_1(cli, monkeypatch):
    from polyvolta.cuda.verify import verify as verifying
    from polyvolta.cuda.verify.engine.undecided import Undecided

    def unknown(*_):
        raise Undecided("nobody knows")

    monkeypatch.setattr(verifying, "provers", lambda: {"alignment": unknown})
    code, out, err = cli("verify", *SMALL, "--only", "alignment,bounds")
    assert (code, err) == (1, "")
    assert "1 of 2 statements not decided" in out
    assert re.findall(r"^([✓✗?])  (\w+)", out, re.M) == [("?", "alignment"), ("✓", "bounds")]


def test_verify_on_a_terminal_is_coloured_and_fits(terminal):
    code, out, _ = terminal("verify", *SMALL, "--only", "ownership")
    assert code == 0
    assert f"{ESCAPE}[1;32m✓" in out
    assert max(map(len, plain(out).splitlines())) <= 100


# ---- errors, help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv, id, fragments",
    [
        (["show", "--stage", "warp_tild"], "PV103", ["'warp_tild'", "\nhint: did you mean 'warp_tiled'?"]),
        (["run", "--size", "512x512"], "PV601", ["'512x512' is no size", "such as 512x512x256"]),
        (["run", "--size", "100000x100000x10"], "PV604", ["takes about 279 GiB", "this machine has 8 GiB"]),
        (["run", "--size", "128x128x-32"], "PV601", ["'128x128x-32'"]),
        (["run", "--split-k", "3"], "PV401", ["split_k is 1, 2, 4 or 8, not 3"]),
        (["show", "--stage", "swapped"], "PV103", ["no stage 'swapped'", "\nhint: it has initial, block_tiled, warp_"]),
        (["show", "--stage", "hoisted"], "PV103", ["no stage 'hoisted'", "warp_tiled, mapped, strip_mined"]),
        (["show", "--idiom", "epilog"], "PV603", ["'epilog'", "did you mean 'epilogue'?"]),
        (["show", "--layouts", "row"], "PV601", ["'row' is not two layouts", "row,col"]),
        (["show", "--layouts", "row,column"], "PV204", ["'column'"]),
        (["show", "--output-layout", "column"], "PV204", ["'column'"]),
        (["show", "--partial", "gaurd"], "PV401", ["did you mean 'guard'?"]),
        (["show", "--accumulators", "two"], "PV401", ["auto"]),
        (["emit", "--block-tile", "0x128x32"], "PV601", ["'0x128x32'", "at least 1"]),
        (["demo", "--block-tile", "big"], "PV601", ["'big' is no block tile", "128x128x32"]),
        (["emit", "--block-tile", "128x64x32", "--warp-tile", "48x64x32"], "PV401", ["128 and 48"]),
        (
            ["emit", "--block-tile", "1024x1024x32"],
            "PV401",
            ["1024x1024x32", "98304", "hint: try block_tile="],
        ),
        (["emit", "--target", "sm70"], "PV514", ["'sm70'", "did you mean 'sm_70'?"]),
        (["emit", "--macro-mma", "m16n16k16"], "PV401", ["'m16n16k16'", "did you mean 'm16n16k8'?"]),
        (["verify", *SMALL, "--only", "bound"], "PV550", ["'bound'", "did you mean 'bounds'?"]),
        (["verify", *SMALL, "--only", " ,"], "PV550", ["no proof was asked for"]),
        (
            ["verify", *SMALL, "--break", "no barier after the stores"],
            "PV565",
            ["did you mean 'no barrier after the stores'?"],
        ),
        (["verify", *SMALL, "--break", "a part of a split K dropped"], "PV564", []),
        (["verify", *SMALL, "--only", ""], "PV550", ["hint: without `only` all are; known: "]),
        (["emit", "-o", "no/such/folder/kern.cu"], "PV602", ["no/such/folder/kern.cu", "No such file"]),
    ],
)
def test_bad_input_is_an_error_and_exit_code_2(cli, monkeypatch, argv, id, fragments):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**21}.__getitem__)
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    assert err.startswith(f"error {id}: ")
    assert ESCAPE not in err
    for fragment in fragments:
        assert fragment in err


def test_a_stage_of_another_kernel_is_an_error_in_json(cli):
    code, out, err = cli("show", "--stage", "hoisted", "--json")
    assert (code, out) == (2, "")
    found = json.loads(err)["error"]
    assert (found["id"], found["message"]) == ("PV103", "this kernel has no stage 'hoisted'")
    assert found["hint"].removeprefix("it has ").split(", ") == list(Choice().compiled().stages)


@pytest.mark.parametrize(("name", "value"), [("TTY_COMPATIBLE", "0"), ("FORCE_COLOR", "1")])
def test_where_an_error_is_folds_on_what_is_taken_for_a_terminal_alone(monkeypatch, capsys, name, value):
    """Environments that have a word in it have rich loaded, which decides."""
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "60")
    print_error(pv.PolyvoltaError("no", where="somewhere far away " * 6, hint="go there"))
    err = capsys.readouterr().err
    if value == "0":
        assert err == f"error {pv.PolyvoltaError.id}: no\n  {'somewhere far away ' * 6}\nhint: go there\n"
    else:
        assert len(err.splitlines()) > 3 and "hint" in err


def test_an_errors_id_is_red_on_a_terminal(terminal):
    code, _, err = terminal("run", "--size", "1x2")
    assert code == 2
    assert f"{ESCAPE}[1;31merror PV601{ESCAPE}[0m: " in err


@pytest.mark.parametrize("argv", [["bensch"], ["show", "--stge", "x"], ["run", "--seed", "x"]])
def test_wrong_usage_is_exit_code_2(cli, argv):
    code, _, err = cli(*argv)
    assert code == 2
    assert "Error" in err


@pytest.mark.parametrize(("argv", "said"), [
    (["run", "--json", "--seed", "x"], "valid integer"), (["show", "--json", "--idiom"], "requires an argument"),
    (["verify", "--stge", "x", "--json"], "No such option"), (["bensch", "--json"], "No such command"),
    (["run", "--json", "--target", "sm_99"], "no target is called 'sm_99'"),
])  # fmt: skip
def test_with_json_wrong_usage_is_json(cli, argv, said):
    code, out, err = cli(*argv)
    assert (code, out) == (2, "")
    error = json.loads(err)["error"]
    assert said in error["message"] and error["hint"]


def test_help_and_version(cli):
    import polyvolta

    assert cli("--version") == (0, f"polyvolta {polyvolta.__version__}\n", "")
    code, out, _ = cli("--help")
    assert code == 0
    assert all(re.search(rf"\b{command} ", out) for command in ("demo", "show", "emit", "run", "draw", "verify"))
    for command in ("demo", "show", "emit", "run", "draw", "verify"):
        code, out, _ = cli(command, "-h")
        assert code == 0
        assert all(f"--{option}" in out for option in ("block-tile", "output-layout", "partial", "accumulators"))
        assert not re.search("<[a-z]", out)


def test_help_imports_nothing_heavy():
    code = """import sys
from polyvolta.cli.commands import main
try:
    main(["--help"])
except SystemExit:
    print(*sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split("\n")[-2].split()
    assert "typer" in loaded
    assert not {"numpy", "sympy", "networkx", "numba"} & set(loaded)


# ---- outputs that can't be written -------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess:
    """A line of the shell, in which `polyvolta` is the command line; its exit code is that of the first command."""
    command = f'polyvolta() {{ "{sys.executable}" -m polyvolta "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
    here = {**os.environ, "PYTHONPATH": str(Path(polyvolta.__file__).parent.parent)}
    here.pop("PYTHONUNBUFFERED", None)  # with which nothing is left for Python's end, where flushing fails
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=here, check=False)


WRITING = ("emit", "show", "demo --interpret", "verify --only bounds", "--help", "show --help", "--version",
           "trace --steps 3", "run --size 16x16x16 --interpret")  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", WRITING)
def test_a_full_disk_is_one_line_and_exit_code_1(command):
    done = shell(f"polyvolta {command} > /dev/full")
    assert (done.returncode, done.stderr) == (1, "error PV602: stdout can't be written: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_errors_keep_their_exit_code_where_nothing_can_be_written():
    bad = "polyvolta emit --layouts x"
    assert shell(f"{bad} > /dev/full").stderr.startswith("error PV601")
    assert shell(f"{bad} 2> /dev/full > /dev/full").returncode == shell(bad).returncode == 2


def test_a_closed_stdout_is_one_line():
    done = shell("polyvolta emit >&-")
    assert (done.returncode, done.stderr) == (1, "error PV602: stdout can't be written: it is closed\n")


@pytest.mark.parametrize("command", ["emit", "show", "--help", "demo --interpret"])
def test_nobody_reads_on(command):
    done = shell(f"polyvolta {command} | head -1")
    assert done.stderr == "" and done.stdout.count("\n") == 1 and done.returncode in (0, 1)


@pytest.mark.parametrize(("given", "words"), [
    ({"block_tile": (128, 64, 64), "warp_tile": (64, 64, 64)}, "2 x 1 warpgroups along rows and columns"),
    ({"block_tile": (64, 64, 64), "split_k": 2}, "1 x 1 warpgroups along rows and columns for one of 2 parts of k"),
    ({"block_tile": (64, 64, 64), "pingpong": True}, "2 warpgroups in turn"),
], ids=str)  # fmt: skip
def test_a_launch_says_who_computes_a_block_s_tile(given, words):
    from rich.console import Console

    from polyvolta.cli.terminal import print_launch

    m, n, k = pv.sizes("M N K")
    product = pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")
    kernel = pv.compile(product, target="sm_90a", options=pv.Options(**given))
    out = Console(record=True, width=200)
    print_launch(out, kernel, {"M": 128, "N": 128, "K": 128})
    assert f"{kernel.ir.threads} threads, {words} and a warp that copies" in out.export_text()


# ---- before a kernel is made


@pytest.mark.parametrize("argv", [("emit", "-o"), ("emit", "--cubin"), ("draw", "output", "-o"), ("draw", "all", "-o")])
def test_places_that_cannot_be_written_are_refused_first(cli, monkeypatch, tmp_path, argv):
    monkeypatch.setattr(Choice, "compiled", lambda choice: pytest.fail("a kernel was made"))
    (tmp_path / "file").touch()
    code, out, err = cli(*argv, str(tmp_path / "file" / "in it"))
    assert (code, out) == (2, "") and err.startswith("error PV60") and "Not a directory" in err
    if argv[1] != "all":
        assert "Is a directory" in cli(*argv, str(tmp_path))[2]
        assert "No such file" in cli(*argv, str(tmp_path / "none" / "in it"))[2]


def test_the_text_goes_to_stdout_where_that_is_the_file(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Kernel, "cubin", lambda kernel: b"code")
    text = cli("emit")[1]
    assert cli("emit", "-o", "-") == (0, text, "")
    assert cli("emit", "-o", "-", "--cubin", "kern.cubin")[:2] == (0, text)
    assert [p.name for p in tmp_path.iterdir()] == ["kern.cubin"]
    assert cli("emit", "--cubin", "-")[0] == 2


def test_a_run_that_takes_too_long_is_refused_before_its_data_are_made(cli, monkeypatch):
    clock = iter(range(0, 10**9, 2))
    monkeypatch.setattr(interpreter, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(trial, "random_arrays", lambda *_: pytest.fail("data were made"))
    code, out, err = cli("run", "--interpret", "--size", "2048x2048x2048")
    assert (code, out) == (2, "") and "error PV554" in err and "hint: a smaller --size" in err


def test_ctrl_c_ends_quietly_while_modules_load(monkeypatch, capsys):
    from polyvolta import __main__ as entry

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("polyvolta.cli.commands.main", interrupted)
    with pytest.raises(SystemExit) as left:
        entry.main()
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")
