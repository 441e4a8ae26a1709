// Machines compared, designed and measured.
#include <fmt/format.h>

#include <memory>

#include "api/report.h"
#include "api/run.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"
#include "jobs/calibrate.h"
#include "jobs/compare.h"
#include "jobs/design.h"

namespace chorale {

// A figure needs two curves: of machines without --sizes there are none, which is bad
// input, but a limit that came before them is not.

struct CompareCommand {
  std::string first = {}, second = {};  // machines, or files of results
  CompareQuestion question = {};
  std::string json = {}, html = {}, svg = {};
};
namespace {

Outcome outcome_of(const CompareCommand& command, const Comparison& comparison, Stopped stopped) {
  const Report report = report_of(comparison);
  Outcome outcome = reported(report, command.html);
  outcome.exit_code = exit_code_of(stopped);
  if (!command.json.empty()) deliver(command.json, to_json(comparison), outcome);
  if (command.svg.empty()) return outcome;
  if (!report.figures.empty())
    deliver(command.svg, report.figures.front(), outcome);
  else if (stopped != Stopped::No)
    outcome.errors.push_back("--svg: not written (" + name_of(stopped) + ")");
  else
    throw InputError("--svg", "needs message sizes above 0 at which both have a schedule",
                     "give --sizes, such as 1K:1G:4");
  return outcome;
}

}  // namespace

Outcome perform(const CompareCommand& command, Supervisor& supervisor) {
  CompareQuestion question = command.question;
  question.stop = supervisor.stop();
  question.doing = supervisor.doing();
  // The same function reports what is known where a limit ends the comparison.
  question.publish = [&](const Comparison& known) {
    supervisor.publish([&command, known](Stopped stopped) { return outcome_of(command, known, stopped); });
  };
  const Comparison comparison = compare(command.first, command.second, question);
  supervisor.take_floor();
  return outcome_of(command, comparison, supervisor.stopped());
}

// Two sides by position, each a machine or a result; what they are is seen when they are read
// (jobs/compare.cpp).
void compare_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "compare", "Two machines or two results side by side: bounds, times and bus bandwidth by size",
      "Of machines: what no schedule can beat, for each collective; with --sizes also the fastest\n"
      "algorithms that a search finds at these message sizes. Of results: the times of\n"
      "their points. The speedup is how many times as fast the second is.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compare dgx-a100:2 dgx-h100:2\n"
          "  chorale compare ring:8 full:8 allreduce --sizes 1K:1M:32\n"
          "  chorale compare examples/node.xml dgx-a100:2 --nodes 4 alltoall");
  auto options = values_of<CompareCommand>(sub, parsed);
  const auto side = [&](const Text& name, Text& target) {
    argument(sub, name, target, "MACHINE|RESULT",
             "A machine ('chorale topology list'), a file of one, or a result");
  };
  side("first", options->first);
  side("second", options->second);
  text(sub, "collectives", options->question.collectives, "COLLECTIVE ...",
       "Of machines: some of " + joined(collective_names()) + " (the five usual ones)");
  machine_changes(sub, parsed, {&options->first, &options->second}, options->question.changes);
  rising_sizes(sub, options->question.message_bytes,
               "Bytes of messages: 64K, 1K,3000, or from:to:factor (of machines none, of results 1K:1G:4)");
  duration(sub, "--search-time", options->question.search_time,
           "Search each collective on each machine for at most T (10s)");
  file_to_write(sub, "--json", options->json, "Write the comparison there");
  file_to_write(sub, "--html", options->html,
                "Write one self-contained page with both curves and the tables");
  file_to_write(sub, "--svg", options->svg, "Draw both curves over message size there");
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
}

// The ranking is by what no schedule can beat, and the proof by schedules: the first wiring is proven the
// best if schedules were found on it that take no longer than the bound of every other. Machines by name
// stand below for comparison, without a number.

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

// Logs of others are read anywhere; measuring needs a process per rank.

struct CalibrateCommand {
  std::string machine = {};
  MachineChanges changes = {};
  CalibrateOptions options = {};
  std::vector<LinkLog> logs = {};  // what others measured; none of either: it is measured here
  std::vector<CollectiveLog> collective_logs = {};
  std::string output = {};           // where to write the machine, if anywhere
  std::string json = {}, html = {};  // and what was measured
};
namespace {

// The machine is written with its name and levels, so that other commands take it in place of the described
// one.
Outcome outcome_of(const CalibrateCommand& command, const Calibration& calibration) {
  Outcome outcome = reported(report_of(calibration), command.html);
  if (!command.output.empty()) deliver(command.output, to_json(calibration.machine), outcome);
  if (!command.json.empty()) deliver(command.json, to_json(calibration), outcome);
  return outcome;
}

}  // namespace

// Logs of others need no MPI; without them all processes measure together, and rank 0 reports.
Outcome perform(const CalibrateCommand& command, Supervisor& supervisor) {
  const Topology topology = described_machine(command.machine, command.changes);
  if (!command.logs.empty() || !command.collective_logs.empty()) {
    Calibration calibration = calibrate(topology, command.logs, command.collective_logs);
    note_line_rates(calibration, command.machine, command.changes);
    return outcome_of(command, calibration);
  }
  if (!started_by_mpirun())
    throw InputError("calibrate", "this process was not started by mpirun, and there is no --log",
                     fmt::format("use mpirun -n {} chorale calibrate ...", topology.ranks));
  const auto session = join_processes();
  CalibrateOptions options = command.options;
  if (rank_of(*session) == 0) options.progress = supervisor.doing();
  const Calibration calibration = calibrate(topology, *session, options);
  if (rank_of(*session) != 0) return {};
  return outcome_of(command, calibration);
}

namespace {

// "0-1=osu.txt", "allreduce=all_reduce_perf.log", or a file alone: the first "=" divides it, so a path behind
// one may contain others.
void take_log(const Text& value, CalibrateCommand& command) {
  const std::size_t equals = value.find('='), dash = value.substr(0, equals).find('-');
  if (equals == Text::npos && !value.empty()) return command.collective_logs.push_back({.file = value});
  if (equals == 0 || equals == Text::npos || equals + 1 == value.size())
    throw InputError("--log", "'" + value.substr(0, 60) + "' is not a log of two ranks, nor of a collective",
                     "use A-B=FILE or COLLECTIVE=FILE, such as 0-1=osu_latency.txt");
  const Text what = value.substr(0, equals), file = value.substr(equals + 1);
  if (what.find_first_not_of("0123456789-") != Text::npos)
    return command.collective_logs.push_back({.collective = what, .file = file});
  if (dash == Text::npos)
    throw InputError("--log", "'" + value.substr(0, 60) + "' is not a log of two ranks",
                     "use A-B=FILE, such as 0-1=osu_latency.txt");
  command.logs.push_back(
      {.src = static_cast<Rank>(parse_integer("--log", what.substr(0, dash), 0, kMostRank)),
       .dst = static_cast<Rank>(parse_integer("--log", what.substr(dash + 1), 0, kMostRank)),
       .file = file});
}

}  // namespace

void calibrate_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "calibrate", "Measure what the links of a machine take, and write that into its description",
      "Under mpirun, a process per rank: messages between two ranks give the latency (alpha)\n"
      "and rate (beta) of each class of links; then all links at once, how much slower\n"
      "they are in use. Or what others measured is read: sendrecv_perf of nccl-tests,\n"
      "osu_latency and osu_bw; of collectives, which give the cost of a call, too, all tests\n"
      "of nccl-tests, rccl-tests and OSU. docs/topologies.md, 'Measured numbers'.\n" +
          kPlainExitCodes +
          "examples:\n"
          "  mpirun --oversubscribe -n 4 chorale calibrate ring:4 -o r.json\n"
          "  mpirun --oversubscribe -n 2 chorale calibrate full:2 --times 5 --json c.json");
  auto options = std::make_shared<CalibrateCommand>();
  argument(sub, "machine", options->machine, "NAME|FILE",
           "A machine ('chorale topology list') or a JSON file");
  machine_changes(sub, parsed, {&options->machine}, options->changes);
  file_to_write(sub, "-o,--output", options->output, "Write the machine there");
  file_to_write(sub, "--json", options->json, "Write what was measured there");
  file_to_write(sub, "--html", options->html, kReportPage);
  sub->add_option_function<std::vector<Text>>(
         "--log",
         [options](const std::vector<Text>& values) {
           for (const Text& each : values) take_log(each, *options);
         },
         "Take the times of messages between ranks A and B, or of a collective (allreduce=FILE: nccl-tests, "
         "rccl-tests, OSU; FILE alone: of all that it names), from there, instead of measuring")
      ->option_text("[A-B=|COLLECTIVE=]FILE ...");
  size(sub, "--from", options->options.from, "The shorter of the messages that give the rate (64K)");
  size(sub, "--to", options->options.to, "The longer one (1M)");
  integer(sub, "--pairs", options->options.pairs, 1, 1'000'000, "N",
          "Pairs of ranks for each class of links, at the most (4)");
  integer(sub, "--times", options->options.times, 1, 1'000'000, "N",
          "How often each message is sent; medians count (21)");
  sub->add_flag_callback(
      "--alone", [options] { options->options.crowds = false; }, "Leave out all links at once");
  duration(sub, "--wait", options->options.timeout, "Give up when a rank waits longer than T (60)");
  progress(sub, parsed.progress);
  limits(sub, parsed.limits, "", Limits::kAllMemory);
  sub->final_callback([options, sub, &parsed] {
    // Logs have their sizes and repetitions already.
    only_for(sub, {"--from", "--to", "--pairs", "--times", "--alone", "--wait"},
             options->logs.empty() && options->collective_logs.empty(), "measuring, without --log");
    accept(parsed, options);
  });
}

}  // namespace chorale
