"""Arguments by islpy's keywords: `s.project_out(type=dim_type.set, first=0, n=1)`, whatever a method calls them here.

islpy names its arguments by isl's declarations: `set2` of a set, `pwaff2` of a function, `type, pos, v` of what is set.
All of its signatures keep one order of these names but for the three in `OTHERWISE`, so keywords say where the values
stand, and no list of signatures is needed. A method that knows all keywords of a call takes them as its own, and one
that takes keywords of any name, such as values of parameters, does where it needs no other argument. `polyvolta.isl`
has its classes do this, and those of values that are instances of these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from functools import lru_cache, wraps
from typing import Any, TypeVar

from ..errors import SHOWN
from ..values.kinds import is_kind
from ..values.space import whole

C = TypeVar("C", bound=type)

SEVERAL = (
    "ctx domain ls space c p bset2 vec2 set2 row dst_type dst_col index type1 domain_space input pnt1 bset in_pos "
    "pwaff_true source_restr contraction condition tuple_id must_source str n_row i nparam u size range ma pma n_equal "
    "eq mv type options col dst_pos src_col pos1 space2 list pnt2 out_pos pwaff_false sink_restr expansion validity "
    "may_source n_col j dim n_in ineq pos first set pwqp src_type type2 proximity schedule n_out c1 name id s val el "
    "arg value fn multi2 pa coincident num aff maff qp fold src_pos pos2 c2 note n c3 v c4 c5 user"
)
"""islpy's names of arguments that stand beside others, in the order of its signatures."""
ALONE = (
    "aff2 model pnt mod list2 test cmp mpa iterators indices expr2 arguments id2expr expr annotation print_for "
    "print_user constraint bmap2 dom bmap obj constraint2 max_operations must ls2 map2 pwf tuple exp d pwaff umap "
    "factor params set_space lower upper right bot mat2 vec neg ma2 mpa2 upa upma uset mupa2 mv2 indent node map mi "
    "mupa sc access flow upwqp upwf prefix width output_format suffix yaml_style pwaff2 pa2 f pma2 pwqp2 exponent "
    "max_periods sign pwf2 qp2 term power fold2 source_map guard partial schedule2 coincidence generation permutable "
    "shift sizes extension ancestor node2 graft group_id filter mark filters sink kill schedule_map umap2 upa2 upma2 "
    "upwqp2 upwf2 uset2 v2 mat context"
)
"""Those that stand alone, and that of what stands last."""
RANK = {name: k for k, name in enumerate(f"{SEVERAL} {ALONE}".split())}
OTHERWISE = {
    "empty": ("type", "space"),
    "band_member_set_ast_loop_type": ("pos", "type"),
    "band_member_set_isolate_ast_loop_type": ("pos", "type"),
}
"""Methods that have two of the names in another order."""


@lru_cache(maxsize=1 << 12)
def _order(f: Callable[..., Any]) -> tuple[dict[str, int], bool]:
    """Where a function takes the arguments that it has names for, and whether it takes any number of others."""
    found = inspect.signature(f).parameters.values()
    names = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
    return {name: k for k, name in enumerate(names)}, any(p.kind is p.VAR_POSITIONAL for p in found)


def _complete(f: Callable[..., Any], name: str, values: tuple[Any, ...], named: dict[str, int]) -> bool:
    """Whether nothing is left out before what keywords say: no value would be taken for another one.

    Each keyword that the function has itself stands where it has it. Of any number of arguments those up to `n`
    dimensions are a place for each kind of them, as in all of islpy's signatures, but for dimensions that are added.
    """
    own, several = _order(f)
    if any(own.get(keyword, at) != at for keyword, at in named.items()):
        return False
    if not several or "n" not in named or name.startswith("add_"):
        return True
    where = [k for k, v in enumerate(values) if is_kind(v)]
    return bool(where) and len(values) - where[0] == 2 * len(where) + 1


@lru_cache(maxsize=1 << 12)
def _needed(f: Callable[..., Any]) -> int:
    """How many arguments a function needs, of those that have a position."""
    found = inspect.signature(f).parameters.values()
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in found)


def _are_values(f: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether keywords of a function that takes any are values by name: it needs no more, and `pnt` is no point."""
    if named.keys() == {"pnt"}:
        return whole(named["pnt"]) is not None
    return len(args) + len(named) > _needed(f)


@lru_cache(maxsize=1 << 12)
def _own(f: Callable[..., Any]) -> frozenset[str] | None:
    """The keywords that a function takes; None of one that takes any."""
    found = inspect.signature(f).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in found) and not any(p.kind is p.VAR_POSITIONAL for p in found):
        return None
    return frozenset([p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)])


def placed(
    f: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], name: str = ""
) -> tuple[Any, ...] | None:
    """The arguments of a call by islpy's keywords where they stand; None of one by a function's own or unknown ones.

    None, too, where one is missing before another, which would be taken for it. A function may have a name of isl's.

    >>> def moved(self, kind, pos, value): ...
    >>> placed(moved, ("a set",), {"v": 7, "type": "param", "pos": 0})
    ('a set', 'param', 0, 7)
    >>> placed(moved, ("a set",), {"kind": "param", "pos": 0, "value": 7}) is placed(moved, (), {"w": 7}) is None
    True
    """
    own = _own(f)
    if not RANK.keys() >= named.keys():
        return None
    if _are_values(f, args, named) if own is None else own >= named.keys():
        return None
    order = sorted(named, key=RANK.__getitem__)
    pair = OTHERWISE.get(name or f.__name__)
    if pair is not None and named.keys() == {*pair}:
        order = list(pair)
    values = (*args, *[named[keyword] for keyword in order])
    at = {keyword: k for k, keyword in enumerate(order, len(args))}
    return values if _complete(f, name or f.__name__, values, at) else None


def by_keywords(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, which takes islpy's keywords, too; one more call where there are none."""

    @wraps(f)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        found = placed(f, args, named, name) if named else None
        return f(*args, **named) if found is None else f(*found)

    call._takes_keywords = True  # type: ignore[attr-defined] - which a function around it has, too
    return call


def take_keywords(cls: C) -> C:
    """The class, whose public methods take islpy's keywords, and those of the classes of ours that it is made of."""
    for owner in cls.__mro__:
        if not owner.__module__.startswith("polyvolta.") or issubclass(owner, Enum):
            continue
        for name, value in list(vars(owner).items()):
            if owner.__name__ in SHOWN and inspect.isfunction(value):
                value.__qualname__ = f"{SHOWN[owner.__name__]}.{name}"  # which Python's own errors say
            if name.startswith("_") and name not in ("__init__", "__new__"):
                continue
            bound = isinstance(value, (classmethod, staticmethod))
            f = value.__func__ if bound else value
            least = 0 if isinstance(value, staticmethod) else 1  # what it is called on
            if hasattr(f, "_takes_keywords"):
                continue
            if inspect.isfunction(f) and (f.__code__.co_argcount > least or f.__code__.co_flags & inspect.CO_VARARGS):
                made = by_keywords(f, name)
                setattr(owner, name, type(value)(made) if bound else made)
    return cls
