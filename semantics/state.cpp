#include "semantics/state.h"

#include <algorithm>
#include <numeric>

namespace chorale {

State::State(const Topology& topology, const Collective& collective)
    : topology_(topology),
      collective_(collective),
      ranks_(topology.ranks),
      width_(collective.combining ? topology.ranks : 1),
      counts_(collective.chunks.size() * ranks_ * width_, 0) {
  for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c)
    for (Rank n : collective.chunks[c].pre) counts_[at(c, n) + (collective.combining ? n : 0)] = 1;
}

bool State::holds(Chunk c, Rank n) const {
  return std::ranges::any_of(value(c, n), [](int count) { return count != 0; });
}

bool State::is_complete(Chunk c, Rank n) const {
  const auto counts = value(c, n);
  if (!collective_.combining) return counts[0] == 1;
  const std::vector<Rank>& pre = collective_.chunks[c].pre;
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == pre.size() &&
         std::ranges::all_of(pre, [&](Rank i) { return counts[i] == 1; });
}

void State::apply(const Step& step) {
  sent_.clear();
  for (const Send& send : step.sends) {
    const auto sent = value(send.chunk, topology_.links[send.link].src);
    sent_.insert(sent_.end(), sent.begin(), sent.end());
  }
  const std::uint8_t* sent = sent_.data();
  for (const Send& send : step.sends) {
    if (!send.reduce) std::copy_n(sent, width_, received(send));
    sent += width_;
  }
  sent = sent_.data();
  for (const Send& send : step.sends) {
    if (send.reduce)
      std::transform(sent, sent + width_, received(send), received(send),
                     [](int a, int b) { return static_cast<std::uint8_t>(std::min(a + b, 255)); });
    sent += width_;
  }
}

}  // namespace chorale
