// advance.h: the end of a pass, the only place where a step record moves on.
#pragma once
#include "../params.h"
#include "simd.h"

// Records token and prepares the next pass; one thread calls it, and only when s.p.active is not 0.
//
//   ring[step % RING_SIZE] = token, log, flags; its seq = step + 1 is written last
//   ids[0] = token            the next pass reads it
//   pos += rows, rows = 1     the rows of this pass are consumed, the token is not
//   blocks                    key blocks that exist after the next pass
//   parity ^= 1, step += 1
//   active = 0                when the token is a stop id, when step reached limit, or with RING_NAN
inline void advance(device StepBuffer& s, uint token, float log, uint flags) {
  for (uint i = 0; i < min(s.p.num_stops, MAX_STOPS); i++) {
    if (s.p.stops[i] == token) flags |= RING_STOPPED;
  }
  const uint next = s.p.step + 1;
  if (next >= s.p.limit) flags |= RING_LIMIT;
  device RingRecord& r = s.ring[s.p.step % RING_SIZE];
  r.count = 1;
  r.tokens[0] = token;
  r.flags = flags;
  r.logs[0] = log;
  s.ids[0] = token;
  s.p.pos += s.p.rows;
  s.p.rows = 1;
  s.p.blocks = s.p.pos / KEY_BLOCK + 1;
  s.p.parity ^= 1;
  s.p.step = next;
  if (flags != 0) s.p.active = 0;
  r.seq = next;
}
