"""What is no affine nest is refused: the message says why, and the part that is to blame is underlined."""

# ruff: noqa: E501 -- a table

import numpy as np
import pytest

from polyvolta.sched.errors import BadProgram, NotAffineProgram
from polyvolta.sched.program import nest_from_source

# the lines of the nest | what is underlined | the message | the hint
REFUSALS = """
for i in range(N * M): A[i] = 0.0                | N * M       | the bound is not affine: a product of N and M | one factor must be a number
for i in range(N / 2): A[i] = 0.0                | N / 2       | / makes a fraction                            | write // for
for i in range(2.5): A[i] = 0.0                  | 2.5         | 2.5 is no integer                             | write an integer
for i in range(N // M): A[i] = 0.0               | M           | a division by M                               | it must be a number
for i in range(N % 0): A[i] = 0.0                | 0           | a division by zero                            |
for i in range(0, N, M): A[i] = 0.0              | M           | the step is not a number                      | steps are constant
for i in range(0, N, 0): A[i] = 0.0              | 0           | the step is zero                              |
for i in range(len(A)): A[i] = 0.0               | len(A)      | sizes of arrays are no parameters             | pass the size as an argument
for i in range(A.shape[0]): A[i] = 0.0           | A.shape[0]  | sizes of arrays are no parameters             | pass the size as an argument
n = A.shape[0] ; for i in range(n): B[i] = 0.0   | A.shape[0]  | sizes of arrays are no parameters             | pass the size as an argument
n, m = A.shape                                   | A.shape     | sizes of arrays are no parameters             | pass the size as an argument
range = 3 ; for i in range(N): A[i] = 0.0        | range       | range is an argument or assigned in the nest  | another name
for i in range(abs(N, M)): A[i] = 0.0            | abs(N, M)   | abs is of one expression                      |
for i in range(min(N)): A[i] = 0.0               | min(N)      | min is of two or more expressions             |
for i in range(int(N / 2)): A[i] = 0.0           | int(N / 2)  | a conversion                                  | write // for
for i in range(gcd(N, 4)): A[i] = 0.0            | gcd(N, 4)   | a call of gcd                                 | min, max and abs
for i in range(A): A[i] = 0.0                    | A           | A is an array                                 |
for i in range(n): A[i] = 0.0                    | n           | unknown name 'n'                              | did you mean 'N'?
for i in range(pi): A[i] = 0.0                   | pi          | pi is a float, no integer                     |
for i in range(N, key=3): A[i] = 0.0             | range(N, key=3) | a range has one to three bounds           | range(start, stop, step)
for i in A: A[i] = 0.0                           | A           | a loop goes over a range, not over A          | for i in range(...)
for i in enumerate(A): A[0] = 0.0                | enumerate(A) | a loop goes over a range                     |
for i, j in zip(A, B): A[i] = 0.0                | i, j        | a loop has one iterator                       |
for N in range(3): A[N] = 0.0                    | N           | the argument N is assigned by a loop          | take another name
for i in range(N): A[i] = 0.0 ; else: A[0] = 1.0 | A[0] = 1.0  | a loop with `else`                            | put it behind the loop
for i in range(N): ;     for i in range(M): A[i] = 0.0 | i     | the iterator i of a loop around this one      | take another name
for i in range(N): A[i * i] = 0.0                | i * i       | the subscript is not affine: a product        |
for i in range(N): A[B[i]] = 0.0                 | B[i]        | depends on data, the value of B[i]            |
for i in range(N): A[2 ** i] = 0.0               | i           | a power with i                                |
for i in range(N): A[i << M] = 0.0               | M           | a shift by M                                  |
for i in range(N): A[~i] = 0.0                   | ~i          | ~i is no integer expression                   |
for i in range(N): A['x'] = 0.0                  | 'x'         | the subscript 'x' is no integer               |
for i in range(N): A[True] = 0.0                 | True        | the subscript True is no integer              |
for i in range(N): A[i:N] = 0.0                  | i:N         | a slice is many elements                      | write the loop over them
for i in range(N): A[i] = B[i, :]                | B[i, :]     | a slice is many elements                      |
for i in range(N): A[...] = 0.0                  | ...         | the subscript ... is no integer               |
for i in range(N): A[-1] = 0.0                   | -1          | the subscript -1 is negative                  | A[N - 1]
for i in range(N): A[i] = B[i - 1]               | B[i - 1]    | a subscript of B[i - 1] is negative           | change the bounds
for i in range(N): A[i, 0] = A[i]                | A[i]        | A has 1 subscript here and 2 subscripts elsewhere |
for i in range(N): A[i] = 0.0 ; A[i] = 1.0       | i           | i is used outside of its loop                 |
for i in range(N): A[i] = 0.0 ; B[0] = i         | i           | i is used outside of its loop                 |
for i in range(N): ;     k = i + 1 ;     A[k] = 0.0 | k        | k is assigned in the nest, so that it is data | write the expression out
for i in range(N): i = i + 1                     | i           | the iterator i is assigned                    | loops alone
for i in range(N): N = 3                         | N           | the argument N is assigned                    | a name of its own
A = 3 ; B[0] = A[0]                              | A           | the array A is assigned                       |
C = 0.0 ; C[3] = 1.0                             | C           | the array C is made in the nest               | pass it as an argument
for i in range(N): T[i] = 0.0                    | T           | the array T is no argument                    | def f(..., T)
for i in range(N): A[i] = T[i]                   | T           | the array T is no argument                    |
for i in range(N): A[i] = T                      | T           | T is a ndarray, no number                     | pass it as an argument
for i in range(N): A[i], B[i] = B[i], A[i]       | A[i], B[i]  | writes one element, not several               | by a scalar in between
for i in range(N): A[i] = B[i] = 0.0             | A[i] = B[i] = 0.0 | a statement writes one element          |
for i in range(N): A[i] = sum(A)                 | A           | the array A is used as a whole                | A[i]
for i in range(N): A[i] = A.sum()                | A.sum()     | the array A is used as a whole                | write the loop
for i in range(N): A[i] = sum(B[k] for k in range(N)) | (B[k] for k in range(N)) | a comprehension is a loop   | as a loop of the nest
for i in range(N): A[i] = (x := 3)               | x := 3      | an assignment inside an expression            |
for i in range(N): A[i] = 'x'                    | 'x'         | 'x' is no number                              |
for i in range(N): A[i] = print(B[i])            | print       | print is no function of numbers               |
for i in range(N): A[i] = sqt(B[i])              | sqt         | unknown function 'sqt'                        | did you mean 'sqrt'?
for i in range(N): A[i] = sqrt                   | sqrt        | the function sqrt is not called               |
for i in range(N): A[i] = alpha(B[i])            | alpha       | alpha is called, but it is an argument        |
for i in range(N): A[i] = max(*B)                | max(*B)     | arguments of a call are written one by one    |
for i in range(N): A[i] = alhpa * B[i]           | alhpa       | unknown name 'alhpa'                          | did you mean 'alpha'?
for i in range(N): A[i] = B.size                 | B.size      | B.size is no number of the surroundings       | pass the size as an argument
A.x = 3                                          | A.x         | A.x is no element of an array                 |
(A + B)[0] = 1.0                                 | A + B       | A + B is no array                             |
x: float                                         | x: float    | a declaration without a value                 |
for i in range(N): ;     if A[i] > 0: B[i] = 1.0 | A[i]        | depends on data, the value of A[i]            | C[i] = x if A[i] > 0 else C[i]
assert A[0] > 0                                  | A[0]        | the assertion is not affine: it depends on data |
for i in range(N): ;     if i is N: B[i] = 1.0   | i is N      | it compares with other than                   |
for i in range(N): ;     if i * N > 3: B[i] = 1.0 | i * N      | the condition is not affine: a product        |
while N > 0: A[0] = 0.0                          | while N > 0: A[0] = 0.0 | a while loop has no affine bounds | for i in range(...)
for i in range(N): ;     break                   | break       | a loop that is left early                     | into the bounds
for i in range(N): ;     continue                | continue    | `continue` is not read                        | turn the condition round
for i in range(N): A[i] = 0.0 ; return A         | return A    | a nest returns no value                       |
for i in range(N): ;     return                  | return      | a nest that is left early                     |
for i in range(N): max(A[i], 0)                  | max(A[i], 0) | a call that assigns nothing                  |
for i in range(N): A[i]                          | A[i]        | an expression that assigns nothing            |
for i in range(N): assert i < N                  | assert i < N | an assertion inside the nest                 |
def g(): pass                                    | def g(): pass | a function inside a nest                    | define it outside
import os                                        | import os   | `import` is no part of a nest                 |
del A                                            | del A       | `del` is no part of a nest                    |
with A: pass                                     | with A: pass | `with` is no part of a nest                  |
global z                                         | global z    | a nest has no variables outside               |
pass                                             | def f(A, B, N, M, alpha): | the nest has no statement       |
if N > 3 and N < 2: A[0] = 1.0                   | A[0] = 1.0  | no statement of the nest ever runs            | a condition false
"""


def refused(text):
    with pytest.raises(NotAffineProgram) as caught:
        nest_from_source(text, {"T": np.zeros(3)})
    return caught.value


def underlined(where):
    """The part of the shown line that stands above the carets."""
    _, line, caret = where.split("\n")
    start = len(caret) - len(caret.lstrip())
    assert caret.strip() == "^" * len(caret.strip())
    return line[start : len(caret)]


@pytest.mark.parametrize("case", REFUSALS.strip().splitlines(), ids=lambda c: c.split(" | ")[0].strip())
def test_refused_with_its_place(case):
    nest, part, message, hint = (x.strip() for x in (case + " ").split(" | "))
    lines = [line.strip(" ") if k == 0 else line for k, line in enumerate(nest.split(" ; "))]
    text = "\n".join(["def f(A, B, N, M, alpha):", *("    " + line for line in lines)])
    error = refused(text)
    assert message in error.message
    assert hint in error.hint
    assert underlined(error.where) == part
    shown = error.where.splitlines()
    number = int(shown[0].rpartition("line ")[2])
    assert text.splitlines()[number - 1].strip() == shown[1].strip()


def test_the_whole_message():
    text = "def f(A, N):\n    # squares\n    for i in range(N):\n        A[i] = A[i*i]\n"
    assert (
        str(refused(text))
        == """\
[PV305] the subscript is not affine: a product of i and i
  <text>, line 4
      A[i] = A[i*i]
               ^^^
hint: one factor must be a number"""
    )


def test_carets_count_letters_not_bytes():
    text = "def f(A, Ñ):\n    for ü in range(Ñ): A[ü] = A[ü * ü]"
    assert underlined(refused(text).where) == "ü * ü"


def test_a_part_of_several_lines_is_underlined_to_the_end_of_the_first():
    text = "def f(A, N):\n    for i in range(N):\n        A[i] = A[i *\n          i]"
    assert underlined(refused(text).where) == "i *"


def test_arrays_are_called_what_relations_can_say():
    error = refused("def f(Ä, N):\n    for i in range(N): Ä[i] = 1.0")
    assert underlined(error.where) == "Ä[i]"
    assert "no word for the array Ä" in error.message


def test_texts_that_are_no_function():
    assert refused(3).message == "the text of a nest is a str, not an int"
    assert refused(len).hint == "nest(f) reads a function"
    assert "this is no Python" in refused("def f(:\n").message
    assert "is one function, not 2 statements" in refused("x = 1\ny = 2").message
    assert "is one function, not another statement" in refused("x = 1").message
    assert "named arguments, not *more" in refused("def f(A, *more):\n  A[0] = 1.0").message
    assert "named arguments, not **more" in refused("def f(A, **more):\n  A[0] = 1.0").message


def test_a_context_of_other_names():
    with pytest.raises(NotAffineProgram, match="a set of the parameters N"):
        nest_from_source("def f(A, N):\n for i in range(N): A[i] = 1.0", context="[M] -> { : M > 0 }")


def test_a_context_that_never_holds():
    with pytest.raises(BadProgram, match="the context holds for no parameters at all"):
        nest_from_source("def f(A, N):\n assert N > N + 1\n for i in range(N): A[i] = 1.0")


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("def f(A, N, N):\n  for i in range(N): A[i] = 1.0", "N", "a second argument is called N"),
        ("def f(A, N):\n  for i in range(N)\n    A[i] = 1.0", "^", "this is no Python: expected ':'"),
        ("  def f(A, N):\n    for i in range(N):\n      A[i) = 1.0", ")", "this is no Python: closing parenthesis"),
        ("def f(A, N):\n  nonlocal x\n  A[0] = 1.0", "n", "this is no Python: no binding for nonlocal"),
        ("def f(A, N=1/0):\n  for i in range(N): A[i] = 1.0", "def f(A, N=1/0):", "a default value: division by zero"),
    ],
)
def test_what_is_no_function_is_shown_at_its_line(text, part, message):
    with pytest.raises(NotAffineProgram) as caught:
        nest_from_source(text)
    assert message in caught.value.message
    _, line, caret = caught.value.where.split("\n")
    start = caret.index("^")
    assert line[start : len(caret)] == part or len(line) == start  # behind the line's end
    assert line.strip() in text


def test_where_nothing_runs_the_hint_says_why():
    error = refused("def f(A, N):\n  for i in range(5, 3): A[i] = 1.0")
    assert (error.message, "range" in error.hint) == ("no statement of the nest ever runs", True)
