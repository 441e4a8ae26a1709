// What a collective computes, whoever runs it: which inputs are summed at each output position, how often.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <span>
#include <vector>

#include "semantics/verify.h"

namespace chorale {
namespace {

// An input of a rank that is added, once, to an output of one.
struct Term {
  Rank rank = 0;
  int output = 0;
  Rank from = 0;
  int input = 0;
  auto operator<=>(const Term&) const = default;
};

bool same_output(const Term& a, const Term& b) {
  return a.rank == b.rank && a.output == b.output;
}

// A copy may come from any rank of pre(c). These hold the same data only by the promise of the collective, so
// a copy is named by its first owner. For the outputs of ranks from .. to - 1, sorted.
std::vector<Term> meaning(const Collective& collective, Rank from, Rank to) {
  std::vector<Term> result;
  for (const ChunkSpec& spec : collective.chunks)
    for (auto at = std::lower_bound(spec.post.begin(), spec.post.end(), from);
         at != spec.post.end() && *at < to; ++at) {
      const std::size_t added = collective.combining ? spec.pre.size() : 1;
      for (std::size_t i = 0; i < added; ++i)
        result.push_back({.rank = *at, .output = spec.output, .from = spec.pre[i], .input = spec.input});
    }
  std::sort(result.begin(), result.end());
  return result;
}

double number_of_terms(const Collective& collective) {
  double all = 0;
  for (const ChunkSpec& spec : collective.chunks)
    all += static_cast<double>(spec.post.size()) *
           (collective.combining ? static_cast<double>(spec.pre.size()) : 1.0);
  return all;
}

// So many ranks at a time that their sums are small: all of a large collective would not fit into memory.
Rank ranks_at_a_time(const Collective& asked, const Collective& done) {
  constexpr double kMostTerms = 1 << 20;
  const double a_rank = (number_of_terms(asked) + number_of_terms(done)) / std::max(asked.ranks, 1);
  return static_cast<Rank>(std::clamp(kMostTerms / std::max(a_rank, 1.0), 1.0, 1e6));
}

std::string in_words(std::span<const Term> sum) {
  std::string words;
  int inputs = 0;
  for (std::size_t i = 0, next = 0; i < sum.size(); i = next) {
    if (++inputs > 3) return words + " + ...";
    while (next < sum.size() && sum[next] == sum[i]) ++next;
    words += fmt::format("{}{}input {} of rank {}", i == 0 ? "" : " + ",
                         next - i == 1 ? "" : fmt::format("{} x ", next - i), sum[i].input, sum[i].from);
  }
  return words;
}

// The terms of one output, taken from the front of `terms` if they are of this one.
std::span<const Term> take(std::span<const Term>& terms, const Term& output) {
  const auto end = std::find_if_not(terms.begin(), terms.end(),
                                    [&output](const Term& term) { return same_output(term, output); });
  const std::span<const Term> taken(terms.begin(), end);
  terms = terms.subspan(taken.size());
  return taken;
}

}  // namespace

std::vector<Fault> differences(const Collective& asked, const Collective& done, int limit) {
  std::vector<Fault> found;
  const auto enough = [&] { return static_cast<int>(found.size()) >= limit; };
  if (asked.ranks != done.ranks) {
    if (!enough())
      found.push_back(
          {.kind = Fault::Kind::Size,
           .words = fmt::format("{} ranks are asked for, {} take part", asked.ranks, done.ranks)});
    return found;
  }
  if (asked.chunks == done.chunks && asked.combining == done.combining) return found;
  const Rank some = ranks_at_a_time(asked, done);
  for (Rank from = 0; from < asked.ranks && !enough(); from += some) {
    const std::vector<Term> asked_terms = meaning(asked, from, from + some),
                            done_terms = meaning(done, from, from + some);
    std::span<const Term> wanted = asked_terms, had = done_terms;
    while (!enough() && !(wanted.empty() && had.empty())) {
      const Term output =
          had.empty() || (!wanted.empty() && wanted.front() < had.front()) ? wanted.front() : had.front();
      const auto want = take(wanted, output), have = take(had, output);
      if (!std::ranges::equal(want, have))
        found.push_back(
            {.kind = Fault::Kind::Outcome,
             .place = {.rank = output.rank, .chunk = output.output},
             .words = fmt::format("output {} of rank {}: {}, {}", output.output, output.rank,
                                  want.empty() ? "nothing is asked" : "asked is " + in_words(want),
                                  have.empty() ? "nothing is done" : "done is " + in_words(have))});
    }
  }
  return found;
}

}  // namespace chorale
