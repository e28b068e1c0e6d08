"""A case of a kernel twice: in the interpreter, and its text on the host, with several seeds; all bits are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyvolta.graph.functions.meaning import MEANING
from tests.cuda.host.launch import Counts, Text, WrongText, run
from tests.cuda.host.scalar import LIBRARY


class Different(AssertionError):
    """The text on the host and the interpreter have computed different bits."""


@contextmanager
def rounded_once() -> Iterator[None]:
    """The mathematics library's functions of the interpreter as exact as those of the shim."""
    before = {name: MEANING[name] for name in LIBRARY}
    MEANING.update(LIBRARY)
    try:
        yield
    finally:
        MEANING.update(before)


@dataclass
class Both:
    """Runs a kernel in the interpreter, then on the host with each seed; for `cases.run`.

    Parameters
    ----------
    seeds : of the host's runs.
    texts : where compiled texts are kept.
    change, watch : see `launch.run`.
    instead : None, or a kernel that runs on the host in the place of the interpreter's.
    failed : None, or where failures are taken note of, by seed, instead of being raised.
    counts : what all runs took.
    """

    seeds: Iterable[int]
    texts: dict[str, Text] = field(default_factory=dict)
    change: Callable[[str], str] = str
    watch: bool = True
    instead: Any = None
    failed: dict[int, Exception] | None = None
    counts: Counts = field(default_factory=Counts)

    def __call__(self, kernel: Any, inputs: dict[str, Any], scalars: dict[str, float], out: Any) -> None:
        """The outputs are the host's.

        Raises
        ------
        Different : for a seed there is a value with other bits; NaN is NaN, whatever its bits.
        WrongText : the text did what it may not.
        """
        outs = out if isinstance(out, tuple) else (out,)
        before = [o.copy() for o in outs]
        with np.errstate(all="ignore"), rounded_once():
            kernel.interpret(**inputs, **scalars, out=out)
        wanted = [o.copy() for o in outs]
        for seed in self.seeds:
            for o, b in zip(outs, before):
                o[...] = b
            try:
                how = {"change": self.change, "watch": self.watch, "texts": self.texts}
                self.counts += run(self.instead or kernel, inputs, scalars, out, seed, **how)
                _compare(outs, wanted, seed)
            except (Different, WrongText) as wrong:
                if self.failed is None:
                    raise
                self.failed[seed] = wrong

    def close(self) -> None:
        """Forget the compiled texts."""
        for text in self.texts.values():
            text.close()
        self.texts.clear()


def _compare(outs: Sequence[np.ndarray], wanted: Sequence[np.ndarray], seed: int) -> None:
    for n, (o, w) in enumerate(zip(outs, wanted)):
        same = (o.view(np.uint16) == w.view(np.uint16)) | (np.isnan(o) & np.isnan(w))
        if len(wrong := np.argwhere(~same)):
            at = tuple(map(int, wrong[0]))
            raise Different(
                f"seed {seed}: output {n} has {len(wrong)} other values than the interpreter's, at {at} "
                f"{o[at]}, not {w[at]}"
            )
