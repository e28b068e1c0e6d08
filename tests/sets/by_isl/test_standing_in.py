"""What programs on islpy ask of it besides isl, and `stand_in`, which puts `polyvolta.isl` in islpy's place."""

import subprocess
import sys

import pytest

import polyvolta.isl as isl
from polyvolta.isl import Error, Map, PwAff, Set
from polyvolta.isl import dim_type as DT

FUNCTIONS = [
    ("[n, m] -> { [i, j] -> [(i)] }", "[n] -> { [(n)] }"),
    ("[n, m] -> { [i, j] -> [(i)] }", "[k] -> { [j, i] -> [(i + k)] : j > i }"),
    ("[k] -> { [j, i] -> [(i + floor(k/2))] : j > i }", "[k] -> { [j, i, l] -> [(i + l)] : j > i }"),
    ("[k, i] -> { [j] -> [(i + k)] : j > i }", "[k] -> { [j, i] -> [(j + k)] : j > i }"),
]


@pytest.mark.parametrize(("one", "other"), [*FUNCTIONS, *(pair[::-1] for pair in FUNCTIONS[:3])])
def test_alignment_of_functions_beside_islpy(one, other):
    """The inputs move by name as islpy moves them, and those that one of both lacks are new."""
    islpy = pytest.importorskip("islpy")
    ours = isl.align_two(PwAff(one), PwAff(other))
    theirs = islpy.align_two(islpy.PwAff(one), islpy.PwAff(other))
    for f, g in zip(ours, theirs, strict=True):
        assert islpy.PwAff(str(f)).is_equal(g)
        assert [f.get_var_names(k) for k in (DT.param, DT.in_)] == [
            g.get_var_names(k) for k in (islpy.dim_type.param, islpy.dim_type.in_)
        ]


def test_alignment_of_one_kind_beside_islpy():
    islpy = pytest.importorskip("islpy")
    one, like = "[n] -> { [i, j] -> [k] : i < n and k = j }", "[m, n] -> { [j, x, i] -> [k] }"
    names = ["n", "i", "j", "k"], ["m", "n", "j", "x", "i", "k"]
    ours, theirs = Map(one), islpy.Map(one)
    for kind in ("param", "in_"):
        ours = isl._align_dim_type(getattr(DT, kind), ours, Map(like), False, *names)
        at = getattr(islpy.dim_type, kind)
        theirs = islpy._align_dim_type(at, theirs, islpy.Map(like), False, *map(set, names))
    assert islpy.Map(str(ours)).is_equal(theirs) and ours.space.inp.dims == ("j", "x", "i")
    assert [k.name for k in isl._CHECK_DIM_TYPES] == ["in_", "param", "out"]
    with pytest.raises(Error, match="has no place"):
        isl._align_dim_type(DT.in_, Map(one), Map("{ [i] -> [k] }"), False, *names)


def test_a_map_in_a_sets_space():
    """As in isl: it has no inputs, of which dimensions may be made; and a function of parameters has a set's space."""
    space = Set("[n] -> { [i, j] : i < n }").get_space()
    m = Map.universe(space).intersect_range(Set("[n] -> { [i, j] : i < j < n }"))
    assert m.dim(DT.in_) == 0
    assert m.move_dims(DT.in_, 0, DT.out, 0, 1).is_equal(Map("[n] -> { [i] -> [j] : i < j < n }"))
    assert space.add_dims(DT.in_, 2).dim(DT.in_) == 2 and space.insert_dims(DT.in_, 0, 1).is_map()
    assert Set.universe(PwAff("[n] -> { [(n)] }").get_space()).is_equal(Set("[n] -> { [i] }"))


def test_a_number_added_to_the_polynomial_zero():
    space = Set("[n] -> { [i] }").get_space()
    zero = isl.PwQPolynomial.from_qpolynomial(isl.QPolynomial.zero_on_domain(space))
    assert (zero + 3)(n=1, i=-5) == 3 and (zero - 3)(n=1, i=5) == -3 and zero(n=1, i=1) == 0


def test_a_quotient_by_a_function_that_is_a_number():
    f = PwAff("[n] -> { [i] -> [i + n] }").div(PwAff("{ [i] -> [3] }"))
    assert f.floor() == PwAff("[n] -> { [i] -> [floor((i + n)/3)] }")


STANDING_IN = """
import polyvolta.isl
polyvolta.isl.stand_in()
import islpy as isl
from islpy import _isl, version, dim_type
assert isl is _isl is polyvolta.isl and version.VERSION_TEXT
one, other = isl.Set("[n] -> { [i] : 0 <= i < n }"), isl.Set("[n] -> { [i] : 0 <= i <= 4 and i < n; [i] : 5 <= i < n }")
assert one == other and not one != other and one != isl.Set("[n] -> { [i] : 0 <= i <= n }") and one != isl.Map("{ }")
assert isl.PwAff("{ [i] -> [i mod 2] }") == isl.PwAff("{ [i] -> [0] : i mod 2 = 0; [i] -> [1] : i mod 2 = 1 }")
half, same = "[n] -> { [i] -> [i/2] : i <= n }", "[n] -> { [i] -> [i/2] : i < n; [i] -> [i/2] : i = n }"
assert isl.PwAff(half) == isl.PwAff(same) != isl.PwAff("[n] -> { [i] -> [i/2] }") and bool(isl.PwAff(half))
assert isl.MultiPwAff("{ [i] -> [i/2, i mod 2] }") == isl.MultiPwAff("{ [i] -> [i/2, i - 2*floor(i/2)] }")
one_member, written_else = "{ [i] -> [(i/2), (i : i > 0)] }", "{ [i] -> [(i/2), (i : i > 1; 1 : i = 1)] }"
assert isl.MultiPwAff(one_member) == isl.MultiPwAff(written_else)
assert bool(one) and bool(isl.Set("{ [i] : false }")) and bool(isl.PwAff("{ [i] -> [0] }"))
assert isl.Set("[n] -> { [i] : 0 <= i < n }}") == one  # what is after the brace is not read

# a prime is a name's own: it stays when the name without it goes, and when that stood in the other tuple
m = isl.Map("[n] -> { [s', i] -> [i', s] : s' = s + 1 and i = i' + n }")
assert m.domain().get_var_names(dim_type.set) == ["s'", "i"] and m.range().get_var_names(dim_type.set) == ["i'", "s"]
assert m.domain().project_out(dim_type.set, 1, 1).get_var_names(dim_type.set) == ["s'"]
assert m.move_dims(dim_type.param, 1, dim_type.in_, 1, 1).range().get_var_names(dim_type.param) == ["n", "i"]
assert m.reverse().domain().get_var_names(dim_type.set) == ["i'", "s"]
assert isl.Map("{ [i] -> [i + 1] }").range().get_var_names(dim_type.set) == ["i0"]
twice = isl.Map("{ [i] -> [i] : i > 0 }").intersect_range(isl.Set("{ [i] }"))
assert twice.range().get_var_names(dim_type.set) == ["i"] == twice.reverse().domain().get_var_names(dim_type.set)
swapped = isl.Set("{ [i, j] : i > j }").set_dim_name(dim_type.set, 0, "j").set_dim_name(dim_type.set, 1, "i")
assert swapped.get_var_names(dim_type.set) == ["j", "i"] and swapped == isl.Set("{ [j, i] : j > i }")
assert str(isl.Set("{ [x] }").set_dim_name(dim_type.set, 0, "x_'prox'_")) == "{ [x_'prox'_] }"  # as loopy has it
assert str(twice) == "{ [i] -> [i] : i >= 1 }" and isl.Map(str(m)) == m
"""


def test_standing_in_for_islpy():
    """In a process of its own, for `==` asks more in all of it."""
    done = subprocess.run([sys.executable, "-c", STANDING_IN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    late = "import islpy, polyvolta.isl; polyvolta.isl.stand_in()"
    done = subprocess.run([sys.executable, "-c", late], capture_output=True, text=True, check=False)
    assert "islpy is imported already" in done.stderr or "No module named 'islpy'" in done.stderr


def test_kinds_that_sets_have_none_of():
    """As in isl: pieces have existentials and a constant, what may have several pieces has neither."""
    islpy = pytest.importorskip("islpy")
    for text in ("{ [i] -> [j] : i mod 3 = j }", "[n] -> { [i] -> [i + n] : 0 <= i < n }"):
        ours, theirs = Map(text), islpy.Map(text)
        for kind in ("cst", "div"):
            its = getattr(islpy.dim_type, kind)
            assert ours.dim(getattr(DT, kind)) == theirs.dim(its) == 0
            assert ours.get_var_names(getattr(DT, kind)) == theirs.get_var_names(its) == []
            assert isl.BasicMap(text).dim(getattr(DT, kind)) == islpy.BasicMap(text).dim(its)
        left = ours.project_out_except(["i"], [DT.in_, DT.param, DT.div, DT.cst])
        its = [islpy.dim_type.in_, islpy.dim_type.param]
        assert islpy.Map(str(left)).is_equal(theirs.project_out_except(["i"], its))


def test_the_constraint_of_no_points():
    islpy = pytest.importorskip("islpy")
    (ours,), (theirs,) = (x("[n] -> { [i] : false }").get_constraints() for x in (isl.BasicSet, islpy.BasicSet))
    assert ours.is_equality() and theirs.is_equality() and ours.get_constant_val() == theirs.get_constant_val() == 1
    assert isl.BasicSet("[n] -> { [i] }").add_constraint(ours).is_empty()


def test_the_polynomial_zero_of_a_sets_space_is_of_parameters():
    """A set's space is that of a function of parameters alone, as in isl."""
    zero = isl.PwQPolynomial.zero(Set("[n] -> { [i] }").get_space())
    assert zero.dim(DT.in_) == 0 and (zero + isl.PwQPolynomial("[n] -> { n }"))(n=3) == 3
