"""Roles as branches on the number of a warp, and the numbers of the barriers that part of a block's warps share.

    if (warp < 8) {  // consumer
      ...
    } else {  // producer
      ...
    }

A block has 16 barriers by number, and number 0 is that of all its threads. A barrier of a role, or of each of its
warpgroups, takes the next free ones where it first stands; it is the same one at all places of that role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polyvolta.cuda.ir.engines.warpgroups import WARPS
from polyvolta.cuda.ir.kernel_ir import LANES, Arrive, Await, BoxCopy, KernelIR, Role, Roles, When
from polyvolta.cuda.ir.walk import operations, put
from polyvolta.cuda.text.c_expr import NotPrintable
from polyvolta.sets import Aff, aff, var
from polyvolta.sets.values.simplify import Range, interval

MOST = 16  # barriers of a block
WARP = var("linearId") // LANES


def warp_of(ir: KernelIR) -> Aff:
    """The number of the thread's warp: a name of the kernel's where it has one."""
    return next((var(name) for name, e in ir.derived if e == WARP), WARP)


def test(ir: KernelIR, roles: Roles, which: int) -> tuple[Aff, ...]:
    """Conditions `e >= 0` for a role's warps, where those of the roles before it are taken; () for all others."""
    role, warp = roles.roles[which], warp_of(ir)
    before = {w for r in roles.roles[:which] for w in range(r.first, r.first + r.warps)}
    rest = [w for w in range(ir.warps) if w not in before]
    mine = range(role.first, role.first + role.warps)
    if rest == list(mine):
        return ()
    low = [warp - mine[0]] if min(rest, default=0) < mine[0] else []
    high = [mine[-1] - warp] if max(rest, default=0) > mine[-1] else []
    return (*low, *high)


def whole_warpgroups(s: Roles) -> Roles:
    """The roles that have registers of their own with all warps of their warpgroups, which share these out together."""
    def whole(role: Role) -> Role:
        first, end = role.first // WARPS * WARPS, -(-(role.first + role.warps) // WARPS) * WARPS
        return replace(role, first=first, warps=end - first) if role.registers else role

    return replace(s, roles=tuple(map(whole, s.roles)))


def among(ir: KernelIR, role: Role, whole: Role) -> tuple[Aff, ...]:
    """Conditions `e >= 0` for a role's warps among those of its warpgroups."""
    warp, last = warp_of(ir), role.first + role.warps - 1
    low = [warp - role.first] if role.first > whole.first else []
    return (*low, *([last - warp] if last < whole.first + whole.warps - 1 else []))


def gets_more(s: Roles, role: Role) -> bool:
    """Whether a role has more registers than it would have if all had the same."""
    whole = whole_warpgroups(s).roles
    return role.registers * sum(r.warps for r in whole) > sum(r.registers * r.warps for r in whole)


def within(ir: KernelIR, role: Role, known: Mapping[str, Range]) -> dict[str, Range]:
    """Between which numbers the names of a role's threads keep."""
    out: dict[str, Range] = {"linearId": (LANES * role.first, LANES * (role.first + role.warps) - 1)}
    for name, e in ir.derived:
        low, high = interval(e, {**known, **out})
        least, most = known.get(name, (None, None))
        out[name] = (
            least if low is None else low if least is None else max(low, least),
            most if high is None else high if most is None else min(high, most),
        )
    return out


def own_names(ir: KernelIR) -> frozenset[str]:
    """The names that differ between the lanes of a warp."""
    own = {"linearId"}
    for name, e in ir.derived:
        if e != WARP and e.names() & own:
            own.add(name)
    return frozenset(own)


def any_lane(ir: KernelIR, s: When) -> bool:
    """Whether a condition is for lane 0 alone, copies boxes, and does the same whichever lane it is that does it.

    What it does is for barriers to count, not for the thread: groups that a thread waits for are its own, and so are
    its registers. And it says nothing that differs between lanes.
    """
    lane = next((name for name, e in ir.derived if e == var("linearId") % LANES), None)
    if lane is None or s.conditions != (-var(lane),) or s.orelse:
        return False
    done = {type(op) for op in operations(s.body)}
    met: set[str] = set()

    def note(e: Aff) -> Aff:
        met.update(e.names())
        return e

    put(s.body, note)
    return BoxCopy in done and done <= {BoxCopy, Await, Arrive} and not met & own_names(ir)


def parts_a_warp(ir: KernelIR, s: When) -> bool:
    """Whether some lanes of a warp wait there for a phase while its other lanes have nothing to wait for.

    These run ahead: where the lanes meet behind a branch, a compiler's barrier for them gives way to a loop that waits.
    Compilers take lanes that have met for a warp in step, and keep what they all have in registers of the warp; so the
    ones ahead overwrite what the one behind, in the branch, is about to copy a box with, and the GPU finds an illegal
    instruction, or a misaligned address. An explicit barrier of the warp behind the branch doesn't give way; but what
    comes behind it, compilers may begin before it. So in a loop no lane is to be ahead: one lane goes through all of it
    (`statements._tiles_of_one_lane`), and the others have nothing left to do but to meet it.
    """
    apart = any(e.names() & own_names(ir) for e in s.conditions)
    return apart and any(isinstance(op, Await) for op in operations((s,)))


@dataclass(slots=True)
class NamedBarriers:
    """Gives barriers their numbers.

    Parameters
    ----------
    given : for a scope in a role, by the role's place, the first number.
    used : how many numbers are.
    """

    given: dict[tuple, int] = field(default_factory=dict)
    used: int = 1

    def of(self, scope: str, place: tuple, role: Role, warp: Aff) -> tuple[Aff, int]:
        """A barrier's number, and the threads that wait there.

        Raises
        ------
        NotPrintable : the block has no more barriers.
        """
        groups = role.warps // WARPS if scope == "warpgroup" else 1
        if (scope, place) not in self.given:
            if self.used + groups > MOST:
                raise NotPrintable(
                    f"barrier number {self.used + groups - 1}, where a block has {MOST}",
                    where=f"role {role.name}",
                    hint="fewer roles with barriers of their own",
                )
            self.given[scope, place], self.used = self.used, self.used + groups
        first = aff(self.given[scope, place])
        number = first + (warp - role.first) // WARPS if groups > 1 else first
        return number, LANES * role.warps // groups
