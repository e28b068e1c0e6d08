"""What a compilation gives: trees, IR, text, machine code, and what a launch needs; `kernel` has the ways to run it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Never, Self

from polyvolta.compiler.arguments import LARGEST, TooLarge
from polyvolta.compiler.options import Options
from polyvolta.compiler.plans import Plans
from polyvolta.compiler.stages import Stages
from polyvolta.cuda.errors import UnsupportedArch
from polyvolta.cuda.ir.arguments import Parameters, parameters
from polyvolta.cuda.ir.block_order import MOST_BLOCKS
from polyvolta.cuda.ir.kernel_ir import KernelIR, Tiles
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.machine.turns.tiles import launched
from polyvolta.cuda.target.target import Target
from polyvolta.display.code import Cuda
from polyvolta.display.shown import Record, Shown
from polyvolta.display.text import brief, called, filled
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Given, Size, by_name, joined
from polyvolta.sched.tree import Schedule
from polyvolta.sets import PolyvoltaError, UnknownName, nearest
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.cuda.run.launch import LoadedKernel
    from polyvolta.cuda.run.nvrtc import Cubin, Resources


MOST_CONFIGS = 1024  # launch configurations that a kernel remembers: one takes 8 us to make


class NotAMultiple(PolyvoltaError, ValueError):
    """A size that is no multiple of its tile, in a kernel without guards whose arrays can't be padded."""

    id = "PV403"


class MissingSize(PolyvoltaError, TypeError):
    """A launch configuration was asked for without all sizes, or with a wrong one."""

    id = "PV404"


@dataclass(frozen=True, slots=True, repr=False)
class LaunchConfig(Record):
    """What a launch needs: blocks (x, y, z), threads of a block (x, y, z), bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int

    def __repr__(self) -> str:
        return called("LaunchConfig", ((name, getattr(self, name)) for name in self.__match_args__))

    def _facts(self) -> list[tuple[str, object]]:
        return [("grid", f"{' × '.join(map(str, self.grid))} blocks"),
                ("block", f"{' × '.join(map(str, self.block))} threads"),
                ("dynamic shared memory", f"{self.shared_bytes:,} bytes a block")]  # fmt: skip

    def _title(self) -> str:
        return "a launch"


@dataclass(frozen=True, slots=True)
class Compiled(Shown):
    """A compiled graph; `Kernel` is that and can be called.

    It takes arrays of any sizes, and views into larger arrays. Its text moves eight values of a tensor at once; for
    arrays whose address or leading dimension doesn't allow that, `variant` has the text with narrower accesses,
    printed and compiled when it is needed. A copy engine that moves boxes takes no other arrays at all: `taking` is the
    kernel for those, whose threads copy.

    Parameters
    ----------
    graph, target, options : what it was compiled from.
    stages : every intermediate schedule tree by stage name, in order.
    ir : the kernel IR, its definition.
    source : CUDA C++, one self-contained text.
    without_boxes : makes the kernel for arrays of which the copy engine doesn't take those of some tensors; None where
        it copies nothing.
    """

    graph: Graph
    target: Target
    options: Options
    stages: Stages = field(hash=False)
    ir: KernelIR = field(hash=False)
    source: str
    without_boxes: Callable[[frozenset[str]], Compiled] | None = field(default=None, compare=False, repr=False)
    _variants: dict[tuple, Compiled] = field(default_factory=dict, compare=False, repr=False)
    _loaded: dict[tuple, LoadedKernel] = field(default_factory=dict, compare=False, repr=False)
    _configs: dict[tuple[int, ...], LaunchConfig] = field(default_factory=dict, compare=False, repr=False)
    _plans: Plans = field(init=False, compare=False, repr=False)
    parameters: Parameters = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plans", Plans(self.graph, self.ir))
        object.__setattr__(self, "parameters", parameters(self.ir))
        object.__setattr__(self, "source", Cuda(self.source))

    if not TYPE_CHECKING:  # checkers know the names, and that there are no others

        def __getattr__(self, name: str) -> object:
            from polyvolta.compiler.shown.elsewhere import of_kernel
            from polyvolta.graph.functions.elsewhere import missing

            return missing(self, name, of_kernel)

    @property
    def name(self) -> str:
        """Of the C function."""
        return self.ir.name

    @property
    def schedule(self) -> Schedule:
        """The tree of the last stage."""
        return self.stages[next(reversed(self.stages))]

    def __repr__(self) -> str:
        statements = brief("; ".join(map(str, self.graph.statements)))
        return filled(f"<Kernel {self.name} for {self.target.name}: {statements}>")

    def _html(self) -> str:
        from polyvolta.compiler.shown.kernel import page

        return page(self)

    def launch_config(self, sizes: Given[int] | None = None, /, *unnamed: Never, **named: int) -> LaunchConfig:
        """Grid, block and shared memory for given sizes, inferred from the mapped schedule dimensions.

        A result without elements has a grid with a 0 in it: there is nothing to launch. Of persistent blocks there are
        as many as the target's GPU has room for, or fewer; on one with more multiprocessors a launch has more.

        Parameters
        ----------
        sizes, named : every symbolic size of the graph: by name, or in a mapping from names or from the sizes
            themselves.
        unnamed : none; sizes have names.

        Raises
        ------
        MissingSize : a size is missing, unknown or no int >= 0.
        TooLarge : a size, or a number of blocks, that doesn't fit.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> kernel = pv.compile(product, options=pv.Options(block_tile=(128, 128, 32)))
        >>> kernel.launch_config(M=513, N=255, K=64).grid
        (2, 5, 1)
        >>> kernel.launch_config({M: 513, N: 255, K: 64}).grid
        (2, 5, 1)
        """
        checked = self.check_sizes(by_names(sizes, unnamed, named, self.ir.sizes))
        key = tuple(checked.values())
        if key not in self._configs:
            if len(self._configs) >= MOST_CONFIGS:
                self._configs.clear()
            self._configs[key] = self._config(checked)
        return self._configs[key]

    def _config(self, sizes: dict[str, int]) -> LaunchConfig:
        sizes = padded_sizes(self, sizes)
        blocks_along: list[Any] = [e.evaluate(sizes) for e in self.ir.grid]
        x, y, z = map(int, blocks_along)
        if self.ir.resident:
            self._check_turns(x * y * z, sizes)
            return LaunchConfig(launched(self.ir, (x, y, z)), (self.ir.threads, 1, 1), self.ir.shared_bytes)
        for axis, blocks, most in zip("xyz", (x, y, z), self.target.grid):
            if blocks > most:
                raise TooLarge(
                    f"{blocks} blocks along {axis}, {self.target.name} has at most {most}",
                    where=", ".join(f"{n} = {v}" for n, v in sizes.items()),
                    hint="a larger block_tile",
                )
        extents = self.ir.cluster
        if not self.ir.block_order.fits(tuple(n // c for n, c in zip((x, y, z), extents, strict=True))):
            raise TooLarge(
                f"{x} x {y} blocks, in {self.ir.block_order}, are more than {MOST_BLOCKS}",
                where=", ".join(f"{n} = {v}" for n, v in sizes.items()),
                hint="group=1, or a larger block_tile",
            )
        return LaunchConfig((x, y, z), (self.ir.threads, 1, 1), self.ir.shared_bytes)

    def _check_turns(self, places: int, sizes: Mapping[str, int]) -> None:
        """Numbers of tiles, and what blocks count while they go from one to the next, are ints."""
        where = ", ".join(f"{n} = {v}" for n, v in sizes.items())
        if places > MOST_BLOCKS // 2:
            raise TooLarge(f"{places} tiles of the result are more than {MOST_BLOCKS // 2}", where=where,
                           hint="persistent=False, or a larger block_tile")  # fmt: skip
        turns = -(-places // self.ir.resident)
        for counter, e in {c for _, s in walk(self.ir.body) if isinstance(s, Tiles) for c in s.counters}:
            steps: Any = e.evaluate(sizes)
            if turns * steps * self.options.step[2] > LARGEST:
                raise TooLarge(f"{counter} counts beyond an int: a block computes {turns} tiles in {steps} steps each",
                               where=where, hint="persistent=False")  # fmt: skip

    def grid_on(
        self, multiprocessors: int, sizes: Mapping[str, int], clusters: int | None = None
    ) -> tuple[int, int, int]:
        """The blocks of a launch on a GPU, of a kernel with persistent blocks: as many a multiprocessor as the kernel
        is to have on the target's; whole clusters.

        `multiprocessors` is how many the GPU has; `sizes` are all of the kernel's.

        Parameters
        ----------
        clusters : for how many the GPU has room at a time; None: for as many as for their blocks.

        >>> import polyvolta as pv
        >>> from polyvolta.cuda.target.hopper import SM_90A
        >>> M, N, K = pv.sizes("M N K")
        >>> product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
        >>> tiles = pv.Options(block_tile=(128, 256, 64), persistent=True)
        >>> kernel = pv.compile(product, target=SM_90A, options=tiles)
        >>> [kernel.grid_on(n, {"M": 2048, "N": 2048, "K": 64}) for n in (78, 132, 144)]
        [(78, 1, 1), (128, 1, 1), (128, 1, 1)]
        """
        own, blocks = prod(self.ir.cluster), self.ir.resident * multiprocessors // self.target.multiprocessors
        most = blocks // own if clusters is None else min(blocks // own, clusters)
        grid: list[Any] = [e.evaluate(padded_sizes(self, by_name(sizes))) for e in self.ir.grid]
        return launched(replace(self.ir, resident=own * max(1, most)), grid)

    def check_sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The kernel's sizes, each an int >= 0 that an `int` holds.

        Raises
        ------
        MissingSize : a size is missing, unknown or no int >= 0.
        TooLarge : one is beyond what an `int` counts.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> kernel.check_sizes({"N": 3, "K": 0, "M": 2})
        {'M': 2, 'N': 3, 'K': 0}
        """
        sizes = by_name(sizes, MissingSize)
        for name in sizes:
            if name not in self.ir.sizes:
                raise MissingSize(f"the kernel has no size {name!r}", hint=nearest(name, self.ir.sizes))
        for name in self.ir.sizes:
            value = sizes.get(name)
            if value is None:
                missing = [n for n in self.ir.sizes if sizes.get(n) is None]
                lack = f"size {name} is" if len(missing) == 1 else f"sizes {', '.join(missing)} are"
                raise MissingSize(f"the {lack} missing", hint=_by_keywords(self.ir.sizes))
            if isinstance(value, bool | Size) or not hasattr(value, "__index__") or value < 0:
                raise MissingSize(f"the size {name} is an int, at least 0, not {value!r}")
            if value > LARGEST:
                raise TooLarge(f"the size {name} is an int of 32 bits, at most {LARGEST}, not {value}")
        return {name: int(sizes[name]) for name in self.ir.sizes}

    def serving(self, sizes: Mapping[str, int]) -> Self:
        """The kernel that serves some sizes: itself, any.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> kernel.serving({"M": 3, "N": 3, "K": 3}) is kernel
        True
        """
        return self

    def variant(self, /, **align: int) -> Self:
        """The kernel for narrower accesses to some of its tensors, as a call makes it for arrays that need it.

        Where boxes bring such a tensor it is one that copies otherwise: see `taking`.

        Parameters
        ----------
        align : by tensor name how many values one access moves: 8, 4, 2 or 1. The others have what this kernel has.

        Raises
        ------
        UnknownName : no tensor of that name.
        BadOption : another number.

        Cost: that of printing, once for each combination.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> narrow = kernel.variant(A=2)
        >>> [(t.name, t.align) for t in narrow.ir.tensors]
        [('A', 2), ('B', 8), ('C', 8)]
        """
        from polyvolta.compiler.rule.values import BadOption
        from polyvolta.cuda.run.views import narrowed
        from polyvolta.cuda.text.printer import print_cuda

        now = {t.name: t.align for t in self.ir.tensors}
        for name, width in align.items():
            if name not in now:
                raise UnknownName(f"the kernel has no tensor {name!r}", hint=nearest(name, now))
            if width not in (8, 4, 2, 1):
                raise BadOption(f"an access to {name} moves 8, 4, 2 or 1 values, not {width!r}")
        wanted = {**now, **align}
        if wanted == now:
            return self
        if (other := self.taking([name for name, width in wanted.items() if width < 8])) is not self:
            return other.variant(**wanted)  # type: ignore[return-value]  # made by whoever made this one
        key = tuple(wanted.values())
        if key not in self._variants:
            ir = narrowed(self.ir, wanted)
            self._variants[key] = replace(self, ir=ir, source=print_cuda(ir), _variants={}, _loaded={})
        return self._variants[key]  # type: ignore[return-value]  # replace keeps the class

    @property
    def boxed(self) -> frozenset[str]:
        """The tensors that the copy engine brings or stores."""
        return frozenset(m.tensor for m, _ in self.parameters.maps)

    def taking(self, plain: Collection[str]) -> Compiled:
        """The kernel for arrays of which the copy engine doesn't take some; itself where it doesn't have to.

        Parameters
        ----------
        plain : the tensors that these are for.

        Raises
        ------
        BadTensorMap : the kernel was made by hand, and there is none that copies otherwise.

        Cost: that of a compilation, once.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> kernel.taking(["A"]) is kernel  # no copy engine brings boxes on sm_70
        True
        """
        from polyvolta.cuda.run.tensor_maps import BadTensorMap

        key = tuple(sorted(self.boxed.intersection(plain)))
        if not key:
            return self
        if self.without_boxes is None:
            raise BadTensorMap(
                f"the copy engine doesn't take {', '.join(key)}",
                where=self.name,
                hint="arrays that start at a multiple of 16 bytes, and whose lines are multiples of 16 bytes apart",
            )
        if key not in self._variants:
            self._variants[key] = self.without_boxes(frozenset(key))
        return self._variants[key].taking(plain)

    def compiled(self, arch: str | None = None) -> Cubin:
        """Machine code with the compiler's log, for the kernel's target or a later architecture.

        `arch` is a name such as "sm_86"; by default the target's.

        Raises
        ------
        UnsupportedArch : an architecture that has not all of the target's instructions; as `cubin` does.
        """
        from polyvolta.cuda.arch import code_for, runs_on
        from polyvolta.cuda.run.nvrtc import compile_cubin
        from polyvolta.cuda.target.registry import targets

        if arch is not None and not runs_on(self.target.name, arch):
            raise UnsupportedArch(
                f"{self.name} is made for {self.target.name}, whose instructions {arch} doesn't have",
                hint=targets.instead(arch),
            )
        return compile_cubin(self.source, code_for(self.target.name, arch or self.target.name), name=self.name)

    def cubin(self) -> bytes:
        """Machine code for the kernel's target; needs NVRTC, no GPU.

        Raises
        ------
        CompilerMissing, CompileFailed, UnsupportedArch : see `polyvolta.cuda.errors`.
        """
        return self.compiled().image

    def resources(self) -> Resources:
        """Registers, spills and memory of the machine code for the target, with the dynamic shared memory.

        Raises
        ------
        CompilerMissing, CompileFailed : see `Kernel.cubin`.
        """
        found = self.compiled().resources(self.name)
        return replace(found, shared_bytes=found.shared_bytes + self.ir.shared_bytes)

    def loaded(self, align: Mapping[str, int] | None = None, code: Cubin | None = None) -> LoadedKernel:
        """The machine code on the current GPU, compiled for it and loaded once, of the variant for such accesses.

        Parameters
        ----------
        align : by tensor name how many values one access moves.
        code : that variant's machine code for the GPU, where it has been compiled elsewhere.

        Raises
        ------
        WrongGpu : the GPU is older than the target, or has too little for a block; before anything is compiled, but
            for registers.
        """
        from polyvolta.cuda.run import launch

        align = align or {}
        if (other := self.taking([name for name, width in align.items() if width < 8])) is not self:
            return other.loaded(align, code)
        key = (launch.current_device(), *[align.get(t.name, t.align) for t in self.ir.tensors])
        if key not in self._loaded:
            limits, threads = launch.device_limits(key[0]), self.ir.threads
            launch.check_block(self.name, self.target.name, limits, threads, self.ir.shared_bytes)
            code = code or self.variant(**align).compiled(limits.arch)
            launch.check_registers(self.name, limits, threads, code.resources(self.name).registers)
            self._loaded[key] = launch.load(code.image, self.name, self.ir.shared_bytes, self.ir.dependent)
        return self._loaded[key]


def padded_sizes(kernel: Compiled, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes that a kernel works on: the next multiples of what its context asks for."""
    multiples = dict(kernel.ir.context)
    return {n: -(-v // multiples.get(n, 1)) * multiples.get(n, 1) for n, v in sizes.items()}


def by_names(
    sizes: object, unnamed: Sequence[object], named: Mapping[str, int], names: Collection[str]
) -> dict[str, int]:
    """The sizes that `launch_config` was given, by name.

    Raises
    ------
    MissingSize : some have no names, or one is given twice.
    """
    if unnamed or not (sizes is None or isinstance(sizes, Mapping)):
        given = ", ".join(repr(x) if isinstance(x, int) else kind_of(x) for x in (sizes, *unnamed))
        raise MissingSize(f"sizes are given by name, not as {given}", hint=_by_keywords(names))
    return joined(sizes, named, MissingSize)


def _by_keywords(names: Collection[str]) -> str:
    return f"launch_config({', '.join(f'{n}=...' for n in names)})"
