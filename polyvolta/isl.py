"""isl's names in one module: `import polyvolta.isl as isl` where a program for islpy says `import islpy as isl`.

Sets, relations and functions are those of `polyvolta.sets`, trees those of `polyvolta.sched`; what is made of them step
by step in isl, constraints of a schedule, access information, nodes of trees and loops, is here alone. So are unions,
any of whose tuples may lack a counterpart, and basic sets. An `Aff` here is a function on a space, as isl's is, and so
a `PwAff`; the expressions of names are `polyvolta.sets.Aff`.
docs/isl.md says of every method of isl where it is.

>>> import polyvolta.isl as isl
>>> tree = isl.Schedule("{ domain: '[N] -> { S[i] : 0 <= i < N }', child: { schedule: '[{ S[i] -> [(i)] }]' } }")
>>> node = tree.get_root().child(0).band_tile([32])
>>> build = isl.AstBuild.from_context(isl.Set("[N] -> { : N > 0 }"))
>>> print(build.node_from_schedule(node.get_schedule()).to_C_str(), end="")
for (int c0 = 0; c0 < N; c0 += 32)
  for (int c1 = 0; c1 <= min(31, N - c0 - 1); c1 += 1)
    S(c0 + c1);
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import polyvolta.sets as _sets
from polyvolta import __version__
from polyvolta.sched.by_isl import HOMES
from polyvolta.sets import *  # noqa: F403 - every name of the sets, by their list
from polyvolta.sets.budgets import metered
from polyvolta.sets.by_isl.basic import RationalAff as _RationalAff
from polyvolta.sets.by_isl.basic import RationalMultiAff as _RationalMultiAff
from polyvolta.sets.by_isl.functions.multi_union import MultiUnionPwAff as MultiUnionPwAff
from polyvolta.sets.by_isl.functions.multi_union import UnionPwMultiAff as UnionPwMultiAff
from polyvolta.sets.by_isl.functions.own_domains import UnionMembers as _UnionMembers
from polyvolta.sets.by_isl.functions.union_fractions import UnionFractions as _UnionFractions
from polyvolta.sets.by_isl.keywords import take_keywords
from polyvolta.sets.by_isl.objects.lists import ELEMENTS, list_of
from polyvolta.sets.by_isl.objects.numbers import Number as _Number
from polyvolta.sets.by_isl.polynomials.placed import PlacedPolynomial
from polyvolta.sets.errors import no_name
from polyvolta.sets.values.named import Named
from polyvolta.sets.values.shape import spaced
from polyvolta.sets.values.unions import UnionMap as UnionMap
from polyvolta.sets.values.unions import UnionSet as UnionSet

if TYPE_CHECKING:
    from polyvolta.sched.by_isl.ast.build import AstBuild as AstBuild
    from polyvolta.sched.by_isl.ast.expressions import AstExpr as AstExpr
    from polyvolta.sched.by_isl.ast.nodes import AstNode as AstNode
    from polyvolta.sched.by_isl.ast.printing import AstPrintOptions as AstPrintOptions
    from polyvolta.sched.by_isl.ast.printing import Printer as Printer
    from polyvolta.sched.by_isl.constraints import ScheduleConstraints as ScheduleConstraints
    from polyvolta.sched.by_isl.flow import UnionAccessInfo as UnionAccessInfo
    from polyvolta.sched.by_isl.flow import UnionFlow as UnionFlow
    from polyvolta.sched.by_isl.kinds import ast_expr_op_type as ast_expr_op_type
    from polyvolta.sched.by_isl.kinds import ast_expr_type as ast_expr_type
    from polyvolta.sched.by_isl.kinds import ast_loop_type as ast_loop_type
    from polyvolta.sched.by_isl.kinds import ast_node_type as ast_node_type
    from polyvolta.sched.by_isl.kinds import bound as bound
    from polyvolta.sched.by_isl.kinds import format as format
    from polyvolta.sched.by_isl.kinds import on_error as on_error
    from polyvolta.sched.by_isl.kinds import schedule_algorithm as schedule_algorithm
    from polyvolta.sched.by_isl.kinds import schedule_node_type as schedule_node_type
    from polyvolta.sched.by_isl.kinds import stat as stat
    from polyvolta.sched.by_isl.kinds import yaml_style as yaml_style
    from polyvolta.sched.by_isl.node import ScheduleNode as ScheduleNode
    from polyvolta.sched.by_isl.schedule import Schedule as Schedule
    from polyvolta.sets.by_isl.objects.matrices import Mat as Mat
    from polyvolta.sets.by_isl.objects.spaces import LocalSpace as LocalSpace
    from polyvolta.sets.by_isl.objects.vectors import MultiId as MultiId
    from polyvolta.sets.by_isl.objects.vectors import MultiVal as MultiVal
    from polyvolta.sets.by_isl.polynomials.folds import PwQPolynomialFold as PwQPolynomialFold
    from polyvolta.sets.by_isl.polynomials.folds import QPolynomialFold as QPolynomialFold
    from polyvolta.sets.by_isl.polynomials.folds import fold as fold
    from polyvolta.sets.by_isl.polynomials.placed import Term as Term

if not TYPE_CHECKING:  # a checker knows the values, which are sets, relations and functions
    from polyvolta.sets.by_isl.basic import Aff as Aff
    from polyvolta.sets.by_isl.basic import BasicMap as BasicMap
    from polyvolta.sets.by_isl.basic import BasicSet as BasicSet
    from polyvolta.sets.by_isl.basic import MultiAff as MultiAff
    from polyvolta.sets.by_isl.functions.readers import MultiPwAff as MultiPwAff
    from polyvolta.sets.by_isl.functions.readers import PwAff as PwAff
else:  # to whom isl's Aff is a function
    Aff = _sets.PwAff

PwMultiAff = MultiPwAff  # type: ignore[misc, assignment]
UnionPwAff = UnionPwMultiAff  # both have the space of the parameters
QPolynomial = PlacedPolynomial  # type: ignore[misc, assignment]  # isl's lies in a space


@metered
def _compute_flow(
    sink: _sets.Map, must_source: _sets.Map, may_source: _sets.Map, times: _sets.Map
) -> tuple[int, _sets.Map, _sets.Map, _sets.Map, _sets.Map]:
    """The last sources of each access, by isl's older method; see `polyvolta.sched.by_isl.flow.compute_flow`."""
    from polyvolta.sched.by_isl.flow import compute_flow

    return compute_flow(sink, must_source, may_source, times)


@metered
def _compute_schedule(instances: _sets.Set, validity: _sets.Map, proximity: _sets.Map) -> Schedule:
    """A schedule tree of the instances, by isl's older method; `ScheduleConstraints` has more to say.

    Parameters
    ----------
    validity, proximity : relations between the instances; see `polyvolta.sched.schedule`, as for errors and cost.

    >>> instances, pairs = UnionSet("{ S[i] : 0 <= i < 9 }"), UnionMap("{ S[i] -> S[i + 1] }")
    >>> print(instances.compute_schedule(pairs, pairs).get_map())
    { S[i] -> [i] }
    """
    asked = sys.modules[__name__].ScheduleConstraints.on_domain(instances)
    return asked.set_validity(validity).set_proximity(proximity).compute_schedule()


_sets.Map.compute_flow = _compute_flow  # type: ignore[attr-defined]  # sets know nothing of dependences
_sets.Set.compute_schedule = _compute_schedule  # type: ignore[attr-defined]  # and of trees

__all__ = [  # noqa: F822 (the names are there on first use)
    "AstBuild",
    "AstExpr",
    "AstNode",
    "AstPrintOptions",
    "LocalSpace",
    "Mat",
    "MultiId",
    "MultiVal",
    "Printer",
    "PwQPolynomialFold",
    "QPolynomialFold",
    "Schedule",
    "ScheduleConstraints",
    "ScheduleNode",
    "Term",
    "UnionAccessInfo",
    "UnionFlow",
    "ast_expr_op_type",
    "ast_expr_type",
    "ast_loop_type",
    "ast_node_type",
    "bound",
    "fold",
    "on_error",
    "schedule_algorithm",
    "schedule_node_type",
    "stat",
    "yaml_style",
]
_CLASSES = (  # of isl that are one class here, or have another name in `polyvolta.sets`
    "BasicMap", "BasicSet", "Error", "MultiAff", "MultiUnionPwAff", "UnionMap", "UnionPwAff", "UnionPwMultiAff",
    "UnionPwQPolynomial", "UnionPwQPolynomialFold", "UnionSet", "FixedBox", "StrideInfo", "Vertices", "IdToAstExpr",
)  # fmt: skip
__all__ += ["VERSION", "isl_version", "version"]
__all__ += ["format", "stand_in", *_sets.__all__, *_CLASSES, *(f"{name}List" for name in ELEMENTS)]


_POLYNOMIALS = {
    "Term": ("placed", "Term"),
    "UnionPwQPolynomial": ("unions", "UnionPwQPolynomial"),
    "UnionPwQPolynomialFold": ("unions", "UnionPwQPolynomialFold"),
    **{name: ("folds", name) for name in ("PwQPolynomialFold", "QPolynomialFold", "fold")},
}

_RESULTS = {
    "FixedBox": ("polyvolta.sets.hulls.box", "Box"),
    "StrideInfo": ("polyvolta.sets.by_isl.dimensions.strides", "StrideInfo"),
    "Vertices": ("polyvolta.sets.by_isl.vertices", "Vertices"),
    "IdToAstExpr": ("builtins", "dict"),
}
"""isl's classes of what methods give or take, to ask for by `isinstance`: where they are, and their names there."""

_ALIGNING = {"_align_dim_type": "align_dim_type", "_CHECK_DIM_TYPES": "CHECK_DIM_TYPES"}  # islpy's, which programs use


VERSION = 2025, 1
version = ModuleType("islpy.version")
version.__dict__.update(VERSION=VERSION, VERSION_TEXT="2025.1")


def isl_version() -> str:
    """Which library this is, where islpy says the version of isl; `VERSION` is that of islpy that programs ask for.

    >>> isl_version().startswith("polyvolta-")
    True
    """
    return f"polyvolta-{__version__}"


def stand_in() -> None:
    """Put this module in islpy's place: what says `import islpy` from now on gets it, other packages among them.

    Then `==` of two values asks `is_equal`, as islpy's does, and `if value:` whether it is not None, everywhere in the
    process; the hash is that of a value's points, which those share that are equal. The `__class__` of a function of
    integers is that of this module. A prime that is a name's own, as in `{ [i'] -> [j] }`, stays with it; of a text
    nothing is read after the last brace.

    Raises
    ------
    NotSupported : islpy itself is imported already.

    >>> isl.stand_in()  # doctest: +SKIP
    >>> import loopy  # doctest: +SKIP
    """
    if sys.modules.get("islpy") not in (None, sys.modules[__name__]):
        raise _sets.NotSupported("islpy is imported already", hint="call stand_in() before what imports it")
    here = sys.modules[__name__]
    sys.modules.update({"islpy": here, "islpy._isl": here, "islpy.version": version})
    Named.as_islpy = True
    Named.shown.update({_sets.PwAff: PwAff, _sets.MultiPwAff: MultiPwAff})
    spaced.cache_clear()  # what tells names apart is another mark now


def _reader(name: str) -> Callable[[str], object] | None:
    """What reads the text of an element of a list, of those that have texts."""
    return None if name.startswith("Ast") else getattr(sys.modules[__name__], name)


def __getattr__(name: str) -> object:
    if name in HOMES:
        value = getattr(import_module(f"polyvolta.sched.by_isl.{HOMES[name]}"), name)
    elif name == "_isl":  # islpy's module of classes, which programs ask for `isl._isl.dim_type`
        value = sys.modules[__name__]
    elif name in ("MultiId", "MultiVal"):
        value = getattr(import_module("polyvolta.sets.by_isl.objects.vectors"), name)
    elif name == "Mat":
        from polyvolta.sets.by_isl.objects.matrices import Mat as value
    elif name == "LocalSpace":
        from polyvolta.sets.by_isl.objects.spaces import LocalSpace as value
    elif name in _RESULTS:
        home, own = _RESULTS[name]
        return getattr(import_module(home), own)
    elif name in _ALIGNING:
        value = getattr(import_module("polyvolta.sets.by_isl.aligning"), _ALIGNING[name])
    elif name in _POLYNOMIALS:
        home, own = _POLYNOMIALS[name]
        value = getattr(import_module(f"polyvolta.sets.by_isl.polynomials.{home}"), own)
    elif name.endswith("List") and name.removesuffix("List") in ELEMENTS:
        value = list_of(name.removesuffix("List"), _reader(name.removesuffix("List")))
    else:  # isl's classes that are one class here
        value = getattr(_sets, name, None)
        if value is None:
            raise no_name(__name__, name, import_module("polyvolta.sets.text.of_isl").instead(name, __all__))
    if isinstance(value, type):
        take_keywords(value)
    globals()[name] = value
    return value


_INSTANCES = (
    _RationalAff,
    _RationalMultiAff,
    _UnionFractions,
    _UnionMembers,
    _Number,
)  # of the classes, though not made by their names
for _own in [*_INSTANCES, *[value for value in globals().values() if isinstance(value, type)]]:
    take_keywords(_own)


def __dir__() -> list[str]:
    return sorted({*dir(_sets), *__all__})
