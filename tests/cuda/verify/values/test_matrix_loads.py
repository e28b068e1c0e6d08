"""Matrix loads: distribution and lines are the ownership map, and what they bring is followed, whatever that says."""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import AsyncCopy, CommitCopies, LoadMatrix, WaitCopies
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.target.matrix_load import LDMATRIX
from polyvolta.cuda.verify.fragments.matrix_loads import manual
from polyvolta.cuda.verify.report.asked import PROOFS
from polyvolta.cuda.verify.verify import Found, by_functions, by_machine, provers
from tests.cuda.verify.rings import BK, Ring, graph, ring

OF_TREES = ("dependences", "partition")
REST = tuple(n for n in PROOFS if n not in OF_TREES)


def asked(ir, *names) -> Found:
    """What becomes of some proofs of a kernel without trees."""
    found, asked_for = Found({}, {}, {}), names or REST
    g = pv.compile(graph()).graph
    by_functions(provers(), ir, g, {}, asked_for, found)
    by_machine(ir, g, asked_for, found)
    return found


def refuted(found: Found) -> dict[str, str]:
    return {n: v.counter_example.what for n, (v, _) in found.verdicts.items() if v.counter_example is not None}


def changed(ir, kind, change, operand=None):
    """The kernel with every operation of a kind changed."""
    body = ir.body
    for at, s in walk(ir.body):
        if isinstance(s, kind) and operand in (None, getattr(s, "operand", None)):
            body = replaced(body, at, (change(s),))
    return replace(ir, body=body)


@pytest.mark.parametrize("how", [Ring(), Ring(4, 3, 2), Ring(2, 1, 0), Ring(trip=("strips",)),
    Ring(trip=("strips",), peeled=True), Ring(4, 3, 2, peeled=True), Ring(1, 0, 0, (
    "copy", "commit", "wait", "sync", "compute", "sync"))], ids=str)  # fmt: skip
def test_every_statement_of_a_ring_is_proved(how):
    found = asked(ring(how))
    assert set(found.without) == {"layouts", "phases", "deadlock", "in_flight", "proxies", "grids"}  # of Hopper
    assert set(found.verdicts) == set(REST) - set(found.without) and not found.unknown and not refuted(found)
    text = found.verdicts["ownership"][0].relation
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16 of shared_A: { [lane, i] -> [source" in text


def test_the_distribution_is_the_manuals_for_every_count():
    for count in (1, 2, 4):
        for transposed in (False, True):
            share = LDMATRIX.distribution(count, transposed)
            for lane in range(32):
                for value in range(2 * count):
                    assert share.evaluate({"lane": lane, "i": value}) == manual(transposed, lane, value)


def test_lines_that_dont_bring_what_lanes_own():
    """Lanes that name other lines: the ownership map promises what doesn't come, and the products notice."""
    ir = ring(Ring())
    swapped = lambda s: replace(s, lines=replace(s.lines, outputs=(  # noqa: E731
        (s.lines.outputs[0][0], (s.lines.outputs[0][1] + 8) % 16), s.lines.outputs[1])))  # fmt: skip
    broken = refuted(asked(changed(ir, LoadMatrix, swapped, "a"), "ownership", "fresh", "sums", "result"))
    assert "it owns A[" in broken["ownership"] and broken.keys() & {"sums", "result"}


def test_transposed_by_mistake():
    ir = ring(Ring())
    for operand in "ab":
        turned = changed(ir, LoadMatrix, lambda s: replace(s, transposed=True), operand)
        broken = refuted(asked(turned, "ownership", "sums"))
        assert set(broken) == {"ownership", "sums"} and "of the line that lane" in broken["ownership"]


def test_fewer_matrices_than_the_fragment_has():
    ir = changed(ring(Ring()), LoadMatrix, lambda s: replace(s, count=2), "a")
    assert "instructions bring a lane 4 values, and it owns 8" in refuted(asked(ir, "ownership"))["ownership"]


def test_what_is_promised_is_not_believed():
    """An ownership map that says what the product wants, and lines that bring another strip."""
    ir = ring(Ring())
    further = lambda s: replace(s, lines=replace(s.lines, outputs=tuple(  # noqa: E731
        (n, e + 8 if n == "k" else e) for n, e in s.lines.outputs)))  # fmt: skip
    broken = refuted(asked(changed(ir, LoadMatrix, further, "a"), "ownership", "sums", "fresh"))
    assert {"ownership", "sums"} <= broken.keys()


def test_copies_of_the_wrong_values():
    ir = ring(Ring())
    k = lambda c, by: tuple(e + by * (d == c.along) for d, e in enumerate(c.index))  # noqa: E731
    late = refuted(asked(changed(ir, AsyncCopy, lambda c: replace(c, index=k(c, BK))), "fresh", "sums", "result"))
    assert late
    askew = changed(ir, AsyncCopy, lambda c: replace(c, place=tuple(0 * e for e in c.place)))
    assert "copies" in refuted(asked(askew, "copies", "bounds"))
    unaligned = changed(ir, AsyncCopy, lambda c: replace(c, index=k(c, 4)))
    assert "no multiple of 8" in refuted(asked(unaligned, "alignment"))["alignment"]
    open_ = changed(ir, AsyncCopy, lambda c: replace(c, guarded=False))
    assert "outside of" in refuted(asked(open_, "bounds"))["bounds"]


def test_a_lane_reads_a_chunk_from_where_its_line_begins():
    """The slots of a matrix load, against a table of chunks made by hand."""
    from polyvolta.cuda.verify.fragments.transfers import sources

    load = next(s for _, s in walk(ring(Ring()).body) if isinstance(s, LoadMatrix) and s.operand == "a")
    source, number, place = sources(load, 8)
    for lane in range(32):
        for i in range(8):
            row, k = load.ownership.evaluate({"lane": lane, "i": i})
            line = load.lines.evaluate({"lane": int(source[lane, i]), "n": int(number[lane, i])})
            assert (line[0], line[1] + place[lane, i]) == (row, k)
    assert np.array_equal(np.unique(number), [0])


def test_commits_and_waits_change_no_value():
    ir = ring(Ring())
    bare = ir.body
    for kind in (CommitCopies, WaitCopies):
        for at in sorted((at for at, s in walk(bare) if isinstance(s, kind)), reverse=True):
            bare = replaced(bare, at, ())
    assert not refuted(asked(replace(ir, body=bare), "fresh", "sums", "result"))
