// All dependencies of a rank go through one operation per step, the join, so there are as many lines as
// messages and not as many as pairs of them.
#include "codegen/simulators/goal.h"

#include <fmt/format.h>

#include "codegen/simulators/messages.h"

namespace chorale {
namespace {

// Numbers of messages are their tags, and with the letter of the operation their labels. A send requires the
// join of the step before; the join requires all of its step, and the join before.
std::string operations(const Messages& messages, const Topology& topology,
                       const std::vector<RankStep>& steps) {
  std::string text;
  std::string before;  // the label of what joins the step before
  for (const RankStep& step : steps) {
    const std::string join = fmt::format("j{}", step.step);
    std::string requirements;
    for (const int i : step.sends) {
      const ScheduleMessage& message = messages.all[i];
      text +=
          fmt::format("s{}: send {}b to {} tag {}\n", i, message.bytes, topology.links[message.link].dst, i);
      if (!before.empty()) requirements += fmt::format("s{} requires {}\n", i, before);
      requirements += fmt::format("{} requires s{}\n", join, i);
    }
    for (const int i : step.receives) {
      const ScheduleMessage& message = messages.all[i];
      text += fmt::format("r{}: recv {}b from {} tag {}\n", i, message.bytes,
                          topology.links[message.link].src, i);
      requirements += fmt::format("{} requires r{}\n", join, i);
    }
    if (!before.empty()) requirements += fmt::format("{} requires {}\n", join, before);
    text += fmt::format("{}: calc 0\n", join) + requirements;
    before = join;
  }
  return text;
}

}  // namespace

std::string to_goal(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  const Topology& topology = schedule.topology();
  const Messages messages = messages_of(schedule, block_bytes);
  std::string text = fmt::format("num_ranks {}\n", topology.ranks);
  for (Rank n = 0; n < topology.ranks; ++n)
    text += fmt::format("\nrank {} {{\n{}}}\n", n, operations(messages, topology, messages.by_rank[n]));
  return text;
}

}  // namespace chorale
