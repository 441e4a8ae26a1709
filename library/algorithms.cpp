// A schedule is lowered when it is first chosen, since most never are. Reading is load_algorithms.cpp's.
//
// Two questions are kept apart. has() depends on the files alone and keeps nothing, so ranks that loaded the
// same files agree on it without communication. choose() searches symmetries, and may fail, or take the next
// best point, if lowering does: ranks that use it in a call compare its answers.
#include "library/algorithms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cost/cost.h"
#include "ir/shown.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "semantics/verify_routes.h"

namespace chorale {
namespace {

// Choices that are kept, by call. A program that changes its sizes with each call would fill the memory with
// them; what was lowered stays in Loaded, so a choice that was dropped costs only its search.
constexpr std::size_t kMostRemembered = 4096;

// Results of files and of libraries are verified: does the point do what was requested? The size comes before
// with_chunks() makes that many chunks: a short file can state any number of them.
Verification<Schedule> verified(const Result& result, const Point& point) {
  if (std::vector<Fault> faults = route_faults(result.topology, 1); !faults.empty())
    return {.fault = std::move(faults.front())};
  const Collective& asked = result.collective;
  if (std::string why = excess(asked, asked.kind, point.cost.chunks); !why.empty())
    return {.fault = Fault{.kind = Fault::Kind::Size, .words = std::move(why)}};
  return verify(result.topology, with_chunks(asked, point.cost.chunks), point);
}

// The point as a program of ranks with these names; empty: they are called as they are.
Verification<Program> program_of(const Result& result, const Point& point, const std::vector<Rank>& ranks,
                                 bool serialize_ports, const Lowering& lowered) {
  Verification<Schedule> schedule = verified(result, point);
  // renamed() keeps the order of links and chunks, so the schedule stays as it is, and is verified again on
  // the machine and for the collective of the other names.
  if (schedule.accepted && !ranks.empty())
    schedule = verify(renamed(schedule.accepted->topology(), ranks),
                      renamed(schedule.accepted->collective(), ranks), **schedule.accepted);
  if (!schedule.accepted) return {.fault = std::move(schedule.fault)};
  return lowered(*schedule.accepted, serialize_ports);
}

// Is a fixed order the same if ranks are renumbered?
bool keeps_tree(const Collective& collective, const std::vector<Rank>& ranks) {
  const SumOrder& order = collective.order;
  return order.kind != SumOrder::Kind::Fixed || renumbered(order.tree, ranks) == order.tree;
}

// The root is not compared: a symmetry may carry it to that of the call (Algorithms::names).
bool has_point_for(const Result& result, const std::vector<int>& counts, const CollectiveCall& call) {
  const Collective& asked = result.collective;
  return counts == call.counts && asked.kind == call.collective && asked.custom_name == call.custom_name &&
         asked.ranks == call.ranks && !result.points.empty();
}

std::string called(const CollectiveCall& call) {
  return call.counts.empty() ? name_of(call.collective) : call.custom_name + " of these counts";
}

// "4 + 2 on 2 hosts"
std::string places_in_words(const std::vector<RankLocation>& group) {
  std::map<int, int> ranks;
  for (const RankLocation& location : group) ++ranks[location.host];
  std::vector<int> counts;
  for (const auto& [host, count] : ranks) counts.push_back(count);
  return fmt::format("{} on {}", fmt::join(counts, " + "), counted(std::ssize(counts), "host"));
}

}  // namespace

// The renumbering of its ranks that makes its root that of the call; nullopt: no symmetry carries its root
// there.
std::optional<std::vector<Rank>> Algorithms::names(Loaded& loaded, const CollectiveCall& call,
                                                   std::vector<Rank> mapping) const {
  const Result& result = loaded.result;
  // Rank n of the result is symmetry[n] of its machine, and that rank is mapping[symmetry[n]] of the group:
  // the symmetry comes first.
  const auto called = [&](Rank n) { return mapping.empty() ? n : mapping[n]; };
  const Rank root = result.collective.root;
  if (!is_rooted(call.collective) || called(root) == call.root) return mapping;
  if (loaded.symmetries.empty()) loaded.symmetries = carrying(result.topology, root);
  for (const std::vector<Rank>& symmetry : loaded.symmetries) {
    if (symmetry.empty() || called(symmetry[root]) != call.root) continue;
    std::vector<Rank> ranks = symmetry;
    for (Rank& n : ranks) n = called(n);
    if (keeps_tree(result.collective, ranks)) return ranks;
  }
  return {};
}

// The rank of the group that each rank of the answer is to be. Empty: as they are numbered; nullopt: other
// hosts.
std::optional<std::vector<Rank>> Algorithms::mapping_of(const Loaded& loaded,
                                                        const std::vector<RankLocation>& group,
                                                        const std::string& failure) const {
  if (failure.empty()) {
    const bool is_known = !loaded.hosts.empty() && !group.empty();
    std::optional<std::vector<Rank>> mapping;
    if (!is_known) mapping.emplace();
    for (const std::vector<int>& hosts : loaded.hosts)
      if (is_known && !mapping) mapping = rank_mapping(hosts, group);
    return mapping;
  }
  auto [ranks, hosts_there] = loaded.failures.at(failure);
  if (hosts_there.empty() || group.empty()) return ranks;
  // What failed is named by the machine's numbers, so its ranks are matched, not those of the answer.
  std::vector<int> hosts(ranks.size());
  for (std::size_t n = 0; n < ranks.size(); ++n) hosts[ranks[n]] = hosts_there[n];
  const auto matched = rank_mapping(hosts, group);
  if (!matched) return {};
  for (Rank& n : ranks) n = (*matched)[n];
  return ranks;
}

// Algorithms whose hosts match those of the group, or, if there are none, those whose hosts are not known.
std::vector<Algorithms::Candidate> Algorithms::candidates(const CollectiveCall& call,
                                                          const std::vector<RankLocation>& group,
                                                          const std::string& failure, std::string& why) {
  std::vector<Candidate> known, unknown;
  bool other_hosts = false, other_root = false, ready = failure.empty();
  for (const std::unique_ptr<Loaded>& each : loaded_) {
    if (!has_point_for(each->result, each->counts, call)) continue;
    if (failure.empty() ? !each->of_whole : !each->failures.contains(failure)) continue;
    ready = true;
    const bool is_known = !each->hosts.empty() && !group.empty();
    std::optional<std::vector<Rank>> mapping = mapping_of(*each, group, failure);
    other_hosts = other_hosts || !mapping;
    if (!mapping) continue;
    if (std::ranges::is_sorted(*mapping)) mapping->clear();  // the identity
    // Counts are of ranks as they are numbered.
    if (!mapping->empty() && !call.counts.empty()) {
      other_hosts = true;
      continue;
    }
    // A tree over other ranks adds up in another order: other bits.
    if (!mapping->empty() && !keeps_tree(each->result.collective, *mapping)) continue;
    auto ranks = names(*each, call, *std::move(mapping));
    other_root = other_root || !ranks;
    if (ranks) (is_known ? known : unknown).push_back({.loaded = each.get(), .ranks = *std::move(ranks)});
  }
  if (!known.empty()) return known;
  if (unknown.empty() && has(call, why)) {
    if (!ready)
      why = fmt::format("no {} for {} ranks without {}", called(call), call.ranks, shown(failure));
    else if (other_root)
      why = fmt::format("no {} for {} ranks with root {}", name_of(call.collective), call.ranks, call.root);
    else if (other_hosts)
      why = fmt::format("no {} for {} ranks that sit {}", called(call), call.ranks, places_in_words(group));
  }
  return unknown;
}

bool Algorithms::has(const CollectiveCall& call, std::string& why) const {
  for (const std::unique_ptr<Loaded>& each : loaded_)
    if (has_point_for(each->result, each->counts, call)) return true;
  why = size_ == 0 ? "no algorithms were given" : fmt::format("no {} for {} ranks", called(call), call.ranks);
  return false;
}

// A few names show how failures are spelled here, such as "link 0-1".
std::string Algorithms::not_ready_for(const std::string& failure) const {
  std::set<std::string> ready;
  for (const std::unique_ptr<Loaded>& each : loaded_)
    for (const auto& [name, place] : each->failures) ready.insert(name);
  if (failure.empty() || ready.contains(failure)) return "";
  const std::vector<std::string> some(
      ready.begin(), std::next(ready.begin(), std::min<std::ptrdiff_t>(std::ssize(ready), 4)));
  return fmt::format("no algorithm is ready for the failure of '{}'; {}", shown(failure),
                     ready.empty()
                         ? "'chorale library build --failures 1' makes some"
                         : fmt::format("there are some for {}: {}{}", counted(std::ssize(ready), "failure"),
                                       fmt::join(some, ", "), ready.size() > some.size() ? ", ..." : ""));
}

const LoadedAlgorithm* Algorithms::choose(const CollectiveCall& call, const std::vector<RankLocation>& group,
                                          const Lowering& lowered, std::string& why,
                                          const std::string& failure) {
  std::tuple key{call, group, failure};
  if (const auto known = chosen_.find(key); known != chosen_.end()) return known->second;
  const std::vector<Candidate> all = candidates(call, group, failure, why);
  // Each iteration returns, or leaves one more point that is not usable.
  while (true) {
    std::optional<Choice> best;
    // Of the library's own collective, the least of all candidates' measurements.
    std::optional<double> own;
    for (int i = 0; i < std::ssize(all); ++i) {
      const Loaded& loaded = *all[i].loaded;
      const auto usable = [&](const Choice& choice) {
        const std::string& why_not = loaded.why_not[choice.point];
        if (!why_not.empty()) why = fmt::format("{}, point {}: {}", loaded.name, choice.point, why_not);
        return why_not.empty();
      };
      if (const auto took = measured_us(loaded.measured, MeasuredTime::kOwn, call.block_bytes))
        own = std::min(*took, own.value_or(*took));
      const auto choice = select({&loaded.result, 1}, call_of(loaded.result.collective, call.block_bytes),
                                 usable, {&loaded.measured, 1});
      // A measured time precedes any predicted one; of equals the first file stays.
      if (!choice ||
          (best && std::pair(!best->measured, best->us) <= std::pair(!choice->measured, choice->us)))
        continue;
      best = choice;
      best->result = i;
    }
    if (!best) return nullptr;
    Loaded& loaded = *all[best->result].loaded;
    const std::string name = fmt::format("{}, point {}{}", loaded.name, best->point,
                                         failure.empty() ? "" : ", after the failure of " + shown(failure));
    // Where the order of sums is fixed, the library's own collective is no alternative: it adds up otherwise.
    if (best->measured && own && *own < best->us && !fixed_order_) {
      why = fmt::format("its own was measured to be faster: {} against {} of {}", format_us(*own),
                        format_us(best->us), name);
      return nullptr;
    }
    const std::vector<Rank>& ranks = all[best->result].ranks;
    // Bytes of a chunk decide, since a message carries at least one.
    const bool serialize_ports =
        call.block_bytes / loaded.result.points[best->point].collective.chunks_per_block >
        serialized_above(loaded.result.topology);
    // Calls of several sizes may share a program; its address stays, since callers hold it.
    std::unique_ptr<LoadedAlgorithm>& algorithm = loaded.lowered[{best->point, serialize_ports, ranks}];
    if (!algorithm) {
      const Verification<Program> program =
          program_of(loaded.result, loaded.result.points[best->point], ranks, serialize_ports, lowered);
      if (!program.accepted) {
        loaded.why_not[best->point] = program.fault->words;
        continue;
      }
      algorithm = std::make_unique<LoadedAlgorithm>(LoadedAlgorithm{.number = loaded.number + best->point,
                                                                    .name = name,
                                                                    .program = *program.accepted,
                                                                    .steps = step_rows(*program.accepted)});
    }
    if (chosen_.size() >= kMostRemembered) chosen_.clear();
    return chosen_[std::move(key)] = algorithm.get();
  }
}

}  // namespace chorale
