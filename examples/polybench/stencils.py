"""PolyBench's stencils, its two data-mining kernels and three others, each as its formula's loop nest.

A stencil repeats T times: every point becomes a mean of itself and its neighbours, from one array to another
(jacobi, heat) or in place (seidel). Tiling its time loop takes skewing, which the scheduler finds.
"""

# ruff: noqa: B007 -- the loops over time only repeat

from math import sqrt

from polyvolta.sched import nest


@nest
def jacobi_1d(A, B, T, N):
    """Means of three, from A to B and back."""
    for t in range(T):
        for i in range(1, N - 1):
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0
        for i in range(1, N - 1):
            A[i] = (B[i - 1] + B[i] + B[i + 1]) / 3.0


@nest
def jacobi_2d(A, B, T, N):
    """Means of five, from A to B and back."""
    for t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j]) / 5.0
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]) / 5.0


@nest
def seidel_2d(A, T, N):
    """Means of nine in place: half of the neighbours are new already."""
    for t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip


@nest
def fdtd_2d(ex, ey, hz, pulse, T, M, N):
    """An electromagnetic wave in the plane; `pulse` drives its left edge."""
    for t in range(T):
        for j in range(N):
            ey[0, j] = pulse[t]
        for i in range(1, M):
            for j in range(N):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(M):
            for j in range(1, N):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(M - 1):
            for j in range(N - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@nest
def heat_3d(A, B, T, N):
    """Heat in a cube: an eighth of each second difference, from A to B and back."""
    for t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


@nest
def adi(u, v, p, q, a, b, c, d, e, f, T, N):
    """Heat in the plane by alternating directions: a tridiagonal system for each column, then for each row.

    a, b, c are the tridiagonal matrix of the columns and d, e, f that of the rows.
    """
    for t in range(T):
        for i in range(1, N - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, N - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                q[i, j] = (
                    -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1] - a * q[i, j - 1]
                ) / (a * p[i, j - 1] + b)  # fmt: skip
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, N - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                q[i, j] = (
                    -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j] - d * q[i, j - 1]
                ) / (d * p[i, j - 1] + e)  # fmt: skip
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


@nest
def correlation(data, corr, mean, stddev, M, N):
    """Correlation coefficients of M variables with N observations each; `data` is centred and scaled in place.

    A deviation near zero counts as one, so that nothing is divided by it.
    """
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for j in range(M):
        stddev[j] = 0.0
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= N
        stddev[j] = sqrt(stddev[j])
        stddev[j] = 1.0 if stddev[j] <= 0.1 else stddev[j]
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
            data[i, j] /= sqrt(N) * stddev[j]
    for i in range(M - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[M - 1, M - 1] = 1.0


@nest
def covariance(data, cov, mean, M, N):
    """Covariances of M variables with N observations each; `data` is centred in place."""
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= N
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
    for i in range(M):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= N - 1.0
            cov[j, i] = cov[i, j]


@nest
def floyd_warshall(path, N):
    """The lengths of all shortest paths, by way of more and more nodes."""
    for k in range(N):
        for i in range(N):
            for j in range(N):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@nest
def nussinov(table, base, N):
    """The most pairs of matching bases in every stretch i..j of a sequence that can be folded without crossings."""
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1.0 if base[i] + base[j] == 3.0 else 0.0))
            else:
                table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


@nest
def deriche(x, y, u, v, a0, a1, a2, a3, b1, b2, M, N):
    """A recursive filter of an image: forwards and backwards along each row, added, then the same along each column."""
    for i in range(M):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        for j in range(N):
            u[i, j] = a0 * x[i, j] + a1 * x1 + b1 * y1 + b2 * y2
            x1 = x[i, j]
            y2 = y1
            y1 = u[i, j]
    for i in range(M):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        x2 = 0.0
        for j in range(N - 1, -1, -1):
            v[i, j] = a2 * x1 + a3 * x2 + b1 * y1 + b2 * y2
            x2 = x1
            x1 = x[i, j]
            y2 = y1
            y1 = v[i, j]
    for i in range(M):
        for j in range(N):
            y[i, j] = u[i, j] + v[i, j]
    for j in range(N):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        for i in range(M):
            u[i, j] = a0 * y[i, j] + a1 * x1 + b1 * y1 + b2 * y2
            x1 = y[i, j]
            y2 = y1
            y1 = u[i, j]
    for j in range(N):
        y1 = 0.0
        y2 = 0.0
        x1 = 0.0
        x2 = 0.0
        for i in range(M - 1, -1, -1):
            v[i, j] = a2 * x1 + a3 * x2 + b1 * y1 + b2 * y2
            x2 = x1
            x1 = y[i, j]
            y2 = y1
            y1 = v[i, j]
    for i in range(M):
        for j in range(N):
            y[i, j] = u[i, j] + v[i, j]
