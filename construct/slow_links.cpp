// A copy may move to any step after its source has the chunk and before its destination sends it on. Steps
// with the fewest slow sends are emptied first, all of them or none.
//
// A step takes the latency of its slowest link, so one slow send that stays costs as much as all of them.
// Sends over other links stay where they are, and steps may become wider: the caller times the result.
#include "construct/slow_links.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace chorale {
namespace {

class SlowLinks {
 public:
  SlowLinks(const Topology& topology, const Collective& collective, const Schedule& schedule)
      : topology_(topology),
        collective_(collective),
        comes_(collective.chunks.size() * topology.ranks, -1),
        leaves_(comes_.size()),
        slow_of_(schedule.steps.size()) {
    for (const Link& link : topology.links) slowest_ = std::max(slowest_, link.alpha_us);
    for (int s = 0; s < std::ssize(schedule.steps); ++s)
      for (const Send& send : schedule.steps[s].sends) {
        const int number = static_cast<int>(sends_.size());
        sends_.push_back(send);
        step_of_.push_back(s);
        comes_[place_of(send.chunk, topology.links[send.link].dst)] = number;
        leaves_[place_of(send.chunk, topology.links[send.link].src)].push_back(number);
        if (topology.links[send.link].alpha_us == slowest_) slow_of_[s].push_back(number);
      }
  }

  // Greedy: the step with the fewest slow sends first, into the steps that still have some. A step that
  // cannot be emptied stays, and later ones may move into it.
  std::optional<Schedule> together() {
    std::vector<std::pair<std::size_t, int>> slow;  // steps by their slow sends
    std::set<int> left;
    for (int s = 0; s < std::ssize(slow_of_); ++s)
      if (!slow_of_[s].empty()) {
        slow.push_back({slow_of_[s].size(), s});
        left.insert(s);
      }
    std::ranges::sort(slow);
    const std::size_t before = left.size();
    for (const auto& [count, step] : slow) {
      left.erase(step);
      if (!empty(step, left)) left.insert(step);
    }
    if (left.size() == before) return std::nullopt;
    Schedule schedule = {.steps = std::vector<Step>(slow_of_.size())};
    for (std::size_t i = 0; i < sends_.size(); ++i) schedule.steps[step_of_[i]].sends.push_back(sends_[i]);
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
    for (Step& step : schedule.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    return schedule;
  }

 private:
  std::size_t place_of(Chunk chunk, Rank rank) const {
    return static_cast<std::size_t>(chunk) * topology_.ranks + rank;
  }

  // The nearest of the steps that the send may be in; -1 if there is none. After the step in which the source
  // gets the chunk, and before any in which the destination sends it on.
  int step_for(int number, const std::set<int>& steps) const {
    const Send& send = sends_[number];
    const Link& link = topology_.links[send.link];
    const int came =
        starts_at(collective_.chunks[send.chunk], link.src) ? -1 : comes_[place_of(send.chunk, link.src)];
    const int after = came < 0 ? -1 : step_of_[came];
    int before = static_cast<int>(slow_of_.size());
    for (const int next : leaves_[place_of(send.chunk, link.dst)]) before = std::min(before, step_of_[next]);
    const int now = step_of_[number];
    const auto above = steps.lower_bound(now);
    int best = -1;
    if (above != steps.begin() && *std::prev(above) > after) best = *std::prev(above);
    if (above != steps.end() && *above < before && (best < 0 || *above - now < now - best)) best = *above;
    return best;
  }

  // All slow sends of the step, or none. They move independently: of two that depend on each other one is in
  // an earlier step.
  bool empty(int step, const std::set<int>& others) {
    std::vector<std::pair<int, int>> moves;
    for (const int number : slow_of_[step]) {
      const int to = step_for(number, others);
      if (to < 0) return false;
      moves.emplace_back(number, to);
    }
    for (const auto& [number, to] : moves) {
      step_of_[number] = to;
      slow_of_[to].push_back(number);
    }
    slow_of_[step].clear();
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
  double slowest_ = 0;
  std::vector<Send> sends_ = {};
  std::vector<int> step_of_ = {};               // [send]
  std::vector<int> comes_ = {};                 // [chunk * ranks + rank] -> send; -1: none
  std::vector<std::vector<int>> leaves_ = {};   // [chunk * ranks + rank] -> sends
  std::vector<std::vector<int>> slow_of_ = {};  // [step] -> sends over the slowest links
};

}  // namespace

std::optional<Schedule> slow_links_together(const Topology& topology, const Collective& collective,
                                            const Schedule& schedule) {
  const auto alpha = [](const Link& link) { return link.alpha_us; };
  if (collective.combining || topology.links.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(topology.links, {}, alpha);
  if (least.alpha_us == most.alpha_us) return std::nullopt;
  return SlowLinks(topology, collective, schedule).together();
}

}  // namespace chorale
