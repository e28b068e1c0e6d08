"""Sizes, tensors and their names: what is accepted is accepted in every spelling, the rest is explained."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polyvolta as pv
from polyvolta.graph import Size, Tensor
from polyvolta.graph.errors import BadName, BadSize, NameClash, ShapeMismatch, UnknownLayout, UnsupportedDtype
from polyvolta.graph.names import C_KEYWORDS, CUDA_RESERVED, SET_WORDS, check_name, fresh_names, reserved
from polyvolta.graph.tensors import check_names
from polyvolta.sets import PolyvoltaError, Set

M, N, K = pv.sizes("M N K")


@pytest.mark.parametrize("text", ["M N K", "M, N, K", "M,N,K", " M  N\tK "])
def test_sizes_of_one_name_are_equal_however_they_are_written(text):
    assert pv.sizes(text) == (M, N, K) == (Size("M"), Size("N"), Size("K"))
    assert len({*pv.sizes(text), M, N, K}) == 3


def test_one_name_gives_one_size():
    assert pv.sizes("M") == M


@pytest.mark.parametrize("text", ["", "  ", "M M", "M N M", ["M", "N"], None])
def test_no_sizes(text):
    with pytest.raises(BadSize):
        pv.sizes(text)


@pytest.mark.parametrize("op", ["__mul__", "__radd__", "__floordiv__", "__sub__", "__mod__"])
def test_sizes_have_no_arithmetic_and_say_so(op):
    with pytest.raises(BadSize, match="no arithmetic"):
        getattr(M, op)(2)


@pytest.mark.parametrize("sign", [operator.neg, operator.pos, abs, operator.invert])
def test_a_size_has_no_sign(sign):
    with pytest.raises(BadSize, match="nor a sign of M"):
        sign(M)


def test_tensors_are_values():
    A = pv.tensor("A", (M, K), layout="col", dtype="float16")
    assert A == pv.tensor("A", [M, K], layout="col")
    assert hash(A) == hash(pv.tensor("A", (M, K), layout="col"))
    assert A != pv.tensor("A", (M, K))
    assert eval(repr(A), {"Tensor": Tensor, "Size": Size}) == A
    with pytest.raises(AttributeError):
        A.name = "B"
    assert (A.name, A.shape, A.layout, A.dtype) == ("A", (M, K), "col", "float16")


def test_every_int_is_a_dimension_and_a_bare_one_is_a_vector():
    assert pv.tensor("v", (np.int64(8),)).shape == pv.tensor("v", 8).shape == (8,)
    assert pv.tensor("v", N).shape == (N,)
    assert type(pv.tensor("v", (np.int64(8),)).shape[0]) is int


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((M, 0), "dimension 1 is 0"),
        ((-4, M), "dimension 0 is -4"),
        ((M, True), "of type bool"),
        ((M, 2.0), "of type float"),
        ((M, None), "of type NoneType"),
        (None, "dimension 0 is None"),
        ((M, "K"), 'pv.sizes("K")'),
        ("MK", "make sizes first"),
        ((M, (K,)), "of type tuple"),
    ],
)
def test_what_is_no_dimension(shape, says):
    with pytest.raises(BadSize) as caught:
        pv.tensor("A", shape)
    assert says in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("dtype", ["float16", "fp16", "half", "f2", np.float16, np.dtype("float16"), "Float16"])
def test_every_spelling_of_fp16(dtype):
    assert pv.tensor("A", (M, K), dtype=dtype) == pv.tensor("A", (M, K))


class _TorchLike:
    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


def test_a_dtype_that_prints_as_torchs_does():
    assert pv.tensor("A", (M, K), dtype=_TorchLike("torch.float16")) == pv.tensor("A", (M, K))
    assert pv.tensor("A", (M, K), dtype=_TorchLike("torch.bfloat16")) == pv.tensor("A", (M, K), dtype="bfloat16")


@pytest.mark.parametrize("dtype", ["bfloat16", "bf16", "BFloat16", "nv_bfloat16"])
def test_every_spelling_of_bf16(dtype):
    made = pv.tensor("A", (M, K), dtype=dtype)
    assert made.dtype == "bfloat16" and made != pv.tensor("A", (M, K))
    assert made.declaration() == 'A(M, K) bfloat16, layout "row"'
    assert eval(repr(made), {"Tensor": Tensor, "Size": Size}) == made


def test_ml_dtypes_own_type_is_bf16():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    for dtype in (bfloat16, np.dtype(bfloat16)):
        assert pv.tensor("A", (M, K), dtype=dtype).dtype == "bfloat16"


def test_a_scalar_is_of_fp32_whatever_the_tensors_are():
    assert pv.tensor("s", (), dtype="bfloat16") == pv.scalar("s") and pv.scalar("s").dtype == "float32"


def test_the_nearest_dtype_is_suggested():
    for wrong, near in (("bfloat61", "bfloat16"), ("bflaot16", "bfloat16"), ("flaot16", "float16")):
        with pytest.raises(UnsupportedDtype) as caught:
            pv.tensor("A", (M, K), dtype=wrong)
        assert caught.value.hint == f"did you mean '{near}'?"


def test_a_dtype_given_to_the_class_itself_is_checked():
    with pytest.raises(UnsupportedDtype, match="tensor A: there are no kernels for dtype int8"):
        Tensor("A", (M, K), "row", "int8")


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("float32", "float32"), (np.float32, "float32"), (float, "float64"), (int, "int"), ("int16", "int16"),
     ("bf8", "bf8"),
     (np.dtype(">f4"), "float32"), (bool, "bool"), (complex, "complex"), (None, "None"),
     ("flaot16", "flaot16")],
)  # fmt: skip
def test_other_dtypes_are_named_and_float16_is_suggested(dtype, name):
    with pytest.raises(UnsupportedDtype, match=f"dtype {name}") as caught:
        pv.tensor("A", (M, K), dtype=dtype)
    assert "float16" in caught.value.hint


@pytest.mark.parametrize(
    ("layout", "hint"),
    [("column", "did you mean 'col'?"), ("F", "did you mean 'col'?"), ("rows", "did you mean 'row'?"),
     ("C", "did you mean 'row'?"), (None, "known: row, col"), (0, "known: row, col")],
)  # fmt: skip
def test_unknown_layouts_suggest_the_nearest(layout, hint):
    with pytest.raises(UnknownLayout) as caught:
        pv.tensor("A", (M, K), layout=layout)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("int", "keyword"), ("float", "keyword"), ("template", "keyword"), ("half", "CUDA"),
        ("threadIdx", "CUDA"), ("blockIdx", "CUDA"), ("float4", "CUDA"), ("mod", "notation of sets"),
        ("exists", "notation of sets"), ("__a", "underscores"), ("_A", "underscores"),
        ("a__b", "underscores"), ("1st", "no C identifier"),
        ("a b", "no C identifier"), ("α", "no C identifier"), ("", "no C identifier"),
        ("A-B", "no C identifier"), ("A\n", "no C identifier"), (3, "not int"), (None, "not NoneType"),
    ],
)  # fmt: skip
def test_names_that_cannot_stand_in_the_generated_text(name, why):
    with pytest.raises(BadName) as caught:
        pv.tensor(name, (M, K))
    assert why in str(caught.value)
    if isinstance(name, str) and name.strip():
        with pytest.raises(BadName):
            Size(name)


@given(st.text(alphabet="ab_AZ09 -é", min_size=1, max_size=6))
@settings(deadline=None)
def test_a_name_is_accepted_only_if_a_suggestion_would_be_too(text):
    """Every hint's suggestion is itself a good name, and every good name reads back out of a set's text."""
    try:
        check_name(text, "tensor")
    except BadName as error:
        suggested = error.hint.split("'")[1::2]
        assert all(check_name(s, "tensor") == s for s in suggested)
    else:
        assert str(Set(f"{{ {text}[i] : 0 <= i < 4 }}").count()) == "4"


def test_reserved_words_are_told_apart_from_names():
    assert all(reserved(w) for w in C_KEYWORDS | CUDA_RESERVED | SET_WORDS)
    assert not any(reserved(w) for w in ["A", "B", "bias", "M", "lhs", "x_1", "mask"])
    assert list(fresh_names(iter(["i", "int", "j"]), {"i"})) == ["j"]


def test_hints_and_reasons_are_of_what_is_named():
    calls = {"tensor": "pv.tensor(", "output": "pv.output(", "size": "pv.sizes(", "kernel": "pv.compile("}
    for role, hint in calls.items():
        with pytest.raises(BadName, match="not int") as caught:
            check_name(3, role)
        assert hint in caught.value.hint
    assert "C++ programs" in str(reserved("main")) and "macro" in str(reserved("NULL"))


def test_a_tensor_named_like_its_own_size():
    with pytest.raises(NameClash, match="'M' names both"):
        pv.tensor("M", (M, K))


@pytest.mark.parametrize(
    ("second", "outputs", "says"),
    [
        (pv.tensor("A", (M, K), layout="col"), [], "two different tensors are named 'A'"),
        (pv.tensor("K", (M, N)), [], "'K' names both an array and a size"),
        (pv.tensor("B", (K, N)), ["M"], "'M' names both an array and a size"),
        (pv.tensor("B", (K, N)), ["B"], "'B' names both an output and an input"),
    ],
)
def test_one_name_for_two_things(second, outputs, says):
    with pytest.raises(NameClash) as caught:
        check_names([pv.tensor("A", (M, K)), second], outputs)
    assert says in str(caught.value)
    assert caught.value.where


def test_equal_tensors_are_one_tensor():
    A = pv.tensor("A", (M, M))
    assert len((A @ pv.tensor("A", (M, M))).operands) == 2
    check_names([A])
    assert str(A @ pv.tensor("A", (M, M))) == "A @ A"


def test_a_scalar_is_a_tensor_without_dimensions():
    alpha = pv.scalar("alpha")
    assert alpha == pv.tensor("alpha", ()) == pv.tensor("alpha", (), dtype="float32")
    assert (alpha.shape, alpha.dtype, str(alpha)) == ((), "float32", "alpha")
    assert alpha.declaration() == "alpha, a number"
    assert (alpha * pv.tensor("A", (M, K))).shape == (M, K)
    with pytest.raises(UnsupportedDtype):
        pv.tensor("alpha", (), dtype="float64")
    with pytest.raises(NameClash, match="'K' names both"):
        check_names([pv.tensor("A", (M, K)), pv.scalar("K")])
    with pytest.raises(ShapeMismatch, match="right operand has 0 dimensions: alpha"):
        pv.tensor("A", (M, K)) @ alpha


QUESTIONS = {
    "M < 3": lambda m: m < 3,
    "M > 3": lambda m: 3 < m,
    "M <= 3": lambda m: m <= 3,
    "M >= 0": lambda m: m >= 0,
    "M < N": lambda m: m < Size("N"),
    "range(M)": lambda m: range(m),
    "int(M)": int,
    "float(M)": float,
}


@pytest.mark.parametrize("words", QUESTIONS)
def test_a_size_has_no_value_yet(words):
    with pytest.raises(TypeError, match="PV213.*the size M has no value yet") as refused:
        QUESTIONS[words](Size("M"))
    assert isinstance(refused.value, PolyvoltaError) and words in refused.value.message and refused.value.hint
