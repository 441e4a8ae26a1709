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
#include "semantics/growth_formula.h"

namespace chorale {
namespace {

constexpr int kMostEqual = 6;               // chunks that a claim of this kind is about
constexpr int kMaxDivisions = 20'000;       // of the rounds among steps: 20 MB of proof
constexpr int kMaxInferencesTried = 5'000;  // that are tried backwards
constexpr double kMostTerms = 2e6;          // of a formula

// How a line about one chunk is carried back over a step.
struct Inference {
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
  int divisions() const { return divisions_; }

 private:
  // All divisions that begin so.
  bool refute(const std::vector<int>& begun, int left) {
    std::string other;  // some step has more rounds, or fewer
    for (int s = 1; s <= std::ssize(begun); ++s) {
      const int r = begun[s - 1];
      if (r < budget_.rounds) other += "1 " + GrowthFormula::round(s, r + 1) + " ";
      if (r > 0) other += "1 ~" + GrowthFormula::round(s, r) + " ";
    }
    if (std::ssize(begun) + 1 == budget_.steps) {
      std::vector<int> division = begun;
      division.push_back(left);
      if (++divisions_ > kMaxDivisions || !refute_division(division)) return false;
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

  bool refute_division(const std::vector<int>& division) {
    most_ = {0};
    for (const int r : division) most_.push_back(std::min({all(), by_holders(r), by_rounds(r)}));
    tried_.clear();
    std::vector<Inference> inferences;
    const Need need{.least = formula_.wanted(), .given = std::vector<std::int64_t>(budget_.steps + 1)};
    if (!find_inferences(division, need, budget_.steps, inferences)) return false;
    write(division, inferences);
    return true;
  }

  std::int64_t all() const { return chunks_ * formula_.others(); }
  std::int64_t by_holders(int r) const {
    return (1 + r * formula_.of_other()) * most_.back() + r * formula_.of_first();
  }
  std::int64_t by_rounds(int r) const { return most_.back() + r * formula_.of_all(); }
  std::int64_t given_by_first(int r) const { return std::min(r * formula_.of_first(), formula_.given()); }

  bool is_too_much(const std::vector<int>& division, const Need& need, int s) const {
    std::int64_t have = need.holders * most_[s];
    for (int t = s + 1; t <= budget_.steps; ++t)
      have += need.given[t] * division[t - 1] * formula_.of_first();
    return have < chunks_ * need.least;
  }

  bool find_inferences(const std::vector<int>& division, const Need& need, int s,
                       std::vector<Inference>& inferences) {
    if (is_too_much(division, need, s)) return true;
    if (s == 0 || std::ssize(tried_) > kMaxInferencesTried) return false;
    if (!tried_.insert({s, need.holders, need.least, need.given}).second) return false;
    for (const bool gives : {true, false})
      for (const bool divides : {true, false}) {
        const Inference inference{.gives = gives, .divides = divides};
        const Need before = carried_back(division, need, s, inference);
        if (before.least <= 0) continue;
        inferences.push_back(inference);
        if (find_inferences(division, before, s - 1, inferences)) return true;
        inferences.pop_back();
      }
    return false;
  }

  Need carried_back(const std::vector<int>& division, Need need, int s, const Inference& inference) const {
    const int r = division[s - 1];
    need.given[s] = inference.gives ? need.holders : 0;
    if (!inference.gives) need.least -= need.holders * given_by_first(r);
    need.holders *= 1 + r * formula_.of_other();
    const auto each = [&](const auto& change) {
      for (std::int64_t& coefficient : need.given) coefficient = change(coefficient);
    };
    if (inference.divides) {
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

  void write(const std::vector<int>& division, const std::vector<Inference>& inferences) {
    const Need last{.least = formula_.wanted(), .given = std::vector<std::int64_t>(budget_.steps + 1)};
    Need need = last;
    int s = budget_.steps;
    for (int at = 0; at < chunks_; ++at) {
      proof_.begin_term();
      proof_.add(formula_.end_rule(at), 1);
      s = budget_.steps;
      need = last;
      for (const Inference& inference : inferences) {
        write_inference(at, s, division[s - 1], need.holders, inference);
        need = carried_back(division, need, s, inference);
        --s;
      }
      if (at > 0) proof_.end_term();
    }
    for (int t = s + 1; t <= budget_.steps; ++t) proof_.add(formula_.first_rule(t), need.given[t]);
    for (std::int64_t times = need.holders; s > 0 && most_[s] < all(); --s) {
      const int r = division[s - 1];
      const bool by_all = most_[s] == most_[s - 1] + r * formula_.of_all();
      if (by_all) proof_.add(formula_.all_rule(s), times);
      if (by_all) continue;
      for (int at = 0; at < chunks_; ++at) proof_.add(formula_.growth_rule(at, s, r), times);
      proof_.add(formula_.first_rule(s), times);
      times *= 1 + r * formula_.of_other();
    }
    proof_.add_up();
  }

  void write_inference(int at, int s, int r, std::int64_t holders, const Inference& inference) {
    proof_.add(formula_.growth_rule(at, s, r), holders);
    for (int i = 1; i <= formula_.given() && !inference.gives; ++i) {
      if (i <= given_by_first(r)) proof_.add("~" + formula_.given(at, s, i), holders);
      if (i > given_by_first(r)) proof_.add(formula_.hold_rule(at, s, i), holders);
    }
    if (inference.divides) proof_.divide(holders * (1 + r * formula_.of_other()));
    if (!inference.divides) proof_.saturate();
  }

  const GrowthFormula& formula_;
  const int chunks_;
  const Budget budget_;
  ProofText proof_;
  int divisions_ = 0;
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
          .cuts = prover.divisions(),
          .chunks = claim.chunks,
          .steps = budget.steps,
          .rounds = budget.rounds};
}

}  // namespace chorale
