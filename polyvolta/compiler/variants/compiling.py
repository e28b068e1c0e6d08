"""From ranges of sizes to a kernel: checks, candidates, the search, and a compilation for each tiling chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from polyvolta.compiler.model import candidates
from polyvolta.compiler.needs import needs_of
from polyvolta.compiler.options import complete
from polyvolta.compiler.tiling import OPTIONS
from polyvolta.compiler.variants.chosen import Costs, axes_of, check_variants, decide, predicted
from polyvolta.compiler.variants.kernels import VariedKernel
from polyvolta.compiler.variants.ranges import BadRange, ranges_of
from polyvolta.cuda.target.chips import chip_of
from polyvolta.graph.plans.idioms import plan

if TYPE_CHECKING:
    from polyvolta.compiler.kernel import Kernel
    from polyvolta.compiler.options import Options
    from polyvolta.compiler.variants.decisions import Decisions
    from polyvolta.compiler.variants.ranges import Ranges
    from polyvolta.cuda.target.target import Target
    from polyvolta.graph.dag import Graph


def compile_over(
    graph: Graph,
    target: Target,
    options: Options,
    name: str,
    make: Callable[[Options, str], Kernel],
    over: object,
    variants: object,
    sizes: object = None,
) -> Kernel | VariedKernel:
    """See `compile`.

    Parameters
    ----------
    options : those given, which all variants have.
    make : compiles with all options, and a name.
    over, variants, sizes : as a user gave them.

    Raises
    ------
    BadRange, BadVariants : of `over` and `variants`.
    NoInstruction, BadOption : as in `complete`.
    """
    few = 1 if variants is None else check_variants(variants, over)
    if sizes is not None:
        raise BadRange("sizes and over are both given", where=f"sizes = {sizes!r}\nover = {over!r}",
                       hint="a size that is always the same is one number in over, M: 512")  # fmt: skip
    decisions = decided(graph, target, options, ranges_of(graph, over), few)
    if variants is None:
        return make(decisions.options[0], name)
    count = len(decisions.options)
    kernels = (make(o, f"{name}_{n}" if count > 1 else name) for n, o in enumerate(decisions.options))
    return VariedKernel(name, graph, target, decisions, tuple(kernels))


def decided(
    graph: Graph, target: Target, options: Options, ranges: Ranges, few: int, costs: Costs | None = None
) -> Decisions:
    """Decisions between the model's candidates that have the options given; of none the rule's choice, and where arrays
    are to be padded.

    Parameters
    ----------
    costs : of tilings at sizes; those that the model predicts if missing.
    """
    needs = needs_of(plan(graph, options.accumulators))
    chosen = complete(options, needs, target)
    chip = chip_of(target)
    given = {name: getattr(options, name) for name in OPTIONS if name in options.given}
    legal = () if chosen.partial == "pad" else candidates(needs, target, given)
    fitting = [t for t in legal if t.shared_bytes(needs, target) <= chip.shared_bytes]
    return decide(ranges, fitting or [chosen], costs or predicted(needs, target, chip), few, axes_of(needs, ranges))
