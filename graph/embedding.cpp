// Ranks, links and chunks of the sub-machine are indices into three lists: a schedule is carried over by one
// lookup per number, and a composition by two. Steps stay as they are. Rounds do not: they are counted again
// on the whole machine, whose links may be slower and whose shared limits may contain further links.
#include "graph/embedding.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace chorale {
namespace {

std::vector<int> numbers(std::size_t count) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

std::vector<int> through(const std::vector<int>& inner, const std::vector<int>& outer) {
  std::vector<int> result;
  for (int i : inner) result.push_back(outer[i]);
  return result;
}

}  // namespace

Embedding identity(const Topology& topology, const Collective& collective) {
  return {.ranks = numbers(topology.ranks),
          .links = numbers(topology.links.size()),
          .chunks = numbers(collective.chunks.size())};
}

Embedding compose(const Embedding& inner, const Embedding& outer) {
  return {.ranks = through(inner.ranks, outer.ranks),
          .links = through(inner.links, outer.links),
          .chunks = through(inner.chunks, outer.chunks)};
}

// Links keep their order, and what they cost. Limits that lose all their links are left out.
Topology part_at(const Topology& whole, const std::vector<Rank>& ranks) {
  std::vector<Rank> place(whole.ranks, -1);
  for (std::size_t n = 0; n < ranks.size(); ++n) place[ranks[n]] = static_cast<Rank>(n);
  Topology part{.name = whole.name, .ranks = static_cast<int>(ranks.size()), .call_us = whole.call_us};
  std::vector<LinkId> number(whole.links.size(), -1);
  for (std::size_t l = 0; l < whole.links.size(); ++l) {
    Link link = whole.links[l];
    link.src = place[link.src];
    link.dst = place[link.dst];
    if (link.src < 0 || link.dst < 0) continue;
    number[l] = static_cast<LinkId>(part.links.size());
    part.links.push_back(link);
  }
  for (const SharedLimit& limit : whole.limits) {
    // As wide as before, though the links that are left out may need some of it: a part knows nothing of its
    // neighbours.
    SharedLimit kept{.name = limit.name, .bandwidth = limit.bandwidth, .abilities = limit.abilities};
    for (LinkId l : limit.links)
      if (number[l] >= 0) kept.links.push_back(number[l]);
    if (!kept.links.empty()) part.limits.push_back(std::move(kept));
  }
  return part;
}

// Sends are sorted again, since chunk numbers of the whole may be in another order (Step::sends).
Schedule embedded(const Schedule& part, const Embedding& e, const Topology& whole) {
  Schedule result = part;
  for (Step& step : result.steps) {
    for (Send& send : step.sends) {
      send.chunk = e.chunks[send.chunk];
      send.link = e.links[send.link];
    }
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(whole, step);
  }
  return result;
}

Schedule sequence(Schedule first, const Schedule& then) {
  first.steps.insert(first.steps.end(), then.steps.begin(), then.steps.end());
  return first;
}

// Rounds need not be counted again: every link and limit carries `times` as many chunks, and limits that
// count equal chunks once count each piece once.
Schedule cut_finer(const Schedule& schedule, int times) {
  Schedule result;
  for (const Step& step : schedule.steps) {
    Step& finer = result.steps.emplace_back(Step{.rounds = step.rounds * times});
    finer.sends.reserve(step.sends.size() * static_cast<std::size_t>(times));
    for (const Send& send : step.sends)
      for (int i = 0; i < times; ++i)
        finer.sends.push_back({.chunk = send.chunk * times + i, .link = send.link, .reduce = send.reduce});
    std::ranges::sort(finer.sends);
  }
  return result;
}

// Rounds are not added: where the two share no link and no limit, a step takes as many as the longer one of
// them.
Schedule beside(const Schedule& a, const Schedule& b, const Topology& topology) {
  Schedule result = a;
  result.steps.resize(std::max(a.steps.size(), b.steps.size()));
  for (std::size_t s = 0; s < b.steps.size(); ++s) {
    std::vector<Send>& sends = result.steps[s].sends;
    sends.insert(sends.end(), b.steps[s].sends.begin(), b.steps[s].sends.end());
    std::ranges::sort(sends);
  }
  for (Step& step : result.steps) step.rounds = needed_rounds(topology, step);
  return result;
}

}  // namespace chorale
