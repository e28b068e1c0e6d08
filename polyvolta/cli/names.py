"""Names that the command line completes, and refuses before the compiler is imported.

A shell asks for completions each time that somebody presses the tabulator key: names that are known beforehand stand
here, as they are in the API, so that the answer costs no import. `tests/cli` compares each list with what it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from polyvolta.sets.errors import UnknownName, nearest

IDIOMS = ("matmul", "epilogue", "prologue", "sum")
LAYOUTS = ("row", "col")
DTYPES = ("float16", "bfloat16")
PARTIAL = ("guard", "pad")
ACCUMULATORS = ("auto", "one", "separate")
TARGETS = ("sm_70", "sm_75", "sm_80", "sm_90a", "auto")
STAGES = (
    "initial", "block_tiled", "hoisted", "warp_tiled", "mapped", "strip_mined", "contracted", "promoted", "prefetched",
    "roles", "swapped", "persistent", "clustered", "grouped",
)  # fmt: skip
"""Of all kernels, in order; one kernel has some of them."""
PROOFS = (
    "arguments", "dependences", "partition", "written_once", "copies", "fresh", "barriers_between", "not_overwritten",
    "phases", "deadlock", "in_flight", "proxies", "grids", "sums", "result", "layouts", "ownership", "exchange",
    "bank_conflicts", "sectors", "alignment", "bounds", "barriers_reached",
)  # fmt: skip
PICTURES = ("ownership", "instruction", "tile", "output", "pipeline", "all")
BENCHMARKS = ("gemm", "relu_gemm", "gemm_bias_relu", "add", "gemm_vector_relu")

Complete = Callable[[str], list[str]]


def one_of(names: Iterable[str]) -> Complete:
    """Completes a name.

    >>> one_of(IDIOMS)("p"), one_of(IDIOMS)("")
    (['prologue'], ['matmul', 'epilogue', 'prologue', 'sum'])
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


def some_of(names: Iterable[str]) -> Complete:
    """Completes the last of several names with commas between, each of which is given once.

    >>> some_of(("bounds", "fresh"))("bounds,"), some_of(("bounds", "fresh"))("fr")
    (['bounds,fresh'], ['fresh'])
    """
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [before + comma + name for name in known if name.startswith(last) and name not in given]

    return complete


def pairs(incomplete: str) -> list[str]:
    """Completes the layouts of A and B.

    >>> pairs("col")
    ['col,row', 'col,col']
    """
    return [pair for pair in (f"{a},{b}" for a in LAYOUTS for b in LAYOUTS) if pair.startswith(incomplete)]


def macro_mmas(incomplete: str) -> list[str]:
    """Completes macro-MMAs of all targets; this one imports them.

    >>> macro_mmas("m32n32")
    ['m32n32k8']
    """
    from polyvolta.cuda.target.registry import targets

    known = dict.fromkeys(name for t in targets.values() for name in t.macro_names)
    known |= dict.fromkeys(m.name for t in targets.values() for family in t.families for m in family)
    return [name for name in known if name.startswith(incomplete)]


def check_target(name: str | None) -> None:
    """Refuse the name of no target, with the reason that the registry knows.

    Raises
    ------
    UnknownTarget
    """
    if name is not None and name not in TARGETS:
        from polyvolta.cuda.target.registry import targets

        targets[name]


def known_only(text: str, known: Sequence[str]) -> bool:
    """Whether a text is one known name or several, commas between."""
    given = [name.strip() for name in text.split(",") if name.strip()]
    return bool(given) and all(name in known for name in given)


def checked(name: str, known: Sequence[str], what: str) -> str:
    """A name that is known.

    Raises
    ------
    UnknownName : it isn't; suggests the nearest.

    >>> checked("warp_tild", STAGES, "stage")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.UnknownName: [PV103] no stage is called 'warp_tild'
    hint: did you mean 'warp_tiled'?
    """
    if name not in known:
        raise UnknownName(f"no {what} is called {name!r}", hint=nearest(name, known))
    return name
