"""Parameters and dimensions."""

import numpy as np

from tests.sets.laws import family, same
from tests.sets.tables import PARAMS, WINDOW, instances, table

SETS = family("sets", {})
CUBES = family("sets of three dimensions", {"outputs": ("i", "j", "k"), "depth": 1}, weight=1.4)
CONTEXTS = family("sets and contexts", {}, {"outputs": ("i",)})
BOUND = family("sets of bounded parameters", {"outputs": ("i",), "params": ("N", "M"), "boxed": "params"})

N = np.array(PARAMS)[:, None, None]
I = np.array(WINDOW)[None, :, None]
J = np.array(WINDOW)[None, None, :]


@SETS.law
def project_out_last(a):
    same(a.r.project_out("j"), a.t.any(axis=2))


@SETS.law
def project_out_first(a):
    same(a.r.project_out(0), a.t.any(axis=1))


@SETS.law
def params(a):
    same(a.r.params(), a.t.any(axis=(1, 2)))


@CUBES.law
def project_out_two(a):
    same(a.r.project_out("i", "k"), a.t.any(axis=(1, 3)))


@CUBES.law
def project_out_one_by_one(a):
    same(a.r.project_out(2).project_out(0), a.t.any(axis=(1, 3)))


@BOUND.law
def project_out_a_parameter(a):
    same(a.r.project_out_params("M"), a.t.any(axis=1))


@SETS.law
def fix_a_dimension(a):
    same(a.r.fix(i=1), a.t & (I == 1))


@SETS.law
def fix_a_parameter(a):
    same(a.r.fix(N=2), a.t & (N == 2))


@SETS.law
def parameters_given(a):
    for (n,), here in instances(a.t, 1):
        same(a.r.fix(N=n).project_out_params("N"), here)


@CONTEXTS.law
def intersect_params(a, b):
    same(a.r.intersect_params(b.r.params()), a.t & b.t.any(axis=1)[:, None, None])


@CUBES.law
def project_onto(a):
    same(a.r.project_onto("j"), a.t.any(axis=(1, 3)))


@SETS.law
def eliminate(a):
    same(a.r.eliminate("i"), np.broadcast_to(a.t.any(axis=1, keepdims=True), a.t.shape))


@SETS.law
def lower_bound(a):
    same(a.r.lower_bound("i", 1), a.t & (I >= 1))
    same(a.r.lower_bound("j", "N - i"), a.t & (J >= N - I))


@SETS.law
def upper_bound(a):
    same(a.r.upper_bound("j", 1), a.t & (J <= 1))
    same(a.r.upper_bound("i", "floor(j/2) + N"), a.t & (I <= J // 2 + N))


@SETS.law
def equate(a):
    same(a.r.equate("i", "j"), a.t & (I == J))
    same(a.r.equate("N", "j"), a.t & (N == J))


@SETS.law
def order(a):
    same(a.r.order_lt("i", "j"), a.t & (I < J))
    same(a.r.order_le("i", "j"), a.t & (I <= J))
    same(a.r.order_gt("i", "j"), a.t & (I > J))
    same(a.r.order_ge("i", "N"), a.t & (I >= N))


@SETS.law
def drop_constraints_involving(a):
    assert (table(a.r.drop_constraints_involving("j")) >= a.t).all()


@CONTEXTS.law
def insert_dims(a, b):
    wide = b.r.insert_dims(0, "h")
    same(wide, np.broadcast_to(b.t[:, None, :], a.t.shape))
    same(b.r.add_dims("h"), np.broadcast_to(b.t[:, :, None], a.t.shape))


@SETS.law
def move_dims(a):
    moved = a.r.move_dims("i", to="params").move_dims("i", to="out")
    same(moved, np.moveaxis(a.t, 1, 2))


@SETS.law
def rename(a):
    same(a.r.rename_dims(i="j", j="i"), a.t)
    same(a.r.rename_params(N="M"), a.t)
    same(a.r.rename("R"), a.t)
    assert a.r.rename_dims(i="x").is_equal(a.r)
