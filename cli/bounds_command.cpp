// Each bound is published as soon as it is known: a limit may end what follows.
#include "api/inputs.h"
#include "api/search.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"

namespace chorale {

Outcome perform(const BoundsCommand& command, Supervisor& supervisor) {
  const Machine here = machine(command.question.machine, command.question.changes);
  const Collective collective = chorale::collective(command.question.collective, here, command.question);
  BoundsQuestion asked = command.asked;
  const auto outcome_of = [&command, here, collective](const Bounds& known, Stopped stopped) {
    Outcome outcome = reported(report_of(here, collective, command.asked, known, stopped), command.html);
    outcome.exit_code = exit_code_of(stopped);
    return outcome;
  };
  asked.progress = [&](const Bounds& so_far) {
    supervisor.publish([outcome_of, so_far](Stopped stopped) { return outcome_of(so_far, stopped); });
    supervisor.progress().show("bounding");
  };
  asked.progress({});
  return outcome_of(bounds(here, collective, asked), Stopped::No);
}

void bounds_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                kPlainExitCodes + "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = values_of<BoundsCommand>(sub, parsed);
  machine_and_collective(sub, options->question);
  integer(sub, "--chunks", options->asked.chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->asked.steps, 1, kMostSteps, "S", "Also for at most S steps");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, options->limits, " and print the bounds that were found");
}

}  // namespace chorale
