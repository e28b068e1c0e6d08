"""isl's way to say which dimensions are meant: a kind, a position among those of the kind, and a number.

Here dimensions have names. What takes names or positions takes these three, too, so that a program that was written for
isl runs as it stands. Then it does as isl does, also to the tuple: it has no name, and is not wrapped, once dimensions
were added to it, moved or forgotten.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import NotSupported, UnknownName
from .space import Space, Tuple, fresh, whole

if TYPE_CHECKING:
    from .united import United

U = TypeVar("U", bound="United[Any]")


class dim_type(Enum):
    """Kinds of dimensions: parameters, those of a map's input tuple, and those of its output tuple or of a set's.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { S[i, j] : 0 <= i < j < N }").project_out(dim_type.set, 1, 1))
    [N] -> { [i] : 0 <= i <= N - 2 }
    >>> print(Set("[N] -> { S[i, j] : 0 <= i < j < N }").project_out("j"))
    [N] -> { S[i] : 0 <= i <= N - 2 }
    """

    cst = 0
    param = 1
    in_ = 2
    out = 3
    set = out
    div = 4
    all = 5

    def __int__(self) -> int:
        """isl's number of the kind."""
        return self.value

    __repr__ = Enum.__str__


NUMBERED = {kind.value: kind.name for kind in dim_type}  # isl's numbers stand for kinds where these are asked


def is_kind(x: object) -> bool:
    """Whether this says a kind; islpy's own does, too, and is no position though it is a number."""
    return type(x).__name__ == "dim_type"


def of_kind(value: Any, kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a set, a relation or a function
    """The names of the dimensions of a kind, of what has parameters and one space.

    Sets and relations have none that are constants or existentials, as isl's: their pieces have these. Sets and their
    spaces have no inputs.

    Raises
    ------
    UnknownName : it has none of that kind.
    SpaceMismatch : there are several tuples.

    >>> from polyvolta.sets import Map
    >>> m = Map("[N] -> { S[i, j] -> A[k] }")
    >>> of_kind(m, dim_type.param), of_kind(m, dim_type.in_), of_kind(m, dim_type.out)
    (('N',), ('i', 'j'), ('k',))
    """
    word = getattr(kind, "name", None) or NUMBERED.get(kind if isinstance(kind, int) else -1)
    if word in ("cst", "div") and hasattr(type(value), "parts"):
        return ()
    if word == "in_" and getattr(value, "_is_map", True) is False:
        return ()
    space = value if isinstance(value, Space) or word == "param" else value.space  # there may be several tuples
    if word in ("param", "all"):
        params: tuple[str, ...] | None = value.param_names
        if params is None:
            raise NotSupported("this space does not know the parameters", where=str(value),
                               hint="s.dim(kind) asks the set, and s.get_space() knows them")  # fmt: skip
        return params if word == "param" else (*params, *space.dims)
    if word in ("out", "set"):
        return space.out.dims
    if word == "in_":
        return space.inp.dims if space.inp is not None else ()
    raise _none_of(value, kind)


def _none_of(value: object, kind: object) -> UnknownName:
    word = getattr(kind, "name", None) or NUMBERED.get(kind if isinstance(kind, int) else -1)
    return UnknownName(f"there are no dimensions of the kind {word or kind!r}", where=str(value),
                       hint="dim_type.param, dim_type.set; of a map dim_type.in_, dim_type.out")  # fmt: skip


def spread(value: Any, kind: Any, first: object = 0, n: object = 1) -> tuple[str, ...]:  # noqa: ANN401
    """The names of `n` dimensions of a kind from the position `first` on.

    Raises
    ------
    UnknownName : there are fewer; none from wherever is none, as in isl.
    """
    names, low, number = of_kind(value, kind), whole(first), whole(n)
    if number == 0 and low is not None and low >= 0:
        return ()
    if not names and number != 0 and getattr(kind, "name", None) == "in_":
        raise _none_of(value, kind)
    if low is None or number is None or low < 0 or number < 0 or low + number > len(names):
        what = "dimension" if number == 1 else "dimensions"
        raise UnknownName(f"{n} {what} from position {first} on: out of range", where=str(value),
                          hint=f"there are {len(names)} of that kind")  # fmt: skip
    return names[low : low + number]


def need_of_points(value: Any, kind: Any) -> None:  # noqa: ANN401
    """Refuse what is no kind of the dimensions of a set's points, as parameters are none.

    Raises
    ------
    UnknownName
    """
    if getattr(kind, "name", kind) != "out":
        raise UnknownName(f"only dimensions of points are projected, not those of the kind {kind}", where=str(value),
                          hint="dim_type.set; project_out takes parameters, too")  # fmt: skip


def by_name(value: Any, dims: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401
    """Dimensions as they are given, by name or position, or the names of what isl's three say."""
    return spread(value, *dims) if dims and is_kind(dims[0]) else dims


def pair(value: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: ANN401
    """Two dimensions as they are given, or the names of those that isl's (kind, position, kind, position) say."""
    if len(given) == 4 and is_kind(given[0]) and is_kind(given[2]):
        return (*spread(value, *given[:2]), *spread(value, *given[2:]))
    return given


def plain(value: U, kind: Any) -> U:  # noqa: ANN401
    """The same points, the tuple of a kind without a name and not wrapped; of parameters nothing is changed."""
    if kind.name == "param":
        return value
    space = value.space
    flat = Tuple(None, of_kind(value, kind))
    space = Space(flat, space.out) if kind.name == "in_" else Space(space.inp, flat)
    return value._of(value.param_names, [(space, value.parts[0][1])])


def new_names(value: United[Any], kind: Any, at: int, n: int) -> list[str]:  # noqa: ANN401
    """Names for so many new dimensions, which isl has without."""
    taken = {*value.param_names, *value.space.dims}
    letter = "p" if kind.name == "param" else "i"
    names: list[str] = []
    if (number := whole(n)) is None or number < 0:
        raise UnknownName(f"a number of dimensions is wanted, not {n!r}", where=str(value))
    for k in range(number):
        names.append(fresh(f"{letter}{at + k}", taken))
        taken.add(names[-1])
    return names


def inserted(value: U, kind: Any, at: Any, n: Any = 1) -> U:  # noqa: ANN401
    """The same points with `n` new unconstrained dimensions of a kind at a position.

    Raises
    ------
    UnknownName : there is no such position; none at whichever position are none, as in isl.
    """
    if whole(n) == 0 and (where := whole(at)) is not None and where >= 0:
        return plain(value, kind)
    before = spread(value, kind, 0, at)
    names = new_names(value, kind, at, n)
    if kind.name == "param":
        return value.align_params([*before, *names, *value.param_names[at:]])
    side = "in" if kind.name == "in_" else "out"
    tail = of_kind(value, kind)[at:]
    grown = plain(value, kind).add_dims(*names, side=side)  # type: ignore[attr-defined]
    return grown.move_dims(*tail, to=side) if tail else grown


def projected(value: U, kind: Any, first: Any = 0, n: Any = 1) -> U:  # noqa: ANN401
    """Some dimensions of a kind forgotten."""
    names = spread(value, kind, first, n)
    if kind.name == "param":
        return value.project_out_param(*names)  # type: ignore[attr-defined]
    return plain(value, kind).project_out(*names)  # type: ignore[attr-defined]


def moved(value: U, to: Any, at: Any, *source: Any) -> U:  # noqa: ANN401
    """Dimensions, of a kind, from a position on, so many, at a position among those of another kind.

    Raises
    ------
    UnknownName : there is no such position.
    """
    names = spread(value, *source)
    going = set(names)
    left = [d for d in of_kind(value, to) if d not in going]
    if whole(at) is None or not 0 <= at <= len(left):
        hint = f"there are {len(left)} of that kind"
        raise UnknownName(f"position {at} is out of range", where=str(value), hint=hint)
    if names and of_kind(value, to)[at : at + len(names)] == names:
        return value  # they are there already
    side = {"param": "params", "in_": "in"}.get(to.name, "out")
    return plain(plain(value, to), source[0]).move_dims(*names, *left[at:], to=side)  # type: ignore[attr-defined]
