// A plan mostly names pairs of ranks, a schedule links. Of parallel links a transfer takes the one that
// needs the fewest rounds with it, counted with the shared limits over it, and of these the nearest, then
// the emptiest.
#include "construct/baselines/plan.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace chorale {
namespace {

int rounds_for(int chunks, int bandwidth) {
  return (chunks + bandwidth - 1) / bandwidth;
}

}  // namespace

void add(Plan& plan, int s, const Transfer& transfer) {
  if (static_cast<int>(plan.size()) <= s) plan.resize(s + 1);
  plan[s].push_back(transfer);
}

// A chunk that reaches each rank once, from one that had it a step before, goes along an out-tree. Reversed,
// that is an in-tree, and the step in which a rank sends comes after all in which it receives.
Plan backwards(Plan plan, bool reduce) {
  std::reverse(plan.begin(), plan.end());
  for (std::vector<Transfer>& step : plan)
    for (Transfer& transfer : step) {
      std::swap(transfer.src, transfer.dst);
      transfer.reduce = reduce;
    }
  return plan;
}

// No overlap: what the second reads is complete when the first has ended.
Plan operator+(Plan first, const Plan& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Loads are those of one step, and are cleared by going over its sends once more. Where switches multicast or
// reduce, a limit may count several sends once, and needed_rounds counts the step instead.
std::optional<Schedule> on_topology(const Plan& plan, const Topology& topology,
                                    std::pair<Rank, Rank>* missing) {
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> links;
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    links[{topology.links[l].src, topology.links[l].dst}].push_back(l);
  std::vector<std::vector<int>> limits_of(topology.links.size());
  for (int i = 0; i < std::ssize(topology.limits); ++i)
    for (const LinkId l : topology.limits[i].links) limits_of[l].push_back(i);
  const bool all_count = !abilities_of(topology).any();
  std::vector<int> load(topology.links.size(), 0), limit_load(topology.limits.size(), 0);  // of the step
  Schedule schedule;
  for (const std::vector<Transfer>& transfers : plan) {
    if (transfers.empty()) continue;
    Step step;
    const auto price = [&](LinkId l) {
      const Link& link = topology.links[l];
      int rounds = rounds_for(load[l] + 1, link.bandwidth);
      for (const int i : limits_of[l])
        rounds = std::max(rounds, rounds_for(limit_load[i] + 1, topology.limits[i].bandwidth));
      return std::tuple(rounds, link.alpha_us, static_cast<double>(load[l]) / link.bandwidth);
    };
    for (const Transfer& t : transfers) {
      LinkId link = t.link;
      if (link < 0) {
        const auto between = links.find({t.src, t.dst});
        if (between == links.end()) {
          if (missing != nullptr) *missing = {t.src, t.dst};
          return {};
        }
        link = *std::ranges::min_element(between->second, {}, price);
      }
      ++load[link];
      for (const int i : limits_of[link]) ++limit_load[i];
      step.sends.push_back({.chunk = t.chunk, .link = link, .reduce = t.reduce});
    }
    // A walk over what the step uses: rings of large machines have many steps of few sends.
    step.rounds = all_count ? 1 : needed_rounds(topology, step);
    for (const Send& send : step.sends) {
      step.rounds = std::max(step.rounds, rounds_for(load[send.link], topology.links[send.link].bandwidth));
      load[send.link] = 0;
      for (const int i : limits_of[send.link]) {
        if (all_count)
          step.rounds = std::max(step.rounds, rounds_for(limit_load[i], topology.limits[i].bandwidth));
        limit_load[i] = 0;
      }
    }
    std::ranges::sort(step.sends);
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace chorale
