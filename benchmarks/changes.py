"""Random changes to a kernel's IR: what a slip of a pen, or a compiler's bug, could make of it.

The IR is a tree of frozen dataclasses and tuples. Its *leaves* are expressions, numbers, names, flags and formulas; a
leaf's place is the row of field names and tuple numbers that leads to it, and its kind the class and the field that it
belongs to, such as "GlobalLoad.index" or "SharedTile.start". A change takes a kind at random, then one of its leaves,
and makes something like it of it; or it takes a statement and drops, doubles or moves it. Nothing here knows what a
kernel means, so that no kind of mistake is left out because nobody thought of it.

What changes nothing that a kernel does stays as it is: names of statements, comments, what hardware does (`MacroMma`
but for its steps, `WarpgroupMma`), and the signature, names and shapes of arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

from polyvolta.cuda.ir.kernel_ir import Barrier, Element, ExchangeLoad, ExchangeStore, KernelIR, Loop, Stmt, When
from polyvolta.cuda.ir.walk import inner, replaced, walk
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.target.macro_mma import MacroMma
from polyvolta.cuda.target.warpgroup import WarpgroupMma
from polyvolta.graph.functions.formula import Call, Formula, Input, Number, inputs, nodes
from polyvolta.sets import Aff, PolyvoltaError
from polyvolta.sets.values.aff import Floor, Xor, xor

Path = tuple[str | int, ...]
STEPS = (1, 1, 2, 4, 8, 16, 32)
FIXED = {
    "statement", "comment", "about", "Pointwise.name", "Loop.var", "Loop.unroll", "MacroMma.name", "KernelIR.name",
    "KernelIR.sizes", "KernelIR.scalars", "GlobalTensor.name", "GlobalTensor.dims", "GlobalTensor.order",
    "GlobalTensor.written", "GlobalTensor.whole", "SharedTile.name", "RegisterArray.name", "IndexMap.inputs",
    "Role.name", "PhaseBarriers.name", "BoxMap.name", "BoxMap.tensor",
}  # fmt: skip


class NoChange(Exception):
    """There is nothing of that kind to change, or the change came to nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """A changed kernel.

    Parameters
    ----------
    kind : what was changed, such as "GlobalLoad.index" or "statement dropped".
    what : the change in words.
    """

    ir: KernelIR
    kind: str
    what: str


def change(ir: KernelIR, rng: random.Random) -> Change:
    """A kernel with something changed; about every third time a whole statement, every seventh time two things."""
    for _ in range(100):
        try:
            made = statement_changed(ir, rng) if rng.random() < 0.3 else leaf_changed(ir, rng)
            if rng.random() < 0.14:
                more = leaf_changed(made.ir, rng)
                made = Change(more.ir, "two at once", f"{made.what}; {more.what}")
        except (NoChange, PolyvoltaError):
            continue
        if made.ir != ir:
            return made
    raise NoChange(ir.name)


# ---- leaves


def leaves(part: Any, at: Path = (), kind: str = "") -> Iterator[tuple[Path, str, Any]]:
    """(place, kind, leaf) of every leaf below a part."""
    if isinstance(part, MacroMma):
        yield from leaves(part.steps, (*at, "steps"), "MacroMma.steps")
    elif isinstance(part, WarpgroupMma):
        return
    elif isinstance(part, Aff | Formula):
        yield at, kind, part
    elif is_dataclass(part):
        for f in fields(part):
            own = f"{type(part).__name__}.{f.name}"
            if f.name not in FIXED and own not in FIXED:
                own = f"{kind}.index" if own == "Element.index" else kind if isinstance(part, IndexMap) else own
                yield from leaves(getattr(part, f.name), (*at, f.name), own)
    elif isinstance(part, tuple):
        for n, x in enumerate(part):
            if not (isinstance(x, str) and at[-2:-1] in (("derived",), ("outputs",))):  # what names what follows
                yield from leaves(x, (*at, n), kind)
    else:
        yield at, kind, part


def put(part: Any, at: Path, new: Any) -> Any:
    """The part with another leaf at a place."""
    if not at:
        return new
    first, *rest = at
    if isinstance(first, int):
        return (*part[:first], put(part[first], tuple(rest), new), *part[first + 1 :])
    return replace(part, **{first: put(getattr(part, first), tuple(rest), new)})


@cache
def _by_kind(body: tuple[Stmt, ...], ir: Any) -> dict[str, list[tuple[Path, Any]]]:
    found: dict[str, list[tuple[Path, Any]]] = {}
    for at, kind, leaf in leaves(ir.ir):
        found.setdefault(kind, []).append((at, leaf))
    return found


class _Same:
    """A kernel by identity: its ranges can't be hashed."""

    def __init__(self, ir: KernelIR) -> None:
        self.ir = ir

    def __hash__(self) -> int:
        return hash(self.ir.body)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.ir == other.ir


def leaf_changed(ir: KernelIR, rng: random.Random) -> Change:
    """One leaf changed, or two of a kind exchanged."""
    by_kind = _by_kind(ir.body, _Same(ir))
    kind = rng.choice(sorted(by_kind))
    places = by_kind[kind]
    at, leaf = rng.choice(places)
    if rng.random() < 0.12 and len(places) > 1:
        other_at, other = rng.choice(places)
        if type(other) is not type(leaf) or other == leaf:
            raise NoChange(kind)
        return Change(put(put(ir, at, other), other_at, leaf), kind, f"{_where(at)}: {leaf} and {other} exchanged")
    new = _like(leaf, kind, ir, at, rng)
    if new == leaf and type(new) is type(leaf):
        raise NoChange(kind)
    made, what = put(ir, at, new), f"{kind} at {_where(at)}: {leaf} -> {new}"
    if "exchange" in at and rng.random() < 0.5:
        return Change(_everywhere(ir, made, at[: at.index("exchange")]), kind, f"{what}, in all that go with it")
    return Change(made, kind, what)


def _everywhere(ir: KernelIR, made: KernelIR, at: Path) -> KernelIR:
    """The changed exchange of one operation put into all operations that had the same one: stores and loads agree."""
    before, after = (_at(x, at).exchange for x in (ir, made))
    body = made.body
    for path, s in walk(ir.body):
        if isinstance(s, ExchangeStore | ExchangeLoad) and s.exchange == before:
            body = replaced(body, path, (replace(s, exchange=after),))
    return replace(made, body=body)


def _at(part: Any, at: Path) -> Any:
    """What stands at a place."""
    for step in at:
        part = part[step] if isinstance(step, int) else getattr(part, step)
    return part


def _where(at: Path) -> str:
    return ".".join(map(str, at))


def _like(leaf: Any, kind: str, ir: KernelIR, at: Path, rng: random.Random) -> Any:
    """Something else of a leaf's type."""
    if kind.endswith(".along"):
        return rng.choice((None, 0, 1) if kind != "GlobalStore.along" else (0, 1))
    match leaf:
        case bool():
            return not leaf
        case int():
            return _number(leaf, kind, rng)
        case float():
            return rng.choice((leaf * 2, leaf + 1, -leaf))
        case str():
            return rng.choice(_names_like(leaf, kind, ir))
        case Aff():
            return expression(leaf, _known(ir, at), rng)
        case dict():  # ranges
            name = rng.choice(sorted(set(leaf) - set(ir.sizes)))
            low, high = leaf[name]
            return {**leaf, name: rng.choice(((low + 1, high), (low, high and high - 1), (low, high and high + 1)))}
        case Input() | Number() | Call():
            return formula(leaf, rng)
        case None if kind == "Pointwise.inside":
            raise NoChange(kind)
    raise NoChange(kind)


def _number(n: int, kind: str, rng: random.Random) -> int:
    if kind == "GlobalTensor.align":
        return rng.choice((8, 4, 2, 1))
    if kind == "FragmentLoad.access":
        return 12 - n
    new = n * 2 if rng.random() < 0.15 else n + rng.choice((-1, 1)) * rng.choice(STEPS)
    if kind in ("Exchange.pieces", "Exchange.words", "MacroMma.steps"):
        new = rng.randrange(16) if kind != "Exchange.words" else rng.randrange(8)
    if kind == "KernelIR.threads":
        return max(32, n + rng.choice((-32, 32)))
    if kind == "RegisterArray.width":
        return max(8, n + rng.choice((-8, 8)))
    if kind == "Exchange.rounds" or kind == "KernelIR.context":
        return max(1, new)
    least = {"SharedTile.start": 0, "ExchangeLoad.stride": 0}.get(kind, 1)
    return max(new, least) if kind not in ("Exchange.pieces", "Exchange.words", "MacroMma.steps") else new


def _names_like(name: str, kind: str, ir: KernelIR) -> list[str]:
    """What a name could be by mistake."""
    groups = (
        [r.name for r in ir.registers], [t.name for t in ir.tiles], ["a", "b"], ["block", "warp"], ["half", "float"],
        list(ir.scalars),
    )  # fmt: skip
    if kind.endswith(".tensor"):
        rank = len(ir.tensor(name).dims)
        return [t.name for t in ir.tensors if len(t.dims) == rank and t.written == ir.tensor(name).written]
    return next((g for g in groups if name in g), [name])


def _known(ir: KernelIR, at: Path) -> list[str]:
    """Names that have a value at a place."""
    found = ["linearId", *(n for n, _ in ir.derived), *ir.sizes, "blockIdx.x", "blockIdx.y"]
    part: Any = ir
    for step in at:
        part = part[step] if isinstance(step, int) else getattr(part, step)
        if isinstance(part, Loop):
            found.append(part.var)
        if isinstance(part, IndexMap):
            return [n for n, _ in part.inputs]
    if at[0] == "derived":
        return found[: 1 + int(at[1])]
    return ir.sizes and list(ir.sizes) if at[0] == "grid" else found  # type: ignore[return-value]


# ---- expressions and formulas


def expression(e: Aff, known: list[str], rng: random.Random) -> Aff:
    """An expression like another one: a constant, a coefficient, a divisor or a name is different somewhere in it."""
    if e.terms and rng.random() < 0.6:
        atom, c = rng.choice(e.terms)
        rest = e - Aff(((atom, c),))
        if not isinstance(atom, str) and rng.random() < 0.5:
            return rest + c * _atom(atom, known, rng)
        return rest + _term(atom, c, known, rng)
    names = sorted(e.names())
    if len(names) > 1 and rng.random() < 0.25:
        one, other = rng.sample(names, 2)
        return e.subs({one: other, other: one})
    return e + rng.choice((-1, 1)) * rng.choice(STEPS)


def _term(atom: Any, c: int, known: list[str], rng: random.Random) -> Aff:
    """A term with another coefficient, or another name; or nothing."""
    way = rng.random()
    if way < 0.25:
        return Aff((), 0)
    if way < 0.5 and isinstance(atom, str) and known:
        return Aff(((rng.choice(known), c),))
    return Aff(((atom, 1),)) * rng.choice((2 * c, c // 2, c + 1, c - 1, -c))


def _atom(atom: Floor | Xor, known: list[str], rng: random.Random) -> Aff:
    """A floor or an exclusive-or with something in it changed."""
    if isinstance(atom, Floor):
        if rng.random() < 0.5:
            return atom.num // max(1, rng.choice((atom.den * 2, atom.den // 2, atom.den + 1, atom.den - 1)))
        return expression(atom.num, known, rng) // atom.den
    way = rng.randrange(4)
    if way == 0:
        return atom.left
    if way == 1:
        return atom.left + atom.right
    sides = [atom.left, atom.right]
    sides[way - 2] = expression(sides[way - 2], known, rng) % 2**atom.bits
    return xor(*sides, atom.bits)


def formula(f: Formula, rng: random.Random) -> Formula:
    """A formula with one of its nodes changed."""
    chosen = rng.choice(nodes(f))
    last = max(inputs(f), default=0)

    def changed(x: Formula) -> Formula:
        match x:
            case Input():
                return rng.choice((Number(0.5), Input(rng.randint(0, last)), Call("relu", (x,))))
            case Number(value=v):
                return Number(rng.choice((v + 1, -v, v * 2)))
            case Call(function=name, arguments=arguments) if len(arguments) == 2:
                one, other = arguments
                return rng.choice((Call(name, (other, one)), one, Call(rng.choice(("add", "sub", "mul")), arguments)))
            case Call(arguments=arguments):
                return rng.choice((Call("neg", (x,)), arguments[0]))

    made: dict[Formula, Formula] = {}
    for n in nodes(f):
        same = Call(n.function, tuple(made[x] for x in n.arguments)) if isinstance(n, Call) else n
        made[n] = changed(same) if n is chosen else same
    return made[f]


# ---- statements


def statement_changed(ir: KernelIR, rng: random.Random) -> Change:
    """A statement dropped, doubled, moved or put elsewhere."""
    kinds: dict[type, list] = {}
    for at, s in walk(ir.body):
        kinds.setdefault(type(s), []).append((at, s))
    path, s = rng.choice(kinds[rng.choice(sorted(kinds, key=lambda k: k.__name__))])
    name = rng.choice(sorted(STATEMENTS))
    body = STATEMENTS[name](ir, path, s, rng)
    return Change(replace(ir, body=body), f"statement {name}", f"{type(s).__name__} {path} {name}")


def _next(body: tuple[Stmt, ...], path: tuple[int, ...]) -> Stmt:
    """The statement behind one, in the same body or after it in its condition's."""
    *above, k = path
    for step in above:
        body = inner(body[step])
    if k + 1 >= len(body):
        raise NoChange("the last one")
    return body[k + 1]


def _swapped(ir: KernelIR, path: tuple[int, ...], s: Stmt, rng: random.Random) -> tuple[Stmt, ...]:
    after = _next(ir.body, path)
    behind = (*path[:-1], path[-1] + 1)
    return replaced(replaced(ir.body, path, (after,)), behind, (s,))


def _elsewhere(ir: KernelIR, path: tuple[int, ...], s: Stmt, rng: random.Random) -> tuple[Stmt, ...]:
    """In place of another one of its class, which goes where it was."""
    others = [(p, o) for p, o in walk(ir.body) if type(o) is type(s) and o != s]
    other, o = rng.choice(others or [(path, s)])
    if other[: len(path)] == path or path[: len(other)] == other:
        raise NoChange("one in the other")
    return replaced(replaced(ir.body, path, (o,)), other, (s,))


def _moved(ir: KernelIR, path: tuple[int, ...], s: Stmt, rng: random.Random) -> tuple[Stmt, ...]:
    """In front of another one, wherever."""
    target, o = rng.choice(list(walk(ir.body)))
    if target[: len(path)] == path or path[: len(target)] == target:
        raise NoChange("one in the other")
    first, second = ((target, (s, o)), (path, ())) if target > path else ((path, ()), (target, (s, o)))
    return replaced(replaced(ir.body, *first), *second)


def _unwrapped(ir: KernelIR, path: tuple[int, ...], s: Stmt, rng: random.Random) -> tuple[Stmt, ...]:
    """A condition's body without the condition; or both bodies exchanged."""
    if not isinstance(s, When):
        raise NoChange("no condition")
    if s.orelse and rng.random() < 0.5:
        return replaced(ir.body, path, (replace(s, body=s.orelse, orelse=s.body),))
    return replaced(ir.body, path, rng.choice((s.body, s.orelse)))


def _barrier(ir: KernelIR, path: tuple[int, ...], s: Stmt, rng: random.Random) -> tuple[Stmt, ...]:
    return replaced(ir.body, path, rng.sample((s, Barrier(rng.choice(("block", "warp")))), 2))  # type: ignore[arg-type]


STATEMENTS: dict[str, Callable[..., tuple[Stmt, ...]]] = {
    "dropped": lambda ir, path, s, rng: replaced(ir.body, path, ()),
    "doubled": lambda ir, path, s, rng: replaced(ir.body, path, (s, s)),
    "swapped with the next": _swapped,
    "exchanged with one like it": _elsewhere,
    "moved": _moved,
    "out of its condition": _unwrapped,
    "beside a new barrier": _barrier,
}

__all__ = ["Change", "Element", "NoChange", "change"]
