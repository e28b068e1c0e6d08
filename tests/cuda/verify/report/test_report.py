"""What a report says and how it looks, from provers that answer as told: the real ones have tests of their own."""

import re
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

import polyvolta as pv
from polyvolta.cli.gallery import idiom
from polyvolta.cuda.ir.kernel_ir import Barrier, FragmentLoad, GlobalStore, SharedStore
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.verify import verify as verifying
from polyvolta.cuda.verify.engine.undecided import Undecided
from polyvolta.cuda.verify.report.asked import PROOFS, UnknownProof
from polyvolta.cuda.verify.report.records import CounterExample, NoMeaning, Proof, Verdict
from polyvolta.cuda.verify.report.report import Report
from polyvolta.sets import BudgetExceeded

LONG = "{ S[i, j, k] -> " + " and ".join(f"x{n} <= {n}" for n in range(60)) + " }"


@pytest.fixture(autouse=True)
def a_wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_a_report_is_true_if_all_is_proved():
    """Not because it is there: `assert kernel.verify()` is what people write."""
    proved = Proof("bounds", "", "", True, 0.5, "all M >= 1")
    refuted = Proof("fresh", "", "", False, 0.5, "all M >= 1", CounterExample("it is stale"))
    unknown = Proof("sums", "", "", False, 0.5, "all M >= 1", reason="nobody knows")
    for proofs in ((proved,), (proved, refuted), (unknown, proved), ()):
        report = Report("kern0", proofs)
        assert bool(report) == report.ok == (proofs == (proved,))
        assert len(report) == len(proofs) and (*report,) == proofs
        assert all(p in report and p.id in report and report[p.id] is p for p in proofs)
        assert "exchange" not in report and None not in report
    assert proved and not refuted and not unknown


@pytest.fixture(scope="module")
def kernel():
    return pv.compile(idiom("epilogue"), options=pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 32, 16)))


class Nothing:
    def copy(self):
        return self

    def key(self):
        return 0


class Watcher:
    """A client that finds something at the first fragment load."""

    proofs = ("fresh", "not_overwritten")

    def __init__(self, ir, graph):
        self.store = next(path for path, s in walk(ir.body) if isinstance(s, SharedStore))

    def start(self, ir):
        return Nothing()

    def step(self, state, here):
        if isinstance(here.op, FragmentLoad):
            here.refute("fresh", "warp 1 reads shared_A[16, 8] too early", warp=1, lane=3, address="shared_A chunk 12",
                        other=self.store)  # fmt: skip

    def next_trip(self, state, loop, here): ...
    def leave(self, state, loop, last, here): ...
    def finish(self, state, here): ...

    def shown(self, proof):
        if proof == "not_overwritten":
            raise NoMeaning("nothing is written twice")
        return Verdict(PROOFS[proof], LONG)


class Lost(Watcher):
    """A client that has no answer at a barrier."""

    def step(self, state, here):
        if isinstance(here.op, Barrier):
            raise Undecided("linearId * M has no exact answer", where="128*M*linearId")


def no_meaning(ir, graph, stages):
    raise NoMeaning("that is not what this is about")


@pytest.fixture
def answer(monkeypatch):
    """Has these functions and clients answer; what none of them decides has no meaning."""

    def set_to(functions, *clients):
        theirs = [name for client in clients for name in client.proofs]
        rest = {name: no_meaning for name in PROOFS if name not in theirs}
        monkeypatch.setattr(verifying, "provers", lambda: rest | functions)
        monkeypatch.setattr(verifying, "clients", lambda: clients)

    set_to({"bounds": lambda *_: Verdict(PROOFS["bounds"], "0 <= i < M")}, Watcher)
    return set_to


def reading(report: Report) -> str:
    """The plain text with times left out."""
    return re.sub(r"[\d.]+ s$|  +\d+$", "", str(report), flags=re.M)


REPORT = """\
kern0: D = relu(A @ B + bias)
for all M >= 1, N >= 1, K >= 0
1 of 2 statements refuted, \n
   proof   statement, and the relation that it is about                                           ms
✗  fresh   refuted: what is read from shared memory was written there, for this k tile
           { S[i, j, k] -> x0 <= 0 and x1 <= 1 and x2 <= 2 and x3 <= 3 and x4 <= 4 and x5 <= 5
           and x6 <= 6 and x7 <= 7 and x8 <= 8 and x9 <= 9 and ...
✓  bounds  every access is within its tensor, its tile and its register array
           0 <= i < M

✗ fresh refuted: what is read from shared memory was written there, for this k tile
  warp 1 reads shared_A[16, 8] too early
  sizes     M = 1, N = 1, K = 1
  block     blockIdx (0, 0, 0)
  thread    warp 1, lane 3
  iteration c2 = 0, c8 = 0
  address   shared_A chunk 12
"""


def test_a_report_reads(kernel, answer):
    text = reading(kernel.verify())
    assert text.startswith(REPORT.rstrip("\n"))
    below = text[len(REPORT) :]
    assert re.search(r"^  at line \d+ of the CUDA text, statement frag_A$", below, re.M)
    assert re.search(r"^  and at line \d+ of the CUDA text, statement store_A$", below, re.M)


def test_a_refutation_points_at_the_text_and_the_tree(kernel, answer):
    report = kernel.verify()
    lines = kernel.source.split("\n")
    found = report["fresh"].counter_example
    text = str(report).split("\n")
    for place, called in ((found.place, "hmma_load"), (found.other, "store_shared")):
        assert called in lines[place.line - 1]
        at = next(k for k, line in enumerate(text) if line.startswith(f"  > {place.line:>5} | "))
        for n, line in ((place.line - 2, text[at - 2]), (place.line + 2, text[at + 3])):
            assert line.split(" | ", 1)[1].strip() == lines[n - 1].strip()
        carets = text[at + 1]
        assert text[at][carets.index("^") : carets.rindex("^") + 1].startswith(called)
    tree = text[text.index("  in the schedule tree") + 1 :]
    assert tree[0].startswith("    DOMAIN: S1[i, j, k]")
    assert tree[-1].startswith("  > ") and "FILTER: frag_A[" in tree[-1] and tree[-1].endswith("<-- here")
    assert all(re.match(r" *[A-Z]+", line[4:]) for line in tree)


def test_what_the_machine_found_is_a_case_with_names(kernel, answer):
    proof = kernel.verify("fresh")["fresh"]
    case = proof.counter_example
    assert not proof.proved
    assert (dict(case.sizes), case.block) == ({"M": 1, "N": 1, "K": 1}, (0, 0, 0))
    assert (case.warp, case.lane, dict(case.iteration)) == (1, 3, {"c2": 0, "c8": 0})
    assert (case.place.statement, case.other.statement) == ("frag_A", "store_A")
    assert proof.relation == LONG


def test_a_whole_report_leaves_out_what_has_no_meaning(kernel, answer):
    report = kernel.verify()
    assert [p.id for p in report.proofs] == ["fresh", "bounds"]
    assert not report.ok
    with pytest.raises(NoMeaning, match="nothing is written twice") as error:
        kernel.verify(("bounds", "not_overwritten"))
    assert "bounds" in error.value.hint and "relu(A @ B + bias)" in error.value.where


def test_only_those_clients_run_that_are_asked_for(kernel, answer):
    answer({"bounds": lambda *_: Verdict("", "")}, Lost)
    assert kernel.verify("bounds").ok
    report = kernel.verify()
    assert [p.id for p in report.undecided] == ["fresh", "not_overwritten"]


def test_what_is_refuted_before_the_end_is_refuted_and_the_rest_is_not_proved(kernel, answer):
    class Stuck(Watcher):
        proofs = ("fresh", "copies")

        def step(self, state, here):
            super().step(state, here)
            if isinstance(here.op, GlobalStore):
                raise Undecided("N has many values")

    class Other(Watcher):
        proofs = ("sums",)

        def step(self, state, here): ...

    answer({}, Stuck, Other)
    report = kernel.verify()
    assert [(p.id, p.proved) for p in report.proofs] == [("copies", False), ("fresh", False), ("sums", True)]
    assert report.undecided == (report["copies"],) and report.refuted == (report["fresh"],)
    assert not report.ok
    assert "?  copies" in str(report) and "many values" in report._repr_html_()
    words = " ".join(repr(report).split())  # in lines that fit
    assert words.split("; ")[1].startswith("1 of 3 statements refuted, 1 not decided, ")


def test_a_confirming_run_without_an_answer_confirms_nothing(kernel, answer, monkeypatch):
    def run(ir, clients, sizes=None, real=verifying.run):
        if sizes is not None:
            raise Undecided("M has many values")
        return real(ir, clients)

    monkeypatch.setattr(verifying, "run", run)
    report = kernel.verify()
    assert not report.ok and not report.refuted
    assert "so it seems, but the case M = 1, N = 1, K = 1 is not decided: M has many values" in report["fresh"].reason
    assert report["fresh"].place is not None


def test_a_client_is_confirmed_alone_if_another_one_comes_to_no_end(kernel, answer, monkeypatch):
    class Other(Watcher):
        proofs = ("sums",)

        def step(self, state, here): ...

    def run(ir, clients, sizes=None, real=verifying.run):
        if sizes is not None and any(isinstance(c, Other) for c in clients):
            raise Undecided("M has many values")
        return real(ir, clients, sizes)

    answer({}, Watcher, Other)
    monkeypatch.setattr(verifying, "run", run)
    report = kernel.verify()
    assert [p.id for p in report.refuted] == ["fresh"] and not report.undecided


UNDECIDED = """\
kern0: D = relu(A @ B + bias)
for all M >= 1, N >= 1, K >= 0
2 of 3 statements not decided, \n
   proof            statement, and the relation that it is about                                  ms
?  fresh            not decided: what is read from shared memory was written there, for this k
                    tile
                    because linearId * M has no exact answer; 128*M*linearId
                    at line LINE: __syncthreads();  [sync_write]
?  not_overwritten  not decided: nothing in shared memory is overwritten before its last read
                    as fresh
✓  bounds           every access is within its tensor, its tile and its register array
                    0 <= i < M"""


def test_what_is_not_decided_stands_in_the_report_and_the_rest_is_decided(kernel, answer):
    answer({"bounds": lambda *_: Verdict(PROOFS["bounds"], "0 <= i < M")}, Lost)
    report = kernel.verify()
    assert not report.ok and not report.refuted
    assert (report["bounds"].proved, report["fresh"].proved) == (True, False)
    assert re.sub(r"at line \d+", "at line LINE", reading(report)) == UNDECIDED
    assert kernel.source.split("\n")[report["fresh"].place.line - 1].strip() == "__syncthreads();"
    assert str(report["fresh"]) == (
        f"? fresh: not decided: {PROOFS['fresh']}\n  because linearId * M has no exact answer; 128*M*linearId\n"
        f"  at {report['fresh'].place}"
    )
    page = Tags()
    page.feed(report._repr_html_())
    assert "not decided: what is read" in page.text and f"at {report['fresh'].place}" in page.text


def test_a_set_too_hard_for_the_set_core_is_not_decided(kernel, answer):
    def hard(*_):
        raise BudgetExceeded("the formula has more than 4096 alternatives")

    answer({"partition": hard, "bounds": lambda *_: Verdict("said", "")})
    report = kernel.verify()
    assert [(p.id, p.reason[:11]) for p in report.proofs] == [("partition", "the formula"), ("bounds", "")]


def test_one_case_of_two_statements_is_shown_once(kernel, answer):
    class Both(Watcher):
        def step(self, state, here):
            if isinstance(here.op, FragmentLoad):
                for proof in self.proofs:
                    here.refute(proof, f"lane 3 reads too early, {proof}", lane=3)

        def shown(self, proof):
            return Verdict(PROOFS[proof], "")

    answer({}, Both)
    report = kernel.verify()
    text = str(report)
    assert text.endswith("✗ not_overwritten refuted: nothing in shared memory is overwritten before its last read\n"
                         "  lane 3 reads too early, not_overwritten\n  in the same case as fresh, above")  # fmt: skip
    assert text.count("in the schedule tree") == 1
    assert "in the same case as fresh" in report._repr_html_()


def test_a_proof_that_nobody_answers_is_no_proof(kernel, monkeypatch):
    monkeypatch.setattr(verifying, "provers", dict)
    monkeypatch.setattr(verifying, "clients", tuple)
    report = kernel.verify("alignment")
    assert not report.ok and "no prover answers it" in report["alignment"].reason


def test_a_client_that_sees_no_meaning_in_what_it_refutes_is_not_believed(kernel, answer):
    class Confused(Watcher):
        def shown(self, proof):
            raise NoMeaning("no tile is shared")

    answer({}, Confused)
    assert not kernel.verify("fresh").ok


def test_proofs_come_in_the_reports_order_whatever_is_asked(kernel, answer):
    answer({n: lambda *_: Verdict("said", "") for n in reversed(PROOFS)})
    assert [p.id for p in kernel.verify().proofs] == list(PROOFS)
    assert [p.id for p in kernel.verify(["bounds", "partition", "bounds"]).proofs] == ["partition", "bounds"]


@pytest.mark.parametrize("wrong, said", [("bouds", "did you mean 'bounds'?"), (7, "such as 'bounds'"),
                                         ((), "without `only` all are"), (" ,", "without `only` all are"),
                                         ("nope", "known: "), (b"bounds", "such as 'bounds'"),
                                         (["bounds", None], "known: ")])  # fmt: skip
def test_an_unknown_proof_suggests_the_nearest(kernel, answer, wrong, said):
    with pytest.raises(UnknownProof) as error:
        kernel.verify(wrong)
    assert said in error.value.hint and not error.value.where


def test_names_may_stand_in_one_text(kernel, answer):
    answer({n: lambda *_: Verdict("said", "") for n in PROOFS})
    assert [p.id for p in kernel.verify("bounds, partition").proofs] == ["partition", "bounds"]


# ---- looks

PROVED = Report("kern0: C = A @ B", (Proof("bounds", "all inside", "{ }", True, 0.25, "all M >= 1"),))


def test_a_report_says_how_it_went_in_a_line():
    assert repr(PROVED) == "<Report of kern0: C = A @ B; 1 statement proved in 0.25 s>"
    with pytest.raises(pv.PolyvoltaError, match="did you mean 'bounds'"):
        PROVED["bound"]


def test_a_proof_and_its_counter_example_print_alone(kernel, answer):
    report = kernel.verify()
    case = report["fresh"].counter_example
    assert str(case).split("\n") == [
        "warp 1 reads shared_A[16, 8] too early",
        "  with M = 1, N = 1, K = 1, block = (0, 0, 0), warp = 1, lane = 3, c2 = 0, c8 = 0",
        "  at shared_A chunk 12",
        f"  {case.place}",
        f"  {case.other}",
    ]
    assert str(report["bounds"]) == f"✓ bounds: {PROOFS['bounds']}\n  0 <= i < M"
    first, relation, *rest = str(report["fresh"]).split("\n")
    assert first == f"✗ fresh: refuted: {PROOFS['fresh']}"
    assert relation.endswith(" ...") and len(relation) <= 101
    assert [line[2:] for line in rest] == str(case).split("\n")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits_a_terminal_in_colours(kernel, answer, width):
    out = StringIO()
    Console(file=out, width=width, force_terminal=True, color_system="standard").print(kernel.verify())
    shown = out.getvalue()
    assert "\x1b[1;32m✓" in shown and "\x1b[1;31m✗" in shown
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).split("\n")
    assert max(map(len, lines)) <= width
    assert lines[-2].startswith("  > ") and lines[-2].endswith("<-- here")


def test_sizes_that_one_proof_alone_covers_stand_beside_it():
    other = Proof("sums", "summed once", "", True, 0.1, "all K >= 5")
    more = Report(PROVED.kernel, (other, *PROVED.proofs, *PROVED.proofs))
    assert str(more).count("for all M >= 1") == 1
    assert re.search(r"summed once +100\n +for all K >= 5\n", str(more))


class Tags(HTMLParser):
    """Checks that tags nest."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_notebook_gets_the_same(kernel, answer):
    report = kernel.verify()
    page = Tags()
    page.feed(report._repr_html_())
    assert not page.open
    case = report["fresh"].counter_example
    for said in ("for all M >= 1", "✗ fresh", case.what, "warp 1, lane 3", case.place.text, "<-- here"):
        assert said in page.text, said


def test_a_refutation_without_a_case_and_of_a_tree_alone(kernel):
    bare = Proof("sums", "summed once", "", False, 0.1, "")
    node = Proof("partition", "tiled", "", False, 0.1, "", CounterExample("2 tiles overlap", node=(0,)))
    report = Report("kern0", (bare, node), kernel.source, kernel.schedule)
    text = str(report)
    assert "✗ sums refuted: summed once" in text
    assert "2 tiles overlap\n  in the schedule tree\n" in text
    assert text.endswith("<-- here")
    assert "2 tiles overlap" in report._repr_html_()


@pytest.mark.parametrize(
    "shape, partial, sizes",
    [
        ("M K N", "guard", "all M >= 1, N >= 1, K >= 0"),
        ("M K N", "pad", "all M >= 32, N >= 32, K >= 0, M and N multiples of 32, K a multiple of 16"),
        ("48 K N", "guard", "all N >= 1, K >= 0, with A[48, K], B[K, N], C[48, N]"),
        ("1 K N", "guard", "all N >= 1, K >= 0, with A[1, K], B[K, N], C[1, N]"),
        ("48 64 16", "guard", "the sizes A[48, 64], B[64, 16], C[48, 16] alone"),
    ],
)
def test_the_sizes_covered_are_said(shape, partial, sizes):
    m, k, n = (int(x) if x.isdigit() else pv.sizes(x) for x in shape.split())
    options = pv.Options(block_tile=(32, 32, 16), warp_tile=(32, 32, 16), partial=partial)
    made = pv.compile(pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n)), options=options)
    assert verifying.covered(made.ir) == sizes
