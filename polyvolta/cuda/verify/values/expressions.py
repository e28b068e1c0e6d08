"""What should be computed: the graph's products with their operands, and its outputs, as formulas of tensor elements.

This reads the graph's statements and nothing that the compiler made of them, so that what a kernel computes is held
against what was asked for. An operand of a product is a formula of leaves; a leaf's pattern says for each of its
dimensions whether the element is at the row i, the column j, the depth k, or at 0 where the tensor is stretched. An
output is a formula too, whose leaves are tensors' elements, scalars and whole products.

A value in a kernel, a skeleton with coordinates, is matched with an operand in two steps. The skeletons decide whether
the formula is the operand's and which coordinates are the row, which are the depth; that is looked up once. Then
coordinates are compared, all at once, by who called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from polyvolta.cuda.verify.values.algebra import Forms
from polyvolta.cuda.verify.values.values import Load, Scalar, Skeleton, formula_of, leaves_of, starts
from polyvolta.graph import statements
from polyvolta.graph.dag import Graph
from polyvolta.graph.dims import Dim
from polyvolta.graph.functions.formula import Formula, Input, show, substitute
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.sets import Aff, aff, var

Place = str | int  # of one dimension: an iterator's name, or 0


@dataclass(frozen=True, slots=True)
class Element:
    """A tensor's element as a leaf of the graph's formulas; the tensor of a product is the product itself."""

    tensor: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a product: a formula, `Input(n)` being leaf n; a leaf that is a text is a scalar."""

    formula: Formula
    leaves: tuple[Element | str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product of the graph: `array`[i, j] is the sum over k of left[i, k] * right[k, j].

    `iterators` and `extents` are those of i, j and k; `depth` is the extent of k as an expression. With `turned`, it is
    `array`[j, i], and left and right are the transposes of what is multiplied from the right and from the left.
    """

    array: str
    iterators: tuple[str, str, str]
    extents: tuple[Dim, ...]
    left: Operand
    right: Operand
    turned: bool = False

    @property
    def words(self) -> str:
        """It in words, such as "relu(A) @ B"."""
        first, second = (self.right, self.left) if self.turned else (self.left, self.right)
        return f"{_words(first)} @ {_words(second)}"

    @property
    def depth(self) -> Aff:
        """The extent of k as an expression."""
        return extent_of(self.extents[2])


@dataclass(frozen=True, slots=True)
class Side:
    """How a skeleton is an operand of a product.

    Parameters
    ----------
    product : the product's number.
    bases : of the row (for a right operand: the column) and of the depth.
    columns : the coordinates that are the row, and those that are the depth.
    zeros : the coordinates that must be 0.
    vanishes : whether it is 0 beyond the k range.
    rest : what it is where every element read is 0: its value there if that is a number, else None.
    """

    product: int
    bases: tuple[Aff, Aff]
    columns: tuple[tuple[int, ...], tuple[int, ...]]
    zeros: tuple[int, ...]
    vanishes: bool
    rest: float | None


def extent_of(dim: Dim) -> Aff:
    """An extent as an expression."""
    return aff(dim) if isinstance(dim, int) else var(str(dim))


class Meaning:
    """A graph as products and outputs.

    Attributes
    ----------
    products : in the order of the graph.
    outputs : for each output its formula and the leaves of that; places are 0 for the row, 1 for the column and "0".
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.forms = graph, Forms()
        self.products = tuple(_product(s) for s in graph.statements if s.is_matmul)
        self.outputs = {t.name: _output(graph, t.name) for t in graph.outputs}
        self._sides: dict[tuple, tuple[Side, ...]] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The products in words, such as "relu(A) @ B"."""
        return tuple(p.words for p in self.products)

    def text(self, output: str) -> str:
        """What an output is, such as "{ D[i, j] = relu(add((A @ B)[i, j], bias[j])) }"."""
        operand = self.outputs[output]
        names = [x if isinstance(x, str) else self._leaf_text(x) for x in operand.leaves]
        return f"{{ {output}[i, j] = {show(operand.formula, names)} }}"

    def number(self, leaf: Element | str) -> int | None:
        """The number of the product that a leaf is; None if it is none."""
        if isinstance(leaf, Element) and leaf.tensor in self.arrays:
            return self.arrays.index(leaf.tensor)
        return None

    def leaf_name(self, leaf: Element | str) -> str:
        """A leaf without its places."""
        product = self.number(leaf)
        if product is not None:
            return f"({self.names[product]})"
        return leaf if isinstance(leaf, str) else leaf.tensor

    def _leaf_text(self, leaf: Element) -> str:
        name = self.leaf_name(leaf)
        return f"{name}[{', '.join('ij'[p] if isinstance(p, int) else p for p in leaf.places)}]"

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that the products make, in the graph."""
        return tuple(p.array for p in self.products)

    def sides(self, skeleton: Skeleton, which: str) -> tuple[Side, ...]:
        """The products whose left ("a") or right ("b") operand a skeleton is, and how."""
        if (skeleton, which) not in self._sides:
            self._sides[skeleton, which] = tuple(self._find(skeleton, which))
        return self._sides[skeleton, which]

    def _find(self, skeleton: Skeleton, which: str) -> Iterator[Side]:
        for number, p in enumerate(self.products):
            operand = p.left if which == "a" else p.right
            names = (p.iterators[0 if which == "a" else 1], p.iterators[2])
            for order in assignments(skeleton, operand.leaves):
                side = self._side(skeleton, operand, number, names, order)
                if side is not None:
                    yield side
                    break

    def _side(
        self, skeleton: Skeleton, operand: Operand, number: int, names: tuple[str, str], order: tuple[int, ...]
    ) -> Side | None:
        """The skeleton as an operand, its leaves being the operand's of those numbers."""
        bases: dict[Place, Aff] = {0: aff(0)}
        columns: dict[Place, list[int]] = {n: [] for n in (*names, 0)}
        for (leaf, start), place in zip(starts(skeleton), order, strict=True):
            wanted = operand.leaves[place]
            if isinstance(leaf, Load) and isinstance(wanted, Element):
                for d, (base, where) in enumerate(zip(leaf.base, wanted.places, strict=True)):
                    if bases.setdefault(where, base) != base:
                        return None
                    columns[where].append(start + d)
        formula = substitute(formula_of(skeleton), {n: Input(p) for n, p in enumerate(order)})
        if not self.same(formula, operand.formula, operand.leaves) or not all(columns[n] for n in names):
            return None
        elements = [x for x in operand.leaves if isinstance(x, Element)]
        rest = None
        if len(elements) == len(operand.leaves) and all(names[1] in x.places for x in elements):
            rest = float(evaluate(operand.formula, [0.0] * len(elements)))
        vanishes = rest == 0 or bool(getattr(skeleton, "vanishes", False))
        row, depth = (tuple(columns[n]) for n in names)
        return Side(number, (bases[names[0]], bases[names[1]]), (row, depth), tuple(columns[0]), vanishes, rest)

    def same(self, one: Formula, other: Formula, leaves: tuple) -> bool:
        """Whether two formulas of the same leaves are equal: as they stand, or as linear combinations."""
        if one is other:
            return True
        atoms = [self.forms.atom(x) for x in leaves]
        return self.forms.of(one, atoms) == self.forms.of(other, atoms)

    def pair(self, left: Skeleton, right: Skeleton) -> tuple[Side, Side] | None:
        """The product that multiplies the two, seen from both sides."""
        found = {s.product: s for s in self.sides(right, "b")}
        return next(((s, found[s.product]) for s in self.sides(left, "a") if s.product in found), None)


def assignments(skeleton: Skeleton, leaves: tuple[Element | str, ...]) -> Iterator[tuple[int, ...]]:
    """The ways in which the skeleton's leaves can be the graph's: for each of them the number of one."""
    choices = []
    for leaf in leaves_of(skeleton):
        if isinstance(leaf, Load):
            choices.append([n for n, x in enumerate(leaves) if isinstance(x, Element) and x.tensor == leaf.tensor])
        else:
            choices.append([n for n, x in enumerate(leaves) if isinstance(leaf, Scalar) and x == leaf.name])
    yield from product(*choices)


def _words(operand: Operand) -> str:
    """An operand in words."""
    return show(operand.formula, [x if isinstance(x, str) else x.tensor for x in operand.leaves])


def _operand(s: statements.Statement, tree: object) -> Operand:
    accesses, scalars, formula = statements.formula_of(s, tree)  # type: ignore[arg-type]
    leaves = tuple(Element(a.tensor, tuple(0 if p.isdigit() else p for p in a.index)) for a in accesses)
    return Operand(formula, (*leaves, *scalars))


def _product(s: statements.Statement) -> Product:
    i, j, k = s.iterators
    left, right = (_operand(s, tree) for tree in s.factors)
    return Product(s.write.tensor, (i, j, k), s.extents, left, right, s.is_turned)


def _output(graph: Graph, name: str) -> Operand:
    """An output as a formula of inputs, scalars and products, at row 0 and column 1 of its index."""
    leaves: dict[Element | str, int] = {}
    done: dict[Element, Formula] = {}

    def at(array: str, places: tuple[Place, ...]) -> Formula:
        element = Element(array, places)
        if element not in done:
            s = graph.writer(array)
            if s is None or s.is_matmul:
                done[element] = Input(leaves.setdefault(element, len(leaves)))
            else:
                where: Mapping[str, Place] = dict(zip(s.write.index, places, strict=True))
                accesses, scalars, formula = statements.formula_of(s, s.tree)
                parts = [at(a.tensor, tuple("0" if p.isdigit() else where[p] for p in a.index)) for a in accesses]
                parts += [Input(leaves.setdefault(x, len(leaves))) for x in scalars]
                done[element] = substitute(formula, dict(enumerate(parts)))
        return done[element]

    return Operand(at(name, (0, 1)), tuple(leaves))
