"""isl's vertices of a set, functions of its parameters, and its cells, inside which the same vertices are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..conjuncts import conjunct as cj
from ..engine.rows import Row
from ..errors import NotSupported, need_function
from ..functions.members import MultiFunction
from ..functions.rational import RationalPwAff
from ..rationals.duals import relaxed
from ..rationals.polyhedron import Polyhedron, project
from ..rationals.rational import RationalSet
from ..rationals.vertices import chambers, corners
from ..values.space import NOWHERE, Space
from .basic import narrowed

if TYPE_CHECKING:
    from ..functions.multi_pwaff import MultiPwAff
    from ..values.set import Set


@dataclass(frozen=True)
class Vertex:
    """A vertex of a set: where it is, and for which parameters; see `compute_vertices`."""

    id: int
    expr: MultiPwAff | MultiFunction
    domain: Set

    def get_id(self) -> int:
        """Its number among the vertices of the set, from 0."""
        return self.id

    def get_expr(self) -> Any:  # noqa: ANN401
        """Where it is: a function of the parameters, isl's `MultiAff`, of fractions where its coordinates are."""
        return narrowed(self.expr)

    def get_domain(self) -> Set:
        """The parameters for which it is a vertex."""
        return self.domain


@dataclass(frozen=True)
class Cell:
    """Parameters for which a set has the same vertices; see `compute_vertices`."""

    domain: RationalSet
    vertices: tuple[Vertex, ...]

    def get_domain(self) -> RationalSet:
        """The parameters, of rational values."""
        return self.domain

    def foreach_vertex(self, f: Callable[[Vertex], object]) -> None:
        """Call `f` with each vertex."""
        need_function(f)
        for vertex in self.vertices:
            f(vertex)


@dataclass(frozen=True)
class Vertices:
    """All vertices of a set, and its cells; see `compute_vertices`."""

    vertices: tuple[Vertex, ...]
    cells: tuple[Cell, ...]

    def get_n_vertices(self) -> int:
        """How many vertices there are."""
        return len(self.vertices)

    n_vertices = property(get_n_vertices)

    def foreach_vertex(self, f: Callable[[Vertex], object]) -> None:
        """Call `f` with each vertex."""
        need_function(f)
        for vertex in self.vertices:
            f(vertex)

    def foreach_cell(self, f: Callable[[Cell], object]) -> None:
        """Call `f` with each cell."""
        need_function(f)
        for cell in self.cells:
            f(cell)


def compute_vertices(self: Set) -> Vertices:
    """The vertices of the rational points that satisfy a set's constraints, as functions of the parameters.

    Exact; at worst all choices of as many constraints as there are dimensions.

    Raises
    ------
    NotSupported : the set is in several pieces, or a constraint has a floor or an existential.
    SpaceMismatch : there are several tuples.

    >>> from polyvolta.sets import Set
    >>> v = Set("[N] -> { [i, j] : 0 <= i and 0 <= j and i + 2j <= N }").compute_vertices()
    >>> v.foreach_vertex(lambda vertex: print(vertex.get_expr(), vertex.get_domain()))
    [N] -> { [(0), (N)/2] } [N] -> { : N >= 0 }
    [N] -> { [(N), (0)] } [N] -> { : N >= 0 }
    [N] -> { [(0), (0)] } [N] -> { : N >= 0 }
    """
    space, pieces = self.space, self.detect_equalities().parts[0][1] if self.parts else ()
    if len(pieces) > 1:
        raise NotSupported("vertices are of a set of one piece", where=str(self), hint="of each of s.pieces, say")
    p = relaxed(pieces[0], self, "vertices") if pieces else None
    if p is None:
        return Vertices((), ())
    params, m = self.param_names, len(self.param_names)
    found = corners(p, m)
    vertices = [
        Vertex(k, _expression(self, space, corner.values), _parameters(self, corner.domain))
        for k, corner in enumerate(found)
    ]
    cells = chambers(project(p, tuple(range(m, p.n))), [corner.domain for corner in found])
    return Vertices(tuple(vertices), tuple([
        Cell(RationalSet._of(params, [(NOWHERE, (cell,))]), tuple([vertices[k] for k in ids])) for cell, ids in cells
    ]))  # fmt: skip


def _parameters(self: Set, domain: Polyhedron) -> Set:
    c = cj.normalise(domain.n, (), domain.eqs, domain.ineqs)  # no integers may be among them
    return self._of(self.param_names, [(NOWHERE, () if c is None else (c,))])


def _expression(self: Set, space: Space, values: Sequence[Row]) -> MultiPwAff | MultiFunction:
    """The function of the parameters whose coordinates are these; see `Corner`."""
    m, n = len(self.param_names), len(values)
    dens = tuple([row[-1] for row in values])
    rows = [(*row[:-1], *[-int(j == k) for j in range(n)]) for k, row in enumerate(values)]
    graph = self._of(self.param_names, [(space, (cj.sure(cj.normalise(m + n, (), rows, ())),))])
    whole = graph.as_pw_multi_aff()  # type: ignore[attr-defined]
    if set(dens) <= {1}:
        return whole
    return MultiFunction.of(whole.space, [RationalPwAff.of(f, den) for f, den in zip(whole, dens, strict=True)])


METHODS = (("Set", "compute_vertices", compute_vertices),)
"""Classes, isl's names, and the method."""
