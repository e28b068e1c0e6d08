/* PolyBench kernels tiled by hand, as a person writes C: what the schedules of `processor.py` are compared with.

   Blocks for the cache, a few rows at a time for registers, vectors along the last dimension, buffers where they help.
   Sums keep the order of the original loops, so that the results are the same bits. Each function takes what the one
   that `polyvolta.sched.to_c` prints for that program takes. */

#include <math.h>

#define MIN(x, y) ((y) < (x) ? (y) : (x))
#define MAX(x, y) ((y) > (x) ? (y) : (x))
#define EACH(v, from, to) for (long v = (from); v < (to); v++)
#define VECTOR _Pragma("omp simd")

/* C += f A B: 4 rows and 4 steps of k at a time around a loop over columns. */
static void product(long M, long N, long K, long a, long b, long c, const double A[restrict][a],
                    const double B[restrict][b], double C[restrict][c], double f)
{
  for (long ii = 0; ii < M; ii += 100)
    for (long jj = 0; jj < N; jj += 256)
      for (long kk = 0; kk < K; kk += 60) {
        long ie = MIN(ii + 100, M), je = MIN(jj + 256, N), ke = MIN(kk + 60, K), i = ii, k;
        for (; i + 4 <= ie; i += 4) {
          for (k = kk; k + 4 <= ke; k += 4) {
            double x[4][4];
            EACH(p, 0, 4) EACH(q, 0, 4) x[p][q] = f * A[i + p][k + q];
            VECTOR EACH(j, jj, je) {
              double b0 = B[k][j], b1 = B[k + 1][j], b2 = B[k + 2][j], b3 = B[k + 3][j];
              C[i][j] = C[i][j] + x[0][0] * b0 + x[0][1] * b1 + x[0][2] * b2 + x[0][3] * b3;
              C[i + 1][j] = C[i + 1][j] + x[1][0] * b0 + x[1][1] * b1 + x[1][2] * b2 + x[1][3] * b3;
              C[i + 2][j] = C[i + 2][j] + x[2][0] * b0 + x[2][1] * b1 + x[2][2] * b2 + x[2][3] * b3;
              C[i + 3][j] = C[i + 3][j] + x[3][0] * b0 + x[3][1] * b1 + x[3][2] * b2 + x[3][3] * b3;
            }
          }
          for (; k < ke; k++)
            EACH(p, 0, 4) VECTOR EACH(j, jj, je) C[i + p][j] += f * A[i + p][k] * B[k][j];
        }
        for (; i < ie; i++)
          EACH(l, kk, ke) VECTOR EACH(j, jj, je) C[i][j] += f * A[i][l] * B[l][j];
      }
}

void gemm(long M, long N, long K, long A_1, long B_1, long C_1, const double A[restrict][A_1],
          const double B[restrict][B_1], double C[restrict][C_1], double alpha, double beta)
{
  EACH(i, 0, M) EACH(j, 0, N) C[i][j] *= beta;
  product(M, N, K, A_1, B_1, C_1, A, B, C, alpha);
}

void two_mm(long M, long N, long K, long L, long A_1, long B_1, long C_1, long D_1, long T_1,
            const double A[restrict][A_1], const double B[restrict][B_1], const double C[restrict][C_1],
            double D[restrict][D_1], double T[restrict][T_1], double alpha, double beta)
{
  EACH(i, 0, M) EACH(j, 0, N) T[i][j] = 0.0;
  product(M, N, K, A_1, B_1, T_1, A, B, T, alpha);
  EACH(i, 0, M) EACH(j, 0, L) D[i][j] *= beta;
  product(M, L, N, T_1, C_1, D_1, T, C, D, 1.0);
}

/* Rows in fours: what they read of one another first, then all rows below. */
void trmm(long M, long N, long A_1, long B_1, const double A[restrict][A_1], double B[restrict][B_1], double alpha)
{
  for (long i = 0; i < M; i += 4) {
    long ie = MIN(i + 4, M);
    for (long jj = 0; jj < N; jj += 512) {
      long je = MIN(jj + 512, N), k = ie;
      EACH(r, i, ie) EACH(l, r + 1, ie) VECTOR EACH(j, jj, je) B[r][j] += A[l][r] * B[l][j];
      if (ie - i == 4)
        for (; k + 4 <= M; k += 4)
          VECTOR EACH(j, jj, je) {
            double b0 = B[k][j], b1 = B[k + 1][j], b2 = B[k + 2][j], b3 = B[k + 3][j];
            B[i][j] = B[i][j] + A[k][i] * b0 + A[k + 1][i] * b1 + A[k + 2][i] * b2
                + A[k + 3][i] * b3;
            B[i + 1][j] = B[i + 1][j] + A[k][i + 1] * b0 + A[k + 1][i + 1] * b1 + A[k + 2][i + 1] * b2
                + A[k + 3][i + 1] * b3;
            B[i + 2][j] = B[i + 2][j] + A[k][i + 2] * b0 + A[k + 1][i + 2] * b1 + A[k + 2][i + 2] * b2
                + A[k + 3][i + 2] * b3;
            B[i + 3][j] = B[i + 3][j] + A[k][i + 3] * b0 + A[k + 1][i + 3] * b1 + A[k + 2][i + 3] * b2
                + A[k + 3][i + 3] * b3;
          }
      for (; k < M; k++)
        EACH(r, i, ie) VECTOR EACH(j, jj, je) B[r][j] += A[k][r] * B[k][j];
      EACH(r, i, ie) VECTOR EACH(j, jj, je) B[r][j] = alpha * B[r][j];
    }
  }
}

void mvt(long N, long A_1, const double A[restrict][A_1], double x1[restrict], double x2[restrict],
         const double y1[restrict], const double y2[restrict])
{
  long i = 0, j = 0;
  for (; i + 8 <= N; i += 8) {
    double s[8];
    EACH(r, 0, 8) s[r] = x1[i + r];
    EACH(l, 0, N) EACH(r, 0, 8) s[r] += A[i + r][l] * y1[l];
    EACH(r, 0, 8) x1[i + r] = s[r];
  }
  for (; i < N; i++)
    EACH(l, 0, N) x1[i] += A[i][l] * y1[l];
  for (; j + 4 <= N; j += 4)
    VECTOR EACH(l, 0, N)
      x2[l] = x2[l] + A[j][l] * y2[j] + A[j + 1][l] * y2[j + 1] + A[j + 2][l] * y2[j + 2] + A[j + 3][l] * y2[j + 3];
  for (; j < N; j++)
    VECTOR EACH(l, 0, N) x2[l] += A[j][l] * y2[j];
}

/* Panels of 32 columns, then the product that they update the rest with, in blocks of 4 by 8. */
void lu(long N, long A_1, double A[restrict][A_1])
{
  for (long kk = 0; kk < N; kk += 32) {
    long e = MIN(kk + 32, N), i = e;
    EACH(k, kk, e) EACH(r, k + 1, N) {
      double x = A[r][k] /= A[k][k];
      long to = r < e ? N : e;
      VECTOR EACH(j, k + 1, to) A[r][j] -= x * A[k][j];
    }
    for (; i + 4 <= N; i += 4) {
      long j = e;
      for (; j + 8 <= N; j += 8) {
        double c[4][8];
        EACH(p, 0, 4) EACH(q, 0, 8) c[p][q] = A[i + p][j + q];
        EACH(k, kk, e) EACH(p, 0, 4) EACH(q, 0, 8) c[p][q] -= A[i + p][k] * A[k][j + q];
        EACH(p, 0, 4) EACH(q, 0, 8) A[i + p][j + q] = c[p][q];
      }
      EACH(l, j, N) EACH(p, 0, 4) EACH(k, kk, e) A[i + p][l] -= A[i + p][k] * A[k][l];
    }
    EACH(r, i, N) EACH(k, kk, e) VECTOR EACH(j, e, N) A[r][j] -= A[r][k] * A[k][j];
  }
}

/* Panels of 32 columns, kept in rows, too, so that what they update is in vectors. */
void cholesky(long N, long A_1, double A[restrict][A_1])
{
  double P[32][N];
  for (long kk = 0; kk < N; kk += 32) {
    long e = MIN(kk + 32, N), i = e;
    EACH(k, kk, e) {
      EACH(l, kk, k) A[k][k] -= A[k][l] * A[k][l];
      A[k][k] = sqrt(A[k][k]);
      EACH(r, k + 1, N) {
        EACH(l, kk, k) A[r][k] -= A[r][l] * A[k][l];
        A[r][k] /= A[k][k];
      }
    }
    EACH(r, e, N) EACH(k, kk, e) P[k - kk][r] = A[r][k];
    for (; i + 4 <= N; i += 4) {
      long j = e;
      for (; j + 8 <= i + 1; j += 8) {
        double c[4][8];
        EACH(p, 0, 4) EACH(q, 0, 8) c[p][q] = A[i + p][j + q];
        EACH(k, 0, e - kk) EACH(p, 0, 4) EACH(q, 0, 8) c[p][q] -= A[i + p][kk + k] * P[k][j + q];
        EACH(p, 0, 4) EACH(q, 0, 8) A[i + p][j + q] = c[p][q];
      }
      EACH(p, 0, 4) EACH(l, j, i + p + 1) EACH(k, 0, e - kk) A[i + p][l] -= A[i + p][kk + k] * P[k][l];
    }
    EACH(r, i, N) EACH(l, e, r + 1) EACH(k, 0, e - kk) A[r][l] -= A[r][kk + k] * P[k][l];
  }
}

/* 16 time steps follow one another two rows apart, both arrays in one pass. */
void jacobi_2d(long T, long N, long A_1, long B_1, double A[restrict][A_1], double B[restrict][B_1])
{
  for (long tt = 0; tt < T; tt += 16) {
    long steps = MIN(16, T - tt);
    EACH(w, 1, N + 2 * steps - 2) EACH(t, 0, steps) {
      long i = w - 2 * t;
      if (1 <= i && i <= N - 2)
        VECTOR EACH(j, 1, N - 1) B[i][j] = (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]) / 5.0;
      if (1 <= i - 1 && i - 1 <= N - 2)
        VECTOR EACH(j, 1, N - 1)
          A[i - 1][j] = (B[i - 1][j] + B[i - 1][j - 1] + B[i - 1][j + 1] + B[i][j] + B[i - 2][j]) / 5.0;
    }
  }
}

#define HEAT(X, i, j, k)                                                                                               \
  (0.125 * (X[i + 1][j][k] - 2.0 * X[i][j][k] + X[i - 1][j][k]) +                                                      \
   0.125 * (X[i][j + 1][k] - 2.0 * X[i][j][k] + X[i][j - 1][k]) +                                                      \
   0.125 * (X[i][j][k + 1] - 2.0 * X[i][j][k] + X[i][j][k - 1]) + X[i][j][k])

/* Four time steps follow one another two planes apart, both arrays in one pass. */
void heat_3d(long T, long N, long A_1, long A_2, long B_1, long B_2, double A[restrict][A_1][A_2],
             double B[restrict][B_1][B_2])
{
  for (long tt = 0; tt < T; tt += 4) {
    long steps = MIN(4, T - tt);
    EACH(w, 1, N + 2 * steps - 2) EACH(t, 0, steps) {
      long i = w - 2 * t, l = i - 1;
      if (1 <= i && i <= N - 2)
        EACH(j, 1, N - 1) VECTOR EACH(k, 1, N - 1) B[i][j][k] = HEAT(A, i, j, k);
      if (1 <= l && l <= N - 2)
        EACH(j, 1, N - 1) VECTOR EACH(k, 1, N - 1) A[l][j][k] = HEAT(B, l, j, k);
    }
  }
}

#define SEIDEL(i, j)                                                                                                   \
  A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] +                   \
             A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0

/* Four time steps side by side, two rows apart: four sums that do not wait for one another. */
void seidel_2d(long T, long N, long A_1, double A[restrict][A_1])
{
  for (long t = 0; t < T; t += 4) {
    long steps = MIN(4, T - t);
    EACH(w, 1, N + 2 * steps - 3)
      if (steps == 4 && w - 6 >= 1 && w <= N - 2)
        EACH(j, 1, N - 1) {
          SEIDEL(w, j);
          SEIDEL((w - 2), j);
          SEIDEL((w - 4), j);
          SEIDEL((w - 6), j);
        }
      else
        EACH(q, 0, steps) if (1 <= w - 2 * q && w - 2 * q <= N - 2) EACH(j, 1, N - 1) SEIDEL((w - 2 * q), j);
  }
}

/* Distances are not negative, so that row and column k stay as they are while k is tried. */
void floyd_warshall(long N, long path_1, double path[restrict][path_1])
{
  EACH(k, 0, N) EACH(i, 0, N) {
    double d = path[i][k];
    VECTOR EACH(j, 0, N) path[i][j] = MIN(path[i][j], d + path[k][j]);
  }
}
