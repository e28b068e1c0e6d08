"""Two pieces of a statement are one where both are all of one conjunction, whatever their columns are called."""

from polyvolta.sched.loops.instances import instances
from polyvolta.sched.loops.parts.merging import together
from polyvolta.sched.loops.rows.columns import Columns
from polyvolta.sched.loops.rows.known import Known
from polyvolta.sets import Set


def pieces(*texts):
    """The pieces of sets, one each, and what is known where nothing is."""
    columns = Columns([])
    return [next(iter(instances(columns, Set(text)))) for text in texts], Known(columns)


def joined(known, some):
    return together(known, some, lambda *_: True)


def test_neighbours_are_one_piece():
    some, known = pieces("{ S[i, j] : 0 <= i <= 3 and 0 <= j <= 3 }", "{ S[i, j] : 4 <= i <= 5 and 0 <= j <= 3 }")
    (one,) = joined(known, some)
    ((c, _),) = one.images["i"][0]
    low, high = one.system.ends()
    assert (low[c], high[c]) == (0, 5)


def test_a_column_that_parts_share_may_be_another_value_in_each():
    """i is a in one of them, 2a - 4 in the other one: they are 0 to 3, and 4, 6 and 8."""
    (one, other), known = pieces(
        "{ S[i, j] : 0 <= i <= 3 and 0 <= j <= 3 }", "{ S[i, j] : 4 <= i <= 8 and i mod 2 = 0 and 0 <= j <= 3 }"
    )
    ((a, _),), ((b, _),) = one.images["i"][0], other.images["i"][0]
    ((e, v),) = [t for t in other.images["i"][0] if t[0] == b]
    assert v == 2
    other.replace(e, ((a, 1),), -2)
    ((j, _),), ((k, _),) = one.images["j"][0], other.images["j"][0]
    other.replace(k, ((j, 1),), 0)
    assert other.images["i"] == (((a, 2),), -4, 1)
    assert joined(known, [one, other]) == [one, other]
