"""Users' names beside the text's own: every identifier of a text works as a name, or is refused with PV205."""

import keyword
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.compiler.signature import check_names
from polyvolta.cuda.run.nvrtc import _nvrtc_for, compile_cubin
from polyvolta.cuda.text.names import FUNCTIONS_OF_C, NOT_FOR_KERNELS, c_name
from polyvolta.graph.dag import Graph
from polyvolta.graph.errors import BadName
from polyvolta.graph.functions.table import FUNCTIONS
from polyvolta.graph.names import check_name
from tests.cuda.text.golden_texts import CASES, path

OTHERS = (
    "linux unix fmaf isnan lerp hypot atomicAdd tex2D uint4 dim3 int2 nullptr memcpy epilogue prologue_A t t9 c c9 x7"
)
SMALL = pv.Options(block_tile=(16, 16, 16), warp_tile=(16, 16, 16), partial="pad")
PRODUCT = pv.tensor("A", (8, 8)) @ pv.tensor("B", (8, 8))
ROLES = 4  # names of each role in a kernel, as many as it has sizes; and twice as many functions


def identifiers():
    """Those of all golden texts, of functions' expressions, and some of C's and CUDA's."""
    texts = [re.sub(r"//.*", "", path(name).read_text()) for name in CASES]
    words = [w for text in (*texts, *(f.c for f in FUNCTIONS.values())) for w in re.findall(r"[A-Za-z_]\w*", text)]
    return sorted({*words, *OTHERS.split()})


def accepted(name):
    """Whether a tensor may be called so; if not, the error names the name."""
    try:
        m, n, k = pv.sizes("m_size n_size k_size")
        check_names(Graph.of(pv.tensor(name, (m, k)) @ pv.tensor("right_side", (k, n))), "kern0")
    except BadName as e:
        assert e.id == "PV205" and repr(name) in str(e)
        return False
    return True


NAMES = identifiers()


@cache
def free():
    """Those of the names that tensors may have."""
    return [n for n in NAMES if accepted(n)]


def test_names_were_found_and_some_are_refused():
    assert {"half8", "fp16", "shared_memory", "private_A", "load_global_128", "ldA"} <= set(NAMES) - set(free())
    assert {"at", "x0", "t0", "matrix", "relu_add", "expf"} <= set(free())


def function(name, number):
    """A user's function of that name, which takes two scalars, too."""

    def body(x, a, b):
        return pv.exp(x) * a + b * number

    body.__name__ = name
    return body


def kernel(number):
    """A kernel with names in each role, as what is compiled together with other kernels."""
    sizes, tensors, scalars = (
        [free()[(ROLES * (number + shift) + n) % len(free())] for n in range(ROLES)] for shift in range(3)
    )
    functions = [NAMES[(2 * ROLES * number + n) % len(NAMES)] for n in range(2 * ROLES)]
    m, n, k, depth = pv.sizes(" ".join(sizes))
    a, b, p, q = (pv.tensor(t, shape) for t, shape in zip(tensors, ((m, k), (k, n), (m, depth), (depth, n))))
    x, y = pv.scalar(scalars[0]), pv.scalar(scalars[1])
    product = pv.relu(a @ b + p @ q) * pv.scalar(scalars[2]) + pv.scalar(scalars[3])
    outputs = [pv.pointwise(function(f, i + 2), product, x, y) for i, f in enumerate(functions)]
    named = [pv.output(e, name=f"result_{i}") for i, e in enumerate(outputs)]
    return pv.compile(named, options=SMALL, name=f"kernel_{number}")


PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_every_identifier_is_a_users_too(part):
    """As a size, a tensor, a scalar and a function, in kernels that a namespace each keeps apart."""
    count = max(-(-len(free()) // ROLES), -(-len(NAMES) // (2 * ROLES)))
    kernels = [kernel(n) for n in range(count) if n % PARTS == part]
    for k, n in zip(kernels, range(part, count, PARTS)):
        used = {*k.ir.sizes, *k.ir.scalars, *(t.name for t in k.ir.tensors)}
        assert {free()[(ROLES * n + i) % len(free())] for i in range(ROLES)} <= used
    texts = [f"namespace space_{n} {{\n{k.source}\n}}" for n, k in enumerate(kernels)]
    compile_cubin("\n".join(texts), "sm_70", name=kernels[0].name)


def test_kernels_are_called_as_nothing_else_is():
    """A kernel's name is known to the driver, so it can't give way."""
    product = pv.tensor("left", (8, 8)) @ pv.tensor("right", (8, 8))
    allowed = []
    for name in (*NAMES, *FUNCTIONS_OF_C):
        try:
            check_names(Graph.of(product), check_name(name, "kernel"))
            allowed.append(name)
        except BadName as e:
            assert repr(name) in str(e)
    assert "relu_add" in allowed and not {"expf", "half8", "int"} & set(allowed)
    texts = [f'extern "C" __global__ void {name}() {{}}' for name in allowed]
    compile_cubin("\n".join(texts), "sm_70", name=allowed[0])


# ---- every word that NVRTC's own headers have


def words_of_the_headers():
    """The identifiers in the library that holds the headers which NVRTC includes by itself."""
    (library,) = Path(_nvrtc_for("sm_70").path).parent.glob("libnvrtc-builtins.so*")
    found = re.findall(rb"(?<![\w$])[A-Za-z_]\w{1,60}(?![\w$])", library.read_bytes(), re.ASCII)
    return sorted({w.decode() for w in found})


def allowed_as(role, words):
    """Those of the words that the role may be called."""
    for word in words:
        try:
            yield check_name(word, role)
        except BadName as e:
            assert e.id == "PV205" and repr(word) in str(e) and e.hint


def test_no_word_of_the_compilers_headers_is_in_the_way():
    """As a parameter, as a user's function and as a kernel, each is refused or compiles."""
    words = words_of_the_headers()
    assert {"va_list", "clock_t", "cudaEvent_t", "size_t", "dim3", "float4", "tex2D"} <= set(words)
    users = list(allowed_as("tensor", words))
    kernels = list(allowed_as("kernel", (w for w in words if w not in FUNCTIONS_OF_C | NOT_FOR_KERNELS)))
    refused = {"va_list", "clock_t", "cudaEvent_t", "size_t", "dim3", "float4", "CUDA_R_16F", "MINOR_VERSION"}
    assert refused <= set(words) - set(users) and len(users) > len(words) // 2
    called = [c_name(w) for w in words if "__" not in w]
    texts = [f"static __device__ void k{n}(int {w}, float y) {{ int x = {w}; }}" for n, w in enumerate(users)]
    texts += [f"static __device__ float {w}(float x, int count) {{ return x; }}" for w in dict.fromkeys(called)]
    compile_cubin("\n".join([*texts, 'extern "C" __global__ void first() {}']), "sm_70", name="first")
    texts = [f'extern "C" __global__ void {w}(float *x);' for w in kernels]
    compile_cubin("\n".join([*texts, 'extern "C" __global__ void first() {}']), "sm_70", name="first")


@pytest.mark.parametrize("word", keyword.kwlist)
def test_keywords_of_python_are_no_names(word):
    """In any role, where they are given."""
    for role in (pv.scalar, pv.sizes, lambda w: pv.tensor(w, (8, 8)), lambda w: pv.output(PRODUCT, w)):
        with pytest.raises(BadName, match=r"PV205.*(is a (keyword|word) of|CUDA reserves it)") as refused:
            role(word)
        assert check_name(re.findall(r"'(\w+)'", refused.value.hint)[0], "tensor")
    for made in (lambda: pv.compile({word: PRODUCT}), lambda: pv.compile(PRODUCT, name=word)):
        with pytest.raises(BadName):
            made()


@pytest.mark.parametrize("word", ["match", "soft", "type", "print", "self", "A7", "object"])
def test_other_words_of_python_are_names(word):
    m, n, k = pv.sizes("M N K")
    kernel = pv.compile(pv.tensor(word, (m, k)) @ pv.tensor("B", (k, n)), options=SMALL)
    ones = np.ones((16, 16), np.float16)
    assert (kernel.interpret(**{word: ones, "B": ones}) == 16).all()
    size = pv.sizes(word)
    kernel = pv.compile(pv.output(pv.tensor("A", (size, k)) @ pv.tensor("B", (k, n)), name=f"{word}_2"), options=SMALL)
    assert kernel.launch_config(**{word: 32, "N": 16, "K": 16}).grid == (1, 2, 1)


@pytest.mark.parametrize(
    "name", ["A7", "WARP_SZ", "clock_t", "cudaEvent_t", "va_list", "lambda", "no name", "3", "", "x-y"]
)
def test_what_a_kernel_cannot_be_called(name):
    with pytest.raises(BadName, match="PV205") as refused:
        pv.compile(PRODUCT, name=name)
    assert refused.value.hint
