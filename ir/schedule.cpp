// Sums over steps, reversal, and the rounds that a step needs.
#include "ir/schedule.h"

#include <algorithm>

namespace chorale {

int total_rounds(const Schedule& schedule) {
  int rounds = 0;
  for (const Step& step : schedule.steps) rounds += step.rounds;
  return rounds;
}

long long total_sends(const Schedule& schedule) {
  long long sends = 0;
  for (const Step& step : schedule.steps) sends += std::ssize(step.sends);
  return sends;
}

// A schedule of copies in reverse is one of sums for the dual collective on the reversed machine, and the
// other way: what was sent last is added first. Rounds of a step stay, since link numbers do. Every send gets
// the flag, which is right where all were copies or all were sums.
Schedule reversed(const Schedule& schedule, bool reduce) {
  Schedule result = schedule;
  std::reverse(result.steps.begin(), result.steps.end());
  for (Step& step : result.steps) {
    for (Send& send : step.sends) send.reduce = reduce;
    std::sort(step.sends.begin(), step.sends.end());
  }
  return result;
}

// A switch that multicasts counts a chunk once per source, however many ranks it goes to; one that reduces
// counts a chunk once per destination. Where it can do both, sums count by destination and copies by source.
CountedOnce counted_as(const Topology& topology, const SharedLimit& limit, const Send& send) {
  using By = CountedOnce::By;
  const Link& link = topology.links[send.link];
  const auto [multicast, reduce] = limit.abilities;
  if (multicast && !(reduce && send.reduce))
    return {.chunk = send.chunk, .by = By::Source, .number = link.src};
  if (reduce) return {.chunk = send.chunk, .by = By::Destination, .number = link.dst};
  return {.chunk = send.chunk, .by = By::Link, .number = send.link};
}

// The link or limit that is fullest for its bandwidth decides: ceil(chunks / bandwidth), and at least 1. A
// walk over all of them, however few sends the step has. Sends that a limit counts once are told apart only
// if the plain sum exceeds its bandwidth: below that one round is enough either way.
int needed_rounds(const Topology& topology, const Step& step) {
  std::vector<int> load(topology.links.size(), 0);
  for (const Send& send : step.sends) ++load[send.link];
  int rounds = 1;
  const auto need = [&rounds](int chunks, int bandwidth) {
    rounds = std::max(rounds, (chunks + bandwidth - 1) / bandwidth);
  };
  for (std::size_t l = 0; l < load.size(); ++l) need(load[l], topology.links[l].bandwidth);
  std::vector<std::vector<const Send*>> over;  // by link; only where a limit counts some of them once
  const auto once = [&](const SharedLimit& limit) {
    if (over.empty()) {
      over.resize(load.size());
      for (const Send& send : step.sends) over[send.link].push_back(&send);
    }
    std::vector<CountedOnce> different;
    for (LinkId l : limit.links)
      for (const Send* send : over[l]) different.push_back(counted_as(topology, limit, *send));
    std::ranges::sort(different);
    return static_cast<int>(std::ranges::unique(different).begin() - different.begin());
  };
  for (const SharedLimit& limit : topology.limits) {
    int sum = 0;
    for (LinkId l : limit.links) sum += load[l];
    need(sum > limit.bandwidth && limit.abilities.any() ? once(limit) : sum, limit.bandwidth);
  }
  return rounds;
}

// Removes what solvers and fillings leave in a schedule without need: sends that lead nowhere, chunks that
// arrive twice, steps that have become empty. Copies and sums differ. A copy that a rank has is never lost,
// so from the end backwards the set of useful copies grows. A value of a sum may be replaced, and then the
// earlier value is not needed. Both take a bit for every chunk and rank and a pass or two over the sends. A
// right schedule stays right, in no more steps and rounds.

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
