// Logs of others are read anywhere; measuring needs a process per rank.
#include <fmt/format.h>

#include <memory>

#include "api/run.h"
#include "cli/inputs.h"
#include "cli/launcher.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json.h"
#include "jobs/calibrate.h"

namespace chorale {

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
