"""All interleavings of two threads that run a ring's program, for a number of tiles: an oracle without any relation.

Each thread copies a cell of its own to every slot, and reads both threads' cells. What is in a cell depends on how far
its owner has come: a copy is on its way from where it is issued to a wait of its thread after which at most `pending`
of its groups are left, and until then the cell is anything. So the states of the block are pairs of program counters.
All that can be reached are gone through, threads meeting at barriers; where a thread reads a cell that is anything, or
something else than if all threads ran in step and copies were complete at once, the ring is broken.
"""

from collections import deque

from tests.cuda.verify.rings import Ring


def program(r: Ring, tiles: int) -> list[tuple]:
    """What a thread does, in order: ("copy", array, slot, tile), ("read", slot), ("commit",), ("wait",), ("sync",)."""
    out: list[tuple] = []
    for c2 in range(-r.distance, tiles):
        for what in r.trip:
            out += list(word(r, tiles, c2, what))
    return out


def word(r: Ring, tiles: int, c2: int, what: str):
    ahead = c2 + r.distance
    started = c2 >= 0 or r.early
    match what.split():
        case ["copy"] if 0 <= ahead < tiles:
            yield from (("copy", x, ahead % r.stages, ahead) for x in "AB")
        case ["copy", x] if 0 <= ahead < tiles:
            yield "copy", x, ahead % r.stages, ahead
        case ["commit"] if r.groups or ahead < tiles:
            yield ("commit",)
        case ["wait" | "sync"] if started:
            yield (what,)
        case ["compute"] if c2 >= 0:
            yield "read", c2 % r.stages
        case ["strips"]:
            for c8 in range(r.strips):
                if c8 == r.strips - 1:
                    yield from (("wait",), ("sync",))
                if c8 == 0:
                    yield from word(r, tiles, c2, "copy")
                    yield ("commit",)
                tile = c2 + (c8 + 1) // r.strips
                if (c2 >= 0 and c8 < r.strips - 1) or (c8 == r.strips - 1 and 0 <= tile < tiles):
                    yield "read", tile % r.stages


def cells(ops: list[tuple], pending: int) -> list[dict]:
    """What a thread's cells hold before each of its operations, and at the end: a tile, or "anything"."""
    now: dict[tuple, object] = {}
    groups: list[list[tuple]] = []
    last: list[tuple] = []
    out = [{}]
    for op in ops:
        match op:
            case ("copy", array, slot, tile):
                cell = array, slot
                last.append((cell, tile))
                now[cell] = "anything"
            case ("commit",):
                groups.append(last)
                last = []
            case ("wait",):
                while len(groups) > pending:
                    for cell, tile in groups.pop(0):
                        behind = [c for g in (*groups, last) for c, _ in g]
                        if cell not in behind:
                            now[cell] = tile
        out.append(dict(now))
    return out


def meant(ops: list[tuple]) -> list[dict]:
    """The same where copies are complete at once."""
    now: dict[tuple, object] = {}
    out = [{}]
    for op in ops:
        if op[0] == "copy":
            now[op[1], op[2]] = op[3]
        out.append(dict(now))
    return out


def twice(ops: list[tuple], held: list[dict]) -> bool:
    """Whether a copy is issued to a cell to which another one is on its way."""
    return any(op[0] == "copy" and held[n].get((op[1], op[2])) == "anything" for n, op in enumerate(ops))


def broken(r: Ring, tiles: int) -> bool:
    """Whether some interleaving reads, or writes, what it shouldn't."""
    ops = program(r, tiles)
    held, due = cells(ops, r.pending), meant(ops)
    if twice(ops, held):
        return True
    seen, todo = {(0, 0)}, deque([(0, 0)])
    while todo:
        at = todo.popleft()
        for who in (0, 1):
            mine, its = at[who], at[1 - who]
            if mine == len(ops):
                continue
            op = ops[mine]
            if op[0] == "read":
                for array in "AB":
                    cell = array, op[1]
                    if any(held[n].get(cell) != due[mine].get(cell) for n in (mine, its)):
                        return True
            if op[0] == "sync":
                if its != mine:
                    continue
                after = mine + 1, mine + 1
            else:
                after = (mine + 1, its) if who == 0 else (its, mine + 1)
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False
