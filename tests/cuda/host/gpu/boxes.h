// Boxes: cp.async.bulk.tensor between matrices and shared memory.
//
// A box is lines of values, one behind the other in shared memory; what is outside of the matrix comes as zeros, and
// counts. A swizzle flips bits 4 .. of each address by bits 7 .. of it: three of them, two, or one. A stored box is cut
// off at the matrix's end in units of 16 bytes, as an H200 does. Lines arrive in any order.

namespace {

size_t swizzled(size_t address, unsigned bytes) {
  const size_t flips = bytes == 128 ? 7 : bytes == 64 ? 3 : bytes == 32 ? 1 : 0;
  return address ^ (address >> 7 & flips) << 4;
}

Map map_at(const void *map, void *place) {
  Map m;
  memcpy(&m, map, sizeof m);
  if (m.magic != MAGIC || (size_t)map % 64) fail(place, THREAD ": no tensor map, or not at 64 bytes", THREAD_IS);
  return m;
}

// where 16 bytes of a box are in its block's shared memory
size_t place_of(const Box &x, int line, int unit) {
  const size_t plain = WINDOW + x.at + 2ull * x.map.box_run * line + 16 * unit;
  return swizzled(plain, x.map.swizzle) - WINDOW;
}

// how many bytes of a unit are inside of the matrix
int inside(const Box &x, int line, int unit) {
  const long row = x.line + line, first = x.run + 8 * unit, run = x.map.run;
  if (row < 0 || row >= (long)x.map.lines || first >= run || first + 8 <= 0) return 0;
  return first < 0 ? -1 : 2 * (run - first < 8 ? run - first : 8);  // it starts at multiples of 8 values, or before 0
}

char *global_of(const Box &x, int line, int unit) {
  return x.map.start + (x.line + line) * (long)x.map.stride + 2 * (x.run + 8 * unit);
}

void load_unit(const Box &x, int line, int unit, char *to) {
  for (int i = 0; i < 8; i++) {
    const long row = x.line + line, value = x.run + 8 * unit + i;
    const bool there = row >= 0 && row < (long)x.map.lines && value >= 0 && value < (long)x.map.run;
    if (there)
      memcpy(to + 2 * i, x.map.start + row * (long)x.map.stride + 2 * value, 2);
    else
      memset(to + 2 * i, 0, 2);
  }
}

void move_line(Box &x, int line) {
  Block &b = g.blocks[x.block];
  for (unsigned unit = 0; unit < x.map.box_run / 8; unit++) {
    const size_t at = place_of(x, line, unit);
    if (x.stores()) {
      if (inside(x, line, unit)) memcpy(global_of(x, line, unit), b.shared + at, 16);
      continue;
    }
    load_unit(x, line, unit, b.shared + at);
    const Phases &p = g.phases[x.phases];
    for (size_t u = at / 2; u < at / 2 + 8 && g.watching; u++)
      note_written(b.units[u], {p.engine, p.phase + 1}, false);
  }
  if (x.stores()) return;
  Phases &p = g.phases[x.phases];
  p.bytes -= 2 * x.map.box_run;
  complete(p);
}

// so many lines of a box move; whether that was all of it
bool move(size_t which, size_t lines) {
  for (; lines && !g.boxes[which].left.empty(); lines--) {
    std::vector<int> &left = g.boxes[which].left;
    std::swap(left[draw(left.size())], left.back());
    const int line = left.back();
    left.pop_back();
    move_line(g.boxes[which], line);
  }
  if (!g.boxes[which].left.empty()) return false;
  std::swap(g.boxes[which], g.boxes.back());
  g.boxes.pop_back();
  return true;
}

Box box_of(const void *map, int run, int line, int block, size_t at, void *place) {
  Box x = {map_at(map, place), line, run, block, at, g.now, fiber().stores, -1, {}};
  if (at % 128) fail(place, THREAD ": a box at byte %zu of shared memory, no multiple of 128", THREAD_IS, at);
  if (at + 2ull * x.map.box_run * x.map.box_lines > g.shared)
    fail(place, THREAD ": a box from byte %zu on leaves shared memory", THREAD_IS, at);
  if (x.map.swizzle && x.map.box_run * 2 != x.map.swizzle)
    fail(place, THREAD ": a box whose lines are no span of its swizzle", THREAD_IS);
  for (unsigned l = 0; l < x.map.box_lines; l++) x.left.push_back(l);
  g.moved++;
  return x;
}

void check_box(const Box &x, const Epoch &read, void *place) {
  for (int line : x.left)
    for (unsigned unit = 0; unit < x.map.box_run / 8; unit++) {
      const size_t at = place_of(x, line, unit);
      if (x.stores())
        engine_reads(g.blocks[x.block], at, knows(), read, place);
      else
        engine_writes(g.blocks[x.block], at, knows(), place);
      const int bytes = inside(x, line, unit);
      if (bytes < 0) fail(place, THREAD ": a box that starts at value %ld of a line", THREAD_IS, x.run);
      if (bytes) engine_global(global_of(x, line, unit), x.stores() ? 16 : bytes, x.stores(), place);
    }
}

// which boxes bring something that somebody may wait for
int some_load() {
  std::vector<int> found;
  for (size_t k = 0; k < g.boxes.size(); k++)
    if (!g.boxes[k].stores()) found.push_back(k);
  return found.empty() ? -1 : found[draw(found.size())];
}

}  // namespace

extern "C" {

void gpu_prefetch_map(const void *map) { map_at(map, HERE); }

// to the block's shared memory, or, by a mask, to the same place in those of several blocks of the cluster
void gpu_load_box(unsigned to, const void *map, int run, int line, unsigned barrier, unsigned mask) {
  const Where w = resolved(to, 1, "a box", HERE), own = resolved(barrier, 8, "a barrier", HERE);
  if (mask >> g.count) fail(HERE, THREAD ": a box for blocks %#x of %d", THREAD_IS, mask, g.count);
  for (int b = 0; b < g.count; b++) {
    if (mask ? !(mask >> b & 1) : b != w.block) continue;
    Phases &p = phases_at(mask ? (b + 1) * RANK + WINDOW + own.at : barrier, HERE);
    if (!p.fenced) fail(HERE, THREAD ": a box for a barrier at byte %zu whose beginning isn't fenced", THREAD_IS, p.at);
    if (p.block != b) fail(HERE, THREAD ": a box of one block for another one's barrier", THREAD_IS);
    Box x = box_of(map, run, line, b, w.at, HERE);
    x.phases = &p - g.phases.data();
    check_box(x, {}, HERE);
    g.boxes.push_back(x);
    if (g.arrival == EAGER) move(g.boxes.size() - 1, x.left.size());
  }
}

void gpu_store_box(const void *map, int run, int line, unsigned from) {
  Fiber &f = fiber();
  if (f.engine < 0) f.engine = new_engine();
  const Where w = resolved(from, 1, "a box", HERE);
  if (w.block != g.now / g.threads) fail(HERE, THREAD ": a box out of another block", THREAD_IS);
  Box x = box_of(map, run, line, w.block, w.at, HERE);
  check_box(x, {f.engine, (unsigned)f.stores + 1}, HERE);
  f.last = f.stores + 1;
  g.boxes.push_back(x);
  if (g.arrival == EAGER) move(g.boxes.size() - 1, x.left.size());
}

void gpu_commit_boxes() { fiber().stores++; }

// .read: "until all of them have been read"; what they write is there at the end, as it is without
void gpu_wait_boxes(int pending) {
  Fiber &f = fiber();
  const int over = f.stores - pending;
  for (size_t k = 0; k < g.boxes.size();)
    if (!(g.boxes[k].stores() && g.boxes[k].thread == g.now && g.boxes[k].group < over && move(k, ~0ull))) k++;
  if (f.engine >= 0 && over > 0 && knows()[f.engine] < (unsigned)over) knows()[f.engine] = over;
}
}

namespace {

// a thread ends
void check_end_of_boxes() {
  for (const Box &x : g.boxes)
    if (x.stores() && x.thread == g.now) fail(nullptr, THREAD " ends while boxes that it has stored are read", THREAD_IS);
  if (fiber().engine >= 0 && knows()[fiber().engine] < (unsigned)fiber().last)
    fail(nullptr, THREAD " ends while boxes that it has stored may be read", THREAD_IS);
}

}  // namespace
