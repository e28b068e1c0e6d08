// Watching: what an access may be. In shared memory it is ordered, by clocks, after those of other threads and engines
// that it must not meet; what is read was written; what comes on its way is touched by nobody. What a thread wrote, an
// engine may touch behind a proxy fence of that thread: stricter than the manual, which lets one stand anywhere between.

namespace {

const char *name_of(const Epoch &e) {
  static char text[80];
  const int threads = all_threads();
  if (e.who < threads)
    snprintf(text, sizeof text, "thread %d", e.who % g.threads);
  else
    snprintf(text, sizeof text, "an engine that it hasn't waited for");
  for (const Phases &p : g.phases)
    if (p.engine == e.who) snprintf(text, sizeof text, "a box of which the barrier at byte %zu tells", p.at);
  for (int b = 0; b < g.count; b++)
    for (size_t k = 0; k < g.blocks[b].groups.size(); k++)
      if (g.blocks[b].groups[k].engine == e.who) snprintf(text, sizeof text, "a product of warpgroup %zu", k);
  for (int t = 0; t < threads; t++)
    if (g.fibers[t].engine == e.who) snprintf(text, sizeof text, "a stored box of thread %d", t % g.threads);
  return text;
}

// What is refused of an access to a unit by somebody who knows a clock; "" if nothing is.
//   writes   whether it is written; otherwise read
//   engine   whether by an engine
void check_unit(Block &b, size_t at, const unsigned *clock, bool writes, bool engine, void *place) {
  Unit &x = b.units[at / 2];
  const char *what = writes ? "written" : "read";
  switch (x.state) {
    case COPYING:
      fail(place, THREAD ": shared memory at byte %zu is %s while thread %d copies it", THREAD_IS, at, what,
           x.written.who % g.threads);
    case BOXED:
      fail(place, THREAD ": shared memory at byte %zu is %s while a box comes there, or before that was waited for",
           THREAD_IS, at, what);
    case BARRIER: fail(place, THREAD ": shared memory at byte %zu is %s, where a barrier is", THREAD_IS, at, what);
    case PLAIN: break;
  }
  if (!writes && !x.known)
    fail(place, THREAD ": shared memory at byte %zu is read before it was written", THREAD_IS, at);
  if (x.known && !before(x.written, clock))
    fail(place, THREAD ": shared memory at byte %zu is %s, no barrier after %s wrote it", THREAD_IS, at, what,
         name_of(x.written));
  if (engine && x.known && x.generic && clock[fence_of(x.written.who)] < x.written.when)
    fail(place, THREAD ": shared memory at byte %zu is %s by an engine, no proxy fence after thread %d wrote it",
         THREAD_IS, at, what, x.written.who % g.threads);
  if (writes)
    for (const Epoch &e : x.reads)
      if (!before(e, clock))
        fail(place, THREAD ": shared memory at byte %zu is written, no barrier after %s read it", THREAD_IS, at,
             name_of(e));
}

void note_read(Unit &x, const Epoch &now, const unsigned *clock) {
  size_t kept = 0;
  for (const Epoch &e : x.reads)
    if (!before(e, clock)) x.reads[kept++] = e;
  x.reads.resize(kept);
  x.reads.push_back(now);
}

void note_written(Unit &x, const Epoch &now, bool generic) {
  x.written = now, x.known = true, x.generic = generic, x.state = PLAIN;
  x.reads.clear();
}

void touch_shared(Block &b, size_t at, size_t bytes, bool writes, void *place) {
  const Epoch now = {g.now, knows()[g.now]};
  for (size_t u = at / 2; u < (at + bytes + 1) / 2; u++) {
    check_unit(b, 2 * u, knows(), writes, false, place);
    if (writes)
      note_written(b.units[u], now, true);
    else
      note_read(b.units[u], now, knows());
  }
}

void touch_global(Region &r, size_t at, size_t bytes, bool writes, void *place) {
  const int number = &r - g.regions.data();
  if (!fiber().awaited) fiber().reached = true;
  for (size_t u = at / 2; u < (at + bytes + 1) / 2; u++) {
    if (!(r.allowed[u] & (writes ? 2 : 1)))
      fail(place, THREAD ": argument %d is %s at byte %zu, outside of what is its own", THREAD_IS, number,
           writes ? "written" : "read", 2 * u);
    if (writes && r.allowed[u] & 4)
      fail(place, THREAD ": argument %d is written twice at byte %zu", THREAD_IS, number, 2 * u);
    if (writes) r.allowed[u] |= 4;
  }
}

// of registers: nobody touches those that products may write; when they were written is known
void touch_stack(size_t at, size_t bytes, bool writes, void *place) {
  Fiber &f = fiber();
  Word *const words = g.words + g.now * (STACK / 4);
  for (size_t k = at / 4; k < (at + bytes + 3) / 4; k++) {
    if (words[k].busy > f.products)
      fail(place, THREAD ": an %s is %s, and products that may %s it were not waited for", THREAD_IS,
           words[k].read ? "operand" : "accumulator", writes ? "written" : "read", words[k].read ? "read" : "write");
    if (writes) words[k].written = f.fences;
  }
}

void touch(const void *pointer, size_t bytes, bool writes, void *place) {
  char *const p = (char *)pointer;
  if (!g.watching) return;
  Fiber &f = fiber();
  const size_t in_stack = p - f.stack;
  if (in_stack < STACK) {
    if (f.multiplies) touch_stack(in_stack, bytes, writes, place);
    else if (writes) for (size_t k = in_stack / 4; k < (in_stack + bytes + 3) / 4; k++)
        g.words[g.now * (STACK / 4) + k].written = f.fences;
    return;
  }
  if ((size_t)(p - (char *)&gpu) < sizeof gpu) return;
  g.accesses++;
  Block &b = block();
  const long off = p - b.shared;
  if (off >= 0 && off < (long)g.shared && off + bytes <= g.shared) {
    if (!draw(64)) yield();
    return touch_shared(b, off, bytes, writes, place);
  }
  for (Region &r : g.regions)
    if ((size_t)(p - r.start) < r.bytes && (size_t)(p - r.start) + bytes <= r.bytes)
      return touch_global(r, p - r.start, bytes, writes, place);
  if (off >= -(long)ZONE && off < (long)(SHARED + ZONE))
    fail(place, THREAD ": shared memory is %s at byte %ld of %zu", THREAD_IS, writes ? "written" : "read", off, g.shared);
  fail(place, THREAD ": memory outside of all arrays is %s", THREAD_IS, writes ? "written" : "read");
}

// an engine touches 16 bytes of shared memory; who has it do so knows a clock
void engine_reads(Block &b, size_t at, const unsigned *clock, const Epoch &when, void *place) {
  if (!g.watching) return;
  for (size_t u = at / 2; u < at / 2 + 8; u++) {
    check_unit(b, 2 * u, clock, false, true, place);
    note_read(b.units[u], when, clock);
  }
}

void engine_writes(Block &b, size_t at, const unsigned *clock, void *place) {
  if (g.watching)
    for (size_t u = at / 2; u < at / 2 + 8; u++) {
      check_unit(b, 2 * u, clock, true, true, place);
      b.units[u].state = BOXED;
    }
  memset(b.shared + at, 0xff, 16);
}

// an engine touches part of a line of a matrix
void engine_global(const char *start, size_t bytes, bool writes, void *place) {
  if (!g.watching || !bytes) return;
  for (Region &r : g.regions)
    if ((size_t)(start - r.start) < r.bytes && (size_t)(start - r.start) + bytes <= r.bytes)
      return touch_global(r, start - r.start, bytes, writes, place);
  fail(place, THREAD ": a box %s memory outside of all arrays", THREAD_IS, writes ? "is stored to" : "comes from");
}

}  // namespace
