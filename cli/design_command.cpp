// The ranking is by what no schedule can beat, and the proof by schedules: the first wiring is proven the
// best if schedules were found on it that take no longer than the bound of every other. Machines by name
// stand below for comparison, without a number.
#include <memory>

#include "api/report.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/json.h"
#include "jobs/design.h"

namespace chorale {

struct DesignCommand {
  DesignQuestion question = {};
  std::string output = {};  // where to write the machine, if anywhere
  std::string html = {}, json = {};
  std::string results = {};  // a directory
};
namespace {

// JSON also of a design without a graph; the machine, its page and results only of one with.
Outcome outcome_of(const DesignCommand& command, Design design, Stopped stopped) {
  design.stopped = stopped;
  Outcome outcome = reported(report_of(design), "");
  outcome.exit_code = exit_code_of(stopped);
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

void design_options(CLI::App& app, Invocation& parsed) {
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
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
}

}  // namespace chorale
