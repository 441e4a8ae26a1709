// Numbers are carried over one by one: ranks and links by the renumbering; shared limits by their links;
// chunks by their pre and post, the i-th of equal ones as the i-th; of AllReduce by their owner between the
// phases.
#include "ir/renumbering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "ir/error.h"
#include "ir/json_reader.h"

namespace chorale {
namespace {

// Of a permutation in a file.
constexpr std::size_t kMostNumbers = 10'000'000;

// The set of the new numbers of its ranks.
RankSet moved(const RankSet& set, const std::vector<Rank>& ranks) {
  std::vector<Rank> result;
  for (const Rank n : set) result.push_back(ranks[n]);
  std::ranges::sort(result);
  return result;
}

// [chunk of `from`] -> chunk of `to`; empty if a chunk does not have one. Chunks with the same ends differ by
// their position alone, so the i-th of them becomes the i-th.
std::vector<Chunk> moved_chunks(const Collective& from, const Collective& to,
                                const std::vector<Rank>& ranks) {
  std::map<std::pair<RankSet, RankSet>, std::vector<Chunk>> alike;
  for (Chunk c = static_cast<Chunk>(to.chunks.size()); c-- > 0;)
    alike[{to.chunks[c].pre, to.chunks[c].post}].push_back(
        c);  // what comes first is taken first, from the end
  std::vector<Chunk> result;
  const int holders = from.ranks, count = static_cast<int>(from.chunks.size());
  if (from.kind == CollectiveKind::AllReduce && count % holders == 0) {
    // All are alike; but where a ReduceScatter comes first, rank n owns chunks n * each and following after
    // it, and so the chunks move with their owner.
    const int each = count / holders;
    for (Chunk c = 0; c < count; ++c) result.push_back(ranks[c / each] * each + c % each);
    return result;
  }
  for (const ChunkSpec& chunk : from.chunks) {
    std::vector<Chunk>& left = alike[{moved(chunk.pre, ranks), moved(chunk.post, ranks)}];
    if (left.empty()) return {};
    result.push_back(left.back());
    left.pop_back();
  }
  return result;
}

// The order of limits when they are renumbered: by their links, then by bandwidth and abilities.
auto limit_key(const SharedLimit& limit) {
  return std::tuple(limit.links, limit.bandwidth, limit.abilities.multicast, limit.abilities.reduce);
}

// [limit of `from`] -> limit of `to`; empty if a limit does not have one.
std::vector<int> moved_limits(const Topology& from, const Topology& to, const std::vector<LinkId>& links) {
  std::map<decltype(limit_key({})), std::vector<int>> alike;
  for (int i = static_cast<int>(to.limits.size()); i-- > 0;) alike[limit_key(to.limits[i])].push_back(i);
  std::vector<int> result;
  for (SharedLimit limit : from.limits) {
    for (LinkId& l : limit.links) l = links[l];
    std::ranges::sort(limit.links);
    std::vector<int>& left = alike[limit_key(limit)];
    if (left.empty()) return {};
    result.push_back(left.back());
    left.pop_back();
  }
  return result;
}

bool is_permutation(const std::vector<int>& numbers) {
  std::vector<bool> seen(numbers.size(), false);
  for (const int n : numbers) {
    if (n < 0 || n >= std::ssize(numbers) || seen[n]) return false;
    seen[n] = true;
  }
  return true;
}

// Values by old number, listed by new number.
template <typename Value>
std::vector<Value> permuted(const std::vector<Value>& values, const std::vector<int>& numbers) {
  std::vector<Value> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[numbers[i]] = values[i];
  return result;
}

// Carries points and claims over. Everything that indexes is checked first, since results may come from
// files: numbers that are out of range, and lists of wrong length, mean that the result is of another
// machine.
class Mover {
 public:
  Mover(const Renumbering& by, const Result& from, const Topology& to, const std::string& where)
      : by_(by), asked_(from.collective), where_(where) {
    const Topology& was = from.topology;
    require(std::ssize(by.ranks) == was.ranks && by.links.size() == was.links.size() &&
            is_renumberable(was, asked_));
    require(was.ranks == to.ranks && was.links.size() == to.links.size() &&
            was.limits.size() == to.limits.size() && !to.underlay && to.switches == 0);
    for (std::size_t l = 0; l < was.links.size(); ++l) {
      Link link = was.links[l];
      link.src = by.ranks[link.src];
      link.dst = by.ranks[link.dst];
      // With bandwidth, alpha and beta: a renumbered link is otherwise the same.
      require(link == to.links[by.links[l]]);
    }
    limits_ = moved_limits(was, to, by.links);
    require(limits_.size() == was.limits.size());
  }

  void require(bool fits) const {
    if (!fits) throw InputError(where_, "is of another machine", "search again");
  }

  // Steps, rounds, method and proofs stay: they do not depend on numbers.
  void move(Point& point) const {
    const Collective was = point.collective;
    point.collective = renumbered(was, by_);
    const std::vector<Chunk> chunks = moved_chunks(was, point.collective, by_.ranks);
    require(chunks.size() == was.chunks.size());
    for (Step& step : point.schedule.steps) {
      for (Send& send : step.sends) {
        require(send.chunk >= 0 && send.chunk < std::ssize(chunks) && send.link >= 0 &&
                send.link < std::ssize(by_.links));
        send.chunk = chunks[send.chunk];
        send.link = by_.links[send.link];
      }
      std::ranges::sort(step.sends);
    }
  }

  // What a certificate numbers: a chunk and a rank, of the kinds that have them; prices by link and limit;
  // groups and cuts by rank. The SHA-256 of a formula stays that of the machine as it was numbered.
  void move(Claim& claim) const {
    using Kind = Certificate::Kind;
    Certificate& why = claim.certificate;
    const Collective was = of_kind(asked_, claim.collective, claim.any_chunks ? 1 : claim.chunks);
    const std::vector<Chunk> chunks = moved_chunks(was, renumbered(was, by_), by_.ranks);
    if (why.kind == Kind::Distance || why.kind == Kind::Growth ||
        (why.kind == Kind::Refutation && claim.rounds == kNoSchedule)) {
      require(why.chunk >= 0 && why.chunk < std::ssize(chunks));
      why.chunk = chunks[why.chunk];
    }
    if (why.kind == Kind::Distance) {
      require(why.rank >= 0 && why.rank < std::ssize(by_.ranks));
      why.rank = by_.ranks[why.rank];
    }
    for (Prices& prices : why.prices) {
      require(prices.links.size() == by_.links.size() && prices.limits.size() == limits_.size());
      prices = {.links = permuted(prices.links, by_.links), .limits = permuted(prices.limits, limits_)};
    }
    if (!why.group.empty()) {
      require(why.group.size() == by_.ranks.size());
      why.group = permuted(why.group, by_.ranks);
    }
    for (TimedCut& cut : why.cuts) {
      require(cut.until.size() == by_.ranks.size());
      cut.until = permuted(cut.until, by_.ranks);
    }
  }

 private:
  const Renumbering& by_;
  const Collective& asked_;
  const std::string& where_;
  std::vector<int> limits_;
};

// A list of n different numbers from 0 to n - 1.
std::vector<int> permutation(const JsonReader& json) {
  const std::size_t count = json.size(kMostNumbers);
  const std::vector<int> result = json.integers(count, 0, static_cast<int>(count) - 1);
  if (!is_permutation(result)) json.fail("has a number twice", "list each once");
  return result;
}

}  // namespace

bool is_renumberable(const Topology& topology, const Collective& collective) {
  return !topology.underlay && topology.switches == 0 && !is_custom(collective);
}

Renumbering no_renumbering(const Topology& topology) {
  Renumbering result;
  result.ranks.resize(topology.ranks);
  result.links.resize(topology.links.size());
  std::iota(result.ranks.begin(), result.ranks.end(), 0);
  std::iota(result.links.begin(), result.links.end(), 0);
  return result;
}

// If n becomes r[n], then r[n] becomes n again.
Renumbering inverse(const Renumbering& by) {
  const auto turned = [](const std::vector<int>& numbers) {
    std::vector<int> result(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) result[numbers[i]] = static_cast<int>(i);
    return result;
  };
  return {.ranks = turned(by.ranks), .links = turned(by.links)};
}

// n becomes then[first[n]].
Renumbering compose(const Renumbering& first, const Renumbering& then) {
  Renumbering result = first;
  for (Rank& n : result.ranks) n = then.ranks[n];
  for (LinkId& l : result.links) l = then.links[l];
  return result;
}

std::string to_json(const Renumbering& by) {
  return fmt::format("{{\"ranks\": [{}], \"links\": [{}]}}", fmt::join(by.ranks, ", "),
                     fmt::join(by.links, ", "));
}

Renumbering renumbering_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"ranks", "links"});
  return {.ranks = permutation(json["ranks"]), .links = permutation(json["links"])};
}

// Limits are sorted and named by their new place, so that two machines that differ by numbers and by the
// order of limits become equal. Names that people gave are dropped for that.
Topology renumbered(const Topology& topology, const Renumbering& by) {
  Topology result = topology;
  result.links = permuted(topology.links, by.links);
  for (Link& link : result.links) {
    link.src = by.ranks[link.src];
    link.dst = by.ranks[link.dst];
  }
  for (SharedLimit& limit : result.limits) {
    for (LinkId& l : limit.links) l = by.links[l];
    std::ranges::sort(limit.links);
    limit.cables.clear();  // switches have no canonical numbers
  }
  result.labels.clear();
  std::ranges::stable_sort(result.limits, {}, limit_key);
  for (std::size_t i = 0; i < result.limits.size(); ++i) result.limits[i].name = fmt::format("limit {}", i);
  return result;
}

// A kind has the same chunks on all ranks, so only the root and the leaves of a fixed tree are renumbered.
Collective renumbered(const Collective& collective, const Renumbering& by) {
  const Rank root = is_rooted(collective.kind) ? by.ranks[collective.root] : collective.root;
  Collective result = make_collective(collective.kind, collective.ranks, collective.chunks_per_block, root);
  result.order = collective.order;
  if (result.order.kind == SumOrder::Kind::Fixed)
    result.order.tree = renumbered(collective.order.tree, by.ranks);
  return result;
}

Result renumbered(const Result& from, const Renumbering& by, const Topology& to, const std::string& where) {
  const Mover mover(by, from, to, where);
  Result result = from;
  result.topology = to;
  result.collective = renumbered(from.collective, by);
  for (Point& point : result.points) mover.move(point);
  for (Claim& claim : result.claims) mover.move(claim);
  return result;
}

}  // namespace chorale
