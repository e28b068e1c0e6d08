"""isl's classes of what is one piece, `polyvolta.isl.BasicSet` and `BasicMap`, or one expression everywhere, `Aff` and
`MultiAff`.

They are sets, relations and functions, whose methods they have. What these give is of the class without that
property, but where isl's methods, which `KEPT` lists, keep it, and all operands have it. Some methods of the others
give them, too (`GIVEN`, and what calls `narrowed`).

>>> from polyvolta.isl import Aff, BasicSet, Set
>>> some = BasicSet("{ [i] : i > 3 }")
>>> some, some & BasicSet("{ [i] : i < 7 }"), some | some, some == Set("{ [i] : i > 3 }")
(BasicSet('{ [i] : i >= 4 }'), BasicSet('{ [i] : 4 <= i <= 6 }'), Set('{ [i] : i >= 4 }'), True)
>>> f = Aff("{ [i] -> [i + 1] }")
>>> f + 2 * f, f.max(f - 3), isinstance(f.to_pw_aff(), Aff)
(Aff('{ [i] -> [(3*i + 3)] }'), PwAff('{ [i] -> [(i + 1)] }'), False)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction, ismethod
from typing import Any, Self

from ..conjuncts import conjunct as cj
from ..errors import SetSyntaxError, kind_of
from ..functions.members import MultiFunction
from ..functions.multi_pwaff import MultiPwAff
from ..functions.piecewise import Piecewise
from ..functions.pwaff import PwAff
from ..functions.rational import RationalPwAff
from ..values.map import Map
from ..values.named import NamedByValue
from ..values.relation import Relation
from ..values.set import Set
from .functions import readers

_RELATIONS = (
    "__and__ add_constraint add_constraints add_dims align_params detect_equalities drop_constraints_involving_dims"
    " drop_constraints_not_involving_dims drop_unused_params eliminate empty fix_val flat_product flatten"
    " from_constraint_matrices gist insert_dims intersect intersect_params lift move_dims nat_universe params"
    " project_out remove_divs remove_divs_involving_dims remove_redundancies remove_unknown_divs set_dim_name"
    " set_tuple_id set_tuple_name universe"
)
_FUNCTIONS = (
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __neg__ add_dims align_params domain_reverse drop_dims"
    " from_range gist insert_dims move_dims neg project_domain_on_params pullback_multi_aff scale_down_val"
    " set_dim_name set_tuple_id set_tuple_name unbind_params_insert_domain"
)
KEPT = {
    name: frozenset(" ".join(names).split())
    for name, names in {
        "BasicSet": (
            _RELATIONS,
            "apply box_from_points lower_bound_val neg positive_orthant preimage_multi_aff unwrap upper_bound_val",
        ),
        "BasicMap": (
            _RELATIONS,
            "apply_domain apply_range curry deltas deltas_map domain domain_map domain_product equal equate"
            " flat_range_product flatten_domain flatten_range from_domain_and_range gist_domain identity"
            " intersect_domain intersect_range less_at lower_bound_si more_at neg order_ge order_gt"
            " preimage_domain_multi_aff preimage_range_multi_aff product range range_map range_product reverse sum"
            " uncurry upper_bound_si wrap zip",
        ),
        "Aff": (
            _FUNCTIONS,
            "__mod__ __floordiv__ add_coefficient_val bind_id div eq_basic_set ge_basic_set gt_basic_set"
            " le_basic_set lt_basic_set neg_basic_set param_on_domain_space_id pullback_aff set_coefficient_val"
            " set_coefficients_by_name set_constant_val val_on_domain val_on_domain_space var_on_domain zero_basic_set",
        ),
        "MultiAff": (
            _FUNCTIONS,
            "add_constant_multi_val add_constant_val bind bind_domain bind_domain_wrapped_domain domain_map"
            " factor_range flat_range_product flatten_domain flatten_range from_aff_list get_aff get_at"
            " identity_multi_aff insert_domain mod_multi_val multi_val_on_domain_space multi_val_on_space product"
            " project_out_map range_factor_domain range_factor_range range_map range_product range_splice"
            " reset_tuple_id scale_down_multi_val scale_multi_val scale_val set_aff set_at splice",
        ),
    }.items()
}
"""Of each class the methods that keep the property, by isl's names, and operators; what calls these keeps it, too."""

_BESIDE = " add add_constant_val ceil floor mod_val mul neg pullback scale_down_val scale_val sub"
FRACTIONS = {
    "RationalAff": KEPT["Aff"].union(
        f"__truediv__ add_constant_num_si get_div pullback_multi_pw_aff reset_tuple_id set_dim_id{_BESIDE}".split()
    ),
    "RationalMultiAff": KEPT["MultiAff"].union(f"__getitem__ get_pw_aff{_BESIDE}".split()),
}
"""The same of functions with fractions, whose other names are not the classes'."""

WIDENED = frozenset("compute_divs to_map to_multi_pw_aff to_pw_aff to_pw_multi_aff to_set".split())
"""Methods that give the same as a value of the class without the property."""

GIVEN = frozenset(
    (kind, name)
    for kind, names in {
        "Constraint": "get_aff get_bound",
        "MultiPwAff": "as_multi_aff",
        "PwAff": "as_aff",
        "RationalPwAff": "eq_basic_set ge_basic_set gt_basic_set le_basic_set lt_basic_set neg_basic_set"
        " zero_basic_set",
        "Space": "domain_map_multi_aff identity_multi_aff_on_domain lifting multi_aff multi_aff_on_domain_multi_val"
        " param_aff_on_domain_id range_map_multi_aff zero_aff_on_domain zero_multi_aff",
    }.items()
    for name in names.split()
)
"""Classes and isl's names of methods of theirs that give something with the property."""


def narrowed(value: Any) -> Any:  # noqa: ANN401
    """A set or relation of one piece, or a function of one expression, as of isl's class; any other value as it is."""
    kind = _NARROW.get(type(value))
    return kind._of_wide(value) if kind is not None and kind._fits(value) else value


def gives_narrow(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose values are `narrowed`."""

    @wraps(f)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        return narrowed(f(*args, **named))

    return call


def _keeping(f: Callable[..., Any], family: Any) -> Callable[..., Any]:  # noqa: ANN401
    """The method, whose values are narrowed where all operands of some classes are narrow.

    A reflected operator leaves it to a wide operand on its left, which then computes it, as isl's class does.
    """
    reflected = f.__name__ in ("__radd__", "__rsub__", "__rmul__")

    @wraps(f)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
        for x in args:
            if not isinstance(x, Narrowed) and isinstance(x, family):
                return NotImplemented if reflected else f(*args, **named)
        return narrowed(f(*args, **named))

    return call


class Narrow(NamedByValue):
    """The class of the classes, whose methods that keep the property do so."""

    _wide: Any
    _family: Any
    _kept: frozenset[str]
    _others: tuple[type, ...] = ()

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        super().__init__(name, bases, body)
        kept_here = KEPT.get(name) or FRACTIONS.get(name)
        if kept_here is None:  # a class that derives from one
            return
        cls._kept = kept_here
        own = {*dir(cls._wide)}  # isl's other names are found when they are asked for
        for maker in own.intersection(
            ("_of", "_of_folded", "_disjoint", "_later", "of")
        ):  # what need not have the property
            setattr(cls, maker, staticmethod(getattr(cls._wide, maker)))
        for kept in own & cls._kept:
            f = type.__getattribute__(cls, kept)  # what values have, which is not looked up by them
            if isfunction(f):
                setattr(cls, kept, _keeping(f, cls._family))
            elif ismethod(f):  # of the class
                setattr(cls, kept, classmethod(_keeping(f.__func__, cls._family)))

    def __call__(cls, text: Any, context: object = None) -> Any:  # noqa: ANN401
        """The value of a text, or of a value that has the property; any other is a `SetSyntaxError`."""
        value = cls._read(text)
        if not cls._fits(value):
            raise SetSyntaxError(f"{kind_of(object.__new__(cls))} {cls._what(value)}", where=str(value),
                                 hint=f"{cls._wide.__name__}(text) takes it")  # fmt: skip
        return cls._of_wide(value) if isinstance(value, cls._wide) else narrowed(value)

    def __instancecheck__(cls, value: object) -> bool:
        """Of the class, or of that of functions with fractions that have the property."""
        return type.__instancecheck__(cls, value) or isinstance(value, cls._others)

    def __subclasscheck__(cls, other: type) -> bool:
        return type.__subclasscheck__(cls, other) or issubclass(other, cls._others)

    @property
    def _home(cls) -> type:  # type: ignore[override]
        return cls

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        """What isl's names give that are looked up on the class, or on a value of it."""
        found = super().__getattr__(name)  # type: ignore[misc]
        if name in WIDENED:
            return lambda value: value._widened() if isinstance(value, Narrowed) else cls._wide(value)
        return _keeping(found, cls._family) if name in cls._kept else found


class Narrowed:
    """What the values of the classes share."""

    __slots__ = ()
    _of_isl = True
    _wide: Any
    _family: Any
    _kept: frozenset[str]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = super().__getattr__(name)  # type: ignore[misc]
        if name in WIDENED:
            return self._widened
        return _keeping(found, self._family) if name in self._kept else found

    def _widened(self) -> Any:  # noqa: ANN401
        """The same as a value of the class without the property."""
        return self._wide(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Made anew from a value without the property."""
        return type(self), (self._widened(),)


class _OnePiece(Narrowed):
    """A set or a relation of one piece, or of none, in one space."""

    __slots__ = ()
    _family = (Relation, Piecewise)

    @classmethod
    def _read(cls, text: Any) -> Any:  # noqa: ANN401
        return cls._wide(text)

    @staticmethod
    def _what(value: Any) -> str:  # noqa: ANN401
        pieces = sum(len(cs) for _, cs in value.parts)
        return f"is one piece, and this has {f'{pieces} pieces' if value.parts else 'no tuple'}"

    @staticmethod
    def _fits(value: Any) -> bool:  # noqa: ANN401
        return len(value.parts) == 1 and len(value.parts[0][1]) < 2

    @classmethod
    def _of_wide(cls, value: Any) -> Self:  # noqa: ANN401
        self: Any = object.__new__(cls)
        self.param_names, self.parts, self._rough = value.param_names, value.parts, value._rough
        self._hash, self._origin = value._hash, value._origin
        return self


class _OneExpression(Narrowed):
    """A function of one expression, or a tuple of them, everywhere in its space."""

    __slots__ = ()
    _family = (Piecewise, RationalPwAff, MultiFunction)

    @staticmethod
    def _what(value: Any) -> str:  # noqa: ANN401, ARG004
        return "is one expression everywhere, and this has cases"

    @staticmethod
    def _fits(value: Any) -> bool:  # noqa: ANN401
        if isinstance(value, MultiFunction):
            return all(map(_OneExpression._fits, value.members))
        if isinstance(value, RationalPwAff):
            return value.isa_aff()  # type: ignore[attr-defined]
        if len(value.folded) != 1 or len(value.cells) != 1:
            return False
        return value.cells[0][0] == cj.universe(len(value.names))

    @classmethod
    def _of_wide(cls, value: Any) -> Self:  # noqa: ANN401
        self: Any = object.__new__(cls)
        self._be(value)
        return self


class BasicSet(_OnePiece, Set, metaclass=Narrow):
    """A set of one piece, isl's basic set; see `Set`."""

    __slots__ = ()
    _wide = Set


class BasicMap(_OnePiece, Map, metaclass=Narrow):
    """A relation of one piece, isl's basic map; see `Map`."""

    __slots__ = ()
    _wide = Map


def _copied(value: Any, kind: Any) -> Any:  # noqa: ANN401
    """A function with fractions as of another class."""
    self: Any = object.__new__(kind)
    for name in (RationalPwAff if isinstance(value, RationalPwAff) else MultiFunction).__slots__:
        setattr(self, name, getattr(value, name))
    return self


class _Copied(_OneExpression):
    """A function with fractions that has the property."""

    __slots__ = ()

    @classmethod
    def _of_wide(cls, value: Any) -> Self:  # noqa: ANN401
        return _copied(value, cls)

    def _widened(self) -> Any:  # noqa: ANN401
        return _copied(self, self._wide)

    @classmethod
    def read_from_str(cls, *text: object) -> Self:
        """The function that isl's text says; a context before it means nothing."""
        kind: Any = cls
        return kind(text[-1])

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('Rational')}({str(self)!r})"


class RationalAff(_Copied, RationalPwAff, metaclass=Narrow):
    """An `Aff` whose values are fractions, or NaN everywhere; see `RationalPwAff`."""

    __slots__ = ()
    _wide = RationalPwAff
    _read = readers.PwAff


class RationalMultiAff(_Copied, MultiFunction, metaclass=Narrow):
    """A `MultiAff` some of whose values are fractions; see `MultiFunction`."""

    __slots__ = ()
    _wide = MultiFunction
    _read = readers.MultiPwAff


class Aff(_OneExpression, PwAff, metaclass=Narrow):
    """A function of one expression, isl's `Aff`; see `PwAff`."""

    __slots__ = ()
    _wide = PwAff
    _others = (RationalAff,)
    _read = readers.PwAff


class MultiAff(_OneExpression, MultiPwAff, metaclass=Narrow):
    """A function to a tuple of one expression each, isl's `MultiAff`; see `MultiPwAff`."""

    __slots__ = ()
    _wide = MultiPwAff
    _others = (RationalMultiAff,)
    _read = readers.MultiPwAff


_NARROW: dict[type, Any] = {
    Set: BasicSet,
    Map: BasicMap,
    PwAff: Aff,
    MultiPwAff: MultiAff,
    RationalPwAff: RationalAff,
    MultiFunction: RationalMultiAff,
}
