// For each division of the rounds among the steps there is a contradiction, and by unit propagation there is
// no other division. In one, forwards: all chunks together have at most F(s) holders after step s, of
// (growth) with (first), or of (all). Backwards: for the last holders of a chunk in time, a*h + (what first
// holders give later) >= D before each step; dividing that rounds up, which is what no linear program sees.
// All chunks have a*F(s) + (what first holders can give) at most, and that is less than D for each.
#include "pareto/growth_proof.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/instance.h"
#include "pareto/proof_text.h"
#include "semantics/growth_formula.h"

namespace chorale {
namespace {

constexpr int kMostEqual = 6;       // chunks that a claim of this kind is about
constexpr int kMostWays = 20'000;   // of the rounds among steps: 20 MB of proof
constexpr int kMostTurns = 5'000;   // that are tried backwards
constexpr double kMostTerms = 2e6;  // of a formula

// How a line about one chunk is carried back over a step.
struct Turn {
  bool gives = true;  // what first holders give in the step is kept; otherwise all that they can is taken off
  bool divides = false;  // divides by the coefficient of the holders; otherwise no coefficient exceeds D
};

// holders * h + sum of given[s] * f_s >= least, for h after a step, and steps s after it.
struct Need {
  std::int64_t holders = 1, least = 0;
  std::vector<std::int64_t> given = {};  // by step, from 1
};

class GrowthProver {
 public:
  GrowthProver(const GrowthFormula& formula, int chunks, const Budget& budget, PbFormat format)
      : formula_(formula), chunks_(chunks), budget_(budget), proof_(formula.rules(), format) {}

  bool prove() { return refute({}, budget_.rounds); }
  std::string text() const { return proof_.ended(); }
  int ways() const { return ways_; }

 private:
  // All ways that begin so.
  bool refute(const std::vector<int>& begun, int left) {
    std::string other;  // some step has more rounds, or fewer
    for (int s = 1; s <= std::ssize(begun); ++s) {
      const int r = begun[s - 1];
      if (r < budget_.rounds) other += "1 " + GrowthFormula::round(s, r + 1) + " ";
      if (r > 0) other += "1 ~" + GrowthFormula::round(s, r) + " ";
    }
    if (std::ssize(begun) + 1 == budget_.steps) {
      std::vector<int> way = begun;
      way.push_back(left);
      if (++ways_ > kMostWays || !refute_way(way)) return false;
      if (left < budget_.rounds)
        proof_.derive(other + "1 ~" + GrowthFormula::round(budget_.steps, left + 1) + " ");
    } else {
      std::vector<int> more = begun;
      more.push_back(0);
      for (; more.back() <= left; ++more.back())
        if (!refute(more, left - more.back())) return false;
    }
    proof_.derive(other);
    return true;
  }

  bool refute_way(const std::vector<int>& way) {
    most_ = {0};
    for (const int r : way) most_.push_back(std::min({all(), by_holders(r), by_rounds(r)}));
    tried_.clear();
    std::vector<Turn> turns;
    const Need need{.least = formula_.wanted(), .given = std::vector<std::int64_t>(budget_.steps + 1)};
    if (!find_turns(way, need, budget_.steps, turns)) return false;
    write(way, turns);
    return true;
  }

  std::int64_t all() const { return chunks_ * formula_.others(); }
  std::int64_t by_holders(int r) const {
    return (1 + r * formula_.of_other()) * most_.back() + r * formula_.of_first();
  }
  std::int64_t by_rounds(int r) const { return most_.back() + r * formula_.of_all(); }
  std::int64_t given_by_first(int r) const { return std::min(r * formula_.of_first(), formula_.given()); }

  bool is_too_much(const std::vector<int>& way, const Need& need, int s) const {
    std::int64_t have = need.holders * most_[s];
    for (int t = s + 1; t <= budget_.steps; ++t) have += need.given[t] * way[t - 1] * formula_.of_first();
    return have < chunks_ * need.least;
  }

  bool find_turns(const std::vector<int>& way, const Need& need, int s, std::vector<Turn>& turns) {
    if (is_too_much(way, need, s)) return true;
    if (s == 0 || std::ssize(tried_) > kMostTurns) return false;
    if (!tried_.insert({s, need.holders, need.least, need.given}).second) return false;
    for (const bool gives : {true, false})
      for (const bool divides : {true, false}) {
        const Turn turn{.gives = gives, .divides = divides};
        const Need before = turned(way, need, s, turn);
        if (before.least <= 0) continue;
        turns.push_back(turn);
        if (find_turns(way, before, s - 1, turns)) return true;
        turns.pop_back();
      }
    return false;
  }

  Need turned(const std::vector<int>& way, Need need, int s, const Turn& turn) const {
    const int r = way[s - 1];
    need.given[s] = turn.gives ? need.holders : 0;
    if (!turn.gives) need.least -= need.holders * given_by_first(r);
    need.holders *= 1 + r * formula_.of_other();
    const auto each = [&](const auto& change) {
      for (std::int64_t& coefficient : need.given) coefficient = change(coefficient);
    };
    if (turn.divides) {
      const auto divided = [by = need.holders](std::int64_t a) { return (a + by - 1) / by; };
      need.least = divided(need.least);
      each(divided);
      need.holders = 1;
    } else {
      const auto limited = [most = need.least](std::int64_t a) { return std::min(a, most); };
      need.holders = limited(need.holders);
      each(limited);
    }
    return need;
  }

  void write(const std::vector<int>& way, const std::vector<Turn>& turns) {
    const Need last{.least = formula_.wanted(), .given = std::vector<std::int64_t>(budget_.steps + 1)};
    Need need = last;
    int s = budget_.steps;
    for (int at = 0; at < chunks_; ++at) {
      proof_.begin_term();
      proof_.add(formula_.end_rule(at), 1);
      s = budget_.steps;
      need = last;
      for (const Turn& turn : turns) {
        write_turn(at, s, way[s - 1], need.holders, turn);
        need = turned(way, need, s, turn);
        --s;
      }
      if (at > 0) proof_.end_term();
    }
    for (int t = s + 1; t <= budget_.steps; ++t) proof_.add(formula_.first_rule(t), need.given[t]);
    for (std::int64_t times = need.holders; s > 0 && most_[s] < all(); --s) {
      const int r = way[s - 1];
      const bool by_all = most_[s] == most_[s - 1] + r * formula_.of_all();
      if (by_all) proof_.add(formula_.all_rule(s), times);
      if (by_all) continue;
      for (int at = 0; at < chunks_; ++at) proof_.add(formula_.growth_rule(at, s, r), times);
      proof_.add(formula_.first_rule(s), times);
      times *= 1 + r * formula_.of_other();
    }
    proof_.add_up();
  }

  void write_turn(int at, int s, int r, std::int64_t holders, const Turn& turn) {
    proof_.add(formula_.growth_rule(at, s, r), holders);
    for (int i = 1; i <= formula_.given() && !turn.gives; ++i) {
      if (i <= given_by_first(r)) proof_.add("~" + formula_.given(at, s, i), holders);
      if (i > given_by_first(r)) proof_.add(formula_.hold_rule(at, s, i), holders);
    }
    if (turn.divides) proof_.divide(holders * (1 + r * formula_.of_other()));
    if (!turn.divides) proof_.saturate();
  }

  const GrowthFormula& formula_;
  const int chunks_;
  const Budget budget_;
  ProofText proof_;
  int ways_ = 0;
  std::vector<std::int64_t> most_ = {};  // holders of all chunks after each step
  std::set<std::tuple<int, std::int64_t, std::int64_t, std::vector<std::int64_t>>> tried_ = {};
};

}  // namespace

BoundProof growth_proof(const Topology& asked_topology, const Collective& asked, const Claim& claim,
                        PbFormat format) {
  const Topology topology = asked.combining ? reversed(asked_topology) : asked_topology;
  const Collective collective = asked.combining ? dual(asked) : asked;
  const Budget budget{.steps = std::min(claim.steps, claim.rounds - 1), .rounds = claim.rounds - 1};
  if (budget.rounds < 1) return {.why_none = "nothing is claimed"};
  const ChunkSpec& spec = collective.chunks[claim.certificate.chunk];
  std::vector<Chunk> equal;
  for (Chunk c = 0; c < std::ssize(collective.chunks) && std::ssize(equal) < kMostEqual; ++c)
    if (collective.chunks[c].pre == spec.pre && collective.chunks[c].post == spec.post) equal.push_back(c);
  const int chunks = static_cast<int>(equal.size());
  if (4.0 * chunks * budget.steps * budget.rounds * topology.ranks > kMostTerms)
    return {.why_none = "the formula is too large"};
  const GrowthFormula formula(topology, collective, std::move(equal), budget);
  GrowthProver prover(formula, chunks, budget, format);
  if (!prover.prove()) return {.why_none = "some division of the rounds is not refuted"};
  return {.opb = formula.text(),
          .pbp = prover.text(),
          .rules = formula.rules(),
          .cuts = prover.ways(),
          .chunks = claim.chunks,
          .steps = budget.steps,
          .rounds = budget.rounds};
}

}  // namespace chorale
