"""What a schedule tree means, by brute force: the instances are enumerated and sent down the tree one by one.

Nothing here knows how loops are made, and expressions and conditions are not evaluated by the library: what a sum, a
floor and a row mean is said here, as a Python function of each. At given parameters the tree becomes an `Order`:

    Ordered     its parts run one after another: the values of a band member, the children of a sequence
    Unordered   its parts run in any order, even interleaved: the children of a set, the values of a mapped member
    Bag         instances without an order, at a leaf

and a run is right when it is the same instances, each as often, in an order that this allows.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from polyvolta.sched.emit.run import run
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Sequence,
    SetNode,
)
from polyvolta.sets import Aff, Set
from polyvolta.sets.values.aff import Floor
from tests.sets.tables import holds


@dataclass
class Order:
    """Some instances, counted, and what is known of their order."""

    kind: str  # "ordered", "unordered" or "bag"
    parts: list = field(default_factory=list)
    instances: Counter = field(default_factory=Counter)
    size: int = 0


def bag(instances):
    return Order("bag", [], Counter(instances), len(instances))


def combined(kind, parts):
    parts = [p for p in parts if p.size]
    if len(parts) == 1:
        return parts[0]
    total = Counter()
    for p in parts:
        total.update(p.instances)
    return Order(kind, parts, total, sum(p.size for p in parts))


class Meaning:
    """A tree at given values of its parameters: its `order`, and the prefixes that reach each of its nodes.

    A prefix is the tuple of the values of the band members above. With values of mapped members, it is the meaning for
    that index alone: of one thread, say.
    """

    def __init__(self, schedule, params, mapped=None):
        self.schedule, self.params, self.mapped = schedule, dict(params), mapped or {}
        self.reached = {}
        self.pairs = {}
        self.order = self.at(schedule.root, (), [], ())

    def at(self, node, path, instances, prefix):
        if instances:
            self.reached.setdefault(path, set()).add(prefix)
        match node:
            case Domain(domain, child):
                return self.at(child, (*path, 0), self.points(domain), prefix)
            case Leaf():
                return bag(instances)
            case Band():
                return self.member(node, 0, path, instances, prefix)
            case Filter(statements, child, chosen):
                kept = [p for p in instances if p[0] in statements and (chosen is None or self.inside(chosen, *p))]
                return self.at(child, (*path, 0), kept, prefix)
            case Sequence(children):
                return combined("ordered", self.each(children, path, instances, prefix))
            case SetNode(children):
                return combined("unordered", self.each(children, path, instances, prefix))
            case Mark(_, child):
                return self.at(child, (*path, 0), instances, prefix)
            case Context(context, child):
                assert not instances or self.true(context, prefix), f"{context} does not hold at {prefix}: no fair tree"
                return self.at(child, (*path, 0), instances, prefix)
            case Guard(guard, child):
                return self.at(child, (*path, 0), instances if self.true(guard, prefix) else [], prefix)
            case Extension(extension, child):
                # at the values of what comes here, past all filters: isl's loops may run it at others, as they are cut
                added = self.added(path, extension).get(prefix, []) if instances else []
                return self.at(child, (*path, 0), [*instances, *added], prefix)
        raise TypeError(type(node).__name__)

    def each(self, children, path, instances, prefix):
        return [self.at(child, (*path, k), instances, prefix) for k, child in enumerate(children)]

    def member(self, band, k, path, instances, prefix):
        if k == len(band.members):
            return self.at(band.child, (*path, 0), instances, prefix)
        m = band.members[k]
        groups = {}
        for name, point in instances:
            groups.setdefault(self.value(m.of(name), name, point), []).append((name, point))
        if m.name in self.mapped:
            v = self.mapped[m.name]
            return self.member(band, k + 1, path, groups.get(v, []), (*prefix, v))
        parts = [self.member(band, k + 1, path, groups[v], (*prefix, v)) for v in sorted(groups)]
        return combined("unordered" if m.name else "ordered", parts)

    def value(self, e, name, point):
        if not isinstance(e, Aff):  # by cases
            return e.evaluate({**self.params, **dict(zip(self.dims[name], point, strict=True))})
        return evaluator(e, (*self.params, *self.dims[name]))(*self.params.values(), *point)

    @property
    def dims(self):
        if "dims" not in self.pairs:
            found = {s.out.name: s.out.dims for s, _ in self.schedule.domain.parts}
            for _, node in self.schedule.walk():
                if isinstance(node, Extension):
                    found.update({s.out.name: s.out.dims for s, _ in node.extension.parts})
            self.pairs["dims"] = found
        return self.pairs["dims"]

    def points(self, domain):
        return [(s.out.name, p) for s, cs in domain.parts for p in self.listed(domain, s, cs)]

    def listed(self, relation, space, conjuncts):
        """The points of a part of a relation, in order."""
        listers = [lister(len(relation.param_names), c.n, c.eqs, c.ineqs, c.divs) for c in conjuncts]
        if None in listers:
            part = relation._of(relation.param_names, [(space, conjuncts)])
            known = {p: v for p, v in self.params.items() if p in relation.param_names}
            return list((part.wrap() if hasattr(part, "wrap") else part).points(**known))
        at = [self.params[p] for p in relation.param_names]
        return sorted({p for f in listers for p in f(*at)})

    def inside(self, chosen, name, point):
        if name not in chosen.tuple_names:
            return False
        return self.true(chosen.only(name), point)

    def true(self, s, point):
        at = (*(self.params[p] for p in s.param_names), *point)
        return any(predicate(c.n, tuple(c.eqs), tuple(c.ineqs), tuple(c.divs))(*at) for _, cs in s.parts for c in cs)

    def added(self, path, extension):
        """What an extension adds, by prefix."""
        if path not in self.pairs:
            table = {}
            for space, pieces in extension.parts:
                n = len(space.inp.dims)
                for p in self.listed(extension, space, pieces):
                    table.setdefault(p[:n], []).append((space.out.name, p[n:]))
            self.pairs[path] = table
        return self.pairs[path]


# ---- what expressions and rows mean

NESTED = 20  # loops in one another that CPython compiles


@lru_cache(maxsize=1 << 12)
def evaluator(e, names):
    """An expression as a function of the values of some names."""
    return _function(len(names), _text(e, {name: f"v{k}" for k, name in enumerate(names)}))


def _text(e, called):
    parts = [str(e.const)]
    for atom, c in e.terms:
        if isinstance(atom, str):
            part = called[atom]
        elif isinstance(atom, Floor):
            part = f"(({_text(atom.num, called)})//{atom.den})"
        else:
            part = f"(({_text(atom.left, called)})^({_text(atom.right, called)}))"
        parts.append(f"{c}*{part}")
    return "+".join(parts)


@lru_cache(maxsize=1 << 12)
def predicate(n, eqs, ineqs, divs):
    """The rows of a conjunct as a function that says whether a point is in it."""
    columns = ["1", *(f"v{k}" for k in range(n))]
    for div in divs:
        if div is None:
            whole = Rows(n, eqs, ineqs, divs)
            return lambda *point: bool(holds(whole, np.array([[1, *point]]))[0])
        den, row = div
        columns.append(f"(({_row(row, columns)})//{den})")
    rows = [f"{_row(r, columns)}{sign}0" for rows, sign in ((eqs, "=="), (ineqs, ">=")) for r in rows]
    return _function(n, " and ".join(rows) or "True")


@lru_cache(maxsize=1 << 12)
def lister(n_params, n, eqs, ineqs, divs):
    """The points of a conjunct as a function of the parameters: nested loops, each between what rows say of its
    dimension by those before it, and every row tested inside. None where rows do not bound one so, or Python nests no
    such loops."""
    text, indent = [], "  "
    names = [f"v{k}" for k in range(n)]
    columns = ["1", *names]
    if None in divs or n - n_params > NESTED:
        return None
    for k in range(n_params, n):
        lower, upper = [], []
        for row in (*eqs, *([-v for v in r] for r in eqs), *ineqs):
            c = row[1 + k]
            if c and not any(row[2 + k :]):
                rest = _row(row[: 1 + k], columns)
                (lower if c > 0 else upper).append(f"-(({rest})//{c})" if c > 0 else f"({rest})//{-c}")
        if not lower or not upper:
            return None
        low, high = (x[0] if len(x) == 1 else f"{f}({', '.join(x)})" for f, x in (("max", lower), ("min", upper)))
        text.append(f"{indent}for v{k} in range({low}, {high} + 1):")
        indent += "  "
    test = f"{indent}if holds({', '.join(names)}): found.append(({''.join(f'{x}, ' for x in names[n_params:])}))"
    space = {"holds": predicate(n, eqs, ineqs, divs)}
    head = [f"def points({', '.join(names[:n_params])}):", "  found = []"]
    exec("\n".join([*head, *text, test, "  return found"]), space)  # noqa: S102
    return space["points"]


@dataclass(frozen=True)
class Rows:
    """Those of a conjunct."""

    n: int
    eqs: tuple
    ineqs: tuple
    divs: tuple


def _row(row, columns):
    return "+".join(f"{c}*{x}" for c, x in zip(row, columns) if c) or "0"


def _function(n, text):
    return eval(f"lambda {', '.join(f'v{k}' for k in range(n))}: {text}")  # noqa: S307


def wrong(order, got, where="the tree"):
    """Why a run does not follow an order, or None."""
    if Counter(got) != order.instances:
        missing, extra = order.instances - Counter(got), Counter(got) - order.instances
        parts = [f"{what} {_some(c)}" for what, c in (("misses", missing), ("has too many of", extra)) if c]
        return f"{where}: the run {' and '.join(parts)}; it has {_list(got)}"
    if order.kind == "bag":
        return None
    if order.kind == "ordered":
        at = 0
        for k, part in enumerate(order.parts):
            reason = wrong(part, got[at : at + part.size], f"{where}, part {k}")
            if reason:
                return reason
            at += part.size
        return None
    runs = [[] for _ in order.parts]
    wanted = [Counter(p.instances) for p in order.parts]
    for instance in got:
        k = next(k for k, c in enumerate(wanted) if c[instance] > 0)
        wanted[k][instance] -= 1
        runs[k].append(instance)
    reasons = (wrong(p, r, f"{where}, part {k}") for k, (p, r) in enumerate(zip(order.parts, runs, strict=True)))
    return next((r for r in reasons if r), None)


def _some(instances):
    return _list(list(instances.elements()))


def _list(instances):
    texts = [f"{s}{list(p)}" for s, p in instances[:8]]
    return ", ".join(texts) + (f", ... ({len(instances)})" if len(instances) > 8 else "")


def assert_scans(schedule, params_list=({},), context=None):
    """The loops of a tree run its instances, each as often as the tree says, in an order that the tree allows.

    Returns the `Scan`, so that a test can look at the loops as well.
    """
    found = scan(schedule, context) if context is not None else scan(schedule)
    for params in params_list:
        assert_runs(schedule, found, params)
    return found


def assert_runs(schedule, found, params):
    """The same for loops that are there, at one choice of the parameters."""
    reason = deviation(schedule, found, params)
    assert reason is None, f"at {dict(params)} {reason}\n{schedule}"


def deviation(schedule, found, params, meaning=None):
    """Why loops are not what a tree means, or None; `meaning` is that of the tree, where it is known. Each index that
    members are mapped to is looked at by itself, since nothing is said of the order between two of them."""
    names = list(found.extents)
    if not names:
        return wrong((meaning or Meaning(schedule, params)).order, run(found, params))
    sizes = [found.extents[n].evaluate(params) for n in names]
    for values in product(*map(range, sizes)):
        mapped = dict(zip(names, values, strict=True))
        reason = wrong(Meaning(schedule, params, mapped).order, run(found, {**params, **mapped}))
        if reason:
            return f"with {mapped} {reason}"
    whole = (meaning or Meaning(schedule, params)).order.instances  # and there are no instances at other indices
    missed = set(whole) - set(run(found, params))
    return f"no index runs {_list(sorted(missed))}" if missed else None


def universe(names):
    """All values of some parameters."""
    return Set(f"[{', '.join(names)}] -> {{ : }}")
