// What a warp does together: products of fragments, matrices of 8 x 8 to and from shared memory, values and votes.
//
// SUMS      An instruction's products are summed in double, which is exact unless they are more than 2^27 apart, and
//           rounded to fp32 once; then comes the accumulator.

namespace {

// mma.m8n8k4: four matrices side by side, those of lanes 4q .. 4q+3 and 16+4q .. 16+4q+3
void multiply_quads(Warp &w, int kind) {
  const bool a_row = kind == M8N8K4_ROW_ROW || kind == M8N8K4_ROW_COL;
  const bool b_row = kind == M8N8K4_ROW_ROW || kind == M8N8K4_COL_ROW;
  float a[4][8][4], b[4][4][8], c[4][8][8], d[4][8][8];
  for (int l = 0; l < LANES; l++) {
    const int q = l % 16 / 4, high = l < 16 ? 0 : 4;
    for (int i = 0; i < 4; i++) {
      const float x = half_values[w.lanes[l].a[i / 2] >> 16 * (i % 2) & 0xffff];
      const float y = half_values[w.lanes[l].b[i / 2] >> 16 * (i % 2) & 0xffff];
      if (a_row) a[q][l % 4 + high][i] = x; else a[q][i + high][l % 4] = x;
      if (b_row) b[q][l % 4][i + high] = y; else b[q][i][l % 4 + high] = y;
    }
    for (int i = 0; i < 8; i++) c[q][(l & 1) + (i & 2) + high][(i & 4) + (l & 2) + (i & 1)] = w.lanes[l].c[i];
  }
  for (int q = 0; q < 4; q++)
    for (int r = 0; r < 8; r++)
      for (int n = 0; n < 8; n++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) sum += (double)a[q][r][k] * b[q][k][n];
        d[q][r][n] = c[q][r][n] + (float)sum;
      }
  for (int l = 0; l < LANES; l++)
    for (int i = 0; i < 8; i++)
      w.lanes[l].d[i] = d[l % 16 / 4][(l & 1) + (i & 2) + (l < 16 ? 0 : 4)][(i & 4) + (l & 2) + (i & 1)];
}

// mma.m16n8k8 and m16n8k16, A row-major, B column-major: groupID = lane >> 2, threadID_in_group = lane % 4
void multiply_whole(Warp &w, int depth, bool brain) {
  float a[16][16], b[16][8], c[16][8], d[16][8];
  auto value = [&](unsigned word, int i) {
    const unsigned bits = word >> 16 * (i % 2) & 0xffff;
    return brain ? from_bfloat16(bits) : half_values[bits];
  };
  for (int l = 0; l < LANES; l++) {
    const int group = l >> 2, thread = l % 4;
    for (int i = 0; i < depth / 2; i++) {  // a0 .. a3, or a0 .. a7
      const int row = i % 4 < 2 ? group : group + 8, col = thread * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      a[row][col] = value(w.lanes[l].a[i / 2], i);
    }
    for (int i = 0; i < depth / 4; i++)  // b0, b1, or b0 .. b3
      b[thread * 2 + (i & 1) + (i >= 2 ? 8 : 0)][group] = value(w.lanes[l].b[i / 2], i);
    for (int i = 0; i < 4; i++) c[i < 2 ? group : group + 8][thread * 2 + (i & 1)] = w.lanes[l].c[i];
  }
  for (int r = 0; r < 16; r++)
    for (int n = 0; n < 8; n++) {
      double sum = 0;
      for (int k = 0; k < depth; k++) sum += (double)a[r][k] * b[k][n];
      d[r][n] = c[r][n] + (float)sum;
    }
  for (int l = 0; l < LANES; l++)
    for (int i = 0; i < 4; i++) w.lanes[l].d[i] = d[i < 2 ? l >> 2 : (l >> 2) + 8][l % 4 * 2 + (i & 1)];
}

// lanes 8j .. 8j+7 have the addresses of the rows of matrix j; register j of a lane: two values of it
template <class F> void matrices(Warp &w, int count, bool transposed, F &&pair) {
  for (int j = 0; j < count; j++) {
    b16 *rows[8];
    for (int r = 0; r < 8; r++) rows[r] = (b16 *)(block().shared + (w.lanes[8 * j + r].address - WINDOW));
    for (int l = 0; l < LANES; l++) {
      const int row = l / 4, col = l % 4 * 2;
      if (transposed)
        pair(w.lanes[l], j, rows[col][row], rows[col + 1][row]);
      else
        pair(w.lanes[l], j, rows[row][col], rows[row][col + 1]);
    }
  }
}

// a line of a matrix that the lane names, and that is there
void check_line(const char *what, int count, unsigned address, bool writes, void *place) {
  const size_t at = address - WINDOW;
  if (address % 16) fail(place, THREAD ": %s from %u, no multiple of 16", THREAD_IS, what, address);
  if (address < WINDOW || at + 16 > g.shared)
    fail(place, THREAD ": %s outside of shared memory, at byte %ld", THREAD_IS, what, (long)address - WINDOW);
  if (lane() < 8 * count) touch(block().shared + at, 16, writes, place);
}

}  // namespace

extern "C" {

void gpu_mma(Mma kind, float *d, const unsigned *a, const unsigned *b, const float *c) {
  Operands &mine = warp().lanes[lane()];
  mine = {};
  mine.d = d, mine.a = a, mine.b = b, mine.c = c;
  together("mma", kind, 0, HERE, [&](Warp &w) {
    g.products++;
    if (kind <= M8N8K4_COL_COL) return multiply_quads(w, kind);
    multiply_whole(w, kind <= M16N8K8_BF16 ? 8 : 16, kind == M16N8K8_BF16 || kind == M16N8K16_BF16);
  });
}

void gpu_ldmatrix(int count, bool transposed, unsigned *d, unsigned address) {
  const char *const what = transposed ? "ldmatrix.trans" : "ldmatrix";
  check_line("ldmatrix", count, address, false, HERE);
  warp().lanes[lane()].out = d, warp().lanes[lane()].address = address;
  together(what, count, 0, HERE, [&](Warp &w) {
    matrices(w, count, transposed, [](Operands &l, int j, b16 &low, b16 &high) { l.out[j] = low | (unsigned)high << 16; });
  });
}

void gpu_stmatrix(int count, bool transposed, unsigned address, const unsigned *values) {
  const char *const what = transposed ? "stmatrix.trans" : "stmatrix";
  check_line("stmatrix", count, address, true, HERE);
  warp().lanes[lane()].in = values, warp().lanes[lane()].address = address;
  together(what, count, 0, HERE, [&](Warp &w) {
    matrices(w, count, transposed, [](Operands &l, int j, b16 &low, b16 &high) { low = l.in[j], high = l.in[j] >> 16; });
  });
}

unsigned gpu_shuffle(unsigned mask, unsigned value, int from) {
  if (mask != ~0u) fail(HERE, THREAD ": a shuffle of some lanes, %#x", THREAD_IS, mask);
  unsigned got;
  Operands &mine = warp().lanes[lane()];
  mine.address = value, mine.out = &got, mine.kind = from & 31;
  together("a shuffle", 0, 0, HERE, [](Warp &w) {
    for (Operands &l : w.lanes) *l.out = w.lanes[l.kind].address;
  });
  return got;
}

// always the same lane for a mask, and no word about which
bool gpu_elect(unsigned mask) {
  if (mask != ~0u) fail(HERE, THREAD ": elect.sync of some lanes, %#x", THREAD_IS, mask);
  together("elect.sync", 0, 0, HERE, [](Warp &) {});
  return lane() == g.elected;
}

void gpu_registers(int count) {
  if (count < 24 || count > 256 || count % 8)
    fail(HERE, THREAD ": setmaxnreg %d, no multiple of 8 from 24 to 256", THREAD_IS, count);
  together("setmaxnreg", count, 0, HERE, [](Warp &) {});
}

// a launch is the only one here; before this a thread of a dependent one reaches no global memory
void gpu_await_grids() {
  if (fiber().reached)
    fail(HERE, THREAD ": griddepcontrol.wait, and it has reached global memory before", THREAD_IS);
  fiber().awaited = true;
}
}
