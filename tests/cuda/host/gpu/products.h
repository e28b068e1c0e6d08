// Products of warpgroups: wgmma.
//
// Each warp issues a product by itself; it can be made when all four have. Then it is, some time before its wait: in
// order with those on the same accumulators, in any order with others. Until the last product on them is made,
// accumulators are poisoned. Operands are read when a product is made, where their descriptors say.

namespace {

struct Descriptor {
  size_t start, leading, stride;  // bytes
  unsigned swizzle;
};

Descriptor described(b64 bits, void *place) {
  static const unsigned swizzles[4] = {0, 128, 64, 32};
  if (bits >> 49 & 7) fail(place, THREAD ": a descriptor with a base offset", THREAD_IS);
  if (bits >> 14 & 3 || bits >> 30 & 3 || bits >> 46 & 7 || bits >> 52 & 0x3ff)
    fail(place, THREAD ": a descriptor with bits that mean nothing, %#llx", THREAD_IS, bits);
  return {(size_t)(bits & 0x3fff) << 4, (size_t)(bits >> 16 & 0x3fff) << 4, (size_t)(bits >> 32 & 0x3fff) << 4,
          swizzles[bits >> 62]};
}

// the address of a value of an operand, as the manual's canonical layouts have it: in units of 16 bytes, T values each,
//   K-major   ((8, m), 2) : ((w, stride), 1), of 16 bytes' rows without a swizzle ((1, stride), leading)
//   MN-major  ((w, m), (8, k)) : ((1, leading), (w, stride)), without a swizzle ((1, stride), (1, leading)), w units wide
size_t address_of(const Descriptor &d, bool turned, int mn, int k) {
  const size_t width = d.swizzle ? d.swizzle : 16, values = width / 2;
  size_t at;
  if (!turned)
    at = mn % 8 * width + mn / 8 * d.stride + (d.swizzle ? 2 * k : k / 8 * d.leading + 2 * (k % 8));
  else if (d.swizzle)
    at = mn % values * 2 + mn / values * d.leading + k % 8 * width + k / 8 * d.stride;
  else
    at = mn % 8 * 2 + mn / 8 * d.stride + k % 8 * 16 + k / 8 * d.leading;
  return swizzled(d.start + at, d.swizzle);
}

// operands are checked: all that they read is there, for all of the threads
void check_operand(const Product &p, bool b, const Epoch &when, void *place) {
  const Descriptor d = described(b ? p.what.b : p.what.a, place);
  const bool turned = b ? p.what.turn_b : p.what.turn_a;
  const int extent = b ? p.what.n : 64;
  for (int mn = 0; mn < extent; mn += turned ? 8 : 1)
    for (int k = 0; k < 16; k += turned ? 1 : 8) {
      const long at = (long)address_of(d, turned, mn, k) - WINDOW;
      if (at < 0 || at + 16 > (long)g.shared)
        fail(place, THREAD ": wgmma reads %c at byte %ld of %zu of shared memory", THREAD_IS, b ? 'B' : 'A', at, g.shared);
      engine_reads(block(), at, p.clock.data(), when, place);
    }
}

void read_operand(const Product &p, const char *shared, bool b, double (*values)[16]) {
  const Descriptor d = described(b ? p.what.b : p.what.a, nullptr);
  for (int mn = 0; mn < (b ? p.what.n : 64); mn++)
    for (int k = 0; k < 16; k++) {
      b16 bits;
      memcpy(&bits, shared + address_of(d, b ? p.what.turn_b : p.what.turn_a, mn, k) - WINDOW, 2);
      values[mn][k] = p.what.brain ? from_bfloat16(bits) : half_values[bits];
    }
}

// A in registers: those of each thread, two values each, as they are now
void read_left(const Product &p, double (*values)[16]) {
  for (int t = 0; t < GROUP; t++)
    for (int i = 0; i < 8; i++) {
      const b16 bits = *p.left[t][i / 2] >> 16 * (i % 2);
      const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, k = t % 4 * 2 + i % 2 + i / 4 * 8;
      values[row][k] = p.what.brain ? from_bfloat16(bits) : half_values[bits];
    }
}

void make(Product &p, const char *shared) {
  static double a[64][16], b[256][16];
  static float products[64][256];
  if (p.what.held) read_left(p, a);
  else read_operand(p, shared, false, a);
  read_operand(p, shared, true, b);
  for (int r = 0; r < 64; r++)
    for (int c = 0; c < p.what.n; c++) {
      double sum = 0;
      for (int k = 0; k < 16; k++) sum += a[r][k] * b[c][k];
      products[r][c] = (float)sum;
    }
  Sums &s = *p.sums;
  for (int t = 0; t < GROUP; t++)
    for (int i = 0; i < s.count; i++) {
      const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + t % 4 * 2 + i % 2;
      s.v[t][i] = p.what.adds ? s.v[t][i] + products[row][col] : products[row][col];
    }
  p.done = true;
  g.products++;
  if (--s.products) return;
  for (int t = 0; t < GROUP; t++)
    for (int i = 0; i < s.count; i++) *s.d[t][i] = s.v[t][i];
  p.sums.reset();
}

constexpr int EVERY_WARP = (1 << GROUP / LANES) - 1;

// a product that may be made, of those on the same accumulators the first; or -1
int ready(const Warpgroup &w, size_t from) {
  for (size_t k = from; k < w.products.size(); k++) {
    const Product &p = w.products[k];
    if (p.done || p.warps != EVERY_WARP) continue;
    bool first = true;
    for (size_t before = 0; before < k; before++)
      first = first && (w.products[before].done || w.products[before].sums != p.sums);
    if (first) return k;
  }
  return -1;
}

void make_one(int block, int group, int which) {
  make(g.blocks[block].groups[group].products[which], g.blocks[block].shared);
  wake_all("products", group, block * g.threads, g.threads);
}

struct Some { int block, group, product; };

Some some_product() {
  std::vector<Some> found;
  for (int b = 0; b < g.count; b++)
    for (size_t k = 0; k < g.blocks[b].groups.size(); k++) {
      Warpgroup &w = g.blocks[b].groups[k];
      for (int p = ready(w, 0); p >= 0; p = ready(w, p + 1)) found.push_back({b, (int)k, p});
    }
  return found.empty() ? Some{-1, 0, 0} : found[draw(found.size())];
}

Warpgroup &warpgroup(void *place) {
  const size_t number = thread() / GROUP;
  std::vector<Warpgroup> &groups = block().groups;
  if ((number + 1) * GROUP > (size_t)g.threads) fail(place, THREAD ": is in no whole warpgroup", THREAD_IS);
  while (groups.size() <= number) groups.push_back({new_engine(), {}, {}, {}});
  return groups[number];
}

// the accumulators of a warp's lanes: their products that are on their way, or what the registers hold
void take_registers(Warp &w, Warpgroup &group, Product &p, void *place) {
  const int part = thread() / LANES % (GROUP / LANES), first = g.now / LANES * LANES;
  Sums &s = *p.sums;
  const bool fresh = !s.known[part];
  s.known[part] = true;
  for (int l = 0; l < LANES; l++) {
    Fiber &f = g.fibers[first + l];
    Word *const words = g.words + (first + l) * (STACK / 4);
    if (f.fences == f.first) fail(place, THREAD ": products before any wgmma.fence", THREAD_IS);
    f.multiplies = true;
    for (int i = 0; i < s.count; i++) {
      float *const d = w.lanes[l].registers[i];
      const size_t word = ((char *)d - f.stack) / 4;
      if (g.watching && word < STACK / 4) {
        if (words[word].written == f.fences)
          fail(place, THREAD ": an accumulator that the thread has written since its last wgmma.fence", THREAD_IS);
        words[word].busy = f.base + group.groups[part] + 1, words[word].read = false;
      }
      const int t = part * LANES + l;
      if (fresh) s.d[t][i] = d, s.v[t][i] = *d;
      if (s.d[t][i] != d) fail(place, THREAD ": products on accumulators that others still write", THREAD_IS);
      memset(d, 0xff, 4);
    }
    for (int i = 0; i < 4 * p.what.held; i++) {
      const unsigned *const a = w.lanes[l].left[i];
      const size_t word = ((const char *)a - f.stack) / 4;
      if (g.watching && word < STACK / 4) {
        if (words[word].written == f.fences)
          fail(place, THREAD ": an operand that the thread has written since its last wgmma.fence", THREAD_IS);
        words[word].busy = f.base + group.groups[part] + 1, words[word].read = true;
      }
      p.left[part * LANES + l][i] = a;
    }
  }
}

// the accumulators of products on their way with which a warp's begin; nothing if there are none
std::shared_ptr<Sums> running(Warp &w, Warpgroup &group, int part) {
  for (size_t k = group.products.size(); k--;) {
    const std::shared_ptr<Sums> &s = group.products[k].sums;
    if (s && s->products && s->known[part] && s->d[part * LANES][0] == w.lanes[0].registers[0]) return s;
  }
  return nullptr;
}

// a warp issues a product
void issue(Warp &w, const Wgmma &what, void *place) {
  Warpgroup &group = warpgroup(place);
  if (what.negated) fail(place, THREAD ": a product of negated operands", THREAD_IS);
  const int part = thread() / LANES % (GROUP / LANES), number = group.issued[part]++;
  for (const Operands &l : w.lanes)
    if (memcmp(l.product, &what, sizeof what)) fail(place, THREAD ": the lanes of its warp name other operands", THREAD_IS);
  if (number == (int)group.products.size()) {
    std::shared_ptr<Sums> sums = running(w, group, part);
    if (sums && sums->count != what.n / 2) fail(place, THREAD ": products of several shapes on accumulators", THREAD_IS);
    if (!sums) sums = std::make_shared<Sums>(), sums->count = what.n / 2;
    sums->products++;
    group.products.push_back({what, 0, group.groups[part], false, sums, std::vector<unsigned>(g.width, ~0u), std::vector<unsigned>(g.width, 0u), {}});
  }
  Product &p = group.products[number];
  if (memcmp(&p.what, &what, sizeof what) || p.group != group.groups[part])
    fail(place, THREAD ": another product than that of other warps of its warpgroup", THREAD_IS);
  take_registers(w, group, p, place);
  for (int l = 0; l < LANES; l++) {
    const unsigned *known = clock_of(g.now / LANES * LANES + l);
    for (size_t k = 0; k < g.width; k++) p.clock[k] = p.clock[k] < known[k] ? p.clock[k] : known[k];
    if (what.held) merge(p.came.data(), known), tick(g.now / LANES * LANES + l);
  }
  p.warps |= 1 << part;
  if (p.warps != EVERY_WARP) return;
  const Epoch when = {group.engine, (unsigned)p.group + 1};
  if (!what.held) check_operand(p, false, when, place);
  check_operand(p, true, when, place);
  p.clock = {};
  const int at = g.now / g.threads, which = thread() / GROUP;
  if (g.arrival == EAGER)
    for (int k = ready(group, 0); k >= 0; k = ready(group, 0)) make_one(at, which, k);
  wake_all("products", which, at * g.threads, g.threads);
}

}  // namespace

extern "C" {

void gpu_wgmma(const Wgmma *what, float *const *registers, const unsigned *const *left) {
  Operands &mine = warp().lanes[lane()];
  mine.product = what, mine.registers = registers, mine.left = left;
  void *const place = HERE;
  together("wgmma", what->n, 0, place, [&](Warp &w) { issue(w, *what, place); });
}

void gpu_wgmma_fence() {
  together("wgmma.fence", 0, 0, HERE, [](Warp &) {
    for (int l = 0; l < LANES; l++) g.fibers[g.now / LANES * LANES + l].fences++;
  });
}

void gpu_wgmma_commit() {
  void *const place = HERE;
  together("wgmma.commit_group", 0, 0, place, [&](Warp &) {
    warpgroup(place).groups[thread() / LANES % (GROUP / LANES)]++;
  });
}

void gpu_wgmma_wait(int pending) {
  void *const place = HERE;
  together("wgmma.wait_group", pending, 0, place, [](Warp &) {});
  const int number = thread() / GROUP, over = warpgroup(place).groups[thread() / LANES % (GROUP / LANES)] - pending;
  for (bool missing = true; missing;) {
    missing = false;
    Warpgroup &w = block().groups[number];
    for (size_t k = 0; k < w.products.size(); k++)
      if (!w.products[k].done && w.products[k].group < over) {
        if (w.products[k].warps != EVERY_WARP) missing = true;
        else if (!missing) make_one(g.now / g.threads, number, k);
      }
    if (missing) wait("products", place, 0, number);
  }
  Fiber &f = fiber();
  if (over <= 0) return;
  const int engine = block().groups[number].engine;
  if (knows()[engine] < (unsigned)over) knows()[engine] = over;
  // a product of registers is over: so all four warps had come to issue it, and had loaded what is multiplied
  std::vector<Product> &made = block().groups[number].products;
  for (size_t k = made.size(); k-- && made[k].group >= over - 1;)
    if (made[k].what.held && made[k].group == over - 1) merge(knows(), made[k].came.data());
  if (f.products < f.base + over) f.products = f.base + over;
}
}

namespace {

// a thread ends
void check_end_of_products() {
  const size_t number = thread() / GROUP;
  if (number >= block().groups.size()) return;
  for (const Product &p : block().groups[number].products)
    if (knows()[block().groups[number].engine] <= (unsigned)p.group)
      fail(nullptr, THREAD " ends while products of its warpgroup may run", THREAD_IS);
}

}  // namespace
