"""islpy beside polyvolta's names of isl: the same calls, and the values of functions at the points of a box."""

from itertools import product

import polyvolta.isl as own

try:
    import islpy as isl
except ImportError:  # whoever asks it skips its tests without it
    isl = None


def both(call):
    """What a call with a module and its kinds of dimensions gives in islpy and here."""
    return call(isl, isl.dim_type), call(own, own.dim_type)


def point(f, values):
    """islpy's point of a function's space with some values of the parameters and the dimensions."""
    space = f.get_domain_space()
    at = isl.Point.zero(space)
    n = space.dim(isl.dim_type.param)
    for k, v in enumerate(values):
        kind, pos = (isl.dim_type.param, k) if k < n else (isl.dim_type.set, k - n)
        at = at.set_coordinate_val(kind, pos, v)
    return at


def same_values(theirs, ours, box=(-2, 0, 1, 3)):
    """Whether both have the same tuple, parameters, and values at the points of a box."""
    D = own.dim_type
    names = theirs.get_var_names(isl.dim_type.param)
    home = theirs.get_domain_space()
    assert [p for p, n in zip(ours.get_var_names(D.param), names, strict=True) if n] == [n for n in names if n]
    assert ours.dim(D.in_) == theirs.dim(isl.dim_type.in_)
    if home.dim(isl.dim_type.set):
        assert ours.get_domain_space().get_tuple_name(D.set) == home.get_tuple_name(isl.dim_type.set)
    dims = [f"x{k}" for k in range(ours.dim(D.in_))]
    where = own.PwQPolynomial.from_qpolynomial(ours) if isinstance(ours, own.QPolynomial) else ours
    for k, name in enumerate(dims):
        where = where.set_dim_name(D.in_, k, name)
    for values in product(box, repeat=len(names) + len(dims)):
        expected = theirs.eval(point(theirs, values))
        given = dict(zip([*where.param_names, *dims], values))
        assert str(own.Val(where(**given) if where.pieces else 0)) == str(expected), (theirs, ours, values)
