// A bound in few steps is a sum of cuts in time: each follows by unit propagation (rup), and their sum with
// the rules of bandwidth and rounds is a contradiction (pol).
//
// A bound for any number of steps is a sum of payments. Of C chunks per block in R rounds, the k-th of all
// blocks pay no more than R * P / C for some k, so a formula with one chunk per block is about any number of
// them. Sets of ranks are entered by a rule. A sum for several groups crosses between them more often than
// cuts show: p groups contribute, q need it. After p - 2 sends no group has all, since one needs p - 1; so
// each of q is entered by a later one (bounds.md: partitions). If no group is both, that holds after p - 1.
#include "pareto/bound_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bounds/cut_sum.h"
#include "bounds/demand.h"
#include "ir/instance.h"
#include "pareto/growth_proof.h"
#include "semantics/linear_formula.h"
#include "semantics/payment_formula.h"

namespace chorale {
namespace {

constexpr double kMostLiterals = 4e6;  // of a formula: about 60 MB
constexpr double kMostSearched = 1e8;  // links, for the cuts of all chunks

BoundProof none(std::string why) {
  return {.why_none = std::move(why)};
}

// One less than claimed. Each step has a round, or could be left out, so more steps than rounds are no more.
Budget refuted(const Claim& claim, int chunks) {
  const int rounds = rounds_claimed(claim, chunks);
  if (rounds == kNoSchedule) return {.steps = claim.steps, .rounds = kAnyRounds};
  return {.steps = std::min(claim.steps, rounds - 1), .rounds = rounds - 1};
}

// Does a limit have a price that may count several sends once?
bool counts_once(const Topology& topology, const std::vector<Prices>& by_step, bool sums) {
  return std::ranges::any_of(by_step, [&](const Prices& prices) {
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      if (const Abilities& able = topology.limits[z].abilities;
          prices.limits[z] > 0 && (able.multicast || (able.reduce && sums)))
        return true;
    return false;
  });
}

// The chunk enters the cut by one of these sends.
std::string entering(const Topology& topology, const EnteredCut& each, int steps) {
  const std::vector<int>& until = each.cut.until;
  std::string text;
  for (int s = 1; s <= steps; ++s)
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      if (until[topology.links[l].dst] >= s && until[topology.links[l].src] < s - 1)
        fmt::format_to(std::back_inserter(text), "1 {} ", LinearFormula::send(each.chunk, l, s));
  return text;
}

BoundProof timed_proof(const Topology& topology, const Collective& collective, const Claim& claim,
                       PbFormat format) {
  const Budget budget = refuted(claim, collective.chunks_per_block);
  if (budget.steps == kAnySteps || budget.steps < 0) return none("nothing is claimed");
  if (LinearFormula::literals(topology, collective, budget) > kMostLiterals)
    return none("the formula is too large");
  const std::optional<CutSum> cuts = cut_sum(topology, collective, claim.certificate, budget.steps);
  if (!cuts || counts_once(topology, cuts->prices, true) ||
      !(cuts->unreachable || cuts->owed > cuts->per_round * budget.rounds))
    return none("no sum of cuts shows it");
  const LinearFormula formula(topology, collective, budget);
  ProofText proof(formula.rules(), format);
  if (cuts->unreachable) {
    proof.derive("");
  } else {
    std::vector<long> entered;
    for (const EnteredCut& each : cuts->cuts)
      entered.push_back(proof.derive(entering(topology, each, budget.steps)));
    // The rule of the rounds is taken as often as a round of the most expensive step costs.
    proof.add(formula.rounds_rule(), cuts->per_round);
    for (int s = 1; s <= std::ssize(cuts->prices); ++s) {
      const Prices& prices = cuts->prices[s - 1];
      for (LinkId l = 0; l < std::ssize(prices.links); ++l)
        proof.add(formula.link_rule(l, s), prices.links[l]);
      for (int z = 0; z < std::ssize(prices.limits); ++z)
        proof.add(formula.limit_rule(z, s), prices.limits[z]);
    }
    for (std::size_t i = 0; i < entered.size(); ++i) proof.add(entered[i], cuts->cuts[i].cut.price);
    proof.add_up();
  }
  return {.opb = formula.text(),
          .pbp = proof.ended(),
          .rules = formula.rules(),
          .cuts = std::ssize(cuts->cuts),
          .chunks = collective.chunks_per_block,
          .steps = budget.steps,
          .rounds = budget.rounds == kAnyRounds ? std::nullopt : std::optional(budget.rounds)};
}

// The sends of a chunk between groups, of which some contribute to it and some need it.
class Crossings {
 public:
  // Groups of any numbers.
  Crossings(const Topology& topology, const ChunkSpec& spec, Chunk c, const std::vector<int>& group)
      : topology_(topology), c_(c) {
    std::map<int, int> numbers;
    for (const int each : group) numbers.try_emplace(each, static_cast<int>(numbers.size()));
    for (const int each : group) group_.push_back(numbers[each]);
    const auto are_of = [&](const RankSet& ranks) {
      std::vector<int> found;
      for (const Rank n : ranks) found.push_back(group_[n]);
      std::ranges::sort(found);
      found.erase(std::ranges::unique(found).begin(), found.end());
      return found;
    };
    give_ = are_of(spec.pre);
    need_ = are_of(spec.post);
    const bool both = std::ranges::find_first_of(give_, need_) != give_.end();
    before_ = static_cast<int>(give_.size()) - (both ? 2 : 1);
  }

  int least() const { return before_ + static_cast<int>(need_.size()); }

  void write_rules(PaymentFormula& formula) { single_ = formula.cross(c_, group_, least()); }

  // Derives that there are so many.
  void derive(ProofText& proof) {
    const int last = least();
    for (const int g : need_) derive_lack(proof, g);
    std::vector<long> entered;
    for (const int g : need_)
      entered.push_back(proof.derive(sends(before_ + 1, last - 1, kAny, g) + sends(last, last, kAny, kAny)));
    for (const long line : entered) proof.add(line, 1);
    for (int j = before_ + 1; j < last; ++j) proof.add(single_ + j - 1, 1);
    proof.add_up();
    last_one_ = proof.derive(sends(last, last, kAny, kAny));
  }

  // To the sum that is built.
  void add(ProofText& proof, std::int64_t price) const {
    const int last = least();
    proof.add(last_one_, price * last);
    for (int j = 1; j < last; ++j) proof.add(single_ + last + j - 1, price * j);
  }

 private:
  static constexpr int kAny = -1;

  std::string known(int g, int j, int i) const {
    return fmt::format("1 ~{} ", PaymentFormula::known(c_, g, j, i));
  }

  // Sends out of a group, into one.
  std::string sends(int from_j, int to_j, int out_of, int into) const {
    std::string text;
    for (int j = from_j; j <= to_j; ++j)
      for (LinkId l = 0; l < std::ssize(topology_.links); ++l) {
        const int src = group_[topology_.links[l].src], dst = group_[topology_.links[l].dst];
        if (src != dst && (out_of == kAny || src == out_of) && (into == kAny || dst == into))
          fmt::format_to(std::back_inserter(text), "1 {} ", PaymentFormula::crossing(c_, j, l));
      }
    return text;
  }

  // A group lacks something after the sends of which there are too few for it.
  void derive_lack(ProofText& proof, int g) {
    std::string lacks;
    for (const int i : give_) {
      if (i == g) continue;
      lacks += known(g, before_, i);
      if (before_ > 0) proof.add(left(proof, i, g), 1);
    }
    if (before_ > 0) {
      for (int j = 1; j <= before_; ++j) proof.add(single_ + j - 1, 1);
      proof.add_up();
    }
    proof.derive(lacks);
  }

  // What group i gives is in another group only if i was left: by induction over the sends.
  long left(ProofText& proof, int i, int g) {
    if (left_.contains({i, g})) return left_.at({i, g});
    const int groups = 1 + *std::ranges::max_element(group_);
    for (int j = 1; j <= before_; ++j)
      for (int f = 0; f < groups; ++f)
        if (f != i) left_[{i, f}] = proof.derive(known(f, j, i) + sends(1, j, i, kAny));
    return left_.at({i, g});
  }

  const Topology& topology_;
  const Chunk c_;
  std::vector<int> group_ = {}, give_ = {}, need_ = {};  // groups from 0 on; those that contribute, need it
  int before_ = 0;                                       // sends after which no group that needs it has all
  long single_ = 0, last_one_ = 0;
  std::map<std::pair<int, int>, long> left_ = {};
};

// A line of a sum: some send of the chunk enters a set.
struct Entered {
  Chunk chunk = 0;
  long rule = 0;
  std::int64_t price = 0;
};

// Sets of one chunk are nested: the ranks that cost more than some price. A send from cost a to cost b passes
// all prices between: those of limits that count what leaves its rank first, those of limits that count what
// comes to a rank last, and its own between. So a line about sends becomes some about what is counted once
// (rup), each for a part of its price. None where a limit is charged twice.
std::optional<std::vector<Entered>> count_once(const Topology& topology, const PaymentFormula& formula,
                                               const Prices& prices,
                                               const std::map<Chunk, std::vector<std::int64_t>>& costs,
                                               ProofText& proof) {
  std::vector<Entered> parts;
  std::map<std::string, std::int64_t> charged, allowed;
  for (const auto& [c, cost] : costs) {
    std::set<std::int64_t> levels(cost.begin(), cost.end());
    struct CostRange {
      std::int64_t from = 0, to = 0;
      std::string name = {};
    };
    std::vector<std::vector<CostRange>> sends;
    for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
      const Rank src = topology.links[l].src, dst = topology.links[l].dst;
      for (const PaymentFormula::PaidSend& each : formula.sends(c, l)) {
        std::int64_t low = cost[src], high = cost[dst];
        if (low >= high) continue;
        std::vector<CostRange> all;
        const auto take = [&](int z, bool leaving) {
          const std::int64_t part = std::min<std::int64_t>(prices.limits[z], high - low);
          const std::string name = PaymentFormula::once(c, z, leaving ? src : dst, leaving);
          allowed[name] = prices.limits[z];
          all.push_back(leaving ? CostRange{low, low + part, name} : CostRange{high - part, high, name});
          (leaving ? low : high) += leaving ? part : -part;
        };
        for (const int z : each.leaving) take(z, true);
        for (const int z : each.coming) take(z, false);
        all.push_back({low, high, each.name});
        for (const CostRange& range : all) levels.insert({range.from, range.to});
        sends.push_back(std::move(all));
      }
    }
    std::int64_t from = 0;
    for (const std::int64_t to : levels) {
      if (to <= 0) continue;
      std::set<std::string> names;
      for (const std::vector<CostRange>& all : sends)
        for (const CostRange& range : all)
          if (range.from <= from && to <= range.to) names.insert(range.name);
      std::string terms;
      for (const std::string& name : names) {
        terms += "1 " + name + " ";
        charged[name] += to - from;
        if (allowed.contains(name) && charged[name] > allowed[name]) return std::nullopt;
      }
      parts.push_back({.chunk = c, .rule = proof.derive(terms), .price = to - from});
      from = to;
    }
  }
  return parts;
}

// The most that the cheapest part of the chunks can pay, of what the claim excludes.
std::int64_t refuted_payment(const Claim& claim, std::int64_t per_round) {
  return claim.any_chunks ? (per_round * claim.rounds - 1) / claim.chunks : per_round * (claim.rounds - 1);
}

BoundProof payment_proof(const Topology& topology, const Collective& collective, const Claim& claim,
                         PbFormat format) {
  const Certificate& why = claim.certificate;
  const double links = static_cast<double>(topology.links.size()), ranks = topology.ranks;
  const double sends = links * static_cast<double>(collective.chunks.size());
  if (sends > kMostLiterals || sends * ranks > kMostSearched) return none("the formula is too large");
  const int steps = topology.ranks - 1;  // a path has no more
  const std::optional<CutSum> cuts = cut_sum(topology, collective, why, steps);
  if (!cuts || cuts->unreachable || cuts->per_round > std::numeric_limits<std::int64_t>::max() / claim.rounds)
    return none("no sum of cuts shows it");
  PaymentFormula formula(topology, collective, why.prices.front());
  const bool once = counts_once(topology, why.prices, collective.combining);
  if (once && why.kind != Certificate::Kind::Weights)
    return none("limits that count several sends once have a price");
  std::vector<Entered> entered;
  std::map<Chunk, std::vector<std::int64_t>> costs;  // of ranks
  struct Crossed {
    Crossings crossings;
    std::int64_t price = 0;
  };
  std::vector<Crossed> crossed;
  double literals = 0;
  std::int64_t owed = 0;
  for (auto at = cuts->cuts.begin(); at != cuts->cuts.end();) {
    const Chunk c = at->chunk;
    const auto end =
        std::find_if(at, cuts->cuts.end(), [&](const EnteredCut& each) { return each.chunk != c; });
    if (why.kind == Certificate::Kind::Partition && collective.combining) {
      Crossings crossings(topology, collective.chunks[c], c, why.group);
      if (crossings.least() > end - at) {
        literals += links * ranks * 4 * crossings.least();
        owed += crossings.least() * std::int64_t{at->cut.price};
        crossed.push_back({.crossings = std::move(crossings), .price = at->cut.price});
        at = end;
      }
    }
    for (; at != end; ++at) {
      std::vector<bool> inside;
      for (const int until : at->cut.until) inside.push_back(until >= steps);
      std::vector<std::int64_t>& cost = costs.try_emplace(c, topology.ranks).first->second;
      for (Rank n = 0; n < topology.ranks; ++n) cost[n] += inside[n] ? at->cut.price : 0;
      entered.push_back({.chunk = c, .rule = formula.enter(c, inside), .price = at->cut.price});
      owed += at->cut.price;
    }
  }
  const std::int64_t most = refuted_payment(claim, cuts->per_round);
  if (owed <= most) return none("no sum of cuts shows it");
  if (literals > kMostLiterals) return none("the formula is too large");
  for (Crossed& each : crossed) each.crossings.write_rules(formula);
  const long payment = formula.pay(most);
  ProofText proof(formula.rules(), format);
  for (Crossed& each : crossed) each.crossings.derive(proof);
  if (once) {
    const std::optional<std::vector<Entered>> counted =
        count_once(topology, formula, why.prices.front(), costs, proof);
    if (!counted) return none("limits that count several sends once share links");
    entered = *counted;
  }
  proof.add(payment, 1);
  for (const Entered& each : entered) proof.add(each.rule, each.price);
  for (const Crossed& each : crossed) each.crossings.add(proof, each.price);
  proof.add_up();
  return {.opb = formula.text(),
          .pbp = proof.ended(),
          .rules = formula.rules(),
          .cuts = std::ssize(cuts->cuts),
          .chunks = claim.any_chunks ? std::nullopt : std::optional(claim.chunks),
          .rounds = claim.any_chunks ? std::nullopt : std::optional(claim.rounds - 1),
          .payment = most,
          .per_round = cuts->per_round};
}

}  // namespace

bool is_paid(const Claim& claim) {
  using Kind = Certificate::Kind;
  const Certificate& why = claim.certificate;
  const bool priced = why.kind == Kind::Weights || why.kind == Kind::Trees || why.kind == Kind::Partition;
  return priced && why.prices.size() == 1 && claim.rounds > 0;
}

BoundProof bound_proof(const Topology& topology, const Collective& collective, const Claim& claim,
                       PbFormat format) {
  if (claim.certificate.kind == Certificate::Kind::Growth)
    return growth_proof(topology, collective, claim, format);
  return (is_paid(claim) ? payment_proof : timed_proof)(topology, collective, claim, format);
}

}  // namespace chorale
