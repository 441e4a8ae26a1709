// A copy may move to any step after its source has the chunk and before its destination sends it on. Steps
// with the fewest slow sends are emptied first, all of them or none.
#include "construct/slow_links.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace chorale {
namespace {

class SlowLinks {
 public:
  SlowLinks(const Topology& topology, const Collective& collective, Schedule schedule)
      : topology_(topology), collective_(collective), schedule_(std::move(schedule)) {
    for (const Link& link : topology.links) slowest_ = std::max(slowest_, link.alpha_us);
    for (int s = 0; s < steps(); ++s)
      for (const Send& send : schedule_.steps[s].sends) {
        comes_[{send.chunk, to(send)}] = s;
        int& first = leaves_.try_emplace({send.chunk, from(send)}, s).first->second;
        first = std::min(first, s);
      }
  }

  std::optional<Schedule> together() {
    std::vector<std::pair<std::ptrdiff_t, int>> slow;  // steps by their slow sends
    for (int s = 0; s < steps(); ++s)
      if (const auto count = std::ranges::count_if(schedule_.steps[s].sends,
                                                   [&](const Send& send) { return is_slow(send); });
          count > 0)
        slow.push_back({count, s});
    std::ranges::sort(slow);
    bool moved = false;
    for (std::size_t i = 0; i + 1 < slow.size(); ++i) {
      std::vector<int> others;
      for (std::size_t k = 0; k < slow.size(); ++k)
        if (k != i && slow[k].first > 0) others.push_back(slow[k].second);
      if (!empty(slow[i].second, others)) continue;
      slow[i].first = 0;
      moved = true;
    }
    if (!moved) return std::nullopt;
    for (Step& step : schedule_.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    std::erase_if(schedule_.steps, [](const Step& step) { return step.sends.empty(); });
    return std::move(schedule_);
  }

 private:
  int steps() const { return static_cast<int>(schedule_.steps.size()); }
  Rank from(const Send& send) const { return topology_.links[send.link].src; }
  Rank to(const Send& send) const { return topology_.links[send.link].dst; }
  bool is_slow(const Send& send) const { return topology_.links[send.link].alpha_us == slowest_; }

  // The nearest of the steps that the send may be in; -1 if there is none.
  int place(const Send& send, int now, const std::vector<int>& steps) const {
    const auto came = comes_.find({send.chunk, from(send)});
    const int after =
        starts_at(collective_.chunks[send.chunk], from(send)) || came == comes_.end() ? -1 : came->second;
    const auto leaves = leaves_.find({send.chunk, to(send)});
    int best = -1;
    for (const int s : steps)
      if (s > after && (leaves == leaves_.end() || s < leaves->second) &&
          (best < 0 || std::abs(s - now) < std::abs(best - now)))
        best = s;
    return best;
  }

  bool empty(int step, const std::vector<int>& others) {
    std::vector<Send>& sends = schedule_.steps[step].sends;
    std::vector<std::pair<Send, int>> moves;
    for (const Send& send : sends)
      if (is_slow(send)) moves.emplace_back(send, place(send, step, others));
    if (std::ranges::any_of(moves, [](const auto& move) { return move.second < 0; })) return false;
    std::erase_if(sends, [&](const Send& send) { return is_slow(send); });
    for (const auto& [send, s] : moves) {
      schedule_.steps[s].sends.push_back(send);
      comes_[{send.chunk, to(send)}] = s;
    }
    // Sends of one chunk by one rank may have moved apart.
    leaves_.clear();
    for (int s = steps() - 1; s >= 0; --s)
      for (const Send& send : schedule_.steps[s].sends) leaves_[{send.chunk, from(send)}] = s;
    return true;
  }

  const Topology& topology_;
  const Collective& collective_;
  Schedule schedule_;
  double slowest_ = 0;
  std::map<std::pair<Chunk, Rank>, int> comes_ = {};   // in which step
  std::map<std::pair<Chunk, Rank>, int> leaves_ = {};  // in which step first
};

}  // namespace

std::optional<Schedule> slow_links_together(const Topology& topology, const Collective& collective,
                                            Schedule schedule) {
  const auto alpha = [](const Link& link) { return link.alpha_us; };
  if (collective.combining || topology.links.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(topology.links, {}, alpha);
  if (least.alpha_us == most.alpha_us) return std::nullopt;
  return SlowLinks(topology, collective, std::move(schedule)).together();
}

}  // namespace chorale
