// Constructions for switches that copy and add.
//
// A switch that multicasts and reduces does in one step what ranks do with a tree in several, so the simplest
// plans are the best: all ranks send directly. Broadcast, Allgather, ReduceScatter and AllReduce are then as
// fast as a rank's own cable, in one step. What remains to choose is the link, where switches leave several
// paths: the one that adds least to the load of the wires; a value that a wire carries already adds nothing.
//
// Between switches sums count for each destination and copies for each source, so there an AllReduce in one
// step is expensive; with an owner each wire has the sum once and the result once. One step after the other
// would leave half of each cable idle: hence waves. Where a network of ranks that pass on joins units of such
// switches (nodes over their rails), each unit has an owner, and owners add up among themselves.
#include "construct/in_network.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "construct/engine/spreading.h"
#include "graph/components.h"

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
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      std::vector<LinkId>& links = between_[{topology.links[l].src, topology.links[l].dst}];
      links.push_back(l);
      may_choose_ = may_choose_ || links.size() > 1;
    }
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
      if (!may_choose_ && from.size() == 1) {
        step_.sends.push_back({.chunk = c, .link = links->second.front(), .reduce = reduce});
        return true;
      }
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
  bool may_choose_ = false;  // have two ranks several links? Else loads need not be known
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

// Ranks that switches with abilities join: within such a unit these copy and add, between units ranks pass
// on. By unit; of a machine without abilities each rank is one.
std::vector<std::vector<Rank>> units_of(const Topology& topology) {
  std::vector<std::vector<Node>> joined(static_cast<std::size_t>(topology.ranks));
  for (const SharedLimit& limit : topology.limits)
    for (const LinkId l : limit.links)
      if (limit.abilities.any()) {
        joined[topology.links[l].src].push_back(topology.links[l].dst);
        joined[topology.links[l].dst].push_back(topology.links[l].src);
      }
  const std::vector<int> unit = strong_components(
      topology.ranks, [&](Node n) -> const auto& { return joined[n]; });
  std::map<int, std::vector<Rank>> members;
  for (Rank n = 0; n < topology.ranks; ++n) members[unit[n]].push_back(n);
  std::vector<std::vector<Rank>> units;
  for (auto& [number, ranks] : members) units.push_back(std::move(ranks));
  return units;
}

// What becomes of a chunk, phase by phase: in each unit the rank that owns it adds up what the others of the
// unit contribute; one of these owners adds up their sums; it sends the result to them; and each copies it to
// its unit. Of one unit the first and the last are left.
class OwnedChunk {
 public:
  OwnedChunk(const ChunkSpec& spec, Chunk c, const std::vector<std::vector<Rank>>& units)
      : spec_(spec), chunk_(c) {
    for (const std::vector<Rank>& unit : units) {
      std::vector<Rank> members;
      std::ranges::set_intersection(unit, spec.post, std::back_inserter(members));
      if (members.empty()) continue;
      if (std::ranges::find(members, *spec.pre.begin()) != members.end()) begins_ = std::ssize(owners_);
      owners_.push_back(members[static_cast<std::size_t>(c) % members.size()]);
      members_.push_back(std::move(members));
    }
    // Round-robin over the units, after a round over the ranks of each.
    if (!owners_.empty()) home_ = static_cast<std::size_t>(c) / members_.front().size() % owners_.size();
  }

  bool is_of_one_unit() const { return owners_.size() <= 1; }
  // Several units add up only what those that want it contribute, and copy what begins at one that wants it.
  bool is_possible(bool combining) const {
    return combining ? is_of_one_unit() || spec_.pre == spec_.post : spec_.pre.size() == 1 && begins_ >= 0;
  }
  std::size_t units() const { return owners_.size(); }

  // Each is false where ranks that would have to send to each other have no link.
  bool add_in_units(DirectSends& sends) const {
    if (owners_.size() == 1) return add_up_at(sends, spec_, chunk_, owners_.front());
    return each_of_unit([&](Rank owner, Rank n) { return send(sends, n, owner, true); });
  }
  bool add_between(DirectSends& sends) const {
    return each_owner([&](Rank owner) { return send(sends, owner, owners_[home_], true); });
  }
  bool copy_between(DirectSends& sends) const {
    return each_owner([&](Rank owner) { return send(sends, owners_[home_], owner, false); });
  }
  bool copy_in_units(DirectSends& sends) const {
    return each_of_unit([&](Rank owner, Rank n) { return send(sends, owner, n, false); });
  }

  // Copies, phase by phase: to the whole unit in which the chunk begins; from owner to owner, one unit
  // further in each phase; and in the other units from their owners to the rest.
  bool copy_where_it_begins(DirectSends& sends) const {
    const Rank source = *spec_.pre.begin();
    return std::ranges::all_of(members_[begins_],
                               [&](Rank n) { return n == source || send(sends, source, n, false); });
  }
  bool copy_to_next_unit(DirectSends& sends, std::size_t hop) const {
    const auto at = [&](std::size_t hops) { return owners_[(begins_ + hops) % owners_.size()]; };
    return hop >= owners_.size() || send(sends, at(hop - 1), at(hop), false);
  }
  bool copy_where_it_came(DirectSends& sends, std::size_t hop) const {
    if (hop >= owners_.size()) return true;
    const std::size_t u = (begins_ + hop) % owners_.size();
    return std::ranges::all_of(members_[u],
                               [&](Rank n) { return n == owners_[u] || send(sends, owners_[u], n, false); });
  }

 private:
  bool send(DirectSends& sends, Rank from, Rank to, bool reduce) const {
    return sends.send(chunk_, std::span(&from, 1), to, reduce);
  }
  template <typename Does>
  bool each_of_unit(const Does& does) const {
    for (std::size_t u = 0; u < owners_.size(); ++u)
      for (const Rank n : members_[u])
        if (n != owners_[u] && !does(owners_[u], n)) return false;
    return true;
  }
  template <typename Does>
  bool each_owner(const Does& does) const {
    return std::ranges::all_of(owners_, [&](Rank owner) { return owner == owners_[home_] || does(owner); });
  }

  const ChunkSpec& spec_;
  const Chunk chunk_;
  std::vector<std::vector<Rank>> members_ = {};  // that want the chunk, by unit
  std::vector<Rank> owners_ = {};
  std::size_t home_ = 0;        // the unit whose owner has the whole sum
  std::ptrdiff_t begins_ = -1;  // the unit in which a copy begins; -1: in none that wants it
};

// Chunks go in waves in the order of their numbers, and round-robin to the ranks that need them, so that each
// wave has equally many of each owner.
using SwitchPhase = std::function<bool(const OwnedChunk&, DirectSends&)>;

std::vector<SwitchPhase> switch_phases(bool combining, std::size_t units) {
  if (combining && units <= 1) return {&OwnedChunk::add_in_units, &OwnedChunk::copy_in_units};
  if (combining)
    return {&OwnedChunk::add_in_units, &OwnedChunk::add_between, &OwnedChunk::copy_between,
            &OwnedChunk::copy_in_units};
  // A unit copies what has come while it is on its way to the next one.
  std::vector<SwitchPhase> phases = {&OwnedChunk::copy_where_it_begins};
  for (std::size_t hop = 1; hop <= units; ++hop)
    phases.push_back([hop](const OwnedChunk& chunk, DirectSends& sends) {
      return chunk.copy_to_next_unit(sends, hop) && (hop == 1 || chunk.copy_where_it_came(sends, hop - 1));
    });
  return phases;
}

std::optional<Schedule> by_owners(DirectSends& sends, const std::vector<OwnedChunk>& chunks,
                                  const std::vector<SwitchPhase>& phases, int waves) {
  const auto first_of = [&](int wave) { return std::ssize(chunks) * wave / waves; };
  Schedule schedule;
  for (int at = 0; at < waves + static_cast<int>(phases.size()) - 1; ++at) {
    bool possible = true;
    for (int p = 0; p < std::ssize(phases); ++p) {
      if (at - p < 0 || at - p >= waves) continue;
      for (auto c = first_of(at - p); c < first_of(at - p + 1); ++c)
        possible = possible && phases[p](chunks[c], sends);
    }
    Step step = sends.take();
    if (!possible) return std::nullopt;
    if (!step.sends.empty()) schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

bool starts_everywhere(const Collective& collective) {
  return std::ranges::none_of(collective.chunks, [](const ChunkSpec& spec) { return spec.pre.empty(); });
}

double sends_in_one_step(const Collective& collective) {
  double sends = 0;
  for (const ChunkSpec& spec : collective.chunks)
    sends += static_cast<double>(spec.post.size()) *
             (collective.combining ? static_cast<double>(spec.pre.size()) : 1);
  return sends;
}

}  // namespace

std::vector<Schedule> in_network(const Topology& topology, const Collective& collective) {
  std::vector<Schedule> schedules;
  if (!abilities_of(topology).any()) return schedules;
  DirectSends sends(topology);
  double left = kMostDirectSends - sends_in_one_step(collective);
  if (left >= 0)
    if (std::optional<Schedule> made = in_one_step(sends, collective)) schedules.push_back(std::move(*made));
  const bool owned =
      std::ranges::any_of(collective.chunks, [](const ChunkSpec& spec) { return spec.post.size() > 1; });
  if (!owned || !starts_everywhere(collective)) return schedules;
  const std::vector<std::vector<Rank>> units = units_of(topology);
  std::vector<OwnedChunk> owned_chunks;
  double each = 0;
  std::size_t most_units = 0;
  for (const ChunkSpec& spec : collective.chunks) {
    owned_chunks.emplace_back(spec, static_cast<Chunk>(std::ssize(owned_chunks)), units);
    if (!owned_chunks.back().is_possible(collective.combining)) return schedules;
    most_units = std::max(most_units, owned_chunks.back().units());
    each += static_cast<double>(spec.pre.size() + spec.post.size());
  }
  if (!collective.combining && most_units <= 1) return schedules;  // one step has done that
  const std::vector<SwitchPhase> phases = switch_phases(collective.combining, most_units);
  const int chunks = static_cast<int>(collective.chunks.size());
  // More waves overlap better and take more steps. Their number grows by half, and all schedules together
  // stay within kMostDirectSends.
  for (int waves = 1; waves <= std::min(chunks, kMostWaves) && left >= each; waves += 1 + waves / 2) {
    left -= each;
    std::optional<Schedule> made = by_owners(sends, owned_chunks, phases, waves);
    if (!made) break;
    keep_undominated(schedules, std::move(*made));
  }
  return schedules;
}

}  // namespace chorale
