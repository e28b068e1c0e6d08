"""A GPU and a compiler that are none: candidates whose options say how they fare. Found by child processes, too."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any

from polyvolta.compiler.options import Options
from polyvolta.cuda.devices import Gpu
from polyvolta.cuda.errors import CompileFailed, LaunchFailed
from polyvolta.sets import PolyvoltaError
from polyvolta.tuner.errors import Died, DoesNotFit, Foreign, Hangs, NoGpuThere, WrongResult
from polyvolta.tuner.spec import Spec

GPU = Gpu(0, "NVIDIA Fake", "sm_80", "GPU-0")
HANG, DIE, WRONG, FAULT, NO_BUILD, BUILD_DIES, DIE_ONCE, FOREIGN = range(40, 48)
"""Values of `group` of candidates that don't work; any other one is a time in us."""


def option(group: int) -> Options:
    return Options(block_tile=(128, 128, 32), warp_tile=(64, 64, 32), macro_mma="m16n16k16", split_k=1, buffers=3,
                   partial="guard", accumulators="auto", prefetch=2, fragments=1, group=group, occupancy=1,
                   dependent_launch=False, persistent=False, pingpong=False, swap=False, cluster=(1, 1))  # fmt: skip


inline = False
"""Whether all of it happens in the test's own process (`Inline`)."""


def hang() -> None:
    if inline:
        raise _Hangs
    time.sleep(1000)


def die(code: int) -> None:
    if inline:
        raise _Dies(code)
    os._exit(code)


class _Hangs(BaseException):
    pass


class _Dies(BaseException):
    pass


class Inline:
    """A `Child` without a process: what it holds is here, and hangs and dies in words alone."""

    started = 0

    def __init__(self, factory: Any, *arguments: Any) -> None:
        Inline.started += 1
        self.alive, self.made = True, lambda: factory(*arguments)
        self.served: Any = None

    def ask(self, method: str, *arguments: Any, limit: float) -> Any:
        try:
            if not self.alive:
                raise _Dies(-9)
            self.served = self.served or self.made()
            return getattr(self.served, method)(*arguments)
        except _Hangs:
            self.close()
            raise Hangs(f"{method} took longer than {limit:g} s") from None
        except _Dies as died:
            self.close()
            raise Died(f"the process ended with {died.args[0]} amid {method}") from None
        except PolyvoltaError:
            raise
        except Exception as wrong:
            raise Foreign.of(wrong) from wrong

    def close(self) -> None:
        self.alive = False

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def said(what: str) -> None:
    """Note down what happens, for the test to read: a line in one write, so that processes don't mix."""
    if path := os.environ.get("FAKE_LOG"):
        with open(path, "a") as file:
            file.write(f"{what}\n")


class FakeBuilder:
    def __init__(self, spec: Spec) -> None:
        said("builder")

    def build(self, options: Options) -> bytes:
        said(f"build {options.group}")
        if options.group == NO_BUILD:
            raise CompileFailed("kern0.cu has an error")
        if options.group == BUILD_DIES:
            die(3)
        return pickle.dumps(options)


class FakeBench:
    """Has what `bench.Bench` has; the environment says what is wrong with its GPU."""

    def __init__(self, spec: Spec) -> None:
        self.options: dict[str, Options] = {}

    def take(self) -> Gpu:
        said("take")
        if os.environ.get("FAKE_GPU") == "small":
            raise DoesNotFit("M = 512 takes 200.0 GiB of GPU memory, 139.0 are free")
        if os.environ.get("FAKE_GPU") == "other":
            raise NoGpuThere("there is no NVIDIA Fake here")
        return GPU

    def add(self, name: str, content: bytes, keep: bool) -> float:
        options = pickle.loads(content)
        if keep:
            self.options[name] = options
        said(f"add {options.group}")
        match options.group:
            case x if x == HANG:
                hang()
            case x if x == DIE:
                die(7)
            case x if x == DIE_ONCE and not (mark := Path(os.environ["FAKE_LOG"]).with_suffix(".once")).exists():
                mark.touch()
                die(7)
            case x if x == WRONG:
                raise WrongResult("C differs from float64")
            case x if x == FAULT:
                raise LaunchFailed("an illegal address")
            case x if x == FOREIGN:
                raise ZeroDivisionError("of another library")
        return 1e-6 * options.group

    def race(self, names: tuple[str, ...], rounds: int) -> dict[str, tuple[float, float, float]]:
        said(f"race {','.join(str(self.options[n].group) for n in names)}")
        return {n: (1e-6 * self.options[n].group, 0.0, 1.0) for n in names}
