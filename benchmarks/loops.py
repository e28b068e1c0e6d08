"""Loops beside isl's: what the code tests that is generated from the same trees and maps, counted as it runs.

    python benchmarks/loops.py [PATH ...] [--only words] [--values 9,40,100] [--each] [--show]

needs islpy (pip install -e ".[bench]") and a C compiler. A PATH is a folder, whose folders are classes, or a file.
Without one, the inputs are those of `benchmarks/loop_inputs` and the trees of PolyBench, as written, scheduled and
tiled, also as isl's scheduler has them. The files of `loop_inputs` say what each is about: tiles of one and two levels,
of time and space; trees as PPCG and isl's scheduler write them; programs of one processor of eight; factorisations and
solvers; masks, convolutions, grids and other remainders; unions of statements of all shapes; loops written out, full
tiles apart; scheduled programs in waves, backwards, unrolled, or cut up for blocks and threads. A file is one of
isl's schedule trees (`.st`); or a map, a context and options, as isl's `codegen` takes them (`.in`); or many of
either, each behind a line `== name` (`.txt`), which are a class of their own; or an input of CLooG (`.cloog`).

Both codes are compiled with every loop test and every comparison of an `if` counted as it is evaluated, and run with
all parameters at each value, or at the nearest that the context allows. Both must call the same instances. For each
class the table has the geometric mean of ours over isl's tests at all values, how many inputs of the class are beyond
1.5 and beyond 4 times, the most, and the most by which the ratio grows from the least to the greatest value: about 1,
unless a code does another power of N. `--each` prints a line an input, `--show` both codes.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cloog import map_and_context  # noqa: E402

from polyvolta.sched import Band, Domain, Member, Schedule, scan  # noqa: E402
from polyvolta.sched import Sequence as SequenceNode  # noqa: E402
from polyvolta.sched.tree import Filter, LoopType, Node  # noqa: E402
from polyvolta.sets import Aff, Map, NotAFunction, PolyvoltaError, aff, var  # noqa: E402

try:
    import islpy as isl
except ImportError:
    isl = None

MOST = 100_000_000  # tests at which a run is stopped
LONGEST = 20  # processor seconds at which making our loops is stopped
TYPES: tuple[LoopType, ...] = ("atomic", "separate", "unroll")


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


# ---- inputs


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


# ---- both codes


def prepare(one: Input, values: Sequence[int]) -> None:
    """Make both codes and the parameters' values."""
    text = one.text.strip()
    try:
        if one.tree is not None or "domain:" in text:
            build, node = isl.AstBuild.from_context(isl.Set("{ : }")), isl.Schedule(text)
            one.tree = one.tree or Schedule.parse(text)
            context = context_of(node)
            begin = time.thread_time()
            made = build.node_from_schedule(node)
        else:
            given = written(text)
            relation, context = named(isl.UnionMap(given[0])), isl.Set(given[1] if len(given) > 1 else "{ : }")
            options = isl.UnionMap(given[2]) if len(given) > 2 else isl.UnionMap("{ }")
            if relation.is_empty():
                raise NotImplementedError("no instances")
            one.tree, relation = of_map(relation, options)
            build = isl.AstBuild.from_context(context).set_options(options)
            begin = time.thread_time()
            made = build.node_from_schedule_map(relation)
        between = time.thread_time()
        one.isls = made.to_C_str()
        text = str(context)
        start = time.thread_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
        loops = scan(one.tree, context=None if text == "{  }" else text)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        one.seconds = time.thread_time() - start, between - begin
        one.ours = str(loops)
    except (PolyvoltaError, NotImplementedError, TimeoutError, isl.Error) as error:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        one.why = str(error).splitlines()[0][:100]
        return
    codes = re.sub(r"#.*", "", one.ours) + one.isls
    one.params = tuple(p for p in names_of(made, context, one.tree) if re.search(rf"\b{re.escape(p)}\b", codes))
    one.points = [point(context, one.params, v) for v in values]


def written(text: str) -> list[str]:
    """The relations and sets of a text, each up to its closing brace, on as many lines as it takes."""
    text = re.sub(r"(#|//).*", "", text)
    return [part.strip() for part in re.findall(r"[^{}]*\{[^{}]*\}", text)]


def names_of(made: object, context: object, tree: Schedule) -> list[str]:
    """All parameters."""
    found = dict.fromkeys(context.get_var_names(isl.dim_type.param))
    for _, node in tree.walk():
        for what in ("domain", "context", "instances", "extension", "guard", "isolate"):
            found.update(dict.fromkeys(getattr(getattr(node, what, None), "param_names", ())))
    return list(found)


def context_of(tree: object) -> object:
    """What a tree assumes of its parameters."""
    node, out = tree.get_root(), isl.Set("{ : }")
    while node.has_children():
        node = node.child(0)
        if node.get_type() != isl.schedule_node_type.context:
            break
        out = out.intersect(node.context_get_context().params())
    return out


def named(relation: object) -> object:
    """A relation whose instances have a name."""
    out = isl.UnionMap("{ }")
    for m in maps_of(relation):
        out = out.union(m if m.has_tuple_name(isl.dim_type.in_) else m.set_tuple_name(isl.dim_type.in_, "S"))
    return out


def maps_of(relation: object) -> list:
    found: list = []
    relation.foreach_map(found.append)
    return found


def of_map(relation: object, options: object) -> tuple[Schedule, object]:
    """A relation as a tree of one band, and the relation; its cases become statements of their own where they must.

    Where an instance has several times, or one that is no expression, the instances of a case are pairs with the time.
    """
    rows, domain, used = {}, None, isl.UnionMap("{ }")
    for m in maps_of(relation):
        pieces = [m]
        if not is_function(m):
            pieces, name = [], m.get_tuple_name(isl.dim_type.in_)
            m.make_disjoint().foreach_basic_map(pieces.append)
            pieces = [isl.Map.from_basic_map(p) for p in pieces]
            pieces = [p.set_tuple_name(isl.dim_type.in_, f"{name}_{k}") for k, p in enumerate(pieces)]
        for p in pieces:
            p = p if is_function(p) else timed(p)  # noqa: PLW2901
            used, ours = used.union(p), Map(str(p))
            here = ours.domain()
            names = {old: var(new) for old, new in zip(ours.space.inp.dims, here.space.out.dims, strict=True)}
            own = lambda n, names=names: names.get(n) or var(n)  # noqa: E731
            rows[here.space.out.name] = [e.rewrite(own) for e in ours.as_affs()]
            domain = here if domain is None else domain | here
    width = len(next(iter(rows.values())))
    types = types_of(options, width, used)
    members = (Member(tuple((n, row[k]) for n, row in rows.items()), loop_type=types[k]) for k in range(width))
    return Schedule(Domain(domain, Band(tuple(members)))), used


def is_function(m: object) -> bool:
    """Whether a map has one expression for each of its outputs."""
    try:
        Map(str(m)).as_affs()
    except NotAFunction:
        return False
    return True


def timed(m: object) -> object:
    """A map whose instances are the pairs of an instance and its time."""
    name = m.get_tuple_name(isl.dim_type.in_)
    pairs = m.range_map().flatten_domain()
    return pairs.set_tuple_name(isl.dim_type.in_, name)


def types_of(options: object, width: int, relation: object) -> list[LoopType]:
    """The types of loops that options ask for at all values of a member; ours have no types at some."""
    out: list[LoopType] = ["default"] * width
    values = [relation.range().apply(isl.UnionMap(f"{{ [{dims(width)}] -> [i{k}] }}")) for k in range(width)]
    for m in maps_of(options):
        name = m.get_tuple_name(isl.dim_type.out) if m.has_tuple_name(isl.dim_type.out) else ""
        if name in TYPES:
            for k in range(width):
                there = isl.UnionSet.from_set(m.fix_val(isl.dim_type.out, 0, isl.Val(k)).domain())
                if values[k].is_subset(there.apply(isl.UnionMap(f"{{ [{dims(width)}] -> [i{k}] }}"))):
                    out[k] = name
    return out


def dims(width: int) -> str:
    return ", ".join(f"i{k}" for k in range(width))


def point(context: object, params: Sequence[str], value: int) -> list[int]:
    """The values of parameters in a context nearest to one value, the first of them before the others."""
    out = []
    for p in params:
        at = context.find_dim_by_name(isl.dim_type.param, p)
        chosen = value
        if at >= 0:
            for distance in range(4 * value + 4096):
                near = value - distance, value + distance
                good = [v for v in near if not context.fix_val(isl.dim_type.param, at, isl.Val(v)).is_empty()]
                if good:
                    chosen = good[0]
                    break
            context = context.fix_val(isl.dim_type.param, at, isl.Val(chosen))
        out.append(chosen)
    return out


# ---- counting


HEAD = r"""
#include <stdio.h>
#include <setjmp.h>
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
#define min(x, y) ((x) < (y) ? (x) : (y))
#define max(x, y) ((x) > (y) ? (x) : (y))
#define modd(n, d) (((n) % (d) + (d)) % (d))
#define floordiv(n, d) ((n) / (d) - ((n) % (d) != 0 && ((n) < 0) != ((d) < 0)))
#define floormod(n, d) ((n) - (d) * floordiv(n, d))
typedef long long whole;
static whole tests, calls; static unsigned long long all; static jmp_buf out;
static void many(void) { longjmp(out, 1); }
#define TEST(x) ((++tests > MOST ? many() : (void)0), (x))
static void call(whole id, int n, const whole *v) {
  unsigned long long h = id * 0x9E3779B97F4A7C15ull;
  for (int k = 0; k < n; k++) { h ^= v[k] + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2); h *= 0xff51afd7ed558ccdull; }
  all += h ^ (h >> 31); calls++;
}
#define CALL(id, ...) do { whole v[] = {__VA_ARGS__}; call(id, sizeof v / sizeof *v, v); } while (0)
"""


def counting(code: str) -> str:
    """Loops with their tests counted."""
    lines = []
    for line in code.splitlines():
        loop = re.match(r"(\s*)for \((\w+ )+(\w+) = (.*?); (.*); (.*)\)( \{)?$", line)
        test = re.match(r"(\s*(?:\} )?(?:else )?)if \((.*)\)( \{)?$", line)
        if loop:
            pad, _, name, low, cond, step, brace = loop.groups()
            line = f"{pad}for (whole {name} = {low}; TEST({cond}); {step}){brace or ''}"
        elif test:
            line = f"{test[1]}if ({counted(test[2])}){test[3] or ''}"
        elif line.startswith("#"):
            continue
        lines.append(line)
    return "\n".join(lines)


def counted(condition: str) -> str:
    """A condition with each of its comparisons counted."""
    for mark in ("||", "&&"):
        parts = split(condition, mark)
        if len(parts) > 1:
            return f" {mark} ".join(f"({counted(p)})" for p in parts)
    text = condition.strip()
    if text.startswith("(") and split(text[1:-1], ")") == [text[1:-1]] and re.search("&&|\\|\\|", text):
        return f"({counted(text[1:-1])})"
    return f"TEST({text})"


def split(text: str, mark: str) -> list[str]:
    """The text cut at a mark outside of brackets; whole if brackets do not fit."""
    out, depth, start, k = [], 0, 0, 0
    while k < len(text):
        if depth == 0 and text.startswith(mark, k):
            out.append(text[start:k])
            k = start = k + len(mark)
            continue
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        k += 1
    return [*out, text[start:]]


def measure(some: Sequence[Input], compiler: str) -> None:
    """Compile the codes of some inputs, run them, and note the counts."""
    ids: dict[str, int] = {}
    text = [HEAD.replace("MOST", str(MOST))]
    for k, one in enumerate(some):
        names = list(dict.fromkeys(re.findall(r"^\s*(?:\S.*\) )?(\w+)\(", one.ours + "\n" + one.isls, re.M)))
        names = [n for n in names if n not in ("for", "if", "define", "floord", "min", "max")]
        takes = ", ".join(f"whole {p}" for p in one.params) or "void"
        for side, code in (("ours", one.ours), ("isls", one.isls)):
            text += [f"#define {n}(...) CALL({ids.setdefault(n, len(ids) + 1)}, ##__VA_ARGS__)" for n in names]
            text += [f"static void {side}{k}({takes}) {{", counting(code), "}"]
            text += [f"#undef {n}" for n in names]
    text.append("int main(void) {")
    for k, one in enumerate(some):
        for p in one.points:
            for side in ("ours", "isls"):
                run = f"{side}{k}({', '.join(map(str, p))});"
                text.append(f"tests = calls = all = 0; if (!setjmp(out)) {{ {run} }} else calls = -1;")
                text.append('printf("%lld %lld %llu\\n", tests, calls, all);')
    text += ["return 0; }"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "loops.c"), Path(folder, "loops")
        source.write_text("\n".join(text))
        done = subprocess.run([compiler, "-O1", "-w", "-o", program, source], capture_output=True, text=True)
        if done.returncode:
            if len(some) > 1:
                for one in some:
                    measure([one], compiler)
            else:
                some[0].why = "C: " + done.stderr.strip().splitlines()[-1]
            return
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = iter([tuple(map(int, line.split())) for line in lines])
    for one in some:
        for p in one.points:
            ours, isls = next(rows), next(rows)
            one.counts.append((ours[0], isls[0]))
            if -1 not in (ours[1], isls[1]) and ours[1:] != isls[1:]:
                one.why = f"DIFFERENT calls at {dict(zip(one.params, p))}: {ours[1]}, isl's {isls[1]}"


# ---- the table


def table(found: Sequence[Input]) -> None:
    kinds: dict[str, list[Input]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    print("| class | inputs | geometric mean | > 1.5 | > 4 | most | grows by |\n|---|---|---|---|---|---|---|")
    for kind, some in kinds.items():
        good = [one for one in some if one.counts and not one.why]
        if not good:
            print(f"| {kind} | 0 of {len(some)} | | | | | |")
            continue
        every = [r for one in good for r in one.ratios]
        mean = math.exp(sum(map(math.log, every)) / len(every))
        worst = max(good, key=lambda one: max(one.ratios))
        grows = max(good, key=lambda one: one.ratios[-1] / one.ratios[0])
        beyond = [sum(max(one.ratios) > limit for one in good) for limit in (1.5, 4)]
        print(
            f"| {kind} | {len(good)} of {len(some)} | {mean:.2f} | {beyond[0]} | {beyond[1]} "
            f"| {max(worst.ratios):.2f} {worst.name} | {grows.ratios[-1] / grows.ratios[0]:.2f} {grows.name} |"
        )


def stop(*_: object) -> None:
    raise TimeoutError(f"our loops take more than {LONGEST} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--only", default="", help="words in the class or the name of an input")
    parser.add_argument("--values", default="9,40,100")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if isl is None or compiler is None:
        lacks = 'islpy (pip install -e ".[bench]")' if isl is None else "a C compiler (cc, gcc or clang)"
        sys.exit(f"benchmarks/loops.py needs {lacks}")
    signal.signal(signal.SIGVTALRM, stop)
    values = [int(v) for v in args.values.split(",")]
    found = [one for path in args.paths or [HERE / "loop_inputs"] for one in inputs_of(path)]
    if not args.paths:
        found += [*polybench(), *scheduled_by_isl()]
    found = [one for one in found if all(w in f"{one.kind} {one.name}" for w in args.only.split())]
    for k, one in enumerate(found):
        if sys.stderr.isatty():
            print(f"\r\x1b[2K{k + 1}/{len(found)} {one.name}", end="", file=sys.stderr, flush=True)
        if not one.why:
            prepare(one, values)
    ready = [one for one in found if not one.why]
    for k in range(0, len(ready), 10):
        measure(ready[k : k + 10], compiler)
    for one in found:
        if args.show:
            print(f"== {one.kind} {one.name}\n-- ours\n{one.ours}\n-- isl's\n{one.isls}")
        if args.each or one.why or args.show:
            ratios = " ".join(f"{r:.2f}" for r in one.ratios)
            print(
                f"{one.kind:28} {one.name:24} {ratios:20} {one.counts[-1:]} "
                f"{one.seconds[0] * 1e3:.0f}/{one.seconds[1] * 1e3:.0f} ms {one.why}"
            )
    table(found)


if __name__ == "__main__":
    main()
