"""Loops of random trees against brute force: exactly the instances, in an order that the tree allows.

A few hundred trees here; `python -m tests.sched.campaign` runs as many as there is time for, and tells more.
"""

from collections import Counter

from hypothesis import given

from polyvolta.sched.emit.python.text import to_python
from polyvolta.sched.emit.run import run
from polyvolta.sched.errors import NotScannable
from polyvolta.sched.loops.scan import scan
from tests.sched.campaign import REFUSALS, attempt, called, data_of, of_loops, of_tree
from tests.sched.loops.draw import trees
from tests.sched.loops.oracle import deviation
from tests.sets.brute import FACTOR, examples

TREES = 640


def test_loops_of_random_trees():
    tally = Counter()

    @examples(TREES)
    @given(trees())
    def check(drawn):
        tally["drawn"] += 1
        tally.update(of_tree(drawn))
        try:
            found = scan(drawn.schedule, drawn.context)
        except NotScannable as error:
            assert any(reason in error.message for reason in REFUSALS), error
            tally["declined"] += 1
            return
        tally.update(of_loops(found.body))
        text = to_python(found)
        for values in drawn.values:
            reason = deviation(drawn.schedule, found, values)
            assert reason is None, f"at {values} {reason}\n{text}"
            got = run(found, values)
            assert called(text, values) == got
            tally["instances"] += len(got)

    check()
    assert tally["drawn"] >= int(TREES * FACTOR) and tally["declined"] <= 3 + TREES * FACTOR // 30, tally
    assert tally["instances"] >= 10 * TREES * FACTOR, tally
    for what in ("extension", "guard", "filter of instances", "separate", "unroll", "isolate", "a step", "a condition"):
        assert tally[what] >= 3, (what, tally)


def test_what_is_asked_before_a_loop_says_nothing_of_it():
    """A remainder that all inside needs was told by the loop's own variable, whose remainder is known inside."""
    outcome, said, *_ = attempt(data_of(20261186, 23839))
    assert outcome == "good", said
