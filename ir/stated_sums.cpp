// Files state how ranks add where that is not visible from the order of sends. A rank that receives several
// values of a chunk in a step adds them from the left in most cases: then its sends are listed in that order,
// and nothing else is stated. Other trees of additions are stated in brackets, after the sends.
#include "ir/stated_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/agreement.h"

namespace chorale {
namespace {

// What arrives at a rank of one chunk in a step, as positions in the list of sends.
struct Arrivals {
  std::optional<std::size_t> copy = {};
  std::vector<std::size_t> added = {};  // value k of SumMade is added[k - 1]
};

// One sum that a rank makes in a step: its additions, and the sends that bring the values. Value 0 is what
// the rank holds, or the copy that replaces it; value k is added[k - 1].
class StatedChunk {
 public:
  StatedChunk(const Topology& topology, const Step& step, const Arrivals& arrivals, const SumMade& made)
      : topology_(topology), step_(step), arrivals_(arrivals), made_(made) {}

  // Values in the order in which they are added from the left, what the rank holds first; none where the
  // additions are another tree.
  // A chain: each addition joins the running sum with a value not met before. The sum may be on either side,
  // since addition of two values is commutative, bit by bit.
  std::optional<std::vector<int>> from_the_left() const {
    std::vector<bool> met(arrivals_.added.size() + 1, false);
    // Value 0 comes first if it takes part at all; else the sum starts with what the first addition adds to.
    const bool holds =
        std::ranges::any_of(made_.additions, [](const Addition& a) { return a.into == 0 || a.from == 0; });
    int sum = holds ? 0 : made_.additions.front().into;
    std::vector<int> order = {sum};
    met[sum] = true;
    for (const auto& [into, from] : made_.additions) {
      const int other = into == sum ? from : into;
      if ((into != sum && from != sum) || met[other]) return std::nullopt;
      met[other] = true;
      order.push_back(other);
      sum = into;
    }
    return order;
  }

  // "((0 1) 2)": ranks stand for the values that they sent, the rank itself for what it held. Additions to
  // one value follow each other in one pair of brackets, so the closing one is written when the sum is used.
  std::string in_brackets() const {
    std::vector<std::string> sums(arrivals_.added.size() + 1);  // without the last bracket
    const auto whole = [&](int value) {
      return sums[value].empty() ? fmt::format("{}", rank_of(value)) : sums[value] + ")";
    };
    for (const auto& [into, from] : made_.additions) {
      const std::string more = " " + whole(from);
      if (sums[into].empty()) sums[into] = "(" + whole(into);
      sums[into] += more;
    }
    return whole(made_.additions.back().into);
  }

 private:
  Rank rank_of(int value) const {
    if (value > 0) return source(arrivals_.added[value - 1]);
    return arrivals_.copy ? source(*arrivals_.copy) : made_.rank;
  }
  Rank source(std::size_t send) const { return topology_.links[step_.sends[send].link].src; }

  const Topology& topology_;
  const Step& step_;
  const Arrivals& arrivals_;
  const SumMade& made_;
};

// A schedule from a file may be wrong; its sums are stated only if every number in it is one of the machine.
bool in_range(const Topology& topology, const Collective& collective, const Schedule& schedule) {
  return std::ranges::all_of(schedule.steps, [&](const Step& step) {
    return std::ranges::all_of(step.sends, [&](const Send& send) {
      return send.chunk >= 0 && send.chunk < std::ssize(collective.chunks) && send.link >= 0 &&
             send.link < std::ssize(topology.links) && topology.links[send.link].dst < collective.ranks &&
             topology.links[send.link].src < collective.ranks;
    });
  });
}

using ByChunkAndRank = std::map<std::pair<Chunk, Rank>, Arrivals>;

// Those of more than one send. A step may have millions of sends, mostly by chunk already: of a chunk there
// are few, and ranks are marked with the first send to each.
ByChunkAndRank several_arrivals(const Topology& topology, const Step& step) {
  std::vector<std::size_t> by_chunk(step.sends.size());
  std::iota(by_chunk.begin(), by_chunk.end(), std::size_t{0});
  const auto chunk = [&](std::size_t i) { return step.sends[i].chunk; };
  if (!std::ranges::is_sorted(by_chunk, {}, chunk)) std::ranges::stable_sort(by_chunk, {}, chunk);
  constexpr std::size_t kNone = -1;
  std::vector<std::size_t> first(topology.ranks, kNone);
  ByChunkAndRank several;
  const auto add = [&](Arrivals& there, std::size_t i) {
    if (step.sends[i].reduce)
      there.added.push_back(i);
    else
      there.copy = i;
  };
  for (std::size_t begin = 0, end = 0; begin < by_chunk.size(); begin = end) {
    for (; end < by_chunk.size() && chunk(by_chunk[end]) == chunk(by_chunk[begin]); ++end) {
      const std::size_t i = by_chunk[end];
      const Rank to = topology.links[step.sends[i].link].dst;
      if (first[to] == kNone) {
        first[to] = i;
        continue;
      }
      const auto [there, fresh] = several.try_emplace({chunk(i), to});
      if (fresh) add(there->second, first[to]);
      add(there->second, i);
    }
    for (std::size_t k = begin; k < end; ++k) first[topology.links[step.sends[by_chunk[k]].link].dst] = kNone;
  }
  return several;
}

// The sends of `from` take the places that they have together, in this order; all others stay where they are.
// Sends 2, 5 and 9 of a step, added as the values 3, 1, 2, become 9 at place 2, 2 at 5, and 5 at 9.
void put_in_order(const Step& step, const Arrivals& from, const std::vector<int>& values,
                  std::vector<Send>& sends) {
  std::vector<std::size_t> places = from.added, order;
  if (from.copy) {
    places.push_back(*from.copy);
    order.push_back(*from.copy);
  }
  std::ranges::sort(places);
  for (const int value : values)
    if (value > 0) order.push_back(from.added[value - 1]);
  if (order.size() != places.size()) return;  // a send of what its sender does not hold
  for (std::size_t i = 0; i < order.size(); ++i) sends[places[i]] = step.sends[order[i]];
}

}  // namespace

// Most schedules state nothing: sums are followed only for chunks of which a rank receives several values in
// one step.
std::vector<StatedStep> stated_steps(const Topology& topology, const Collective& collective,
                                     const Schedule& schedule) {
  std::vector<StatedStep> stated;
  for (const Step& step : schedule.steps) stated.push_back({.sends = step.sends});
  if (!collective.combining || !in_range(topology, collective, schedule)) return stated;
  std::vector<ByChunkAndRank> several;
  for (const Step& step : schedule.steps) several.push_back(several_arrivals(topology, step));
  if (std::ranges::all_of(several, &ByChunkAndRank::empty)) return stated;
  const SendsByChunk all = sends_by_chunk(collective, schedule);
  std::vector<char> may_differ(collective.chunks.size(), 0);
  for (const ByChunkAndRank& step : several)
    for (const auto& [place, arrivals] : step) may_differ[place.first] = 1;
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) {
    if (may_differ[c] == 0) continue;
    for (const SumMade& made : sums_of(topology, collective, c, all.of(c)).sums) {
      const std::size_t s = made.step - 1;
      const auto found = several[s].find({c, made.rank});
      if (found == several[s].end() || made.additions.empty()) continue;
      const StatedChunk sum(topology, schedule.steps[s], found->second, made);
      if (const std::optional<std::vector<int>> values = sum.from_the_left())
        put_in_order(schedule.steps[s], found->second, *values, stated[s].sends);
      else
        stated[s].sums.push_back({c, made.rank, sum.in_brackets()});
    }
  }
  for (StatedStep& step : stated)
    std::ranges::sort(step.sums, {}, [](const StatedSum& sum) { return std::pair(sum.chunk, sum.rank); });
  return stated;
}

}  // namespace chorale
