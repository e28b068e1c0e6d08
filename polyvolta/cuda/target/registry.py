"""The one registry of targets: `pv.targets`, a mapping from names to targets that users add to.

pv.targets["sm_70"].shared_bytes
list(pv.targets)
pv.targets.register(Target("sm_86", ...))
pv.compile(A @ B, target="sm_80")
pv.compile(A @ B)                           # target="auto": the newest that the GPU at hand runs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from polyvolta.cuda import arch
from polyvolta.cuda.arch import AUTO
from polyvolta.cuda.errors import UnknownTarget
from polyvolta.cuda.target.ampere import SM_80
from polyvolta.cuda.target.checks import BadTarget
from polyvolta.cuda.target.hopper import SM_90A
from polyvolta.cuda.target.macro_mma import NoInstruction
from polyvolta.cuda.target.target import Target
from polyvolta.cuda.target.turing import SM_75
from polyvolta.cuda.target.volta import SM_70
from polyvolta.display.shown import Shown


class Targets(Shown, Mapping[str, Target]):
    """Targets by name, in the order in which they were registered; the first one is the default.

    >>> targets = Targets(SM_70, SM_75, SM_80, SM_90A)
    >>> list(targets), targets.default, "sm_86" in targets
    (['sm_70', 'sm_75', 'sm_80', 'sm_90a'], 'sm_70', False)
    """

    def __init__(self, *known: Target) -> None:
        self._targets: dict[str, Target] = {}
        for target in known:
            self._targets[target.name] = target

    def __getitem__(self, name: str) -> Target:
        if name not in self:
            raise UnknownTarget(f"no target is called {name!r}", hint=self.instead(str(name)))
        return self._targets[name]

    def instead(self, name: str) -> str:
        """What to take in the place of an unknown name: what a GPU of that name runs, or the nearest name.

        >>> made = Targets(SM_70, SM_80, SM_90A)
        >>> print(*map(made.instead, ("sm_86", "sm_90", "sm_60")), sep="\\n")
        take 'sm_80': its kernels run on sm_86, too
        take 'sm_90a': its kernels are for sm_90
        no target's kernels run on sm_60; known: sm_70, sm_80, sm_90a, auto
        """
        return arch.instead(name, self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._targets

    def get(self, name: str, default: Any = None) -> Any:
        """The target of a name, or the default.

        `default` is given for a name that no target has.

        >>> import polyvolta as pv
        >>> pv.targets.get("sm_70").shared_bytes, pv.targets.get("sm_60")
        (98304, None)
        """
        return self._targets[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)

    def __repr__(self) -> str:
        return f"<targets {', '.join(self)}>"

    @property
    def default(self) -> str:
        """The name of the target that kernels are made for where none is named and there is no GPU."""
        return next(iter(self._targets))

    def register(self, target: Target) -> Target:
        """Add a target; from then on its name stands for it.

        Registering an equal one again changes nothing.

        Returns
        -------
        The target.

        Raises
        ------
        BadTarget : no kernel can be made for it, or another one has its name.

        >>> import polyvolta as pv
        >>> pv.targets.register(pv.targets["sm_80"]) is pv.targets["sm_80"]
        True
        """
        if not isinstance(target, Target):
            raise BadTarget(f"{target!r} is no target", hint="make one: Target(name=..., ...)")
        checked(target)
        if self._targets.setdefault(target.name, target) != target:
            raise BadTarget(f"another target is called {target.name!r}", hint="targets stay as they were registered")
        return target

    def _html(self) -> str:
        from polyvolta.cuda.shown.targets import targets

        return targets(self.values())


targets = Targets(SM_70, SM_75, SM_80, SM_90A)
_DTYPES = {"half": "float16", "bfloat16": "bfloat16"}
"""What graphs call the kinds of elements."""


@lru_cache(maxsize=64)
def checked(target: Target) -> Target:
    """The target, of which everything was looked at; see `Target.check`."""
    target.check()
    return target


def target_of(name: str | Target | None = None) -> Target:
    """The target of a name, by default of the default; a target that isn't registered may stand for itself.

    Of the name "auto" it is the newest one that the GPU at hand runs, and the default without a GPU, or with one that
    is older than all targets.

    Raises
    ------
    UnknownTarget : suggests the newest target that a GPU of that name runs, or the nearest name.
    BadTarget : no kernel can be made for it.

    Cost: of "auto" the start of the GPU's driver, where there is one, once a process.

    >>> target_of("sm_70").shared_bytes
    98304
    """
    if isinstance(name, Target):
        return checked(name)
    if name == AUTO:
        gpu = arch.gpu_at_hand()
        name = gpu and arch.newest_for(gpu, targets)
    return targets[targets.default if name is None else name]


def require(target: Target, layouts: Iterable[tuple[str, str]], kind: str = "half") -> None:
    """Refuse elements of a kind, and pairs of operand layouts, that no macro-MMA of a target takes.

    Raises
    ------
    NoInstruction : says which, what the target has, and which targets have an instruction for it.
    """
    if kind not in target.kinds:
        having = [t.name for t in targets.values() if kind in t.kinds]
        known = " and ".join(_DTYPES[k] for k in target.kinds)
        raise NoInstruction(
            f"{target.name} has no instruction that multiplies {_DTYPES[kind]}, only {known}",
            hint=(f"take another target: {', '.join(having)}; or " if having else "") + f"tensors of {known}",
        )
    target = target.of_kind(kind)
    for pair in dict.fromkeys(layouts):
        if any(pair in m.layouts for m in target.macro_mmas):
            continue
        made = dict.fromkeys((i.title, ".".join(i.layouts)) for m in target.macro_mmas for i in m.instructions)
        sides = " by a ".join({"row": "row-major", "col": "column-major"}[x] for x in pair)
        having = {t.name: i.title for t in targets.values() for m in t.macro_mmas for i in m.instructions
                  if i.layouts == pair}  # fmt: skip
        others = ", ".join(f"{title} of {name}" for name, title in having.items())
        raise NoInstruction(
            f"{target.name} has no instruction for a {sides} operand, "
            f"only {', '.join(f'{title} {layouts}' for title, layouts in made)}",
            hint="lay the tensor the other way" + (f", or take another target: {others}" if others else ""),
        )
