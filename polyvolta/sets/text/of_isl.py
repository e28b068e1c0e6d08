"""isl's names that are no attributes here: what makes a value, what is called otherwise, and what an error about a
missing attribute says.

Read only when an attribute is missing, so that those that are there cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from inspect import isfunction
from typing import Any

from ..errors import SHOWN, SetSyntaxError, SpaceMismatch, kind_of, one
from .isl_rows import ROWS

SETS = __name__.partition(".text.")[0] + "."  # where the classes are that rows and makers are of


def own(cls: type) -> type:
    """The class of polyvolta's that a class is, or that it derives from; of isl's unions and basic sets that of sets.

    >>> from polyvolta.sets import Set
    >>> own(type("Mine", (Set,), {"__module__": "mine"})) is own(Set) is Set
    True
    """
    return next((c for c in cls.__mro__ if c.__module__.startswith(SETS) and not hasattr(c, "_of_isl")), cls)


def counterpart(kind: str, name: str) -> str:
    """What does here what a method of isl does, for objects of a class; "" where isl has no such method.

    >>> counterpart("Set", "get_lattice_tile")
    'Set.box_hull, with strides'
    >>> counterpart("Map", "nothing_of_the_kind")
    ''
    """
    for patterns, here in (*ROWS.get(kind, ()), *ROWS[""]):
        if any(fnmatchcase(name, p) for p in patterns.split()):
            return here
    return ""


def lacking(cls: type, name: str) -> str:
    """What an error says of a missing attribute of a class or a value of it.

    >>> from polyvolta.sets import Set
    >>> lacking(Set, "get_lattice_tile")
    "a Set has no attribute 'get_lattice_tile'; for isl's get_lattice_tile there is: Set.box_hull, with strides"
    >>> lacking(Set, "intersct")
    "a Set has no attribute 'intersct'; did you mean intersect?"
    """
    return f"{one(SHOWN.get(cls.__name__, cls.__name__))} has no attribute {name!r}" + (
        _instead(cls, name) or _meant(cls, name)
    )


def _instead(cls: type, name: str) -> str:
    """What there is for a name of isl's; "" where isl has no such name."""
    here = counterpart(own(cls).__name__, name)
    if not here:
        return ""
    return f"; isl's {name} is {here}" if here.startswith("not here") else f"; for isl's {name} there is: {here}"


def _meant(cls: type, name: str) -> str:
    """Which name of a class was meant, of ours or of isl's; "" where none is near."""
    kind = own(cls).__name__
    of_isl = [n for k, n in _methods() if k == kind]
    made = [n for kinds, names, _ in _MAKERS if kind in (kinds or kind).split() for n in names.split()]
    known = [n for n in dir(cls) if not n.startswith("_")]
    elsewhere = [n for patterns, _ in (*ROWS.get(kind, ()), *ROWS[""]) for n in patterns.split() if "*" not in n]
    near = near_name(name, [*known, *made, *of_isl, *elsewhere])
    if not near:
        return ""
    there = near in known or near in made or near in of_isl
    return f"; did you mean {near}?" + ("" if there else _instead(cls, near))


NEAR = 0.75  # of the letters of both names, how many are the same in order; of many names some share fewer by chance


def near_name(name: str, known: Sequence[str]) -> str:
    """The known name that another one misspells; "" where none is near.

    Upper case and underscores tell no names apart: isl's own Python calls a `UnionMap` `union_map`.

    >>> near_name("intersct", ["union", "intersect"]), near_name("LexMin", ["lexmin"]), near_name("fix", ["mix_in"])
    ('intersect', 'lexmin', '')
    >>> near_name("union_map", ["UnionSet", "UnionMap"]), near_name("isEmpty", ["is_empty"])
    ('UnionMap', 'is_empty')
    """
    same = [n for n in known if n.replace("_", "").lower() == name.replace("_", "").lower()]
    return next(iter(same or get_close_matches(name, known, n=1, cutoff=NEAR)), "")


# ---- what isl calls otherwise


@lru_cache(maxsize=1 << 12)
def method(cls: type, name: str) -> Callable[..., Any] | None:
    """The method of a class, or of one that it derives from, that isl calls so and we otherwise; None without one.

    >>> from polyvolta.sets import PwAff, Set
    >>> method(Set, "get_basic_sets")(Set("{ [i] : i > 0 }"))
    [BasicSet('{ [i] : i >= 1 }')]
    >>> print(PwAff("{ [i] -> [i] }").add(PwAff("{ [i] -> [5] }")))
    { [i] -> [(i + 5)] }
    """
    known = _methods()
    kinds = (c.__name__ for c in own(cls).__mro__)
    return next((known[kind, name] for kind in kinds if (kind, name) in known), None)


@lru_cache(maxsize=1)
def _methods() -> dict[tuple[str, str], Callable[..., Any]]:
    from ..by_isl import methods
    from ..by_isl.arguments import checked
    from ..by_isl.basic import GIVEN, gives_narrow
    from ..functions.piecewise import left_to_others

    known = {(kind, n): f for kinds, names, f in methods() for kind in kinds.split() for n in names.split()}
    known |= {key: gives_narrow(known[key]) for key in GIVEN if key in known}
    known |= {(k, n): left_to_others(n, f) for (k, n), f in known.items() if k == "MultiPwAff" and isfunction(f)}
    classes = frozenset([kind for kind, _ in known]) | {"Relation"}
    return {(kind, n): checked(kind, n, f, classes) for (kind, n), f in known.items()}


# ---- what makes a value, by isl's names of functions of the class


@lru_cache(maxsize=1 << 12)
def maker(cls: type, name: str) -> Callable[..., Any] | None:
    """The function of a class, or of one that it derives from, that isl calls so; None where there is none.

    >>> from polyvolta.sets import Map, PwAff
    >>> print(Map.from_pw_aff(PwAff("{ S[i] -> [i // 2] }")))
    { S[i] -> [floor(i/2)] }
    >>> Map.from_pw_aff("{ S[i] -> [i // 2] }")
    Traceback (most recent call last):
        ...
    polyvolta.sets.errors.SpaceMismatch: [PV102] Map.from_pw_aff needs a PwAff or MultiPwAff, not a str
      '{ S[i] -> [i // 2] }'
    hint: a map becomes one by as_multi_pw_aff()
    """
    kind = own(cls).__name__
    for kinds, names, make in _MAKERS:
        if kind in (kinds or kind).split() and name in names.split():
            return _checked(cls, name, make)
    return None


def _checked(cls: type, name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """The function that counts its arguments, makes the value, and gives one of the class."""
    called = f"{cls.__name__}.{name}"
    most = 2 if make is _read else 1

    def made(*values: Any, **named: Any) -> Any:  # noqa: ANN401 - any of the classes
        if named:
            from ..by_isl.keywords import placed

            found = placed(make, values, named)
            values, named = (values, named) if found is None else (found, {})
        if named or not 1 <= len(values) <= most:
            given = ", ".join([kind_of(v) for v in values] + [f"{n}=..." for n in named]) or "nothing"
            what = "one text in isl's notation" if make is _read else "one value"
            raise SetSyntaxError(f"{called} takes {what}, not {given}")
        value = make(cls, called, values[-1])
        if make is _read or type(value) is cls or (isinstance(value, cls) and not hasattr(cls, "_is_map")):
            return value
        return cls(value)  # one of the two derives from the other

    made.__name__, made.__qualname__, made.__doc__ = name, called, make.__doc__
    return made


def _read(cls: Any, called: str, text: Any) -> Any:  # noqa: ANN401
    """The value that a text in isl's notation says; isl's context, before the text, means nothing here."""
    return cls(text)


def _same(cls: Any, called: str, value: Any) -> Any:  # noqa: ANN401
    """The value itself, for isl's classes of one kind are one class here."""
    kind = own(cls)
    if not isinstance(value, kind):
        other = _OTHERS.get((kind.__name__, own(type(value)).__name__), "")
        hint = f"{cls.__name__}(text) reads one" if isinstance(value, str) else other
        raise SpaceMismatch(f"{called} needs a {kind.__name__}, not {kind_of(value)}", where=str(value), hint=hint)
    return value


def _of_params(cls: Any, called: str, value: Any) -> Any:  # noqa: ANN401
    """The points of `[]` for the parameters that a set of parameters alone holds."""
    from ..values.space import POINT, Space

    _same(cls, called, value)
    if any(space.dims or space.out.name is not None or space.out.inner is not None for space, _ in value.parts):
        raise SpaceMismatch(f"{called} needs a set of parameters alone", where=str(value),
                            hint="s.params() says what the parameters of a set are")  # fmt: skip
    return value._of(value.param_names, [(Space(None, POINT), cs) for _, cs in value.parts])


def _graph(cls: Any, called: str, f: Any) -> Any:  # noqa: ANN401
    """The graph of a function: the pairs of an input and its value."""
    from ..functions.piecewise import check_function

    if not getattr(type(f), "_takes_over", ()):  # one of fractions, whose graph is of integers
        check_function(f, called)
    return f.as_map()


def _union_graph(cls: Any, called: str, f: Any) -> Any:  # noqa: ANN401
    """The graph of a function of several tuples, which is a relation here, or of another function."""
    return f if isinstance(f, own(cls)) else _graph(cls, called, f)


def _values(cls: Any, called: str, f: Any) -> Any:  # noqa: ANN401
    """The values of a function of parameters alone, for each choice of them one."""
    m = _graph(cls, called, f)
    if f.space.inp is not None and f.space.inp.dims:
        raise SpaceMismatch(f"{called} needs a function of parameters alone", where=str(f),
                            hint="f.as_map() is its graph, f.as_map().range() its values")  # fmt: skip
    return m.range()


def _of_point(cls: Any, called: str, p: Any) -> Any:  # noqa: ANN401
    """The set of one point, which isl's methods gave."""
    from ..by_isl.objects.values import Point

    if not isinstance(p, Point):
        raise SpaceMismatch(f"{called} needs a Point, not {kind_of(p)}", where=str(p),
                            hint='Set.from_points("S[i, j]", [(1, 2)]) takes tuples of numbers')  # fmt: skip
    return p.to_set()


def _zero(cls: Any, called: str, domain: Any) -> Any:  # noqa: ANN401
    """The function that is 0 everywhere in a space, or in that of a set."""
    from ..values.set import Set
    from ..values.space import Space

    if isinstance(domain, Set):
        return cls.on(domain.universe(domain.space).align_params(domain), 0)
    if not isinstance(domain, Space):
        raise SpaceMismatch(f"{called} needs a Space, not {kind_of(domain)}", where=str(domain), hint="s.space")
    return cls.on(Set.universe(domain), 0)


def _constrained(cls: Any, called: str, c: Any) -> Any:  # noqa: ANN401
    """The points of a space at which a constraint holds; its other names are parameters."""
    from ..by_isl.constraints import Constraint, add_constraint

    if not isinstance(c, Constraint):
        raise SpaceMismatch(f"{called} needs a Constraint, not {kind_of(c)}", where=str(c))
    others = [n for n in sorted(c.expr.names()) if n not in (*c.param_names, *c.space.dims)]
    return add_constraint(cls.universe(c.space).align_params([*c.param_names, *others]), c)


def _polynomial(cls: Any, called: str, f: Any) -> Any:  # noqa: ANN401
    """The polynomial that a function, which may have fractions, is on each of its pieces; 0 elsewhere."""
    from ..counting.quasipoly import QPolynomial
    from ..functions.piecewise import check_function
    from ..functions.rational import RationalPwAff

    num, den = (f.num, f.den) if isinstance(f, RationalPwAff) and f.nan.is_empty() else (f, 1)
    check_function(num, called)
    return cls(num.param_names, [(s, QPolynomial.of(e) * Fraction(1, den)) for s, e in num.pieces if QPolynomial.of(e)])


def _without_range(cls: Any, called: str, s: Any) -> Any:  # noqa: ANN401
    """The relation of each point of a set to a tuple of nothing."""
    return cls.from_domain_and_range(s, _nothing(called, s))


def _without_domain(cls: Any, called: str, s: Any) -> Any:  # noqa: ANN401
    """The relation of a tuple of nothing to each point of a set."""
    return cls.from_domain_and_range(_nothing(called, s), s)


def _nothing(called: str, s: Any) -> Any:  # noqa: ANN401
    """The set of the tuple of nothing, of the class of a set."""
    from ..values.shape import need_set

    return type(need_set(s, called))("{ [] }")


def _function(cls: Any, called: str, m: Any) -> Any:  # noqa: ANN401
    """The function that a relation is, which has at most one value anywhere."""
    from ..values.shape import need_map

    return need_map(m, called).as_pw_multi_aff()


def _alone(cls: Any, called: str, f: Any) -> Any:  # noqa: ANN401
    """The function with one value, which another one is, that of a `RationalPwAff` a fraction."""
    from ..functions.members import MultiFunction
    from ..functions.piecewise import check_function
    from ..functions.rational import RationalPwAff

    if isinstance(f, RationalPwAff):
        return MultiFunction.of(f.space, [f])
    check_function(f, called)
    return cls.of(f)


def _identity(cls: Any, called: str, space: Any) -> Any:  # noqa: ANN401
    """The function of each point of a space to itself."""
    from ..by_isl.functions.made import identical

    return identical(cls, called, space)


def _zeros(cls: Any, called: str, space: Any) -> Any:  # noqa: ANN401
    """The function that is 0 in each dimension of a space."""
    from ..by_isl.functions.methods import zero

    return zero(cls, called, space)


_OTHERS = {
    ("Set", "Map"): "m.wrap() is its pairs as a set",
    ("Map", "Set"): "s.identity() or s.unwrap() is a map",
    ("MultiPwAff", "PwAff"): "MultiPwAff.from_pw_aff(f) has its value alone",
    ("MultiPwAff", "Map"): "MultiPwAff.from_map(m) is the function that a relation is",
}
"""Of a kind that is needed, and one that is given: how to come from it."""

_MAKERS = (
    ("", "read_from_str", _read),
    ("Set", "from_basic_set from_set from_union_set", _same),
    ("Set", "from_params", _of_params),
    ("Set Map", "from_constraint", _constrained),
    ("Set", "from_point", _of_point),
    ("Map", "from_basic_map from_map from_union_map", _same),
    ("Map", "from_aff from_multi_aff from_multi_pw_aff from_pw_aff from_pw_multi_aff", _graph),
    ("Map", "from_union_pw_aff from_union_pw_multi_aff from_multi_union_pw_aff", _union_graph),
    ("Set", "from_multi_aff from_multi_pw_aff from_pw_aff from_pw_multi_aff", _values),
    ("Map", "from_domain", _without_range),
    ("Map", "from_range", _without_domain),
    ("MultiPwAff", "from_multi_aff from_multi_pw_aff from_pw_multi_aff", _same),
    ("MultiPwAff", "from_map from_union_map", _function),
    ("MultiPwAff", "from_aff from_pw_aff", _alone),
    ("MultiPwAff", "identity identity_on_domain_space", _identity),
    ("MultiPwAff", "zero", _zeros),
    ("PwAff", "from_aff from_pw_aff", _same),
    ("PwAff", "zero_on_domain zero_on_domain_space", _zero),
    ("PwQPolynomial", "from_pw_aff", _polynomial),
)

CLASSES = (
    ("MultiId", "polyvolta.isl has it; a tuple of names"),
    ("MultiVal", "polyvolta.isl has it; a tuple of numbers"),
    ("LocalSpace", "polyvolta.isl has it; a Space"),
    ("Mat", "polyvolta.isl has it; s & Set(text)"),
    ("Vec", "a tuple of numbers"),
    ("*QPolynomialFold", "polyvolta.isl has it, which PwQPolynomial.bound gives"),
    ("Term", "polyvolta.isl has it; QPolynomial.terms"),
    ("StrideInfo", "what get_stride_info gives, or box_hull().stride"),
    ("FixedBox", "what Set.box_hull and Map.box_hull give"),
    ("Vertices Vertex Cell", "what Set.compute_vertices gives"),
    ("*List", "several values are a list of Python's; polyvolta.isl has isl's"),
    ("Schedule* Ast* IdToAstExpr Union*Flow UnionAccessInfo Flow AccessInfo Restriction", "see polyvolta.sched"),
    ("Printer", "polyvolta.isl has it; str(x)"),
)
"""isl's classes and the like that are none here: names, and what is here."""


def instead(name: str, known: Sequence[str]) -> str:
    """What an error says of a name that a module with these ones lacks: what is here for isl's, or which was meant.

    >>> instead("union_map", ["UnionSet", "UnionMap"]), instead("_Set", ["Set"])
    ('; did you mean UnionMap?', '')
    """
    if name.startswith("_"):
        return ""
    near = near_name(name, known)
    return of_module(name) or (f"; did you mean {near}?" if near else "")


def of_module(name: str) -> str:
    """What an error says of a name that isl's module has; "" of one that it hasn't.

    >>> of_module("StrideInfo")
    "; isl's StrideInfo is not here: what get_stride_info gives, or box_hull().stride"
    """
    for patterns, here in CLASSES:
        if any(fnmatchcase(name, p) for p in patterns.split()):
            return f"; isl's {name} is not here: {here}"
    return ""
