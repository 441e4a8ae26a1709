// One round of a step becomes a step of its own, by first fit in the order of the sends: a send stays behind
// where its link or a limit over it is full. The fewest rounds would be a colouring problem; here a round may be
// lost, and whoever counts on none looks at the cost. It ends, since a step of one round is not split.
// Copies may be taken apart anyhow, since who has a chunk keeps it. A sum may not, where a rank sends in the
// same step in which it receives: the referee says whether it came out right.
#include "construct/more_steps.h"

#include <algorithm>
#include <vector>

#include "semantics/verify.h"

namespace chorale {
namespace {

// What links and limits still carry in a round.
class Room {
 public:
  explicit Room(const Topology& topology) : limits_of_(topology.links.size()) {
    for (const Link& link : topology.links) links_.push_back(link.bandwidth);
    for (std::size_t z = 0; z < topology.limits.size(); ++z) {
      limits_.push_back(topology.limits[z].bandwidth);
      for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(z);
    }
  }

  bool take(LinkId l) {
    if (links_[l] == 0) return false;
    for (std::size_t z : limits_of_[l])
      if (limits_[z] == 0) return false;
    --links_[l];
    for (std::size_t z : limits_of_[l]) --limits_[z];
    return true;
  }

 private:
  std::vector<int> links_ = {}, limits_ = {};
  std::vector<std::vector<std::size_t>> limits_of_;
};

// The rounds that the fullest link or limit needs.
int rounds_of(const Topology& topology, const std::vector<Send>& sends) {
  std::vector<int> load(topology.links.size(), 0);
  for (const Send& send : sends) ++load[send.link];
  int rounds = 1;
  const auto carry = [&rounds](int number, int bandwidth) {
    rounds = std::max(rounds, (number + bandwidth - 1) / bandwidth);
  };
  for (std::size_t l = 0; l < load.size(); ++l) carry(load[l], topology.links[l].bandwidth);
  for (const SharedLimit& limit : topology.limits) {
    int together = 0;
    for (LinkId l : limit.links) together += load[l];
    carry(together, limit.bandwidth);
  }
  return rounds;
}

}  // namespace

std::optional<Schedule> in_more_steps(const Topology& topology, const Collective& collective,
                                      const Schedule& schedule, int extra) {
  const Room empty(topology);
  Schedule split = schedule;
  std::size_t at = 0;
  while (total_rounds(split) > static_cast<int>(split.steps.size()) + extra) {
    while (split.steps[at].rounds == 1) ++at;
    Room room = empty;
    Step first, rest;
    for (const Send& send : split.steps[at].sends)
      (room.take(send.link) ? first : rest).sends.push_back(send);
    if (rest.sends.empty()) {  // it had more rounds than it needs
      split.steps[at].rounds = 1;
      continue;
    }
    rest.rounds = rounds_of(topology, rest.sends);
    split.steps[at] = std::move(first);
    split.steps.insert(split.steps.begin() + static_cast<std::ptrdiff_t>(++at), std::move(rest));
  }
  if (!violations(topology, collective, split, 1).empty()) return std::nullopt;
  return split;
}

}  // namespace chorale
