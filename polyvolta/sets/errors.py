"""The root of every error that polyvolta raises on user input.

An error says four things: a stable `id` to search for, what was wrong, where (a text or a tree with the
culprit marked) and what to try instead. This module stands on the lowest floor so that every floor above can
raise the same family; `polyvolta.PolyvoltaError` is this class.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from polyvolta.display.shown import Shown


class PolyvoltaError(Shown, Exception):
    """Base class of all polyvolta errors.

    Parameters
    ----------
    message : what was wrong, in one sentence.
    where : the text, tree or signature in question, with the culprit marked; may span lines.
    hint : what to try instead.
    """

    id = "PV000"

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        self.message, self.where, self.hint = message, where, hint
        super().__init__(message, where, hint)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles keep what the keywords of `__init__` and of subclasses set."""
        return _restored, (type(self), self.args), self.__dict__

    def __str__(self) -> str:
        lines = [f"[{self.id}] {self.message}"]
        if self.where:
            lines += ["  " + _shortened(line) for line in self.where.splitlines()]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        from polyvolta.display.text import for_terminal  # what only a text of an error needs costs no program time

        return for_terminal("\n".join(lines))

    def _html(self) -> str:
        from polyvolta.display.page import block, code, said, words

        head = f"<p>{words(type(self).__name__, 'bad')} {code(self.id)} {words(self.message, '')}</p>"
        hint = f"hint: {self.hint}" if self.hint else ""
        return head + (block(self.where, boxed=True) if self.where else "") + said(hint)


LONGEST = 1000
"""Characters of a line of what an error is about, a set of hundreds of pieces, say; `where` has all of it."""


def _shortened(line: str) -> str:
    """The line, of a longer one its beginning, and how much follows.

    >>> _shortened("ab" * 600)[-40:]
    'abababababababab ... 200 characters more'
    """
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} ... {len(line) - LONGEST} characters more"


def _restored(kind: type[PolyvoltaError], args: tuple[str, ...]) -> PolyvoltaError:
    """An error without its attributes, which unpickling then sets."""
    return kind.__new__(kind, *args)


class SetSyntaxError(PolyvoltaError):
    """The text is not in isl's notation; shows the line with a caret.

    >>> from polyvolta.sets import Set
    >>> Set("{ [row] : 0 <= rwo < 4 }")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SetSyntaxError: [PV101] unknown name 'rwo'
      { [row] : 0 <= rwo < 4 }
                     ^
    hint: did you mean 'row'?
    """

    id = "PV101"
    at = 0  # the position in the text


class SpaceMismatch(PolyvoltaError):
    """Two operands, or an operand and an operation, want different spaces.

    >>> from polyvolta.sets import Map, Set
    >>> Set("{ A[i] }").apply(Map("{ B[i] -> C[i] }"))
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] no tuple of the set is in the map's domain
      set: A[i]
      map: B[i] -> C[i']
    hint: only the tuples' names differ: the set's .rename('B')
    """

    id = "PV102"


class UnknownName(PolyvoltaError, LookupError):
    """No dimension, tuple or parameter of that name; suggests the nearest.

    >>> from polyvolta.sets import Set
    >>> Set("{ A[row, col] }").project_out("rows")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.UnknownName: [PV103] no dimension is called 'rows'
      A[row, col]
    hint: did you mean 'row'?
    """

    id = "PV103"


class Unbounded(PolyvoltaError):
    """An enumeration, a count or an optimum was asked of a set that has none.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i] : 0 <= i < N }").count()
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.Unbounded: [PV104] the parameter N has no value
      [N] -> { [i] : 0 <= i < N }
    hint: give one: N=...
    """

    id = "PV104"


class NotAFunction(PolyvoltaError):
    """A relation that relates one input to several outputs stood where a function is needed.

    >>> from polyvolta.sets import Map
    >>> Map("{ [i] -> [j] : 0 <= j < i }").as_affs()
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NotAFunction: [PV105] some input has several outputs
      { [i] -> [j] : 0 <= j < i }
    hint: use lexmin() to choose one output
    """

    id = "PV105"


class BudgetExceeded(PolyvoltaError):
    """An operation that can be exponential used up its step budget.

    >>> from polyvolta.sets import Set
    >>> dims = [f"i{k}" for k in range(13)]
    >>> Set(f"{{ [{', '.join(dims)}] : {' and '.join(f'{d} != 0' for d in dims)} }}")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.BudgetExceeded: [PV106] the formula has more than 4096 alternatives
    hint: split it, or intersect with one part at a time
    """

    id = "PV106"


class NotAffine(PolyvoltaError, ValueError):
    """An operation would leave the quasi-affine expressions.

    >>> from polyvolta.sets import var
    >>> var("i") // 0
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NotAffine: [PV107] a divisor must be a positive number, not 0
      floor((i)/0)
    """

    id = "PV107"


class NotSupported(PolyvoltaError):
    """An operation that has an answer, but not by the method at hand; says which part of the operand stops it.

    >>> from polyvolta.sets import Set
    >>> Set("[N] -> { [i, j] : 0 <= 1009i <= 2003j + N and 0 <= j <= N }").cardinality()
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NotSupported: [PV108] the number of points does not decompose into boxes and simplices
      N - 1009*i + 2003*j >= 0 needs 1009 residues of j
    hint: give the parameters numbers and use count(), or count a simpler superset
    """

    id = "PV108"


class EmptySet(PolyvoltaError, ValueError):
    """A point or an optimum was asked of a set that has no points.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i] : 3 <= i < 3 }").min("i")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.EmptySet: [PV109] the set has no point
      { [i] : false }
    hint: ask is_empty() first
    """

    id = "PV109"


class OutsideDomain(PolyvoltaError, ValueError):
    """A function was asked for its value at a point where it has none.

    >>> from polyvolta.sets import PwAff
    >>> PwAff("{ [i] -> [i - 1] : i >= 1 }")(i=0)
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.OutsideDomain: [PV110] the function has no value there
      i=0
      { [i] -> [(i - 1)] : i >= 1 }
    hint: see domain()
    """

    id = "PV110"


class NotPlottable(PolyvoltaError):
    """There is no picture of this: too many dimensions, or matplotlib is missing.

    >>> from polyvolta.sets import Set
    >>> Set("{ [i, j, k] : 0 <= i, j, k < 4 }").plot()
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NotPlottable: [PV120] only sets of one or two dimensions can be drawn
      [i, j, k]
    hint: fix or project out the others
    """

    id = "PV120"


def kind_of(value: object) -> str:
    """What a value is, for a message.

    >>> kind_of(3), kind_of(None), kind_of(Exception)
    ('an int', 'None', 'the class Exception')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return one(SHOWN.get(type(value).__name__, type(value).__name__))


SHOWN = {
    "MultiFunction": "MultiPwAff", "Number": "Val", "RationalAff": "Aff", "RationalMultiAff": "MultiAff",
    "RationalPwAff": "PwAff", "UnionFractions": "UnionPwMultiAff", "UnionMembers": "MultiUnionPwAff",
}  # fmt: skip
"""What errors call classes that users know by the name of another one, of which their values are instances."""


def one(name: str) -> str:
    """A name behind its article.

    >>> one("Set"), one("Aff")
    ('a Set', 'an Aff')
    """
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


class NoSpace(SpaceMismatch, AttributeError):
    """A union of isl's has several tuples, or none, and so no attribute `space`.

    >>> from polyvolta.isl import UnionSet
    >>> hasattr(UnionSet("{ A[i] }"), "space"), hasattr(UnionSet("{ A[i]; B[] }"), "space")
    (True, False)
    >>> UnionSet("{ A[i]; B[] }").space
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.NoSpace: [PV111] this operation needs a single space
      A[i]; B[]
    hint: pick one with .only(name)
    """

    id = "PV111"


def need_function(f: object, arguments: str = "one argument") -> None:
    """Refuse, where a function is to be called with each of some things, what is none.

    Raises
    ------
    SpaceMismatch

    >>> need_function(print)
    >>> need_function(3)
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] a function is called with each, and an int is none
    hint: one of one argument, such as print
    """
    if not callable(f):
        raise SpaceMismatch(f"a function is called with each, and {kind_of(f)} is none",
                            hint=f"one of {arguments}, such as print")  # fmt: skip


def no_name(package: str, name: str, here: str) -> AttributeError | ImportError:
    """The error of a package's `__getattr__` that it has no such name; `here` is what it says besides, or "".

    `from package import name` asks for the name, then for a module, and ends in an error of Python's own, whatever the
    first answer was. Where there is something to say, and no such module, the answer is this error.
    """
    from importlib.util import find_spec

    asks = sys._getframe(2)  # what asked `__getattr__`
    if here and asks.f_code.co_name == "_handle_fromlist" and find_spec(f"{package}.{name}") is None:
        return ImportError(f"cannot import name {name!r} from {package!r}{here}", name=package)
    obj = None if here else sys.modules[package]  # of which Python would suggest a name beside ours
    return AttributeError(f"module {package!r} has no attribute {name!r}{here}", name=name, obj=obj)


NEAR = 0.61  # of the letters of both names, how many are the same in order; short names share three of five by chance


LISTED = 12  # of the names that are known, in a hint


def alike(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Those of some names that look most like this one, the likest first; `cutoff` is the least likeness, of 1."""
    from difflib import get_close_matches

    return get_close_matches(name, list(known), cutoff=cutoff)


def nearest(name: str, known: Iterable[str], most: int = LISTED) -> str:
    """A hint that names the known name nearest to `name`, or lists what is known, at most so many, if none is near.

    >>> nearest("lexmn", ["lexmin", "apply"])
    "did you mean 'lexmin'?"
    >>> nearest("nope", ["copies", "bounds"])
    'known: copies, bounds'
    >>> nearest("nope", (f"x{n}" for n in range(15)))
    'known: x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 3 more'
    >>> nearest("banks", ["bank_conflicts", "bounds"])
    "did you mean 'bank_conflicts'?"
    """
    known = list(dict.fromkeys(str(k) for k in known))
    same = [k for k in known if k.lower() == str(name).lower()]
    close = same or alike(str(name), known, NEAR) or _longer(str(name), known)
    if close:
        return f"did you mean {close[0]!r}?"
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return "known: " + ", ".join(known[:most]) + more if known else ""


def _longer(name: str, known: list[str]) -> list[str]:
    """The one name of which another one, or its singular, is the first word; none where several begin so."""
    firsts = {name.lower(), name.lower().removesuffix("s")}
    found = [k for k in known if "_" in k and k.lower().partition("_")[0] in firsts]
    return found if len(found) == 1 else []
