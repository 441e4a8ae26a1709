// A value is the initial one of the collective until something arrives, and then a row of counts in one
// vector: a schedule makes few of the chunks * ranks * ranks possible counts. All of them in one array, as at
// first, ended in bad_alloc for the ReduceScatter on 4,096 ranks that state.h mentions.
//
// The value at the start is a window into zeros around a one. With 4 ranks these are 0000 1000 0000: the
// contribution of rank n is the window that begins at 4 - n, and the empty value the one that begins at 8. A
// collective that copies has windows of one count; the one is the original.
#include "semantics/state.h"

#include <algorithm>
#include <numeric>

namespace chorale {

State::State(const Topology& topology, const Collective& collective)
    : topology_(topology),
      collective_(collective),
      ranks_(topology.ranks),
      width_(collective.combining ? topology.ranks : 1),
      at_start_(3 * width_, 0) {
  at_start_[width_] = 1;
}

std::span<const std::uint8_t> State::value(Chunk c, Rank n) const {
  const auto at = received_.find(key(c, n));
  return at == received_.end() ? at_start(c, n) : std::span(&counts_[at->second], width_);
}

std::span<const std::uint8_t> State::at_start(Chunk c, Rank n) const {
  if (!collective_.chunks[c].pre.contains(n)) return {&at_start_[2 * width_], width_};
  return {&at_start_[collective_.combining ? width_ - n : width_], width_};
}

// The receiver's value, to be changed: it gets a row of its own the first time, with what it was at the
// start. The row may move all others, so no span of value() outlives this.
std::uint8_t* State::received(const Send& send) {
  const Rank n = topology_.links[send.link].dst;
  const auto [at, first] = received_.try_emplace(key(send.chunk, n), counts_.size());
  if (first) {
    const std::span<const std::uint8_t> before = at_start(send.chunk, n);
    counts_.insert(counts_.end(), before.begin(), before.end());
  }
  return &counts_[at->second];
}

namespace {

// Are all counts equal to `wanted`? Without an early exit, so that it is vectorized: at 1,024 ranks a
// verifier spends most of its time in comparing counts. With loops that end early a check of a ring AllReduce
// there took 11.1 s of user time, and takes 5.1 with this function and its sister below.
bool all_are(std::span<const std::uint8_t> counts, std::uint8_t wanted) {
  std::uint8_t different = 0;
  for (const std::uint8_t count : counts) different |= count ^ wanted;
  return different == 0;
}

}  // namespace

bool State::holds(Chunk c, Rank n) const {
  return !all_are(value(c, n), 0);
}

bool State::counts_twice(Chunk c, Rank n) const {
  std::uint8_t above = 0;
  for (const std::uint8_t count : value(c, n)) above |= count & 0xfe;
  return above != 0;
}

bool State::is_complete(Chunk c, Rank n) const {
  const auto counts = value(c, n);
  if (!collective_.combining) return counts[0] == 1;
  const RankSet& pre = collective_.chunks[c].pre;
  if (pre.size() == width_) return all_are(counts, 1);
  // The total leaves nothing for ranks that are not in pre.
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == pre.size() &&
         std::ranges::all_of(pre, [&](Rank i) { return counts[i] == 1; });
}

void State::restart() {
  received_.clear();
  counts_.clear();
}

// Sent values are set aside first, in the order of the sends, so that they are those held before the step,
// and so that rows may move. Both passes walk along them, past the sends of the other kind: replacing sends
// come before adding ones, in whatever order a step names them.
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
