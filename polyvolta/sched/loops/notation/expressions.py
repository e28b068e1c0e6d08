"""Quasi-affine expressions and conditions in the syntax of C and of Python.

Both languages write sums alike, so one class does it; a language says how it divides. C's `/` and `%` round toward
zero, so they stand for a floor only where the dividend cannot be negative. What is known of signs comes from the ranges
of names; where it does not suffice, C gets a macro `floord`, and a kernel for the GPU, which has no use for slow
divisions, an error. Python's `//` and `%` are floors.

Three rewritings avoid the question: the ceiling `-floor(-x/4)` is `(x + 3)/4`, a comparison is written with positive
terms on both sides, and where the steps of the loops around leave one remainder r, floor(x/4) is the exact `(x - r)/4`,
which rounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from polyvolta.sched.loops.ast import AnyOf, Bound, Choice, Condition, Extreme, For
from polyvolta.sets import Aff, var
from polyvolta.sets.values.aff import Atom, Floor, Xor
from polyvolta.sets.values.digits import Part, mod_parts
from polyvolta.sets.values.simplify import Range, interval

Term = tuple[str, int]
UNKNOWN: Range = (None, None)
MANY = 4  # arguments of min and max beyond which there are two halves


def summed(terms: Sequence[tuple[Atom, int]], const: int, text: str = "") -> str | None:
    """A sum of names as text, a positive one first, behind another sum; None where no term is, or one is no name.

    >>> summed((("c0", -128), ("n", 1)), 3), summed((("c0", -1),), 3), summed((), 3)
    ('n - 128 * c0 + 3', None, '3')
    """
    for name, c in terms:
        if type(name) is not str:
            return None
        if not text:
            if c < 0:
                first = next((t for t in terms if t[1] > 0), None)
                return first and summed((first, *[t for t in terms if t is not first]), const)
            text = name if c == 1 else f"{c} * {name}"
        elif c > 0:
            text = f"{text} + {name}" if c == 1 else f"{text} + {c} * {name}"
        else:
            text = f"{text} - {name}" if c == -1 else f"{text} - {-c} * {name}"
    if not const:
        return text or "0"
    if not text:
        return f"{const}"
    return f"{text} + {const}" if const > 0 else f"{text} - {-const}"


class Speller:
    """Writes expressions; a subclass is a language.

    Parameters
    ----------
    ranges : what is known of the values of names, bounds inclusive.
    names : how names are spelled that the language cannot say, or that mean something else in it.
    """

    land, lor, equal = " && ", " || ", "=="
    loose_minus = False  # whether -x / 4 is (-x) / 4 and something else than -(x / 4)

    def __init__(self, ranges: Mapping[str, Range], names: Mapping[str, str] | None = None) -> None:
        self.ranges, self.names = ranges, names or {}
        self.scope: dict[str, For] = {}  # the loops around; a comparison prefers their variables on its left

    # ---- sums

    def text(self, e: Aff, more: int = 0) -> str:
        """The text of an expression, plus a number."""
        terms, const = e.terms, e.const + more
        if terms and (type(terms[-1][0]) is not str or self.names):  # names come first, and stand for themselves
            if len(terms) == 1:
                atom, c = terms[0]
                if c == 1 and not const and type(atom) is Floor:  # as `_term` does it, without its questions
                    for _, k in atom.num.terms:
                        if k < 0:
                            break
                    else:
                        return self.quotient(atom.num, atom.den)[0]
                if c == 1 and const < 0 and type(atom) is Floor and atom.num.const:
                    less = atom.num + const * atom.den
                    if self.divides(less, atom.den, const == -1):
                        return self.quotient(less, atom.den)[0]
                alone = self._term(atom, c)
                return alone[0] if alone[1] == 1 and not const else self.sum((alone,), const)
            terms, const = self.terms(e)  # type: ignore[assignment]
            const += more
        return self.sum(terms, const)  # type: ignore[arg-type]

    def sum(self, terms: Sequence[Term], const: int) -> str:
        """A sum as text: a positive term first, coefficients before their factors, the constant last."""
        text = summed(terms, const)
        if text is not None:
            return text
        (body, c), *others = terms
        factor = f"({body})" if self.loose_minus and " " in body else body
        return summed(others, const, f"-{factor}" if c == -1 else f"{c} * {body}") or ""

    def terms(self, e: Aff) -> tuple[Sequence[Term], int]:
        """The texts of what an expression is a sum of, with their coefficients, and its constant."""
        if not e.terms or type(e.terms[-1][0]) is str:  # names come first
            if not self.names:
                return e.terms, e.const  # type: ignore[return-value]
            return [(self.names.get(a, a), c) for a, c in e.terms], e.const  # type: ignore[arg-type, call-overload]
        if len(e.terms) == 1:
            return [self._term(*e.terms[0])], e.const
        terms: list[Term] = []
        const = 0
        for c, num, den, rest in self.parts(e):
            if den is None:
                terms += [self._term(a, k) for a, k in rest.terms]
                const = rest.const
            else:
                text = self.remainder(num, den)
                terms.append((text if abs(c) == 1 else f"({text})", c))
        return terms, const

    def parts(self, e: Aff) -> list[Part]:
        """A rest and remainders."""
        return mod_parts(e)

    def _term(self, atom: Atom, c: int) -> Term:
        """An atom as it stands behind its coefficient: a quotient needs parentheses unless that is 1."""
        if isinstance(atom, Floor):
            num, den = atom.num, atom.den
            for _, k in num.terms:
                if k < 0:
                    if self.turns(num, den) or c < 0 and self.mixed(num):
                        num, c = den - 1 - num, -c
                    break
            text, closed = self.quotient(num, den)
            return (text if closed or -2 < c < 2 else f"({text})"), c
        if isinstance(atom, Xor):
            return f"({self.text(atom.left)} ^ {self.text(atom.right)})", c
        return self.names.get(atom, atom), c

    def operand(self, num: Aff) -> str:
        """What stands before a division sign."""
        text = self.text(num)
        return text if not num.const and len(num.terms) == 1 and num.terms[0][1] == 1 else f"({text})"

    # ---- what languages differ in

    def turns(self, num: Aff, den: int) -> bool:
        """Whether floor(num/den), with a negative term, is better written as -floor((den - 1 - num)/den)."""
        return all(c < 0 for _, c in num.terms)

    def mixed(self, num: Aff) -> bool:
        """Whether -floor(num/den) is better written as floor((den - 1 - num)/den)."""
        return len({c > 0 for _, c in num.terms}) == 2

    def divides(self, num: Aff, den: int, once: bool) -> bool:
        """Whether a quotient of a sum may stand for that of a greater one less a number, `once` if that is 1.

        `(c0 - 1) / 2` is `(c0 + 1) / 2 - 1` in fewer words.
        """
        return True

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        """floor(num / den), and whether the text needs no parentheses as a factor."""
        raise NotImplementedError

    def remainder(self, num: Aff, den: int) -> str:
        """num mod den."""
        raise NotImplementedError

    def divisible(self, e: Aff) -> str | None:
        """`num % den == 0` for num - den*floor(num/den) = 0, which is right whatever the sign is; constants small."""
        parts = mod_parts(e)
        _, num, den, _ = parts[0] if len(parts) == 1 else (0, e, None, e)
        if den is None:
            return None
        if 2 * num.const > den and self.as_good(num, num - den):
            num = num - den
        return self.multiple(num, den)

    def multiple(self, num: Aff, den: int) -> str:
        """That a number divides an expression."""
        return f"{self.operand(num)} % {den} == 0"

    def as_good(self, num: Aff, other: Aff) -> bool:
        """Whether a sum may stand for another one before `%`."""
        return True

    def extreme(self, kind: str, texts: Sequence[str]) -> str:
        """The least or the greatest of two values or more."""
        raise NotImplementedError

    def choice(self, condition: str, then: str, other: str) -> str:
        """One value where a condition holds, another elsewhere; in parentheses."""
        raise NotImplementedError

    # ---- bounds and conditions

    def bound(self, b: Bound, more: int = 0) -> str:
        """A bound of a loop, plus a number."""
        if isinstance(b, Aff):
            return self.text(b, more)
        if isinstance(b, Choice):
            return self.choice(self.conditions(b.conditions), self.bound(b.then, more), self.bound(b.other, more))
        return self.bounds(b.kind, b.terms, more)

    def bounds(self, kind: str, bounds: Sequence[Bound], more: int = 0) -> str:
        """The least or the greatest of some bounds, plus a number; numbers stand first."""
        if len(bounds) == 1 and type(bounds[0]) is Aff:
            return self.text(bounds[0], more)
        best, texts = None, []
        for b in bounds:
            if type(b) is not Aff:
                texts.append(self.bound(b, more))
            elif b.terms:
                texts.append(self.text(b, more))
            elif best is None or (b.const < best if kind == "min" else b.const > best):
                best = b.const
        if best is not None:
            texts.insert(0, f"{best + more}")
        return texts[0] if len(texts) == 1 else self.extreme(kind, texts)

    def condition(self, condition: Condition, alone: bool = True) -> str:
        """A condition; in parentheses where it is one of several and needs them."""
        if isinstance(condition, AnyOf):
            cases = [self.conditions(case, len(condition.alternatives) == 1) for case in condition.alternatives]
            text = self.lor.join(cases)
            return text if alone or len(cases) == 1 else f"({text})"
        kind, e = condition
        if kind == "eq" and (divided := self.divisible(e)) is not None:
            return divided
        terms, const = self.terms(e)
        more = [t for t in terms if t[1] > 0]
        less = [(t, -c) for t, c in terms if c < 0]
        if not more or not less:
            value = const if not more else -const
            op = self.equal if kind == "eq" else "<=" if not more else ">="
            return f"{self.sum(more or less, 0)} {op} {value}"
        if kind == "eq":
            if self._inner(less) and not self._inner(more):
                more, less, const = less, more, -const
            return f"{self.sum(more, max(const, 0))} == {self.sum(less, max(-const, 0))}"
        return self.ordered(more, less, const)

    def ordered(self, more: Sequence[Term], less: Sequence[Term], const: int) -> str:
        """That one sum plus a number is at least another one; loop variables stand on the left."""
        if self._inner(more) and not self._inner(less):
            if const == -1:
                return f"{self.sum(more, 0)} > {self.sum(less, 0)}"
            return f"{self.sum(more, max(const, 0))} >= {self.sum(less, max(-const, 0))}"
        if const == -1:
            return f"{self.sum(less, 0)} < {self.sum(more, 0)}"
        return f"{self.sum(less, max(-const, 0))} <= {self.sum(more, max(const, 0))}"

    def conditions(self, conditions: Sequence[Condition], alone: bool = True) -> str:
        """All of some conditions."""
        if len(conditions) == 1:
            return self.condition(conditions[0], alone)
        text = self.land.join(self.condition(c, False) for c in conditions)
        return text if alone else f"({text})"

    def _inner(self, terms: Sequence[Term]) -> bool:
        """Whether a sum speaks of a loop variable."""
        return any(t in self.scope or not t.isidentifier() for t, _ in terms)


class CSpeller(Speller):
    """C: `/` and `%` where the dividend is not negative, macros elsewhere; `used` tells which macros."""

    given: tuple[Condition, ...] = ()  # the conditions around

    def __init__(self, ranges: Mapping[str, Range], names: Mapping[str, str] | None = None) -> None:
        self.ranges, self.names, self.scope = ranges, names or {}, {}
        self.used: set[str] = set()

    @contextmanager
    def assuming(self, conditions: Sequence[Condition]) -> Iterator[None]:
        """What conditions say, of single names above all, while what they guard is written."""
        outer, before = self.ranges, self.given
        self.given = (*before, *conditions)
        inner = dict(outer)
        for c in conditions:
            if isinstance(c, AnyOf) or len(c[1].terms) != 1:
                continue
            kind, e = c
            ((atom, v),) = e.terms
            if isinstance(atom, str) and v in (1, -1):
                low, high = inner.get(atom, UNKNOWN)
                end = -v * e.const
                if v == 1 or kind == "eq":
                    low = end if low is None else max(low, end)
                if v == -1 or kind == "eq":
                    high = end if high is None else min(high, end)
                inner[atom] = low, high
        self.ranges = inner
        yield
        self.ranges, self.given = outer, before

    def unsigned(self, num: Aff) -> bool:
        """Whether an expression is known not to be negative."""
        ranges, terms, total = self.ranges, num.terms, num.const
        for atom, c in terms:
            end = ranges.get(atom, UNKNOWN)[c < 0]  # type: ignore[call-overload]
            if end is None:
                break
            total += c * end
        else:
            return total >= 0
        low = None
        if terms and type(terms[-1][0]) is not str:  # names come first: there are floors, and remainders of names
            low = interval(num, ranges)[0]
        if low is None and self.scope and not num.names().isdisjoint(self.scope):
            low = interval(num, self._closer())[0]
        return low is not None and low >= 0

    def _closer(self) -> dict[str, Range]:
        """The ranges that follow from the bounds of the loops around, outermost first."""
        ranges = dict(self.ranges)
        for v, loop in self.scope.items():
            lows = [value for b in loop.lower if (value := _end(b, 0, ranges)) is not None]
            highs = [value for b in loop.upper if (value := _end(b, 1, ranges)) is not None]
            ranges[v] = (max(lows, default=None), min(highs, default=None))
        return ranges

    def remains(self, num: Aff, den: int) -> int | None:
        """The remainder of a division, where the steps of the loops around leave one.

        A loop variable is congruent to the bound it starts from.
        """
        loops = list(self.scope.values())
        todo, found = [(num, len(loops))], set()
        while todo:
            num, inner = todo.pop()
            left = {a: c for a, c in num.terms if c % den}
            at = next((k for k in range(inner - 1, -1, -1) if loops[k].var in left), None)
            if not left:
                found.add(num.const % den)
            elif at is None or left[loops[at].var] * loops[at].step % den or len(found) > 1:
                return None
            else:
                v, c = loops[at].var, left[loops[at].var]
                todo += [(num + c * (start - var(v)), at) for start in _leaves(loops[at].lower)]
        return found.pop() if len(found) == 1 else None

    def turns(self, num: Aff, den: int) -> bool:
        return not self.unsigned(num) and (super().turns(num, den) or self.unsigned(den - 1 - num))

    def mixed(self, num: Aff) -> bool:
        return super().mixed(num) and not self.unsigned(num)

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        if self.unsigned(num):
            text = self.text(num)
            alone = not num.const and len(num.terms) == 1 and num.terms[0][1] == 1
            return f"{text} / {den}" if alone else f"({text}) / {den}", False
        rest = self.remains(num, den) if self.scope else None
        if rest is not None:
            return f"{self.operand(num - rest)} / {den}", False
        self.used.add("floord")
        return f"floord({self.text(num)}, {den})", True

    def divides(self, num: Aff, den: int, once: bool) -> bool:
        """So it is where C's division is exact: no sum is beyond what widths are for (`widths`)."""
        return self.unsigned(num) or (once and bool(self.scope) and self.remains(num, den) is not None)

    def as_good(self, num: Aff, other: Aff) -> bool:
        return self.unsigned(other) or not self.unsigned(num)  # names of the machine may be unsigned: no sum below 0

    def remainder(self, num: Aff, den: int) -> str:
        if self.unsigned(num):
            return f"{self.operand(num)} % {den}"
        rest = self.remains(num, den) if self.scope else None
        if rest is not None:
            return str(rest)
        self.used.add("modd")
        return f"modd({self.text(num)}, {den})"

    def extreme(self, kind: str, texts: Sequence[str]) -> str:
        """Of many two halves: the macros write each argument twice, n of them in one another 2^n times."""
        self.used.add(kind)
        if len(texts) == 2:
            return f"{kind}({texts[0]}, {texts[1]})"
        if len(texts) > MANY:
            half = (len(texts) + 1) // 2
            return self.extreme(kind, [self.extreme(kind, some) for some in (texts[:half], texts[half:])])
        whole = texts[-1]
        for text in texts[-2::-1]:
            whole = f"{kind}({text}, {whole})"
        return whole

    def choice(self, condition: str, then: str, other: str) -> str:
        return f"({condition} ? {then} : {other})"


def _leaves(bounds: Sequence[Bound]) -> Iterator[Aff]:
    """The expressions of which bounds are extremes."""
    for b in bounds:
        match b:
            case Aff():
                yield b
            case Extreme(_, terms):
                yield from _leaves(terms)
            case Choice(_, then, other):
                yield from _leaves((then, other))


def _end(b: Bound, which: int, ranges: Mapping[str, Range]) -> int | None:
    """The least (0) or greatest (1) value of a bound, None where there is none."""
    if isinstance(b, Aff):
        return interval(b, ranges)[which]
    if isinstance(b, Choice):
        b = Extreme("max" if which else "min", (b.then, b.other))
    ends = [_end(t, which, ranges) for t in b.terms]
    best = min if b.kind == "min" else max
    if (b.kind == "min") == (which == 0):  # the least of a minimum needs all, the greatest any
        return None if None in ends else best(e for e in ends if e is not None)
    return best((e for e in ends if e is not None), default=None)


class PythonSpeller(Speller):
    """Python, whose division rounds down."""

    land, lor = " and ", " or "
    loose_minus = True

    def quotient(self, num: Aff, den: int) -> tuple[str, bool]:
        return f"{self.operand(num)} // {den}", False

    def remainder(self, num: Aff, den: int) -> str:
        return f"{self.operand(num)} % {den}"

    def extreme(self, kind: str, texts: Sequence[str]) -> str:
        return f"{kind}({', '.join(texts)})"

    def choice(self, condition: str, then: str, other: str) -> str:
        return f"({then} if {condition} else {other})"
