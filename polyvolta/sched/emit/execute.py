"""Computing with a program under any schedule: `execute(program, schedule, A=..., N=...)`, in place on numpy arrays.

Loops are generated, the statements' bodies are put in, and the text is compiled, by Python or by the system's C
compiler. `build` does this once and returns a function for many calls.

Arguments are checked before anything runs, the subscripts too: the least and the greatest element that the program
touches in each dimension must be in the array. So C code never writes outside, and Python's negative subscripts do not
hide a mistake.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, Literal

from polyvolta.display.shown import Shown
from polyvolta.sched.emit.arrays import aligned, check_apart, check_array, check_size, kind, row_lengths, touched
from polyvolta.sched.emit.complete import assumptions, check_instances
from polyvolta.sched.emit.given import check_program
from polyvolta.sched.emit.interface import Interface
from polyvolta.sched.errors import BadArgument, BadSchedule
from polyvolta.sched.loops.ast import endless
from polyvolta.sched.loops.names import beside
from polyvolta.sched.loops.notation.names import free_names
from polyvolta.sched.loops.notation.widths import check_sizes, integer_type
from polyvolta.sched.loops.result import Scan
from polyvolta.sched.loops.scan import scan
from polyvolta.sched.tree import Schedule
from polyvolta.sets import Set, Unbounded, aff, nearest
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    from polyvolta.sched.program.model import Program

Language = Literal["python", "c"]
C_TYPES = {"float64": "double", "float32": "float", "int64": "long", "int32": "int"}
KEPT = 32  # functions that `execute` remembers


@dataclass(frozen=True, slots=True)
class HowC:
    """How C code is made; see `compile_c`."""

    parallel: bool = False
    restrict: bool = False
    align: int | None = None
    flags: tuple[str, ...] = ()


_built: OrderedDict[tuple, tuple[Program, Schedule | None, Compiled]] = OrderedDict()


def execute(
    program: Program,
    schedule: Schedule | None = None,
    *,
    using: Language = "python",
    parallel: bool = False,
    **arguments: object,
) -> None:
    """Run a program in the order of a schedule, in place on the arrays that are passed.

    Parameters
    ----------
    schedule : the program's own order by default.
    using : "python", or "c" for compiled code.
    parallel : C code runs the outermost coincident loops on all cores, by OpenMP.
    arguments : what the program takes: numpy arrays, integer parameters, scalars, by name. For C an array has elements
        float64, float32, int64 or int32 and its last dimension is contiguous.

    Raises
    ------
    BadArgument : an argument is missing, unknown, of another kind or size than the program needs, or so large that C's
        integers may not hold what the loops compute.
    BadProgram : the body of a statement is not known.
    BadSchedule : the tree does not run exactly the program's instances.
    NotScannable : there are no loops for the tree.
    Unbounded : a statement has infinitely many instances at these sizes; nothing runs.
    IllegalTransformation : parallel=True, and a loop that the tree calls coincident carries a dependence.
    NoCompiler, NotTranslatable : using="c" without a C compiler, or with a body or a constant that C cannot say.

    Cost: generating and compiling on the first call with this program and schedule (some milliseconds, or 100 for C);
    then the loops, a microsecond an instance in Python.

    >>> import numpy as np
    >>> from polyvolta.sched import Program
    >>> prefix = Program.parse("[N] -> { S[i] : 1 <= i < N }", "{ S[i] -> a[i - 1]; S[i] -> a[i] }",
    ...                        "{ S[i] -> a[i] }", bodies={"S": "a[i] += a[i - 1]"})
    >>> a = np.arange(5.0)
    >>> execute(prefix, a=a, N=5)
    >>> a
    array([ 0.,  1.,  3.,  6., 10.])
    """
    key = (id(program), id(schedule), str(using), bool(parallel))
    if key not in _built:
        check_program(program, "execute")
        own = [n for n in ("program", "schedule", "using", "parallel") if n in Interface.of(program).passed]
        if own:
            hint = f"build({program.name})(...) takes it"
            raise BadArgument(f"{own[0]} is an argument of {program.name} and one of execute itself", hint=hint)
        made = build(program, schedule, using=using, parallel=parallel)
        _built[key] = (program, schedule, made)  # keeps both, so that ids stay theirs
        if len(_built) > KEPT:
            _built.popitem(last=False)
    _built.move_to_end(key)
    _built[key][2](**arguments)


def build(
    program: Program, schedule: Schedule | None = None, *, using: Language = "python", parallel: bool = False
) -> Compiled:
    """The function that computes a program in the order of a schedule; it takes the program's arguments by name.

    Its `text` is the code. Parameters and errors are those of `execute`. The function
    takes arguments of all names, even those of `execute` itself.

    `program` has the names, `schedule` the order, by default its own; `using` is "python" or "c", whose loops
    `parallel` spreads over cores.

    Raises
    ------
    BadArgument, BadProgram : a language, an order or a program that is none.

    >>> import numpy as np
    >>> from polyvolta.sched import build, nest
    >>> @nest
    ... def chain(A, N):
    ...     for i in range(1, N):
    ...         A[i] = A[i - 1]
    >>> compiled = build(chain)
    >>> a = np.array([7.0, 0.0, 0.0])
    >>> _ = compiled(A=a, N=3)
    >>> a
    array([7., 7., 7.])
    """
    check_program(program, "execute")
    if using not in ("python", "c"):
        hint = nearest(str(using), ["python", "c"]) or "using='python' or using='c'"
        raise BadArgument(f"using={using!r} is no language", hint=hint)
    if not isinstance(parallel, bool):
        raise BadArgument(f"parallel is True or False, not {parallel!r}", hint="parallel=True, with using='c'")
    if parallel and using != "c":
        raise BadArgument("Python code runs loops one iteration after another", hint="parallel=True needs using='c'")
    return prepared(program, schedule, using, HowC(parallel))


def prepared(program: Program, schedule: Schedule | None, using: Language, how: HowC) -> Compiled:
    """See `build`; `how` says how C code is made."""
    if schedule is not None and not isinstance(schedule, Schedule):
        hint = "pass the tree that was scanned" if isinstance(schedule, Scan) else "schedule(program) makes one"
        raise BadArgument(f"the order of a program is a Schedule, not {kind_of(schedule)}", hint=hint)
    if schedule is not None and schedule is not program.schedule:
        check_instances(schedule, program)
    order = schedule or program.schedule
    loops = scan(order, program.context)
    used = free_names(loops.body).union(*[e.names() for e in loops.extents.values()])
    for name in sorted(used - {*loops.extents, *program.params}):
        raise BadSchedule(f"the tree speaks of {name}, no parameter of the program", where=str(order))
    for name, size in loops.extents.items():
        if size != aff(1) and any(not s.is_empty() for s in beside(order, name)):
            what = f"instances that no member mapped to {name} is above would run once for each of its values"
            raise BadSchedule(what, where=str(order), hint="map a member above them, too, or run the tree unmapped")
    return Compiled(program, loops, using, how, assumptions(order))


class Compiled(Shown):
    """A program under a schedule, ready to run; make one with `build` or `compile_c`.

    Called with the program's arguments by name; `text` is its code. See `build`.
    """

    def __init__(
        self,
        program: Program,
        scan: Scan,
        using: Language,
        how: HowC = HowC(),  # noqa: B008 - a value
        contexts: Iterable[tuple[Set, Set]] = (),
    ) -> None:
        self.program, self.scan, self.using, self.contexts = program, scan, using, tuple(contexts)
        self.how = how
        self._endless = endless(scan.body)
        self.face = Interface.of(program)
        self._python: Callable[..., None] | None = None
        self._c: dict[tuple[str, ...], Any] = {}  # by the types of arrays and scalars, and what is strong
        self._boxes: dict[tuple[int, ...], dict[str, list[tuple[int, int]]]] = {}
        self._sizes: set[tuple[int, ...]] = set()  # values of parameters with which all integers fit
        if using == "python":
            self._compile_python()
        else:
            from polyvolta.sched.emit.c.program import lengths, order
            from polyvolta.sched.emit.c.text import wanted_of

            integer_type(scan, "long")
            self._lengths, self._order = lengths(self.face), order(self.face)
            self._wanted = wanted_of(scan, program, how.parallel)
            wanted = (self._wanted or {}).values()
            openmp = how.parallel or any(w.parallel for w in wanted)
            pragmas = ("-fopenmp",) if openmp else ("-fopenmp-simd",) if wanted else ()
            self._flags = (*pragmas, *how.flags)

    def __repr__(self) -> str:
        return f"<{self.program.name}({', '.join(self.face.passed)}) in {self.using}; print its text>"

    def _html(self) -> str:
        from polyvolta.display.code import Code, Python
        from polyvolta.display.page import heading

        called = f"{self.program.name}({', '.join(self.face.passed)})"
        text = (Python if self.using == "python" else Code)(self.text)
        return heading(called, f"in {text.called}") + text._html()

    @property
    def text(self) -> str:
        """The code, for arrays of doubles where that matters."""
        if self.using == "c":
            return self._c_text("double")
        from polyvolta.sched.emit.python.text import to_python

        return to_python(self.scan, self.program)

    def __call__(self, /, **arguments: object) -> None:
        """Run on arguments by name."""
        values = self._checked(arguments)
        if self._python is not None:
            self._python(**values)
        else:
            self._run_c(values)

    # ---- Python

    def _compile_python(self) -> None:
        space: dict[str, Any] = dict(self.face.functions)
        exec(compile(self.text, f"<{self.program.name}>", "exec"), space)  # noqa: S102
        self._python = space[self.face.function]

    # ---- C

    def _c_text(self, real: str | Mapping[str, str], strong: Collection[str] = ()) -> str:
        from polyvolta.sched.emit.c.text import code_of

        how = self.how
        parallel: Literal["openmp"] | None = "openmp" if how.parallel else None
        return code_of(self.scan, self.program, self._wanted, "long", real, parallel, how.restrict, how.align, strong)

    def compile(self, types: Mapping[str, str], strong: Collection[str] = ()) -> Any:  # noqa: ANN401 - of ctypes
        """The function of C for some types of arrays and scalars; remembered.

        `strong` are the scalars that are numpy's, and not Python's own.

        Raises
        ------
        NoCompiler, NotTranslatable : see `execute`.
        """
        from polyvolta.sched.emit.c.compiler import WRAPPING, compiled
        from polyvolta.sched.emit.c.program import identifier

        key = (*types.values(), *strong)
        if key not in self._c:
            wrapping = (WRAPPING,) if {*types.values()} & {"long", "int"} else ()  # of data; loops' own numbers fit
            flags = (*wrapping, *self._flags)
            self._c[key] = compiled(self._c_text(types, strong), identifier(self.face.function), flags)
            self._c[key].restype = None
        return self._c[key]

    def _run_c(self, values: Mapping[str, Any]) -> None:
        import numpy as np

        face, types, given = self.face, {}, dict(values)
        params = {p: values[p] for p in face.params}
        if tuple(params.values()) not in self._sizes:
            check_sizes(self.scan, params)
            if len(self._sizes) >= KEPT:
                self._sizes.clear()
            self._sizes.add(tuple(params.values()))
        for name in (*face.ranks, *face.cells):
            array = values[name]
            element = C_TYPES.get(array.dtype.name)
            if element is None or not array.dtype.isnative:
                known = ", ".join(C_TYPES)
                raise BadArgument(f"elements of {name} are {array.dtype}, and C code takes {known}")
            types[name] = element
            for k, length in enumerate(row_lengths(name, array)):
                given[self._lengths[name, k + 1]] = length
        for name in face.scalars:
            single = getattr(values[name], "dtype", None) == np.float32
            types[name] = "long" if isinstance(values[name], (int, np.integer)) else "float" if single else "double"
            if types[name] == "long" and not -(2**63) <= int(values[name]) < 2**63:
                raise BadArgument(f"{name} = {values[name]} does not fit 64 bits", hint="using='python' takes it")
            if isinstance(values[name], complex | np.complexfloating):
                raise BadArgument(f"{name} is complex, and C code takes real numbers", hint="using='python' takes it")
            if isinstance(values[name], np.floating) and values[name].dtype.char == "g":
                raise BadArgument(f"{name} is {values[name].dtype}, and C code takes doubles", hint=f"float({name})")
        arrays = {name: values[name] for name in (*face.ranks, *face.cells)}
        check_apart(arrays, face.written if self.how.restrict else (), self.how.align or 1)
        function = self.compile(types, self._strong(values) if "float" in types.values() else ())
        made: list[object] = []
        for name in self._order:
            value = given[name]
            if name in types and (name in face.ranks or name in face.cells):
                made.append(ctypes.c_void_p(value.ctypes.data))
            elif name in types:
                c = {"double": ctypes.c_double, "float": ctypes.c_float, "long": ctypes.c_long}[types[name]]
                made.append(c(value if types[name] != "long" else int(value)))
            else:
                made.append(ctypes.c_long(value))
        function(*made)

    def _strong(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The scalars beside which single precision becomes double: numpy's doubles and wide integers."""
        import numpy as np

        numpys = [(name, values[name].dtype) for name in self.face.scalars if isinstance(values[name], np.generic)]
        return tuple([name for name, dtype in numpys if np.result_type(dtype, np.float32) != np.float32])

    # ---- arguments

    def _checked(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """The arguments as the function takes them, local arrays made.

        Raises
        ------
        BadArgument : see `execute`.
        """
        import numpy as np

        face, program = self.face, self.program
        signature = f"{program.name}({', '.join(face.passed)})"
        for name in arguments:
            if name not in face.passed:
                raise BadArgument(
                    f"{name!r} is no argument of {program.name}", where=signature, hint=nearest(name, face.passed)
                )
        missing = [name for name in face.passed if name not in arguments]
        if missing:
            what, are = ("arguments", "are") if len(missing) > 1 else ("argument", "is")
            raise BadArgument(f"the {what} {', '.join(missing)} of {program.name} {are} missing", where=signature)
        values: dict[str, Any] = dict(arguments)
        for name in face.params:
            try:
                values[name] = index(values[name])
            except TypeError:
                raise BadArgument(
                    f"the parameter {name} is an integer, not {values[name]!r}", where=signature
                ) from None
        params = {p: values[p] for p in face.params}
        if not _holds(program.context, params):
            raise BadArgument(f"the program assumes {program.context} of its parameters, not {params}", where=signature)
        for context, wrong in self.contexts:
            if _holds(wrong, params):
                raise BadArgument(f"the tree assumes {context} of the parameters, not {params}", where=signature)
        for name in (*face.ranks, *face.cells):
            if name in face.passed:
                check_array(name, values[name], face.ranks.get(name, 0), name in face.written, signature)
        for name in face.scalars:
            value = values[name]
            if isinstance(value, np.ndarray) and not value.ndim:
                values[name] = value[()]
            elif not isinstance(value, int | float | complex | np.number | np.bool_):
                raise BadArgument(f"{name} is a number, not {kind(value)}", where=signature)
        self._check_end(params)
        boxes = self._box(params)
        for name, box in boxes.items():
            if name in face.passed:
                check_size(name, values[name], box, params)
            elif min([low for low, _ in box], default=0) < 0:
                raise BadArgument(
                    f"the program touches its own {name} before the first element", where=f"{name}: {box}"
                )
        real = [
            values[a].dtype for a in (*face.ranks, *face.cells) if a in face.passed and values[a].dtype.kind in "fc"
        ]
        for name in face.ranks:
            if name not in face.passed:
                size = [high + 1 for _, high in boxes.get(name, [(0, 0)] * face.ranks[name])]
                zeros = np.zeros(size, np.result_type(*real) if real else np.float64)
                values[name] = aligned(zeros, self.how.align) if self.how.align else zeros
        return values

    def _check_end(self, params: Mapping[str, int]) -> None:
        """Refuse sizes at which the loops would never end, and no box of subscripts would hold them.

        Raises
        ------
        Unbounded : names the statement.
        """
        if not self._endless or tuple(params.values()) in self._boxes:
            return
        for s in self.program.statements:
            if not s.domain.fix({p: params[p] for p in s.domain.param_names}).is_bounded():
                sizes = ", ".join(f"{p}={v}" for p, v in params.items())
                raise Unbounded(
                    f"{s.name} has infinitely many instances" + (f" with {sizes}" if sizes else ""),
                    where=str(s.domain),
                    hint="pass sizes at which it ends; to_c and to_python write loops without an end, too",
                )

    def _box(self, params: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
        """Of each array that is touched, the least and the greatest subscript in every dimension; remembered."""
        key = tuple(params.values())
        if key not in self._boxes:
            if len(self._boxes) >= KEPT:
                self._boxes.clear()
            self._boxes[key] = touched(self.program, params)
        return self._boxes[key]


def _holds(context: Set, params: Mapping[str, int]) -> bool:
    """Whether a set of parameters has these; one that speaks of others is not asked."""
    names = context.param_names
    return not set(names) <= set(params) or context.contains((), **{p: params[p] for p in names})
