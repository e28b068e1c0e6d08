"""The program that compares observers with the hardware's counters: reading ncu's table, and finding what differs."""

import profiler
import pytest
from profiler import CONFLICTS, COUNTERS, NARROW, WIDE, case, compared, launches, observed, repeated

HEAD = '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
SMALL = {"M": 64, "N": 64, "K": 32}


def written(*rows):
    return "\n".join(['==PROF== Connected to process "9"', "A: relative error 2e-04", HEAD, *rows]) + "\n"


def row(launch, metric, value):
    return f'"{launch}","77","kern0","{metric}","sector","{value}"'


def test_launches_are_read_in_order_whatever_is_printed_around():
    text = written(row(10, "a__x.sum", "1,234,567"), row(2, "a__x.sum", "0"), row(2, "b__y_op_ld.sum", "42"), "bye")
    assert launches(text) == [{"a__x": 0, "b__y_op_ld": 42}, {"a__x": 1234567}]


@pytest.mark.parametrize("value", ["n/a", "", "1.5"])
def test_a_counter_without_a_number_is_an_error(value):
    with pytest.raises(ValueError, match="a__x.sum of launch 3"):
        launches(written(row(3, "a__x.sum", value)))


def test_no_table_is_an_error_that_shows_what_ncu_wrote():
    with pytest.raises(ValueError, match="ERR_NVGPUCTRPERM"):
        launches("==ERROR== ERR_NVGPUCTRPERM")


PRODUCT = case("plain", "row col row", "m16n16k8", NARROW, sizes=SMALL)


@pytest.fixture
def agreeing(monkeypatch):
    """Counters that agree with the observers in everything; the observers' numbers are made up."""
    ours = {q: 1000 * k for k, q in enumerate(COUNTERS | CONFLICTS, 1)}
    again = {"global load requests": 7, "sectors loaded": 21}
    monkeypatch.setattr(profiler, "observed", lambda c: ours)
    monkeypatch.setattr(profiler, "repeated", lambda c: again)
    return {counter: ours[q] - again.get(q, 0) for q, counter in (COUNTERS | CONFLICTS).items()}


@pytest.mark.parametrize("quantity", COUNTERS)
def test_one_number_that_differs_is_found_and_shown(quantity, agreeing):
    table, wrong = compared([PRODUCT], [agreeing])
    assert wrong == 0 and "**" not in table and "| 5,000 - 7 | 6,000 - 21 |" in table
    agreeing[COUNTERS[quantity]] += 1
    table, wrong = compared([PRODUCT], [agreeing])
    assert wrong == 1 and f"/ {agreeing[COUNTERS[quantity]]:,}**" in table


def test_every_case_needs_its_launch(agreeing):
    with pytest.raises(ValueError, match="argument 2 is longer"):
        compared([PRODUCT], [agreeing] * 2)


def test_counts_of_a_product_are_those_of_its_tiles():
    """One block of 64 x 64, one k tile: 8 KiB of operands in chunks of 16 bytes, 32 a warp, which are 16 sectors."""
    seen = observed(PRODUCT)
    assert seen["global load requests"] == 2 * 64 * 32 // 8 // 32
    assert seen["sectors loaded"] == 16 * seen["global load requests"]
    assert seen["global store requests"] == 64 * 64 // 8 // 32
    assert seen["phases of loads"] == 4 * seen["shared loads"]
    assert seen["conflicts of loads"] == seen["conflicts of stores"] == 0


def test_a_bias_is_loaded_again_for_the_second_row_of_fragments():
    """Each of four warps has 2 x 2 fragments of 32 x 32: two of its four loads of 32 values, two sectors, repeat."""
    c = case("bias relu", "row col row", "m32n32k8", WIDE, sizes={"M": 128, "N": 128, "K": 32})
    assert repeated(c) == {"global load requests": 4 * 2, "sectors loaded": 4 * 2 * 2}
    assert repeated(PRODUCT) == dict.fromkeys(repeated(c), 0)


def test_among_the_cases_are_kernels_with_conflicts_and_ragged_sizes():
    broken = [c for c in profiler.CASES if c.mutant]
    assert len(profiler.CASES) - len(broken) >= 8 and len(broken) >= 2
    assert len({c.name for c in profiler.CASES}) == len(profiler.CASES)
    assert any(c.sizes["N"] % 8 for c in profiler.CASES)
