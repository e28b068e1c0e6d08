"""Plans: what a kernel is made from computes what the graph means, with any accumulators; other graphs are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.graph import Graph
from polyvolta.graph.functions.formula import Call, Input, inputs, show
from polyvolta.graph.functions.meaning import evaluate
from polyvolta.graph.plans.idioms import plan
from polyvolta.graph.plans.plans import Unsupported
from polyvolta.sets import UnknownName

M, N, K, L = pv.sizes("M N K L")
A, B = pv.tensor("A", (M, K)), pv.tensor("B", (K, N), layout="col")
P, Q = pv.tensor("P", (M, L)), pv.tensor("Q", (L, N))
U, V = pv.tensor("U", (M, K), layout="col"), pv.tensor("V", (K, N))
R, row, column = pv.tensor("R", (M, N)), pv.tensor("row", (N,)), pv.tensor("column", (M, 1))
alpha, beta = pv.scalar("alpha"), pv.scalar("beta")
AB, PQ, UV = A @ B, P @ Q, U @ V


def planned(expr, accumulators="auto"):
    return plan(Graph.of(expr), accumulators)


def formula_text(part):
    return show(part.formula, [*map(str, part.accesses), *part.scalars])


def sharing(found):
    return [(c.accumulator, c.factor) for c in found.contractions]


# ---- what a plan computes, by numpy


def element(array, access, iterators, sizes):
    """The array's elements at each point of the iterators, by an access."""
    grids = dict(zip(iterators, np.ogrid[tuple(slice(sizes[i]) for i in iterators)], strict=True))
    return array[tuple(int(i) if i.isdigit() else grids[i] for i in access.index)]


def values(part, memory, scalars, iterators, sizes):
    operands = [element(memory[a.tensor], a, iterators, sizes) for a in part.accesses]
    operands += [scalars[s] for s in part.scalars]
    shape = tuple(sizes[i] for i in iterators)
    return np.broadcast_to(evaluate(part.formula, operands, np.float64), shape)


def run(found, arrays, scalars):
    """The outputs of a plan, computed as it says: contraction after contraction, then the steps."""
    memory = dict(arrays)
    for c in found.contractions:
        extents = [memory_size(arrays, c, i) for i in c.statement.iterators]
        sizes = dict(zip(c.statement.iterators, extents, strict=True))
        left = values(c.left, memory, scalars, c.left.index, sizes)
        right = values(c.right, memory, scalars, c.right.index, sizes)
        start = 0.0 if c.factor is None else c.factor * memory[c.accumulator]
        memory[c.accumulator] = start + left @ right
    shape = memory[found.contractions[0].accumulator].shape
    for step in found.steps:
        sizes = dict(zip(step.statement.iterators, shape, strict=True))
        memory[step.statement.write.tensor] = values(step, memory, scalars, step.statement.iterators, sizes)
    return [memory[name] for name in found.outputs]


def memory_size(arrays, contraction, iterator):
    """How many values an iterator takes, from an array that is indexed by it."""
    for a in (*contraction.left.accesses, *contraction.right.accesses):
        if iterator in a.index:
            return arrays[a.tensor].shape[a.index.index(iterator)]
    raise AssertionError(f"no array has {iterator}")


def check(expr, accumulators="auto", seed=0):
    """The plan computes the reference, and its own books are right."""
    graph = Graph.of(expr)
    found = plan(graph, accumulators)
    rng = np.random.default_rng(seed)
    size = {"M": 3, "N": 4, "K": 5, "L": 2}
    arrays = {t.name: rng.standard_normal([d if isinstance(d, int) else size[d.name] for d in t.dims])
              for t in graph.inputs}  # fmt: skip
    scalars = {name: rng.standard_normal() for name in graph.scalars}
    expected = pv.reference(graph, **arrays, **scalars)
    for got, want in zip(run(found, arrays, scalars), expected, strict=True):
        np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=1e-9, atol=1e-9)
    names = [o.name for c in found.contractions for o in (c.left, c.right)]
    assert len(set(names)) == len(names)
    started = set()
    for c in found.contractions:
        assert (c.factor is None) == (c.accumulator not in started)
        started.add(c.accumulator)
    for part in (*found.steps, *(o for c in found.contractions for o in (c.left, c.right))):
        assert inputs(part.formula) == tuple(range(len(part.accesses) + len(part.scalars)))
        assert len(set(map(str, part.accesses))) == len(part.accesses)
    return found


# ---- the four idioms


def test_a_plain_product():
    found = check(AB)
    (c,) = found.contractions
    assert (found.steps, found.outputs, c.accumulator, c.factor) == ((), ("C",), "C", None)
    assert (c.left.name, c.left.index, c.left.layout, c.left.formula) == ("A", ("i", "k"), "row", Input(0))
    assert (c.right.name, c.right.index, c.right.layout, c.right.formula) == ("B", ("k", "j"), "col", Input(0))


def test_a_product_of_a_tensor_with_itself_has_two_operands():
    X = pv.tensor("X", (M, M), layout="col")
    (c,) = planned(X @ X).contractions
    assert [(o.name, str(o.accesses[0]), o.layout) for o in (c.left, c.right)] == [
        ("X", "X[i, k]", "col"), ("X_2", "X[k, j]", "col")]  # fmt: skip
    square = pv.tensor("X_2", (M, M))
    (c,) = planned(pv.relu(X) @ (X + square)).contractions
    assert (c.left.name, c.right.name) == ("X", "X_3")


def test_an_epilogue_reads_tensors_vectors_and_scalars():
    found = check(pv.sigmoid(alpha * AB + row) * column - beta * R)
    (step,) = found.steps
    assert [str(a) for a in step.accesses] == ["C[i, j]", "row[j]", "column[i, 0]", "R[i, j]"]
    assert step.scalars == ("alpha", "beta")
    assert step.name == "sub_mul_sigmoid_add_mul_mul"
    assert formula_text(step) == "sub(mul(sigmoid(add(mul(alpha, C[i, j]), row[j])), column[i, 0]), mul(beta, R[i, j]))"


def test_a_prologue_is_a_formula_over_what_is_loaded():
    depth = pv.tensor("depth", (K,))
    (c,) = check((pv.relu(A) * depth + column - alpha * U) @ (V + depth_column * B)).contractions
    assert formula_text(c.left) == "sub(add(mul(relu(A[i, k]), depth[k]), column[i, 0]), mul(alpha, U[i, k]))"
    assert [str(a) for a in c.right.accesses] == ["V[k, j]", "depth_column[k, 0]", "B[k, j]"]
    assert (c.left.name, c.left.layout, c.right.name, c.right.layout) == ("A", "row", "V", "row")


depth_column = pv.tensor("depth_column", (K, 1))


def test_the_layout_is_that_of_the_first_whole_matrix():
    (c,) = check((column * U) @ (depth_column * B)).contractions
    assert (c.left.name, c.left.layout, c.right.name, c.right.layout) == ("U", "col", "B", "col")
    outer = pv.tensor("outer", (1, K), layout="col")
    (c,) = check((column * outer) @ V).contractions
    assert (c.left.name, c.left.layout) == ("column", "row")


def test_a_prologue_of_two_products_is_in_both():
    x = pv.relu(A)
    found = check(x @ B + x @ V)
    assert [(c.left.name, formula_text(c.left)) for c in found.contractions] == [
        ("A", "relu(A[i, k])"), ("A_2", "relu(A[i, k])")]  # fmt: skip
    assert len(found.steps) == 1


def test_several_outputs_and_results_that_are_outputs():
    x = pv.relu(AB + row)
    found = check({"C": AB, "E": x, "F": x * 2 + pv.tanh(R), "G": pv.tanh(R)})
    assert found.outputs == ("C", "E", "F", "G")
    assert [(s.statement.write.tensor, formula_text(s)) for s in found.steps] == [
        ("E", "relu(add(C[i, j], row[j]))"),
        ("G", "tanh(R[i, j])"),
        ("F", "add(mul(E[i, j], 2), G[i, j])"),
    ]
    assert [c.accumulator for c in check([AB, PQ, UV]).contractions] == ["C", "D", "E"]


def test_users_functions_are_opened():
    def swish(x, b):
        y = x + b
        return y * pv.sigmoid(y)

    (step,) = check(pv.pointwise(swish, AB, row)).steps
    total = Call("add", (Input(0), Input(1)))
    assert step.formula is Call("mul", (total, Call("sigmoid", (total,))))
    assert step.name == "swish"


# ---- one accumulator


@pytest.mark.parametrize(
    ("expr", "factors", "text"),
    [
        (AB + PQ, [None, 1.0], "C[i, j]"),
        (AB + PQ + UV, [None, 1.0, 1.0], "C[i, j]"),
        (AB - PQ, [None, -1.0], "neg(C[i, j])"),
        (-AB - PQ, [None, 1.0], "neg(C[i, j])"),
        (pv.relu(AB - PQ + row), [None, -1.0], "relu(sub(row[j], C[i, j]))"),
        (PQ * 0.5 + AB, [None, 0.5], "C[i, j]"),
        (2 * AB + 3 * PQ, [None, 2 / 3], "mul(3, C[i, j])"),
        (AB / 4 - (PQ - UV * 2), [None, -0.25, -0.5], "mul(C[i, j], 2)"),
        (pv.relu(AB + row + PQ), [None, 1.0], "relu(add(row[j], C[i, j]))"),
        (alpha * (AB + PQ) + beta * R, [None, 1.0], "add(mul(alpha, C[i, j]), mul(beta, R[i, j]))"),
        ((AB + R) - (row - PQ), [None, 1.0], "sub(R[i, j], sub(row[j], C[i, j]))"),
    ],
)
def test_a_sum_has_one_accumulator(expr, factors, text):
    for accumulators in ("auto", "one"):
        found = check(expr, accumulators)
        assert sharing(found) == [("C", f) for f in factors]
        assert formula_text(found.steps[-1]) == text
    apart = check(expr, "separate")
    assert len({c.accumulator for c in apart.contractions}) == len(factors)
    assert all(c.factor is None for c in apart.contractions)


def test_sums_within_sums_and_sums_of_several_groups():
    E2, F2 = pv.tensor("E2", (M, 7)), pv.tensor("F2", (7, N))
    found = check(pv.relu(AB + PQ) * (UV - E2 @ F2))
    assert sharing(found) == [("C", None), ("C", 1.0), ("E", None), ("E", -1.0)]
    s = AB + PQ
    found = check(pv.relu(s) + s * 2 + UV)  # s is one value, used twice; UV is no part of it
    assert sharing(found) == [("C", None), ("C", 1.0), ("E", None)]
    s = AB + PQ
    found = check([s, pv.relu(s) + row])
    assert sharing(found) == [("C", None), ("C", 1.0)]


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        (AB * PQ, "C is no term of a sum: it goes into mul alone"),
        (AB + pv.relu(PQ), "D is no term of a sum: it goes into relu alone"),
        ([AB, AB + PQ], "C is an output itself"),
        ([AB + PQ, pv.relu(PQ)], "D is read by 2 operations"),
        (AB * pv.relu(AB) + AB + PQ, "C is used 3 times"),
        (AB + PQ * 0, "D has the factor 0"),
        (AB + PQ * 1e-30, "D has the factor 1e-30"),
        (AB + alpha * PQ, "D is no term of a sum: it goes into mul alone"),
        (pv.relu(AB + PQ) + UV, "they are terms of 2 sums, {C, D}, {E}"),
        ([AB, PQ], "C is an output itself"),
    ],
)
def test_one_accumulator_can_be_impossible_and_that_is_said(expr, why):
    assert "C" in {c.accumulator for c in check(expr).contractions}
    with pytest.raises(Unsupported) as caught:
        planned(expr, "one")
    assert f"the products can't share one accumulator: {why}" in str(caught.value)
    assert "\n  > S" in str(caught.value)
    assert "^" in caught.value.where


def test_a_single_product_has_one_accumulator_anyway():
    assert sharing(check(pv.relu(AB) * AB, "one")) == [("C", None)]
    with pytest.raises(UnknownName, match="did you mean 'one'"):
        planned(AB, "onee")


# ---- outside of the idioms

REFUSED = [
    (pv.relu(R), "no matrix product", ""),
    (AB @ pv.tensor("W", (N, 8)), "S2 is a product of a product: C is the result of S1", "C[i, k]"),
    (pv.relu(AB) @ pv.tensor("W", (N, 8)), "with pointwise operations between: D is the result of S2", "D[i, k]"),
    ([pv.relu(A), pv.relu(A) @ B], "S2 multiplies C, which is an output as well", "C[i, k]"),
    ([AB, P @ pv.tensor("W", (L, 8))], "products of different shapes: S2 makes D(M, 8), S1 makes C(M, N)", "D[i, j]"),
    ([AB, pv.relu(A)], "S2 makes D(M, K), which is no product's shape", "D[i, j]"),
    ([AB, pv.tanh(R)], "S2 makes D from inputs alone, and no product has to do with it", "D[i, j]"),
    ([AB, row * 2], "S2 makes D(N,), which is no product's shape", "D[i]"),
    (A @ pv.tensor("w", (K, 1)) + R, "S2 broadcasts the result of a product, C(M, 1), to D(M, N)", "C[i, 0]"),
    (AB + pv.tensor("batch", (2, M, N)), "S2 broadcasts the result of a product, C(M, N), to D(2, M, N)", "C[j, k]"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "says", "culprit"), REFUSED)
def test_graphs_outside_of_the_idioms(expr, says, culprit):
    with pytest.raises(Unsupported) as caught:
        planned(expr)
    error = caught.value
    assert error.id == "PV402"
    assert says in error.message
    assert error.hint
    if culprit:
        lines = error.where.splitlines()
        (at,) = (n for n, line in enumerate(lines) if set(line) == {" ", "^"})
        start = lines[at].index("^")
        assert lines[at - 1].startswith("> ")
        assert lines[at - 1][start : start + lines[at].count("^")] == culprit


def test_every_refused_graph_still_has_a_reference():
    for expr, _, _ in REFUSED:
        graph = Graph.of(expr)
        shapes = {t.name: [d if isinstance(d, int) else 3 for d in t.dims] for t in graph.inputs}
        results = pv.reference(graph, **{n: np.ones(s) for n, s in shapes.items()})
        assert len(results) == len(graph.outputs)


# ---- any graph of the idioms


@st.composite
def graphs(draw):
    """Products with random prologues under random pointwise expressions, some of them outputs, some parts shared."""
    sides = {"left": [A, U, pv.relu(A), A * alpha + U, column * U], "right": [B, V, -V, B * depth_column - V]}
    products = [draw(st.sampled_from(sides["left"])) @ draw(st.sampled_from(sides["right"]))
                for _ in range(draw(st.integers(1, 4)))]  # fmt: skip
    pool = [*products, PQ] if draw(st.booleans()) else products
    others = [R, row, column, alpha, beta, 2.0, -0.5, 3.0]
    linear = ["add", "sub", "neg", "double", "half"]
    for _ in range(draw(st.integers(0, 7))):
        a = draw(st.sampled_from(pool))
        b = draw(st.sampled_from([*pool, *others]))
        kind = draw(st.sampled_from([*linear, *linear, "mul", "relu", "tanh", "maximum"]))
        pool.append({"add": lambda a, b: a + b, "sub": lambda a, b: b - a, "neg": lambda a, b: -a,
                     "double": lambda a, b: 2 * a, "half": lambda a, b: a / -3, "mul": lambda a, b: a * b,
                     "relu": lambda a, b: pv.relu(a), "tanh": lambda a, b: pv.tanh(a),
                     "maximum": lambda a, b: pv.maximum(a, b)}[kind](a, b))  # fmt: skip
    outputs = draw(st.lists(st.sampled_from(pool), max_size=2, unique=True))
    return list(dict.fromkeys([*outputs, pool[-1]]))


@given(graphs(), st.sampled_from(["auto", "separate"]))
@settings(deadline=None, max_examples=80)
def test_any_plan_computes_its_graph(outputs, accumulators):
    found = check(outputs, accumulators)
    assert len(found.contractions) == sum(s.is_matmul for s in Graph.of(outputs).statements)


@given(st.lists(st.tuples(st.sampled_from([AB, PQ, UV]), st.sampled_from([1, -1, 2, -0.5, 3])), min_size=2,
                max_size=3, unique_by=lambda t: t[0]), st.booleans())  # fmt: skip
@settings(deadline=None, max_examples=25)
def test_any_sum_of_products_with_factors_can_share(terms, wrapped):
    total = sum((x * f for x, f in terms[1:]), terms[0][0] * terms[0][1])
    found = check(pv.relu(total + row) if wrapped else total, "one")
    assert {c.accumulator for c in found.contractions} == {"C"}
