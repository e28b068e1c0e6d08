"""An evaluation's course, on a GPU that is none: its times are a formula, its results right but where a test says."""

import gc
import math
from functools import cache

import pytest

from polyvolta.compiler.arguments import TooLarge
from polyvolta.evaluation import ahead, records
from polyvolta.evaluation.ahead import Task, kernels
from polyvolta.evaluation.benchmarks import benchmark
from polyvolta.evaluation.choices import Ranked, spread
from polyvolta.evaluation.course import ODD, Course
from polyvolta.evaluation.library import in_turn
from polyvolta.evaluation.spelling import read_options, spelled
from polyvolta.tuner.errors import WrongResult
from tests.evaluation.fakes import FAST, ILLEGAL, MIDDLE, SIZES, SLOW, SM_80, FakeGpu, FakeLibrary, Given


@pytest.fixture(autouse=True, scope="module")
def frozen():
    """Each course searches for garbage: not in what other tests left, half a second each time.

    It asks how many objects are frozen, too, which counts them one by one: 0.4 s for those of all tests.
    """
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", lambda: 1)
        yield


@pytest.fixture(autouse=True, scope="module")
def compiled_once():
    """The same few kernels are all that courses compile; each gets its own copy, as from another process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "compile", cache(ahead.compile))
        yield


def course(choices, names=("gemm",), sizes=SIZES, **more):
    some, gpu = [benchmark(n) for n in names], more.pop("gpu", FakeGpu())
    return Course(some, SM_80, sizes, choices, FakeLibrary(), gpu, jobs=0, **more)


def test_a_row_says_the_first_choice_the_best_of_the_budget_and_of_the_space():
    one, two = course(Given(SLOW, (SLOW, MIDDLE), (FAST, SLOW, MIDDLE)), spaced=1).rows()
    assert (one.default_us, one.tuned_us, one.space_us) == (20, 12.5, 10)
    assert (one.default, one.tuned, one.space) == tuple(map(spelled, (SLOW, MIDDLE, FAST)))
    assert (one.tried, one.spaced, one.sizes, one.gpu, one.library) == (2, 3, SIZES[0], "a fake", "theirs 1.0")
    assert (one.chain_us, one.best_us, one.best, one.error) == (15, 11, "other", 2e-4)
    assert math.isnan(two.space_us)
    assert (two.space, two.spaced, two.tuned_us) == ("", 0, 12.5)


def test_the_first_choice_is_among_the_tuned_and_a_library_without_more_has_no_best():
    (row,) = course(Given(FAST, (SLOW,)), ("relu_gemm",), SIZES[:1], spaced=0).rows()
    assert (row.tuned_us, row.tried, row.best) == (10, 2, "")
    assert math.isnan(row.best_us)


def test_what_is_done_is_left_out_and_nothing_begins_after_the_limit():
    made = list(course(Given(FAST, (FAST,)), ("gemm", "add")).rows())
    assert [(r.benchmark, r.sizes) for r in made] == [(b, s) for s in SIZES for b in ("gemm", "add")]
    again = course(Given(FAST, (FAST,)), ("gemm", "add"), gpu=FakeGpu(name="a fake"))
    assert [r.key for r in again.rows({made[0].key, made[3].key})] == [made[1].key, made[2].key]
    assert not list(course(Given(FAST, (FAST,))).rows({r.key for r in made}))
    assert not list(course(Given(FAST, (FAST,))).rows(until=-math.inf))


def test_of_another_gpu_everything_is_measured():
    done = {r.key for r in course(Given(FAST, (FAST,))).rows()}
    assert len(list(course(Given(FAST, (FAST,)), gpu=FakeGpu(name="another")).rows(done))) == 2


def test_wrong_and_refused_kernels_are_never_timed_and_said():
    mine = course(Given(MIDDLE, (FAST, MIDDLE, ILLEGAL)), gpu=FakeGpu({FAST: (ODD,)}), spaced=0)
    assert [r.tuned_us for r in mine.rows()] == [12.5, 12.5]
    assert all(r.tried == 1 for r in mine.rows())
    wrong, refused = sorted(mine.refused.values(), key=lambda text: "wrong" not in text)
    assert "relative error inf" in wrong
    assert "shared memory" in refused


def test_a_winner_that_is_wrong_at_its_own_size_ends_it():
    gpu = FakeGpu({FAST: SIZES[1:]})
    rows = course(Given(FAST, (FAST,)), gpu=gpu).rows()
    assert next(rows).sizes == SIZES[0]
    with pytest.raises(WrongResult, match="256, 256, 128"):
        next(rows)


def test_a_launch_that_is_refused_at_a_size_leaves_that_kernel_out_there():
    class Refusing(FakeGpu):
        def bound(self, kernel, b, arrays):
            if kernel.options == FAST and arrays["sizes"] == SIZES[0]:
                raise TooLarge("too many blocks")
            return super().bound(kernel, b, arrays)

    mine = course(Given(FAST, (FAST, SLOW)), gpu=Refusing(), spaced=0)
    one, two = mine.rows()
    assert (one.tuned_us, one.tried, two.tuned_us, two.tried) == (20, 1, 10, 2)
    assert math.isnan(one.default_us)
    assert list(mine.refused.values()) == ["too many blocks"]


def test_without_any_kernel_it_says_so():
    with pytest.raises(WrongResult, match="no kernel of A @ B"):
        list(course(Given(ILLEGAL, (ILLEGAL,))).rows())


def test_arrays_of_a_size_serve_all_benchmarks():
    gpu = FakeGpu()
    list(course(Given(FAST, (FAST,)), ("gemm", "add"), gpu=gpu).rows())
    assert gpu.asked == [ODD, *SIZES]


def test_progress_tells_what_and_how_far():
    seen = []
    list(course(Given(FAST, (FAST, SLOW)), progress=lambda *what: seen.append(what)).rows())
    assert seen == [("choosing", 1, 2), ("choosing", 2, 2), ("compiling", 1, 2), ("compiling", 2, 2), ("timing", 1, 2),
                    ("timing", 2, 2)]  # fmt: skip


def test_graphs_take_turns_and_medians_are_taken():
    class Drifting(FakeGpu):
        """Slower with each replay; one outlier."""

        order = ""

        def microseconds(self, graph, count, replays=2):
            self.order += "ab"[graph > 15]
            return [1000.0 if len(self.order) == 4 else graph + len(self.order)] * replays

    gpu = Drifting()
    us = in_turn(gpu, {"a": 10.0, "b": 20.0}, 5, rounds=6)
    assert gpu.order == "ababab" + "bababa"  # neither is always behind the other
    assert us == {"a": 10 + (5 + 8) / 2, "b": 20 + (7 + 9) / 2}  # of 1, 3, 5, 8, 10, 12 and 2, -, 6, 7, 9, 11


def test_the_model_ranks_and_the_space_holds_what_it_ranks_last():
    gemm, sizes = benchmark("gemm"), (512, 1024, 768)
    some, all_of_them = Ranked(4, 10), Ranked(4, None)
    guesses = some.guesses(gemm, SM_80, sizes)
    assert len(guesses) == 4
    assert some.first(gemm, SM_80, sizes) == guesses[0]
    space, whole = some.space(gemm, SM_80, sizes), all_of_them.space(gemm, SM_80, sizes)
    assert list(space[:5]) == list(whole[:5])
    assert len(space) in (9, 10)
    assert len(set(whole)) == len(whole) > 100
    assert set(some.space(gemm, SM_80, (4096, 64, 4096))) & set(space[5:]) >= set(space[5:]) - {*whole[:5]}
    assert some.first(gemm, SM_80, (4096, 4096, 64)) == all_of_them.first(gemm, SM_80, (4096, 4096, 64))
    assert all(read_options(spelled(o)) == o for o in whole)


def test_spread_takes_all_of_few():
    assert spread([2, 1], 5, abs) == [2, 1]
    assert spread(list(range(9)), 1, abs) == [0]
    assert spread(list(range(9)), 0, abs) == []


def test_rows_go_through_a_file(tmp_path):
    path = tmp_path / "e.csv"
    for row in course(Given(SLOW, (SLOW, MIDDLE)), spaced=0).rows():
        records.append(path, [row])
    assert [r.tuned_us for r in records.read(path)] == [12.5, 12.5]


def test_objects_are_frozen_while_kernels_are_timed_and_those_of_others_stay_so(monkeypatch):
    seen, frozen = [], 0
    monkeypatch.setattr(gc, "freeze", lambda: seen.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: seen.append("unfreeze"))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    rows = course(Given(FAST, (FAST,)), spaced=0).rows()
    next(rows)
    assert seen == ["freeze"]
    rows.close()
    assert seen == ["freeze", "unfreeze"]
    frozen = 1
    list(course(Given(FAST, (FAST,)), spaced=0).rows())
    assert seen == ["freeze", "unfreeze", "freeze"]


def test_kernels_made_in_other_processes_are_those_made_here():
    tasks = [Task("gemm", options, SM_80) for options in (FAST, ILLEGAL)]
    here, beside = (dict(kernels(tasks, "sm_90", jobs)) for jobs in (0, 1))
    assert here.keys() == beside.keys() == set(tasks)
    assert here[tasks[0]].kernel.source == beside[tasks[0]].kernel.source
    assert here[tasks[0]].code.image == beside[tasks[0]].code.image
    assert here[tasks[1]] == beside[tasks[1]]
    assert "shared memory" in here[tasks[1]]
