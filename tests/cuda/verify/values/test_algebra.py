"""What counts as the same formula: sums of products in any order, with factors; nothing that cancels, or overflows."""

from dataclasses import replace

import numpy as np
import pytest

import polyvolta as pv
from polyvolta.cuda.ir.kernel_ir import Mma, Pointwise, Scale
from polyvolta.cuda.ir.walk import walk
from polyvolta.cuda.mutants.model import rewritten
from polyvolta.cuda.text.printer import print_cuda
from polyvolta.graph.functions.formula import Call, Input, Number, substitute

M, N, K = pv.sizes("M N K")
A, B, P, Q = (pv.tensor(n, s) for n, s in zip("ABPQ", [(M, K), (K, N)] * 2))
BIAS = pv.tensor("bias", (N,))
TINY = pv.Options(block_tile=(32, 32, 16), warp_tile=(16, 16, 16))


def rebuilt(kernel, change):
    ir = replace(kernel.ir, body=rewritten(kernel.ir.body, change))
    assert ir != kernel.ir
    return replace(kernel, ir=ir, source=print_cuda(ir), _variants={}, _loaded={}, _configs={})


@pytest.fixture(scope="module")
def epilogue():
    return pv.compile(pv.relu(A @ B + BIAS), options=TINY)


@pytest.fixture(scope="module")
def product():
    return pv.compile(A @ B, options=TINY)


def call(function, *arguments):
    return Call(function, tuple(Number(x) if isinstance(x, float) else x for x in arguments))


MORE = {
    "0 times the bias": (lambda f: call("add", f, call("mul", 0.0, Input(1))), "nan and 0 for some infinite values"),
    "the bias added and taken away": (lambda f: call("sub", call("add", f, Input(1)), Input(1)), "nan and 0"),
    "1e30 added and taken away": (lambda f: call("sub", call("add", f, 1e30), 1e30), "0 and "),
    "beyond fp32 and back": (lambda f: call("mul", call("mul", call("mul", f, 1e30), 1e30), 1e-60), None),
    "0 added, which turns -0": (lambda f: call("add", f, 0.0), None),
    "a factor that isn't near": (lambda f: call("mul", f, 1 + 1e-11), None),
    "large and back": (lambda f: call("mul", call("mul", f, 1e30), 1e-30), None),
}


@pytest.mark.parametrize("name", MORE)
def test_what_cancels_in_real_numbers_alone_is_not_proved(epilogue, name):
    change, words = MORE[name]
    wrong = rebuilt(
        epilogue, lambda op: (replace(op, formula=change(op.formula)),) if isinstance(op, Pointwise) else (op,)
    )
    report = wrong.verify(("sums", "result"))
    assert not report.ok
    if words is None:  # there is no case with small numbers, or none that differs by more than 1e-9
        assert "result" in {p.id for p in report.undecided}
    else:
        assert words in report["result"].counter_example.what


def test_what_cancels_differs_when_it_runs(epilogue):
    """The case that is told: an infinite bias."""
    zero_times = MORE["0 times the bias"][0]
    wrong = rebuilt(
        epilogue, lambda op: (replace(op, formula=zero_times(op.formula)),) if isinstance(op, Pointwise) else (op,)
    )
    given = np.ones((3, 5), np.float16), np.ones((5, 8), np.float16), np.full(8, -np.inf, np.float16)
    assert (epilogue.interpret(*given) == 0).all() and np.isnan(wrong.interpret(*given)).all()


ONE = Number(1)
ZERO_OR_MINUS_ZERO = "where some value is 0 or -0"
FORMULAS = {
    "a zero's sign": (1 / (BIAS - 0.0), lambda: call("div", ONE, call("add", Input(1), 0.0)), ZERO_OR_MINUS_ZERO),
    "a zero taken away": (1 / (BIAS + 0.0), lambda: call("div", ONE, call("sub", Input(1), 0.0)), ZERO_OR_MINUS_ZERO),
    "that of 0 times x": (1 / (BIAS * 0.0), lambda: call("div", ONE, call("mul", Input(1), -0.0)), "inf and -inf"),
    "that of a difference": (1 / -(BIAS - 1), lambda: call("div", ONE, call("sub", 1.0, Input(1))), None),
    "what is lost": (BIAS + 1e30 - 1e30, lambda: call("add", Input(1), call("sub", 1e30, 1e30)), "for some values"),
    "numbers in another order": (BIAS + 1.0 + 1e8, lambda: call("add", Input(1), call("add", 1.0, 1e8)), None),
}
SAME = {
    "- 0 is + -0": (1 / (BIAS - 0.0), lambda: call("div", ONE, call("add", Input(1), -0.0))),
    "+ 0 is - -0": (1 / (0.0 + BIAS), lambda: call("div", ONE, call("sub", Input(1), -0.0))),
    "the other way round": (BIAS + 1e30 - 1e30, lambda: call("add", -1e30, call("add", 1e30, Input(1)))),
}


def with_other_terms(added, formula):
    """A kernel of A @ B + `added`, whose formula has another for `added`; Input(1) is the bias."""
    kernel = pv.compile(A @ B + added, options=TINY)
    (step,) = {op for _, op in walk(kernel.ir.body) if isinstance(op, Pointwise)}
    bias = next(n for n, e in enumerate(step.operands) if e.array == "run_bias")
    made = substitute(call("add", Input(0), formula()), {0: Input(1 - bias), 1: Input(bias)})
    return rebuilt(kernel, lambda op: (replace(op, formula=made),) if isinstance(op, Pointwise) else (op,))


@pytest.mark.parametrize("name", FORMULAS)
def test_what_is_added_keeps_its_order_and_its_zeros(name):
    added, formula, words = FORMULAS[name]
    report = with_other_terms(added, formula).verify(("sums", "result"))
    if words is None:  # they differ at one value alone, or by float64's rounding
        assert [p.id for p in report.undecided] == ["result"]
    else:
        assert [p.id for p in report.refuted] == ["result"] and words in report["result"].counter_example.what


def test_a_product_with_its_own_accumulator_keeps_its_place():
    """What is lost beside 1e30 is what is there already; compile itself moves products that share an accumulator."""

    def change(op):
        if not isinstance(op, Pointwise):
            return (op,)
        return (replace(op, formula=call("add", Input(0), call("sub", 1e30, 1e30))),)

    report = rebuilt(pv.compile(((A @ B) + 1e30) - 1e30, options=TINY), change).verify(("sums", "result"))
    assert [p.id for p in report.refuted] == ["result"]
    assert "for some values" in report["result"].counter_example.what
    assert pv.compile(((A @ B) + 1e30) - 1e30 - P @ Q, options=TINY).verify(("sums", "result")).ok


@pytest.mark.parametrize("name", SAME)
def test_what_is_exactly_the_same_is_proved(name):
    assert with_other_terms(*SAME[name]).verify(("sums", "result")).ok


def test_a_zeros_sign_differs_when_it_runs():
    added, formula, _ = FORMULAS["a zero's sign"]
    given = np.ones((3, 5), np.float16), np.ones((5, 8), np.float16), np.full(8, -0.0, np.float16)
    right = pv.compile(A @ B + added, options=TINY).interpret(*given)
    assert (right == -np.inf).all() and (with_other_terms(added, formula).interpret(*given) == np.inf).all()


@pytest.mark.parametrize("factors, proved", [((1e30, 1e30, 1e-60), False), ((1e300, 1e300), False), ((2.0, 0.5), True)])
def test_accumulators_are_scaled_within_what_fp32_holds(product, factors, proved):
    def change(op):
        return (op, *(Scale(op.d, f, op.statement) for f in factors)) if isinstance(op, Mma) else (op,)

    report = rebuilt(product, change).verify(("sums", "result"))
    assert report.ok == proved
    if not proved:
        case = report["result"].counter_example
        assert case.what.startswith(f"hmma_C is scaled by {factors[0]:g}, beyond the factors")
        assert isinstance(case.place.stmt, Scale)


GRAPHS = {
    "1e200 twice": 1e200 * (1e200 * (A @ B)),
    "up and down": 1e200 * (1e-200 * (A @ B)) + 1e300 * BIAS,
    "0 times a product": 0 * (A @ B) + P @ Q,
    "0 times a sum": -1 * ((A @ B) - (P @ Q)) * 0 + BIAS,
    "large on the way": 1e-15 * (1e15 * (1e10 * (A @ B))) + P @ Q,
    "large for one of two": 1e15 * (A @ B + 1e10 * (P @ Q)) + A @ (B + 1),
    "others in between": 2 * ((A @ B) + BIAS) - 3 * (P @ Q - BIAS) + 1,
    "far apart, all near the last": 1e18 * (A @ B) + 1e-18 * (P @ Q) + A @ (B + 1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_with_numbers_of_all_sizes_are_proved(name):
    """And scaled accumulators leave no product a factor that fp32 has no room for."""
    kernel = pv.compile(GRAPHS[name], options=TINY)
    report = kernel.verify(("sums", "result"))
    assert report.ok, report
