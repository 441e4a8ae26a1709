// The verdict is that of the independent checkers (api/search.h, check): what was accepted is counted, and a
// refutation also by which formula it was refuted again: the plain one, which shares no code with the search,
// or the search's own. Faults take precedence over limits in the exit code: a file that is wrong is wrong,
// however little of it was checked.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "api/inputs.h"
#include "api/search.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/ranking_words.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json_report.h"
#include "ir/ranking.h"
#include "ir/words.h"

namespace chorale {
namespace {

// `stopped`: why not all was checked, if so.
Outcome outcome_of(const CheckCommand& command, const CheckReport& report, std::ptrdiff_t listed,
                   const std::string& under, Stopped stopped) {
  std::string text = listed_faults(command, report.faults);
  text += fmt::format("{} verified ({} on the frontier), {} accepted, {} checked",
                      counted(report.schedules, "schedule"), listed, counted(report.bounds, "bound"),
                      counted(report.refutations, "refutation"));
  if (const int others = report.refutations - report.plain; report.plain > 0)
    text += others == 0
                ? " (by the plain formula)"
                : fmt::format(" ({} by the plain formula, {} by the search's alone)", report.plain, others);
  else if (others > 0)
    text += " (by the search's formula alone)";
  if (report.undecided > 0)
    text += fmt::format(", {} undecided within the limits", counted(report.undecided, "refutation"));
  if (stopped != Stopped::No) text += "; not all was checked (" + name_of(stopped) + ")";
  // Bounds of machines whose switches multicast or reduce hold for such machines alone.
  text += under + "\n";
  Outcome outcome{.exit_code = !report.faults.empty()   ? kBadInput
                               : stopped != Stopped::No ? exit_code_of(stopped)
                               : report.undecided > 0   ? kUndecided
                                                        : kFound,
                  .text = text};
  if (!command.json.empty()) deliver(command.json, to_json(report), outcome);
  return outcome;
}

}  // namespace

// A file is a result or a ranking; its contents decide, so that one command takes both.
Outcome perform(const CheckCommand& command, Supervisor& supervisor) {
  if (is_ranking(read_file(command.file))) return check_ranking_file(command, supervisor);
  if (std::error_code error; !command.proofs.empty() && !std::filesystem::is_directory(command.proofs, error))
    throw InputError("--proofs", command.proofs + " is not a directory",
                     "check the path, or leave it out, and refutations are done again");
  make_writable_directory("--lrat", command.lrat);
  make_writable_directory("--pb", command.pb);
  const std::atomic<bool>* const stop = supervisor.stop();
  supervisor.progress().show("reading " + command.file);
  const Result result = read_result(command.file);
  const auto listed = std::count_if(result.points.begin(), result.points.end(),
                                    [](const Point& point) { return point.on_frontier; });
  const std::string under = under_abilities(result.topology);
  // The report so far is what a limit prints; it begins empty, since the first schedule or refutation alone
  // can take longer than a limit.
  const auto publish = [&](const CheckReport& report) {
    supervisor.publish([&command, report, listed, under](Stopped stopped) {
      return outcome_of(command, report, listed, under, stopped);
    });
  };
  publish({});
  const auto progress = [&](const CheckReport& report) {
    publish(report);
    supervisor.progress().show(fmt::format("{} of {}, {} of {}", report.schedules,
                                           counted(static_cast<long long>(result.points.size()), "schedule"),
                                           report.bounds + report.refutations + report.undecided,
                                           counted(static_cast<long long>(result.claims.size()), "claim")));
  };
  const CheckReport report =
      check(result, {.proof_dir = command.proofs,
                     .pb_dir = command.pb,
                     .pb_format = command.pb_format,
                     .lrat_dir = command.lrat,
                     .limits = {.conflicts = command.conflicts, .time = supervisor.time_left(), .stop = stop},
                     .plain = {.conflicts = command.plain_conflicts},
                     .progress = progress});
  supervisor.take_floor();
  // A limit that comes after the last refutation has cut nothing.
  return outcome_of(command, report, listed, under,
                    report.undecided > 0 ? supervisor.stopped() : Stopped::No);
}

// For results and for rankings: options that are of results only are refused when the file is read
// (cli/ranking_words.cpp).
void check_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "check", "Verify a result file or a ranking again, trusting nothing in it",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexamples:\n  chorale check f.json\n"
              "  chorale frontier hub:4 broadcast --no-bounds --proofs proofs --json h.json\n"
              "  chorale check h.json --proofs proofs\n"
              "  chorale check h.json --lrat lrat\n"
              "  chorale check f.json --pb pb\n"
              "  chorale place a100:2 --axes data=2,tensor=16 --reduce data \\\n"
              "    --bytes 1G --json p.json\n"
              "  chorale check p.json");
  auto options = values_of<CheckCommand>(sub, parsed);
  argument(sub, "result", options->file, "FILE", "A result file, or a ranking that 'place --json' wrote");
  text(sub, "--proofs", options->proofs, "DIR",
       "Read kept proofs from there; what is not there is refuted again");
  text(sub, "--lrat", options->lrat, "DIR",
       "Write each refuted formula there, and its proof in LRAT for a verified checker");
  text(sub, "--pb", options->pb, "DIR", "The same of bounds, as pseudo-Boolean formulas and proofs");
  choice<PbFormat>(sub, "--pb-format", options->pb_format, {{"1.2", PbFormat::V1_2}, {"2.0", PbFormat::V2_0}},
                   "Version of VeriPB's proof format (2.0); VeriPB of 2022 reads 1.2");
  value(sub, "--plain-conflicts", "N",
        "Try each refutation from the plain formula first, for N conflicts (" +
            std::to_string(PlainEffort{}.conflicts) + "); 0: never",
        [options](const Text& t) {
          options->plain_conflicts = parse_integer("--plain-conflicts", t, 0, INT64_MAX);
        });
  conflicts(sub, options->conflicts);
  limits(sub, options->limits, " and report what was checked");
  sub->add_flag("--all", options->all, "List every fault on standard output, not only the first");
  file_to_write(sub, "--json", options->json, "Write what was checked there, and every fault");
}

}  // namespace chorale
