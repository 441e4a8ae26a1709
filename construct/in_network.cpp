// A switch that multicasts and reduces does in one step what ranks do with a tree in several, so the simplest
// plans are the best: all ranks send directly. Broadcast, Allgather, ReduceScatter and AllReduce are then as
// fast as a rank's own cable, in one step. What remains to choose is the link, where switches leave several
// paths: the one that adds least to the load of the wires; a value that a wire carries already adds nothing.
//
// Between switches sums count for each destination and copies for each source, so there an AllReduce in one
// step is expensive; with an owner each wire has the sum once and the result once. One step after the other
// would leave half of each cable idle: hence waves.
#include "construct/in_network.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "construct/spreading.h"

namespace chorale {
namespace {

constexpr double kMostDirectSends = 4e6;  // of all schedules tried: a second or two
constexpr std::size_t kMostSources = 8;   // that are examined for a copy
constexpr int kMostWaves = 64;

// One step that is being filled, and what links and limits carry in it. What a limit counts once (counted_as,
// ir/topology.h) is kept as a set by limit: further sends of it cost nothing there.
class DirectSends {
 public:
  explicit DirectSends(const Topology& topology)
      : topology_(topology), limits_of_(topology.links.size()), on_link_(topology.links.size(), 0) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      between_[{topology.links[l].src, topology.links[l].dst}].push_back(l);
    for (std::size_t z = 0; z < topology.limits.size(); ++z)
      for (LinkId l : topology.limits[z].links) limits_of_[l].push_back(z);
    on_limit_.resize(topology.limits.size());
  }

  // From one of them, whichever costs least; false where none has a link to it.
  bool send(Chunk c, std::span<const Rank> from, Rank to, bool reduce) {
    std::optional<std::pair<Cost, Send>> best;
    for (Rank n : from) {
      const auto links = between_.find({n, to});
      if (links == between_.end()) continue;
      for (LinkId l : links->second) {
        const Send one{.chunk = c, .link = l, .reduce = reduce};
        if (const Cost cost = cost_of(one); !best || cost < best->first) best = {cost, one};
      }
    }
    if (!best) return false;
    const Send& chosen = best->second;
    ++on_link_[chosen.link];
    for (std::size_t z : limits_of_[chosen.link])
      on_limit_[z].insert(counted_as(topology_, topology_.limits[z], chosen));
    step_.sends.push_back(chosen);
    return true;
  }

  Step take() {
    Step step = std::exchange(step_, {});
    for (const Send& send : step.sends) {
      on_link_[send.link] = 0;
      for (std::size_t z : limits_of_[send.link]) on_limit_[z].clear();
    }
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology_, step);
    return step;
  }

 private:
  using Cost =
      std::pair<double, double>;  // rounds of the fullest wire with it, and rounds that it adds to all

  Cost cost_of(const Send& send) const {
    const double width = topology_.links[send.link].bandwidth;
    Cost cost{(on_link_[send.link] + 1) / width, 1 / width};
    for (std::size_t z : limits_of_[send.link]) {
      const int fresh = on_limit_[z].contains(counted_as(topology_, topology_.limits[z], send)) ? 0 : 1;
      const double all = topology_.limits[z].bandwidth;
      cost.first = std::max(cost.first, static_cast<double>(on_limit_[z].size() + fresh) / all);
      cost.second += fresh / all;
    }
    return cost;
  }

  const Topology& topology_;
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> between_ = {};
  std::vector<std::vector<std::size_t>> limits_of_;
  std::vector<int> on_link_;
  std::vector<std::set<CountedOnce>> on_limit_ = {};
  Step step_ = {};
};

// All contributions to one rank; the first of them replaces what is there, if that is none.
bool add_up_at(DirectSends& sends, const ChunkSpec& spec, Chunk c, Rank to) {
  bool adds = starts_at(spec, to);
  for (Rank n : spec.pre) {
    if (n == to) continue;
    if (!sends.send(c, std::span(&n, 1), to, adds)) return false;
    adds = true;
  }
  return true;
}

// After a send without a link the others are not tried, but the step is taken all the same, which empties it
// for the next schedule.
std::optional<Schedule> in_one_step(DirectSends& sends, const Collective& collective) {
  bool possible = true;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    const std::vector<Rank> sources(spec.pre.begin(),
                                    spec.pre.begin() + std::min(kMostSources, spec.pre.size()));
    for (Rank to : spec.post)
      if (collective.combining)
        possible = possible && add_up_at(sends, spec, c, to);
      else if (!starts_at(spec, to))
        possible = possible && sends.send(c, sources, to, false);
  }
  Step step = sends.take();
  if (!possible || step.sends.empty()) return std::nullopt;
  return Schedule{.steps = {std::move(step)}};
}

// Chunks go in waves in the order of their numbers, and round-robin to the ranks that need them, so that each
// wave has equally many of each owner.
std::optional<Schedule> by_owners(DirectSends& sends, const Collective& collective, int waves) {
  const int chunks = static_cast<int>(collective.chunks.size());
  const auto owner = [&](Chunk c) {
    const RankSet& post = collective.chunks[c].post;
    return *(post.begin() + c % static_cast<int>(post.size()));
  };
  const auto first_of = [&](int wave) {
    return static_cast<Chunk>(static_cast<long long>(chunks) * wave / waves);
  };
  Schedule schedule;
  for (int wave = 0; wave <= waves; ++wave) {
    bool possible = true;
    if (wave < waves)
      for (Chunk c = first_of(wave); c < first_of(wave + 1); ++c)
        possible = possible &&
                   (collective.chunks[c].post.empty() || add_up_at(sends, collective.chunks[c], c, owner(c)));
    if (wave > 0)
      for (Chunk c = first_of(wave - 1); c < first_of(wave); ++c)
        for (Rank to : collective.chunks[c].post)
          if (const Rank from = owner(c); to != from)
            possible = possible && sends.send(c, std::span(&from, 1), to, false);
    Step step = sends.take();
    if (!possible) return std::nullopt;
    if (!step.sends.empty()) schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

double sends_in_one_step(const Collective& collective) {
  double sends = 0;
  for (const ChunkSpec& spec : collective.chunks)
    sends += static_cast<double>(spec.post.size()) *
             (collective.combining ? static_cast<double>(spec.pre.size()) : 1);
  return sends;
}

}  // namespace

std::vector<Schedule> over_switches(const Topology& topology, const Collective& collective) {
  std::vector<Schedule> schedules;
  if (!abilities_of(topology).any()) return schedules;
  DirectSends sends(topology);
  double left = kMostDirectSends - sends_in_one_step(collective);
  if (left >= 0)
    if (std::optional<Schedule> made = in_one_step(sends, collective)) schedules.push_back(std::move(*made));
  const bool owned =
      collective.combining &&
      std::ranges::any_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() > 1; });
  if (!owned) return schedules;
  double each = 0;
  for (const ChunkSpec& spec : collective.chunks)
    each += static_cast<double>(spec.pre.size() + spec.post.size());
  const int chunks = static_cast<int>(collective.chunks.size());
  // More waves overlap better and take more steps. Their number grows by half, and all schedules together
  // stay within kMostDirectSends.
  for (int waves = 1; waves <= std::min(chunks, kMostWaves) && left >= each; waves += 1 + waves / 2) {
    left -= each;
    std::optional<Schedule> made = by_owners(sends, collective, waves);
    if (!made) break;
    keep_undominated(schedules, std::move(*made));
  }
  return schedules;
}

}  // namespace chorale
