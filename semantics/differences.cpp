// What a collective computes, whoever runs it: which inputs are summed at each output position, how often.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "semantics/verify.h"

namespace chorale {
namespace {

using Place = std::pair<Rank, int>;  // rank, position
using Sum = std::map<Place, int>;    // inputs, how often each

// A copy may come from any rank of pre(c). These hold the same data only by the promise of the collective, so
// a copy is named by its first owner. For the outputs of ranks from .. to - 1.
std::map<Place, Sum> meaning(const Collective& collective, Rank from, Rank to) {
  std::map<Place, Sum> result;
  for (const ChunkSpec& spec : collective.chunks)
    for (auto at = std::lower_bound(spec.post.begin(), spec.post.end(), from);
         at != spec.post.end() && *at < to; ++at) {
      Sum& sum = result[{*at, spec.output}];
      if (!collective.combining) {
        ++sum[{spec.pre.front(), spec.input}];
      } else {
        for (Rank i : spec.pre) ++sum[{i, spec.input}];
      }
    }
  return result;
}

double terms(const Collective& collective) {
  double all = 0;
  for (const ChunkSpec& spec : collective.chunks)
    all += static_cast<double>(spec.post.size()) *
           (collective.combining ? static_cast<double>(spec.pre.size()) : 1.0);
  return all;
}

// So many ranks at a time that their sums are small: all of a large collective would not fit into memory.
Rank ranks_at_a_time(const Collective& asked, const Collective& done) {
  constexpr double kMostTerms = 1 << 20;
  const double a_rank = (terms(asked) + terms(done)) / std::max(asked.ranks, 1);
  return static_cast<Rank>(std::clamp(kMostTerms / std::max(a_rank, 1.0), 1.0, 1e6));
}

std::string in_words(const Sum& sum) {
  std::string words;
  int terms = 0;
  for (const auto& [place, count] : sum) {
    if (++terms > 3) return words + " + ...";
    words += fmt::format("{}{}input {} of rank {}", words.empty() ? "" : " + ",
                         count == 1 ? "" : fmt::format("{} x ", count), place.second, place.first);
  }
  return words;
}

}  // namespace

std::vector<std::string> differences(const Collective& asked, const Collective& done, int limit) {
  std::vector<std::string> found;
  const auto say = [&](std::string words) {
    if (static_cast<int>(found.size()) < limit) found.push_back(std::move(words));
  };
  if (asked.ranks != done.ranks) {
    say(fmt::format("{} ranks are asked for, {} take part", asked.ranks, done.ranks));
    return found;
  }
  if (asked.chunks == done.chunks && asked.combining == done.combining) return found;
  const Rank some = ranks_at_a_time(asked, done);
  for (Rank from = 0; from < asked.ranks && static_cast<int>(found.size()) < limit; from += some) {
    const std::map<Place, Sum> want = meaning(asked, from, from + some),
                               have = meaning(done, from, from + some);
    for (const auto& [place, sum] : want) {
      const auto at = have.find(place);
      if (at == have.end())
        say(fmt::format("output {} of rank {}: asked is {}, nothing is done", place.second, place.first,
                        in_words(sum)));
      else if (at->second != sum)
        say(fmt::format("output {} of rank {}: asked is {}, done is {}", place.second, place.first,
                        in_words(sum), in_words(at->second)));
    }
    for (const auto& [place, sum] : have)
      if (!want.contains(place))
        say(fmt::format("output {} of rank {}: nothing is asked, done is {}", place.second, place.first,
                        in_words(sum)));
  }
  return found;
}

}  // namespace chorale
