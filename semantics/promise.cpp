#include "semantics/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/sizes.h"

namespace chorale {

Promise::Promise(const Collective& collective) {
  first_.push_back(0);
  for (int size : input_chunks(collective)) first_.push_back(first_.back() + size);
  place_.resize(places());
  std::iota(place_.begin(), place_.end(), 0);
  const auto root = [this](int slot) {
    while (place_[slot] != slot) slot = place_[slot] = place_[place_[slot]];
    return slot;
  };
  if (!collective.combining)
    for (const ChunkSpec& spec : collective.chunks)
      for (Rank n : spec.pre)
        place_[root(first_[n] + spec.input)] = root(first_[spec.pre.front()] + spec.input);
  for (int& place : place_) place = root(place);

  outputs_.resize(collective.ranks);
  for (const ChunkSpec& spec : collective.chunks) {
    SymbolicSum chunk;
    for (Rank n : spec.pre) {
      chunk = added(chunk, {{place(n, spec.input), 1}});
      if (!collective.combining) break;
    }
    for (Rank n : spec.post) {
      SymbolicSum& sum = outputs_[n][spec.output];
      sum = added(sum, chunk);
    }
  }
}

int Promise::place(Rank n, int input) const {
  return place_[first_[n] + input];
}

const SymbolicSum* Promise::output(Rank n, int slot) const {
  const auto found = outputs_[n].find(slot);
  return found == outputs_[n].end() ? nullptr : &found->second;
}

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
  const auto after = std::upper_bound(first_.begin(), first_.end(), place);
  return fmt::format("input[{}] of rank {}", place - *(after - 1), after - first_.begin() - 1);
}

}  // namespace chorale
