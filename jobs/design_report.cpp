// The answer in words. The ranking is by what no schedule can beat, and the proof by schedules: the first
// wiring is proven the best if schedules were found on it that take no longer than the bound of every other.
// Machines by name stand below for comparison, without a number.
#include <fmt/format.h>

#include "ir/words.h"
#include "jobs/design.h"

namespace chorale {
namespace {

// Without a message size times are of one MiB, of messages so large that latency is nothing.
std::string per(const Design& design) {
  return design.message_bytes > 0 ? "" : " per MiB";
}

// A rate is rounds per chunk as a fraction: 63/4 of 63 rounds for 4 chunks.
std::vector<std::string> row_of(const std::string& number, const DesignedGraph& wiring,
                                const Design& design) {
  std::vector<std::string> row = {number, wiring.name, fmt::format("{:.4g}", wiring.bound_us)};
  for (const auto& [bound, found, steps] : wiring.rates)
    row.push_back(bound.chunks == 1 ? std::to_string(bound.rounds)
                                    : fmt::format("{}/{}", bound.rounds, bound.chunks));
  row.push_back(std::to_string(wiring.diameter));
  row.push_back(fmt::format("{:.2f}", static_cast<double>(wiring.distances) / (design.ranks - 1)));
  row.push_back(std::to_string(wiring.bisection));
  row.push_back(wiring.alike);
  return row;
}

// A column per collective of the job with its rate; hops is the diameter, mean the mean distance, "also" the
// named machine that the graph is. The last two are left out first where the terminal is narrow (R, L).
ReportTable ranking_table(const Design& design) {
  std::vector<std::string> head = {"#", "wiring", design.message_bytes > 0 ? "us" : "us/MiB"};
  std::string kinds = "rlr";
  for (const DesignDemand& demand : design.job) {
    head.push_back(demand.collective);
    kinds += "r";
  }
  for (const char* const each : {"hops", "mean", "bisection", "also"}) head.emplace_back(each);
  ReportTable table{
      .title = "What no schedule is below: time, rounds per chunk", .rows = {head}, .kinds = kinds + "rrRL"};
  for (std::size_t w = 0; w < design.best.size(); ++w)
    table.rows.push_back(row_of(std::to_string(w + 1), design.best[w], design));
  for (const DesignedGraph& wiring : design.named) table.rows.push_back(row_of("", wiring, design));
  return table;
}

// What the family is: every sentence about all graphs is about these.
std::string family(const Design& design) {
  const std::string groups = design.all_groups
                                 ? fmt::format("all {}", counted(design.groups, "group"))
                                 : counted(design.groups, "group") +
                                       " (abelian, semidirect products of two cyclic groups, dicyclic)";
  const std::string sets =
      fmt::format("{} of {}, links there and back", design.all_compared ? "all sets" : "some sets",
                  counted(design.degree, "generator"));
  return fmt::format("family: connected Cayley graphs of {} with {}; {}; {} have one", groups,
                     counted(design.ranks, "element"), sets, design.families.size());
}

// Three statements that differ in what they are about: all graphs of the family were compared; or not all,
// and the bound is then that of any machine with as many links (Moore's bound on distances); and how many
// were excluded by distances alone, without a bound of their own.
std::string proof(const Design& design) {
  long long graphs = 0;
  for (const DesignFamily& family : design.families) graphs += family.graphs;
  const std::string all =
      counted(graphs, "connected Cayley graph") + " of " + counted(std::ssize(design.families), "group");
  const std::string excluded =
      design.by_distance > 0 ? fmt::format(" ({} are excluded by their distances alone)", design.by_distance)
                             : "";
  const std::string tried = design.all_compared ? "" : all + " tried, which are not all; ",
                    where = design.all_compared ? "any of " + all
                                                : "any machine of as many links at each rank, there and back";
  if (design.proven) return fmt::format("proven: {}no schedules on {} take less{}", tried, where, excluded);
  const double found = design.best.front().found_us;
  return fmt::format(
      "not proven: {}no schedules on {} take less than {}{}{}{}", tried, where, format_us(design.bound_us),
      per(design), excluded,
      found > 0 ? fmt::format("; those found take {:.2g} % more", 100 * (found / design.bound_us - 1))
                : "; no schedules were searched");
}

}  // namespace

// Of a group that is not cyclic the relations say what its elements are. A machine by name is compared by its
// bound with what was found: it is slower by at least that factor, whatever its schedule.
Report report_of(const Design& design) {
  if (design.best.empty()) return {.title = "design", .sentences = {"stopped before a graph was found"}};
  const DesignedGraph& first = design.best.front();
  Report report{.title = fmt::format("{} of {} each: {}{}", counted(design.ranks, "rank"),
                                     counted(design.degree, "link"), first.name,
                                     first.alike.empty() ? "" : ", which is a " + first.alike),
                .tables = {ranking_table(design)}};
  std::vector<std::string>& say = report.sentences;
  say.push_back(report.title);
  if (first.found_us > 0)
    say.push_back(fmt::format("the job takes {}{}", format_us(first.found_us), per(design)));
  for (std::size_t c = 0; c < design.job.size() && first.found_us > 0; ++c)
    say.push_back(fmt::format("  {}: {} in {}", design.job[c].collective,
                              rounds_a_chunk(first.rates[c].found.rounds, first.rates[c].found.chunks),
                              counted(first.rates[c].steps, "step")));
  for (const DesignFamily& family : design.families)
    if (first.name.starts_with(family.group + ": ") && family.relations.find(',') != std::string::npos)
      say.push_back(fmt::format("{}: (e,f,...) is a^e b^f ...; {}", family.group, family.relations));
  say.push_back(proof(design));
  say.push_back(family(design));
  for (const DesignedGraph& named : design.named)
    if (named.bound_us > first.bound_us * (1 + 1e-9) && first.found_us > 0)
      say.push_back(
          fmt::format("{} takes at least {:.2f}x as long", named.name, named.bound_us / first.found_us));
  return report;
}

}  // namespace chorale
