"""The campaign repeats itself, finds what is wrong, shrinks it and says how to see it again; what is kept goes on."""

import json
import time

import pytest

from polyvolta.sets.budgets import spend
from tests.campaigns import Kept
from tests.sets import campaign
from tests.sets.existentials import Undecided
from tests.sets.laws import FAMILIES, Family, family, load

load()
LIMITS = campaign.Limits()


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
    return campaign.chunk((name, 0, count, seed, LIMITS, float("inf")))[2]


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
    campaign.run_input(wrong, data, again, LIMITS, "replay")
    assert again.mismatches.total() == 1


def test_a_slow_case_is_stopped():
    def forever(source):
        while True:
            pass

    tally = campaign.Tally()
    campaign.run_input(Family("endless", forever, 1, {"never": None}), b"", tally, campaign.Limits(0.05), "here")
    assert tally.slow == {("endless", campaign.DRAW): 1} and not tally.mismatches


def test_summary_and_exit_code(capsys):
    assert campaign.main(["--cases", "14", "--jobs", "2", "--replay", "layouts", "00"]) == 0
    assert "| layouts | layout inverse | 1 | 0 | 0 | 0 | 0 |" in capsys.readouterr().out


def test_what_spends_much_is_put_aside_and_some_of_it_is_run_to_the_end():
    ended = []

    def much(x):
        spend(1000)
        ended.append(x)

    dear = Family("dear", lambda source: (source.below(256),), 1, {"much": much})
    tally = campaign.Tally()
    for n in range(64):
        campaign.run_input(dear, bytes([n]), tally, campaign.Limits(20, 500, 8), "here")
    assert 0 < len(ended) < 20 and tally.aside.total() == 64 - len(ended) and tally.compared == len(ended)
    assert not tally.declined and not tally.mismatches
    campaign.run_input(dear, b"0", tally, campaign.Limits(20, 2000, 0), "here")
    assert len(ended) == tally.compared


def test_what_is_kept_is_not_run_again(tmp_path, monkeypatch, capsys):
    for name in [*FAMILIES]:
        if name != "layouts":
            monkeypatch.delitem(FAMILIES, name)
    file = tmp_path / "kept.jsonl"

    def go_on(cases, seconds="inf", seed="5"):
        arguments = ["--cases", str(cases), "--jobs", "1", "--seed", seed, "--seconds", seconds, "--keep", str(file)]
        assert campaign.main(arguments) == 0
        return capsys.readouterr().out.replace("|", "").split("all", 1)[1].split()[2]

    assert go_on(7 * 40) == "280"
    header, *lines = file.read_text().splitlines()
    assert json.loads(header)["seed"] == "5" and len(lines) == 2
    file.write_text("\n".join((header, lines[0], lines[1][:40])))  # killed while it wrote
    assert int(go_on(7 * 40, seconds="0")) < 280
    assert go_on(7 * 40) == "280" and file.read_text().count("\n") == 3
    assert go_on(7 * 50) == "350" and go_on(7 * 50, seconds="0") == "350"
    with pytest.raises(SystemExit, match="seed is 5 there and 6 here"):
        go_on(7 * 50, seed="6")


def test_other_sources_are_another_campaign(tmp_path):
    file = tmp_path / "kept.jsonl"
    Kept(file, sources="a").add({"job": 1})
    assert Kept(file, sources="a").lines == [{"job": 1}]
    with pytest.raises(SystemExit, match="sources is a there and b here"):
        Kept(file, sources="b")


def _sometimes_stuck(job):
    if job == 1:
        time.sleep(60)
    return job, 1, campaign.Tally()


def test_what_hangs_is_left_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(campaign, "chunk", _sometimes_stuck)
    first = {job: tally for job, _, tally in campaign.answers([0, 1, 2], 1, 0.5)}
    assert first[1] is None and first[0].cases == campaign.Tally().cases and 2 not in first
    assert [job for job, *_ in campaign.answers([2], 1, 5)] == [2]


def test_a_table_that_is_undecided_is_put_aside_and_told():
    def undecided(x):
        raise Undecided

    tally = campaign.Tally()
    campaign.run_input(
        Family("deep", lambda source: (source.below(9),), 1, {"deep": undecided}), b"1", tally, LIMITS, "here"
    )
    assert tally.aside.total() == 1 and not tally.mismatches and not tally.compared
    ((_, text),) = tally.reports
    assert text.startswith("aside: deep / deep (here)") and "--replay 'deep' 01" not in text and "31" in text
