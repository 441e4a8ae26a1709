// A schedule as messages without data: what simulators of networks replay. A rank starts what it sends in a
// step, and goes on to its next step when this, and all that it receives in the step, has arrived
// (cost/program_time.h times the same).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/schedule.h"
#include "ir/verified.h"

namespace chorale {

struct ScheduleMessage {
  int step = 0;
  LinkId link = 0;
  std::int64_t bytes = 0;
  bool operator==(const ScheduleMessage&) const = default;
};

// A step in which a rank does anything; numbers of messages.
struct RankStep {
  int step = 0;
  std::vector<int> sends = {}, receives = {};
};

struct Messages {
  // By step, then as they are posted (ir/program.h).
  std::vector<ScheduleMessage> all = {};
  std::vector<std::vector<RankStep>> by_rank = {};  // by step
};

// Of blocks of that size, cut evenly into chunks; bytes are rounded. One message per link and step.
Messages messages_of(const Verified<Schedule>&, std::int64_t block_bytes);

// The same, where links under a shared limit have several messages, so that their shares of it are those of
// their chunks: a simulator grants each message the same. None is longer than 1 GB, which MPI can count.
Messages messages_by_shares(const Verified<Schedule>&, std::int64_t block_bytes);

// The messages as JSON, of which the Python package writes what other simulators read
// (python/chorale/simulators.py): ranks, the collective and the bytes of its message (null: a custom one),
// what a call costs, messages as [step, from, to, bytes].
std::string messages_as_json(const Verified<Schedule>&, std::int64_t block_bytes);

}  // namespace chorale
