// cp.async: the bytes of a copy arrive at once, as late as the waits allow, or at random; until then they are poisoned.

namespace {

void arrive(Copy &c) {
  if (c.arrived) return;
  memcpy(c.to, c.from, c.source);
  memset(c.to + c.source, 0, c.size - c.source);
  c.arrived = true;
}

}  // namespace

extern "C" {

void gpu_copy(unsigned shared, const char *global, unsigned size, unsigned source, unsigned least) {
  const size_t at = shared - WINDOW;
  if ((size != 4 && size != 8 && size != 16) || size < least || source > size)
    fail(HERE, THREAD ": cp.async of %u bytes, %u of them from memory", THREAD_IS, size, source);
  if (shared % size || (size_t)global % size)
    fail(HERE, THREAD ": cp.async of %u bytes to or from no multiple of that", THREAD_IS, size);
  if (shared < WINDOW || at + size > g.shared)
    fail(HERE, THREAD ": cp.async outside of shared memory, to byte %ld", THREAD_IS, (long)shared - WINDOW);
  Block &b = block();
  if (source) touch(global, source, false, HERE);
  touch(b.shared + at, size, true, HERE);
  if (g.watching)
    for (size_t u = at / 2; u < (at + size) / 2; u++) b.units[u].state = COPYING;
  memset(b.shared + at, 0xff, size);
  g.copies.push_back({b.shared + at, global, size, source, g.now, fiber().groups, false});
  if (g.arrival == EAGER) arrive(g.copies.back());
}

void gpu_commit() { fiber().groups++; }

void gpu_wait(int pending) {
  const int groups = fiber().groups;
  size_t kept = 0;
  for (Copy &c : g.copies) {
    if (c.thread != g.now || (pending >= 0 && c.group >= groups - pending)) {
      g.copies[kept++] = c;
      continue;
    }
    arrive(c);
    for (size_t u = (c.to - block().shared) / 2, end = u + c.size / 2; u < end && g.watching; u++)
      note_written(block().units[u], {g.now, knows()[g.now]}, true);
  }
  g.copies.resize(kept);
}
}
