// Two tables, both by rank: place_, the input slot that stands for each (empty if all stand for themselves),
// and chunks_, the wanted chunk of each output slot. Sums are not kept: an AllReduce has one of `ranks` terms
// for every chunk and rank, and the chunk's number stands for it. terms() and wanted() make one on request.
#include "ir/promise.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <numeric>

#include "ir/disjoint_sets.h"

namespace chorale {

// first_ holds prefix sums of the sizes of input buffers: input slot s of rank n is slot first_[n] + s of
// all.
Promise::Promise(const Collective& collective) : collective_(collective), operands_(operands_of(collective)) {
  first_.push_back(0);
  for (int size : input_chunks(collective)) first_.push_back(first_.back() + size);
  find_places();
  find_outputs();
}

// The slots of a chunk that several ranks hold are joined under that of the first holder. A file has one
// chunk at an input slot, so these are the holders of one chunk; other collectives may chain them through a
// slot that two chunks share. Contributions to a sum are different data, so of a combining collective each
// slot stands for itself.
void Promise::find_places() {
  if (collective_.combining ||
      std::ranges::all_of(collective_.chunks, [](const ChunkSpec& spec) { return spec.pre.size() <= 1; }))
    return;
  DisjointSets held(places());
  for (const ChunkSpec& spec : collective_.chunks)
    for (Rank n : spec.pre) held.join(first_[n] + spec.input, first_[spec.pre.front()] + spec.input);
  place_ = held.representatives();
}

// Counted and put in their places by rank (counting sort), then sorted by slot; the sort is stable, so the
// chunks that share a slot stay in ascending order. What is added up to a chunk is wanted as that alone.
void Promise::find_outputs() {
  std::vector<Rank> added_at(collective_.chunks.size(), -1);
  for (std::size_t sum = 0; sum < operands_.size(); ++sum)
    for (const Chunk c : operands_[sum]) added_at[c] = collective_.chunks[sum].pre.front();
  const auto for_each_wanted = [&](const auto& visit) {
    for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c)
      for (Rank n : collective_.chunks[c].post)
        if (n != added_at[c]) visit(c, n);
  };
  begin_.assign(collective_.ranks + 1, 0);
  for_each_wanted([&](Chunk, Rank n) { ++begin_[n + 1]; });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  chunks_.resize(begin_.back());
  std::vector<std::size_t> next = begin_;
  for_each_wanted([&](Chunk c, Rank n) { chunks_[next[n]++] = c; });
  for (Rank n = 0; n < collective_.ranks; ++n)
    std::ranges::stable_sort(std::span(chunks_).subspan(begin_[n], begin_[n + 1] - begin_[n]), {},
                             [this](Chunk c) { return slot(c); });
}

std::span<const Chunk> Promise::wants(Rank n) const {
  return std::span(chunks_).subspan(begin_[n], begin_[n + 1] - begin_[n]);
}

int Promise::place(Rank n, int input) const {
  const int slot = first_[n] + input;
  return place_.empty() ? slot : place_[slot];
}

// The last rank that begins there or before: ranks without inputs begin where the next one does.
Promise::Input Promise::input_at(int place) const {
  const auto after = std::ranges::upper_bound(first_, place);
  return {.rank = static_cast<Rank>(after - first_.begin()) - 1, .slot = place - *(after - 1)};
}

// Runs of equal slots in the rank's chunks, which are sorted by slot.
std::vector<Promise::Output> Promise::outputs(Rank n) const {
  std::vector<Output> all;
  const std::span<const Chunk> mine = wants(n);
  for (std::size_t i = 0, next = 0; i < mine.size(); i = next) {
    while (next < mine.size() && slot(mine[next]) == slot(mine[i])) ++next;
    all.push_back({.slot = slot(mine[i]), .chunks = mine.subspan(i, next - i)});
  }
  return all;
}

// A run of the rank's chunks, found by two binary searches.
std::span<const Chunk> Promise::chunks(Rank n, int slot) const {
  // No equal_range: what it gives is a view, which clang 14 does not compile (the fuzz preset).
  const auto its_slot = [this](Chunk c) { return this->slot(c); };
  const std::span<const Chunk> all = wants(n);
  return {std::ranges::lower_bound(all, slot, {}, its_slot),
          std::ranges::upper_bound(all, slot, {}, its_slot)};
}

// Without sums all holders of a chunk have the same data; the first stands for them.
std::vector<Promise::Input> Promise::terms(std::span<const Chunk> chunks) const {
  std::vector<Input> all;
  for (Chunk c : chunks) {
    const ChunkSpec& spec = collective_.chunks[c];
    if (spec.summed) {
      std::ranges::copy(terms(operands_[c]), std::back_inserter(all));
      continue;
    }
    const std::size_t added = collective_.combining ? spec.pre.size() : 1;
    for (std::size_t i = 0; i < added; ++i) all.push_back({.rank = spec.pre[i], .slot = spec.input});
  }
  return all;
}

// Two terms of one slot are added: adding up copies of equal inputs counts them twice.
std::optional<SymbolicSum> Promise::wanted(Rank n, int slot) const {
  const std::span<const Chunk> added_up = chunks(n, slot);
  if (added_up.empty()) return std::nullopt;
  SymbolicSum sum;
  for (const Input& input : terms(added_up)) sum.push_back({place(input.rank, input.slot), 1});
  return collected(std::move(sum));
}

// The first difference by place: what is missing or counted otherwise, then what is too much.
std::string Promise::difference(const SymbolicSum& wanted, const SymbolicSum& held) const {
  const std::map<int, int> a(wanted.begin(), wanted.end()), b(held.begin(), held.end());
  for (const auto& [place, count] : a) {
    const auto at = b.find(place);
    if (at == b.end()) return "lacks " + name(place);
    if (at->second != count) return fmt::format("counts {} {} times, not {}", name(place), at->second, count);
  }
  for (const auto& [place, count] : b)
    if (!a.contains(place)) return "contains " + name(place) + ", which does not belong there";
  return "is as promised";
}

std::string Promise::name(int place) const {
  const Input input = input_at(place);
  return fmt::format("input[{}] of rank {}", input.slot, input.rank);
}

}  // namespace chorale
