// The ranking is by what no schedule can beat, and the proof by schedules: the first wiring is proven the
// best if schedules were found on it that take no longer than the bound of every other. Machines by name
// stand below for comparison, without a number.
#include <fmt/format.h>

#include <memory>

#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/json.h"
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
std::string ranking_table(const Design& design) {
  std::vector<std::string> head = {"#", "wiring", design.message_bytes > 0 ? "us" : "us/MiB"};
  std::string kinds = "rlr";
  for (const DesignDemand& demand : design.job) {
    head.push_back(demand.collective);
    kinds += "r";
  }
  for (const char* const each : {"hops", "mean", "bisection", "also"}) head.emplace_back(each);
  TableRows rows = {head};
  for (std::size_t w = 0; w < design.best.size(); ++w)
    rows.push_back(row_of(std::to_string(w + 1), design.best[w], design));
  for (const DesignedGraph& wiring : design.named) rows.push_back(row_of("", wiring, design));
  return table(rows, kinds + "rrRL");
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
  return fmt::format("family: connected Cayley graphs of {} with {}; {}; {} have one\n", groups,
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
  if (design.proven) return fmt::format("proven: {}no schedules on {} take less{}\n", tried, where, excluded);
  const double found = design.best.front().found_us;
  return fmt::format(
      "not proven: {}no schedules on {} take less than {}{}{}{}\n", tried, where, format_us(design.bound_us),
      per(design), excluded,
      found > 0 ? fmt::format("; those found take {:.2g} % more", 100 * (found / design.bound_us - 1))
                : "; no schedules were searched");
}

// Of a group that is not cyclic the relations, which say what its elements are.
std::string meaning(const Design& design) {
  const std::string& name = design.best.front().name;
  for (const DesignFamily& family : design.families)
    if (name.starts_with(family.group + ": ") && family.relations.find(',') != std::string::npos)
      return fmt::format("{}: (e,f,...) is a^e b^f ...; {}\n", family.group, family.relations);
  return "";
}

std::string in_words(const Design& design) {
  if (design.best.empty()) return "stopped before a graph was found\n";
  const DesignedGraph& first = design.best.front();
  std::string text =
      fmt::format("{} of {} each: {}{}\n", counted(design.ranks, "rank"), counted(design.degree, "link"),
                  first.name, first.alike.empty() ? "" : ", which is a " + first.alike);
  if (first.found_us > 0) {
    text += fmt::format("the job takes {}{}\n", format_us(first.found_us), per(design));
    for (std::size_t c = 0; c < design.job.size(); ++c)
      text += fmt::format("  {}: {} in {}\n", design.job[c].collective,
                          rounds_a_chunk(first.rates[c].found.rounds, first.rates[c].found.chunks),
                          counted(first.rates[c].steps, "step"));
  }
  text += meaning(design) + proof(design) + family(design);
  for (const DesignedGraph& named : design.named)
    // Its bound against what was found: so it is slower by at least that factor, whatever its schedule.
    if (named.bound_us > first.bound_us * (1 + 1e-9) && first.found_us > 0)
      text += fmt::format("{} takes at least {:.2f}x as long\n", named.name, named.bound_us / first.found_us);
  return text + "what no schedule is below: time, rounds per chunk\n" + ranking_table(design);
}

// JSON also of a design without a graph; the machine, its page and results only of one with.
Outcome outcome_of(const DesignCommand& command, Design design, Stopped stopped) {
  design.stopped = stopped;
  Outcome outcome{.exit_code = exit_code_of(stopped), .text = in_words(design)};
  if (!command.json.empty()) deliver(command.json, to_json(design), outcome);
  if (design.best.empty()) return outcome;
  if (!command.output.empty()) deliver(command.output, to_json(design.machine), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(design.machine), outcome);
  std::vector<NamedText> files;
  for (std::size_t c = 0; c < design.results.size(); ++c)
    files.push_back({design.job[c].collective + ".json", to_json(design.results[c])});
  if (!command.results.empty() && !files.empty()) deliver(command.results, files, outcome);
  return outcome;
}

}  // namespace

Outcome perform(const DesignCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  DesignQuestion question = command.question;
  question.stop = supervisor.stop();
  question.doing = supervisor.doing();
  question.publish = [&](const Design& known) {
    supervisor.publish([&command, known](Stopped stopped) { return outcome_of(command, known, stopped); });
  };
  const Design found = design(question);
  supervisor.take_floor();
  // A limit that came when the proof was complete has cut nothing.
  return outcome_of(command, found, found.proven ? Stopped::No : supervisor.stopped());
}

void design_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "design", "The best Cayley graph of some ports for a job, with a bound on the others",
              "Compares the connected Cayley graphs of one degree whose links go there and back, of all\n"
              "groups with as many elements as ranks (beyond 127 ranks: of abelian and dicyclic groups\n"
              "and of semidirect products of two cyclic groups), by what no schedule can beat; then\n"
              "schedules are searched on the best ones. Where a group has too many graphs, some are\n"
              "tried, and the output names them (docs/topologies.md).\n"
              "exit codes: 0 found, proven or not, 2 bad input, 3 out of time or memory,\n"
              "130 interrupted\n"
              "examples:\n"
              "  chorale design --ranks 16 --degree 4 --for alltoall,allreduce\n"
              "  chorale design --ranks 12 --degree 3 --for alltoall=2,gather --json -");
  auto options = values_of<DesignCommand>(sub, parsed);
  DesignQuestion& question = options->question;
  integer(sub, "--ranks", question.ranks, 2, kMostDesignRanks, "N", "Ranks (64)");
  integer(sub, "--degree", question.degree, 1, kMostDesignRanks, "D",
          "Links out of each rank, and as many in (4)");
  value(sub, "--for", "NAME[=W],...",
        "Collectives of the job, with how often each is done (alltoall,allreduce)",
        [options](const Text& t) { options->question.job = design_job(t); });
  size(sub, "--bytes", question.message_bytes, "Bytes of each message (large ones: rates alone count)");
  positive(sub, "--alpha", question.alpha_us, "US", "Microseconds that a step costs (0.7)");
  positive(sub, "--link-gbs", question.link_gbs, "GB", "GB/s of a link, in each direction (25)");
  duration(sub, "--search-time", question.search_time,
           "Search each collective on each wiring that is tried for at most T (12s)");
  file_to_write(sub, "-o,--output", options->output, "Write the machine there");
  file_to_write(sub, "--html", options->html, "Write one self-contained page with a picture of the machine");
  file_to_write(sub, "--json", options->json, "Write the ranking there");
  directory_to_write(sub, "--results", options->results,
                     "Write the schedules found there: a result per collective");
  limits(sub, options->limits, " and keep what was found");
  progress(sub, options->progress);
}

}  // namespace chorale
