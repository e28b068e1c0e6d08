"""Launches recorded once and replayed as a whole, with the GPU's clock read before and after.

A launch takes the host 3 us, longer than small kernels run, so that one after the other would be timed by the host. A
CUDA graph of many launches is given to the GPU in one call; events around its replay are times of the GPU itself. That
is also how a program that cares for such kernels runs them.

Replays of several graphs take turns, so that what changes with time, clocks and temperature, changes for all of them.
The order rotates from round to round, since what ran before a kernel decides how warm, and how busy with its power
limit, the GPU is. All launches of a graph are on the same arrays: operands that the second-level cache can hold are
there, as in a loop around the kernel; larger ones come from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from polyvolta.cuda.run.gpu import driver_call, require_gpu


@dataclass(slots=True)
class Stream:
    """A stream of its own, which waits for no other."""

    handle: int = 0
    _stream: Any = None

    @classmethod
    def make(cls) -> Self:
        """A new one in the current context.

        Raises
        ------
        NoGpu
        """
        require_gpu()
        from cuda.bindings import driver
        from numba import cuda

        cuda.current_context()
        stream = driver_call("cuStreamCreate", driver.CUstream_flags.CU_STREAM_NON_BLOCKING.value)
        return cls(int(stream), stream)

    def wait(self) -> None:
        """Until all that it was given is done."""
        driver_call("cuStreamSynchronize", self._stream)

    def recorded(self, launch: Callable[[], None], count: int) -> Replay:
        """A graph of so many launches on this stream."""
        from cuda.bindings import driver

        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        driver_call("cuStreamBeginCapture", self._stream, mode)
        try:
            for _ in range(count):
                launch()
        finally:
            graph = driver_call("cuStreamEndCapture", self._stream)
        ready = driver_call("cuGraphInstantiate", graph, 0)
        driver_call("cuGraphDestroy", graph)
        return Replay(self, count, ready)

    def seconds(self, work: Callable[[], None]) -> float:
        """How long the GPU is at something that is put on this stream; waits for it."""
        pair = _Events.make()
        pair.around(self._stream, work)
        self.wait()
        return pair.seconds()


@dataclass(slots=True)
class Replay:
    """A graph of `count` launches, ready to run."""

    stream: Stream
    count: int
    _graph: Any
    _events: list[_Events] = field(default_factory=list)

    def start(self) -> None:
        """Put one replay on the stream, with the clock read before and after."""
        self._events.append(_Events.make())
        self._events[-1].around(
            self.stream._stream, lambda: driver_call("cuGraphLaunch", self._graph, self.stream._stream)
        )

    def times(self) -> list[float]:
        """Seconds a launch of each replay since the last time that this was asked; all have to be done."""
        found = [e.seconds() / self.count for e in self._events]
        self._events.clear()
        return found

    def close(self) -> None:
        """Free the graph."""
        driver_call("cuGraphExecDestroy", self._graph)


@dataclass(frozen=True, slots=True)
class _Events:
    """The GPU's clock at two places of a stream."""

    start: Any
    end: Any

    @classmethod
    def make(cls) -> Self:
        from cuda.bindings import driver

        flags = driver.CUevent_flags.CU_EVENT_DEFAULT.value
        return cls(driver_call("cuEventCreate", flags), driver_call("cuEventCreate", flags))

    def around(self, stream: Any, work: Callable[[], None]) -> None:
        driver_call("cuEventRecord", self.start, stream)
        work()
        driver_call("cuEventRecord", self.end, stream)

    def seconds(self) -> float:
        """The time between; both have to be there. Frees the events."""
        milliseconds = driver_call("cuEventElapsedTime", self.start, self.end)
        for event in (self.start, self.end):
            driver_call("cuEventDestroy", event)
        return 1e-3 * float(milliseconds)


def interleaved(replays: Sequence[Replay], rounds: int) -> list[list[float]]:
    """Seconds a launch of several graphs, which take turns; for each as many times as rounds."""
    for n in range(rounds):
        turn = n % len(replays)
        for replay in (*replays[turn:], *replays[:turn]):
            replay.start()
        replays[0].stream.wait()
    return [replay.times() for replay in replays]


def free_bytes() -> int:
    """Memory of the current GPU that nobody has taken."""
    return int(driver_call("cuMemGetInfo"))


def on_gpu(number: int) -> None:
    """Have the calling thread work on a GPU, by the driver's number.

    Raises
    ------
    NoGpu
    """
    require_gpu()
    from numba import cuda

    cuda.select_device(number)
