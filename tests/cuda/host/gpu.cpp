// Thread blocks on the host: a fiber a thread, barriers, warp-wide instructions, asynchronous copies, and memory that is
// watched. Written from the PTX ISA and CUDA's programming guide; nothing in here comes from polyvolta.
//
// ORDER     Which thread goes on next is at random wherever one waits, and now and then before an access to shared
//           memory. Some seeds let one warp run ahead as far as it can, some go in turns.
// COPIES    The bytes of a copy, and of a box, arrive at once, as late as the waits allow, or at random, and so do
//           products in their accumulators; until then these are poisoned. Where all threads wait, something arrives.
// WATCHING  A kernel's text is compiled with the hooks of -fsanitize=thread and alignment, which are defined here; what
//           an access may be is in `watch.h`.
// CLUSTERS  The blocks of a cluster run together, with a shared memory each; other blocks one after the other.
#include "gpu/state.h"
#include "gpu/watch.h"
#include "gpu/warps.h"
#include "gpu/copies.h"
#include "gpu/phases.h"
#include "gpu/boxes.h"
#include "gpu/products.h"
#include "gpu/clusters.h"

extern "C" {
Names gpu;
}

namespace {

void entry() {
  g.call(g.arguments);
  check_end_of_boxes();
  check_end_of_products();
  fiber().done = true;
  g.running--;
  complete_cluster();
  warp().runnable &= ~(1u << lane());
  _longjmp(g.main, 1);
}

// ---- what arrives by itself

void maybe_arrive() {
  const Some product = some_product();
  const size_t copies = g.copies.size(), boxes = g.boxes.size(), all = copies + boxes + (product.block >= 0);
  if (!all || draw(4)) return;
  const size_t which = draw(all);
  if (which < copies) return arrive(g.copies[which]);
  if (which == copies + boxes) return make_one(product.block, product.group, product.product);
  move(which - copies, 1 + draw(g.boxes[which - copies].left.size()));
}

// nobody can go on: something arrives for which somebody may wait; whether there was something
bool must_arrive() {
  const Some product = some_product();
  const int box = some_load();
  if (product.block >= 0 && (box < 0 || draw(2))) return make_one(product.block, product.group, product.product), true;
  if (box < 0) return false;
  move(box, g.arrival == RANDOM ? 1 + draw(g.boxes[box].left.size()) : ~0ull);
  return true;
}

// ---- who goes on

int pick_warp() {
  unsigned ready[WARPS];
  int n = 0, best = -1;
  for (int w = 0; w < all_threads() / LANES; w++)
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

void resume(int number) {
  Fiber &f = g.fibers[number];
  g.now = number;
  gpu.thread = {(unsigned)thread(), 0, 0};
  gpu.block = block().place, gpu.shared = block().shared;
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

// what a thread waits for, in words
int told(char *text, size_t room, const Fiber &f) {
  if (!strcmp(f.what, "a phase")) {
    const Phases &p = g.phases[f.on];
    return snprintf(text, room, "phase %u of the barrier at byte %zu, which misses %u of %u arrivals, %ld bytes", p.phase,
                    p.at, p.missing, p.count, p.bytes);
  }
  if (f.line) return snprintf(text, room, "%s of line %d", f.what, f.line);
  return f.on ? snprintf(text, room, "%s %d", f.what, f.on) : snprintf(text, room, "%s", f.what);
}

// what the threads that can't go on wait for: the first one of each place
void stuck() {
  char text[1500] = "";
  int used = 0, done = 0;
  void *place = nullptr;
  auto like = [](const Fiber &x, const Fiber &y) {
    return !x.done && x.what == y.what && x.line == y.line && x.on == y.on;
  };
  for (int t = 0; t < all_threads(); t++) {
    Fiber &f = g.fibers[t];
    done += f.done;
    bool shown = f.done;
    for (int u = 0; u < t && !shown; u++) shown = like(g.fibers[u], f);
    if (shown || used > 1200) continue;
    int count = 0;
    for (int u = t; u < all_threads(); u++) count += like(g.fibers[u], f);
    used += snprintf(text + used, sizeof text - used, "; %d from thread %d on at ", count, t % g.threads);
    used += told(text + used, sizeof text - used, f);
    place = place ? place : f.place;
  }
  fail(place, "deadlock in block (%u, %u, %u): %d threads have ended%s", gpu.block.x, gpu.block.y, gpu.block.z, done,
       text);
}

void begin_thread(int t) {
  Fiber &f = g.fibers[t];
  f.begun = f.done = f.waiting = f.multiplies = f.awaited = f.reached = false;
  f.groups = f.stores = f.last = 0, f.engine = -1, f.on = 0;
  f.first = f.fences += 2;
  f.base = f.products = g.base;
  clock_of(t)[t] = 1;
}

void begin_block(Block &b) {
  unsigned most = 0;
  for (const Warpgroup &w : b.groups)
    for (int n : w.groups) most = most < (unsigned)n ? n : most;
  g.base += most + 1;
  b.groups.clear();
  b.arrived = 0;
  b.shared = g.memory + (&b - g.blocks) * ROOM + ZONE;
  memset(b.shared - ZONE, 0xff, g.shared + 2 * ZONE);
  for (size_t u = 0; u < (g.shared + 1) / 2; u++) b.units[u].known = false, b.units[u].state = PLAIN, b.units[u].reads.clear();
  std::fill(b.phases.begin(), b.phases.end(), -1);
  for (Numbered &n : b.numbered) n.there.clear();
}

// the blocks of a cluster; their places are known
void run_blocks() {
  g.running = all_threads(), g.last = 0, g.engines = 0, g.elected = draw(LANES);
  g.width = 3 * all_threads() + ENGINES;
  g.clocks.assign(g.width * all_threads(), 0);
  g.copies.clear(), g.boxes.clear(), g.phases.clear();
  for (int b = 0; b < g.count; b++) begin_block(g.blocks[b]);
  for (int t = 0; t < all_threads(); t++) begin_thread(t);
  for (int w = 0; w < all_threads() / LANES; w++)
    g.warps[w].arrived = 0, g.warps[w].runnable = ~0u, g.priority[w] = draw();
  begin_cluster();
  if (_setjmp(g.main) == 2) return;
  while (g.running) {
    if (g.arrival == RANDOM) maybe_arrive();
    const int w = pick_warp();
    if (w < 0) {
      if (!must_arrive()) stuck();
      continue;
    }
    g.last = w;
    resume(w * LANES + pick_lane(g.warps[w].runnable));
  }
  for (const Box &x : g.boxes)
    fail(nullptr, "block (%u, %u, %u) ends while a box comes to byte %zu", g.blocks[x.block].place.x,
         g.blocks[x.block].place.y, g.blocks[x.block].place.z, x.at);
  check_reached();
  for (int b = 0; b < g.count; b++)
    for (long k = 0; k < (long)ZONE; k++)
      if ((unsigned char)g.blocks[b].shared[-1 - k] != 0xff || (unsigned char)g.blocks[b].shared[g.shared + k] != 0xff)
        fail(nullptr, "block (%u, %u, %u) wrote outside of its shared memory", gpu.block.x, gpu.block.y, gpu.block.z);
}

}  // namespace

extern "C" {

size_t gpu_shared_address(const void *pointer) {
  const long at = (const char *)pointer - block().shared;
  if (at < 0 || at > (long)g.shared) fail(HERE, THREAD ": an address that is not in shared memory", THREAD_IS);
  return at + WINDOW;
}

// Runs a grid; 0, or 1 with a message and the place of what is wrong.
//   regions    start, bytes and what is allowed of each array, an address each
//   settings   threads, bytes of shared memory, seed, arrival, strategy, whether it watches, a cluster's blocks in x, y, z
//   counts     what it took: switches, watched accesses, mma and wgmma instructions, boxes
int gpu_launch(void (*call)(void **), void **arguments, const unsigned *grid, void **regions, int count,
               const long long *settings, char *message, void **place, unsigned long long *counts) {
  static bool ready = false;
  if (!ready) {
    for (unsigned h = 0; h < 1 << 16; h++) half_values[h] = from_half(h);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *stacks = (char *)mmap(nullptr, FIBERS * STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
    g.memory = (char *)mmap(nullptr, CLUSTER * ROOM, PROT_READ | PROT_WRITE, flags, -1, 0);
    g.words = (Word *)mmap(nullptr, FIBERS * (STACK / 4) * sizeof(Word), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (stacks == MAP_FAILED || g.memory == MAP_FAILED || g.words == MAP_FAILED)
      return snprintf(message, 99, "no memory for stacks"), 1;
    for (int t = 0; t < FIBERS; t++) {
      mprotect(stacks + t * STACK, PAGE, PROT_NONE);
      g.fibers[t].stack = stacks + t * STACK + PAGE;
    }
    ready = true;
  }
  g.call = call, g.arguments = arguments;
  g.threads = settings[0], g.shared = settings[1], g.arrival = (Arrival)settings[3], g.strategy = settings[4];
  g.watching = settings[5];
  const unsigned cluster[3] = {(unsigned)settings[6], (unsigned)settings[7], (unsigned)settings[8]};
  g.count = cluster[0] * cluster[1] * cluster[2];
  g.random = settings[2] * 0x9e3779b97f4a7c15ull | 1;
  for (int k = 0; k < 8; k++) draw();
  if (g.threads % LANES || g.threads > 1024 || g.shared > SHARED || g.count < 1 || g.count > CLUSTER ||
      all_threads() > FIBERS)
    return snprintf(message, 99, "%d threads, %zu bytes of shared memory, %d blocks", g.threads, g.shared, g.count), 1;
  g.regions.clear();
  for (int k = 0; k < count; k++)
    g.regions.push_back({(char *)regions[3 * k], (size_t)regions[3 * k + 1], (unsigned char *)regions[3 * k + 2]});
  gpu.block_size = {(unsigned)g.threads, 1, 1};
  gpu.grid = {grid[0], grid[1], grid[2]};
  g.message[0] = 0, g.place = nullptr, g.switches = g.accesses = g.products = g.moved = 0;
  unsigned clusters[3];
  for (int k = 0; k < 3; k++) {
    if (grid[k] % cluster[k]) return snprintf(message, 99, "a grid that is no number of whole clusters"), 1;
    clusters[k] = grid[k] / cluster[k];
  }
  std::vector<unsigned> order(clusters[0] * clusters[1] * clusters[2]);
  for (unsigned k = 0; k < order.size(); k++) {
    const unsigned other = draw(k + 1);
    order[k] = order[other], order[other] = k;
  }
  for (unsigned c : order) {
    const unsigned at[3] = {c % clusters[0], c / clusters[0] % clusters[1], c / clusters[0] / clusters[1]};
    for (unsigned b = 0; b < (unsigned)g.count; b++)
      g.blocks[b].place = {at[0] * cluster[0] + b % cluster[0], at[1] * cluster[1] + b / cluster[0] % cluster[1],
                           at[2] * cluster[2] + b / cluster[0] / cluster[1]};
    run_blocks();
    if (g.message[0]) break;
  }
  counts[0] = g.switches, counts[1] = g.accesses, counts[2] = g.products, counts[3] = g.moved;
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
