"""PolyBench's linear algebra: products, solvers and decompositions, each as the loop nest that its formula says.

A dimension is called as the matrix's formula calls it; alpha and beta are scalars. The order of the loops is
that of PolyBench, so that the dependences are the ones that papers speak of.
"""

from math import sqrt

from polyvolta.sched import nest


@nest
def gemm(A, B, C, alpha, beta, M, N, K):
    """C = alpha A B + beta C."""
    for i in range(M):
        for j in range(N):
            C[i, j] *= beta
        for k in range(K):
            for j in range(N):
                C[i, j] += alpha * A[i, k] * B[k, j]


@nest
def two_mm(A, B, C, D, T, alpha, beta, M, N, K, L):
    """T = alpha A B, then D = T C + beta D."""
    for i in range(M):
        for j in range(N):
            T[i, j] = 0.0
            for k in range(K):
                T[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(M):
        for j in range(L):
            D[i, j] *= beta
            for k in range(N):
                D[i, j] += T[i, k] * C[k, j]


@nest
def three_mm(A, B, C, D, E, F, G, M, N, K, L, P):
    """E = A B, F = C D, then G = E F."""
    for i in range(M):
        for j in range(N):
            E[i, j] = 0.0
            for k in range(K):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(N):
        for j in range(L):
            F[i, j] = 0.0
            for k in range(P):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(M):
        for j in range(L):
            G[i, j] = 0.0
            for k in range(N):
                G[i, j] += E[i, k] * F[k, j]


@nest
def syrk(A, C, alpha, beta, N, M):
    """The lower triangle of C = alpha A A^T + beta C."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


@nest
def syr2k(A, B, C, alpha, beta, N, M):
    """The lower triangle of C = alpha (A B^T + B A^T) + beta C."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


@nest
def trmm(A, B, alpha, M, N):
    """B = alpha A^T B in place, A lower triangular with ones on its diagonal."""
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]


@nest
def symm(A, B, C, alpha, beta, M, N):
    """C = alpha A B + beta C, A symmetric and given by its lower triangle."""
    for i in range(M):
        for j in range(N):
            above = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                above += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * above


@nest
def gemver(A, u1, v1, u2, v2, w, x, y, z, alpha, beta, N):
    """A += u1 v1^T + u2 v2^T, x += beta A^T y + z, w += alpha A x."""
    for i in range(N):
        for j in range(N):
            A[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(N):
        for j in range(N):
            x[i] += beta * A[j, i] * y[j]
    for i in range(N):
        x[i] += z[i]
    for i in range(N):
        for j in range(N):
            w[i] += alpha * A[i, j] * x[j]


@nest
def gesummv(A, B, x, y, t, alpha, beta, N):
    """y = alpha A x + beta B x."""
    for i in range(N):
        t[i] = 0.0
        y[i] = 0.0
        for j in range(N):
            t[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * t[i] + beta * y[i]


@nest
def atax(A, x, y, t, M, N):
    """y = A^T (A x)."""
    for i in range(N):
        y[i] = 0.0
    for i in range(M):
        t[i] = 0.0
        for j in range(N):
            t[i] += A[i, j] * x[j]
        for j in range(N):
            y[j] += A[i, j] * t[i]


@nest
def bicg(A, p, q, r, s, M, N):
    """q = A p and s = A^T r."""
    for j in range(M):
        s[j] = 0.0
    for i in range(N):
        q[i] = 0.0
        for j in range(M):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


@nest
def mvt(A, x1, x2, y1, y2, N):
    """x1 += A y1 and x2 += A^T y2."""
    for i in range(N):
        for j in range(N):
            x1[i] += A[i, j] * y1[j]
    for i in range(N):
        for j in range(N):
            x2[i] += A[j, i] * y2[j]


@nest
def doitgen(A, C, t, R, Q, P):
    """A[r, q, :] = A[r, q, :] C for all r and q, through a buffer of one row."""
    for r in range(R):
        for q in range(Q):
            for p in range(P):
                t[p] = 0.0
                for s in range(P):
                    t[p] += A[r, q, s] * C[s, p]
            for p in range(P):
                A[r, q, p] = t[p]


@nest
def lu(A, N):
    """A = L U in place: ones on the diagonal of L are not kept."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


@nest
def ludcmp(A, b, x, y, N):
    """A x = b: decompose A = L U in place, then L y = b forwards and U x = y backwards."""
    for i in range(N):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, N):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(N):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(N - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, N):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


@nest
def cholesky(A, N):
    """The lower triangle of A becomes L, where A = L L^T."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = sqrt(A[i, i])


@nest
def trisolv(L, x, b, N):
    """L x = b, L lower triangular, by forward substitution."""
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


@nest
def durbin(r, y, z, N):
    """T y = -r for the symmetric Toeplitz matrix T with first row 1, r[0], r[1], ... (Levinson and Durbin)."""
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


@nest
def gramschmidt(A, Q, R, M, N):
    """A = Q R by the modified Gram-Schmidt process; A is used up."""
    for k in range(N):
        square = 0.0
        for i in range(M):
            square += A[i, k] * A[i, k]
        R[k, k] = sqrt(square)
        for i in range(M):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = 0.0
            for i in range(M):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(M):
                A[i, j] -= Q[i, k] * R[k, j]
