"""What can be wrong with a graph, each with a stable id: PV2xx.

Every class is also the builtin error that Python programmers would catch for that kind of mistake, so
`except ValueError` around a call that gets wrong shapes works as it does with numpy.
"""

from __future__ import annotations

from polyvolta.sets.errors import PolyvoltaError


class ShapeMismatch(PolyvoltaError, ValueError):
    """Shapes that don't multiply or don't broadcast, as declared."""

    id = "PV201"


class UnsupportedDtype(PolyvoltaError, TypeError):
    """An element type that no kernel is made for."""

    id = "PV202"


class BadSize(PolyvoltaError, ValueError):
    """A dimension that is neither a positive int nor a size of `sizes`."""

    id = "PV203"


class UnknownLayout(PolyvoltaError, ValueError):
    """A layout other than "row" and "col"."""

    id = "PV204"


class BadName(PolyvoltaError, ValueError):
    """A name that can't stand in C++ or in a set's text."""

    id = "PV205"


class NameClash(PolyvoltaError, ValueError):
    """One name for two different things in one graph."""

    id = "PV206"


class BadOperand(PolyvoltaError, TypeError):
    """Something that is neither an expression nor a real number, in an expression."""

    id = "PV207"


class BadArguments(PolyvoltaError, TypeError):
    """Arrays that are missing, too many, given twice, or named like no tensor of the graph."""

    id = "PV208"


class ArrayMismatch(PolyvoltaError, ValueError):
    """An array whose shape isn't its tensor's, or two arrays that disagree on a symbolic size."""

    id = "PV209"


class BadOutputs(PolyvoltaError, ValueError):
    """Outputs that make no graph: none at all, one twice, or an input as it is."""

    id = "PV210"


class NoTranspose(PolyvoltaError, AttributeError):
    """The transpose of a tensor or an expression: there is no such operation, layouts stand for it."""

    id = "PV212"


class NotANumberYet(PolyvoltaError, TypeError):
    """A number, a comparison or a condition was asked of a symbolic size, which is known when the kernel is called."""

    id = "PV213"


class MixedDtypes(PolyvoltaError, TypeError):
    """Tensors of two element types in one kernel."""

    id = "PV214"


class BadFunction(BadOperand):
    """A pointwise function that kernels don't have, or a Python function that isn't one."""

    id = "PV211"
