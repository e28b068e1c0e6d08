"""Random loop nests, scheduled in every way: conflicting accesses keep their order and all flags are true."""

from hypothesis import given
from hypothesis import strategies as st

from polyvolta.sched.legality import band_flags
from polyvolta.sched.program import nest_from_source
from polyvolta.sched.scheduler import schedule
from polyvolta.sets import BudgetExceeded
from tests.sched.scheduler.brute import check, conflicts
from tests.sets.brute import examples


@st.composite
def subscript(draw, loops):
    kind = draw(st.integers(0, 7))
    if not loops or kind == 0:
        return str(draw(st.integers(0, 2)))
    x = draw(st.sampled_from(loops))
    if kind <= 4:
        return f"{x} + {draw(st.integers(0, 2))}"
    return {5: f"N - {x}", 6: f"2 * {x}", 7: f"{x} + {draw(st.sampled_from(loops))}"}[kind]


@st.composite
def element(draw, loops):
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return "s[0]"
    if kind <= 3:
        return f"A[{draw(subscript(loops))}]"
    return f"B[{draw(subscript(loops))}, {draw(subscript(loops))}]"


@st.composite
def block(draw, loops, deep):
    lines = []
    pad = "    " * (len(loops) + 1)
    for _ in range(draw(st.integers(1, 2))):
        if not loops or (deep and len(loops) < 3 and draw(st.integers(0, 2))):
            i = "tij"[len(loops)]
            start = draw(st.sampled_from(("0", "1", *loops)))
            lines.append(f"{pad}for {i} in range({start}, N{draw(st.sampled_from(('', ' - 1')))}):")
            lines += draw(block((*loops, i), deep))
        else:
            reads = " + ".join(draw(st.lists(element(loops), min_size=1, max_size=2)))
            lines.append(f"{pad}{draw(element(loops))} {draw(st.sampled_from(('=', '+=')))} {reads}")
    return lines


@given(
    block((), True),
    st.sampled_from(("paper", "max", "min", "near")),
    st.booleans(),
    st.booleans(),
)
@examples(60)
def test_conflicts_keep_their_order_and_flags_are_true(lines, fuse, outer_parallel, negative):
    text = "\n".join(["def f(A, B, s, N):", *lines])
    program = nest_from_source(text)
    try:
        found = schedule(program, fuse, outer_parallel=outer_parallel, negative=negative)
    except BudgetExceeded:  # none in four hundred drawn nests, but one has been met
        return
    for n in (3, 4):
        check(found, conflicts(text, program, N=n), N=n)
    for at in found.bands():
        flags = band_flags(found, at)
        assert flags.permutable and found.band(at).permutable
        assert flags.coincident == tuple(m.coincident for m in found.band(at).members)
