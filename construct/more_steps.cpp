// One round of a step becomes a step of its own, by first fit: a send stays behind where its link or a limit
// over it is full. The fewest rounds would be a colouring problem; here a round may be lost, and a caller
// that relies on none checks the cost. It ends, since a step of one round is not split, and the first send of
// what is left always has room.
//
// Copies may be taken apart anyhow, since a holder keeps its chunk. Of sums, a rank sends on the value that
// it had before the step, and of two arrivals the one that replaces comes first: so an arrival waits for the
// readers and the replacing sends there. Ranks that exchange what they have wait for each other; in the order
// of the sends, which is that of the chunks, they mostly stay together, and the verifier decides whether the
// result is correct.
#include "construct/more_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "semantics/verify.h"

namespace chorale {
namespace {

// What links and limits still carry in a round. What a limit counts once has room there if it is there.
class Room {
 public:
  explicit Room(const Topology& topology) : topology_(&topology), limits_of_(topology.links.size()) {
    for (const Link& link : topology.links) links_.push_back(link.bandwidth);
    for (std::size_t z = 0; z < topology.limits.size(); ++z) {
      limits_.push_back(topology.limits[z].bandwidth);
      for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(z);
    }
  }

  bool take(const Send& send) {
    const LinkId l = send.link;
    if (links_[l] == 0) return false;
    for (std::size_t z : limits_of_[l])
      if (limits_[z] == 0 && !carried(z, send)) return false;
    --links_[l];
    for (std::size_t z : limits_of_[l]) {
      if (carried(z, send)) continue;
      --limits_[z];
      if (able(z)) carried_.insert({z, counted_as(*topology_, topology_->limits[z], send)});
    }
    return true;
  }

 private:
  bool able(std::size_t z) const { return topology_->limits[z].abilities.any(); }
  bool carried(std::size_t z, const Send& send) const {
    return able(z) && carried_.contains({z, counted_as(*topology_, topology_->limits[z], send)});
  }

  const Topology* topology_;
  std::set<std::pair<std::size_t, CountedOnce>> carried_ = {};
  std::vector<int> links_ = {}, limits_ = {};
  std::vector<std::vector<std::size_t>> limits_of_;
};

using Value = std::pair<Rank, Chunk>;  // what a rank has of a chunk

class Splitter {
 public:
  explicit Splitter(const Topology& topology) : topology_(topology), empty_(topology) {}

  // The sends of the first round, and the rest. One that stays behind makes others stay: those that would
  // change what it has yet to read, and those that would add to what it has yet to replace.
  std::pair<Step, Step> split(std::vector<Send> sends) const {
    Room room = empty_;
    Step first, rest;
    std::set<Value> to_be_read, to_be_replaced;
    for (const Send& send : in_order(std::move(sends))) {
      const bool waits =
          to_be_read.contains(target(send)) || (send.reduce && to_be_replaced.contains(target(send)));
      if (!waits && room.take(send)) {
        first.sends.push_back(send);
        continue;
      }
      to_be_read.insert(source(send));
      if (!send.reduce) to_be_replaced.insert(target(send));
      rest.sends.push_back(send);
    }
    std::ranges::sort(first.sends);
    std::ranges::sort(rest.sends);
    return {std::move(first), std::move(rest)};
  }

 private:
  Value source(const Send& send) const { return {topology_.links[send.link].src, send.chunk}; }
  Value target(const Send& send) const { return {topology_.links[send.link].dst, send.chunk}; }

  // Sends that read or replace a value come before sends that add to it. `before` counts, for each value, the
  // reads and replacements still to come; a send that replaces counts itself, so it may go at 1. Each pass
  // takes the sends that may go. Sends that wait in a cycle (two ranks that exchange sums) are last, in their
  // old order.
  std::vector<Send> in_order(std::vector<Send> sends) const {
    std::ranges::stable_sort(sends, {}, &Send::chunk);
    std::map<Value, int> before;  // reads and replacements still to come
    for (const Send& send : sends) {
      ++before[source(send)];
      if (!send.reduce) ++before[target(send)];
    }
    const auto waits = [&](const Send& send) { return before[target(send)] > (send.reduce ? 0 : 1); };
    std::vector<Send> ordered;
    for (std::size_t taken = 1; taken > 0;) {
      std::vector<Send> waiting;
      for (const Send& send : sends) {
        if (waits(send)) {
          waiting.push_back(send);
          continue;
        }
        --before[source(send)];
        if (!send.reduce) --before[target(send)];
        ordered.push_back(send);
      }
      taken = sends.size() - waiting.size();
      sends = std::move(waiting);
    }
    ordered.insert(ordered.end(), sends.begin(), sends.end());
    return ordered;
  }

  const Topology& topology_;
  const Room empty_;
};

}  // namespace

std::optional<Schedule> in_more_steps(const Topology& topology, const Collective& collective,
                                      const Schedule& schedule, int extra, int* first_steps) {
  if (total_rounds(schedule) - static_cast<int>(schedule.steps.size()) <= extra) return schedule;
  const Splitter splitter(topology);
  Schedule split = schedule;
  std::size_t at = 0;
  // Steps before `at` have one round each. If rounds exceed steps by too many, some step from `at` on has
  // two.
  while (total_rounds(split) > static_cast<int>(split.steps.size()) + extra) {
    while (split.steps[at].rounds == 1) ++at;
    auto [first, rest] = splitter.split(split.steps[at].sends);
    if (rest.sends.empty()) {  // it had more rounds than it needs
      split.steps[at].rounds = 1;
      continue;
    }
    rest.rounds = needed_rounds(topology, rest);
    split.steps[at] = std::move(first);
    if (first_steps != nullptr && std::cmp_less(at, *first_steps)) ++*first_steps;
    split.steps.insert(split.steps.begin() + static_cast<std::ptrdiff_t>(++at), std::move(rest));
  }
  if (!violations(topology, collective, split, 1).empty()) return std::nullopt;
  return split;
}

bool fit_in_more_steps(const Topology& topology, Point& point, int extra) {
  if (point.cost.rounds - point.cost.steps <= extra) return true;
  int border = point.reduce_scatter_steps;
  std::optional<Schedule> split = in_more_steps(topology, point.collective, point.schedule, extra, &border);
  if (!split) return false;
  point.reduce_scatter_steps = border;
  point.cost = cost_of(*split, point.cost.chunks);
  point.schedule = std::move(*split);
  return true;
}

}  // namespace chorale
