"""Step budgets: what may be exponential ends with an answer or with `BudgetExceeded`, and never hangs.

Integer programming is hard, and a formula of a few lines can have thousands of alternatives, so no bound on time
follows from the size of an input. Instead every loop that can run away *spends* steps: pivots by the size of the
tableau and of its numbers, search nodes, normalisations by the size of the conjunct, pairs of rows in an
elimination. A step is some twenty microseconds of work, so a budget is a limit of time that does not depend on the
machine: the same operation on the same operands always ends in the same place, whatever was asked before.

One public operation has one budget, and what it calls shares it. `metered` and `metered_class` open it, where none
is open, and `spend` draws on it wherever it was opened: a context variable carries it, so that no signature needs
to. `with budget(steps)` sets the limit for all operations of a block together.

Results are memoised only when they are complete (`remembered`), and with the steps that they took: an operation pays
for each of them once, also where it was found before. Searches of few steps, inside it, then get as far in a process
that has done much as in a new one, and what they find is the same. An operation that gave up has parts of it finished
for one with a larger budget, which has to pay for them and takes less time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from inspect import isfunction, isgeneratorfunction
from math import inf
from typing import Any, TypeVar, cast

from .errors import BudgetExceeded, SpaceMismatch

DEFAULT = 400_000  # steps of one public operation, a few seconds
ENDLESS = 1 << 62  # steps of a budget without a limit, which are counted all the same

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)
T = TypeVar("T")


class _Budget:
    """Steps left, and the outermost operation that spends them; class attributes say what a new one has.

    `paid` are the bills of memoised values that the operation has paid, or the value that it is memoising. `bought` is
    what they took, `parts` are the bills of those that such a value asked for itself. A budget inside goes on with
    these.
    """

    steps: int = DEFAULT
    left: int = DEFAULT
    paid: dict[_Bill, _Bill] | None = None
    parts: list[_Bill] | None = None
    bought: int = 0
    operation: str = ""
    operands: tuple = ()


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(steps: int | None) -> Iterator[None]:
    """All operations of the block together may spend so many steps; None for no limit.

    A step is some twenty microseconds of work; without this, each operation may spend 400,000. Of nested blocks the
    inner one draws on the outer one too.

    Raises
    ------
    BudgetExceeded : by the operation that spends the last step; it names that operation and the sizes of its operands.
    SpaceMismatch : the number of steps is no integer, or negative.

    >>> from polyvolta.sets import Set, budget
    >>> needle = Set("{ [x, y] : 0 <= y and -399999y + 400000x >= 100000 and -400000x + 399998y + 300000 >= 0 }")
    >>> with budget(3):
    ...     needle.sample()
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.BudgetExceeded: [PV106] sample of 1 piece (3 rows, 2 columns) used up its budget of 3 steps
    hint: simplify the set first, or allow more: with budget(30): ...
    >>> with budget(1000):
    ...     print(needle.sample())
    { [100000, 100000] }
    """
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 0):
        raise SpaceMismatch(f"a budget is a whole number of steps, not {steps!r}", hint="None is no limit")
    outer = _current.get()
    own = _Budget()
    own.steps = own.left = min(ENDLESS if steps is None else steps, ENDLESS if outer is None else outer.left)
    if outer is not None:
        own.operation, own.operands = outer.operation, outer.operands
        if outer.paid is None:
            outer.paid = {}
        own.paid, own.parts, own.bought = outer.paid, outer.parts, outer.bought
    token = _current.set(own)
    try:
        yield
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= own.steps - max(own.left, -1 if own.steps == outer.left else 0)
            outer.bought = own.bought


def spend(steps: int = 1) -> None:
    """Use up steps of the operation in progress, if any; O(1).

    Raises
    ------
    BudgetExceeded : none are left.
    """
    current = _current.get()
    if current is not None:
        current.left -= steps
        if current.left < 0:
            what = (current.operation or "a block") + _sizes(current.operands)
            raise BudgetExceeded(
                f"{what} used up its budget of {current.steps} steps",
                hint=f"simplify the set first, or allow more: with budget({10 * max(1, current.steps)}): ...",
            )


def left() -> float:
    """How many steps the operation in progress may still spend; infinitely many where there is no limit."""
    current = _current.get()
    return inf if current is None or current.left > ENDLESS // 2 else current.left


def spent() -> int:
    """A number that grows as the operation in progress spends steps, by as many; 0 where there is none."""
    current = _current.get()
    return 0 if current is None else -current.left


def bounded(steps: int, f: Callable[..., T], *args: Any) -> T:
    """A function's value, found within so many of the steps that are left.

    As a block of `budget(steps)`, in a fraction of its time.

    Raises
    ------
    BudgetExceeded : it needs more. Where the budget around it has none left either, the next `spend` says so.
    """
    current = _current.get()
    if current is None:
        with budget(steps):
            return f(*args)
    aside = max(0, current.left - steps)
    current.left -= aside
    try:
        return f(*args)
    finally:  # what the last step is too many for depends on what was remembered
        current.left = aside + current.left if current.left >= 0 else aside or -1


class _Bill:
    """What finding a value took: all steps, those that no value it asked for took, and the bills of these.

    Two of one call are equal: a value that was dropped is found again with another bill, and is paid for once.
    """

    __slots__ = ("_hash", "call", "own", "parts", "steps")
    steps: int
    own: int
    parts: list[_Bill]

    def __init__(self, *call: Any) -> None:
        self.call, self._hash = call, hash(call)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Bill) and self._hash == other._hash and self.call == other.call)

    def due(self, paid: dict[_Bill, _Bill]) -> int:
        """The steps of it that are not paid yet, which they are now."""
        total = 0
        parts: list[_Bill] = [self]
        while parts:
            bill = parts.pop()
            if bill not in paid:
                paid[bill] = bill
                total += bill.own
                parts += bill.parts
        return total


def remembered(maxsize: int) -> Callable[[F], F]:
    """The function with its last values memoised, and the steps that they took: who asks for one pays them once.

    What finding a value takes is counted as if nothing were known before, and where fewer steps are left it isn't
    found. The operation, or the value of such a function, that asks for it then pays what it has not paid yet, for it
    or for a value that needs the same. So where searches end and what is spent doesn't depend on what was found before,
    and it is what the operation would spend in a new process. A value that a budget ended is not kept; one that was
    found where no steps are counted is found again where they are, for what it takes isn't known.

    Cost: as of `lru_cache`, and a quarter of a microsecond a call; one and a half for each value that is found, and
    what is new to an operation for each value that it needs. The arguments are by position, and can be hashed. Threads
    may share a block of operations, not one of these.
    """

    def remember(f: F) -> F:
        @lru_cache(maxsize)
        def kept(*args: Any) -> list[Any]:
            """The value, its steps, None where these are not counted, and its bill, None without steps."""
            own = _current.get()
            if own is None:
                return [f(*args), None, None]
            if not own.operation:  # a block, which threads may share
                return _run(own, "a block", (), found, args, {})
            most = left = own.left
            paid, parts, bought = own.paid, own.parts, own.bought
            own.paid, own.parts, own.bought = None, [], 0
            try:
                try:
                    value = f(*args)
                    if own.left < 0:  # what went on although a budget had ended may not be all
                        spend(0)
                except BudgetExceeded:
                    again = paid.get(_Bill(f, args)) if paid else None
                    if again is None or again.steps <= left:
                        raise
                    own.left = most = again.steps  # it was paid for, and dropped meanwhile
                    own.paid, own.parts, own.bought = None, [], 0
                    value = f(*args)
                steps = most - own.left
                if not steps:
                    return [value, 0, None]
                bill = _Bill(f, args)
                bill.steps, bill.own, bill.parts = steps, steps - own.bought, own.parts
                own.left = left
                return [value, steps, bill]
            finally:
                own.paid, own.parts, own.bought = paid, parts, bought

        found = kept.__wrapped__

        @wraps(f)
        def call(*args: Any) -> Any:
            known = kept(*args)
            value, steps, bill = known
            if steps == 0 or (current := _current.get()) is None:
                return value
            if bill is None:
                known[:] = value, steps, bill = found(*args)
                if not steps:
                    return value
            paid = current.paid
            if paid is None:
                paid = current.paid = {}
            if bill not in paid:
                if steps > current.left:
                    spend(steps)
                if bill.parts:
                    steps = bill.due(paid)
                else:
                    paid[bill] = bill
                current.left -= steps
                current.bought += steps
                if current.parts is not None:
                    current.parts.append(bill)
            return value

        call.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return cast(F, call)

    return remember


def weight(*numbers: int) -> int:
    """How many times dearer arithmetic with such numbers is than with small ones; O(1).

    >>> weight(10), weight(10**100), weight(10**1000)
    (1, 6, 205)
    """
    bits = 0
    for n in numbers:
        if n.bit_length() > bits:
            bits = n.bit_length()
    return 1 + (bits >> 6) * (1 + (bits >> 10))


def metered(f: F) -> F:
    """The function as an operation with a budget of its own, unless it is called by one.

    A generator spends, while it is asked for its next value, one budget of its own.
    """
    if isgeneratorfunction(f):

        @wraps(f)
        def items(*args: Any, **kwargs: Any) -> Iterator[Any]:
            own, found = None, f(*args, **kwargs)
            while True:
                outer = _current.get()
                if outer is None:
                    own = own or _Budget()
                    outer = own
                try:
                    value = _run(outer, f.__name__.strip("_"), args, next, (found,), {})
                except StopIteration:
                    return
                yield value

        return cast(F, items)

    named = f.__name__.strip("_")

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        current = _current.get()
        if current is not None and current.operation:
            return f(*args, **kwargs)
        name = type(args[0]).__name__ if named == "init" else named
        if current is not None:
            return _run(current, name, args, f, args, kwargs)
        own = _Budget()
        own.operation, own.operands = name, args
        token = _current.set(own)
        try:
            return f(*args, **kwargs)
        finally:
            _current.reset(token)

    return cast(F, call)


def _run(outer: _Budget, name: str, operands: tuple, f: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a function under a budget, in which it is the outermost operation if there is none."""
    if outer.operation:
        return f(*args, **kwargs)
    own = _Budget()  # of this thread alone
    if outer.paid is None:
        outer.paid = {}
    own.paid, own.parts, own.steps, own.operation, own.operands = outer.paid, outer.parts, outer.steps, name, operands
    own.left = before = outer.left
    token = _current.set(own)
    try:
        return f(*args, **kwargs)
    finally:
        _current.reset(token)
        outer.left -= before - own.left
        outer.bought += own.bought


def metered_class(cls: C) -> C:
    """The class, each of its public methods and operators metered; properties and class methods are not.

    Nor are functions that `meters_itself` marks.
    """
    for name, f in list(vars(cls).items()):
        public = isfunction(f) and (name == "__init__" or not name.startswith("_") or name in _OPERATORS)
        if public and not hasattr(f, "meters_itself"):
            setattr(cls, name, metered(f))
    return cls


def meters_itself(f: F) -> F:
    """Mark a method that answers at once or calls what is metered: a budget takes longer than such an answer."""
    f.meters_itself = True  # type: ignore[attr-defined]
    return f


_OPERATORS = frozenset(f"__{name}__" for name in "or and sub xor le lt ge gt add mul floordiv mod call str".split())


def _sizes(operands: tuple) -> str:
    """What the operands of an operation measure: ` of 2 pieces (7 rows, 4 columns)`."""
    found = []
    for x in operands:
        if isinstance(x, str):
            found.append(f"a text of {len(x)} characters")
        elif isinstance(x, (list, tuple)) and x and all(isinstance(row, tuple) for row in x):
            found.append(_grid(x))
        else:
            pieces = [c for _, cs in getattr(x, "_rough", ()) for c in cs]
            if pieces:
                rows = [r for c in pieces for r in (*c.eqs, *c.ineqs, *getattr(c, "strict", ()))]
                found.append(f"{len(pieces)} piece{'s' * (len(pieces) > 1)} ({_grid(rows)})")
    return " of " + " and ".join(found) if found else ""


def _grid(rows: list | tuple) -> str:
    return f"{len(rows)} rows, {max((len(r) - 1 for r in rows), default=0)} columns"
