"""What is given by mistake is named, with what to give instead; and how wide integers are in C."""

import numpy as np
import pytest

from polyvolta.sched import Band, Domain, Member, Scan, Schedule, build, execute, run, scan, to_c, to_python
from polyvolta.sched.errors import BadArgument, NotTranslatable
from polyvolta.sched.loops.ast import Call, For
from polyvolta.sched.loops.notation.widths import largest
from polyvolta.sched.passes import tile
from polyvolta.sched.program.model import Program
from polyvolta.sets import Set, SetSyntaxError, UnknownName, aff, var

program = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies="a[i] = 1.0")
tree = program.schedule
loops = scan(tree)


def line(domain):
    return Schedule(Domain(Set(domain), Band((Member((("S", var("i")),)),), permutable=True)))


# ---- what is taken besides


def test_a_tree_is_scanned():
    assert to_c(tree) == to_c(loops)
    assert to_c(tree, program) == to_c(loops, program)
    assert to_python(tree) == to_python(loops)
    assert run(tree, N=3) == run(loops, N=3)


def test_a_context_is_a_set_or_its_text():
    text = "[N] -> { : N >= 1 }"
    assert scan(tree, text) == scan(tree, Set(text))
    with pytest.raises(SetSyntaxError):
        scan(tree, "N >= 1")


# ---- refusals


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: scan(program), "scan takes a Schedule, not a Program", "scan(program.schedule)"),
        (lambda: scan(3), "scan takes a Schedule, not an int", ""),
        (lambda: scan(tree, context=3), "a context is a Set or its text, not an int", "[N] -> { : N >= 1 }"),
        (lambda: scan(tree, extents=3), "extents are numbers by name", "blockIdx.x"),
        (lambda: scan(tree, extents={"t": 1.5}), "an extent is an integer", "blockIdx.x"),
        (lambda: to_c(program), "to_c takes what scan returns, or a Schedule, not a Program", "scan(program.schedule)"),
        (lambda: to_python(None), "to_python takes what scan returns", "scan(program.schedule)"),
        (lambda: run(3), "run takes what scan returns", "scan(program.schedule)"),
        (lambda: to_c([1, 2]), "to_c takes what scan returns", "scan(program.schedule)"),
        (lambda: to_c(loops, 3), "to_c takes a Program, not an int", "@nest"),
        (lambda: to_python(loops, tree), "to_python takes a Program, not a Schedule", ""),
        (lambda: to_c(loops, integer="banana"), "'banana' is no signed integer type of C", "int64_t"),
        (lambda: to_c(loops, integer="lon"), "'lon' is no signed integer type of C", "did you mean 'long'?"),
        (lambda: to_c(loops, program, real="flaot"), "real='flaot' is no type of elements", "did you mean 'float'?"),
        (lambda: to_c(loops, real="long double"), "real='long double' is no type of elements", ""),
        (lambda: to_c(loops, program, real=3), "real=3 is no type of elements", 'real="float"'),
        (lambda: to_c(loops, program, real=None), "real=None is no type of elements", 'real={"A": "float"}'),
        (lambda: to_c(loops, program, real={"a": "doubel"}), "the type of a, 'doubel', is no type", "'double'"),
        (lambda: to_c(loops, program, real={"a": ["int"]}), "the type of a, ['int'], is no type", 'real="float"'),
        (lambda: to_c(loops, program, real={"N": "int"}), "the program has no array or scalar N", "a"),
        (lambda: to_c(loops, parallel="cuda"), "parallel='cuda'", "openmp"),
        (lambda: to_c(loops, parallel=True), "parallel=True", "openmp"),
        (lambda: run(loops, Q=3, N=2), "the loops have no parameter Q", "N"),
        (lambda: run(loops, 3), "values of parameters are a mapping", "N=4"),
        (lambda: execute(program, using="fortran"), "using='fortran' is no language", "python"),
        (lambda: execute(program, using=[]), "using=[] is no language", "python"),
    ],
)
def test_what_is_given_by_mistake(call, message, hint):
    with pytest.raises(BadArgument) as error:
        call()
    assert message in error.value.message
    assert hint in error.value.hint


def test_an_argument_called_like_one_of_execute():
    scaled = Program.parse("[N] -> { S[i] : 0 <= i < N }", None, "{ S[i] -> a[i] }", bodies="a[i] = using")
    with pytest.raises(BadArgument, match="using is an argument of program and one of execute itself"):
        execute(scaled, a=np.zeros(2), N=2, using="c")
    a = np.zeros(2)
    build(scaled)(a=a, N=2, using=2.5)
    assert (a == 2.5).all()


def test_values_of_mapped_names_and_of_parameters_without_a_use_are_taken():
    mapped = Schedule(Domain(Set("[N, M] -> { S[i] : 0 <= i < N }"), Band((Member((("S", var("i")),), name="t"),))))
    assert run(mapped, N=3, M=1, t=2) == [("S", (2,))]
    with pytest.raises(UnknownName, match="the parameter N has no value"):
        run(mapped, M=1)


# ---- integers


@pytest.mark.parametrize(
    ("size", "kind"),
    [(32, "int"), (2**20, "int"), (2**30, "long long"), (2**31 - 1, "long long"), (2**50, "long long")],
)
def test_the_type_is_as_wide_as_the_constants(size, kind):
    text = to_c(tile(line("[N] -> { S[i] : 0 <= i < N }"), (0,), (size,)))
    assert f"for ({kind} c0 = 0;" in text


def test_products_of_small_constants_are_seen():
    """No constant has more than four digits, the last loop has values of 12."""
    tree = Schedule(
        Domain(
            Set("{ S[i, j, k] : 0 <= i < 4000 and 0 <= j - 9999i < 9 and 0 <= k - 9999j < 9 }"),
            Band(tuple(Member((("S", var(v)),)) for v in "ijk")),
        )
    )
    assert to_c(tree, macros=False).startswith("for (long long c0 = 0; c0 < 4000")


@pytest.mark.parametrize("size", [2**62, 2**70])
def test_what_64_bits_do_not_hold_is_shown(size):
    with pytest.raises(NotTranslatable, match="does not fit 64 bits") as error:
        to_c(tile(line("[N] -> { S[i] : 0 <= i < N }"), (0,), (size,)))
    assert str(size) in error.value.where


def test_a_type_that_is_wanted_and_too_narrow():
    large = line(f"{{ S[i] : 0 <= i < {2**33} }}")
    for integer in ("int", "int32_t"):
        with pytest.raises(NotTranslatable, match=f"does not fit {integer}, of 32 bits"):
            to_c(large, integer=integer)
    assert to_c(large, integer="int64_t").startswith("#include <stdint.h>\n\nfor (int64_t c0")


def test_the_bound_of_all_values_is_one():
    """Against the values of a loop nest: bounds, arguments, and the variable one step beyond."""
    inner = For("c1", (var("c0") * -7,), (var("c0") * 5,), 3, False, (Call("S", ((var("c1") * 11 - 2) // 4,)),))
    nest = For("c0", (aff(0),), (var("N") - 1,), 1, False, (inner,))
    for n in (1, 4, 9):
        values = [abs(v) for c0 in range(n) for c1 in range(-7 * c0, 5 * c0 + 4, 3) for v in (n, 7 * c0, 11 * c1 - 2)]
        assert largest(Scan((nest,)), {"N": n})[0] >= max(values)


def test_a_size_of_any_64_bits_is_of_that_type_alone():
    """pet says of a `long` that it is at most 2**63 - 1, which is no reason to refuse a loop up to it."""
    tree = line("[N] -> { S[i] : 0 <= i < N }")
    for most in (2**31 - 1, 2**63 - 1):
        assert to_c(scan(tree, context=f"[N] -> {{ : 0 <= N <= {most} }}")).startswith("for (long long c0 = 0;")
    with pytest.raises(NotTranslatable, match="does not fit 64 bits"):
        to_c(line(f"{{ S[i] : 0 <= i < {2**63 - 1} }}"))
