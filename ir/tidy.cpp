// Removes what solvers and fillings leave in a schedule without need: sends that lead nowhere, chunks that
// arrive twice, steps that have become empty. Copies and sums differ. A copy that a rank has is never lost,
// so from the end backwards the set of useful copies grows. A value of a sum may be replaced, and then the
// earlier value is not needed. Both take a bit for every chunk and rank and a pass or two over the sends. A
// right schedule stays right, in no more steps and rounds.
#include "ir/tidy.h"

#include <algorithm>

namespace chorale {
namespace {

// Afterwards a rank receives a chunk once at most. So what it sends in a step came in an earlier one, and
// keep_useful may go through the sends of a step in any order.
void keep_first_arrivals(const Topology& topology, const Collective& collective, Schedule& schedule) {
  std::vector<bool> has(collective.chunks.size() * topology.ranks, false);
  for (std::size_t c = 0; c < collective.chunks.size(); ++c)
    for (Rank n : collective.chunks[c].pre) has[c * topology.ranks + n] = true;
  for (Step& step : schedule.steps)
    std::erase_if(step.sends, [&](const Send& send) {
      const std::size_t at =
          static_cast<std::size_t>(send.chunk) * topology.ranks + topology.links[send.link].dst;
      const bool second = has[at];
      has[at] = true;
      return second;
    });
}

// Backwards: a value is needed if its rank needs it at the end, adds to it or sends it on; what arrives for a
// value that is not needed is dropped. Three walks over a step, in this order: what arrives is needed after
// the step; what it replaces is not needed before; what is sent is, also at a rank where it is replaced in
// the same step, since sends read first.
void keep_needed(const Topology& topology, const Collective& collective, Schedule& schedule) {
  std::vector<bool> needed(collective.chunks.size() * topology.ranks, false);
  const auto at = [&](Chunk c, Rank n) { return static_cast<std::size_t>(c) * topology.ranks + n; };
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].post) needed[at(c, n)] = true;
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step) {
    std::erase_if(step->sends,
                  [&](const Send& send) { return !needed[at(send.chunk, topology.links[send.link].dst)]; });
    for (const Send& send : step->sends)
      if (!send.reduce) needed[at(send.chunk, topology.links[send.link].dst)] = false;
    for (const Send& send : step->sends) needed[at(send.chunk, topology.links[send.link].src)] = true;
  }
}

// Backwards: a copy is useful if its receiver needs the chunk or sends it on usefully.
void keep_useful(const Topology& topology, const Collective& collective, Schedule& schedule) {
  std::vector<bool> useful(collective.chunks.size() * topology.ranks, false);
  for (std::size_t c = 0; c < collective.chunks.size(); ++c)
    for (Rank n : collective.chunks[c].post) useful[c * topology.ranks + n] = true;
  for (auto step = schedule.steps.rbegin(); step != schedule.steps.rend(); ++step)
    std::erase_if(step->sends, [&](const Send& send) {
      const std::size_t row = static_cast<std::size_t>(send.chunk) * topology.ranks;
      if (!useful[row + topology.links[send.link].dst]) return true;
      useful[row + topology.links[send.link].src] = true;
      return false;
    });
}

}  // namespace

Schedule tidy(const Topology& topology, const Collective& collective, Schedule schedule) {
  if (!collective.combining) {
    keep_first_arrivals(topology, collective, schedule);
    keep_useful(topology, collective, schedule);
  } else {
    keep_needed(topology, collective, schedule);
  }
  std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
  for (Step& step : schedule.steps) {
    std::sort(step.sends.begin(), step.sends.end());
    step.rounds = needed_rounds(topology, step);
  }
  return schedule;
}

}  // namespace chorale
