// A figure needs two curves: of machines without --sizes there are none, which is bad
// input, but a limit that came before them is not.
#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "jobs/compare.h"

namespace chorale {
namespace {

Outcome outcome_of(const CompareCommand& command, const Comparison& comparison, Stopped stopped) {
  const Report report = report_of(comparison);
  Outcome outcome{.exit_code = exit_code_of(stopped), .text = text_of(report), .notes = report.notes};
  if (!command.json.empty()) deliver(command.json, to_json(comparison), outcome);
  if (!command.html.empty()) deliver(command.html, to_page(report), outcome);
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
  supervisor.want_progress(command.progress);
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

}  // namespace chorale
