// The published text, as it stands in the paper but for steps that may have no round (see the header). It is
// kept to be measured against, so nothing is to be improved here.
//
// It has a time for each (chunk, rank) and a send for each (chunk, link), without steps: a send happens when
// its chunk arrives. So it has few variables, and bandwidth compares times with every step.
#include "encoder/published_encodings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "encoder/counter.h"

namespace chorale {
namespace {

std::string time_of(Chunk c, Rank n) {
  return fmt::format("t_{}_{}", c, n);
}
std::string send_of(Chunk c, LinkId l) {
  return fmt::format("s_{}_{}", c, l);
}

}  // namespace

SmtEncoding::SmtEncoding(const Instance& instance) : instance_(instance) {
  const Topology& topology = instance.topology;
  const int chunks = static_cast<int>(instance.collective.chunks.size());
  const int links = static_cast<int>(topology.links.size());
  const int steps = instance.budget.steps;
  assert(topology.switches == 0 && !instance.collective.combining);
  text_ = "(set-logic QF_LIA)\n";
  for (int s = 1; s <= steps; ++s)
    text_ += fmt::format("(declare-const r_{0} Int)\n(assert (and (>= r_{0} 0) (<= r_{0} {1})))\n", s,
                         instance.budget.rounds);
  text_ += "(assert (<= (+ 0";
  for (int s = 1; s <= steps; ++s) text_ += fmt::format(" r_{}", s);
  text_ += fmt::format(") {}))\n", instance.budget.rounds);
  for (Chunk c = 0; c < chunks; ++c) {
    const ChunkSpec& spec = instance.collective.chunks[c];
    for (LinkId l = 0; l < links; ++l) text_ += fmt::format("(declare-const {} Bool)\n", send_of(c, l));
    for (Rank n = 0; n < topology.ranks; ++n) {
      const std::string time = time_of(c, n);
      text_ +=
          fmt::format("(declare-const {0} Int)\n(assert (and (>= {0} 0) (<= {0} {1})))\n", time, steps + 1);
      // (C1), (C2); steps + 1 stands for never.
      if (starts_at(spec, n)) text_ += fmt::format("(assert (= {} 0))\n", time);
      if (ends_at(spec, n)) text_ += fmt::format("(assert (<= {} {}))\n", time, steps);
      std::string incoming;
      for (LinkId l = 0; l < links; ++l)
        if (topology.links[l].dst == n) incoming += fmt::format(" (ite {} 1 0)", send_of(c, l));
      // (C3); nothing is sent to a rank that has the chunk from the start, which (C4) implies as well.
      if (starts_at(spec, n))
        text_ += fmt::format("(assert (= (+ 0{}) 0))\n", incoming);
      else
        text_ += fmt::format("(assert (=> (<= {0} {1}) (= (+ 0{2}) 1)))\n(assert (>= {0} 1))\n", time, steps,
                             incoming);
    }
    for (LinkId l = 0; l < links; ++l)
      // (C4): times rise along sends, so no chunk travels in a cycle without a source.
      text_ += fmt::format("(assert (=> {} (< {} {})))\n", send_of(c, l), time_of(c, topology.links[l].src),
                           time_of(c, topology.links[l].dst));
  }
  // (C5): sends that arrive in step s, counted by the time of their destination.
  const auto bound = [&](const std::vector<LinkId>& over, int bandwidth) {
    for (int s = 1; s <= steps; ++s) {
      text_ += "(assert (<= (+ 0";
      for (LinkId l : over)
        for (Chunk c = 0; c < chunks; ++c)
          text_ += fmt::format(" (ite (and {} (= {} {})) 1 0)", send_of(c, l),
                               time_of(c, topology.links[l].dst), s);
      text_ += fmt::format(") (* {} r_{})))\n", bandwidth, s);
    }
  };
  for (LinkId l = 0; l < links; ++l) bound({l}, topology.links[l].bandwidth);
  for (const SharedLimit& limit : topology.limits) bound(limit.links, limit.bandwidth);
}

std::vector<std::string> SmtEncoding::wanted() const {
  std::vector<std::string> names;
  for (Chunk c = 0; c < static_cast<int>(instance_.collective.chunks.size()); ++c) {
    for (Rank n = 0; n < instance_.topology.ranks; ++n) names.push_back(time_of(c, n));
    for (LinkId l = 0; l < static_cast<int>(instance_.topology.links.size()); ++l)
      names.push_back(send_of(c, l));
  }
  return names;
}

Schedule SmtEncoding::decode(const std::map<std::string, long long>& values) const {
  Schedule schedule;
  schedule.steps.resize(instance_.budget.steps);
  for (Chunk c = 0; c < static_cast<int>(instance_.collective.chunks.size()); ++c)
    for (LinkId l = 0; l < static_cast<int>(instance_.topology.links.size()); ++l) {
      if (values.at(send_of(c, l)) == 0) continue;
      const long long s = values.at(time_of(c, instance_.topology.links[l].dst));
      if (s >= 1 && s <= instance_.budget.steps)
        schedule.steps[static_cast<std::size_t>(s - 1)].sends.push_back({.chunk = c, .link = l});
    }
  return tidy(instance_.topology, instance_.collective, std::move(schedule));
}

// The published formula, as it stands in the paper: no pruning by distance, one formula per split of the
// rounds. It is kept for comparison, so nothing is to be improved here. The numbers at the clauses are the
// paper's.
//
// A step's rounds are a number here, so (5) is a plain bound on sends. But R rounds in S steps have (R-1
// choose S-1) splits, each is a formula, and an Unsat is one of all of them; nothing learnt of one is known
// to the next.

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
