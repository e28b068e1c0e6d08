"""A compiled kernel: its trees, its text, and the ways to run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyvolta.cuda.kernel_ir import KernelIR
from polyvolta.cuda.target import Target
from polyvolta.graph.binding import bind
from polyvolta.graph.dag import Graph
from polyvolta.options import Options
from polyvolta.sched.tree import Schedule
from polyvolta.sets import PolyvoltaError, UnknownName, nearest

if TYPE_CHECKING:
    from polyvolta.cuda.nvrtc import Cubin, Resources


class NotAMultiple(PolyvoltaError, ValueError):
    """A size that is no multiple of its tile: kernels for such sizes are guarded, which these are not."""

    id = "PV403"


class MissingSize(PolyvoltaError, TypeError):
    """A launch configuration was asked for without all sizes, or with a wrong one."""

    id = "PV404"


class TooLarge(PolyvoltaError, ValueError):
    """A size beyond what a kernel's arguments or the target's grid can hold."""

    id = "PV405"


class Stages(dict[str, Schedule]):
    """Stage name -> schedule tree, in order; an unknown stage suggests the nearest."""

    def __missing__(self, name: str) -> Schedule:
        raise UnknownName(f"no stage is called {name!r}", where=", ".join(self), hint=nearest(name, self))


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """What a launch needs: blocks (x, y, z), threads of a block (x, y, z), bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """The result of `compile`; call it with arrays.

    Parameters
    ----------
    graph, target, options : what it was compiled from.
    stages : every intermediate schedule tree by stage name, in order.
    ir : the kernel IR, its definition.
    source : CUDA C++, one self-contained text.
    """

    graph: Graph
    target: Target
    options: Options
    stages: Stages = field(hash=False)
    ir: KernelIR = field(hash=False)
    source: str

    @property
    def name(self) -> str:
        """Of the C function."""
        return self.ir.name

    @property
    def schedule(self) -> Schedule:
        """The tree of the last stage."""
        return next(reversed(self.stages.values()))

    def __repr__(self) -> str:
        return f"<Kernel {self.name} for {self.target.name}: {'; '.join(map(str, self.graph.statements))}>"

    def launch_config(self, **sizes: int) -> LaunchConfig:
        """Grid, block and shared memory for given sizes, inferred from the mapped schedule dimensions.

        Raises
        ------
        MissingSize : a size is missing, unknown or no positive int.
        NotAMultiple : a size that its tile does not divide.

        >>> import polyvolta as pv
        >>> M, N, K = pv.sizes("M N K")
        >>> kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"))
        >>> kernel.launch_config(M=512, N=256, K=64)
        LaunchConfig(grid=(2, 4, 1), block=(128, 1, 1), shared_bytes=18432)
        """
        self.check_sizes(sizes)
        grid = tuple(int(e.evaluate(sizes)) for e in self.ir.grid)
        for axis, blocks, most in zip("xyz", grid, self.target.grid):
            if blocks > most:
                raise TooLarge(
                    f"{blocks} blocks along {axis}, {self.target.name} has at most {most}",
                    where=", ".join(f"{n} = {v}" for n, v in sizes.items()),
                    hint="a larger block_tile",
                )
        return LaunchConfig(grid, (self.ir.threads, 1, 1), self.ir.shared_bytes)

    def check_sizes(self, sizes: dict[str, int]) -> None:
        """Raise unless every size is there, positive and a multiple of its tile."""
        for name in sizes:
            if name not in self.ir.sizes:
                raise MissingSize(f"the kernel has no size {name!r}", hint=nearest(name, self.ir.sizes))
        for name in self.ir.sizes:
            value = sizes.get(name)
            if value is None:
                raise MissingSize(
                    f"the size {name} is missing", hint=f"launch_config({', '.join(f'{n}=...' for n in self.ir.sizes)})"
                )
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
                raise MissingSize(f"the size {name} is a positive int, not {value!r}")
            if value >= 2**31:
                raise TooLarge(f"the size {name} is an int of 32 bits, {value} is more than {2**31 - 1}")
        for name, multiple in self.ir.context:
            if sizes[name] % multiple:
                near = max(multiple, sizes[name] // multiple * multiple)
                raise NotAMultiple(
                    f"{name} = {sizes[name]} is no multiple of the block tile's {multiple}",
                    where=f"block_tile={self.options.block_tile}",
                    hint=f"the nearest multiples are {near} and {-(-sizes[name] // multiple) * multiple}",
                )

    def compiled(self, arch: str | None = None) -> Cubin:
        """Machine code with the compiler's log, for the kernel's target or another architecture."""
        from polyvolta.cuda.nvrtc import compile_cubin

        return compile_cubin(self.source, arch or self.target.name, name=self.name)

    def cubin(self) -> bytes:
        """Machine code for the kernel's target; needs NVRTC, no GPU.

        Raises
        ------
        CompilerMissing, CompileFailed, UnsupportedArch : see `polyvolta.cuda.errors`.
        """
        return self.compiled().image

    def resources(self) -> Resources:
        """Registers, spills and memory of the machine code for the target, with the dynamic shared memory."""
        from dataclasses import replace

        found = self.compiled().resources(self.name)
        return replace(found, shared_bytes=found.shared_bytes + self.ir.shared_bytes)

    def __call__(self, *arrays: Any, out: Any = None, stream: Any = None, **named: Any) -> Any:
        """Run the kernel: on the GPU if there is one, else interpreted.

        Parameters
        ----------
        arrays : fp16 arrays in the order in which the tensors first appear, or by name: numpy arrays, or arrays
            on the GPU (torch, cupy, numba: CUDA array interface or DLPack). Each has its tensor's shape and is
            contiguous in its layout.
        out : where the result goes; allocated when missing, like the inputs.
        stream : a numba stream, on a GPU.

        Raises
        ------
        ArrayMismatch, NotAMultiple, BadArray : shapes, sizes, dtypes, layouts or memory that do not fit.
        """
        from polyvolta.run import run

        return run(self, bind(self.graph, arrays, named), out, stream)

    def interpret(self, *arrays: Any, out: Any = None, hook: Any = None, **named: Any) -> Any:
        """Run the kernel's IR in lockstep on the CPU, numpy arrays in and out; `hook` sees every operation."""
        from polyvolta.run import interpreted

        return interpreted(self, bind(self.graph, arrays, named), out, hook)
