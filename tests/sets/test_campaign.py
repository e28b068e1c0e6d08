"""The campaign repeats itself, finds what is wrong, shrinks it and says how to see it again."""

import time

import pytest

from tests.sets import campaign
from tests.sets.laws import FAMILIES, Family, family, load

load()


@pytest.fixture
def wrong():
    """A family whose law fails on sets that have a point with j = 4."""
    found = family("wrong", {"params": ()})
    found.law(_check)
    yield found
    del FAMILIES["wrong"]


def _check(a):
    if a.t[:, 8].any():
        raise ValueError("there it is")


def run(name, seed, count=30):
    return campaign.chunk((name, 0, count, seed, 20, float("inf")))[1]


def test_it_repeats():
    a, b = run("layouts", 3, 5), run("layouts", 3, 5)
    assert a.cases == b.cases and a.cases.total() == 5 * len(FAMILIES["layouts"].laws)
    assert not a.mismatches and not a.reports
    assert campaign.data_of(3, "layouts", 1) == campaign.data_of(3, "layouts", 1) != campaign.data_of(4, "layouts", 1)


def test_a_mismatch_is_shrunk_and_told(wrong):
    tally = run("wrong", 1)
    assert 0 < tally.mismatches.total() < tally.cases.total() == 30
    ((_, text),) = tally.reports
    assert "there it is" in text and len(text) < 300, text
    data = bytes.fromhex(text.split("--replay 'wrong' ")[1])
    again = campaign.Tally()
    campaign.run_input(wrong, data, again, 20, "replay")
    assert again.mismatches.total() == 1


def test_a_slow_case_is_stopped():
    def forever(source):
        while True:
            pass

    tally = campaign.Tally()
    campaign.run_input(Family("endless", forever, 1, {"never": None}), b"", tally, 0.05, "here")
    assert tally.slow == {("endless", campaign.DRAW): 1} and not tally.mismatches


def test_summary_and_exit_code(capsys):
    assert campaign.main(["--cases", "14", "--jobs", "2", "--replay", "layouts", "00"]) == 0
    assert "| layouts | layout inverse | 1 | 0 | 0 | 0 |" in capsys.readouterr().out


def _sometimes_stuck(job):
    if job == 1:
        time.sleep(60)
    return job, campaign.Tally()


def test_what_hangs_is_left_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(campaign, "chunk", _sometimes_stuck)
    first = dict(campaign.answers([0, 1, 2], 1, 0.5))
    assert first[1] is None and first[0].cases == campaign.Tally().cases and 2 not in first
    assert list(dict(campaign.answers([2], 1, 5))) == [2]
