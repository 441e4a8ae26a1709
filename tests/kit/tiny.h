// What is possible on a tiny machine, of at most four ranks: tests/kit/exhaustive.h, asked in our types.
#pragma once

#include <stdexcept>

#include "ir/collective.h"
#include "ir/instance.h"
#include "ir/schedule.h"
#include "ir/topology.h"
#include "tests/kit/exhaustive.h"

namespace chorale::test {

inline exhaustive::Question in_words(const Topology& t, const Collective& c) {
  exhaustive::Question asked{.ranks = t.ranks, .combining = c.combining};
  if (c.order.kind == SumOrder::Kind::Fixed) throw std::logic_error("tests/kit/tiny.h knows no trees");
  if (c.order.kind == SumOrder::Kind::Agreed) asked.order = exhaustive::Order::Agreed;
  for (const Link& link : t.links)
    asked.links.push_back({.src = link.src, .dst = link.dst, .bandwidth = link.bandwidth});
  for (const SharedLimit& limit : t.limits)
    asked.limits.push_back({.bandwidth = limit.bandwidth,
                            .multicast = limit.abilities.multicast,
                            .reduce = limit.abilities.reduce,
                            .links = limit.links});
  for (const ChunkSpec& chunk : c.chunks)
    asked.chunks.push_back(
        {.pre = {chunk.pre.begin(), chunk.pre.end()}, .post = {chunk.post.begin(), chunk.post.end()}});
  return asked;
}

class Possible {
 public:
  // Schedules of at most these steps.
  Possible(const Topology& t, const Collective& c, int most_steps)
      : answer_(exhaustive::Search(in_words(t, c), 1LL << 40).answer(most_steps).value()) {}

  // The fewest rounds in at most this many steps; exhaustive::kNever where there is no schedule.
  int rounds(int steps) const {
    int least = exhaustive::kNever;
    for (int s = 0; s < std::ssize(answer_.excess) && s <= steps; ++s)
      least = std::min(least,
                       answer_.excess[s] == exhaustive::kNever ? exhaustive::kNever : s + answer_.excess[s]);
    return least;
  }
  bool within(const Budget& budget) const { return rounds(budget.steps) <= budget.rounds; }

 private:
  const exhaustive::Answer answer_;
};

// Rounds that a step needs, by counting each link and limit for itself.
inline int rounds_by_hand(const Topology& t, const Step& step) {
  std::vector<exhaustive::Sent> sent;
  for (const Send& send : step.sends)
    sent.push_back({.chunk = send.chunk, .link = send.link, .adds = send.reduce});
  return exhaustive::Search(in_words(t, {})).rounds(sent);
}

}  // namespace chorale::test
