"""Observations as a whole: nothing is wrong with real kernels, nothing changes; how they are asked for and shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from idioms import IDIOMS, graph

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Barrier, KernelIR
from polyvolta.cuda.machine import interpreter
from polyvolta.cuda.machine.observe.errors import BadObserve
from polyvolta.cuda.machine.observe.observations import Observations
from polyvolta.cuda.machine.observe.watch import OBSERVERS, NothingToObserve, Watch, names_of
from polyvolta.sets import UnknownName
from tests.cuda.machine.observe.small import OPTIONS, K, M, N, broken, operands, product

TILES = {"block_tile": (32, 32, 16), "warp_tile": (16, 16, 16), "macro_mma": "m16n16k8"}


def arguments(kernel, m=45, n=37, k=27):
    rng, sizes = np.random.default_rng(0), {"M": m, "N": n, "K": k, "L": 21, "H": 22}
    out = {}
    for t in kernel.graph.inputs:
        shape = [d if isinstance(d, int) else sizes[d.name] for d in t.dims]
        out[t.name] = np.array(rng.integers(-8, 9, shape) / 8, np.float16, order="F" if t.layout == "col" else "C")
    return {**out, **dict.fromkeys(kernel.ir.scalars, 0.5)}


def results(x):
    return x if isinstance(x, tuple) else (x,)


VARIANTS = [
    {}, {"buffers": 2}, {"split_k": 2}, {"partial": "pad"},
    {"block_tile": (64, 32, 16), "warp_tile": (32, 32, 16), "macro_mma": "m32n32k8"},
]  # fmt: skip


@pytest.mark.parametrize("more", VARIANTS, ids=lambda m: "-".join(map(str, m.values())) or "plain")
@pytest.mark.parametrize("layouts", [("row", "col"), ("col", "row")])
def test_nothing_is_wrong_with_a_product_and_nothing_changes(more, layouts):
    a, b = (pv.tensor(x, d, layout=lay) for x, d, lay in zip("AB", ((M, K), (K, N)), layouts, strict=True))
    kernel = pv.compile(pv.relu(a @ b) + pv.tensor("bias", (N,)), options=pv.Options(**{**TILES, **more}))
    given = arguments(kernel)
    seen, alone = kernel.interpret(**given, observe="all"), kernel.interpret(**given)
    assert seen.ok, str(seen.findings)
    assert all(np.array_equal(x, y) for x, y in zip(results(seen.result), results(alone), strict=True))


@pytest.mark.parametrize("idiom", IDIOMS[1::3], ids=lambda i: i.name)
def test_nothing_is_wrong_with_other_idioms(idiom):
    options = pv.Options(**TILES, accumulators=idiom.accumulators)
    kernel = pv.compile(graph(idiom, "row", "col", "row"), options=options)
    given = arguments(kernel)
    seen = kernel.interpret(**given, observe="all")
    assert seen.ok, str(seen.findings)
    for x, y in zip(results(seen.result), results(kernel.interpret(**given)), strict=True):
        assert np.array_equal(x, y)


def test_nobody_watches_by_default(monkeypatch):
    monkeypatch.setattr(Watch, "__init__", None)
    result = product().interpret(**operands(product(), 32, 32, 16), observe=())
    assert isinstance(result, np.ndarray)


def test_only_what_is_asked_for_is_there():
    seen = product().interpret(**operands(product(), 32, 32, 16), observe=("races", "counts"))
    assert isinstance(seen, Observations)
    assert [name for name in OBSERVERS if getattr(seen, name) is not None] == ["races", "counts"]
    assert seen.counts.instructions


def test_several_outputs_are_a_tuple():
    c = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    kernel = pv.compile((c, pv.relu(c)), options=OPTIONS)
    seen = kernel.interpret(**arguments(kernel), observe="races")
    assert isinstance(seen.result, tuple)
    assert np.asarray(seen).shape == (2, 45, 37)


def test_the_result_is_an_array_and_goes_where_it_should():
    out = np.empty((32, 32), np.float16)
    seen = product().interpret(**operands(product(), 32, 32, 16), out=out, observe="bounds")
    assert seen.result is out
    assert np.array_equal(np.asarray(seen, np.float32), out.astype(np.float32))


def test_an_empty_result_has_nothing_to_see():
    seen = product().interpret(np.zeros((0, 8), "f2"), np.zeros((8, 4), "f2", order="F"), observe="all")
    assert seen.ok
    assert seen.result.shape == (0, 4)
    assert seen.counts.issued == 0
    assert "counts" in str(seen)


@pytest.mark.parametrize("more", [{}, {"partial": "pad"}, {"split_k": 2}], ids=str)
@pytest.mark.parametrize("m, n, k", [(8, 8, 0), (1, 1, 1), (0, 0, 0)])
def test_the_smallest_sizes_are_seen(m, n, k, more):
    kernel = product(**more)
    seen = kernel.interpret(**operands(kernel, m, n, k), observe="all")
    assert seen.ok, str(seen.findings)
    assert seen.counts.useful_flops == 2 * m * n * k
    a, b = operands(kernel, m, n, k).values()
    assert np.array_equal(seen.result, (a.astype("f4") @ b.astype("f4")).astype("f2"))


def test_the_callers_arrays_get_the_results_whatever_their_lines():
    """A view with lines of its own, zeros around the operands, one output of two: where it was asked for."""
    c = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N))
    kernel = pv.compile((c, pv.relu(c)), options=replace(OPTIONS, partial="pad"))
    given, out = arguments(kernel), np.full((45, 80), 7, np.float16)
    seen = kernel.interpret(**given, out=[None, out[:, :37]], observe="all")
    assert seen.ok
    assert seen.result[1].base is out and (out[:, 37:] == 7).all()
    assert np.array_equal(out[:, :37], np.maximum(seen.result[0], 0))
    assert np.array_equal(seen.result[0], kernel.interpret(**given)[0])


def test_batches_of_blocks_are_seen_alike(monkeypatch):
    def rows(seen):
        return [(r.place.path, r.accesses, r.phases) for r in seen.bank_conflicts.rows], seen.counts.instructions

    whole = product().interpret(**operands(product(), 70, 70, 40), observe="all")
    monkeypatch.setattr(interpreter, "BATCH_BYTES", 2 * interpreter._block_bytes(product().ir, True))
    starts = []
    monkeypatch.setattr(Watch, "start", lambda self, m, real=Watch.start: (starts.append(m), real(self, m)))
    split = product().interpret(**operands(product(), 70, 70, 40), observe="all")
    assert [m.shape[0] for m in starts] == [2, 2, 2, 2, 1]
    assert rows(whole) == rows(split)
    assert split.ok


# ---- refusals


def test_an_unknown_observer_suggests_the_nearest():
    with pytest.raises(UnknownName, match="no observer is called 'bank_conflict'") as caught:
        product().interpret(**operands(product(), 32, 32, 16), observe=("races", "bank_conflict"))
    assert "did you mean 'bank_conflicts'?" in str(caught.value)


@pytest.mark.parametrize("observe", [True, False, 3, b"races", np.float16])
def test_what_names_no_observer_is_refused(observe):
    with pytest.raises(BadObserve, match='observe="all"'):
        product().interpret(**operands(product(), 32, 32, 16), observe=observe)


def test_several_names_in_one_text_say_how_to_give_them():
    with pytest.raises(UnknownName, match=r"observe=\('races', 'counts'\)"):
        product().interpret(**operands(product(), 32, 32, 16), observe="races, counts")


@pytest.mark.parametrize("observe", [["races", "counts"], {"races", "counts"}, iter(["counts", "races", "races"])])
def test_names_come_in_anything_that_can_be_gone_through(observe):
    seen = product().interpret(**operands(product(), 32, 32, 16), observe=observe)
    assert len(seen.seen) == 2
    assert seen.races is not None and seen.counts is not None


@pytest.mark.parametrize("observe", [None, [], set()])
def test_nothing_asked_for_is_no_observation(observe):
    assert isinstance(product().interpret(**operands(product(), 32, 32, 16), observe=observe), np.ndarray)


def test_an_observer_that_a_kernel_has_no_meaning_for_says_why():
    bare = KernelIR("bare", (), (), (), (), 32, (), {})
    with pytest.raises(NothingToObserve, match="it uses no shared memory"):
        names_of("bank_conflicts", bare)
    assert "bank_conflicts" not in names_of("all", bare)


# ---- what is shown


def shown(seen, width):
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=width, force_terminal=True, color_system=None).print(seen)
    return out.getvalue()


@pytest.mark.parametrize("name", [n for n in OBSERVERS if n != "phases"])
def test_each_observers_part_is_shown_by_itself(name):
    seen = product().interpret(**operands(product(), 32, 32, 16), observe="all")
    part = getattr(seen, name)
    assert str(part) == "\n\n".join(str(t) for t in part.tables)
    assert str(part) in str(seen)
    assert part.tables[0].title in shown(part, 80)
    assert part._html() in part._repr_html_() and part._html() in seen._repr_html_()


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_a_terminal(width):
    kernel = broken(product(), lambda s: None if isinstance(s, Barrier) else s)
    seen = kernel.interpret(**operands(kernel, 40, 50, 24), observe="all")
    text = shown(seen, width)
    assert max(map(len, text.split("\n"))) <= width
    assert "frag_A" in text
    assert "HMMA.884.F32" in text


def test_text_and_html_name_places_and_findings():
    kernel = broken(product(), lambda s: None if isinstance(s, Barrier) and s.statement == "sync_read" else s)
    seen = kernel.interpret(**operands(kernel, 40, 50, 24), observe="all")
    text, html = str(seen), seen._repr_html_()
    for f in seen.findings:
        assert str(f) in text
        assert all(f"line {p.line}:" in html for p in f.places)
    assert html.count("<table>") == sum(bool(t.rows) for t in seen.tables)
    assert "M = 40" in text
    assert "<script" not in replace(seen, kernel="<script>")._repr_html_()


def test_lines_are_those_of_the_variant_that_runs():
    kernel = product()
    seen = kernel.interpret(**operands(kernel, 32, 30, 16), observe="coalescing")  # C has rows of 60 bytes
    assert seen.sizes == "M = 32, K = 16, N = 30; lines are those of kernel.variant(C=2)"
    text = kernel.variant(C=2).source.split("\n")
    assert all(text[r.place.line - 1].strip() == r.place.text for r in seen.coalescing.rows)
    assert "variant" not in kernel.interpret(**operands(kernel, 32, 32, 16), observe="coalescing").sizes


def test_a_kernel_without_phases_has_none_to_observe():
    with pytest.raises(NothingToObserve, match="no barriers with phases"):
        names_of("phases", product().ir)
