"""The tuner without a GPU: fakes in the place of compiler and GPU, real processes, a real store."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import polyvolta as pv
from polyvolta.compiler.remembered.entries import DIED, FAILED, HANGS, TIMED, WRONG
from polyvolta.compiler.remembered.store import Store
from polyvolta.cuda.errors import NoGpu, WrongGpu
from polyvolta.graph.dag import Graph
from polyvolta.tuner import crews, tune
from polyvolta.tuner.crews import Alone, Crowd
from polyvolta.tuner.errors import DoesNotFit, NoGpuThere, NothingTimed, NothingToTime
from polyvolta.tuner.processes import build, timer
from polyvolta.tuner.processes.kept import HERE, ready
from polyvolta.tuner.spec import Spec
from polyvolta.tuner.tune import Run
from tests.tuner import fakes
from tests.tuner.fakes import FakeBench, FakeBuilder, option

M, N, K = pv.sizes("M N K")
E = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
SIZES = {"M": 512, "N": 256, "K": 128}
WIDE = pv.Options(block_tile=(1024, 1024, 32))  # of no target


@pytest.fixture
def log(tmp_path, monkeypatch):
    """What fakes said so far, in all processes."""
    path = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(path))
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    return lambda: path.read_text().splitlines() if path.exists() else []


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """All of it in this process, but for tests that ask for processes; tasks of two candidates or more."""
    monkeypatch.setattr(crews, "LEAST", 2)
    if "processes" not in request.fixturenames:
        monkeypatch.setattr(fakes, "inline", True)
        for module in (build, crews, timer):
            monkeypatch.setattr(module, "Child", fakes.Inline)


@pytest.fixture
def processes():
    """Asked for by tests with processes of their own."""


def spec(limit=20.0):
    return Spec(Graph.of(E), pv.targets["sm_80"], SIZES, fakes.GPU, limit=limit)


KEY = Run(spec(), None, None, None).key


@pytest.fixture(autouse=True)
def no_process_stays():
    """From one test to the next."""
    yield
    HERE.close()


def run(store, groups=None, budget=16, executor=None, workers=2, limit=20.0, progress=False, jobs=2):
    """A run with fakes."""
    s = spec(limit)
    alone = Alone(s, FakeBench)
    crew = alone if executor is None else Crowd(s, FakeBench, executor, alone, workers)
    made = Run(s, crew, store, FakeBuilder, progress, jobs)
    return made.tuned(None if groups is None else tuple(map(option, groups)), budget)


def outcomes(tuned):
    return {e.options.group: e.outcome for e in tuned.table}


def test_the_fastest_wins_and_is_found_again_without_any_process(tmp_path, log):
    store = Store(tmp_path)
    tuned = run(store, [9, 3, 7, 4])
    assert tuned.options == option(3)
    assert tuned.kernel == pv.compile(E, "sm_80", option(3))
    assert [e.options.group for e in tuned.table] == [3, 4, 7, 9][: len(tuned.table)]
    assert tuned.table[0].final and not tuned.table[-1].final
    before = log()
    assert "race 3,9" not in before and "race 3" in before  # the others are far behind
    again = run(Store(tmp_path), [9, 3, 7, 4])
    assert again.options == tuned.options and again.table.rows == tuned.table.rows
    assert log() == before


def test_what_does_not_work_is_said_and_the_rest_goes_on(tmp_path, log):
    bad = [fakes.HANG, fakes.DIE, fakes.WRONG, fakes.FAULT, fakes.NO_BUILD, fakes.BUILD_DIES, fakes.FOREIGN]
    tuned = run(Store(tmp_path), [*bad, 5, 6, fakes.DIE_ONCE], limit=1.0)
    assert outcomes(tuned) == {
        fakes.HANG: HANGS, fakes.DIE: DIED, fakes.WRONG: WRONG, fakes.FAULT: FAILED, fakes.NO_BUILD: FAILED,
        fakes.BUILD_DIES: DIED, fakes.FOREIGN: FAILED, 5: TIMED, 6: TIMED, fakes.DIE_ONCE: TIMED,
    }  # fmt: skip
    assert tuned.options == option(5)
    notes = {e.options.group: e.note for e in tuned.table}
    assert notes[fakes.HANG] == "not done after 1 s"
    assert "ended with 7 amid add" in notes[fakes.DIE]
    assert notes[fakes.FOREIGN] == "ZeroDivisionError: of another library"
    tried = [line for line in log() if line == f"add {fakes.DIE}"]
    assert len(tried) == 2  # a process may end for reasons of its own


def test_a_second_run_times_what_is_missing_and_what_died_again(tmp_path, log):
    run(Store(tmp_path), [5, 6, fakes.WRONG, fakes.DIE])
    before = len(log())
    tuned = run(Store(tmp_path), [5, 6, fakes.WRONG, fakes.DIE, 4])
    fresh = log()[before:]
    assert tuned.options == option(4)
    assert {line for line in fresh if line.startswith("add")} >= {"add 4", f"add {fakes.DIE}"}
    assert f"add {fakes.WRONG}" not in fresh
    assert "add 6" not in fresh  # far behind 4: not raced either


def test_nothing_works(tmp_path, log):
    with pytest.raises(NothingTimed) as caught:
        run(Store(tmp_path), [fakes.WRONG, fakes.NO_BUILD])
    assert "wrong: C differs from float64" in caught.value.where
    assert Store(tmp_path).finished(KEY) is None


def test_sizes_that_do_not_fit(tmp_path, log, monkeypatch):
    monkeypatch.setenv("FAKE_GPU", "small")
    with pytest.raises(DoesNotFit, match=r"200.0 GiB"):
        run(Store(tmp_path), [5, 6])
    with ThreadPoolExecutor(2) as pool, pytest.raises(DoesNotFit):
        run(Store(tmp_path), [5, 6], executor=pool)


def test_ctrl_c_keeps_what_was_timed_and_the_same_call_goes_on(tmp_path, log):
    def stop(done, total, last):
        if done == 2:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(store, [5, 6, 7, 8], progress=stop)
    assert threading.active_count() < 20
    kept = {e.options.group for e in Store(tmp_path).entries(KEY)}
    assert len(kept) == 2
    before, seen = len(log()), []
    tuned = run(Store(tmp_path), [5, 6, 7, 8], progress=lambda done, total, last: seen.append((done, total)))
    added = {int(line.split()[1]) for line in log()[before:] if line.startswith("add")}
    assert tuned.options == option(5)
    assert seen[0] == (3, 4)
    assert added - {5} == {6, 7, 8} - kept  # the first may be raced again


STOPPED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in a shell's background ignores it
from pathlib import Path
from polyvolta.compiler.remembered.store import Store
from tests.tuner.test_tune import run
from tests.tuner import fakes
run(Store(Path(sys.argv[1])), [5, fakes.DIE, fakes.HANG], limit=100.0, jobs=1,
    progress=lambda *x: print(*x[:2], flush=True))
"""


def test_a_process_that_is_stopped_leaves_what_it_found_and_no_process_behind(tmp_path, log, processes):
    root = str(Path(__file__).resolve().parents[2])
    process = subprocess.Popen([sys.executable, "-c", STOPPED, str(tmp_path)], stdout=subprocess.PIPE, cwd=root,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    assert [process.stdout.readline() for _ in range(2)] == [b"1 3\n", b"2 3\n"]
    while f"add {fakes.HANG}" not in log():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) != 0
    assert {e.options.group for e in Store(tmp_path).entries(KEY)} == {5, fakes.DIE}
    end = time.monotonic() + 10
    while time.monotonic() < end and _left(tmp_path):
        time.sleep(0.05)
    assert not _left(tmp_path)


def _left(folder) -> list[str]:
    """Processes whose environment has the folder's log: those that were started there and are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int(path.name) != os.getpid() and f"FAKE_LOG={folder}".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


def test_any_executor_times(tmp_path, log):
    with ThreadPoolExecutor(2) as executor:
        tuned = run(Store(tmp_path), [9, 3, 7, 4, fakes.WRONG], executor=executor)
    assert tuned.options == option(3)
    assert outcomes(tuned) == {9: TIMED, 3: TIMED, 7: TIMED, 4: TIMED, fakes.WRONG: WRONG}
    assert 1 <= log().count("take") <= 2  # one for each worker, which stays from task to task


class Dying(Executor):
    """Workers of which some die: the n-th task fails, or all from one on, or none can be given."""

    def __init__(self, fails, refuses=()):
        self.fails, self.refuses, self.tasks = fails, refuses, 0

    def submit(self, function, *arguments):
        self.tasks += function is not ready
        if self.tasks in self.refuses:
            raise RuntimeError("the pool is broken")
        future = Future()
        if self.tasks in self.fails:
            future.set_exception(ChildProcessError("a worker died"))
        else:
            try:
                future.set_result(function(*arguments))
            except Exception as wrong:
                future.set_exception(wrong)
        return future


@pytest.mark.parametrize("fails, refuses", [({1}, ()), ({1, 3}, ()), ((), range(1, 100)), ({1}, range(2, 100))])
def test_a_worker_that_dies_is_worked_around(tmp_path, log, fails, refuses):
    tuned = run(Store(tmp_path), [9, 3, 7], executor=Dying(fails, refuses))
    assert outcomes(tuned) == {9: TIMED, 3: TIMED, 7: TIMED}
    assert tuned.options == option(3) and tuned.table[0].final


def test_candidates_whose_workers_die_again_and_again(tmp_path, log):
    with pytest.raises(NothingTimed, match="none of 2") as caught:
        run(Store(tmp_path), [9, 3], executor=Dying(range(1, 100)))
    assert "died: ChildProcessError: a worker died" in caught.value.where


def test_a_pool_whose_process_is_killed(tmp_path, log, processes):
    with ProcessPoolExecutor(1) as pool:
        os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
        tuned = run(Store(tmp_path), [3], executor=pool)
    assert tuned.options == option(3)


def test_an_executor_that_is_broken_from_the_start(log, monkeypatch):
    monkeypatch.setattr(tune, "gpu_here", lambda: None)
    with pytest.raises(NoGpu, match=r"the executor fails \(the pool is broken\)"):
        pv.tune(E, executor=Dying((), range(100)), **SIZES)
    monkeypatch.setattr(tune, "gpu_here", lambda: fakes.GPU)
    assert tune._gpu(Dying((), range(100))) == fakes.GPU


def test_a_pool_that_breaks_where_there_is_no_gpu(tmp_path, log, monkeypatch):
    """What its workers found out before is the result."""
    monkeypatch.setattr(crews, "LEAST", 1)
    s = spec()
    alone = Alone(s, NoBench)
    tuned = Run(s, Crowd(s, FakeBench, Dying((), {3, 4, 5, 6}), alone, 9), Store(tmp_path), FakeBuilder, jobs=1).tuned(
        tuple(map(option, (9, 3, 7))), 16
    )
    assert outcomes(tuned) == {9: TIMED, 3: TIMED, 7: DIED}
    assert tuned.options == option(3)
    assert tuned.table[-1].note == "no worker is left, and here there is no GPU"


class NoBench:
    def __init__(self, spec):
        pass

    def take(self):
        raise NoGpu("there is no GPU")


def test_workers_without_such_a_gpu(tmp_path, log, monkeypatch):
    monkeypatch.setenv("FAKE_GPU", "other")
    with ThreadPoolExecutor(1) as pool, pytest.raises(NoGpuThere):
        run(Store(tmp_path), [9, 3], executor=pool)


def test_dask(tmp_path, log, processes):
    distributed = pytest.importorskip("dask.distributed")
    from polyvolta.tuner.crews import executor_of

    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        cluster.get_client() as c,
    ):
        executor, workers = executor_of(c)
        assert workers == 2
        tuned = run(Store(tmp_path), [9, 3, 7, 4], executor=executor, workers=workers)
    assert tuned.options == option(3)


# ---- what tune itself refuses


def test_without_a_gpu_it_says_what_works(monkeypatch):
    with pytest.raises(NoGpu, match="nothing can be timed") as caught:
        pv.tune(E, **SIZES)
    assert "pv.compile(E, sizes=...)" in caught.value.hint
    with ThreadPoolExecutor(1) as pool, pytest.raises(NoGpu, match="the executor's worker sees no"):
        pv.tune(E, executor=pool, **SIZES)


@pytest.mark.parametrize(
    "given, message",
    [
        ({}, "the size M is missing"),
        ({**SIZES, "L": 3}, "no size 'L'"),
        ({**SIZES, "M": 0}, "at least 1, not 0"),
        ({**SIZES, "M": 2.5}, "at least 1, not 2.5"),
        ({**SIZES, "budget": 0}, "the budget is a number of candidates"),
        ({**SIZES, "budget": "all"}, "the budget is a number of candidates"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(NothingToTime, match=message):
        pv.tune(E, **given)


@pytest.mark.parametrize("given, message", [
    ({"candidates": []}, "no candidates"), ({"candidates": [3]}, "a candidate is an int"),
    ({"candidates": pv.Options()}, "candidates is an Options"), ({"limit": 0}, "the limit is"),
    ({"sizes": 512}, "sizes is an int"), ({"sizes": {"M": 64}}, "the size M is given twice"),
    ({"target": "sm_71"}, "no target is called 'sm_71'"), ({"target": "sm_70", "candidates": [WIDE]}, "1024x1024x32"),
], ids=str)  # fmt: skip
def test_arguments_are_looked_at_before_a_gpu_is(monkeypatch, given, message):
    monkeypatch.setattr(tune, "_gpu", lambda pool: pytest.fail("looked for a GPU"))
    with pytest.raises(pv.PolyvoltaError, match=message):
        pv.tune(E, **SIZES, **given)


def test_sizes_may_be_called_as_the_arguments_are(monkeypatch):
    """Sizes of any name go through `sizes`, beside others that are arguments."""
    seen = []
    monkeypatch.setattr(tune, "_gpu", lambda pool: fakes.GPU)
    monkeypatch.setattr(tune.Run, "tuned", lambda run, given, number: seen.append((run.spec.sizes, number)))
    budget, target, k = pv.sizes("budget target K")
    product = pv.tensor("A", (budget, k)) @ pv.tensor("B", (k, target), layout="col")
    pv.tune(product, "sm_70", 3, sizes={"budget": 512, "target": 256}, K=64)
    assert seen == [({"budget": 512, "target": 256, "K": 64}, 3)]
    with pytest.raises(WrongGpu):
        pv.tune(E, "sm_90a", **SIZES)


@pytest.fixture
def at_hand(tmp_path, log, monkeypatch):
    """A GPU at hand that is none, and a cache of its own."""
    from polyvolta.compiler.remembered import find

    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "1M")
    monkeypatch.setattr(tune, "_gpu", lambda pool: fakes.GPU)
    monkeypatch.setattr(find, "gpu_here", lambda: fakes.GPU)
    monkeypatch.setattr(tune, "Bench", FakeBench)
    monkeypatch.setattr(tune, "Builder", FakeBuilder)


def test_the_whole_of_tune_with_a_gpu_that_is_none(at_hand):
    """`tune` and `compile` agree on where results are: the second finds what the first one left."""
    tuned = pv.tune(E, "sm_80", candidates=[option(6), option(5)], progress=False, **SIZES)
    assert tuned.options == option(5)
    X = pv.tensor("X", (N, M)) @ pv.tensor("Y", (M, K), layout="col")  # other names for the same
    found = pv.compile(X, "sm_80", sizes={"N": 512, "K": 256, "M": 128})
    assert found.options == option(5)
    assert pv.compile(E, "sm_80", sizes={**SIZES, "M": 513}).options != option(5)
    assert pv.compile(E, "sm_80", pv.Options(group=2), sizes=SIZES).options.group == 2
    assert pv.compile(E, "sm_80").options != option(5)
    assert pickle.loads(pickle.dumps(tuned.options)) == tuned.options


def test_the_best_guesses_are_the_first_of_the_space(at_hand):
    tuned = pv.tune(E, "sm_80", 3, progress=False, **SIZES)
    space = pv.Options.space(E, "sm_80", **SIZES)
    assert {e.options for e in tuned.table} == {next(space) for _ in range(3)}
    more = pv.tune(E, "sm_80", 5, progress=False, **SIZES)
    assert {e.options for e in more.table} == {e.options for e in tuned.table} | {next(space) for _ in range(2)}
    assert len(pv.tune(E, "sm_80", 2, progress=False, **SIZES).table) == 5  # all that is known


def test_the_command_line(at_hand, log, capsys, monkeypatch):
    from polyvolta.cli.commands import main

    def ran(*argv):
        with pytest.raises(SystemExit) as left:
            main(["tune", "--size", "512x256x128", "--target", "sm_80", *argv])
        return left.value.code or 0, *capsys.readouterr()

    code, out, err = ran("--budget", "2")
    assert (code, err) == (0, "")
    assert out.startswith("A @ B on NVIDIA Fake, M=512, N=256, K=128\n")
    assert 'pv.compile(E, \'sm_80\', sizes={"M": 512, "N": 256, "K": 128}) finds the first of these' in out
    monkeypatch.setattr(FakeBench, "race", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, out, err = ran("--budget", "3")
    assert (code, out) == (130, "")
    assert "the same command goes on" in err
    assert ran("--size", "0x1x1")[0] == 2


def test_the_table_says_what_candidates_differ_in(tmp_path, log):
    table = run(Store(tmp_path), [7, 3, fakes.WRONG]).table
    lines = str(table).splitlines()
    assert lines[0] == "A @ B on NVIDIA Fake, M=512, N=256, K=128"
    assert [line.split() for line in lines[1:4]] == [
        ["time", "group"], ["3.00", "us*", "1.000", "3"], ["7.00", "us", "7"]
    ]  # fmt: skip
    assert lines[4].split()[:2] == ["wrong", str(fakes.WRONG)] and lines[4].endswith("C differs from float64")
    assert lines[5].startswith("all with block_tile=128x128x32, warp_tile=64x64x32")
    assert "<td>3.00 us*</td>" in table._repr_html_()
    assert table[0].options == option(3) and len(table) == 3
