// What a collective computes, independent of its algorithm: which inputs are summed at each output position,
// how often.
//
// Sums are compared as sorted lists of terms, equal ones as often as they are added. Maps of maps, which were
// there first, took ten times as long for two million chunks, and a kilobyte of text names these.
//
// Only outcomes are compared. An input that several ranks hold has the name of the first, so `done` may count
// on holders that `asked` does not have: for a collective from a file, preconditions are compared beside this
// (check_method in pareto/check.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "ir/promise.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

using Input = Promise::Input;
using Output = Promise::Output;

// Equal chunks at two ranks differ equally, so most ranks need no comparison.
bool same_chunks(const std::vector<Output>& a, const std::vector<Output>& b) {
  return std::ranges::equal(a, b, [](const Output& x, const Output& y) {
    return x.slot == y.slot && std::ranges::equal(x.chunks, y.chunks);
  });
}

std::vector<Input> sorted_terms(const Promise& promise, Rank n, int slot) {
  std::vector<Input> terms = promise.terms(promise.chunks(n, slot));
  std::ranges::sort(terms);
  return terms;
}

std::set<int> slots(const std::vector<Output>& asked, const std::vector<Output>& done) {
  std::set<int> all;
  for (const auto* outputs : {&asked, &done})
    for (const Output& output : *outputs) all.insert(output.slot);
  return all;
}

std::string in_words(std::span<const Input> sum) {
  std::string words;
  int inputs = 0;
  for (std::size_t i = 0, next = 0; i < sum.size(); i = next) {
    if (++inputs > 3) return words + " + ...";
    while (next < sum.size() && sum[next] == sum[i]) ++next;
    words += fmt::format("{}{}input {} of rank {}", i == 0 ? "" : " + ",
                         next - i == 1 ? "" : fmt::format("{} x ", next - i), sum[i].slot, sum[i].rank);
  }
  return words;
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
  const Promise wanted(asked), kept(done);
  std::vector<Output> asked_before, done_before;
  for (Rank n = 0; n < asked.ranks && !enough(); ++n) {
    std::vector<Output> asked_here = wanted.outputs(n), done_here = kept.outputs(n);
    // Chunks stand for their terms: chunks that are equal at two ranks have the same sums at both, and the
    // rank before had no fault. So sums are made at few ranks. Once there is a fault every rank is examined,
    // so that all faults are reported.
    if (n > 0 && found.empty() && same_chunks(asked_here, asked_before) &&
        same_chunks(done_here, done_before))
      continue;
    for (int slot : slots(asked_here, done_here)) {
      if (enough()) break;
      const std::vector<Input> want = sorted_terms(wanted, n, slot), have = sorted_terms(kept, n, slot);
      if (want != have)
        found.push_back(
            {.kind = Fault::Kind::Outcome,
             .place = {.rank = n, .chunk = slot},
             .words = fmt::format("output {} of rank {}: {}, {}", slot, n,
                                  want.empty() ? "nothing is asked" : "asked is " + in_words(want),
                                  have.empty() ? "nothing is done" : "done is " + in_words(have))});
    }
    asked_before = std::move(asked_here);
    done_before = std::move(done_here);
  }
  return found;
}

}  // namespace chorale
