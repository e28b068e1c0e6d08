"""A program under a schedule as a C function.

    void gemm(long M, long N, long K, long A_1, long B_1, long C_1,
              const double A[][A_1], const double B[][B_1], double C[][C_1])

Arrays are C's own arrays of variable length: `A_1` is the length of a row of A in memory, so that a part of a larger
array will do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from polyvolta.sched.emit.c.bodies import ONE, OTHER, TWO, Translator
from polyvolta.sched.emit.c.loads import LoadsFirst
from polyvolta.sched.emit.interface import Interface
from polyvolta.sched.emit.rename import cleared
from polyvolta.sched.loops.notation.c import CPrinter
from polyvolta.sched.loops.notation.names import KEYWORDS, spelled, variables
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.tree import Path
from polyvolta.sched.wishes import Wish

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

TYPES = ("double", "float", "long", "int")
"""The types of elements and scalars."""

WORDS = (
    *KEYWORDS,
    "NAN",
    "INFINITY",
    *(f"{n}{single}" for n in {*ONE, *OTHER.values(), *TWO.values()} for single in ("", "f")),
)

# other functions of the library, beside which a function of that name cannot stand
LIBRARY = tuple(
    f"{n}{kind}"
    for n in "gamma lgamma tgamma j0 j1 jn y0 y1 yn signgam abs labs div rint lrint llrint round lround llround "
    "nearbyint frexp ldexp modf logb ilogb scalb scalbn scalbln significand drem remainder remquo nan nextafter "
    "nexttoward fdim fmax fmin fma finite isinf isnan isfinite isnormal signbit fpclassify pow10 exp10 sincos".split()
    for kind in ("", "f", "l")
)


def function(
    program: Program,
    scan: Scan,
    integer: str,
    real: str | Mapping[str, str],
    parallel: str | None,
    wishes: Mapping[Path, Wish] | None = None,
    restrict: bool = False,
    align: int | None = None,
    strong: Collection[str] = (),
) -> tuple[list[str], set[str]]:
    """The lines of a C function, and the macros that it uses; see `polyvolta.sched.to_c` and `Translator`."""
    face = Interface.of(program)
    mine = [*face.names, *lengths(face).values()]
    names = spelled(mine, WORDS)
    scan = cleared(scan, {*mine, *names.values(), *WORDS})
    types = _types(face, real)
    translator = Translator(program, face, types, names, strong)
    printer = CPrinter(scan.ranges, integer, parallel == "openmp", translator.lines, names, wishes)
    own = identifier(face.function)
    if restrict:
        taken = (*mine, *names.values(), *WORDS, *variables(scan.body), *scan.extents)
        printer.together = LoadsFirst(translator, taken).lines
    printer.out += signature(face, types, integer, own, names, restrict)
    if align:
        aligned = [names.get(a, a) for a in face.arguments if a in face.ranks or a in face.cells]
        printer.out += [f"  {a} = __builtin_assume_aligned({a}, {align});" for a in aligned]
    printer.out += [f"  {types[x]} {names.get(x, x)} = 0;" for x in face.local]
    pad = "  "
    for index, size in scan.extents.items():
        head = f"for ({integer} {index} = 0; {index} < {printer.text(size)}; {index} += 1)"
        printer.out.append(f"{pad}{head} {{")
        pad += "  "
    printer.block(scan.body, pad)
    printer.out += [f"{'  ' * (k + 1)}}}" for k in reversed(range(len(scan.extents)))]
    printer.out.append("}")
    return printer.out, printer.used | translator.used


def _types(face: Interface, real: str | Mapping[str, str]) -> dict[str, str]:
    """The C type of each array and scalar."""
    numbers = (*face.ranks, *face.cells, *face.scalars)
    if isinstance(real, str):
        return dict.fromkeys((*numbers, *face.local), real)
    found = {n: real.get(n, "double") for n in numbers}
    elements = {found[n] for n in (*face.ranks, *face.cells)} & {"float", "double"}
    return {**dict.fromkeys(face.local, "float" if elements == {"float"} else "double"), **found}


def signature(
    face: Interface,
    types: Mapping[str, str],
    integer: str,
    own: str,
    names: Mapping[str, str],
    restrict: bool = False,
) -> list[str]:
    """The head of the function, wrapped at 100 characters."""
    alone = "[restrict]" if restrict else "[]"
    named = lambda n: names.get(n, n)  # noqa: E731
    length = lengths(face)
    parts = [f"{integer} {named(p)}" for p in face.params]
    parts += [f"{integer} {named(n)}" for n in length.values()]
    for a in face.arguments:
        const = "" if a in face.written else "const "
        if a in face.ranks:
            inner = "".join(f"[{named(length[a, k])}]" for k in range(1, face.ranks[a]))
            parts.append(f"{const}{types[a]} {named(a)}{alone}{inner}")
        elif a in face.cells:
            parts.append(f"{types[a]} {named(a)}{alone}")
        elif a in face.scalars:
            parts.append(f"{types[a]} {named(a)}")
    lines = [f"void {own}("]
    for k, part in enumerate(parts):
        text = part + (", " if k + 1 < len(parts) else ")")
        if len(lines[-1]) + len(text) > 100 and not lines[-1].endswith("("):
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * (6 + len(own)))
        lines[-1] += text
    if not parts:
        lines[-1] += "void)"
    return [*lines, "{"]


def lengths(face: Interface) -> dict[tuple[str, int], str]:
    """The names of the lengths of arrays' dimensions but the first: `A_1`, unless that is something else."""
    found: dict[tuple[str, int], str] = {}
    for a, rank in face.ranks.items():
        for k in range(1, rank):
            name = f"{a}_{k}"
            while name in face.names or name in found.values():
                name += "_"
            found[a, k] = name
    return found


def order(face: Interface) -> list[str]:
    """What `signature` takes, by name: parameters, lengths, then arrays and scalars."""
    return [*face.params, *lengths(face).values(), *(a for a in face.arguments if a not in face.params)]


def identifier(name: str) -> str:
    """The name of the C function of a program."""
    return spelled((re.sub(r"\W", "_", name),), (*WORDS, *LIBRARY)).get(name, name)
