// Rates first, then rule by rule, as linear_formula.cpp.
#include "semantics/growth_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace chorale {
namespace {

// By rank: sends in a round that leave it, or come to it. A limit over some of its links takes away what
// these have above it; one that multicasts does not count how many leave.
std::vector<std::int64_t> most_sends(const Topology& topology, bool leaving) {
  const auto end_of = [&](LinkId l) { return leaving ? topology.links[l].src : topology.links[l].dst; };
  std::vector<std::int64_t> all(topology.ranks);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) all[end_of(l)] += topology.links[l].bandwidth;
  std::vector<std::int64_t> most = all;
  for (const SharedLimit& limit : topology.limits) {
    if (leaving && limit.abilities.multicast) continue;
    std::map<Rank, std::int64_t> under;
    for (const LinkId l : limit.links) under[end_of(l)] += topology.links[l].bandwidth;
    for (const auto& [n, bandwidth] : under)
      most[n] = std::min(most[n], all[n] - bandwidth + limit.bandwidth);
  }
  return most;
}

}  // namespace

GrowthFormula::GrowthFormula(const Topology& topology, const Collective& collective, std::vector<Chunk> equal,
                             const Budget& budget)
    : equal_(std::move(equal)), budget_(budget) {
  const ChunkSpec& spec = collective.chunks[equal_.front()];
  const std::vector<std::int64_t> leaving = most_sends(topology, true), coming = most_sends(topology, false);
  std::int64_t received = 0;
  for (Rank n = 0; n < topology.ranks; ++n) {
    if (spec.pre.contains(n)) {
      of_first_ += leaving[n];
      continue;
    }
    others_.push_back(n);
    of_other_ = std::max(of_other_, leaving[n]);
    received = std::max(received, coming[n]);
    wanted_ += spec.post.contains(n) ? 1 : 0;
  }
  const std::int64_t of_use = std::ssize(equal_) * others();
  for (std::int64_t* rate : {&of_first_, &of_other_, &received}) *rate = std::min(*rate, of_use);
  of_all_ = std::min(of_first_ + of_other_ * others(), received * others());
  given_ = std::min(of_first_ * budget.rounds, others());

  for (int at = 0; at < std::ssize(equal_); ++at) {
    write_held(at, budget.steps, 1);
    end(wanted_);
  }
  growth_ = rules_ + 1;
  for (int at = 0; at < std::ssize(equal_); ++at) write_spread(at);
  write_rounds();
}

void GrowthFormula::write_spread(int at) {
  const auto out = std::back_inserter(body_);
  for (int s = 1; s <= budget_.steps; ++s)
    for (int r = 0; r <= budget_.rounds; ++r) {
      write_held(at, s, -1);
      write_held(at, s - 1, 1 + r * of_other_);
      for (int i = 1; i <= given_; ++i) fmt::format_to(out, "1 {} ", given(at, s, i));
      if (r < budget_.rounds) fmt::format_to(out, "{} {} ", others(), round(s, r + 1));
      end(0);
    }
}

void GrowthFormula::write_rounds() {
  const auto out = std::back_inserter(body_);
  const auto rounds = [&](int s, std::int64_t coefficient) {
    for (int j = 1; j <= budget_.rounds; ++j) fmt::format_to(out, "{} {} ", coefficient, round(s, j));
  };
  first_ = rules_ + 1;
  for (int s = 1; s <= budget_.steps; ++s) {
    rounds(s, of_first_);
    for (int at = 0; at < std::ssize(equal_); ++at)
      for (int i = 1; i <= given_; ++i) fmt::format_to(out, "-1 {} ", given(at, s, i));
    end(0);
  }
  hold_ = rules_ + 1;
  for (int at = 0; at < std::ssize(equal_); ++at)
    for (int s = 1; s <= budget_.steps; ++s)
      for (int i = 1; i <= given_; ++i) {
        const auto j = static_cast<int>((i + of_first_ - 1) / of_first_);
        fmt::format_to(out, "1 ~{} 1 {} ", given(at, s, i), round(s, j));
        end(1);
      }
  all_ = rules_ + 1;
  for (int s = 1; s <= budget_.steps; ++s) {
    rounds(s, of_all_);
    for (int at = 0; at < std::ssize(equal_); ++at) {
      write_held(at, s, -1);
      write_held(at, s - 1, 1);
    }
    end(0);
  }
  for (int s = 1; s <= budget_.steps; ++s)
    for (int j = 1; j < budget_.rounds; ++j) {
      fmt::format_to(out, "1 ~{} 1 {} ", round(s, j + 1), round(s, j));
      end(1);
    }
  for (int s = 1; s <= budget_.steps; ++s) rounds(s, -1);
  end(-budget_.rounds);
}

void GrowthFormula::write_held(int at, int s, std::int64_t coefficient) {
  if (s == 0) return;  // none of them
  for (const Rank n : others_)
    fmt::format_to(std::back_inserter(body_), "{} h_{}_{}_{} ", coefficient, equal_[at], n, s);
}

std::string GrowthFormula::given(int at, int s, int i) const {
  return fmt::format("f_{}_{}_{}", equal_[at], s, i);
}

std::string GrowthFormula::round(int s, int j) {
  return fmt::format("r_{}_{}", s, j);
}

void GrowthFormula::end(std::int64_t least) {
  fmt::format_to(std::back_inserter(body_), ">= {} ;\n", least);
  ++rules_;
}

std::string GrowthFormula::text() const {
  const long variables = (std::ssize(equal_) * (others() + given_) + budget_.rounds) * budget_.steps;
  return fmt::format("* #variable= {} #constraint= {}\n", variables, rules_) + body_;
}

}  // namespace chorale
