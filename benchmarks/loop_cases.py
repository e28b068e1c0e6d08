"""Trees and maps of which `loops.py` has loops made: from files, of PolyBench, and as isl's scheduler has them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cloog import map_and_context  # noqa: E402

from polyvolta.sched import Band, Domain, Member, Schedule  # noqa: E402
from polyvolta.sched import Sequence as SequenceNode  # noqa: E402
from polyvolta.sched.tree import Filter, Node  # noqa: E402
from polyvolta.sets import Aff, aff  # noqa: E402

try:
    import islpy as isl
except ImportError:
    isl = None


@dataclass
class Input:
    """A tree or a map for both, and what became of it.

    Parameters
    ----------
    tree : ours; None where the text is none of ours, and then `why` says what is wrong.
    ours, isls : the C text of the loops.
    counts : for each value (our tests, isl's).
    """

    kind: str
    name: str
    text: str
    tree: Schedule | None = None
    why: str = ""
    ours: str = ""
    isls: str = ""
    params: tuple[str, ...] = ()
    points: list[list[int]] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def ratios(self) -> list[float]:
        return [(a + 1) / (b + 1) for a, b in self.counts]


def inputs_of(path: Path) -> Iterator[Input]:
    """The inputs of a file, or of all files below a folder."""
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            yield from inputs_of(inner)
    elif path.suffix in (".st", ".in"):
        yield Input(f"{path.parent.name} {path.suffix}", path.stem, path.read_text())
    elif path.suffix == ".cloog":
        try:
            text, why = map_and_context(path), ""
        except (ValueError, IndexError):
            text, why = "", "none of CLooG's formats"
        yield Input("CLooG", path.stem, text, why=why)
    elif path.suffix == ".txt":
        for part in re.split(r"^== *", path.read_text(), flags=re.MULTILINE)[1:]:
            name, _, text = part.partition("\n")
            yield Input(path.stem, name.strip(), text)


def polybench() -> Iterator[Input]:
    """PolyBench: each kernel as written, as one band, as the scheduler has it, and that tiled, scaled or not."""
    from examples.polybench import KERNELS
    from examples.polybench.tiling import tiled
    from polyvolta.sched import schedule

    for name, kernel in KERNELS.items():
        program = kernel.program
        written = Schedule(program.schedule.root)
        trees = {"written": written, "one band": one_band(written)}
        trees["scheduled"] = Schedule(schedule(program).root)
        trees["tiled"] = tiled(trees["scheduled"], 8)
        trees["scaled"] = scaled(trees["tiled"])
        for kind, tree in trees.items():
            yield Input(f"PolyBench {kind}", name, tree.to_isl(), tree)


def scheduled_by_isl() -> Iterator[Input]:
    """PolyBench and the nests of `schedules.py` as isl's scheduler has them, and that tiled by isl."""
    from schedules import isl_read, programs, texts_of

    for name, program in programs():
        (constraints,) = isl_read(texts_of(program))
        tree = constraints.compute_schedule()
        yield Input("isl's schedules", name, yaml_of(tree))
        for kind, sizes in ("tiles", (32,)), ("odd tiles", (7, 5, 3)):
            new = tiled_by_isl(tree.get_root(), sizes).get_schedule()
            if not new.plain_is_equal(tree):
                yield Input(f"isl's schedules, {kind}", name, yaml_of(new))


def random_trees(text: str) -> Iterator[Input]:
    """Trees of `tests/sched/loops/draw.py`: `9001:0-300`, or `9001:64,77`, is a seed and the trees' numbers.

    A tree with a loop over a name of a machine is not compared: it is no C by itself.
    """
    from tests.sched.campaign import data_of
    from tests.sched.loops.draw import tree

    seed, _, numbers = text.partition(":")
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            drawn = tree(data_of(int(seed), number)).schedule
            mapped = any(m.name for _, node in drawn.walk() if isinstance(node, Band) for m in node.members)
            why = "a loop over a name of a machine" if mapped else ""
            yield Input(f"random {seed}", f"#{number}", "" if mapped else drawn.to_isl(), drawn, why)


def tiled_by_isl(node: object, sizes: Sequence[int]) -> object:
    """The tree with every permutable band of two members or more tiled, at the same node."""
    for k in range(node.n_children()):
        node = tiled_by_isl(node.child(k), sizes).parent()
    if node.get_type() == isl.schedule_node_type.band and node.band_get_permutable() and node.band_n_member() > 1:
        values = isl.MultiVal.zero(node.band_get_space())
        for k in range(node.band_n_member()):
            values = values.set_val(k, isl.Val(sizes[k % len(sizes)]))
        node = node.band_tile(values)
    return node


def yaml_of(tree: object) -> str:
    """A tree of isl's as text on several lines."""
    return isl.Printer.to_str(tree.get_ctx()).set_yaml_style(isl.yaml_style.BLOCK).print_schedule(tree).get_str()


def one_band(tree: Schedule) -> Schedule:
    """The same order as one band, whose members are numbers where the tree has a sequence."""
    rows: dict[str, list[Aff]] = {}

    def walk(node: Node, names: Sequence[str], before: list[dict[str, Aff]]) -> None:
        match node:
            case Band(members=members):
                walk(node.child, names, before + [dict(m.exprs) for m in members])
            case SequenceNode(children):
                for k, child in enumerate(children):
                    walk(child, child.statements, before + [dict.fromkeys(child.statements, aff(k))])
            case Filter():
                walk(node.child, node.statements, before)
            case _:
                rows.update({n: [m[n] for m in before] for n in names})

    names = [s.out.name or "" for s, _ in tree.domain.parts]
    walk(tree.root.children[0], names, [])
    width = max(map(len, rows.values()))
    full = {n: row + [aff(0)] * (width - len(row)) for n, row in rows.items()}
    members = tuple(Member(tuple((n, row[k]) for n, row in full.items())) for k in range(width))
    return Schedule(Domain(tree.domain, Band(members)))


def scaled(tree: Schedule) -> Schedule:
    """The tile loops counting points instead of tiles, as PPCG has them by default."""
    for at in tree.bands():
        band = tree.band(at)
        below = band.child
        if isinstance(below, Band) and all(_tiles(m) for m in band.members):
            members = tuple(
                Member(tuple((s, e * next(a.den for a, _ in e.terms)) for s, e in m.exprs), coincident=m.coincident)
                for m in band.members
            )
            tree = tree.replace(at, Band(members, below, band.permutable))
    return tree


def _tiles(m: Member) -> bool:
    return all(len(e.terms) == 1 and not e.const and hasattr(e.terms[0][0], "den") for _, e in m.exprs)
