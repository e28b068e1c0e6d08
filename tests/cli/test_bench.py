"""`polyvolta bench`: files and tables of what was measured, what it says without a GPU, and that it goes on."""

import re
import sys

import pytest

from polyvolta.cli import terminal
from polyvolta.cli.commands import main
from polyvolta.cli.work import benching
from polyvolta.cuda.run import gpu, launch
from polyvolta.cuda.target.registry import targets
from polyvolta.evaluation import library, records
from polyvolta.evaluation.benchmarks import draw
from tests.evaluation.fakes import FAST, FakeGpu, FakeLibrary, Given
from tests.evaluation.made import rows

WITHOUT_GPU = pytest.mark.skipif(launch.gpu_available(), reason="tests what is said without a GPU")


@pytest.fixture
def cli(capsys):
    """Runs a command line in this process: (exit code, stdout, stderr)."""

    def run(*argv: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(("bench", *argv))
        out, err = capsys.readouterr()
        return left.value.code or 0, out, err

    return run


@pytest.fixture
def measured(tmp_path):
    """A folder with something measured."""
    records.append(tmp_path / "evaluation.csv", [r for r in rows(2) if r.benchmark == "add"])
    return tmp_path


def test_a_report_has_the_tables_on_stdout_and_all_files_in_the_folder(cli, measured):
    pytest.importorskip("matplotlib")
    code, out, err = cli("--report", "-o", str(measured))
    assert code == 0
    assert out.startswith("# sm_90a on NVIDIA H200, torch 2\n")
    assert (measured / "evaluation.md").read_text() == out.rstrip("\n") + "\n"
    names = {f"{n}-sm_90a.{kind}" for n in ("speedup", "beside-best", "roofline") for kind in ("png", "svg")}
    assert {p.name for p in measured.iterdir()} == names | {"evaluation.csv", "evaluation.md"}
    assert err.count("wrote") == 7


def test_a_report_of_some_benchmarks(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    records.append(tmp_path / "evaluation.csv", rows(2))
    code, out, _ = cli("--report", "-o", str(tmp_path), "--only", "add, gemm")
    assert code == 0 and "A @ B + P @ Q" in out and "relu(" not in out
    assert "relu(" in cli("--report", "-o", str(tmp_path))[1]


def test_without_matplotlib_there_are_tables_and_a_note(cli, measured, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = cli("--report", "-o", str(measured))
    assert code == 0
    assert "| A @ B + P @ Q | mm, mm, add |" in out
    assert "no figures: figures need matplotlib; pip install 'polyvolta[plot]'" in err


def test_tables_fit_a_terminal(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    records.append(tmp_path / "evaluation.csv", rows(2))
    monkeypatch.chdir(tmp_path)
    whole = cli("--report", "-o", ".")[1]
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "60"}.items():
        monkeypatch.setenv(name, value)
    text = re.sub(r"\x1b\[[0-9;]*m", "", cli("--report", "-o", ".")[1])
    assert max(map(len, text.split("\n"))) <= 60
    words = re.findall(r"[\d.]+", text)
    assert all(words.count(number) >= whole.count(f" {number} ") for number in re.findall(r"\d+\.\d+", whole))


@WITHOUT_GPU
def test_without_a_gpu_it_says_what_works(cli, tmp_path):
    code, out, err = cli("-o", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith("error PV505: ")
    assert "polyvolta bench --report" in " ".join(err.split())


@pytest.mark.parametrize(
    ("argv", "words"),
    [(["--report"], "has nothing measured"), (["--only", "gemn"], "did you mean 'gemm'"),
     (["--report", "--only", "gemn"], "did you mean 'gemm'"),
     (["--report", "--only", "add"], "nothing measured of add"),
     (["--target", "sm_91"], "no target is called"), (["--sizes", "0"], "Invalid value")],
)  # fmt: skip
def test_bad_input_is_refused(cli, tmp_path, argv, words):
    code, out, err = cli("-o", str(tmp_path), *argv)
    assert (code, out) == (2, "")
    assert words in err


def test_a_file_of_something_else_is_left_as_it_is(cli, tmp_path):
    path = tmp_path / "evaluation.csv"
    path.write_text("mine,all mine\n1,2\n")
    for argv in (["--report"], []):
        code, _, err = cli("-o", str(tmp_path), *argv)
        assert (code, "PV802" in err) == (2, True)
    assert path.read_text() == "mine,all mine\n1,2\n"


class Near(FakeGpu):
    def like_this(self, target):
        return target


@pytest.fixture
def fake(monkeypatch):
    """A GPU that is none."""
    monkeypatch.setattr(launch, "require_gpu", lambda: None)
    monkeypatch.setattr(gpu, "gpu_available", lambda: True)
    monkeypatch.setattr(library, "Gpu", Near)


def test_it_goes_on_where_it_was_stopped(fake, tmp_path, capsys):
    err = terminal.console(stderr=True)
    wanted = benching.Wanted(targets["sm_80"], tmp_path, ("gemm", "add"), 2, spaced=0, jobs=0)
    choices = Given(FAST, (FAST,))
    stopped = benching.Wanted(targets["sm_80"], tmp_path, ("gemm",), 2, spaced=0, jobs=0)
    assert benching.measure(err, stopped, choices, FakeLibrary())
    before = (tmp_path / "evaluation.csv").read_text()
    assert benching.measure(err, wanted, choices, FakeLibrary())
    assert (tmp_path / "evaluation.csv").read_text().startswith(before)
    found = records.read(tmp_path / "evaluation.csv")
    assert [(r.benchmark, r.sizes) for r in found] == [(b, s) for b in ("gemm", "add") for s in draw(2)]
    said = capsys.readouterr().err
    assert re.search(r"^\[1 of 2, \d:\d\d left\] gemm .*\n\[2 of 2\] gemm ", said, re.M)
    assert "add              2688 x 1280 x 3328" in said


def test_after_its_minutes_it_says_what_is_left(fake, tmp_path, capsys):
    wanted = benching.Wanted(targets["sm_80"], tmp_path, ("gemm",), 2, spaced=0, minutes=0, jobs=0)
    assert not benching.measure(terminal.console(stderr=True), wanted, Given(FAST, (FAST,)), FakeLibrary())
    assert "2 of 2 are left" in capsys.readouterr().err
    assert not (tmp_path / "evaluation.csv").exists()


def test_a_line_says_a_row():
    (row,) = [r for r in rows(1) if r.benchmark == "gemm"]
    text = benching.line(row)
    assert text.startswith("gemm             2688 x 1280 x 3328 ")
    assert f"beside {row.best} {row.best_us / row.tuned_us:.3f}" in text
