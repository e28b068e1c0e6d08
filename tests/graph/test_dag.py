"""The DAG: the paper's statements for the paper's examples, and laws that hold for any graph."""

import networkx as nx
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.graph import Graph, Size
from polyvolta.graph.as_sympy import is_operation, leaf
from polyvolta.graph.errors import BadName, BadOutputs, NameClash, UnknownLayout
from polyvolta.graph.expr import walk
from polyvolta.sets import Map, Set

M, N, K = pv.sizes("M N K")
A = pv.tensor("A", (M, K))
B = pv.tensor("B", (K, N), layout="col")
bias = pv.tensor("bias", (M, N))
P, Q = pv.tensor("P", (M, K)), pv.tensor("Q", (K, N))


def text(graph):
    return str(graph).splitlines()[1:-1]


def test_a_product_is_the_papers_statement():
    (s,) = Graph.of(A @ B).statements
    box = "0 <= i < M and 0 <= j < N and 0 <= k < K"
    assert (s.name, s.iterators, s.extents) == ("S", ("i", "j", "k"), (M, N, K))
    assert s.domain.is_equal(Set(f"[M, N, K] -> {{ S[i, j, k] : {box} }}"))
    assert [(r.tensor, r.kind) for r in s.reads] == [("C", "read"), ("A", "read"), ("B", "read")]
    for access, index in [
        (s.write, "C[i, j]"),
        *zip(s.reads, ["C[i, j]", "A[i, k]", "B[k, j]"], strict=True),
    ]:
        assert access.relation.is_equal(Map(f"[M, N, K] -> {{ S[i, j, k] -> {index} : {box} }}"))
        assert str(access) == index
    assert s.write.kind == "write"
    assert str(s) == "S: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])"
    assert (s.is_matmul, s.operation) == (True, "mul_acc")


def test_the_expression_tree_has_its_accesses_for_leaves():
    (s,) = Graph.of(A @ B).statements
    i, j, k = (sympy.Symbol(n, integer=True) for n in "ijk")
    C_ij, A_ik, B_kj = (sympy.IndexedBase(n)[x] for n, x in [("C", (i, j)), ("A", (i, k)), ("B", (k, j))])
    assert s.expression == sympy.Function("mul_acc")(C_ij, A_ik, B_kj)
    assert s.expression.args == tuple(r.leaf for r in s.reads)
    assert [s.access(x).tensor for x in s.expression.args] == ["C", "A", "B"]
    assert leaf("A", ("i", "k")) == A_ik


def test_ints_in_the_place_of_sizes():
    graph = Graph.of(pv.tensor("A", (512, K)) @ pv.tensor("B", (K, 16)))
    (s,) = graph.statements
    assert graph.params == ("K",)
    assert s.domain.is_equal(Set("[K] -> { S[i, j, k] : 0 <= i < 512 and 0 <= j < 16 and 0 <= k < K }"))
    (small,) = Graph.of(pv.tensor("A", (2, 3)) @ pv.tensor("B", (3, 4))).statements
    assert small.domain.count() == 24


def test_params_come_in_the_order_of_the_loops():
    assert Graph.of(A @ B).params == ("M", "N", "K")
    assert Graph.of((A @ B) @ pv.tensor("W", (N, Size("L")))).params == ("M", "N", "K", "L")


def test_matmul_bias_relu_is_the_papers_listing():
    graph = Graph.of({"E": pv.relu(A @ B + bias)})
    assert text(graph) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])",
        "S2: E[i, j] = relu(add(C[i, j], bias[i, j]))",
    ]
    assert graph.statements[1].operation == "relu_add"
    assert [t.name for t in graph.inputs] == ["A", "B", "bias"]


def test_the_sum_of_two_products_is_the_papers_listing():
    assert text(Graph.of({"Z": A @ B + P @ Q})) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])",
        "S2: D[i, j] = mul_acc(D[i, j], P[i, k], Q[k, j])",
        "S3: Z[i, j] = add(C[i, j], D[i, j])",
    ]


def test_a_pointwise_prologue_is_part_of_the_product():
    assert text(Graph.of(pv.relu(A) @ (B * 2))) == ["S: C[i, j] = mul_acc(C[i, j], relu(A[i, k]), mul(B[k, j], 2))"]


def test_between_two_products_pointwise_operations_stand_alone():
    assert text(Graph.of(pv.relu(A @ B) @ pv.tensor("W", (N, K)))) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])",
        "S2: D[i, j] = relu(C[i, j])",
        "S3: E[i, j] = mul_acc(E[i, j], D[i, k], W[k, j])",
    ]


def test_what_several_statements_use_is_computed_once():
    x = pv.relu(A @ B)
    assert text(Graph.of([x + 1, x * 0.5])) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])",
        "S2: D[i, j] = relu(C[i, j])",
        "S3: E[i, j] = add(D[i, j], 1)",
        "S4: F[i, j] = mul(D[i, j], 0.5)",
    ]
    assert text(Graph.of(x * x - x)) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], B[k, j])",
        "S2: D[i, j] = sub(mul(relu(C[i, j]), relu(C[i, j])), relu(C[i, j]))",
    ]


def test_what_follows_from_inputs_alone_is_computed_where_it_is_used():
    x = pv.relu(A)
    assert text(Graph.of(x @ B + x @ Q)) == [
        "S1: C[i, j] = mul_acc(C[i, j], relu(A[i, k]), B[k, j])",
        "S2: D[i, j] = mul_acc(D[i, j], relu(A[i, k]), Q[k, j])",
        "S3: E[i, j] = add(C[i, j], D[i, j])",
    ]
    assert text(Graph.of([x, x @ B]))[1] == "S2: D[i, j] = mul_acc(D[i, j], C[i, k], B[k, j])"


def test_scalars_are_symbols_of_the_expression_and_no_arrays():
    alpha = pv.scalar("alpha")
    graph = Graph.of(alpha * (A @ (alpha * B)))
    assert text(graph) == [
        "S1: C[i, j] = mul_acc(C[i, j], A[i, k], mul(alpha, B[k, j]))",
        "S2: D[i, j] = mul(alpha, C[i, j])",
    ]
    assert str(graph).splitlines()[0] == "inputs alpha, A(M, K), B(K, N)"
    assert (graph.scalars, list(graph.arrays)) == (("alpha",), ["A", "B", "C", "D"])
    assert [r.tensor for r in graph.statements[1].reads] == ["C"]
    assert list(graph.dag) == ["A", "B", "S1", "S2"]
    i, C = pv.scalar("i"), pv.scalar("C")
    assert text(Graph.of(i * C * (A @ B)))[1] == "S2: E[j, k] = mul(mul(i, C), D[j, k])"


def test_outputs_say_their_layout():
    graph = Graph.of({"Z": pv.output(A @ B, layout="col"), "Y": A @ B + bias})
    assert [(t.name, t.layout) for t in graph.outputs] == [("Z", "col"), ("Y", "row")]
    assert Graph.of(pv.output(A @ B, "Z", layout="col")).arrays["Z"] == graph.outputs[0]
    assert Graph.of(pv.output(A @ B)) == Graph.of([A @ B]) == Graph.of(A @ B)
    assert Graph.of(pv.output(A @ B, layout="col")) != Graph.of(A @ B)
    with pytest.raises(UnknownLayout, match="did you mean 'col'"):
        pv.output(A @ B, layout="column")
    with pytest.raises(BadName):
        pv.output(A @ B, "int")
    with pytest.raises(BadOutputs, match="is named 'Y', too"):
        Graph.of({"Z": pv.output(A @ B, "Y")})


def test_names_and_texts_stay_short_however_much_is_shared():
    x = A @ B
    for _ in range(200):
        x = pv.relu(x) * x
    (_, s) = Graph.of(x).statements
    assert s.operation == "mul_relu_mul_relu_mul_relu_mul_relu"
    assert len(str(s)) < 5000


def test_negative_zero_stays():
    (_, s) = Graph.of(A @ B * -0.0).statements
    assert str(s) == "S2: D[i, j] = mul(C[i, j], neg(0))"


def test_an_output_that_another_operation_uses_stays():
    graph = Graph.of([A @ B, A @ B + bias])
    assert [t.name for t in graph.outputs] == ["C", "D"]
    assert text(graph)[1] == "S2: D[i, j] = add(C[i, j], bias[i, j])"


def test_broadcasting_reads_fewer_indices_or_index_zero():
    row, column, one = pv.tensor("row", (N,)), pv.tensor("column", (M, 1)), pv.tensor("one", (1, 1))
    s = Graph.of((A @ B + row) * column - one).statements[1]
    assert str(s) == "S2: D[i, j] = sub(mul(add(C[i, j], row[j]), column[i, 0]), one[0, 0])"
    by_name = {r.tensor: r.relation for r in s.reads}
    box = "0 <= i < M and 0 <= j < N"
    assert by_name["row"].is_equal(Map(f"[M, N] -> {{ S2[i, j] -> row[j] : {box} }}"))
    assert by_name["column"].is_equal(Map(f"[M, N] -> {{ S2[i, j] -> column[i, 0] : {box} }}"))


def test_one_array_read_in_two_places_is_two_accesses():
    X = pv.tensor("X", (M, M))
    (s,) = Graph.of(pv.relu(X) @ X).statements
    assert [str(r) for r in s.reads] == ["C[i, j]", "X[i, k]", "X[k, j]"]
    (s,) = Graph.of(X * X).statements
    assert [str(r) for r in s.reads] == ["X[i, j]"]


def test_names_give_way_to_the_users():
    i, C, S = pv.tensor("i", (64, 32)), pv.tensor("C", (32, 16)), pv.tensor("S1", (64, 16))
    assert text(Graph.of(i @ C + S)) == [
        "T1: D[j, k] = mul_acc(D[j, k], i[j, l], C[l, k])",
        "T2: E[j, k] = add(D[j, k], S1[j, k])",
    ]
    j, D = pv.sizes("j D")
    graph = Graph.of(pv.tensor("A", (j, 4)) @ pv.tensor("C", (4, D)))
    assert text(graph) == ["S: E[i, k] = mul_acc(E[i, k], A[i, l], C[l, k])"]
    assert graph.params == ("j", "D")


def test_more_statements_than_letters():
    x, outputs = pv.tensor("x", (4,)), []
    for _ in range(40):
        x = x + 1
        outputs.append(x)
    graph = Graph.of(outputs)
    assert len({t.name for t in graph.outputs}) == 40
    assert [s.name for s in graph.statements] == [f"S{n}" for n in range(1, 41)]


def test_the_networkx_graph():
    graph = Graph.of(pv.relu(A @ B + bias))
    dag = graph.dag
    assert list(dag) == ["A", "B", "bias", "S1", "S2"]
    assert {(u, v, d["array"]) for u, v, d in dag.edges(data=True)} == {
        ("A", "S1", "A"), ("B", "S1", "B"), ("S1", "S2", "C"), ("bias", "S2", "bias")}  # fmt: skip
    assert dag.nodes["S1"]["statement"] is graph.statements[0]
    assert dag.nodes["A"]["tensor"] == A
    assert [d["kind"] for _, d in dag.nodes(data=True)] == ["input"] * 3 + ["operation"] * 2
    assert [n for n, stays in dag.nodes(data="output") if stays] == ["S2"]
    assert dag.nodes["S2"]["label"] == str(graph.statements[1]) and dag.nodes["bias"]["label"] == "bias(M, N)"
    assert [str(a) for a in dag.edges["B", "S1"]["accesses"]] == ["B[k, j]"]
    assert dag.nodes["S2"]["expr"] is graph.roots[0] and dag.nodes["S2"]["tensor"] is graph.outputs[0]
    assert graph.writer("C") is graph.statements[0]
    assert graph.writer("A") is None
    assert {n: t.shape for n, t in graph.arrays.items()} == {
        "A": (M, K), "B": (K, N), "bias": (M, N), "C": (M, N), "D": (M, N)}  # fmt: skip
    with pytest.raises(nx.NetworkXError):
        dag.add_node("x")


def test_a_graph_of_a_graph_is_itself():
    graph = Graph.of(A @ B)
    assert Graph.of(graph) is graph
    assert Graph.of(A @ B) == graph
    assert hash(Graph.of(A @ B)) == hash(graph)
    assert Graph.of(A @ B + bias) != graph


@pytest.mark.parametrize(
    ("outputs", "error"),
    [
        ([], BadOutputs),
        ({}, BadOutputs),
        (A, BadOutputs),
        ([A @ B, A @ B], BadOutputs),
        ({"X": A @ B, "Y": A @ B}, BadOutputs),
        ("A @ B", BadOutputs),
        (3, BadOutputs),
        ([np.ones((2, 2))], BadOutputs),
        (pv.scalar("alpha") * 2, BadOutputs),
        ([pv.output(A @ B), A @ B], BadOutputs),
        ({"A": A @ B}, NameClash),
        ([pv.output(A @ B, name="Y"), pv.output(A @ B + 1, name="Y")], NameClash),
        ({"M": A @ B}, NameClash),
        ({"int": A @ B}, BadName),
        ({1: A @ B}, BadName),
        (A @ B + pv.tensor("A", (M, N)), NameClash),
        (A @ B + pv.tensor("K", (M, N)), NameClash),
    ],
)
def test_outputs_that_make_no_graph(outputs, error):
    with pytest.raises(error) as caught:
        Graph.of(outputs)
    assert caught.value.message


@st.composite
def expressions(draw):
    """Square expressions over a few tensors: products, sums, functions, broadcasts, shared parts."""
    pool = [pv.tensor(n, (4, 4)) for n in "XYZ"] + [pv.tensor("r", (4,)), pv.tensor("c", (4, 1))]
    for _ in range(draw(st.integers(1, 8))):
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        kind = draw(st.sampled_from(["matmul", "add", "sub", "mul", "relu", "neg", "scale"]))
        if kind == "matmul":
            made = a @ b if a.shape == b.shape == (4, 4) else pool[0] @ pool[1]
        elif kind in ("relu", "neg"):
            made = pv.relu(a) if kind == "relu" else -a
        else:
            made = {"add": a + b, "sub": a - b, "mul": a * b, "scale": a * 0.5}[kind]
        pool.append(made)
    return draw(st.lists(st.sampled_from(pool[5:]), min_size=1, max_size=3, unique=True))


def run_statements(graph, arrays):
    """The graph's meaning by its statements alone: instance by instance, leaf by leaf."""
    functions = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "neg": lambda a: -a,
        "relu": lambda a: max(a, 0.0),
        "mul_acc": lambda c, a, b: c + a * b,
    }
    memory = {n: arrays[n] if n in arrays else np.zeros(t.shape) for n, t in graph.arrays.items()}

    def value(node, point):
        if is_operation(node):
            return functions[node.func.__name__](*(value(x, point) for x in node.args))
        if isinstance(node, sympy.Indexed):
            return memory[str(node.base)][tuple(int(p.subs(point)) for p in node.indices)]
        return float(node)

    for s in graph.statements:
        for at in np.ndindex(*s.extents):
            point = {sympy.Symbol(n, integer=True): v for n, v in zip(s.iterators, at, strict=True)}
            memory[s.write.tensor][at[: len(s.write.index)]] = value(s.expression, point)
    return [memory[t.name] for t in graph.outputs]


@given(expressions())
@settings(deadline=None, max_examples=40)
def test_any_graph_s_laws(outputs):
    graph = Graph.of(outputs)
    assert nx.is_directed_acyclic_graph(graph.dag)
    order = {n: at for at, n in enumerate(graph.dag)}
    assert all(order[u] < order[v] for u, v in graph.dag.edges)
    assert list(graph.inputs) == [e for e in walk(outputs) if isinstance(e, type(A))]
    assert len({s.write.tensor for s in graph.statements}) == len(graph.statements)
    assert all((s.write.tensor == x.tensor) <= s.is_matmul for s in graph.statements for x in s.reads)
    assert Graph.of(outputs) == graph
    rng = np.random.default_rng(0)
    arrays = {t.name: rng.standard_normal(t.shape) for t in graph.inputs}
    for got, expected in zip(run_statements(graph, arrays), pv.reference(outputs, **arrays), strict=True):
        np.testing.assert_allclose(got, np.broadcast_to(expected, got.shape), rtol=1e-9, atol=1e-9)
