// What a group of thread blocks that run together is: fibers, warps, blocks, clocks. One group runs at a time.
//
// CLOCKS    Each fiber has a vector clock: of every other thread, and of every engine, how much of what it did is
//           before what comes. A thread's own time counts its releases: barriers, arrivals. An engine's is the number of
//           phases, or of groups, that somebody has waited for. Further parts have each thread's proxy fences, and
//           what it has fenced of the barriers that it began.
#include "../kernel.h"
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace {

constexpr int LANES = 32, GROUP = 128, FIBERS = 4096, WARPS = FIBERS / LANES, ENGINES = 512, CLUSTER = 16;
constexpr size_t STACK = 1 << 17, PAGE = 1 << 12, SHARED = 228 << 10, ZONE = 1 << 12, ROOM = SHARED + 2 * ZONE;
constexpr unsigned WINDOW = 1 << 10;   // the address of a block's shared memory in its window: not 0
constexpr unsigned RANK = 1 << 24;     // addresses of the cluster's windows, block r's from (r + 1) RANK on

enum Arrival { EAGER, LAZY, RANDOM };

struct Region {
  char *start;
  size_t bytes;
  unsigned char *allowed;  // of every two bytes: 1 may be read, 2 may be written, 4 was written
};

// When something happened: a component of the clocks, and its time.
struct Epoch { int who; unsigned when; };

enum State : unsigned char { PLAIN, COPYING, BOXED, BARRIER };

// Two bytes of shared memory.
struct Unit {
  Epoch written;
  State state;
  bool known;    // whether it was written
  bool generic;  // by a thread, not by an engine
  std::vector<Epoch> reads;  // since then, but for those that others of them come after
};

struct Copy {  // cp.async
  char *to;
  const char *from;
  unsigned size, source;
  int thread, group;
  bool arrived;
};

// What `cuTensorMapEncodeTiled` is told; as `launch.py` writes it, in the place of what the driver makes of it.
struct Map {
  unsigned long long magic;
  char *start;
  unsigned long long run, lines, stride;  // values of a line, lines, bytes
  unsigned box_run, box_lines, swizzle, zero;
};
constexpr unsigned long long MAGIC = 0x70616d2d74736f68;  // "host-map"

struct Box {  // cp.async.bulk.tensor
  Map map;
  long line, run;
  int block;
  size_t at;               // in the block's shared memory
  int thread, group;       // stores: of the thread's groups
  int phases;              // loads: the barrier, of the same block
  std::vector<int> left;   // lines that are still on their way
  bool stores() const { return phases < 0; }
};

struct Phases {  // mbarrier
  int block;
  size_t at;
  int engine;
  unsigned count, missing, phase;
  long bytes;
  bool fenced;
  Epoch begun;
  std::vector<unsigned> done, coming;  // clocks of those who arrived, in phases that are complete, and in this one
  std::vector<Epoch> reached;          // arrivals of other blocks' threads
};

struct Numbered {  // bar.sync
  int threads;
  std::vector<int> there;
};

struct Sums {  // the accumulators of products that are on their way, one on the other
  float *d[GROUP][GROUP];
  float v[GROUP][GROUP];
  int count, products;
  bool known[GROUP / LANES];
};

struct Product {  // wgmma.mma_async
  Wgmma what;
  int warps;  // that have issued it
  int group;
  bool done;
  std::shared_ptr<Sums> sums;
  std::vector<unsigned> clock;  // what all of the threads know
  std::vector<unsigned> came;   // what any of them knew when it issued one with A in registers
  const unsigned *left[GROUP][4];  // of an operand A in registers each thread's
};

struct Warpgroup {
  int engine;
  int issued[GROUP / LANES], groups[GROUP / LANES];
  std::vector<Product> products;
};

struct Fiber {
  ucontext_t start;
  jmp_buf at;
  char *stack;
  bool begun, done, waiting;
  const char *what;  // it waits for
  void *place;       // and where
  int line, on;      // of the text; which one
  int groups;        // of copies that it has committed
  int stores, last, engine;  // groups of stored boxes: committed, with boxes in them; their component of the clocks
  unsigned first, fences;       // of registers: the block's first, now
  unsigned base, products;       // of products: where groups count from; groups waited for
  bool multiplies;
  bool awaited, reached;  // grids before are over; global memory was reached without knowing so
};

// Four bytes of a thread's stack: when they were written last, in fences; which group of products may write them, or
// read them.
struct Word { unsigned written, busy; bool read; };

struct Operands {
  int kind;
  bool transposed;
  float *d;
  const unsigned *a, *b;
  const float *c;
  unsigned *out, address;
  const unsigned *in;
  const Wgmma *product;
  float *const *registers;
  const unsigned *const *left;
};

struct Warp {
  unsigned runnable;
  int arrived;
  const char *what;
  int line, kind;
  Operands lanes[LANES];
};

struct Block {
  Place place;
  char *shared;
  int arrived, line;
  std::vector<Unit> units = std::vector<Unit>(SHARED / 2);
  std::vector<int> phases = std::vector<int>(SHARED / 8);  // of 8 bytes: which barrier, or none, -1
  Numbered numbered[16];
  std::vector<Warpgroup> groups;
};

struct Gpu {
  Fiber fibers[FIBERS];
  Warp warps[WARPS];
  Block blocks[CLUSTER];
  std::vector<Region> regions;
  std::vector<Copy> copies;
  std::vector<Box> boxes;
  std::vector<Phases> phases;
  std::vector<unsigned> clocks;
  Word *words = nullptr;
  char *memory = nullptr;
  jmp_buf main;
  void (*call)(void **) = nullptr;
  void **arguments = nullptr;
  int threads = 0, count = 1, now = 0, running = 0, strategy = 0, last = 0, engines = 0, elected = 0;
  unsigned base = 0;  // groups of products of all blocks before
  size_t shared = 0, width = 0;
  unsigned priority[WARPS];
  Arrival arrival = EAGER;
  bool watching = true;
  unsigned long long random = 1;
  unsigned long long switches = 0, accesses = 0, products = 0, moved = 0;
  char message[2000];
  void *place = nullptr;
} g;

float half_values[1 << 16];

unsigned draw() {  // xorshift64*
  g.random ^= g.random >> 12, g.random ^= g.random << 25, g.random ^= g.random >> 27;
  return (g.random * 2685821657736338717ull) >> 32;
}
unsigned draw(unsigned n) { return (unsigned long long)draw() * n >> 32; }

// the running thread: its fiber, block, number there, warp, lane, clock
Fiber &fiber() { return g.fibers[g.now]; }
Block &block() { return g.blocks[g.now / g.threads]; }
int thread() { return g.now % g.threads; }
Warp &warp() { return g.warps[g.now / LANES]; }
int lane() { return g.now % LANES; }
unsigned *clock_of(int fiber) { return g.clocks.data() + fiber * g.width; }
unsigned *knows() { return clock_of(g.now); }
int all_threads() { return g.threads * g.count; }
int fence_of(int fiber) { return all_threads() + fiber; }
int begun_of(int fiber) { return 2 * all_threads() + ENGINES + fiber; }

[[noreturn]] void fail(void *place, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(g.message, sizeof g.message, format, list);
  va_end(list);
  g.place = place;
  _longjmp(g.main, 2);
}

#define HERE __builtin_return_address(0)
#define THREAD "block (%u, %u, %u) thread %d"
#define THREAD_IS gpu.block.x, gpu.block.y, gpu.block.z, thread()

// ---- clocks

int new_engine() {
  if (g.engines == ENGINES) fail(nullptr, "more than %d barriers, warpgroups and threads that store boxes", ENGINES);
  return 2 * all_threads() + g.engines++;
}

void merge(unsigned *into, const unsigned *from) {
  for (size_t k = 0; k < g.width; k++) into[k] = into[k] < from[k] ? from[k] : into[k];
}

void tick(int fiber) { clock_of(fiber)[fiber]++; }

// threads have waited for one another
void meet(const int *fibers, int count) {
  static std::vector<unsigned> all;
  all.assign(g.width, 0);
  for (int k = 0; k < count; k++) merge(all.data(), clock_of(fibers[k]));
  for (int k = 0; k < count; k++) {
    memcpy(clock_of(fibers[k]), all.data(), g.width * sizeof(unsigned));
    tick(fibers[k]);
  }
}

bool before(const Epoch &e, const unsigned *clock) { return clock[e.who] >= e.when; }

// ---- fibers

void yield() {
  if (!_setjmp(fiber().at)) _longjmp(g.main, 1);
}

void wait(const char *what, void *place, int line = 0, int on = 0) {
  Fiber &f = fiber();
  f.waiting = true, f.what = what, f.place = place, f.line = line, f.on = on;
  warp().runnable &= ~(1u << lane());
  yield();
}

void wake(int fiber) {
  g.fibers[fiber].waiting = false;
  g.warps[fiber / LANES].runnable |= 1u << fiber % LANES;
}

void wake_all(const char *what, int on, int first, int count) {
  for (int t = first; t < first + count; t++)
    if (g.fibers[t].waiting && g.fibers[t].what == what && g.fibers[t].on == on) wake(t);
}

// all lanes of the warp come here; the last one does what is done
template <class F> void together(const char *what, int kind, int line, void *place, F &&done) {
  Warp &w = warp();
  if (w.arrived && (w.what != what || w.line != line || w.kind != kind))
    fail(place, THREAD ": at %s %d, where other lanes of its warp are at %s %d", THREAD_IS, what, line ? line : kind,
         w.what, w.line ? w.line : w.kind);
  w.what = what, w.line = line, w.kind = kind;
  if (++w.arrived < LANES) return wait(what, place, line);
  w.arrived = 0;
  done(w);
  for (int l = 0; l < LANES; l++) wake(g.now / LANES * LANES + l);
  yield();
}

}  // namespace
