// Each bound is published as soon as it is known: a limit may end what follows.
#include "api/inputs.h"
#include "api/search.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/json_fields.h"

namespace chorale {

struct BoundsCommand {
  QuestionSettings question = {};
  BoundsQuestion asked = {};
  std::string json = {}, html = {};
};
namespace {

// The numbers, and the report of them; null is what is not known, and where there is no schedule at all.
std::string to_json(const Topology& topology, const Collective& collective, const BoundsQuestion& question,
                    const Bounds& known, const Report& report) {
  const auto number = [](int n) { return n == 0 || n == kNoSchedule ? std::nullopt : std::optional<int>(n); };
  return json_file("chorale_bounds", 1, "topology", topology.name, "collective", name_of(collective),
                   "chunks", question.chunks, "steps", known.steps, "rounds", number(known.rounds.rounds),
                   "rate", Fields<Bounds>::known_rate(known), "within", known.within, "rounds_within",
                   number(known.rounds_within.rounds), "report", report);
}

}  // namespace

Outcome perform(const BoundsCommand& command, Supervisor& supervisor) {
  const Machine here = machine(command.question.machine, command.question.changes);
  const Collective collective = chorale::collective(command.question.collective, here, command.question);
  BoundsQuestion asked = command.asked;
  const auto outcome_of = [&command, here, collective](const Bounds& known, Stopped stopped) {
    const Report report = report_of(here, collective, command.asked, known, stopped);
    Outcome outcome = reported(report, command.html);
    if (!command.json.empty())
      deliver(command.json, to_json(here, collective, command.asked, known, report), outcome);
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

void bounds_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(app, "bounds", "What no schedule can beat, with certificates",
                                kPlainExitCodes + "example:\n  chorale bounds dgx1 allgather --chunks 6");
  auto options = values_of<BoundsCommand>(sub, parsed);
  machine_and_collective(sub, parsed, options->question);
  integer(sub, "--chunks", options->asked.chunks, 1, kMostChunks, "C", "Chunks of a block (1)");
  integer(sub, "--steps", options->asked.steps, 1, kMostSteps, "S", "Also for at most S steps");
  file_to_write(sub, "--json", options->json, "Write the bounds and the report of them there");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, " and print the bounds that were found");
}

}  // namespace chorale
