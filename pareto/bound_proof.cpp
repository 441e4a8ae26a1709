// Nothing written here has to be believed: the proof is judged by a checker, and so is that it refutes the
// formula. What is believed is the formula (semantics/linear_formula.h).
#include "pareto/bound_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "bounds/cut_sum.h"
#include "ir/words.h"
#include "semantics/linear_formula.h"

namespace chorale {
namespace {

constexpr double kMostLiterals = 4e6;  // of a formula: about 60 MB

// One less than claimed. Each step has a round, or could be left out, so more steps than rounds are no more.
Budget refuted(const Claim& claim, int chunks) {
  const int rounds = rounds_claimed(claim, chunks);
  if (rounds == kNoSchedule) return {.steps = claim.steps, .rounds = kAnyRounds};
  return {.steps = std::min(claim.steps, rounds - 1), .rounds = rounds - 1};
}

// One line: the chunk enters the cut by one of these sends. Unit propagation shows it (rup).
void enter(std::string& text, const Topology& topology, const EnteredCut& each, int steps) {
  const std::vector<int>& until = each.cut.until;
  text += "rup ";
  for (int s = 1; s <= steps; ++s)
    for (LinkId l = 0; l < std::ssize(topology.links); ++l)
      if (until[topology.links[l].dst] >= s && until[topology.links[l].src] < s - 1)
        fmt::format_to(std::back_inserter(text), "1 {} ", LinearFormula::send(each.chunk, l, s));
  text += ">= 1 ;\n";
}

// A step of cutting planes in postfix notation (pol): rules by their numbers, each times its price, all added
// up. The rule of the rounds is taken as often as a round of the most expensive step costs.
std::string sum(const Topology& topology, const LinearFormula& formula, const CutSum& cuts) {
  std::string text;
  const auto add = [&](long rule, std::int64_t times) {
    if (times == 0) return;
    const bool first = text.empty();
    fmt::format_to(std::back_inserter(text), "{}{}{}{}", first ? "pol " : " ", rule,
                   times == 1 ? "" : fmt::format(" {} *", times), first ? "" : " +");
  };
  std::int64_t most = 0;
  for (const Prices& prices : cuts.prices) {
    std::int64_t round = 0;
    for (std::size_t l = 0; l < prices.links.size(); ++l)
      round += std::int64_t{prices.links[l]} * topology.links[l].bandwidth;
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      round += std::int64_t{prices.limits[z]} * topology.limits[z].bandwidth;
    most = std::max(most, round);
  }
  add(formula.rounds_rule(), most);
  for (std::size_t s = 0; s < cuts.prices.size(); ++s) {
    const Prices& prices = cuts.prices[s];
    for (std::size_t l = 0; l < prices.links.size(); ++l)
      add(formula.link_rule(static_cast<LinkId>(l), static_cast<int>(s) + 1), prices.links[l]);
    for (std::size_t z = 0; z < prices.limits.size(); ++z)
      add(formula.limit_rule(static_cast<int>(z), static_cast<int>(s) + 1), prices.limits[z]);
  }
  for (std::size_t i = 0; i < cuts.cuts.size(); ++i)
    add(formula.rules() + static_cast<long>(i) + 1, cuts.cuts[i].cut.price);
  return text + "\n";
}

// The checker numbers lines on from the formula's rules: cuts, then their sum, the contradiction. Formats
// differ in the first line and the last ones.
std::string proof(const Topology& topology, const LinearFormula& formula, const CutSum& cuts, int steps,
                  PbFormat format) {
  std::string text = fmt::format("pseudo-Boolean proof version {}\nf {}\n",
                                 format == PbFormat::V2_0 ? "2.0" : "1.2", formula.rules());
  long last = formula.rules() + 1;
  if (cuts.unreachable) {
    text += "rup >= 1 ;\n";
  } else {
    for (const EnteredCut& each : cuts.cuts) enter(text, topology, each, steps);
    text += sum(topology, formula, cuts);
    last += static_cast<long>(cuts.cuts.size());
  }
  if (format == PbFormat::V1_2) return text + fmt::format("c {}\n", last);
  return text + fmt::format("output NONE\nconclusion UNSAT : {}\nend pseudo-Boolean proof\n", last);
}

}  // namespace

void keep_bound(ProofFolder& folder, int number, const Topology& topology, const Collective& collective,
                const Claim& claim, PbFormat format) {
  const int chunks = collective.chunks_per_block;
  const Budget budget = refuted(claim, chunks);
  const auto leave = [&](const std::string& why) {
    folder.leave_out(number, fmt::format("of {}: {}", counted(chunks, "chunk"), why));
  };
  if (budget.steps == kAnySteps || budget.steps < 0) return leave("nothing is claimed");
  if (LinearFormula::literals(topology, collective, budget) > kMostLiterals)
    return leave("the formula is too large");
  const std::optional<CutSum> cuts =
      cut_sum(topology, collective, claim.certificate, budget.steps, budget.rounds);
  if (!cuts) return leave("no sum of cuts shows it");
  const LinearFormula formula(topology, collective, budget);
  const std::string name = fmt::format("claim{}_chunks{}", number, chunks);
  folder.keep(
      {{.path = name + ".opb", .text = formula.text()},
       {.path = name + ".pbp", .text = proof(topology, formula, *cuts, budget.steps, format)}},
      fmt::format(
          R"({{"claim":{},"chunks":{},"steps":{},"rounds":{},"opb":"{}.opb","pbp":"{}.pbp","rules":{},"cuts":{}}})",
          number, chunks, budget.steps, budget.rounds == kAnyRounds ? "null" : std::to_string(budget.rounds),
          name, name, formula.rules(), cuts->cuts.size()));
}

}  // namespace chorale
