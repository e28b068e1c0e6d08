"""Users' names beside the text's own: every identifier of a text works as a name, or is refused with PV205."""

import re

import polyvolta as pv
from polyvolta.compiler.driver import _check_names
from polyvolta.cuda.run.nvrtc import compile_cubin
from polyvolta.cuda.text.names import FUNCTIONS_OF_C
from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import BadName
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import check_name
from tests.cuda.text.golden_texts import CASES, path

OTHERS = (
    "linux unix fmaf isnan lerp hypot atomicAdd tex2D uint4 dim3 int2 nullptr memcpy epilogue prologue_A t t9 c c9 x7"
)
SMALL = pv.Options(block_tile=(16, 16, 16), warp_tile=(16, 16, 16), partial="pad")
ROLES = 4  # names of each role in a kernel, as many as it has sizes


def identifiers():
    """Those of all golden texts, of functions' expressions, and some of C's and CUDA's."""
    texts = [re.sub(r"//.*", "", path(name).read_text()) for name in CASES]
    words = [w for text in (*texts, *(f.c for f in FUNCTIONS.values())) for w in re.findall(r"[A-Za-z_]\w*", text)]
    return sorted({*words, *OTHERS.split()})


def accepted(name):
    """Whether a tensor may be called so; if not, the error names the name."""
    try:
        m, n, k = pv.sizes("m_size n_size k_size")
        _check_names(Graph.of(pv.tensor(name, (m, k)) @ pv.tensor("right_side", (k, n))), "kern0")
    except BadName as e:
        assert e.id == "PV205" and repr(name) in str(e)
        return False
    return True


NAMES = identifiers()
FREE = [n for n in NAMES if accepted(n)]


def test_names_were_found_and_some_are_refused():
    assert {"half8", "fp16", "shared_memory", "private_A", "load_global_128", "ldA"} <= set(NAMES) - set(FREE)
    assert {"at", "x0", "t0", "matrix", "relu_add", "expf"} <= set(FREE)


def function(name, number):
    """A user's function of that name, which takes two scalars, too."""

    def body(x, a, b):
        return pv.exp(x) * a + b * number

    body.__name__ = name
    return body


def kernel(number):
    """A kernel with four names in each role, as what is compiled together with other kernels."""
    sizes, tensors, scalars, functions = (
        [names[(ROLES * (number + shift) + n) % len(names)] for n in range(ROLES)]
        for shift, names in enumerate((FREE, FREE, FREE, NAMES))
    )
    m, n, k, depth = pv.sizes(" ".join(sizes))
    a, b, p, q = (pv.tensor(t, shape) for t, shape in zip(tensors, ((m, k), (k, n), (m, depth), (depth, n))))
    x, y = pv.scalar(scalars[0]), pv.scalar(scalars[1])
    product = pv.relu(a @ b + p @ q) * pv.scalar(scalars[2]) + pv.scalar(scalars[3])
    outputs = [pv.pointwise(function(f, i + 2), product, x, y) for i, f in enumerate(functions)]
    named = [pv.output(e, name=f"result_{i}") for i, e in enumerate(outputs)]
    return pv.compile(named, options=SMALL, name=f"kernel_{number}")


def test_every_identifier_is_a_users_too():
    """As a size, a tensor, a scalar and a function, in kernels that a namespace each keeps apart."""
    kernels = [kernel(n) for n in range(-(-len(NAMES) // ROLES))]
    used = {n for k in kernels for n in (*k.ir.sizes, *k.ir.scalars, *(t.name for t in k.ir.tensors))}
    assert set(FREE) <= used
    texts = [f"namespace space_{n} {{\n{k.source}\n}}" for n, k in enumerate(kernels)]
    compile_cubin("\n".join(texts), "sm_70", name="kernel_0")


def test_kernels_are_called_as_nothing_else_is():
    """A kernel's name is known to the driver, so it can't give way."""
    product = pv.tensor("left", (8, 8)) @ pv.tensor("right", (8, 8))
    allowed = []
    for name in (*NAMES, *FUNCTIONS_OF_C):
        try:
            _check_names(Graph.of(product), check_name(name, "kernel"))
            allowed.append(name)
        except BadName as e:
            assert repr(name) in str(e)
    assert "relu_add" in allowed and not {"expf", "half8", "int"} & set(allowed)
    texts = [f'extern "C" __global__ void {name}() {{}}' for name in allowed]
    compile_cubin("\n".join(texts), "sm_70", name=allowed[0])
