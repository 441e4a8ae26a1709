// The published text, as it stands in the paper but for steps that may have no round (see the header). It is
// kept to be measured against, so nothing is to be improved here.
//
// It has a time for each (chunk, rank) and a send for each (chunk, link), without steps: a send happens when
// its chunk arrives. So it has few variables, and bandwidth compares times with every step.
#include "encoder/sccl_smt_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "ir/schedule.h"

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

}  // namespace chorale
