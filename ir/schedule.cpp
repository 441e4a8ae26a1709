// Sums over steps, reversal, and the rounds that a step needs.
#include "ir/schedule.h"

#include <algorithm>
#include <set>

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
    std::set<CountedOnce> different;
    for (LinkId l : limit.links)
      for (const Send* send : over[l]) different.insert(counted_as(topology, limit, *send));
    return static_cast<int>(different.size());
  };
  for (const SharedLimit& limit : topology.limits) {
    int sum = 0;
    for (LinkId l : limit.links) sum += load[l];
    need(sum > limit.bandwidth && limit.abilities.any() ? once(limit) : sum, limit.bandwidth);
  }
  return rounds;
}

}  // namespace chorale
