#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "api/inputs.h"
#include "api/search.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/words.h"

namespace chorale {
namespace {

// `stopped`: why not all was checked, if so.
Outcome told(const CheckCommand& command, const CheckReport& report, std::ptrdiff_t listed, Stopped stopped) {
  if (!report.faults.empty() && !command.all) {
    const std::size_t more = report.faults.size() - 1;
    throw InputError(
        command.file, report.faults.front(),
        more == 0 ? ""
                  : "and " + counted(static_cast<long long>(more), "more fault") + " (--all lists them)");
  }
  std::string text;
  for (const std::string& fault : report.faults) text += fmt::format("{}: {}\n", command.file, fault);
  text += fmt::format("{} verified ({} on the frontier), {} accepted, {} checked",
                      counted(report.schedules, "schedule"), listed, counted(report.bounds, "bound"),
                      counted(report.refutations, "refutation"));
  if (report.undecided > 0)
    text += fmt::format(", {} undecided within the limits", counted(report.undecided, "refutation"));
  if (stopped != Stopped::No) text += "; not all was checked (" + name_of(stopped) + ")";
  text += "\n";
  if (!report.faults.empty()) return {.exit_code = kBadInput, .text = text};
  if (stopped != Stopped::No) return {.exit_code = exit_code_of(stopped), .text = text};
  return {.exit_code = report.undecided > 0 ? kUndecided : kFound, .text = text};
}

}  // namespace

Outcome perform(const CheckCommand& command, Supervisor& supervisor) {
  if (std::error_code error; !command.proofs.empty() && !std::filesystem::is_directory(command.proofs, error))
    throw InputError("--proofs", command.proofs + " is no directory",
                     "check the path, or leave it out, and refutations are done again");
  const std::atomic<bool>* const stop = supervisor.stop();
  supervisor.progress().show("reading " + command.file);
  const Result result = read_result(command.file);
  const auto listed = std::count_if(result.points.begin(), result.points.end(),
                                    [](const Point& point) { return point.on_frontier; });
  const auto publish = [&](const CheckReport& report) {
    supervisor.publish(
        [&command, report, listed](Stopped stopped) { return told(command, report, listed, stopped); });
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
                     .limits = {.conflicts = command.conflicts, .time = supervisor.time_left(), .stop = stop},
                     .progress = progress});
  supervisor.take_floor();
  return told(command, report, listed, report.undecided > 0 ? supervisor.stopped() : Stopped::No);
}

}  // namespace chorale
