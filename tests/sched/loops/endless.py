"""Loops without an end, run for a while, against the instances in a box.

What runs before anything else that is left is found by brute force: the points of a box are listed, constraint by
constraint, and sorted by their times. Of a run that never ends the first instances are looked at:

    each is an instance, at most once, and none is earlier than one before it
    in the box no instance earlier than the last one is left out
    an instance before which only few others run is reached, and if there are few at all, the run ends

An instance is one before which few run if a far larger box has no more of them than a small one: it is larger by what
strides leave out.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from polyvolta.sched.emit.run import bound, holds
from polyvolta.sched.loops.ast import Call, For, If

BOX, LARGE = 7, 40
STEPS = 4000


@dataclass(frozen=True)
class Statement:
    """Constraints `coefficients . (1, N, dims, exists) >= 0`, and a time `coefficients . (1, N, dims)` a member.

    `hidden` of the last columns of a constraint are existentials; `grid` is (dimension, modulus, residue) or None.
    """

    name: str
    dims: int
    pieces: tuple[tuple[tuple[int, ...], ...], ...]
    time: tuple[tuple[int, ...], ...]
    hidden: int = 0
    grid: tuple[int, int, int] | None = None

    def has(self, n, point):
        if self.grid is not None and point[self.grid[0]] % self.grid[1] != self.grid[2]:
            return False
        return any(self.piece(rows, (1, n, *point)) for rows in self.pieces)

    def piece(self, rows, values):
        if not self.hidden:
            return all(dot(r, values) >= 0 for r in rows)
        known = [(dot(r[:-1], values), r[-1]) for r in rows]  # value + c * e >= 0
        low = max((-(value // c) for value, c in known if c > 0), default=0)
        high = min((value // -c for value, c in known if c < 0), default=low)
        return low <= high and all(value >= 0 for value, c in known if not c)

    def at(self, n, point):
        return tuple(dot(r, (1, n, *point)) for r in self.time)

    def text(self):
        """The set and the map in the notation of isl."""
        dims, hidden = [f"i{k}" for k in range(self.dims)], [f"e{k}" for k in range(self.hidden)]
        names = ["", "N", *dims, *hidden]
        cases = []
        for rows in self.pieces:
            said = " and ".join(f"{written(r, names)} >= 0" for r in rows) or "1 = 1"
            cases.append(f"(exists {', '.join(hidden)}: {said})" if hidden else f"({said})")
        where = f"({' or '.join(cases)})"
        if self.grid is not None:
            where += f" and {dims[self.grid[0]]} mod {self.grid[1]} = {self.grid[2]}"
        times = ", ".join(written(r, names) for r in self.time)
        return f"{self.name}[{', '.join(dims)}] : {where}", f"{self.name}[{', '.join(dims)}] -> [{times}]"


def dot(row, values):
    return sum(a * b for a, b in zip(row, values))


def written(row, names):
    return " + ".join(f"{c}{'*' * bool(x)}{x}" for c, x in zip(row, names) if c) or "0"


def steps_of(body, values, left):
    """The instances that loops run, as long as `left[0]`, which counts iterations and calls, is positive."""
    for node in body:
        match node:
            case Call(name, args):
                left[0] -= 1
                yield name, tuple(e.evaluate(values) for e in args)
            case For(v, lower, upper, step, body=inner):
                x = max(bound(e, values) for e in lower)
                last = min((bound(e, values) for e in upper), default=None)
                while last is None or x <= last:
                    left[0] -= 1
                    yield from steps_of(inner, {**values, v: x}, left)
                    if left[0] <= 0:
                        return
                    x += step
            case If(conditions, inner, other=other):
                yield from steps_of(inner if all(holds(c, values) for c in conditions) else other, values, left)
            case _:
                yield from steps_of(node.body, values, left)
        if left[0] <= 0:
            return


def instances(statements, n, size):
    """The instances in a box: time -> those of that time."""
    found = {}
    for s in statements:
        for point in product(range(-size, size + 1), repeat=s.dims):
            if s.has(n, point):
                found.setdefault(s.at(n, point), []).append((s.name, point))
    return found


def wrong(statements, found, n, steps=STEPS):
    """Why the loops of some statements are not what they mean at a value of N, or None."""
    by_name, left = {s.name: s for s in statements}, [steps]
    got = list(steps_of(found.body, {"N": n}, left))
    ended = left[0] > 0
    if len({*got}) < len(got):
        return "an instance runs twice"
    times = []
    for name, point in got:
        if not by_name[name].has(n, point):
            return f"{name}{list(point)} is no instance"
        times.append(by_name[name].at(n, point))
    late = next((k for k in range(1, len(times)) if times[k] < times[k - 1]), None)
    if late is not None:
        return f"{got[late]} runs after {got[late - 1]}"
    small, ran = instances(statements, n, BOX), {*got}
    large = cache(lambda: instances(statements, n, LARGE))
    for time in sorted(small):
        missing = [x for x in small[time] if x not in ran]
        if not missing:
            continue
        if ended or (times and time < times[-1]):
            return f"{missing[0]} does not run"
        inner, outer = (sum(len(some) for t, some in box.items() if t <= time) for box in (small, large()))
        if inner == outer:
            return f"{missing[0]} is not reached, {inner} run before it"
        break
    if not ended and sum(map(len, small.values())) == sum(map(len, large().values())):
        return f"the loops never end, and there are {sum(map(len, small.values()))} instances"
    return None


def drawn(rng):
    """Some statements, mostly without an end."""
    depth = rng.choice((1, 1, 2, 2, 3))
    out = []
    for name in "STU"[: rng.choice((1, 1, 2, 2, 3))]:
        dims = rng.choice((0, 1, 1, 1, 2, 2))
        hidden = int(rng.random() < 0.2 and dims > 0)
        width = 2 + dims + hidden
        pieces = tuple(_piece(rng, dims, hidden, width) for _ in range(1 if rng.random() < 0.8 else 2))
        time = tuple(_time(rng, dims) for _ in range(depth))
        grid = (rng.randrange(dims), m := rng.choice((2, 3)), rng.randrange(m)) if dims and rng.random() < 0.2 else None
        out.append(Statement(name, dims, pieces, time, hidden, grid))
    return out


def _piece(rng, dims, hidden, width):
    rows = []
    for k in range(dims):
        low = [rng.randint(-2, 3), rng.choice((0, 0, 0, 1, -1)), *[0] * (width - 2)]
        for j in range(k):
            low[2 + j] = rng.choice((0, 0, 1, -1, 2))
        low[2 + k] = rng.choice((1, 1, 1, 2))
        rows.append(tuple(low))
        if rng.random() < 0.4:
            high = [rng.randint(0, 6), rng.choice((0, 1, 1)), *[0] * (width - 2)]
            for j in range(k):
                high[2 + j] = rng.choice((0, 0, 1, -1))
            high[2 + k] = -rng.choice((1, 1, 1, 2, 3))
            rows.append(tuple(high))
    if hidden:  # between two multiples, so that something must be found in between
        a, b = rng.choice((2, 3, 5)), rng.choice((2, 3, 5))
        k = rng.randrange(1, 2 + dims)
        for sign in (1, -1):
            row = [rng.randint(0, 2), *[0] * (width - 1)]
            row[k], row[-1] = sign * b, -sign * a
            rows.append(tuple(row))
    if rng.random() < 0.4:
        rows.append((rng.randint(-3, 3), rng.choice((1, -1)), *[0] * (width - 2)))
    if rng.random() < 0.15:
        rows.append((rng.randint(-3, 3), *[rng.choice((0, 1, -1)) for _ in range(width - 1)]))
    return tuple(rows)


def _time(rng, dims):
    row = [rng.choice((0, 0, 0, 1, 2)), rng.choice((0, 0, 0, 0, 0, 1)), *[0] * dims]
    for k in range(dims):
        row[2 + k] = rng.choice((0, 0, 1, 1, 1, 2))
    return tuple(row)
