// Writes what placement returns; ir/json_read_ranking.cpp reads it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/json_writer.h"
#include "ir/ranking.h"
#include "ir/ranking_sentences.h"

namespace chorale {
namespace {

std::string lists(const std::vector<std::vector<int>>& rows) {
  std::vector<std::string> all;
  for (const std::vector<int>& row : rows) all.push_back(list(row));
  return fmt::format("[{}]", fmt::join(all, ","));
}

std::string write(const RankedStrategy& strategy, const ReductionRanking& ranking, bool says_levels = false) {
  std::vector<std::string> instructions;
  for (std::size_t i = 0; i < strategy.instructions.size(); ++i) {
    const PricedInstruction& priced = strategy.instructions[i];
    const StrategyInstruction& instruction = priced.instruction;
    std::string text = fmt::format(R"({{"slice":{},"form":"{}")", quoted(ranking.levels[instruction.slice]),
                                   name_in<StrategyInstruction::Form>(kFormNames, instruction.form));
    if (instruction.form != StrategyInstruction::Form::InsideGroup)
      text += fmt::format(R"(,"ancestor":{})", quoted(ranking.levels[instruction.ancestor]));
    text += fmt::format(R"(,"operation":"{}","us":{},"latency_us":{},"binding":{},"rings":{},"pattern":{})",
                        name(instruction.operation), priced.us, priced.latency_us, quoted(priced.binding),
                        priced.rings, quoted(priced.pattern));
    if (i < strategy.lowered.size())
      text += fmt::format(R"(,"groups":{})", lists(strategy.lowered[i].groups));
    instructions.push_back(text + "}");
  }
  return fmt::format(R"({{"us":{}{},"instructions":{}}})", strategy.us,
                     says_levels ? R"(,"levels":)" + list(ranking.levels) : "",
                     lines(instructions, "          "));
}

// By hierarchy; nothing where nothing was counted.
std::string programs_over(const ReductionRanking& reduction) {
  if (std::ranges::count(reduction.programs_over, 0) == std::ssize(reduction.programs_over)) return "";
  std::vector<std::string> counts;
  for (std::size_t k = 0; k < std::size(kSynthesisChoices); ++k)
    counts.push_back(fmt::format(R"("{}":{})", kSynthesisChoices[k].name, reduction.programs_over[k]));
  return fmt::format(R"(,"programs_over":{{{}}})", fmt::join(counts, ","));
}

std::string write(const ReductionRanking& reduction, const Job& job) {
  std::vector<std::string> strategies;
  for (const RankedStrategy& strategy : reduction.strategies)
    strategies.push_back(write(strategy, reduction));
  const std::string span =
      overlaps(job) ? fmt::format(R"(,"from_us":{},"to_us":{})", reduction.from_us, reduction.to_us) : "";
  if (reduction.exchange)
    return fmt::format(
        R"({{"reduction":{},"levels":["root"],"sizes":[1],"allreduce_us":{},"programs":0,"faster":0,"strategies":[],"exchange":{{"us":{},"latency_us":{},"binding":{},"pattern":{}}}{}}})",
        quoted(job.reductions[reduction.reduction].name), reduction.allreduce_us, reduction.exchange->us,
        reduction.exchange->latency_us, quoted(reduction.exchange->binding),
        quoted(reduction.exchange->pattern), span);
  std::string own;
  if (reduction.own && !reduction.own->fault.empty())
    own = fmt::format(R"(,"own":{{"fault":{}}})", quoted(reduction.own->fault));
  else if (reduction.own)
    own = R"(,"own":)" + write(reduction.own->priced, {.levels = reduction.own->levels},
                               reduction.own->levels != reduction.levels);
  return fmt::format(
      R"({{"reduction":{},"levels":{},"sizes":{},"allreduce_us":{},"programs":{},"faster":{}{},"strategies":{}{}{}}})",
      quoted(job.reductions[reduction.reduction].name), list(reduction.levels), list(reduction.sizes),
      reduction.allreduce_us, reduction.programs, reduction.faster, programs_over(reduction),
      lines(strategies, "        "), own, span);
}

std::string write(const RankedMatrix& ranked, const Job& job) {
  std::vector<std::string> reductions;
  for (const ReductionRanking& reduction : ranked.reductions) reductions.push_back(write(reduction, job));
  const std::string orders =
      ranked.matrix.orders.empty() ? "" : fmt::format(R"(,"orders":{})", lists(ranked.matrix.orders));
  const std::string sum = overlaps(job) ? fmt::format(R"(,"one_by_one_us":{})", ranked.one_by_one_us) : "";
  return fmt::format(R"({{"matrix":{}{},"us":{}{},"allreduce_us":{},"reductions":{}}})",
                     lists(ranked.matrix.factors), orders, ranked.us, sum, ranked.allreduce_us,
                     lines(reductions, "      "));
}

std::string write_sizes(const Ranking& ranking) {
  if (ranking.size_choices.all == 0) return "";
  std::vector<std::string> rows;
  for (const RankedSizes& each : ranking.sizes)
    rows.push_back(fmt::format(R"({{"sizes":{},"memory_bytes":{},"compute_us":{},"communication_us":{}}})",
                               list(each.sizes), each.memory_bytes, each.compute_us, each.communication_us));
  return fmt::format("\"choices\": {},\n\"fitting\": {},\n\"placed\": {},\n\"sizes\": {},\n",
                     ranking.size_choices.all, ranking.size_choices.fit, ranking.size_choices.priced,
                     lines(rows, "  "));
}

std::string write_conditions(const Ranking& ranking) {
  const Conditions& conditions = ranking.conditions;
  if (conditions == Conditions()) return "";
  const auto axis = [&](int i) { return quoted(ranking.job.axes[i].name); };
  const auto level = [&](int j) { return quoted(ranking.hierarchy.levels[j].name); };
  std::vector<std::string> inside, order, memory;
  for (const Conditions::Inside& each : conditions.inside)
    inside.push_back(fmt::format(R"({{"axis":{},"level":{}}})", axis(each.axis), level(each.level)));
  for (const Conditions::Order& each : conditions.order)
    order.push_back(fmt::format(R"({{"inner":{},"outer":{}}})", axis(each.inner), axis(each.outer)));
  for (const Conditions::Memory& each : conditions.memory) {
    std::vector<std::string> of;
    for (int i : each.axes) of.push_back(axis(i));
    memory.push_back(fmt::format(R"({{"level":{},"axes":[{}],"shard_bytes":{},"capacity_bytes":{}}})",
                                 level(each.level), fmt::join(of, ","), each.shard_bytes,
                                 each.capacity_bytes));
  }
  return fmt::format("\"conditions\": {{\"inside\":[{}],\"order\":[{}],\"memory\":[{}]}},\n",
                     fmt::join(inside, ","), fmt::join(order, ","), fmt::join(memory, ","));
}

}  // namespace

std::string to_json(const Ranking& ranking) {
  std::vector<std::string> best;
  for (const RankedMatrix& matrix : ranking.best) best.push_back(write(matrix, ranking.job));
  return fmt::format(
      "{{\n\"chorale_ranking\": {},\n\"hierarchy\": {},\"job\": {},\"algorithm\": {},\n\"rules\": {},\n"
      "\"synthesis\": {},\n{}\"matrices\": {},\n\"priced\": {},\n\"without_strategy\": {},\n\"seconds\": "
      "{},\n{}\"sentences\": {},\n{}\"best\": {}\n}}\n",
      kRankingVersion, to_json(ranking.hierarchy), to_json(ranking.job), quoted(ranking.algorithm),
      quoted(ranking.rules), quoted(ranking.synthesis), write_conditions(ranking), ranking.matrices,
      ranking.priced, ranking.without_strategy, ranking.seconds, write_sizes(ranking),
      list(sentences(ranking)),
      ranking.present ? "\"present\": " + write(*ranking.present, ranking.job) + ",\n" : "",
      lines(best, "  "));
}

}  // namespace chorale
