"""From ranges of sizes to a kernel: checks, candidates, the search, and a compilation for each tiling chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import complete
from polyvolta.compiler.variants.chosen import Costs, check_variants, decide, with_given
from polyvolta.compiler.variants.kernels import VariedKernel
from polyvolta.compiler.variants.ranges import ranges_of
from polyvolta.graph.plans.idioms import plan

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.compiler.tiling import Tiling
    from polyvolta.compiler.variants.decisions import Decisions
    from polyvolta.compiler.variants.ranges import Ranges
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Graph


def compile_over(
    graph: Graph,
    target: Target,
    options: Options,
    name: str,
    over: object,
    variants: object,
    make: Callable[[Options, str], Kernel],
    known: tuple[Iterable[Tiling], Costs],
) -> Kernel | VariedKernel:
    """See `compile`.

    Parameters
    ----------
    options : those given, which all variants have.
    over, variants : as a user gave them.
    make : compiles with all options, and a name.
    known : candidates, and what tilings cost.

    Raises
    ------
    BadRange, BadVariants : of `over` and `variants`.
    BadOption : no choice of the other options goes with those given.
    """
    few = 1 if variants is None else check_variants(variants, over)
    decisions = decided(graph, target, options, ranges_of(graph, over), few, *known)
    if variants is None:
        return make(decisions.options[0], name)
    count = len(decisions.options)
    kernels = (make(o, f"{name}_{n}" if count > 1 else name) for n, o in enumerate(decisions.options))
    return VariedKernel(name, graph, target, decisions, tuple(kernels))


def decided(
    graph: Graph, target: Target, options: Options, ranges: Ranges, few: int, candidates: Iterable[Tiling], costs: Costs
) -> Decisions:
    """Decisions between candidates that have the options given; where none is legal with these, the rule's choice."""
    needs = needs_of(plan(graph, options.accumulators))
    able = target.of_kind(needs.kind)
    legal = with_given(candidates, options, needs, able)
    return decide(ranges, legal or (complete(options, needs, target),), costs, few)
