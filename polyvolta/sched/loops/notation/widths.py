"""How large the numbers get that loops compute: the type that their variables need.

Every expression is bounded from what is known of names, outside in; what is bounded is each term and each sum on the
way, so that no step of the evaluation leaves the type either. Sizes that are not known count 1: whether a size fits its
type is for the caller to see, that the loops' own constants do is seen here. `execute` knows the sizes, and asks again.
So it is of a size that is known to be up to the end of 64 bits, as pet says of a `long`: that is its type, no size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from polyvolta.sched.errors import BadArgument, NotTranslatable
from polyvolta.sched.loops.ast import AnyOf, Ast, Bound, Call, Condition, Extreme, For, If, within
from polyvolta.sets import Aff, nearest
from polyvolta.sets.values.aff import Atom, Floor
from polyvolta.sets.values.simplify import Range

BITS = {"int": 32, "long": 64, "long long": 64, "int32_t": 32, "int64_t": 64}  # the types of loop variables
SMALL = 2**30  # half of the range of `int`, the other half is left to the sizes


class Loops(Protocol):
    """Loops, and what is known of their names: what `scan` returns (`result.Scan`)."""

    @property
    def body(self) -> Sequence[Ast]: ...

    @property
    def extents(self) -> Mapping[str, Aff]: ...

    @property
    def ranges(self) -> Mapping[str, Range]: ...

    @property
    def params(self) -> Sequence[str] | None: ...

    @property
    def largest(self) -> tuple[int, str] | None: ...

    @property
    def plain(self) -> bool: ...


def integer_type(scan: Loops, wanted: str | None) -> str:
    """The type of loop variables: the one that is wanted, else `int` or, for large constants, `long long`.

    Half of a type's range is left to the sizes.

    Raises
    ------
    BadArgument : it is no signed type of C.
    NotTranslatable : a value does not fit it, or no type of 64 bits.
    """
    if wanted is not None and wanted not in BITS:
        raise BadArgument(
            f"integer={wanted!r} is no signed integer type of C",
            where=", ".join(BITS),
            hint=nearest(str(wanted), list(BITS)),
        )
    most, what = scan.largest or largest(scan)
    if most < SMALL:
        return wanted or "int"
    if most >= 2**62 or BITS.get(wanted or "long long", 64) < 64:
        fits = "64 bits" if most >= 2**62 else f"{wanted}, of 32 bits"
        hint = "to_python and using='python' know no largest integer" if most >= 2**62 else "integer='long long'"
        raise NotTranslatable(f"a value of the loops does not fit {fits}", where=what, hint=hint)
    return wanted or "long long"


def check_sizes(scan: Loops, params: Mapping[str, int]) -> None:
    """Refuse parameters with which a value of the loops may leave 64 bits.

    Raises
    ------
    BadArgument : there is one, whose expression is shown.
    """
    most, what = largest(scan, {p: abs(v) for p, v in params.items()})
    most, what = max((most, what), *((abs(v), p) for p, v in params.items()), (0, ""))
    if most >= 2**63:
        sizes = ", ".join(f"{p}={v}" for p, v in params.items())
        raise BadArgument(
            "a value of the loops may not fit 64 bits",
            where=f"{what}" + (f" with {sizes}" if sizes else ""),
            hint="using='python' knows no largest integer",
        )


def largest(scan: Loops, params: Mapping[str, int] | None = None) -> tuple[int, str]:
    """A bound of the magnitude of whatever the loops compute, and the expression that has it.

    Parameters
    ----------
    params : magnitudes of parameters; those that are not known count 1.

    Cost: linear, a few microseconds a loop.
    """
    walk, known = _Walk(), {**_known(scan), **(params or {})}
    sizes = {n: walk.value(e, known) for n, e in scan.extents.items()}
    walk.block(scan.body, {**known, **sizes})
    return walk.most, str(walk.what)


class _Walk:
    """Remembers the largest of all values, and the expression, or the name of the loop, that has it."""

    def __init__(self) -> None:
        self.most = 0
        self.what: Aff | str = ""

    def seen(self, value: int, e: Aff | str) -> int:
        if value > self.most:
            self.most, self.what = value, e
        return value

    def value(self, e: Aff, known: Mapping[str, int]) -> int:
        """The largest magnitude of an expression, one more for comparisons with `<`."""
        total = abs(e.const) + 1
        for atom, c in e.terms:
            total += abs(c) * (known.get(atom, 1) if isinstance(atom, str) else self.atom(atom, known))
        return self.seen(total, e)

    def atom(self, atom: Atom, known: Mapping[str, int]) -> int:
        if isinstance(atom, Floor):
            return self.seen(self.value(atom.num, known) + 2 * atom.den, atom.num) // atom.den + 1
        return self.value(atom.left, known) + self.value(atom.right, known)  # type: ignore[union-attr]

    def bound(self, b: Bound, known: Mapping[str, int]) -> int:
        if isinstance(b, Aff):
            return self.value(b, known)
        if isinstance(b, Extreme):
            return max([self.bound(t, known) for t in b.terms])
        self.conditions(b.conditions, known)
        return max(self.bound(b.then, known), self.bound(b.other, known))

    def condition(self, c: Condition, known: Mapping[str, int]) -> None:
        if isinstance(c, AnyOf):
            for case in c.alternatives:
                self.conditions(case, known)
        else:
            self.value(c[1], known)

    def conditions(self, some: Iterable[Condition], known: Mapping[str, int]) -> None:
        for c in some:
            self.condition(c, known)

    def block(self, body: Sequence[Ast], known: Mapping[str, int]) -> None:
        for node in body:
            if isinstance(node, Call):
                for e in node.args:
                    self.value(e, known)
            elif isinstance(node, For):
                # between the greatest lower and the least upper bound, and one step beyond; no type holds all
                # values of a loop without an end, and what is asked is where it begins
                ends = [min([self.bound(b, known) for b in bounds]) for bounds in (node.lower, node.upper) if bounds]
                most, v = max(ends), node.var
                if v in known:
                    most = min(most, known[v])
                self.block(node.body, {**known, v: self.seen(most + node.step, v)})
            elif isinstance(node, If):
                self.conditions(node.conditions, known)
                self.block(within(node), known)
            else:
                self.block(node.body, known)


def _known(scan: Loops) -> dict[str, int]:
    """The magnitudes of names with both ends; a size that may be any of 64 bits counts as one that no `int` holds."""
    found = {
        n: max(abs(low), abs(high)) for n, (low, high) in scan.ranges.items() if low is not None and high is not None
    }
    sizes = {*(scan.params or ())}
    return {n: m if m < 2**62 else 2**30 for n, m in found.items() if m < 2**62 or n in sizes}
