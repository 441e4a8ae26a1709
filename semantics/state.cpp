#include "semantics/state.h"

#include <algorithm>

namespace chorale {

State::State(const Topology& topology, const Collective& collective)
    : topology_(topology),
      collective_(collective),
      ranks_(topology.ranks),
      width_(collective.combining ? topology.ranks : 1),
      counts_(collective.chunks.size() * topology.ranks * width_, 0) {
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].pre) counts_[at(c, n) + (collective.combining ? n : 0)] = 1;
}

bool State::holds(Chunk c, Rank n) const {
  return std::any_of(value(c, n), value(c, n) + width_, [](int k) { return k != 0; });
}

bool State::is_complete_sum(Chunk c, Rank n) const {
  const int* const counts = value(c, n);
  if (!collective_.combining) return counts[0] == 1;
  const std::vector<Rank>& pre = collective_.chunks[c].pre;
  for (Rank i = 0; i < width_; ++i)
    if (counts[i] != (std::binary_search(pre.begin(), pre.end(), i) ? 1 : 0)) return false;
  return true;
}

bool State::counts_twice(Chunk c, Rank n) const {
  return std::any_of(value(c, n), value(c, n) + width_, [](int k) { return k > 1; });
}

void State::apply(const Step& step) {
  std::vector<int> sent;  // the values before the step, send after send
  sent.reserve(step.sends.size() * width_);
  for (const Send& send : step.sends) {
    const int* const from = value(send.chunk, topology_.links[send.link].src);
    sent.insert(sent.end(), from, from + width_);
  }
  for (std::size_t i = 0; i < step.sends.size(); ++i)
    if (!step.sends[i].reduce)
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(i * width_), width_,
                  counts_.begin() + static_cast<std::ptrdiff_t>(
                                        at(step.sends[i].chunk, topology_.links[step.sends[i].link].dst)));
  for (std::size_t i = 0; i < step.sends.size(); ++i) {
    if (!step.sends[i].reduce) continue;
    const std::size_t to = at(step.sends[i].chunk, topology_.links[step.sends[i].link].dst);
    for (int k = 0; k < width_; ++k) counts_[to + k] += sent[i * width_ + k];
  }
}

}  // namespace chorale
