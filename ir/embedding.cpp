// Ranks, links and chunks of the sub-machine are indices into three lists: a schedule is carried over by one
// lookup per number, and a composition by two. Steps stay as they are. Rounds do not: they are counted again
// on the whole machine, whose links may be slower and whose shared limits may contain further links.
//
// Only positions of what a rank contributes, or needs, in both collectives are compared: a chunk that it has
// in the sub-machine alone is in transit in the whole machine, and has no slot in its buffers there.
#include "ir/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "ir/error.h"

namespace chorale {
namespace {

std::string why_not_one_to_one(const char* what, const std::vector<int>& images, std::size_t part,
                               std::size_t whole) {
  if (images.size() != part) return fmt::format("it lists {} of {} {}s", images.size(), part, what);
  std::vector<int> taken(whole, -1);
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i] < 0 || images[i] >= static_cast<int>(whole))
      return fmt::format("{} {} lies at {}, and the whole has {}", what, i, images[i], whole);
    if (taken[images[i]] >= 0)
      return fmt::format("{}s {} and {} both lie at {}", what, taken[images[i]], i, images[i]);
    taken[images[i]] = static_cast<int>(i);
  }
  return "";
}

// The offset of the part's buffers in the whole's: the same for all chunks at one rank. Chunks that are
// contiguous in the part are then contiguous in the whole: the part's buffer is at the start of the whole's,
// plus the offset.
class Windows {
 public:
  std::string add(const char* buffer, Chunk c, Rank n, int moved) {
    const auto [at, added] = moved_.try_emplace(n, moved);
    if (added || at->second == moved) return "";
    return fmt::format("in the {} of rank {}, chunk {} is moved by {} slots and others by {}", buffer, n, c,
                       moved, at->second);
  }

 private:
  std::map<Rank, int> moved_ = {};
};

std::string why_no_windows(const Embedding& e, const Collective& part, const Collective& whole) {
  Windows inputs, outputs;
  for (std::size_t c = 0; c < part.chunks.size(); ++c) {
    const ChunkSpec &inner = part.chunks[c], &outer = whole.chunks[e.chunks[c]];
    for (Rank n : inner.pre)
      if (starts_at(outer, e.ranks[n]))
        if (std::string why = inputs.add("input", static_cast<Chunk>(c), n, outer.input - inner.input);
            !why.empty())
          return why;
    for (Rank n : inner.post)
      if (ends_at(outer, e.ranks[n]))
        if (std::string why = outputs.add("output", static_cast<Chunk>(c), n, outer.output - inner.output);
            !why.empty())
          return why;
  }
  return "";
}

std::map<std::pair<Rank, Rank>, std::vector<LinkId>> links_by_ends(const Topology& topology) {
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> links;
  for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
    links[{topology.links[l].src, topology.links[l].dst}].push_back(l);
  return links;
}

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

std::string why_no_embedding(const Embedding& e, const Task& part, const Task& whole) {
  if (std::string why = why_not_one_to_one("rank", e.ranks, part.topology.ranks, whole.topology.ranks);
      !why.empty())
    return why;
  if (std::string why =
          why_not_one_to_one("link", e.links, part.topology.links.size(), whole.topology.links.size());
      !why.empty())
    return why;
  if (std::string why = why_not_one_to_one("chunk", e.chunks, part.collective.chunks.size(),
                                           whole.collective.chunks.size());
      !why.empty())
    return why;
  for (std::size_t l = 0; l < e.links.size(); ++l) {
    const Link &inner = part.topology.links[l], &outer = whole.topology.links[e.links[l]];
    if (outer.src != e.ranks[inner.src] || outer.dst != e.ranks[inner.dst])
      return fmt::format("link {} goes from rank {} to {} of the whole, and its ends lie at {} and {}", l,
                         outer.src, outer.dst, e.ranks[inner.src], e.ranks[inner.dst]);
  }
  return why_no_windows(e, part.collective, whole.collective);
}

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

// `used` counts the links between two ranks of the whole that the part has taken, so that parallel ones stay
// apart.
Embedding embedding_at(const Topology& part, const Topology& whole, std::vector<Rank> ranks,
                       std::vector<Chunk> chunks) {
  Embedding e{.ranks = std::move(ranks), .chunks = std::move(chunks)};
  const auto there = links_by_ends(whole);
  std::map<std::pair<Rank, Rank>, std::size_t> used;
  for (const Link& link : part.links) {
    const std::pair<Rank, Rank> ends{e.ranks[link.src], e.ranks[link.dst]};
    const auto at = there.find(ends);
    const std::size_t i = used[ends]++;
    if (at == there.end() || i >= at->second.size())
      throw InputError("topology " + whole.name,
                       fmt::format("has no link {} -> {} for {} -> {} of {}", ends.first, ends.second,
                                   link.src, link.dst, part.name),
                       "place the part elsewhere");
    e.links.push_back(at->second[i]);
  }
  return e;
}

Topology part_at(const Topology& whole, const std::vector<Rank>& ranks) {
  std::vector<Rank> place(whole.ranks, -1);
  for (std::size_t n = 0; n < ranks.size(); ++n) place[ranks[n]] = static_cast<Rank>(n);
  Topology part{.name = whole.name, .ranks = static_cast<int>(ranks.size())};
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
