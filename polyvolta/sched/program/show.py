"""Programs as text: for every statement its instances, what one does, and what it reads and writes.

    gemm(A, B, C, M, N, K)
      S[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K
        C[i, j] += A[i, k] * B[k, j]
        reads  C[i, j]; A[i, k]; B[k, j]
        writes C[i, j]
      order
        BAND: S[i, j, k] → [i, j, k]

An access that all instances of its statement have is the element alone; another one stands with its condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyvolta.sched.program.assuming import without_assumptions
from polyvolta.sets import Aff, Map, NotAFunction, Set
from polyvolta.sets.conjuncts import conjunct as cj
from polyvolta.sets.text.show import piece_texts
from polyvolta.sets.text.show_expressions import PAPER
from polyvolta.sets.values.aff import Floor

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Access, Program, Statement
    from polyvolta.sets.values.space import Tuple


def show_program(program: Program) -> str:
    """The whole program; its order without the instances, which stand with the statements."""
    lines = [f"{program.name}({', '.join(program.arguments)})"]
    for s in program.statements:
        lines += ["  " + line for line in show_statement(s).splitlines()]
    if program.local:
        lines.append(f"  local {', '.join(program.local)}")
    if not Set.universe(program.context).is_subset(program.context):
        lines.append("  given " + "; ".join(t.removeprefix("[]").lstrip(" :") for t in _texts(program.context)))
    tree = str(without_assumptions(program.schedule, program.context)).splitlines()
    first = next((k for k, line in enumerate(tree) if line.startswith("  ") and line[2:3] != " "), None)
    if first is not None:
        lines += ["  order", *("  " + line for line in tree[first:])]
    return "\n".join(lines)


def show_statement(s: Statement) -> str:
    """One statement, two or more lines."""
    head, *more = _texts(s.domain)
    lines = [head + ";" * bool(more), *(m + ";" for m in more[:-1]), *more[-1:]]
    if s.body is not None:
        lines += ["  " + line for line in s.body.splitlines()]
    must = [a for a in s.writes if a.must]
    may = [a for a in s.writes if not a.must]
    for role, accesses in (("reads ", s.reads), ("writes", must), ("may write", may), ("kills ", s.kills)):
        if accesses:
            lines.append(f"  {role} " + "; ".join(t for a in accesses for t in _elements(a, s.domain)))
    return "\n".join(lines)


def _elements(access: Access, domain: Set) -> list[str]:
    """What is accessed, in the statement's iterators."""
    relation = access.relation
    space, pieces = relation.parts[0]
    candidates = [relation._of(relation.param_names, [(space, (c,))]) for c in pieces]
    if candidates and domain.is_subset(relation.domain()):
        for one in candidates:  # an element that all instances access
            general = _general(one, domain)
            if general is not None and relation.is_equal(general.intersect_domain(domain)):
                return _ends(general)
    everywhere = Map.from_domain_and_range(domain, Set.universe(space.out))
    return _ends(relation.gist(everywhere))


def _general(piece: Map, domain: Set) -> Map | None:
    """The function on all instances whose expressions a piece has.

    What the domain says of the iterators' remainders is not said again: of every second i, 2⌊i/2⌋ is i.
    """
    space = piece.space
    try:
        affs = piece.as_affs()
    except NotAFunction:
        return None
    affs = tuple(_without_floors(e, space.inp, domain) for e in affs)  # type: ignore[arg-type]
    return Map.from_affs(space.inp, affs, space.out.name).align_params(piece.param_names)  # type: ignore[arg-type]


def _without_floors(e: Aff, instance: Tuple, domain: Set) -> Aff:
    """An expression with f - r for d⌊f/d⌋, where f mod d is one number r on the whole domain."""
    for atom, factor in e.terms:
        if not isinstance(atom, Floor) or factor % atom.den:
            continue
        rest = Map.from_affs(instance, [atom.num % atom.den]).intersect_domain(domain).range()
        at = next((p[-1] for _, cs in rest.parts for c in cs if (p := cj.sample(c)) is not None), 0)
        if rest.is_subset(Set(f"{{ [{at}] }}")):
            e = e - factor * (atom.num // atom.den) + factor // atom.den * (atom.num - at)
    return e


def _ends(relation: Map) -> list[str]:
    """The elements of a relation, piece by piece; a scalar is its name."""
    return [t.split(" → ", 1)[-1].replace("[]", "") for t in _texts(relation)]


def _texts(r: object) -> list[str]:
    return piece_texts(r, PAPER)  # type: ignore[arg-type]
