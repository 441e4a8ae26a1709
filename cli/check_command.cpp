#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "ir/error.h"
#include "ir/words.h"
#include "pareto/check.h"

namespace chorale {

Outcome perform(const CheckCommand& command) {
  const Result result = load_result(command.file);
  const std::atomic<bool>* const stop = watch_for_interrupt();
  const CheckReport report = check_result(
      result, command.proofs, {.conflicts = command.conflicts, .time = command.time_limit, .stop = stop});
  if (!report.faults.empty() && !command.all) {
    const std::size_t more = report.faults.size() - 1;
    throw InputError(
        command.file, report.faults.front(),
        more == 0 ? ""
                  : "and " + counted(static_cast<long long>(more), "more fault") + " (--all lists them)");
  }
  std::string text;
  for (const std::string& fault : report.faults) text += fmt::format("{}: {}\n", command.file, fault);
  const auto listed = std::count_if(result.points.begin(), result.points.end(),
                                    [](const Point& point) { return point.on_frontier; });
  text += fmt::format("{} verified ({} on the frontier), {} accepted, {} checked",
                      counted(report.schedules, "schedule"), listed, counted(report.bounds, "bound"),
                      counted(report.refutations, "refutation"));
  if (report.undecided > 0)
    text += fmt::format(", {} undecided within the limits", counted(report.undecided, "refutation"));
  text += "\n";
  if (!report.faults.empty()) return {.exit_code = kBadInput, .text = text};
  if (*stop) return {.exit_code = kInterrupted, .text = text};
  return {.exit_code = report.undecided > 0 ? kUndecided : kFound, .text = text};
}

}  // namespace chorale
