"""What is found of a kernel: proofs, each a statement with its relation, and counter-examples to what is not so.

A prover, the function or the client of the symbolic machine that decides one kind of proof, answers with a `Verdict`;
`verify` makes a `Proof` of it, with places, sizes and time. One proof, one case is said in words here; how all of them
look together is the matter of `show` and `html`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.walk import IrPath
from polyvolta.cuda.text.places import Place
from polyvolta.display.shown import Shown
from polyvolta.display.text import filled, for_terminal
from polyvolta.sched.tree import Schedule
from polyvolta.sets import UnknownName, nearest

if TYPE_CHECKING:
    from pandas import DataFrame

WIDTH = 100  # columns of plain text
SIGNS = {"proved": ("✓", "bold green"), "refuted": ("✗", "bold red"), "not decided": ("?", "bold yellow")}
KINDS = {"proved": "good", "refuted": "bad", "not decided": "unsure"}
"""Classes of the style sheet for what became of a proof."""


class NoMeaning(CudaError, ValueError):
    """A kind of proof that a kernel has no use for, such as one about the parts of K where K isn't split."""

    id = "PV551"


@dataclass(frozen=True, slots=True, repr=False)
class CounterExample(Shown):
    """One concrete case in which a statement is wrong.

    Parameters
    ----------
    what : what happens there, in words, such as "warp 1 reads shared_A[0, 8] before anybody wrote it".
    sizes : the sizes, by name.
    block : blockIdx (x, y, z).
    warp, lane : the thread, or the first of several.
    iteration : the values of the loop variables around, by name.
    address : what is touched, such as "shared_A chunk 12 (byte 192)" or "A[128, 5]".
    place : where in the kernel: tree node and CUDA line.
    other : the second place where two collide, as a writer and a reader do.
    node : the tree node, for a statement about the tree alone.

    What a statement has no use for is None or empty.
    """

    what: str
    sizes: Mapping[str, int] = field(default_factory=dict, hash=False)
    block: tuple[int, int, int] | None = None
    warp: int | None = None
    lane: int | None = None
    iteration: Mapping[str, int] = field(default_factory=dict, hash=False)
    address: str = ""
    place: Place | None = None
    other: Place | None = None
    node: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return for_terminal(case_in_words(self))

    def __repr__(self) -> str:
        return filled(f"<CounterExample: {self.what}; print it>")

    def _html(self) -> str:
        from polyvolta.display.page import block

        return block(str(self))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a prover says of one proof.

    Parameters
    ----------
    statement : in words, about this kernel.
    relation : the relation, or the numbers, that it is about, in the notation of the sets.
    counter_example : if it doesn't hold; without places.
    at, other : the counter-example's places as paths in the IR.
    sizes : which sizes it covers; "" for all sizes that the kernel takes.
    """

    statement: str
    relation: str
    counter_example: CounterExample | None = None
    at: IrPath | None = None
    other: IrPath | None = None
    sizes: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Proof(Shown):
    """A statement about a kernel that is proved, refuted, or not decided.

    Parameters
    ----------
    id : its short name, such as "bounds"; one of `PROOFS`.
    statement : in words, about this kernel.
    relation : the relation, or the numbers, that it is about, in the notation of the sets.
    proved : whether it holds.
    seconds : the time that it took.
    sizes : which sizes it covers, such as "all M >= 1, N >= 1, K >= 0".
    counter_example : if it doesn't hold.
    reason : of a statement that is neither proved nor refuted, what there is no exact answer to; else "".
    place : where in the kernel that is, if it is in one place.
    """

    id: str
    statement: str
    relation: str
    proved: bool
    seconds: float
    sizes: str
    counter_example: CounterExample | None = None
    reason: str = ""
    place: Place | None = None

    def __bool__(self) -> bool:
        """Whether it is proved, so that `assert report["bounds"]` is no empty one."""
        return self.proved

    def __str__(self) -> str:
        return for_terminal(proof_in_words(self))

    def __repr__(self) -> str:
        return f"<Proof {self.id}: {outcome(self)}; print it>"

    def _html(self) -> str:
        from polyvolta.display.page import code, facts, fold, said

        became = outcome(self)
        found = self.counter_example
        case = "" if found is None else found._html()
        why = [("because", self.reason), ("at", str(self.place) if self.place is not None else "")]
        relation = fold("the relation", f"<pre>{code(self.relation)}</pre>") if self.relation else ""
        text = f"{'' if self.proved else became + ': '}{self.statement}"
        head = said(f"{SIGNS[became][0]} {self.id}: {text}", KINDS[became])
        rows = [("for", self.sizes), *why, ("time", f"{1000 * self.seconds:.0f} ms")]
        return head + facts(rows) + relation + case


@dataclass(frozen=True, slots=True)
class Proofs:
    """Some proofs of a kernel, in the order of `PROOFS`; a `Report` is that with its looks.

    Parameters
    ----------
    kernel : its name, and what it computes.
    proofs : each statement.
    source, schedule : the CUDA text and the tree that the places of counter-examples belong to.
    """

    kernel: str
    proofs: tuple[Proof, ...]
    source: str = ""
    schedule: Schedule | None = None

    @property
    def ok(self) -> bool:
        """Whether every statement is proved."""
        return bool(self.proofs) and all(p.proved for p in self.proofs)

    @property
    def refuted(self) -> tuple[Proof, ...]:
        """The statements that are wrong."""
        return tuple(p for p in self.proofs if not p.proved and not p.reason)

    @property
    def undecided(self) -> tuple[Proof, ...]:
        """The statements that are neither proved nor refuted, each with its `reason`: they may hold or not."""
        return tuple(p for p in self.proofs if p.reason)

    @property
    def seconds(self) -> float:
        """The time of all proofs."""
        return sum(p.seconds for p in self.proofs)

    def to_pandas(self) -> DataFrame:
        """The proofs as a data frame of pandas, a row for each statement.

        Columns are those of `Proof`: id, statement, relation, proved, seconds, sizes, counter_example and reason, which
        are texts, "" where there is none; and outcome, "proved", "refuted" or "not decided".

        Raises
        ------
        NoPandas : it isn't installed.
        """
        from polyvolta.graph.arrays.frames import frame

        return frame(COLUMNS, map(cells_of, self.proofs))

    def __bool__(self) -> bool:
        """As `ok`, so that `assert kernel.verify()` is no empty one."""
        return self.ok

    def __len__(self) -> int:
        return len(self.proofs)

    def __iter__(self) -> Iterator[Proof]:
        return iter(self.proofs)

    def __contains__(self, name: object) -> bool:
        """Whether there is a proof of that name, or this proof."""
        return any(name in (p.id, p) for p in self.proofs)

    def __getitem__(self, name: str) -> Proof:
        """The proof of that name.

        Raises
        ------
        UnknownName : it isn't among these.
        """
        known = {p.id: p for p in self.proofs}
        if name not in known:
            raise UnknownName(f"the report has no proof {name!r}", hint=nearest(name, known))
        return known[name]


COLUMNS = ("id", "outcome", "statement", "relation", "proved", "seconds", "sizes", "counter_example", "reason")
"""Of a report as a data frame."""


def cells_of(proof: Proof) -> dict[str, Any]:
    """A proof as a row of a data frame."""
    made: dict[str, Any] = {name: getattr(proof, name) for name in COLUMNS if name != "outcome"}
    case = "" if proof.counter_example is None else case_in_words(proof.counter_example)
    return {**made, "outcome": outcome(proof), "counter_example": case}


def outcome(proof: Proof) -> str:
    """What became of a proof, in words: a key of `SIGNS`."""
    return "proved" if proof.proved else "not decided" if proof.reason else "refuted"


def unknown_in_words(proof: Proof, report: Proofs | None = None) -> str:
    """Why a statement is not decided, and where; in a report, what stops several is said once."""
    for p in report.undecided if report is not None else ():
        if p.id != proof.id and (p.reason, p.place) == (proof.reason, proof.place):
            return f"as {p.id}"
        if p.id == proof.id:
            break
    return f"because {proof.reason}" + (f"\nat {proof.place}" if proof.place is not None else "")


def proof_in_words(proof: Proof) -> str:
    """A proof in a few lines, without the time.

    >>> print(proof_in_words(Proof("bounds", "every access is inside", "{ A[i] : 0 <= i < 8 }", True, 0.5, "")))
    ✓ bounds: every access is inside
      { A[i] : 0 <= i < 8 }
    """
    became = outcome(proof)
    lines = [f"{SIGNS[became][0]} {proof.id}: {'' if proof.proved else f'{became}: '}{proof.statement}"]
    if proof.relation:
        lines.append(f"  {cut(' '.join(proof.relation.split()), WIDTH - 2)}")
    if proof.reason:
        lines += [f"  {line}" for line in unknown_in_words(proof).split("\n")]
    if proof.counter_example is not None:
        lines += [f"  {line}" for line in case_in_words(proof.counter_example).split("\n")]
    return "\n".join(lines)


def case_in_words(found: CounterExample) -> str:
    """A counter-example in a few lines: what happens, in which case, and where.

    >>> print(case_in_words(CounterExample("lane 3 reads too early", {"M": 1}, (0, 0, 0), 1, 3, {"c2": 0}, "chunk 4")))
    lane 3 reads too early
      with M = 1, block = (0, 0, 0), warp = 1, lane = 3, c2 = 0
      at chunk 4
    """
    numbers = {**found.sizes, "block": found.block, "warp": found.warp, "lane": found.lane, **found.iteration}
    known = {n: v for n, v in numbers.items() if v is not None}
    lines = [found.what]
    lines += [f"  with {assignments(known)}"] * bool(known)
    lines += [f"  at {found.address}"] * bool(found.address)
    return "\n".join([*lines, *(f"  {place}" for place in (found.place, found.other) if place is not None)])


def assignments(values: object) -> str:
    """Names with their values.

    >>> assignments({"M": 3, "N": 5})
    'M = 3, N = 5'
    """
    return ", ".join(f"{n} = {v}" for n, v in dict(values).items())  # type: ignore[call-overload]


def cut(text: str, most: int) -> str:
    """The beginning of a line that is too long.

    >>> cut("DOMAIN: S[i] : 0 <= i < 8", 16)
    'DOMAIN: S[i] ...'
    """
    return text if len(text) <= most else text[: most - 3].rsplit(" ", 1)[0].rstrip() + " ..."
