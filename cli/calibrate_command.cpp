// A row per class of links (equal numbers in the description), measured beside described: medians, the spread
// over the pairs of the class, and the rate that is left when all links are in use at once. A class that
// could not be measured keeps its description, and a line states that.
#include <fmt/format.h>

#include <memory>

#include "api/run.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"
#include "jobs/calibrate.h"

namespace chorale {
namespace {

// "24 links like 0 -> 1": the class by the first of its links.
std::string alike(const Topology& machine, const LinkClass& links) {
  const auto end = [&](Node n) {
    return n < machine.ranks ? fmt::format("{}", n) : fmt::format("switch {}", n - machine.ranks);
  };
  return fmt::format("{} like {} -> {}", counted(std::ssize(links.links), "link"), end(links.described.src),
                     end(links.described.dst));
}

// Of the whole link: beta is of one unit of its bandwidth.
double gbs(const Link& link, double beta_us_per_byte) {
  return 1e-3 * link.bandwidth / beta_us_per_byte;
}

// Columns: latency measured, its spread, described; rate measured, its spread, in use, described. The least
// beta is the largest rate, so the ends of the spread are exchanged. "In use" is the rate that a link keeps
// while all of them are busy.
std::string in_words(const Calibration& calibration) {
  TableRows rows = {{"links", "alpha (us)", "of links", "was", "GB/s", "of links", "in use", "was"}};
  for (const CalibratedClass& each : calibration.classes) {
    const Link& was = each.links.described;
    std::vector<std::string> row = {alike(calibration.machine, each.links),
                                    "-",
                                    "-",
                                    fmt::format("{:.2f}", was.alpha_us),
                                    "-",
                                    "-",
                                    "-",
                                    fmt::format("{:.4g}", gbs(was, was.beta_us_per_byte))};
    if (each.alpha_us) {
      row[1] = fmt::format("{:.2f}", each.alpha_us->median);
      row[2] = fmt::format("{:.2f}-{:.2f}", each.alpha_us->least, each.alpha_us->most);
    }
    if (each.beta_us_per_byte) {
      const Spread& beta = *each.beta_us_per_byte;
      row[4] = fmt::format("{:.4g}", gbs(was, beta.median));
      row[5] = fmt::format("{:.4g}-{:.4g}", gbs(was, beta.most), gbs(was, beta.least));
      row[6] = fmt::format("{:.4g}", gbs(was, beta.median * each.shared));
    }
    rows.push_back(std::move(row));
  }
  std::string text = table(rows, "lrRrrRrr");
  for (const CalibratedCrowd& crowd : calibration.crowds)
    text += fmt::format("{}: {:.2f} times as long as links by themselves\n", crowd.name,
                        crowd.us_per_byte / crowd.alone);
  for (const CalibratedClass& each : calibration.classes)
    if (!each.alpha_us || !each.beta_us_per_byte)
      text += fmt::format("the {} of {} is not measured: as described\n",
                          each.alpha_us           ? "rate"
                          : each.beta_us_per_byte ? "latency"
                                                  : "latency and rate",
                          alike(calibration.machine, each.links));
  return text;
}

// The machine is written with its name and levels, so that other commands take it in place of the described
// one.
Outcome outcome_of(const CalibrateCommand& command, const Calibration& calibration) {
  Outcome outcome{.text = in_words(calibration)};
  if (!command.output.empty()) deliver(command.output, to_json(calibration.machine), outcome);
  if (!command.json.empty()) deliver(command.json, to_json(calibration), outcome);
  return outcome;
}

}  // namespace

// Logs of others need no MPI; without them all processes measure together, and rank 0 reports.
Outcome perform(const CalibrateCommand& command, Supervisor& supervisor) {
  const Topology topology = described_machine(command.machine, command.changes);
  if (!command.logs.empty()) return outcome_of(command, calibrate(topology, command.logs));
  if (!started_by_mpirun())
    throw InputError("calibrate", "this process was not started by mpirun, and there is no --log",
                     fmt::format("use mpirun -n {} chorale calibrate ...", topology.ranks));
  const auto session = join_processes();
  CalibrateOptions options = command.options;
  supervisor.want_progress(command.progress);
  if (rank_of(*session) == 0) options.progress = supervisor.doing();
  const Calibration calibration = calibrate(topology, *session, options);
  if (rank_of(*session) != 0) return {};
  return outcome_of(command, calibration);
}

namespace {

// "0-1=osu.txt": the first "-" and "=" divide it, so a path may contain both.
LinkLog link_log(const Text& value) {
  const std::size_t dash = value.find('-'), equals = value.find('=');
  if (equals == Text::npos || dash > equals || equals + 1 == value.size())
    throw InputError("--log", "'" + value.substr(0, 60) + "' is not a log of two ranks",
                     "use A-B=FILE, such as 0-1=osu_latency.txt");
  return {.src = static_cast<Rank>(parse_integer("--log", value.substr(0, dash), 0, kMostRank)),
          .dst = static_cast<Rank>(
              parse_integer("--log", value.substr(dash + 1, equals - dash - 1), 0, kMostRank)),
          .file = value.substr(equals + 1)};
}

}  // namespace

void calibrate_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(
      app, "calibrate", "Measure what the links of a machine take, and write that into its description",
      "Under mpirun, a process per rank: messages between two ranks give the latency (alpha)\n"
      "and rate (beta) of each class of links; then all links at once, how much slower\n"
      "they are in use. Or what others measured is read: sendrecv_perf of nccl-tests,\n"
      "osu_latency and osu_bw. docs/topologies.md, 'Measured numbers'.\n" +
          kPlainExitCodes +
          "examples:\n"
          "  mpirun --oversubscribe -n 4 chorale calibrate ring:4 -o r.json\n"
          "  mpirun --oversubscribe -n 2 chorale calibrate full:2 --times 5 --json c.json");
  auto options = std::make_shared<CalibrateCommand>();
  argument(sub, "machine", options->machine, "NAME|FILE",
           "A machine ('chorale topology list') or a JSON file");
  machine_changes(sub, options->changes);
  file_to_write(sub, "-o,--output", options->output, "Write the machine there");
  file_to_write(sub, "--json", options->json, "Write what was measured there");
  sub->add_option_function<std::vector<Text>>(
         "--log",
         [options](const std::vector<Text>& values) {
           for (const Text& each : values) options->logs.push_back(link_log(each));
         },
         "Take the times of messages between ranks A and B from there, instead of measuring")
      ->option_text("A-B=FILE ...");
  size(sub, "--from", options->options.from, "The shorter of the messages that give the rate (64K)");
  size(sub, "--to", options->options.to, "The longer one (1M)");
  integer(sub, "--pairs", options->options.pairs, 1, 1'000'000, "N",
          "Pairs of ranks for each class of links, at the most (4)");
  integer(sub, "--times", options->options.times, 1, 1'000'000, "N",
          "How often each message is sent; medians count (21)");
  sub->add_flag_callback(
      "--alone", [options] { options->options.crowds = false; }, "Leave out all links at once");
  duration(sub, "--wait", options->options.timeout, "Give up when a rank waits longer than T (60)");
  progress(sub, options->progress);
  limits(sub, options->limits, "");
  sub->final_callback([options, sub, &parsed] {
    // Logs have their sizes and repetitions already.
    only_for(sub, {"--from", "--to", "--pairs", "--times", "--alone", "--wait"}, options->logs.empty(),
             "measuring, without --log");
    parsed = *options;
  });
}

}  // namespace chorale
