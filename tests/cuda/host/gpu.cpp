// Thread blocks on the host: a fiber a thread, barriers, warp-wide instructions, asynchronous copies, and memory that is
// watched. Written from the PTX ISA and CUDA's programming guide; nothing in here comes from polyvolta.
//
// ORDER     Which thread goes on next is at random wherever one waits, and now and then before an access to shared
//           memory. Some seeds let one warp run ahead as far as it can, some go in turns.
// COPIES    The bytes of a copy arrive at once, as late as the waits allow, or at random; until then they are poisoned.
// WATCHING  A kernel's text is compiled with the hooks of -fsanitize=thread and alignment, which are defined here. Every
//           access is inside of an array; in shared memory it is ordered, by barriers, after those of other threads that
//           it must not meet; what it reads was written; what a copy brings is touched by nobody before the thread that
//           copies has waited for it.
// SUMS      An instruction's products are summed in double, which is exact unless they are more than 2^27 apart, and
//           rounded to fp32 once; then comes the accumulator.
#include "kernel.h"
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace {

constexpr int LANES = 32, THREADS = 1024, WARPS = THREADS / LANES;
constexpr size_t STACK = 1 << 17, PAGE = 1 << 12, SHARED = 228 << 10, ZONE = 1 << 12;
constexpr unsigned WINDOW = 1 << 10;  // the address of a block's shared memory in its window: not 0

enum Arrival { EAGER, LAZY, RANDOM };

struct Region {
  char *start;
  size_t bytes;
  unsigned char *allowed;  // of every two bytes: 1 may be read, 2 may be written, 4 was written
};

struct Copy {
  char *to;
  const char *from;
  unsigned size, source;
  int thread, group;
  bool arrived;
};

// When something happened in a block, as far as barriers tell: those of the block, those of the thread's warp.
struct When { int block, warp, thread; };

// Two bytes of shared memory.
struct Unit {
  When written;
  When read;       // the last one; its thread is MANY if several threads of the warp read after that barrier
  bool elsewhere;  // read in another warp, too, since the block's barrier
  bool copying;
};
constexpr int MANY = -1, NEVER = -1;

struct Fiber {
  ucontext_t start;
  jmp_buf at;
  char *stack;
  bool begun, done, waiting;
  const char *what;  // it waits for
  void *place;       // and where
  int line;
  int groups;  // that it has committed
};

struct Operands { int kind; bool transposed; float *d; const unsigned *a, *b; const float *c; unsigned *out, address; };

struct Warp {
  unsigned runnable;
  int arrived, barriers;
  const char *what;
  int line, kind;
  Operands lanes[LANES];
};

struct Gpu {
  Fiber fibers[THREADS];
  Warp warps[WARPS];
  std::vector<Region> regions;
  std::vector<Copy> copies;
  std::vector<Unit> units = std::vector<Unit>(SHARED / 2);
  char *memory = nullptr;
  jmp_buf main;
  void (*call)(void **) = nullptr;
  void **arguments = nullptr;
  int threads = 0, now = 0, arrived = 0, line = 0, barriers = 0, first = 0, running = 0, strategy = 0, last = 0;
  size_t shared = 0;
  unsigned priority[WARPS];
  Arrival arrival = EAGER;
  bool watching = true;
  unsigned long long random = 1;
  unsigned long long switches = 0, accesses = 0, products = 0;
  char message[2000];
  void *place = nullptr;
} g;

float half_values[1 << 16];

unsigned draw() {  // xorshift64*
  g.random ^= g.random >> 12, g.random ^= g.random << 25, g.random ^= g.random >> 27;
  return (g.random * 2685821657736338717ull) >> 32;
}
unsigned draw(unsigned n) { return (unsigned long long)draw() * n >> 32; }

int lane() { return g.now % LANES; }
Warp &warp() { return g.warps[g.now / LANES]; }

[[noreturn]] void fail(void *place, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(g.message, sizeof g.message, format, list);
  va_end(list);
  g.place = place;
  _longjmp(g.main, 2);
}

}  // namespace

extern "C" {
Names gpu;
}

namespace {

#define HERE __builtin_return_address(0)
#define THREAD "block (%u, %u, %u) thread %d"
#define THREAD_IS gpu.block.x, gpu.block.y, gpu.block.z, g.now

// ---- fibers

void entry() {
  g.call(g.arguments);
  g.fibers[g.now].done = true;
  g.running--;
  warp().runnable &= ~(1u << lane());
  _longjmp(g.main, 1);
}

void yield() {
  if (!_setjmp(g.fibers[g.now].at)) _longjmp(g.main, 1);
}

void wait(const char *what, void *place, int line = 0) {
  Fiber &f = g.fibers[g.now];
  f.waiting = true, f.what = what, f.place = place, f.line = line;
  warp().runnable &= ~(1u << lane());
  yield();
}

void wake(int w) {
  g.warps[w].runnable = ~0u;
  for (int t = 0; t < LANES; t++) g.fibers[w * LANES + t].waiting = false;
}

// ---- asynchronous copies

void arrive(Copy &c) {
  if (c.arrived) return;
  memcpy(c.to, c.from, c.source);
  memset(c.to + c.source, 0, c.size - c.source);
  c.arrived = true;
}

void maybe_arrive() {
  if (g.copies.empty() || draw(4)) return;
  arrive(g.copies[draw(g.copies.size())]);
}

// ---- who goes on

int pick_warp() {
  unsigned ready[WARPS];
  int n = 0, best = -1;
  for (int w = 0; w < g.threads / LANES; w++)
    if (g.warps[w].runnable) ready[n++] = w;
  if (!n) return -1;
  switch (g.strategy) {
    case 0: return ready[draw(n)];
    case 1: return g.warps[g.last].runnable ? g.last : ready[draw(n)];
    case 2:
      for (int k = 0; k < n; k++)
        if (best < 0 || g.priority[ready[k]] > g.priority[best]) best = ready[k];
      return best;
    default:
      for (int k = 0; k < n; k++)
        if ((int)ready[k] > g.last) return ready[k];
      return ready[0];
  }
}

int pick_lane(unsigned ready) {
  for (int skip = draw(__builtin_popcount(ready)); skip; skip--) ready &= ready - 1;
  return __builtin_ctz(ready);
}

void resume(int thread) {
  Fiber &f = g.fibers[thread];
  g.now = thread;
  gpu.thread = {(unsigned)thread, 0, 0};
  g.switches++;
  if (f.begun) _longjmp(f.at, 1);
  f.begun = true;
  getcontext(&f.start);
  f.start.uc_stack.ss_sp = f.stack;
  f.start.uc_stack.ss_size = STACK - PAGE;
  f.start.uc_link = nullptr;
  makecontext(&f.start, entry, 0);
  setcontext(&f.start);
}

// what the threads that can't go on wait for: the first one of each place
void stuck() {
  char text[1500];
  int used = 0, done = 0;
  void *place = nullptr;
  for (int t = 0; t < g.threads; t++) {
    Fiber &f = g.fibers[t];
    done += f.done;
    bool shown = f.done;
    for (int u = 0; u < t && !shown; u++)
      shown = !g.fibers[u].done && g.fibers[u].what == f.what && g.fibers[u].line == f.line;
    if (shown || used > 1200) continue;
    int count = 0;
    for (int u = t; u < g.threads; u++)
      count += !g.fibers[u].done && g.fibers[u].what == f.what && g.fibers[u].line == f.line;
    used += snprintf(text + used, sizeof text - used, "; %d from thread %d on at %s", count, t, f.what);
    if (f.line) used += snprintf(text + used, sizeof text - used, " of line %d", f.line);
    place = place ? place : f.place;
  }
  fail(place, "deadlock in block (%u, %u, %u): %d threads have ended%s", gpu.block.x, gpu.block.y, gpu.block.z, done,
       text);
}

void run_block() {
  const int warps = g.threads / LANES;
  g.first = ++g.barriers;
  g.arrived = 0, g.running = g.threads, g.last = 0;
  g.copies.clear();
  memset(gpu.shared - ZONE, 0xff, g.shared + 2 * ZONE);
  for (int t = 0; t < g.threads; t++)
    g.fibers[t].begun = g.fibers[t].done = g.fibers[t].waiting = false, g.fibers[t].groups = 0;
  for (int w = 0; w < warps; w++)
    g.warps[w].arrived = g.warps[w].barriers = 0, g.warps[w].runnable = ~0u, g.priority[w] = draw();
  if (_setjmp(g.main) == 2) return;
  while (g.running) {
    if (g.arrival == RANDOM) maybe_arrive();
    const int w = pick_warp();
    if (w < 0) stuck();
    g.last = w;
    resume(w * LANES + pick_lane(g.warps[w].runnable));
  }
  for (long k = 0; k < (long)ZONE; k++)
    if ((unsigned char)gpu.shared[-1 - k] != 0xff || (unsigned char)gpu.shared[g.shared + k] != 0xff)
      fail(nullptr, "block (%u, %u, %u) wrote outside of its shared memory", gpu.block.x, gpu.block.y, gpu.block.z);
}

// ---- watching

// whether what happened in a warp is before what the running thread does, by barriers
bool ordered(const When &then, int of_warp) {
  if (then.block < g.barriers || then.thread == g.now) return true;
  return of_warp == g.now / LANES && then.warp < warp().barriers;
}

void touch_shared(size_t at, size_t bytes, bool writes, void *place) {
  const int mine = g.now / LANES;
  for (size_t u = at / 2; u < (at + bytes + 1) / 2; u++) {
    Unit &x = g.units[u];
    const char *what = writes ? "written" : "read";
    if (x.copying && x.written.block >= g.first)
      fail(place, THREAD ": shared memory at byte %zu is %s while thread %d copies it", THREAD_IS, 2 * u, what,
           x.written.thread);
    const bool known = x.written.block >= g.first;
    if (!writes && !known)
      fail(place, THREAD ": shared memory at byte %zu is read before it was written", THREAD_IS, 2 * u);
    if (known && !ordered(x.written, x.written.thread / LANES))
      fail(place, THREAD ": shared memory at byte %zu is %s, no barrier after thread %d wrote it", THREAD_IS, 2 * u,
           what, x.written.thread);
    const When now = {g.barriers, warp().barriers, g.now};
    const bool read = x.read.block == g.barriers;  // since the block's last barrier
    if (writes) {
      const int other = x.read.warp >> 16, barriers = x.read.warp & 0xffff;
      const bool fine = !read || (!x.elsewhere && (x.read.thread == g.now ||
                                                   (other == mine && barriers < (warp().barriers & 0xffff))));
      if (!fine)
        fail(place, THREAD ": shared memory at byte %zu is written, no barrier after %s %d read it", THREAD_IS, 2 * u,
             x.read.thread == MANY ? "warp" : "thread", x.read.thread == MANY ? other : x.read.thread);
      x.written = now, x.copying = false;
      continue;
    }
    const int stamp = mine << 16 | (warp().barriers & 0xffff);
    if (!read)
      x.read = {g.barriers, stamp, g.now}, x.elsewhere = false;
    else if (x.read.warp >> 16 != mine)
      x.elsewhere = true, x.read = {g.barriers, stamp, MANY};
    else if (x.read.warp != stamp)
      x.read = {g.barriers, stamp, g.now};
    else if (x.read.thread != g.now)
      x.read.thread = MANY;
  }
}

void touch_global(Region &r, size_t at, size_t bytes, bool writes, void *place) {
  const int number = &r - g.regions.data();
  for (size_t u = at / 2; u < (at + bytes + 1) / 2; u++) {
    if (!(r.allowed[u] & (writes ? 2 : 1)))
      fail(place, THREAD ": argument %d is %s at byte %zu, outside of what is its own", THREAD_IS, number,
           writes ? "written" : "read", 2 * u);
    if (writes && r.allowed[u] & 4) fail(place, THREAD ": argument %d is written twice at byte %zu", THREAD_IS, number, 2 * u);
    if (writes) r.allowed[u] |= 4;
  }
}

void touch(const void *pointer, size_t bytes, bool writes, void *place) {
  char *const p = (char *)pointer;
  if (!g.watching) return;
  Fiber &f = g.fibers[g.now];
  if ((size_t)(p - f.stack) < STACK || (size_t)(p - (char *)&gpu) < sizeof gpu) return;
  g.accesses++;
  if ((size_t)(p - gpu.shared) < g.shared && (size_t)(p - gpu.shared) + bytes <= g.shared) {
    if (!draw(64)) yield();
    return touch_shared(p - gpu.shared, bytes, writes, place);
  }
  for (Region &r : g.regions)
    if ((size_t)(p - r.start) < r.bytes && (size_t)(p - r.start) + bytes <= r.bytes)
      return touch_global(r, p - r.start, bytes, writes, place);
  const long off = p - gpu.shared;
  if (off >= -(long)SHARED && off < (long)(2 * SHARED))
    fail(place, THREAD ": shared memory is %s at byte %ld of %zu", THREAD_IS, writes ? "written" : "read", off, g.shared);
  fail(place, THREAD ": memory outside of all arrays is %s", THREAD_IS, writes ? "written" : "read");
}

// ---- warps

void compute(Warp &w);

// all lanes of the warp come here; the last one does what is done
void together(const char *what, int kind, int line, void *place) {
  Warp &w = warp();
  if (w.arrived && (w.what != what || w.line != line || w.kind != kind))
    fail(place, THREAD ": at %s %d, where other lanes of its warp are at %s %d", THREAD_IS, what, line ? line : kind,
         w.what, w.line ? w.line : w.kind);
  w.what = what, w.line = line, w.kind = kind;
  if (++w.arrived < LANES) return wait(what, place, line);
  w.arrived = 0;
  if (line)
    w.barriers++;
  else
    compute(w);
  wake(g.now / LANES);
  yield();
}

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
void load_matrices(Warp &w, int count, bool transposed) {
  for (int j = 0; j < count; j++) {
    b16 rows[8][8];
    for (int r = 0; r < 8; r++) memcpy(rows[r], gpu.shared + (w.lanes[8 * j + r].address - WINDOW), 16);
    for (int l = 0; l < LANES; l++) {
      const int row = l / 4, col = l % 4 * 2;
      const b16 low = transposed ? rows[col][row] : rows[row][col];
      const b16 high = transposed ? rows[col + 1][row] : rows[row][col + 1];
      w.lanes[l].out[j] = low | (unsigned)high << 16;
    }
  }
}

void compute(Warp &w) {
  const int kind = w.lanes[0].kind;
  if (w.lanes[0].out) return load_matrices(w, kind, w.lanes[0].transposed);
  g.products++;
  if (kind <= M8N8K4_COL_COL) return multiply_quads(w, kind);
  multiply_whole(w, kind <= M16N8K8_BF16 ? 8 : 16, kind == M16N8K8_BF16 || kind == M16N8K16_BF16);
}

}  // namespace

// ---- what a text calls

extern "C" {

void gpu_mma(Mma kind, float *d, const unsigned *a, const unsigned *b, const float *c) {
  warp().lanes[lane()] = {kind, false, d, a, b, c, nullptr, 0};
  together("mma", kind, 0, HERE);
}

void gpu_ldmatrix(int count, bool transposed, unsigned *d, unsigned address) {
  const size_t at = address - WINDOW;
  if (address % 16) fail(HERE, THREAD ": ldmatrix from %u, no multiple of 16", THREAD_IS, address);
  if (address < WINDOW || at + 16 > g.shared)
    fail(HERE, THREAD ": ldmatrix outside of shared memory, at byte %ld", THREAD_IS, (long)address - WINDOW);
  if (lane() < 8 * count) touch(gpu.shared + at, 16, false, HERE);
  warp().lanes[lane()] = {count, transposed, nullptr, nullptr, nullptr, nullptr, d, address};
  together(transposed ? "ldmatrix.trans" : "ldmatrix", count, 0, HERE);
}

void gpu_barrier(int line) {
  if (g.arrived && g.line != line)
    fail(HERE, THREAD ": at the barrier of line %d, where others are at that of line %d", THREAD_IS, line, g.line);
  g.line = line;
  if (++g.arrived < g.threads) return wait("a barrier", HERE, line);
  g.arrived = 0, g.barriers++;
  for (int w = 0; w < g.threads / LANES; w++) wake(w);
  yield();
}

void gpu_warp_barrier(int line) { together("a warp's barrier", 0, line, HERE); }

size_t gpu_shared_address(const void *pointer) {
  const long at = (const char *)pointer - gpu.shared;
  if (at < 0 || at > (long)g.shared) fail(HERE, THREAD ": an address that is not in shared memory", THREAD_IS);
  return at + WINDOW;
}

void gpu_copy(unsigned shared, const char *global, unsigned size, unsigned source, unsigned least) {
  const size_t at = shared - WINDOW;
  if ((size != 4 && size != 8 && size != 16) || size < least || source > size)
    fail(HERE, THREAD ": cp.async of %u bytes, %u of them from memory", THREAD_IS, size, source);
  if (shared % size || (size_t)global % size)
    fail(HERE, THREAD ": cp.async of %u bytes to or from no multiple of that", THREAD_IS, size);
  if (shared < WINDOW || at + size > g.shared)
    fail(HERE, THREAD ": cp.async outside of shared memory, to byte %ld", THREAD_IS, (long)shared - WINDOW);
  if (source) touch(global, source, false, HERE);
  touch(gpu.shared + at, size, true, HERE);
  for (size_t u = at / 2; u < (at + size) / 2; u++) g.units[u].copying = g.watching;
  memset(gpu.shared + at, 0xff, size);
  g.copies.push_back({gpu.shared + at, global, size, source, g.now, g.fibers[g.now].groups, false});
  if (g.arrival == EAGER) arrive(g.copies.back());
}

void gpu_commit() { g.fibers[g.now].groups++; }

void gpu_wait(int pending) {
  const int groups = g.fibers[g.now].groups;
  size_t kept = 0;
  for (Copy &c : g.copies) {
    if (c.thread != g.now || (pending >= 0 && c.group >= groups - pending)) {
      g.copies[kept++] = c;
      continue;
    }
    arrive(c);
    for (size_t u = (c.to - gpu.shared) / 2, end = u + c.size / 2; u < end; u++) {
      g.units[u].copying = false;
      g.units[u].written = {g.barriers, warp().barriers, g.now};
    }
  }
  g.copies.resize(kept);
}

// Runs a grid; 0, or 1 with a message and the place of what is wrong.
//   regions    start, bytes and what is allowed of each array, an address each
//   settings   threads, bytes of shared memory, seed, arrival, strategy, whether it watches
//   counts     what it took: switches, watched accesses, mma instructions
int gpu_launch(void (*call)(void **), void **arguments, const unsigned *grid, void **regions, int count,
               const long long *settings, char *message, void **place, unsigned long long *counts) {
  static bool ready = false;
  if (!ready) {
    for (unsigned h = 0; h < 1 << 16; h++) half_values[h] = from_half(h);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *stacks = (char *)mmap(nullptr, THREADS * STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
    g.memory = (char *)mmap(nullptr, SHARED + 2 * ZONE, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stacks == MAP_FAILED || g.memory == MAP_FAILED) return snprintf(message, 99, "no memory for stacks"), 1;
    for (int t = 0; t < THREADS; t++) {
      mprotect(stacks + t * STACK, PAGE, PROT_NONE);
      g.fibers[t].stack = stacks + t * STACK + PAGE;
    }
    ready = true;
  }
  gpu.shared = g.memory + ZONE;
  g.call = call, g.arguments = arguments;
  g.threads = settings[0], g.shared = settings[1], g.arrival = (Arrival)settings[3], g.strategy = settings[4];
  g.watching = settings[5];
  g.random = settings[2] * 0x9e3779b97f4a7c15ull | 1;
  for (int k = 0; k < 8; k++) draw();
  if (g.threads % LANES || g.threads > THREADS || g.shared > SHARED)
    return snprintf(message, 99, "%d threads, %zu bytes of shared memory", g.threads, g.shared), 1;
  g.regions.clear();
  for (int k = 0; k < count; k++)
    g.regions.push_back({(char *)regions[3 * k], (size_t)regions[3 * k + 1], (unsigned char *)regions[3 * k + 2]});
  gpu.block_size = {(unsigned)g.threads, 1, 1};
  gpu.grid = {grid[0], grid[1], grid[2]};
  g.message[0] = 0, g.place = nullptr, g.switches = g.accesses = g.products = 0;
  std::vector<unsigned> order(grid[0] * grid[1] * grid[2]);
  for (unsigned k = 0; k < order.size(); k++) {
    const unsigned other = draw(k + 1);
    order[k] = order[other], order[other] = k;
  }
  for (unsigned b : order) {
    gpu.block = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
    run_block();
    if (g.message[0]) break;
  }
  counts[0] = g.switches, counts[1] = g.accesses, counts[2] = g.products;
  snprintf(message, sizeof g.message, "%s", g.message);
  *place = g.place;
  return g.message[0] != 0;
}

// ---- the hooks of -fsanitize=thread

#define HOOK(bytes)                                                                  \
  void __tsan_read##bytes(void *p) { touch(p, bytes, false, HERE); }                 \
  void __tsan_write##bytes(void *p) { touch(p, bytes, true, HERE); }                 \
  void __tsan_unaligned_read##bytes(void *p) { touch(p, bytes, false, HERE); }       \
  void __tsan_unaligned_write##bytes(void *p) { touch(p, bytes, true, HERE); }
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
void __tsan_read_range(void *p, size_t bytes) { touch(p, bytes, false, HERE); }
void __tsan_write_range(void *p, size_t bytes) { touch(p, bytes, true, HERE); }
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}

// ---- and of -fsanitize=alignment, bounds

void __ubsan_handle_type_mismatch_v1(void *, void *p) {
  fail(HERE, THREAD ": an access to %p, which is not aligned as its type is", THREAD_IS, p);
}
void __ubsan_handle_out_of_bounds(void *, void *at) {
  fail(HERE, THREAD ": index %ld is outside of its array", THREAD_IS, (long)at);
}
}
