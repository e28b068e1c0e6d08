"""isl's enumerations: kinds of nodes, loops and expressions, formats of texts, with isl's names and numbers."""

from __future__ import annotations

from enum import Enum, IntEnum


class Numbered(IntEnum):
    """Numbers that are printed by their names, `ast_node_type.for_`."""

    __str__ = __repr__ = Enum.__str__


class schedule_node_type(Numbered):  # noqa: N801 - isl's name
    """The kinds of nodes, with isl's numbers."""

    error = -1
    band = 0
    context = 1
    domain = 2
    expansion = 3
    extension = 4
    filter = 5
    leaf = 6
    guard = 7
    mark = 8
    sequence = 9
    set = 10


class ast_loop_type(Numbered):  # noqa: N801 - isl's name
    """How loops of members are made, with isl's numbers."""

    error = -1
    default = 0
    atomic = 1
    unroll = 2
    separate = 3


class ast_node_type(Numbered):  # noqa: N801 - isl's name
    """The kinds of nodes of an AST, with isl's numbers."""

    error = -1
    for_ = 1
    if_ = 2
    block = 3
    mark = 4
    user = 5


class ast_expr_type(Numbered):  # noqa: N801 - isl's name
    """The kinds of expressions, with isl's numbers."""

    error = -1
    op = 0
    id = 1
    int = 2


class ast_expr_op_type(Numbered):  # noqa: N801 - isl's name
    """The operations, with isl's numbers."""

    error = -1
    and_ = 0
    and_then = 1
    or_ = 2
    or_else = 3
    max = 4
    min = 5
    minus = 6
    add = 7
    sub = 8
    mul = 9
    div = 10
    fdiv_q = 11
    pdiv_q = 12
    pdiv_r = 13
    zdiv_r = 14
    cond = 15
    select = 16
    eq = 17
    le = 18
    lt = 19
    ge = 20
    gt = 21
    call = 22
    access = 23
    member = 24
    address_of = 25


class format(Numbered):  # noqa: A001, N801 - isl's name
    """How a printer writes, with isl's numbers."""

    ISL = 0
    POLYLIB = 1
    POLYLIB_CONSTRAINTS = 2
    OMEGA = 3
    C = 4
    LATEX = 5
    EXT_POLYLIB = 6


class yaml_style(Numbered):  # noqa: N801 - isl's name
    """How a printer writes trees, with isl's numbers: in lines, or in one."""

    BLOCK = 0
    FLOW = 1


class schedule_algorithm(Numbered):  # noqa: N801 - isl's name
    """The values of an option of contexts, which is kept and changes nothing, with isl's numbers; as those below."""

    ISL = 0
    FEAUTRIER = 1


class on_error(Numbered):  # noqa: N801 - isl's name
    """What isl does where an error is: an exception is raised here in any case."""

    WARN = 0
    CONTINUE = 1
    ABORT = 2


class bound(Numbered):  # noqa: N801 - isl's name
    """How isl bounds polynomials."""

    BERNSTEIN = 0
    RANGE = 1


class stat(Numbered):  # noqa: N801 - isl's name
    """What functions give to isl that it calls for each piece: nothing is asked of it here."""

    error = -1
    ok = 0
