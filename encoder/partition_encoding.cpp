// The published formula, as it stands in the paper: no pruning by distance, one formula per split of the
// rounds. It is kept for comparison, so nothing is to be improved here. The numbers at the clauses are the
// paper's.
//
// A step's rounds are a number here, so (5) is a plain bound on sends. But R rounds in S steps have (R-1
// choose S-1) splits, each is a formula, and an Unsat is one of all of them; nothing learnt of one is known
// to the next.
#include "encoder/partition_encoding.h"

#include <algorithm>
#include <cassert>

#include "encoder/counter.h"
#include "ir/schedule.h"

namespace chorale {

PartitionEncoding::PartitionEncoding(const Instance& instance, std::span<const int> rounds_of_step)
    : instance_(instance),
      ranks_(instance.topology.ranks),
      links_(static_cast<int>(instance.topology.links.size())),
      chunks_(static_cast<int>(instance.collective.chunks.size())),
      steps_(static_cast<int>(rounds_of_step.size())),
      sends_from_(chunks_ * ranks_ * (steps_ + 1)) {
  assert(instance.topology.switches == 0 && !instance.collective.combining);
  formula_.variables = sends_from_ + chunks_ * links_ * steps_;
  for (Chunk c = 0; c < chunks_; ++c) {
    const ChunkSpec& spec = instance.collective.chunks[c];
    for (Rank n = 0; n < ranks_; ++n) {
      const bool has = starts_at(spec, n);
      formula_.add({has ? here(c, n, 0) : -here(c, n, 0)});  // (1)
      for (int t = 1; t <= steps_; ++t) {
        std::vector<Lit> arrives = {-here(c, n, t), here(c, n, t - 1)};  // (4)
        for (LinkId l = 0; l < links_; ++l)
          if (instance.topology.links[l].dst == n) arrives.push_back(send(c, l, t));
        formula_.add(arrives);
        formula_.add({-here(c, n, t - 1), here(c, n, t)});  // (6)
      }
    }
    for (Rank d : spec.post) formula_.add({here(c, d, steps_)});  // (2)
    for (LinkId l = 0; l < links_; ++l) {
      std::vector<Lit> times;
      for (int t = 1; t <= steps_; ++t) {
        formula_.add({-send(c, l, t), here(c, instance.topology.links[l].src, t - 1)});  // (3)
        times.push_back(send(c, l, t));
      }
      at_most_one(formula_, times);  // (7)
    }
  }
  const auto bound = [&](const std::vector<LinkId>& over, int bandwidth, int t) {  // (5)
    std::vector<Lit> sends;
    for (LinkId l : over)
      for (Chunk c = 0; c < chunks_; ++c) sends.push_back(send(c, l, t));
    const int most = bandwidth * rounds_of_step[t - 1];
    const std::vector<Lit> number = count(formula_, sends, most + 1);
    if (static_cast<int>(number.size()) > most) formula_.add({-number[most]});
  };
  for (int t = 1; t <= steps_; ++t) {
    for (LinkId l = 0; l < links_; ++l) bound({l}, instance.topology.links[l].bandwidth, t);
    for (const SharedLimit& limit : instance.topology.limits) bound(limit.links, limit.bandwidth, t);
  }
}

// A send may be true without its chunk arriving again ((4) is one-directional, and no clause forces a chunk
// to arrive once); tidy drops those.
Schedule PartitionEncoding::decode(const Assignment& model) const {
  Schedule schedule;
  schedule.steps.resize(steps_);
  for (int t = 1; t <= steps_; ++t)
    for (Chunk c = 0; c < chunks_; ++c)
      for (LinkId l = 0; l < links_; ++l)
        if (model[send(c, l, t)]) schedule.steps[t - 1].sends.push_back({.chunk = c, .link = l});
  return tidy(instance_.topology, instance_.collective, std::move(schedule));
}

// Of 5 in 3: 1 1 3, 1 2 2, 1 3 1, 2 1 2, 2 2 1, 3 1 1.
bool next_partition(std::vector<int>& rounds) {
  for (int i = static_cast<int>(rounds.size()) - 1; i > 0; --i)
    if (rounds[i] > 1) {
      // The rightmost number that can give one to its left neighbour; what is left of it goes to the end.
      const int rest = rounds[i] - 1;
      ++rounds[i - 1];
      rounds[i] = 1;
      rounds.back() = i + 1 == static_cast<int>(rounds.size()) ? rest : rounds.back() + rest - 1;
      return true;
    }
  return false;
}

}  // namespace chorale
