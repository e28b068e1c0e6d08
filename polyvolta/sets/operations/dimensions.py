"""Parameters and dimensions of relations: methods of `Set` and `Map`.

A dimension is addressed by its name, or by its position among the inputs and outputs together; a parameter by its
name. Names are for people: renaming changes no point, and two relations need not agree on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..conjuncts import conjunct as cj
from ..conjuncts import project as pj
from ..errors import SpaceMismatch, UnknownName, nearest
from ..optima.projected import projected
from ..text.tokens import NAME, is_spelt, is_word
from ..values import kinds
from ..values.kinds import dim_type
from ..values.shape import need_set
from ..values.space import PARAMS, STANDING, Space, Tuple, position, positions, renamed, whole, without
from .algebra import conjoin_all

if TYPE_CHECKING:
    from ..values.map import Map
    from ..values.relation import Relation
    from ..values.set import Set
    from ..values.united import United

R = TypeVar("R", bound="Relation")
U = TypeVar("U", bound="United[Any]")


def params(self: Relation) -> Set:
    """The parameter values with a point, as a set without dimensions; exact, m projections.

    Such a set prints as `{ : ... }`. It has the same points as one of the anonymous tuple without dimensions,
    `{ [] : ... }`, and is taken wherever that is, where isl's are of two spaces.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { S[i] : 0 <= i < N }").params())
    [N] -> { : N >= 1 }
    >>> Set("{ [] }") == Set("{ : }")
    True
    """
    from ..values.set import Set

    n = len(self.param_names)
    out = []
    for _, cs in self.parts:
        out += [projected(c, tuple(range(n, c.n)), large=0) for c in cs]  # most are a few bounds
    return Set._of(self.param_names, [(Space(None, PARAMS), tuple(c for c in out if c is not None))])


def intersect_params(self: R, context: Set) -> R:
    """The points for parameter values in `context`, a set without dimensions; O(m n) conjunctions.

    `SpaceMismatch` is raised where `context` has dimensions.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N }").intersect_params(Set("[N] -> { : N = 8 }")))
    [N] -> { [i] : N = 8 and 0 <= i <= 7 }
    """
    need_set(context, "a restriction of the parameters")
    if any(s.dims for s, _ in context.parts):
        raise SpaceMismatch("a context has no dimensions", where=str(context), hint='write "[N] -> { : N > 0 }"')
    a, b = self._aligned(context)
    knives = [c for _, cs in b.parts for c in cs]
    parts = []
    for space, cs in a.parts:
        wide = [cj.reindex(k, len(a.param_names) + len(space.dims), tuple(range(len(a.param_names)))) for k in knives]
        parts.append((space, conjoin_all(cs, wide)))
    return a._of(a.param_names, parts)


def known_divs(self: R) -> R:
    """The same points, every existential a floor; exact, by parametric lexmin, may split pieces.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i] : exists(k : 3k <= i <= 3k + 1) }").known_divs())
    { [i] : (i + 1) mod 3 >= 1 }
    """
    return self._of(
        self.param_names, [(s, tuple(d for c in cs for d in pj.with_known_divs(c))) for s, cs in self.parts]
    )


def project_out(self: U, *dims: str | int | dim_type) -> U:
    """Forget some dimensions: a point is in the result when one above it is in this.

    `dims` are names or positions, or isl's kind, first position and number; `UnknownName` is raised for others.

    Exact over the integers, m eliminations; existentials that no floor expresses stay existentials.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ [i, j] : i = 2j and 0 <= j < 5 }").project_out("j"))
    { [i] : i mod 2 = 0 and 0 <= i <= 8 }
    """
    if dims and kinds.is_kind(dims[0]):
        return kinds.projected(self, *dims)
    space = self.space
    for d in dims:
        if isinstance(d, str) and d in self.param_names:
            raise UnknownName(f"{d!r} is a parameter", where=str(self), hint=f"project_out_params({d!r})")
    gone = set(positions(dims, space.dims, space))
    n_in = space.n_in
    out = without(space.out, {k - n_in for k in gone})
    inp = space.inp and without(space.inp, gone)
    drop = tuple(sorted(len(self.param_names) + k for k in gone))
    cs = [self._project(c, drop) for c in self.parts[0][1]]
    return self._of(self.param_names, [(Space(inp, out), tuple([c for c in cs if c is not None]))])


def project_out_params(self: U, *names: str) -> U:
    """Forget some parameters, in every space; exact, m eliminations.

    `names` are of parameters; `UnknownName` is raised for others.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N, M] -> { [i] : 0 <= i < N < M }").project_out_param("N"))
    [M] -> { [i] : 0 <= i <= M - 2 }
    """
    drop = tuple(sorted({*positions(names, self.param_names, _params_text(self), "parameter")}))
    gone = set(drop)
    params = tuple(p for k, p in enumerate(self.param_names) if k not in gone)
    parts = []
    for s, cs in self.parts:
        done = (self._project(c, drop) for c in cs)
        parts.append((s, tuple(c for c in done if c is not None)))
    return self._of(params, parts)


def project_out_all_params(self: U) -> U:
    """Forget all parameters; see `project_out_params`.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N < 9 }").project_out_all_params())
    { [i] : 0 <= i <= 7 }
    """
    return project_out_params(self, *self.param_names)


def complement(self: U) -> U:
    """The points of the same spaces that are not in this relation; exact, by subtraction.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("{ [i] : 0 <= i < 10 }").complement())
    { [i] : i <= -1; [i] : i >= 10 }
    >>> print(Map("{ [i] -> [j] : i <= j }").complement())
    { [i] -> [j] : j < i }
    """
    n_par = len(self.param_names)
    everything = [(s, (self._universe(n_par + len(s.dims)),)) for s, _ in self.parts]
    whole: Any = self._of(self.param_names, everything)
    return whole.subtract(self)


# ---- names


def rename(self: U, name: str | None) -> U:
    """The same points in a tuple of another name, None for an anonymous one; the set has one tuple. Linear.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i] : i > 3 }").rename("R"))
    { R[i] : i >= 4 }

    Raises
    ------
    SpaceMismatch : there are several tuples.
    """
    return _with_space(self, Space(None, named(self.space.out, name)))


def rename_domain(self: Map, name: str | None) -> Map:
    """The same pairs, the input tuple under another name; the map has one tuple a side. Linear.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> [i + 1] }").rename_domain("T").rename_range("A"))
    { T[i] -> A[i + 1] }

    Raises
    ------
    SpaceMismatch : there are several tuples.
    """
    return _with_space(self, Space(named(self.space.source, name), self.space.out))


def rename_range(self: Map, name: str | None) -> Map:
    """The same pairs, the output tuple under another name; see `rename_domain`.

    >>> from polyvolta.sets import Map
    >>> print(Map("{ S[i] -> A[i + 1] }").rename_range("B"))
    { S[i] -> B[i + 1] }
    """
    return _with_space(self, Space(self.space.inp, named(self.space.out, name)))


def named(tup: Tuple, name: str | None) -> Tuple:
    """The tuple under another name.

    Raises
    ------
    UnknownName : a text could not say that name.
    """
    if name is not None and not (isinstance(name, str) and NAME.fullmatch(name)):
        raise UnknownName(f"{name!r} is no name for a tuple", where=str(tup), hint="letters, digits, _ and '")
    return Tuple(name, tup.dims, tup.inner)


def is_name(name: object) -> bool:
    """Whether it can stand for a dimension or a parameter in isl's notation."""
    return isinstance(name, str) and is_spelt(name.rstrip(STANDING))


def _with_space(self: U, space: Space) -> U:
    return self._of(self.param_names, [(space, self.parts[0][1])])


def rename_dims(self: U, names: Mapping[str | int, str] | None = None, /, **more: str) -> U:
    """The same points, some dimensions under other names; linear. Names say nothing of the points.

    `more` are new names by old ones, as in the mapping.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i, j] : i <= j }").rename_dims(i="row", j="col"))
    { S[row, col] : row <= col }
    >>> print(Set("{ S[i, j] : i <= j }").rename_dims({"i": "j", "j": "i"}))
    { S[j, i] : j <= i }

    Raises
    ------
    UnknownName : no dimension of that name or position.
    SpaceMismatch : two would have the same name, or there are several tuples.
    """
    space = self.space
    dims = _renamed_list(space.dims, names, more, str(space), "dimension")
    _distinct(dims, self.param_names, str(space))
    n = space.n_in
    inp = renamed(space.inp, dims[:n]) if space.inp else None
    return _with_space(self, Space(inp, renamed(space.out, dims[n:])))


def rename_params(self: U, names: Mapping[str | int, str] | None = None, /, **more: str) -> U:
    """The same relation over parameters of other names; linear.

    `more` are new names by old ones, as in the mapping.

    >>> from polyvolta.sets import Set
    >>> print(Set("[N] -> { [i] : 0 <= i < N }").rename_params(N="M"))
    [M] -> { [i] : 0 <= i < M }

    Raises
    ------
    UnknownName : no parameter of that name.
    SpaceMismatch : two would have the same name, or a dimension has it.
    """
    params = _renamed_list(self.param_names, names, more, _params_text(self), "parameter")
    for space, _ in self.parts:
        _distinct(space.dims, params, str(space))
    _distinct(params, (), f"[{', '.join(params)}]")
    return self._of(params, self.parts)


def _params_text(self: United[Any]) -> str:
    return f"[{', '.join(self.param_names)}]"


def _renamed_list(
    old: tuple[str, ...], names: Mapping[str | int, str] | None, more: Mapping[str, str], where: str, what: str
) -> tuple[str, ...]:
    if names is not None and not isinstance(names, Mapping):
        raise UnknownName(f"new names are a mapping, not {names!r}", where=where, hint='{"old": "new"} or old="new"')
    new = list(old)
    for key, name in {**(names or {}), **more}.items():
        if not is_name(name) or (what == "dimension" and is_word(name)):
            word = isinstance(name, str) and NAME.fullmatch(name.rstrip(STANDING))
            hint = "it is a word of the notation" if word else "letters, digits, _ and '"
            raise UnknownName(f"{name!r} is no name for a {what}", where=where, hint=hint)
        new[position(key, old, where, what)] = name
    return tuple(new)


def _distinct(names: Iterable[str], taken: Iterable[str], where: str) -> None:
    """Whether names can stand together.

    Raises
    ------
    SpaceMismatch : one is there twice, or taken.
    """
    seen = set(taken)
    for name in names:
        if name in seen:
            raise SpaceMismatch(f"the name {name!r} would stand twice", where=where, hint="choose another name")
        seen.add(name)


# ---- adding, moving and forgetting dimensions


def insert_dims(self: U, before: str | int | dim_type, *names: str | int) -> U:
    """New unconstrained dimensions in front of another, in its tuple, or at the position behind the last; linear.

    `names` are those of the dimensions, `before` a name or a position; or both are isl's kind, position and number.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("{ S[i, j] : i <= j }").insert_dims("j", "k"))
    { S[i, k, j] : i <= j }
    >>> print(Map("{ S[i] -> A[i] }").insert_dims(0, "t"))
    { S[t, i] -> A[i] }

    Raises
    ------
    UnknownName : no dimension of that name or position (`add_dims` appends).
    SpaceMismatch : a name is taken, the tuple is wrapped, or there are several tuples.
    """
    if kinds.is_kind(before):
        return kinds.inserted(self, before, *names)
    space = self.space
    at = len(space.dims)
    if whole(before) != at:
        at = position(before, space.dims, space)
    return _inserted(self, at, cast("tuple[str, ...]", names), on_input=at < space.n_in)


def add_dims(self: U, *names: str | int | dim_type, side: str = "out") -> U:
    """New unconstrained dimensions at the end of a tuple, with `side="in"` of a map's input tuple; linear.

    `names` are those of the dimensions, or isl's kind and number.

    >>> from polyvolta.sets import Map, Set
    >>> print(Set("{ S[i] : i > 0 }").add_dims("j"))
    { S[i, j] : i >= 1 }
    >>> print(Map("{ S[i] -> A[i] }").add_dims("t", side="in"))
    { S[i, t] -> A[i] }

    Raises
    ------
    SpaceMismatch : a name is taken, the tuple is wrapped, there are several tuples, or no such side.
    """
    if names and kinds.is_kind(names[0]):
        return kinds.inserted(self, names[0], len(kinds.of_kind(self, names[0])), *names[1:])
    space = self.space
    on_input = _on_input(space, side)
    return _inserted(self, space.n_in if on_input else len(space.dims), cast("tuple[str, ...]", names), on_input)


def _on_input(space: Space, side: str) -> bool:
    if side not in ("in", "out"):
        raise SpaceMismatch(f"a side is 'in' or 'out', not {side!r}", where=str(space))
    if side == "in" and space.inp is None:
        raise SpaceMismatch("a set has no input tuple", where=str(space), hint="leave side out")
    return side == "in"


def _inserted(self: U, at: int, names: Sequence[str], on_input: bool) -> U:
    """With dimensions at a position of the inputs and outputs together, in the input or the output tuple."""
    space, n_par = self.space, len(self.param_names)
    _renamed_list(tuple(names), dict(enumerate(names)), {}, str(space), "dimension")
    _distinct((*space.dims, *names), self.param_names, str(space))
    inp, out = space.inp, space.out
    if on_input:
        inp = _grown(space.source, at, names, space)
    else:
        out = _grown(out, at - space.n_in, names, space)
    old = len(space.dims)
    places = (*range(n_par + at), *range(n_par + at + len(names), n_par + old + len(names)))
    wide = tuple(self._reindex(c, n_par + old + len(names), places) for c in self.parts[0][1])
    return self._of(self.param_names, [(Space(inp, out), wide)])


def _grown(tup: Tuple, at: int, names: Sequence[str], space: Space) -> Tuple:
    if tup.inner is not None:
        raise SpaceMismatch(
            "a wrapped tuple takes no dimensions", where=str(space), hint="unwrap() or flatten() it first"
        )
    return Tuple(tup.name, (*tup.dims[:at], *names, *tup.dims[at:]))


def project_onto(self: U, *dims: str | int) -> U:
    """Forget all other dimensions; those kept stay in their order. Exact, see `project_out`.

    `dims` are names or positions.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i, j, k] : 0 <= i < j < k < 9 }").project_onto("j"))
    { S[j] : 1 <= j <= 7 }
    """
    space = self.space
    kept = {position(d, space.dims, space) for d in dims}
    return project_out(self, *(k for k in range(len(space.dims)) if k not in kept))


def eliminate(self: U, *dims: str | int | dim_type) -> U:
    """Let dimensions, or parameters by name, take any value: projected out, but they stay in place. Exact.

    `dims` are names or positions, or isl's kind, first position and number.

    >>> from polyvolta.sets import Set
    >>> print(Set("{ S[i, j] : 0 <= i < j < 9 }").eliminate("j"))
    { S[i, j] : 0 <= i <= 7 }

    Raises
    ------
    UnknownName : no parameter or dimension of that name or position.
    SpaceMismatch : there are several tuples.
    """
    space, n_par = self.space, len(self.param_names)
    gone = set(_columns(self, kinds.by_name(self, dims)))
    kept = tuple(k for k in range(n_par + len(space.dims)) if k not in gone)
    done = (self._project(c, tuple(sorted(gone))) for c in self.parts[0][1])
    wide = (self._reindex(c, n_par + len(space.dims), kept) for c in done if c is not None)
    return self._of(self.param_names, [(space, tuple(wide))])


def column(self: United[Any], dim: object) -> int:
    """The position, parameters first, of a parameter or dimension by name, or of a dimension by position."""
    space = self.space
    if isinstance(dim, str) and dim in self.param_names:
        return self.param_names.index(dim)
    if isinstance(dim, str) and dim not in space.dims:
        known = (*self.param_names, *space.dims)
        where = f"{_params_text(self)} -> {space}" if self.param_names else str(space)
        raise UnknownName(f"no parameter or dimension is called {dim!r}", where=where, hint=nearest(dim, known))
    return len(self.param_names) + position(dim, space.dims, space)


def _columns(self: United[Any], dims: Iterable[object]) -> list[int]:
    """The positions of many, as `column` has that of one."""
    names = (*self.param_names, *self.space.dims)
    at = {name: k for k, name in reversed([*enumerate(names)])}
    return [at[d] if isinstance(d, str) and d in at else column(self, d) for d in dims]


def move_dims(self: U, *dims: str | int | dim_type, to: str | None = None) -> U:
    """Dimensions or parameters, by name, moved to the end of the parameters or of a tuple; linear.

    `dims` are names or positions; or, without `to`, isl's kind and position to move to, kind, position and number.

    `to` is "params", "in" or "out". Moving to the parameters and back is how isl users treat an outer loop as fixed.

    >>> from polyvolta.sets import Set
    >>> outer = Set("{ S[i, j] : 0 <= j <= i and i < 4 }").move_dims("i", to="params")
    >>> print(outer)
    [i] -> { S[j] : i <= 3 and 0 <= j <= i }
    >>> print(outer.move_dims("i", to="out"))
    { S[j, i] : j >= 0 and j <= i <= 3 }

    Raises
    ------
    UnknownName : no parameter or dimension of that name.
    SpaceMismatch : a wrapped tuple gains or loses dimensions, there are several tuples, or no such place.
    """
    if to is None and len(dims) == 5 and kinds.is_kind(dims[0]):
        return kinds.moved(self, *dims)
    space = self.space
    if to not in ("params", "in", "out"):
        raise SpaceMismatch(f"dimensions move to 'params', 'in' or 'out', not to {to!r}", where=str(space))
    columns = list(dict.fromkeys(_columns(self, dims)))
    names = (*self.param_names, *space.dims)
    n_par, n_in = len(self.param_names), space.n_in
    groups = {"params": range(n_par), "in": range(n_par, n_par + n_in), "out": range(n_par + n_in, len(names))}
    if to != "params":
        _on_input(space, to)
    gone = set(columns)
    after = {key: [k for k in cols if k not in gone] for key, cols in groups.items()}
    after[to] += columns
    tuples = {"in": space.inp, "out": space.out}
    for key, tup in tuples.items():
        if tup is not None and after[key] != list(groups[key]):
            tuples[key] = _grown(Tuple(tup.name, (), tup.inner), 0, [names[k] for k in after[key]], space)
    order = [*after["params"], *after["in"], *after["out"]]
    places = tuple(sorted(range(len(names)), key=order.__getitem__))  # the order, turned round
    moved = tuple(self._reindex(c, c.n, places) for c in self.parts[0][1])
    params = tuple(names[k] for k in after["params"])
    return self._of(params, [(Space(tuples["in"], tuples["out"]), moved)])
