"""What a transformation changed in a tree, as the paper shades it in its figures.

      DOMAIN: S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
    ┃   BAND: S[i, j, k] → [blockIdx.y, blockIdx.x, ⌊k/32⌋]
    ┃     BAND: S[i, j, k] → [warpIdx_y, warpIdx_x, 0]
            BAND: S[i, j, k] → [i - 64⌊i/64⌋, j - 64⌊j/64⌋, k - 32⌊k/32⌋]

The nodes of the two trees are aligned by structure (`align`), so that a subtree which moved down a level below a new
band is not taken for new. A node of the new tree is marked when it has no counterpart, when it reads otherwise, and
when it reads the same but means something else: when other groups of instances meet at it. That is so when the members
above tell instances apart that they did not tell apart before, or the other way round. Thus a sequence that is hoisted
above a loop is marked with its filters, for it now orders larger groups; one that moves below both halves of a tiled
band is not, for the halves together tell apart what the band did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from polyvolta.display.shown import Shown
from polyvolta.display.text import for_terminal
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.tree import Band, Domain, Expansion, Extension, Filter, Node, Path, Schedule
from polyvolta.sched.views.align import align
from polyvolta.sched.views.html import marked_up, shortened
from polyvolta.sched.views.latex import shaded, typeset, whole
from polyvolta.sched.views.paper import Row, notes, rows
from polyvolta.sched.views.words import Vocabulary
from polyvolta.sets import Aff, BudgetExceeded, Map, NotAFunction, Tuple
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from rich.text import Text

LOOK = {"same": "", "new": 'class="pv-new" title="new or changed"', "gone": 'class="pv-gone" title="before"'}
MARGIN = {"same": "  ", "new": "┃ ", "gone": "- "}
State = Literal["same", "new", "gone"]


@dataclass(frozen=True, slots=True)
class Line:
    """A node of either tree: one that stayed, one that is new or changed, or one that is gone (or was changed)."""

    state: State
    row: Row
    flags: bool  # whether what the notation leaves out has changed


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Shown):
    """The new tree with the nodes that changed; `str`, `print` in colours, notebooks and LaTeX show it.

    Parameters
    ----------
    changed : the paths in the new tree of nodes that are new or changed.
    removed : the paths in the old tree of nodes that are gone or changed.

    >>> from polyvolta.sched import diff, schedule, tile
    >>> from polyvolta.sets import Set
    >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
    >>> print(diff(tree, tile(tree, (0,), (32, 32))))
      DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
    ┃   BAND: S[i, j] → [⌊i/32⌋, ⌊j/32⌋]
    ┃     BAND: S[i, j] → [i - 32⌊i/32⌋, j - 32⌊j/32⌋]
    """

    old: Schedule
    new: Schedule
    changed: tuple[Path, ...]
    removed: tuple[Path, ...]
    lines: tuple[Line, ...]

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.changed or self.removed)

    def shown(self, removed: bool = False) -> list[Line]:
        """The lines to show; those that are gone only when asked for.

        `removed`: whether these, too.

        >>> from polyvolta.sched import diff, schedule, tile
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> [line.state for line in diff(tree, tile(tree, (0,), (32, 32))).shown(removed=True)]
        ['same', 'gone', 'new', 'new']
        """
        return [line for line in self.lines if removed or line.state != "gone"]

    def text(self, removed: bool = False) -> str:
        """The new tree with a bar in the margin of changed lines; with `removed` the old lines too, behind a minus.

        >>> from polyvolta.sched import diff, schedule, tile
        >>> from polyvolta.sets import Set
        >>> tree = schedule(Set("[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }"))
        >>> print(diff(tree, tile(tree, (0,), (32, 32))).text())
          DOMAIN: S[i, j] : 0 ≤ i < N ∧ 0 ≤ j ≤ i
        ┃   BAND: S[i, j] → [⌊i/32⌋, ⌊j/32⌋]
        ┃     BAND: S[i, j] → [i - 32⌊i/32⌋, j - 32⌊j/32⌋]
        """
        out = []
        for line in self.shown(removed):
            said = f"   ({', '.join(notes(line.row.node)) or 'no flags'})" if line.flags else ""
            texts = [*line.row.lines[:-1], line.row.lines[-1] + said]
            out += [MARGIN[line.state] + "  " * line.row.depth + t for t in texts]
        return "\n".join(out)

    def __str__(self) -> str:
        return for_terminal(self.text())

    def __repr__(self) -> str:
        return f"<Diff: {len(self.changed)} nodes new or changed, {len(self.removed)} gone or changed; print it>"

    def __rich__(self) -> Text:
        """The text with colours: changed lines on a shade, removed ones struck through."""
        from rich.text import Text

        from polyvolta.sched.views.terminal import coloured

        words, text = Vocabulary(self.old, self.new), Text()
        for n, line in enumerate(self.shown(removed=True)):
            part = coloured(line.row, words, flags=line.flags)
            part.stylize({"same": "", "new": "on grey30", "gone": "dim strike"}[line.state])
            for k, one in enumerate(part.split("\n")):
                text.append("\n" if n or k else "")
                text.append(MARGIN[line.state], style="bold" if line.state == "new" else "dim")
                text.append("  " * line.row.depth)
                text.append_text(one)
        return text

    def _html(self) -> str:
        words = Vocabulary(self.old, self.new)
        out = []
        for line in self.shown(removed=True):
            row = shortened(line.row) if line.state == "same" else line.row
            text = marked_up(row, words, line.flags, MARGIN[line.state], LOOK[line.state])
            out.append(f'<div class="pv-leaf"><code>{text}</code></div>')
        return f'<div class="pv-tree">{"".join(out)}</div>'

    def to_latex(self, document: bool = False) -> str:
        r"""The new tree as in the paper's figures, changed lines in a `\mybox`; see `Schedule.to_latex`."""
        words = Vocabulary(self.new)
        groups = [
            (changed, [text for line in group for text in typeset(line.row, words)])
            for changed, group in groupby(self.shown(), key=lambda line: line.state == "new")
        ]
        body = shaded(groups)
        return whole(body) if document else body


def diff(old: Schedule, new: Schedule) -> Diff:
    """What changed from one tree to another.

    `old` and `new` are trees.

    Cost: the product of the trees' sizes and depths, and a comparison of relations for each node that reads the same.

    Raises
    ------
    BadArgument : one of them is no schedule.

    >>> before = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }", child: { mark: "a" } }')
    >>> after = Schedule.parse('{ domain: "{ S[i] : 0 <= i < 8 }", child: { mark: "b" } }')
    >>> print(diff(before, after).text(removed=True))
      DOMAIN: S[i] : 0 ≤ i ≤ 7
    -   MARK: a
    ┃   MARK: b
    """
    for tree in (old, new):
        if not isinstance(tree, Schedule):
            raise BadArgument(f"a difference is one of two schedules, not of {kind_of(tree)}", where=repr(tree))
    olds, news = rows(old), rows(new)
    met, meets = _Meeting(old), _Meeting(new)
    same: dict[tuple[int, int], bool] = {}

    def change(i: int, j: int) -> float:
        a, b = olds[i], news[j]
        if type(a.node) is not type(b.node):
            return 3.0
        if a.lines != b.lines:
            return 1.5 - 0.5 * _likeness(a, b)
        same[i, j] = met.same(a.at, meets, b.at)
        return 0.0 if same[i, j] else 0.5

    pairs = align([r.at for r in olds], [r.at for r in news], change)
    lines: list[Line] = []
    i = j = 0
    for a, b in [*pairs, (len(olds), len(news))]:
        lines += [Line("gone", r, False) for r in olds[i:a]] + [Line("new", r, False) for r in news[j:b]]
        if a < len(olds):
            flags = notes(olds[a].node) != notes(news[b].node)
            kept = same.get((a, b), False) and not flags
            lines += (
                [Line("same", news[b], False)] if kept else [Line("gone", olds[a], flags), Line("new", news[b], flags)]
            )
        i, j = a + 1, b + 1
    lines = [line for changed, run in groupby(lines, key=lambda x: x.state != "same") for line in _sorted(run, changed)]
    return Diff(
        old,
        new,
        tuple(x.row.at for x in lines if x.state == "new"),
        tuple(x.row.at for x in lines if x.state == "gone"),
        tuple(lines),
    )


def _sorted(run: Iterator[Line], changed: bool) -> list[Line]:
    """A run of changed lines: first what was, then what is."""
    lines = list(run)
    return sorted(lines, key=lambda x: x.state != "gone") if changed else lines


def _likeness(a: Row, b: Row) -> float:
    """How much of two nodes reads the same, from 0 to 1."""
    x, y = (set(" ".join(r.lines).split()) for r in (a, b))
    return len(x & y) / len(x | y)


class _Meeting:
    """Which instances meet at the nodes of a tree: those that the members above give the same values."""

    def __init__(self, schedule: Schedule) -> None:
        self.prefixes: dict[Path, dict[str, tuple[Tuple, tuple[Aff, ...]] | None]] = {}
        self.relations: dict[Path, Map] = {}
        self._walk(schedule.root, (), {})

    def _walk(self, node: Node, at: Path, prefix: dict[str, tuple[Tuple, tuple[Aff, ...]] | None]) -> None:
        self.prefixes[at] = prefix
        match node:
            case Domain(domain):
                prefix = {str(s.out.name): (s.out, ()) for s, _ in domain.parts}
            case Filter(statements):
                prefix = {s: p for s, p in prefix.items() if s in statements}
            case Extension(extension):
                prefix = dict(prefix)
                for space, pieces in extension.parts:
                    added = Map._of(extension.param_names, [(space, pieces)]).reverse()
                    try:
                        prefix[str(space.out.name)] = (space.out, added.as_affs() if space.n_in else ())
                    except (NotAFunction, BudgetExceeded):
                        prefix[str(space.out.name)] = None
            case Expansion(_, expansion):
                prefix = {str(s.out.name): None for s, _ in expansion.parts}  # of groups is known what meets
            case Band():
                known = node.statements  # a band may be silent of statements without instances
                prefix = {s: p and (p[0], p[1] + node.schedule(s)) for s, p in prefix.items() if s in known}
        for k, child in enumerate(node.children):
            self._walk(child, (*at, k), prefix)

    def same(self, at: Path, other: _Meeting, there: Path) -> bool:
        """Whether the same statements, and of them the same instances, meet here and there."""
        mine, theirs = self.prefixes[at], other.prefixes[there]
        if mine == theirs:
            return True
        if set(mine) != set(theirs) or None in mine.values() or None in theirs.values():
            return False
        try:
            return self.relation(at).is_equal(other.relation(there))
        except BudgetExceeded:
            return False

    def relation(self, at: Path) -> Map:
        """The pairs of instances that meet at a node."""
        if at not in self.relations:
            times = Map._of((), [])
            for tup, affs in (p for p in self.prefixes[at].values() if p is not None):
                times = times | Map.from_affs(tup, [e.without_xor() for e in affs])
            self.relations[at] = times.apply_range(times.reverse())
        return self.relations[at]
