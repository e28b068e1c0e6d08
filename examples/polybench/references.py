"""What each kernel computes, said by numpy: whole arrays, `np.linalg`, no loop over elements.

Nothing here is shared with the loop nests, so that agreement says something about both. A function takes what the
kernel takes and returns the arrays that the kernel leaves behind, by name. What the nests do element by element is
said here by a formula (products, `solve`, `inv`, `qr`, `cholesky`), or one whole slice at a time (stencils).
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import solve


def gemm(A, B, C, alpha, beta, **_):
    return {"C": alpha * A @ B + beta * C}


def two_mm(A, B, C, D, alpha, beta, **_):
    return {"T": alpha * A @ B, "D": alpha * A @ B @ C + beta * D}


def three_mm(A, B, C, D, **_):
    return {"E": A @ B, "F": C @ D, "G": A @ B @ (C @ D)}


def lower(new, old):
    """The lower triangle of `new`, the rest of `old`."""
    return np.tril(new) + np.triu(old, 1)


def syrk(A, C, alpha, beta, **_):
    return {"C": lower(alpha * A @ A.T + beta * C, C)}


def syr2k(A, B, C, alpha, beta, **_):
    return {"C": lower(alpha * (A @ B.T + B @ A.T) + beta * C, C)}


def trmm(A, B, alpha, M, **_):
    return {"B": alpha * (np.tril(A, -1) + np.eye(M)).T @ B}


def symm(A, B, C, alpha, beta, **_):
    return {"C": alpha * (np.tril(A) + np.tril(A, -1).T) @ B + beta * C}


def gemver(A, u1, v1, u2, v2, w, x, y, z, alpha, beta, **_):
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * A.T @ y + z
    return {"A": A, "x": x, "w": w + alpha * A @ x}


def gesummv(A, B, x, alpha, beta, **_):
    return {"y": (alpha * A + beta * B) @ x}


def atax(A, x, **_):
    return {"y": A.T @ (A @ x)}


def bicg(A, p, r, **_):
    return {"q": A @ p, "s": A.T @ r}


def mvt(A, x1, x2, y1, y2, **_):
    return {"x1": x1 + A @ y1, "x2": x2 + A.T @ y2}


def doitgen(A, C, **_):
    return {"A": A @ C}


def factors(A):
    """L with ones on its diagonal and U, from Schur complements."""
    A = A.copy()
    for k in range(len(A) - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return np.tril(A, -1) + np.eye(len(A)), np.triu(A)


def lu(A, N, **_):
    L, U = factors(A)
    return {"A": L - np.eye(N) + U}


def ludcmp(A, b, N, **_):
    L, U = factors(A)
    return {"A": L - np.eye(N) + U, "y": solve(L, b), "x": solve(A, b)}


def cholesky(A, **_):
    return {"A": lower(np.linalg.cholesky(A), A)}


def trisolv(L, b, **_):
    return {"x": solve(np.tril(L), b)}


def durbin(r, N, **_):
    first = np.concatenate(([1.0], r[:-1]))
    return {"y": solve(first[abs(np.subtract.outer(np.arange(N), np.arange(N)))], -r)}


def gramschmidt(A, R, **_):
    Q, S = np.linalg.qr(A)
    signs = np.sign(np.diag(S))
    return {"Q": Q * signs, "R": np.triu(S * signs[:, None]) + np.tril(R, -1)}


def neighbours(A, *steps):
    """A at each interior point moved by the steps, summed."""
    inside = range(1, A.shape[0] - 1)
    return sum(A[np.ix_(*([i + d for i in inside] for d in step))] for step in steps)


def mean(old, new, steps):
    """`new` with its interior set to the means of `old` over the steps."""
    new = new.copy()
    new[(slice(1, -1),) * new.ndim] = neighbours(old, *steps) / len(steps)
    return new


def alternating(A, B, T, steps):
    for _ in range(T):
        B = mean(A, B, steps)
        A = mean(B, A, steps)
    return {"A": A, "B": B}


def jacobi_1d(A, B, T, **_):
    return alternating(A, B, T, [(-1,), (0,), (1,)])


def jacobi_2d(A, B, T, **_):
    return alternating(A, B, T, [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)])


def heat_3d(A, B, T, **_):
    # an eighth of the second differences and the point itself: 1/8 of each neighbour and 2/8 of the point
    faces = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    return alternating(A, B, T, [*faces, (0, 0, 0), (0, 0, 0)])


def seidel_2d(A, T, N, **_):
    A = A.copy()
    # along a row, 9 new[j] - new[j - 1] is known from the rows above and below and from the old values
    row = 9.0 * np.eye(N - 2) - np.eye(N - 2, k=-1)
    for _ in range(T):
        for i in range(1, N - 1):
            known = sum(r[:-2] + r[1:-1] + r[2:] for r in (A[i - 1], A[i + 1])) + A[i, 1:-1] + A[i, 2:]
            known[0] += A[i, 0]
            A[i, 1:-1] = solve(row, known)
    return {"A": A}


def fdtd_2d(ex, ey, hz, pulse, T, **_):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(T):
        ey[0] = pulse[t]
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def tridiagonal(below, at, above, N):
    """The matrix of a x[j - 1] + b x[j] + c x[j + 1] inside, with x given at both ends."""
    A = np.diag([0.0] + [at] * (N - 2) + [0.0])
    A += np.diag([below] * (N - 2) + [0.0], -1) + np.diag([0.0] + [above] * (N - 2), 1)
    A[0, 0] = A[-1, -1] = 1.0
    return A


def adi(u, v, a, b, c, d, e, f, T, N, **_):
    u, v = u.copy(), v.copy()
    ends = np.ones((1, N - 2))
    for _ in range(T):
        known = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - f * u[1:-1, 2:]
        v[:, 1:-1] = solve(tridiagonal(a, b, c, N), np.concatenate((ends, known, ends)))
        known = -a * v[:-2, 1:-1] + (1.0 + 2.0 * a) * v[1:-1, 1:-1] - c * v[2:, 1:-1]
        u[1:-1] = solve(tridiagonal(d, e, f, N), np.concatenate((ends, known.T, ends))).T
    return {"u": u, "v": v}


def correlation(data, **_):
    centred = data - data.mean(axis=0)  # no deviation of the test data is near zero
    return {
        "corr": np.corrcoef(data, rowvar=False),
        "data": centred / (np.sqrt(len(data)) * data.std(axis=0)),
        "mean": data.mean(axis=0),
        "stddev": data.std(axis=0),
    }


def covariance(data, **_):
    return {"cov": np.cov(data, rowvar=False), "data": data - data.mean(axis=0), "mean": data.mean(axis=0)}


def floyd_warshall(path, N, **_):
    # shortest paths by repeated squaring in the algebra of min and +
    for _ in range(max(1, int(np.ceil(np.log2(N))))):
        path = np.minimum(path, (path[:, :, None] + path[None, :, :]).min(axis=1))
    return {"path": path}


def nussinov(base, N, **_):
    best = np.zeros((N + 1, N + 1))  # best[i, j]: of the stretch that starts at i and stops before j
    pairs = np.add.outer(base, base) == 3.0
    for length in range(2, N + 1):
        for i in range(N - length + 1):
            j = i + length
            split = (best[i, i : j + 1] + best[i : j + 1, j]).max()
            best[i, j] = max(split, best[i + 1, j - 1] + (pairs[i, j - 1] and length > 2))
    return {"table": np.triu(best[:-1, 1:])}


def filtered(x, a0, a1, a2, a3, b1, b2):
    """The filter along the first axis, as two systems of equations."""
    unit, back = np.eye(len(x)), np.eye(len(x), k=-1)
    recursion = unit - b1 * back - b2 * back @ back
    return solve(recursion, (a0 * unit + a1 * back) @ x) + solve(recursion.T, (a2 * back + a3 * back @ back).T @ x)


def deriche(x, a0, a1, a2, a3, b1, b2, **_):
    coefficients = (a0, a1, a2, a3, b1, b2)
    return {"y": filtered(filtered(x.T, *coefficients).T, *coefficients)}
