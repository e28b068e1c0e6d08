"""Linear algebra over the field of two elements, F2: what exclusive-or is linear over.

A vector of bits is a Python integer, bit k its k-th coordinate; adding two vectors is `^`. A matrix is a sequence of
rows, so its product with a vector x has `parity(row & x)` for coordinates. A swizzle such as `chunk ^ (row mod 8)` is
such a matrix on the bits of (row, chunk): it can be undone exactly when its rank is full, and Gaussian elimination
says what undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence


def rank(rows: Sequence[int]) -> int:
    """The rank of a matrix over F2. O(n^2) operations on rows.

    >>> rank([0b011, 0b110, 0b101])
    2
    """
    basis: list[int] = []
    for row in rows:
        for b in basis:
            row = min(row, row ^ b)
        if row:
            basis.append(row)
    return len(basis)


def inverse(rows: Sequence[int]) -> list[int] | None:
    """The inverse of a square matrix over F2, None when it has none. O(n^2) operations on rows.

    >>> [bin(row) for row in inverse([0b01, 0b11])]
    ['0b1', '0b11']
    """
    n = len(rows)
    left, right = list(rows), [1 << k for k in range(n)]
    for col in range(n):
        pivot = next((k for k in range(col, n) if left[k] >> col & 1), None)
        if pivot is None:
            return None
        left[col], left[pivot] = left[pivot], left[col]
        right[col], right[pivot] = right[pivot], right[col]
        for k in range(n):
            if k != col and left[k] >> col & 1:
                left[k] ^= left[col]
                right[k] ^= right[col]
    return right
