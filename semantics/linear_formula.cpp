// The text is written rule by rule; nothing is kept of it but the numbers of those that a proof adds up.
//
// OPB has linear inequalities only. A clause is one whose literals sum up to 1 or more, and ~x is 1 - x, so
// that (source) of chunk 0 over link 0 from rank 0 in step 1, of a copy, is the line
//   1 ~s_0_0_1 1 h_0_0_0 >= 1 ;
// A proof multiplies rules and adds them up, so a rule is named by its place among the lines (from 1 on).
#include "semantics/linear_formula.h"

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "ir/frontier.h"

namespace chorale {
namespace {

constexpr int kCopied = -1;  // instead of a contributor

std::string contribution(int contributor) {
  return contributor == kCopied ? "" : fmt::format("_{}", contributor);
}

std::string held(Chunk c, Rank n, int s, int contributor) {
  return fmt::format("h_{}_{}_{}{}", c, n, s, contribution(contributor));
}

std::string part(Chunk c, LinkId l, int s, int contributor) {
  return contributor == kCopied ? LinearFormula::send(c, l, s)
                                : fmt::format("p_{}_{}_{}_{}", c, l, s, contributor);
}

std::size_t contributors(const Collective& collective, const ChunkSpec& spec) {
  return collective.combining ? spec.pre.size() : 1;
}

}  // namespace

std::string LinearFormula::send(Chunk c, LinkId l, int s) {
  return fmt::format("s_{}_{}_{}", c, l, s);
}

LinearFormula::LinearFormula(const Topology& topology, const Collective& collective, const Budget& budget)
    : links_(topology.links.size()), limits_(topology.limits.size()), into_(topology.ranks) {
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) into_[topology.links[l].dst].push_back(l);
  for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    variables_ += static_cast<long>(links_) * budget.steps;
    if (!collective.combining) {
      write_chunk(topology, spec, c, kCopied, budget.steps);
      continue;
    }
    variables_ += static_cast<long>(links_ * spec.pre.size()) * budget.steps;
    for (const Rank contributor : spec.pre) write_chunk(topology, spec, c, contributor, budget.steps);
  }
  if (budget.rounds != kAnyRounds) write_counts(topology, collective, budget);
}

// All rules but (rounds) and (bandwidth), of one contribution to a chunk; in the order of the header, and
// (end) last. For a copy there is one call per chunk, and a part is the send itself.
void LinearFormula::write_chunk(const Topology& topology, const ChunkSpec& spec, Chunk c, int i, int steps) {
  const auto out = std::back_inserter(body_);
  variables_ += static_cast<long>(topology.ranks) * (steps + 1);
  for (Rank n = 0; n < topology.ranks; ++n)
    if (i == kCopied ? !spec.pre.contains(n) : n != i) {
      fmt::format_to(out, "1 ~{} ", held(c, n, 0, i));
      end(1);
    }
  for (int s = 1; s <= steps; ++s) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      fmt::format_to(out, "1 ~{} 1 {} ", part(c, l, s, i), held(c, topology.links[l].src, s - 1, i));
      end(1);
      if (i == kCopied) continue;
      fmt::format_to(out, "1 ~{} 1 {} ", part(c, l, s, i), send(c, l, s));
      end(1);
    }
    for (Rank n = 0; n < topology.ranks; ++n) {
      fmt::format_to(out, "1 ~{} 1 {} ", held(c, n, s, i), held(c, n, s - 1, i));
      for (const LinkId l : into_[n]) fmt::format_to(out, "1 {} ", part(c, l, s, i));
      end(1);
    }
  }
  for (const Rank d : spec.post) {
    fmt::format_to(out, "1 {} ", held(c, d, steps, i));
    end(1);
  }
}

// (rounds) and (bandwidth). OPB has only `>=`, so "at most R" has coefficients of -1 and -R on the right.
void LinearFormula::write_counts(const Topology& topology, const Collective& collective,
                                 const Budget& budget) {
  const auto out = std::back_inserter(body_);
  const auto rounds = [&](int s, int coefficient) {
    for (int j = 1; j <= budget.rounds; ++j) fmt::format_to(out, "{} r_{}_{} ", coefficient, s, j);
  };
  variables_ += static_cast<long>(budget.rounds) * budget.steps;
  for (int s = 1; s <= budget.steps; ++s) rounds(s, -1);
  end(-budget.rounds);
  // Rounds of a step need no order here: only their number enters, and a solver may choose any of them.
  rounds_rule_ = rules_;
  const auto limit = [&](std::span<const LinkId> links, int bandwidth, int s) {
    rounds(s, bandwidth);
    for (const LinkId l : links)
      for (Chunk c = 0; c < std::ssize(collective.chunks); ++c) fmt::format_to(out, "-1 {} ", send(c, l, s));
    end(0);
    return rules_;
  };
  for (int s = 1; s <= budget.steps; ++s) {
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      link_rules_.push_back(limit(std::span(&l, 1), topology.links[l].bandwidth, s));
    for (const SharedLimit& shared : topology.limits)
      limit_rules_.push_back(shared.abilities.any() ? 0 : limit(shared.links, shared.bandwidth, s));
  }
}

void LinearFormula::end(int least) {
  fmt::format_to(std::back_inserter(body_), ">= {} ;\n", least);
  ++rules_;
}

std::string LinearFormula::text() const {
  return fmt::format("* #variable= {} #constraint= {}\n", variables_, rules_) + body_;
}

double LinearFormula::literals(const Topology& topology, const Collective& collective, const Budget& budget) {
  // As they are written above, for each step: of a link two literals in (source), four if there are parts
  // beside sends, and one in (arrival); of a rank two in (arrival). (start) and (end) are few and left out.
  const double links = static_cast<double>(topology.links.size()), ranks = topology.ranks;
  const double steps = budget.steps, chunks = static_cast<double>(collective.chunks.size());
  double all = 0;
  for (const ChunkSpec& spec : collective.chunks)
    all += static_cast<double>(contributors(collective, spec)) * steps *
           ((collective.combining ? 5 : 3) * links + 2 * ranks);
  if (budget.rounds == kAnyRounds) return all;
  double counted = 0, rules = links;
  for (const SharedLimit& limit : topology.limits) {
    counted += static_cast<double>(limit.links.size());
    ++rules;
  }
  return all + steps * ((counted + links) * chunks + (rules + 1) * budget.rounds);
}

}  // namespace chorale
