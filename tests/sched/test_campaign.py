"""The campaign of trees repeats itself, finds what is wrong, shrinks it, and goes on with what is kept."""

import re

import pytest

from tests.sched import campaign


def run(limits, count=4, seed=3):
    return campaign.chunk((0, count, seed, limits, float("inf"), True))


def test_it_repeats():
    first, second = (run((True, 20, None, 0)) for _ in range(2))
    assert first == second and first[1] == 4
    assert campaign.of_all(first[2][0]) == 4 and not first[2][0]["all", "wrong"]


def test_what_spends_much_is_put_aside():
    outcome, message, drawn, _ = campaign.attempt(campaign.data_of(3, 0), True, 20, 1)
    assert outcome == "aside" and drawn is not None and "budget of 1 steps" in message
    _, done, (table, reasons, reports) = run((True, 20, 1, 0), 6)
    assert done == campaign.of_all(table) == 6 and table["all", "aside"] >= 3 and not reasons and not reports
    _, _, (table, *_) = run((True, 20, 1, 1), 6)  # all are run to the end
    assert not table["all", "aside"] and campaign.of_all(table) == 6


def test_a_wrong_order_is_shrunk_and_told(monkeypatch):
    monkeypatch.setattr("polyvolta.sched.loops.rows.groups.Compared.precedes", lambda *_: True)
    _, _, (table, reasons, reports) = run((False, 5, None, 0), 8, "1")
    assert table["all", "wrong"] and reasons["wrong", "other instances or order"]
    text = reports[0][1]
    data = bytes.fromhex(re.search(r"--replay (\w+)", text)[1])
    assert len(data) < campaign.LENGTH and campaign.attempt(data, False)[0] == "wrong"


def test_what_is_kept_is_not_run_again(tmp_path, capsys):
    file = str(tmp_path / "kept.jsonl")

    def counts(cases, *more):
        arguments = ["--cases", str(cases), "--jobs", "1", "--steps", "1", "--whole", "0", "--keep", file, *more]
        assert campaign.main(arguments) == 0
        return re.search(r"\| all \| (.*) \|", capsys.readouterr().out)[1]

    first = counts(23)
    assert sum(map(int, first.split("|"))) == 23
    assert counts(23) == counts(23, "--seconds", "0") == first
    assert sum(map(int, counts(25).split("|"))) == 25
    with pytest.raises(SystemExit, match="seed is 1 there and 2 here"):
        counts(23, "--seed", "2")
