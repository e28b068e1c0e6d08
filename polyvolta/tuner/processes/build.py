"""Compilation ahead of the timing: kernels are made on all cores, each in a process of its own, while others are timed.

Making a kernel's text is Python's work and holds its lock; the compiler of machine code takes one thread. So there are
as many processes as cores, and a thread here for each, which does nothing but wait. A kernel comes back whole, with its
machine code for the GPU, as bytes: who times it compiles nothing, nor imports a compiler. Machine code also goes to the
cache on disk, as always.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from polyvolta.compiler.calls import Call, device_call
from polyvolta.compiler.driver import compile
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.options import Options
from polyvolta.compiler.remembered.entries import DIED, FAILED, HANGS, Timed
from polyvolta.cuda.run.device_array import DeviceArray, compact
from polyvolta.graph.binding import bind
from polyvolta.graph.tensors import Tensor
from polyvolta.sets import PolyvoltaError
from polyvolta.tuner.errors import Died, Hangs
from polyvolta.tuner.processes.children import Child
from polyvolta.tuner.spec import SCALAR, Spec

BUILD_SECONDS = 180.0  # that one kernel may take to be made
ROOM = 1 << 44  # bytes between the addresses at which arrays are thought to start


@dataclass(frozen=True, slots=True)
class Built:
    """A candidate that can be launched: its options, and the kernel with its machine code as bytes."""

    options: Options
    content: bytes


class Builder:
    """Makes kernels of one computation, in the process in which it is."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def build(self, options: Options) -> bytes:
        """The kernel, compiled for the arrays on which it'll be timed: what `unpacked` reads.

        Raises
        ------
        BadOption, CompileFailed and others of `compile`, and of its machine code.
        """
        kernel = compile(self.spec.graph, self.spec.target, options)
        call = call_of(kernel, self.spec, placed(self.spec), 0).fitted()
        aligns = {a.tensor.name: a.align for a in call.arguments}
        code = call.kernel.variant(**aligns).compiled(self.spec.gpu.arch)
        return pickle.dumps((kernel, aligns, code))


def unpacked(content: bytes) -> tuple[Kernel, dict[str, int], Any]:
    """A kernel, how wide its accesses to each array are, and the machine code for these."""
    return pickle.loads(content)


def placed(spec: Spec) -> dict[str, DeviceArray]:
    """Arrays as those that a kernel is timed on, but nowhere: inputs and results, by name, each whole and aligned."""
    tensors = (*spec.graph.inputs, *spec.graph.outputs)
    return {t.name: _array(t, spec, (n + 1) * ROOM) for n, t in enumerate(tensors)}


def _array(tensor: Tensor, spec: Spec, address: int) -> DeviceArray:
    shape = spec.shape(tensor)
    strides = compact(shape) if tensor.layout == "row" else compact(shape[::-1])[::-1]
    return DeviceArray(address, shape, strides, tensor.dtype)


def call_of(kernel: Kernel, spec: Spec, arrays: dict[str, Any], stream: int) -> Call:
    """The call of a kernel on arrays, by name, with the scalars that all are timed with."""
    graph = spec.graph
    given = [arrays[t.name] if t.dims else SCALAR for t in graph.arguments]
    return device_call(kernel, bind(graph, given), [arrays[t.name] for t in graph.outputs], stream)


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Builds:
    """Candidates as they are ready, in whatever order; iterate once, in a `with` block, whose end ends the processes.

    Parameters
    ----------
    spec : what is tuned.
    candidates : their options; those first come first.
    factory : of what has a method `build`, such as `Builder`; called with the spec in each process.
    jobs : processes; None: one for each core.

    Yields
    ------
    `Built`, or `Timed` for one that can't be made.
    """

    def __init__(
        self,
        spec: Spec,
        candidates: Sequence[Options],
        factory: Callable[[Spec], Any] = Builder,
        jobs: int | None = None,
    ) -> None:
        self._spec, self._factory, self._count = spec, factory, len(candidates)
        self._todo: SimpleQueue[Options] = SimpleQueue()
        self._done: SimpleQueue[Built | Timed] = SimpleQueue()
        self._stopped = threading.Event()
        self._children: set[Child] = set()
        for options in candidates:
            self._todo.put(options)
        for _ in range(min(cores() if jobs is None else jobs, self._count)):
            threading.Thread(target=self._work, daemon=True).start()

    def __iter__(self) -> Iterator[Built | Timed]:
        for _ in range(self._count):
            yield self._done.get()

    def _work(self) -> None:
        """One process after the other, until nothing is to be done."""
        again: Options | None = None
        while not self._stopped.is_set():
            try:
                options = again or self._todo.get_nowait()
            except Empty:
                return
            try:
                with Child(self._factory, self._spec) as child:
                    self._children.add(child)
                    again = self._through(child, options, again is not None)
                    self._children.discard(child)
            except Exception as wrong:  # no more processes, or what is sent doesn't travel
                self._done.put(Timed(options, DIED, note=f"{type(wrong).__name__}: {wrong}"))
                again = None

    def _through(self, child: Child, options: Options, second: bool) -> Options | None:
        """Candidates through one process until there are no more, or it ends; the one that is to be tried again."""
        while not self._stopped.is_set():
            try:
                self._done.put(Built(options, child.ask("build", options, limit=BUILD_SECONDS)))
            except Died as died:
                if not second and not self._stopped.is_set():
                    return options
                self._done.put(Timed(options, DIED, note=str(died)))
            except Hangs as late:
                self._done.put(Timed(options, HANGS, note=str(late)))
            except Exception as wrong:
                note = wrong.message if isinstance(wrong, PolyvoltaError) else str(wrong)
                self._done.put(Timed(options, FAILED, note=note))
            second = False
            if not child.alive:
                return None
            try:
                options = self._todo.get_nowait()
            except Empty:
                return None
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for child in tuple(self._children):
            child.close()
