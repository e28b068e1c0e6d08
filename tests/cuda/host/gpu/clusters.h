// What blocks of a cluster do together: their barrier, and addresses of one another's shared memory.

namespace {

struct Cluster {
  int arrived;
  unsigned phase;
  std::vector<unsigned> coming, done;  // clocks
  std::vector<unsigned> waits;         // of each thread: the phase in which it arrived, and one; 0 if it was waited for
} cluster;

void begin_cluster() {
  cluster.arrived = 0, cluster.phase = 0;
  cluster.coming.assign(g.width, 0), cluster.done.assign(g.width, 0);
  cluster.waits.assign(all_threads(), 0);
}

// "all the non-exited threads"
void complete_cluster() {
  if (!cluster.arrived || cluster.arrived < g.running) return;
  cluster.arrived = 0, cluster.phase++;
  cluster.done = cluster.coming;
  wake_all("barrier.cluster", 0, 0, all_threads());
}

}  // namespace

extern "C" {

void gpu_cluster_arrive(bool releases, bool aligned) {
  void *const place = HERE;
  if (aligned) together("barrier.cluster.arrive", releases, 0, place, [](Warp &) {});
  if (cluster.waits[g.now]) fail(place, THREAD ": barrier.cluster.arrive twice, no wait between", THREAD_IS);
  cluster.waits[g.now] = cluster.phase + 1;
  if (releases) merge(cluster.coming.data(), knows());
  for (int t = begun_of(0); t < begun_of(all_threads()); t++)  // what was fenced before, it tells in any case
    cluster.coming[t] = std::max(cluster.coming[t], knows()[t]);
  tick(g.now);
  cluster.arrived++;
  complete_cluster();
}

void gpu_cluster_wait(bool aligned) {
  void *const place = HERE;
  if (aligned) together("barrier.cluster.wait", 0, 0, place, [](Warp &) {});
  if (!cluster.waits[g.now]) fail(place, THREAD ": barrier.cluster.wait, and it hasn't arrived", THREAD_IS);
  while (cluster.phase < cluster.waits[g.now]) wait("barrier.cluster", place);
  cluster.waits[g.now] = 0;
  merge(knows(), cluster.done.data());
}

unsigned gpu_rank() { return g.now / g.threads; }

// mapa: the place in another block's shared memory that an address is in the thread's own
unsigned gpu_map_address(unsigned address, unsigned rank) {
  if (rank >= (unsigned)g.count) fail(HERE, THREAD ": mapa for block %u of a cluster of %d", THREAD_IS, rank, g.count);
  resolved(address, 1, "mapa", HERE);
  return (rank + 1) * RANK + address % RANK;
}

void gpu_load_cluster(unsigned address, unsigned bytes, void *to) {
  const Where w = resolved(address, bytes, "ld.shared::cluster", HERE);
  if (w.at % bytes) fail(HERE, THREAD ": ld.shared::cluster of %u bytes at byte %zu", THREAD_IS, bytes, w.at);
  Block &b = g.blocks[w.block];
  if (ended(w.block)) fail(HERE, THREAD ": ld.shared::cluster from a block that has ended", THREAD_IS);
  if (g.watching) touch_shared(b, w.at, bytes, false, HERE);
  memcpy(to, b.shared + w.at, bytes);
}
}
