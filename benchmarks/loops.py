"""Loops beside isl's: what the code tests that is generated from the same trees and maps, counted as it runs.

    python benchmarks/loops.py [PATH ...] [--only words] [--random SEED:NUMBERS] [--values 9,40,1/90] [--each] [--show]

needs islpy (pip install -e ".[bench]") and a C compiler. A PATH is a folder, whose folders are classes, or a file.
Without one, the inputs are those of `benchmarks/loop_inputs` and the trees of PolyBench, as written, scheduled and
tiled, also as isl's scheduler has them. The files of `loop_inputs` say what each is about: tiles of one and two levels,
of time and space; trees as PPCG and isl's scheduler write them; programs of one processor of eight; factorisations and
solvers; masks, convolutions, grids, points beside strides and other remainders; unions of statements of all shapes;
loops written out, full tiles apart; scheduled programs in waves, backwards, unrolled, or cut up for blocks and threads;
waves, solves and cyclic blocks as users of CLooG, Pluto and PPCG write them; what a processor has of blocks dealt out,
and tiles of triangles whose points are written out; ranges that end at sizes nothing orders; windows of remainders in
tiles; digits of iterators and of their sums; packed triangles, rings, diagonals of sparse matrices and other orders of
their own; stencils tiled in time in all ways; programs of kernels with copies, alignments, sparse solvers, transforms,
convolutions and attention; grids and matrices of several extents and resolutions, with promises of their sizes; blocks
of owners in tiles of other sizes, lines of periodic masks, images and arrays of processors; tiles of odd sizes, of
several statements and rates, partly put together at random; and schedules made by machine, of isl's scheduler under
several options and of maps, tiled, unrolled, in blocks and threads. A file is one of isl's schedule trees (`.st`); or a
map, a context and options, as isl's `codegen` takes them (`.in`); or many of either, each behind a line `== name`
(`.txt`), which are a class of their own; or an input of CLooG (`.cloog`).
With `--random 9001:0-435` they are the random trees of those numbers that the tests draw from that seed.

Both codes are compiled with every loop test and every comparison of an `if` counted as it is evaluated, and run at
each of `--values`: 9 is all parameters at 9, and 1/90 the first one at 1, the second one at 90, the third one at 1
again, in turn. Each is the nearest at which the contexts of the input hold, also those inside a tree: at others they
promise what is not so. An input of one parameter has 1 and 90 then. Both must call the same instances; where they
don't, the tree's are enumerated, and it says whose code is wrong. Such an input is left out of the table, as is one
that a side doesn't scan; what is left out has a line with the reason, and they are counted below the table. For each
class the table has the geometric mean of ours over isl's tests at all sizes, how many inputs of the class are beyond
1.5 and beyond 4 times, the most, and the most by which the ratio grows from the first to the last size that is the same
for all parameters: about 1, unless a code does another power of N. At sizes that are not alike a loop shows that runs
over what lies between them, too.
`--each` prints a line an input, `--show` both codes.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from loop_cases import Input, inputs_of, polybench, random_trees, scheduled_by_isl  # noqa: E402
from loop_counts import MOST, measure  # noqa: E402

from polyvolta.sched import Band, Domain, Member, Schedule, scan  # noqa: E402
from polyvolta.sched.tree import LoopType  # noqa: E402
from polyvolta.sets import Map, NotAFunction, PolyvoltaError, var  # noqa: E402

try:
    import islpy as isl
except ImportError:
    isl = None

LONGEST = 20  # processor seconds at which making our loops is stopped
OPERATIONS = 10_000_000  # of isl's at which making its loops is, some ten seconds
SIZES = "9,40,100,1/90,90/1,40/200/3"
TYPES: tuple[LoopType, ...] = ("atomic", "separate", "unroll")


# ---- both codes


def prepare(one: Input, values: Sequence[Sequence[int]]) -> None:
    """Make both codes and the parameters' values, which are each of some, in turn."""
    text, node = one.text.strip(), None
    isl.DEFAULT_CONTEXT.reset_operations()
    isl.DEFAULT_CONTEXT.set_max_operations(OPERATIONS)
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
        one.why = re.sub(r"call to \w+ failed: (.*) in /.*", r"isl, \1", str(error).splitlines()[0])[:100]
        return
    finally:
        isl.DEFAULT_CONTEXT.set_max_operations(0)
    one.params = tuple(names_of(context, one.tree))
    if node is not None:
        context = context.intersect(held(node))
    if context.is_empty():
        one.why = "the tree's contexts hold at no sizes"
        return
    one.points = [point(context, one.params, v) for v in values]


def written(text: str) -> list[str]:
    """The relations and sets of a text, each up to its closing brace, on as many lines as it takes."""
    text = re.sub(r"(#|//).*", "", text)
    return [part.strip() for part in re.findall(r"[^{}]*\{[^{}]*\}", text)]


def names_of(context: object, tree: Schedule) -> list[str]:
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


def held(tree: object) -> object:
    """The parameters at which a tree's contexts have a value, and hold wherever instances reach them.

    What a context says of parameters is promised wherever it stands: no instance has to come by, and no filter protects
    the code below from sizes at which it does not hold.
    """
    kinds, out = isl.schedule_node_type, isl.Set("{ : }")

    def look(node: object, prefixes: object) -> None:
        """Go down with the values of the members above for each instance that comes by."""
        nonlocal out
        kind = node.get_type()
        if kind == kinds.context:
            context = node.context_get_context()
            failing = prefixes.range().subtract(isl.UnionSet.from_set(context))
            out = out.intersect(context.params()).subtract(failing.params())
        elif kind == kinds.guard:
            prefixes = prefixes.intersect_range(isl.UnionSet.from_set(node.guard_get_guard()))
        elif kind == kinds.filter:
            prefixes = prefixes.intersect_domain(node.filter_get_filter())
        elif kind == kinds.band:
            prefixes = prefixes.flat_range_product(node.band_get_partial_schedule_union_map())
        elif kind == kinds.extension:
            added = node.extension_get_extension().intersect_domain(prefixes.range())
            prefixes = prefixes.union(added.reverse())
        for k in range(node.n_children()):
            look(node.child(k), prefixes)

    if "context" in str(tree):
        look(tree.get_root(), isl.UnionMap.from_domain(tree.get_domain()))
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


def point(context: object, params: Sequence[str], values: Sequence[int]) -> list[int]:
    """The values of parameters in a context nearest to some values in turn, the first of them before the others."""
    out = []
    for k, p in enumerate(params):
        at = context.find_dim_by_name(isl.dim_type.param, p)
        chosen = value = values[k % len(values)]
        if at >= 0:
            for distance in range(4 * abs(value) + 4096):
                near = value - distance, value + distance
                good = [v for v in near if not context.fix_val(isl.dim_type.param, at, isl.Val(v)).is_empty()]
                if good:
                    chosen = good[0]
                    break
            context = context.fix_val(isl.dim_type.param, at, isl.Val(chosen))
        out.append(chosen)
    return out


# ---- the table


def table(found: Sequence[Input], first: int, last: int) -> None:
    """Print it; `first` and `last` are the numbers of the sizes between which ratios grow."""

    def growth(one: Input) -> float:
        return one.ratios[min(last, len(one.ratios) - 1)] / one.ratios[first]

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
        grows = max(good, key=growth)
        beyond = [sum(max(one.ratios) > limit for one in good) for limit in (1.5, 4)]
        print(
            f"| {kind} | {len(good)} of {len(some)} | {mean:.2f} | {beyond[0]} | {beyond[1]} "
            f"| {max(worst.ratios):.2f} {worst.name} | {growth(grows):.2f} {grows.name} |"
        )
    reasons = Counter(re.sub(r" at \{.*|: .*", "", one.why) for one in found if one.why)
    for why, n in reasons.most_common():
        print(f"\nleft out: {n}: {why}")
    stopped = sum(len(one.points) - len(one.counts) for one in found if not one.why)
    if stopped:
        print(f"\nleft out: {stopped} values of inputs at which both make more than {MOST:,} tests")


def stop(*_: object) -> None:
    raise TimeoutError(f"our loops take more than {LONGEST} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--only", default="", help="words in the class or the name of an input")
    parser.add_argument("--random", default="", metavar="SEED:NUMBERS", help="random trees: 9001:0-435 or 9001:64,77")
    parser.add_argument("--values", default=SIZES, help="sizes, each one number or several in turn: 9,40,1/90")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if isl is None or compiler is None:
        lacks = 'islpy (pip install -e ".[bench]")' if isl is None else "a C compiler (cc, gcc or clang)"
        sys.exit(f"benchmarks/loops.py needs {lacks}")
    signal.signal(signal.SIGVTALRM, stop)
    values = [[int(v) for v in point.split("/")] for point in args.values.split(",")]
    alike = [k for k, some in enumerate(values) if len(set(some)) == 1]
    found = [one for path in args.paths or [HERE / "loop_inputs"] * (not args.random) for one in inputs_of(path)]
    if args.random:
        found += random_trees(args.random)
    elif not args.paths:
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
    table(found, alike[0] if alike else 0, alike[-1] if alike else -1)


if __name__ == "__main__":
    main()
