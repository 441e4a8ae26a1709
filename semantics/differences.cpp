// What a collective computes, whoever runs it: which inputs are summed at each output position, how often.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "semantics/verify.h"

namespace chorale {
namespace {

using Place = std::pair<Rank, int>;  // rank, position
using Sum = std::map<Place, int>;    // inputs, how often each

// A copy may come from any rank of pre(c). These hold the same data only by the promise of the collective, so
// a copy is named by its first owner.
std::map<Place, Sum> meaning(const Collective& collective) {
  std::map<Place, Sum> result;
  for (const ChunkSpec& spec : collective.chunks)
    for (Rank n : spec.post) {
      Sum& sum = result[{n, spec.output}];
      if (!collective.combining) {
        ++sum[{spec.pre.front(), spec.input}];
      } else {
        for (Rank i : spec.pre) ++sum[{i, spec.input}];
      }
    }
  return result;
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
  const std::map<Place, Sum> want = meaning(asked), have = meaning(done);
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
  return found;
}

}  // namespace chorale
