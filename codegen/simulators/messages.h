// A schedule as messages without data: what simulators of networks replay. A rank starts what it sends in a
// step, and goes on to its next step when this, and all that it receives in the step, has arrived
// (cost/program_time.h times the same).
#pragma once

#include <cstdint>
#include <string>

#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

// The messages as JSON, of which the Python package writes what simulators read
// (python/chorale/simulators.py): the title, ranks, the collective and the bytes of its message (null: a
// custom one), bytes and chunks of a block, the machine (docs/formats.md), and messages as [step, from, to,
// bytes, link, chunks]. A message is all that a step sends over one link, of blocks of that size, cut evenly
// into chunks; bytes are rounded. They come by step, then as they are posted (ir/program.h).
std::string messages_as_json(const Verified<Schedule>&, std::int64_t block_bytes, const std::string& title);

}  // namespace chorale
