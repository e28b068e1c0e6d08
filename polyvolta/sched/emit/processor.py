"""Nests compiled for the processor at hand: `compile_c(tree, program)`.

The loops of a tree, with the bodies of its statements, become a C function. The system's compiler makes a library of
it, which is kept in the package's cache folder, and the function is called on numpy arrays, in place. Marks of the tree
(`parallelise`, `vectorise`, ...) are pragmas of the C text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyvolta.sched.emit.arrays import check_align
from polyvolta.sched.emit.execute import Compiled, HowC, prepared
from polyvolta.sched.emit.given import check_program
from polyvolta.sched.errors import BadArgument
from polyvolta.sched.program.model import Program
from polyvolta.sched.tree import Schedule
from polyvolta.sets.errors import kind_of


def compile_c(
    schedule: Schedule | Program,
    program: Program | Mapping[str, str] | str | None = None,
    *,
    restrict: bool = True,
    align: int | None = None,
    parallel: bool = False,
    flags: Sequence[str] = (),
) -> Compiled:
    """A function of C that computes a program in the order of a tree, on numpy arrays, in place.

    It takes the program's arguments by name, and checks them before it runs: elements are float64, float32, int64 or
    int32, the last dimension lies contiguously, every subscript of the program is in its array. `text` is the C code.
    Results are those of Python's doubles, bit for bit, unless `flags` say otherwise.

    Parameters
    ----------
    schedule : the order; a program alone runs in its own.
    program : what the statements do: a program, or bodies, Python statements by the statements' names, for a tree that
        stands alone (one text if there is one statement).
    restrict : tell the compiler that arrays share no element; arrays that do are refused.
    align : tell the compiler that arrays start at multiples of so many bytes; others are refused (`aligned` copies).
    parallel : run the outermost coincident loops on all cores, besides those that a mark names.
    flags : what the compiler is told besides (`-O3 -march=native -ffp-contract=off ...`), such as `-ffp-contract=fast`,
        which rounds a product that is added up once instead of twice.

    Raises
    ------
    NoCompiler : there is no cc, gcc or clang, nor what the variable CC names; or it refuses the text or a flag.
    NotTranslatable : a body that C cannot say.
    IllegalTransformation : a mark wants iterations at once that depend on one another, or a flag says that they do not.
    BadSchedule : the tree does not run exactly the program's instances; a mark fits no loop.
    BadProgram : a statement has no body; bodies that do not fit.
    BadArgument : this is no tree, no program, no alignment or no list of flags.
    NotScannable : there are no loops for the tree.

    Cost: a run of the compiler, some 100 ms, or a few for a text that was compiled before; then the checks of a call,
    some 20 us.

    >>> import numpy as np
    >>> from polyvolta.sched import Schedule
    >>> tree = Schedule.parse('''
    ... domain: "[N] -> { S[i] : 1 <= i < N }"
    ... child: { schedule: "[{ S[i] -> [(i)] }]" }
    ... ''')
    >>> sums = compile_c(tree, "a[i] += a[i - 1]")
    >>> a = np.arange(5.0)
    >>> sums(a=a, N=5)
    >>> a
    array([ 0.,  1.,  3.,  6., 10.])
    >>> print(sums.text)
    void program(long N, double a[restrict])
    {
      for (long c0 = 1; c0 < N; c0 += 1)
        a[c0] += a[c0 - 1];
    }
    """
    order, program = _given(schedule, program)
    if align is not None:
        check_align(align)
    if isinstance(flags, str) or not isinstance(flags, Sequence) or not all(isinstance(f, str) for f in flags):
        raise BadArgument("flags are texts in a list", where=repr(flags), hint='such as flags=["-ffp-contract=fast"]')
    for name, value in (("restrict", restrict), ("parallel", parallel)):
        if not isinstance(value, bool):
            raise BadArgument(f"{name} is True or False, not {value!r}")
    result = prepared(program, order, "c", HowC(parallel, restrict, align, tuple(flags)))
    face = result.face
    result.compile(dict.fromkeys((*face.ranks, *face.cells, *face.scalars), "double"))
    return result


def _given(
    schedule: Schedule | Program, program: Program | Mapping[str, str] | str | None
) -> tuple[Schedule | None, Program]:
    """The order, and what it orders."""
    if isinstance(schedule, Program) and program is None:
        return None, schedule
    if not isinstance(schedule, Schedule):
        swapped = isinstance(schedule, Program) and isinstance(program, Schedule)
        hint = "the tree comes first, then the program" if swapped else "schedule(program) makes a tree"
        raise BadArgument(f"compile_c takes a Schedule, not {kind_of(schedule)}", hint=hint)
    if program is None:
        hint = 'compile_c(tree, program), or compile_c(tree, {"S": "A[i] = 0"})'
        raise BadArgument("a tree does not say what its statements do", hint=hint)
    if isinstance(program, str | Mapping):
        program = Program.parse(schedule.domain, schedule=schedule, bodies=program)
    check_program(program, "compile_c")
    return schedule, program
