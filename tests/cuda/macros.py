"""The macro-MMAs of the registered targets, by name, for tests that go through all of them."""

from dataclasses import replace

from polyvolta.cuda.target.macro_mma import Composition, Interleave, MacroMma
from polyvolta.cuda.target.registry import targets

COMPOSITIONS: dict[str, Composition] = {m.name: m for m in targets["sm_70"].macro_mmas}
MACRO_MMAS = {name: m.of for name, m in COMPOSITIONS.items()}
INTERLEAVES = {name: m.interleave for name, m in COMPOSITIONS.items()}
m16n16k8 = MACRO_MMAS["m16n16k8"]


def macro_mma(name: str, a: str = "row", b: str = "col", interleave: Interleave | None = None) -> MacroMma:
    """A macro-MMA by name."""
    return COMPOSITIONS[name].of(a, b, interleave)


def interleaved(name: str, rows: tuple[str, ...], cols: tuple[str, ...]) -> Interleave:
    """The interleave of a macro-MMA with other rows and columns."""
    return replace(INTERLEAVES[name], rows=rows, cols=cols)
