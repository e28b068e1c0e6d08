// Barriers: of the block, of a warp, by number, and those in shared memory whose phases count, mbarrier.
//
// A phase is complete when nobody's arrival is missing and all bytes that it expects have come; it may expect bytes
// after some of them came. A wait names a parity: it is for the phase before the current one, or for that one.

namespace {

constexpr long MOST = (1 << 20) - 1;

struct Where { int block; size_t at; };

// where an address of 32 bits leads, in a space of the block, or of the cluster
Where resolved(unsigned address, size_t bytes, const char *what, void *place) {
  const unsigned rank = address / RANK;
  const int own = g.now / g.threads;
  const long at = (long)(address % RANK) - WINDOW;
  if (rank > (unsigned)g.count || at < 0 || at + bytes > g.shared)
    fail(place, THREAD ": %s outside of shared memory, at %#x", THREAD_IS, what, address);
  return {rank ? (int)rank - 1 : own, (size_t)at};
}

// whether a block has, and its shared memory with it
bool ended(int block) {
  for (int t = 0; t < g.threads; t++)
    if (!g.fibers[block * g.threads + t].done) return false;
  return true;
}

Phases &phases_at(unsigned address, void *place) {
  const Where w = resolved(address, 8, "a barrier", place);
  if (ended(w.block)) fail(place, THREAD ": a barrier at byte %zu of a block that has ended", THREAD_IS, w.at);
  const int found = w.at % 8 ? -1 : g.blocks[w.block].phases[w.at / 8];
  if (found < 0) fail(place, THREAD ": no barrier has begun at byte %zu", THREAD_IS, w.at);
  Phases &p = g.phases[found];
  if (!before(p.begun, knows()) && knows()[begun_of(p.begun.who)] < p.begun.when)
    fail(place, THREAD ": a barrier at byte %zu that thread %d begins, no barrier of threads between", THREAD_IS, w.at,
         p.begun.who % g.threads);
  return p;
}

void complete(Phases &p) {
  if (p.missing || p.bytes) return;
  p.phase++, p.missing = p.count;
  p.coming[p.engine] = p.phase;
  merge(p.done.data(), p.coming.data());
  p.coming.assign(g.width, 0);
  wake_all("a phase", &p - g.phases.data(), 0, all_threads());
}

void expect(Phases &p, long bytes, void *place) {
  p.bytes += bytes;
  if (p.bytes > MOST || p.bytes < -MOST)
    fail(place, THREAD ": the barrier at byte %zu misses %ld bytes, more than it can count", THREAD_IS, p.at, p.bytes);
}

void arrive(Phases &p, void *place) {
  if (!p.missing)
    fail(place, THREAD ": phase %u of the barrier at byte %zu gets more than its %u arrivals", THREAD_IS, p.phase, p.at,
         p.count);
  merge(p.coming.data(), knows());
  tick(g.now);
  p.missing--;
  complete(p);
}

// whether a thread of the block knows that this was: then the block ends after it
bool known_in(int block, const Epoch &e) {
  for (int t = 0; t < g.threads; t++)
    if (before(e, clock_of(block * g.threads + t))) return true;
  return false;
}

// an arrival that is on its way to a block which has ended finds no barrier
void check_reached() {
  for (const Phases &p : g.phases)
    for (const Epoch &e : p.reached)
      if (!known_in(p.block, e)) {
        const Place &b = g.blocks[p.block].place;
        fail(nullptr, "block (%u, %u, %u) may end before thread %d of another block arrives at its barrier at byte %zu",
             b.x, b.y, b.z, e.who % g.threads, p.at);
      }
}

// for engines, whichever of both fences it is
void fence_begun() {
  for (Phases &p : g.phases) p.fenced = p.fenced || p.begun.who == g.now;
}

}  // namespace

extern "C" {

void gpu_barrier(int line) {
  Block &b = block();
  if (b.arrived && b.line != line)
    fail(HERE, THREAD ": at the barrier of line %d, where others are at that of line %d", THREAD_IS, line, b.line);
  b.line = line;
  if (++b.arrived < g.threads) return wait("a barrier", HERE, line);
  b.arrived = 0;
  std::vector<int> all(g.threads);
  const int first = g.now / g.threads * g.threads;
  for (int t = 0; t < g.threads; t++) all[t] = first + t;
  meet(all.data(), g.threads);
  for (int t : all) wake(t);
  yield();
}

void gpu_warp_barrier(int line) {
  together("a warp's barrier", 0, line, HERE, [](Warp &) {
    int all[LANES];
    for (int l = 0; l < LANES; l++) all[l] = g.now / LANES * LANES + l;
    meet(all, LANES);
  });
}

// bar.sync a, b
void gpu_numbered(unsigned number, unsigned threads) {
  if (number > 15 || !number || threads % LANES || threads > (unsigned)g.threads || !threads)
    fail(HERE, THREAD ": bar.sync %u, %u; 0 is that of all threads", THREAD_IS, number, threads);
  Numbered &n = block().numbered[number];
  if (!n.there.empty() && n.threads != (int)threads)
    fail(HERE, THREAD ": bar.sync %u of %u threads, where others wait for %d", THREAD_IS, number, threads, n.threads);
  n.threads = threads;
  n.there.push_back(g.now);
  if (n.there.size() < threads) return wait("bar.sync", HERE, 0, number);
  std::vector<int> all;
  all.swap(n.there);
  meet(all.data(), all.size());
  for (int t : all) wake(t);
  yield();
}

void gpu_phases_begin(unsigned address, unsigned count) {
  const Where w = resolved(address, 8, "mbarrier.init", HERE);
  if (w.at % 8 || !count || count > MOST)
    fail(HERE, THREAD ": mbarrier.init at byte %zu, %u arrivals", THREAD_IS, w.at, count);
  Block &b = g.blocks[w.block];
  if (b.phases[w.at / 8] >= 0) fail(HERE, THREAD ": the barrier at byte %zu begins again", THREAD_IS, w.at);
  touch(b.shared + w.at, 8, true, HERE);
  for (size_t u = w.at / 2; u < w.at / 2 + 4; u++) b.units[u].state = BARRIER;
  memset(b.shared + w.at, 0xff, 8);
  b.phases[w.at / 8] = g.phases.size();
  g.phases.push_back({w.block, w.at, new_engine(), count, count, 0, 0, false, {g.now, knows()[g.now]},
                      std::vector<unsigned>(g.width), std::vector<unsigned>(g.width), {}});
  tick(g.now);  // who comes here without a barrier between doesn't know of it
}

// "orders prior mbarrier.init operations": whoever the thread meets behind it knows of them, if of nothing else
void gpu_fence_begun() {
  knows()[begun_of(g.now)] = knows()[g.now];
  fence_begun();
}

void gpu_fence_proxy() {
  knows()[fence_of(g.now)] = knows()[g.now];
  fence_begun();
  tick(g.now);
}

void gpu_arrive(unsigned address, long bytes) {
  Phases &p = phases_at(address, HERE);
  if (bytes < 0 || bytes > MOST) fail(HERE, THREAD ": %ld bytes are expected", THREAD_IS, bytes);
  expect(p, bytes, HERE);
  if (p.block != g.now / g.threads) p.reached.push_back({g.now, knows()[g.now]});
  arrive(p, HERE);
}

// may come back before the phase is complete: "a system-dependent time limit"
bool gpu_try_wait(unsigned address, unsigned parity) {
  if (!draw(4)) yield();
  const int number = &phases_at(address, HERE) - g.phases.data();
  if (g.phases[number].block != g.now / g.threads) fail(HERE, THREAD ": a wait at another block's barrier", THREAD_IS);
  if (parity > 1) fail(HERE, THREAD ": a wait for parity %u", THREAD_IS, parity);
  if (g.phases[number].phase % 2 == parity && draw(8)) wait("a phase", HERE, 0, number);
  const Phases &p = g.phases[number];
  if (p.phase % 2 == parity) return false;
  merge(knows(), p.done.data());
  return true;
}
}
