// First fit: the sends of a step, by posting distance, each into the first round of the step that still has
// room for it. Where a step needs more rounds so than it has, nothing is gained, and its messages go all at
// once.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "codegen/passes/passes.h"
#include "ir/program.h"

namespace chorale {
namespace {

// What one round of a step carries over the links and limits of a machine.
class Round {
 public:
  explicit Round(const Topology& topology) : links_(topology.links.size()), limits_(topology.limits.size()) {}

  // Nothing is taken where anything has no room: false leaves the round as it is.
  bool take(const Topology& topology, LinkId link, const std::vector<int>& limits) {
    if (links_[link] == topology.links[link].bandwidth) return false;
    for (const int limit : limits)
      if (limits_[limit] == topology.limits[limit].bandwidth) return false;
    ++links_[link];
    for (const int limit : limits) ++limits_[limit];
    return true;
  }

 private:
  std::vector<int> links_, limits_;
};

std::vector<std::vector<int>> limits_by_link(const Topology& topology) {
  std::vector<std::vector<int>> limits(topology.links.size());
  for (int i = 0; i < std::ssize(topology.limits); ++i)
    for (const LinkId link : topology.limits[i].links) limits[link].push_back(i);
  return limits;
}

// Do sends over several links share more of a limit than a round has?
bool shares(const Topology& topology, const Step& step) {
  std::vector<int> sends(topology.links.size());
  for (const Send& send : step.sends) ++sends[send.link];
  return std::ranges::any_of(topology.limits, [&](const SharedLimit& limit) {
    int all = 0, links = 0;
    for (const LinkId link : limit.links) {
      all += sends[link];
      links += sends[link] > 0;
    }
    return links > 1 && all > limit.bandwidth;
  });
}

// By send of the step: its round; all 0: it stays as it is.
// First fit by posting distance: in a direct Alltoall on a star, distance d is round d, a rotation in which
// every port has one message.
std::vector<int> rounds_of(const Topology& topology, const std::vector<std::vector<int>>& limits,
                           const Step& step) {
  std::vector<int> rounds(step.sends.size(), 0);
  if (!shares(topology, step)) return rounds;
  std::vector<int> order(step.sends.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) {
    const Link& link = topology.links[step.sends[i].link];
    return posting_distance(link.src, link.dst, topology.ranks);
  });
  const auto most = static_cast<std::size_t>(needed_rounds(topology, step));
  std::vector<Round> taken;
  for (const int i : order) {
    const LinkId link = step.sends[i].link;
    std::size_t round = 0;
    while (round < taken.size() && !taken[round].take(topology, link, limits[link])) ++round;
    if (round == taken.size()) {
      if (round == most) return std::vector<int>(step.sends.size(), 0);
      taken.emplace_back(topology);
      taken.back().take(topology, link, limits[link]);
    }
    rounds[i] = static_cast<int>(round);
  }
  return rounds;
}

}  // namespace

// Step s becomes steps first[s] .. first[s + 1] - 1. Messages are numbered as sends of the schedule, so the
// rounds of all steps one after the other are theirs by number.
Program serialize_ports(const Topology& topology, const Schedule& schedule, Program program) {
  if (abilities_of(topology).any()) return program;
  const auto limits = limits_by_link(topology);
  std::vector<int> round_of_message;
  for (const Step& step : schedule.steps) {
    const std::vector<int> rounds = rounds_of(topology, limits, step);
    round_of_message.insert(round_of_message.end(), rounds.begin(), rounds.end());
  }
  std::vector<int> last_round(program.steps);
  for_each_instruction(program, [&](Rank, int, int, const Instruction& i) {
    if (!is_local(i.does)) last_round[i.step] = std::max(last_round[i.step], round_of_message.at(i.message));
  });
  std::vector<int> first = {0};
  for (const int last : last_round) first.push_back(first.back() + last + 1);
  // No step was cut.
  if (first.back() == program.steps) return program;
  for_each_instruction(program, [&](Rank, int, int, Instruction& i) {
    i.step = is_local(i.does) ? first[i.step + 1] - 1 : first[i.step] + round_of_message[i.message];
  });
  for (RankProgram& rank : program.ranks)
    for (ThreadBlock& block : rank.blocks)
      std::ranges::stable_sort(block.instructions, {}, &Instruction::step);
  program.steps = first.back();
  return program;
}

}  // namespace chorale
