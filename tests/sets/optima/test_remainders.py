"""Optima over compositions of floors and remainders: what is determined isn't searched for."""

from itertools import product

import pytest

from polyvolta.sets import Map, Set, budget

# maps one after another, as texts and as functions; each takes and gives as many numbers as the next one
CHAINS = [
    (["{ [i] -> [i mod 16] }", "{ [i] -> [i mod 5, floor(i/5)] }"],
     lambda i: (i % 16 % 5, i % 16 // 5)),
    (["{ [i, j] -> [i] }", "[N] -> { [i] -> [floor(N/5), (i mod 16) mod 5] }"],
     lambda i, j, N: (N // 5, i % 16 % 5)),
    (["{ [i, j] -> [2j - 2, floor(i/8) + 2i] }", "{ [i, j] -> [floor(i/8), floor(j/6), j mod 7] }"],
     lambda i, j: ((2 * j - 2) // 8, (i // 8 + 2 * i) // 6, (i // 8 + 2 * i) % 7)),
    (["{ [i] -> [i mod 12, floor(i/12)] }", "{ [i, j] -> [floor(i/3) + 4j] }", "{ [i] -> [i mod 2, floor(i/4)] }"],
     lambda i: ((i % 12 // 3 + 4 * (i // 12)) % 2, (i % 12 // 3 + 4 * (i // 12)) // 4)),
]  # fmt: skip
SIZES = (0, 1, 6, 17)


def chain(texts, dims):
    """The composition on 0 <= i, j < N."""
    names = "ij"[:dims]
    domain = Set(f"[N] -> {{ [{', '.join(names)}] : {' and '.join(f'0 <= {n} < N' for n in names)} }}")
    made = Map(texts[0]).intersect_domain(domain)
    for text in texts[1:]:
        made = made.apply_range(Map(text))
    return made


def values(f, dims, n):
    """By trial: (inputs, outputs)."""
    parameters = {"N": n} if f.__code__.co_argcount > dims else {}
    return [(x, f(*x, **parameters)) for x in product(range(n), repeat=dims)]


@pytest.mark.parametrize(("texts", "f"), CHAINS)
@pytest.mark.parametrize("pick", [min, max])
def test_the_first_and_last_inputs_of_each_output(texts, f, pick):
    dims = 2 if "j" in f.__code__.co_varnames else 1
    back = chain(texts, dims).reverse()
    with budget(20_000):
        best = back.lexmin() if pick is min else back.lexmax()
    for n in SIZES:
        found: dict = {}
        for x, y in values(f, dims, n):
            found[y] = pick(found.get(y, x), x)
        assert set(best.fix(N=n).wrap().flatten().points()) == {(*y, *x) for y, x in found.items()}


@pytest.mark.parametrize(("texts", "f"), CHAINS)
def test_what_an_input_of_the_same_output_has_itself_is_its_own_optimum(texts, f):
    dims = 2 if "j" in f.__code__.co_varnames else 1
    there = chain(texts, dims)
    with budget(20_000):
        same = there.reverse().apply_range(there).lexmax()
    for n in SIZES:
        wanted = {(*y, *y) for _, y in values(f, dims, n)}
        assert set(same.fix(N=n).wrap().flatten().points()) == wanted


THIN = [
    ("-33 <= -17i - 11j - 29k - N <= -31 and 0 <= -17i + 7j + 7k <= 12",
     lambda i, j, k, n: -33 <= -17 * i - 11 * j - 29 * k - n <= -31 and 0 <= -17 * i + 7 * j + 7 * k <= 12),
    ("-37i + 7j + 31k = N - 14", lambda i, j, k, n: -37 * i + 7 * j + 31 * k == n - 14),
    ("0 <= 7i - 37j - 11k - N <= 1 and -14 <= -17i + 7j - 17k <= 26",
     lambda i, j, k, n: 0 <= 7 * i - 37 * j - 11 * k - n <= 1 and -14 <= -17 * i + 7 * j - 17 * k <= 26),
]  # fmt: skip


@pytest.mark.parametrize(("text", "holds"), THIN)
@pytest.mark.parametrize("pick", [min, max])
def test_the_optimum_of_a_thin_set_with_a_parameter_and_with_a_number_in_its_place(text, holds, pick):
    box = "-3 <= i <= 4 and -3 <= j <= 4 and -3 <= k <= 4"
    optimum = "lexmin" if pick is min else "lexmax"
    whole = getattr(Set(f"[N] -> {{ [i, j, k] : {box} and {text} and 0 <= N <= 9 }}"), optimum)()
    for n in range(10):
        found = [p for p in product(range(-3, 5), repeat=3) if holds(*p, n)]
        wanted = {pick(found)} if found else set()
        one = getattr(Set(f"{{ [i, j, k] : {box} and {text.replace('N', str(n))} }}"), optimum)()
        assert set(one.points()) == wanted == set(whole.points(N=n))
