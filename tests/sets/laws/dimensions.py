"""Parameters and dimensions."""

import numpy as np

from tests.sets.laws import family, same
from tests.sets.tables import PARAMS, WINDOW, instances

SETS = family("sets", {})
CUBES = family("sets of three dimensions", {"outputs": ("i", "j", "k"), "depth": 1})
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
