// One question, or the few that find the fewest steps or rounds, as one result.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "ir/json.h"
#include "ir/words.h"
#include "pareto/search.h"

namespace chorale {
namespace {

std::string asked(const SynthesizeCommand& command) {
  std::string text;
  if (command.steps) text = counted(*command.steps, "step");
  if (command.rounds) text += (text.empty() ? "" : " and ") + counted(*command.rounds, "round");
  return text;
}

int exit_code(const SynthesisResult& answer) {
  if (answer.verdict == Verdict::Sat) return kFound;
  if (answer.verdict == Verdict::Unsat) return kImpossible;
  return answer.result.stopped == Stopped::Interrupted ? kInterrupted : kUndecided;
}

std::string report(const SynthesizeCommand& command, const SynthesisResult& answer) {
  const Result& result = answer.result;
  std::string text = heading(result);
  const std::string effort =
      fmt::format("; {:.2f} s, {}\n", result.seconds, counted(answer.conflicts, "conflict"));
  const std::string within = asked(command).empty() ? "" : " within " + asked(command);
  if (answer.verdict == Verdict::Unsat) return text + "impossible" + within + effort;
  if (!result.points.empty()) text += points_table(result, {0}, {}) + bound_line(result);
  if (answer.verdict == Verdict::Unknown)
    text += openings_in_words(result) + "undecided" + within + " (" + name_of(result.stopped) + ")";
  text += std::string(answer.verdict == Verdict::Unknown ? "; " : "");
  text += result.points.empty() ? "nothing found" : "found and verified";
  text += effort;
  if (!result.points.empty() && command.search.json.empty())
    text += schedule_text(result.topology, result.points[0]);
  return text;
}

}  // namespace

Outcome perform(const SynthesizeCommand& command) {
  require_writable_file("--json", command.search.json);
  make_writable_directory("--proofs", command.search.proofs);
  const SearchSettings& search = command.search;
  const Topology topology = machine(search.topology);
  const Collective collective = communication(search.collective, topology, search.root);
  FrontierOptions options = {
      .time_limit = search.time_limit,
      .synthesis = {.engine = command.engine,
                    .limits = {.conflicts = search.conflicts, .stop = watch_for_interrupt()},
                    .use_bounds = search.use_bounds,
                    .use_symmetry = search.use_symmetry,
                    .proof_dir = search.proofs,
                    .seed = search.seed}};
  SynthesisResult answer;
  {
    ProgressLine line(search.progress);
    if (line.wanted())
      options.progress = [&line](const Progress& progress) {
        line.show(fmt::format("{:.0f} s; {}", progress.seconds, progress.doing));
      };
    answer = search_synthesis(topology, collective,
                              {.chunks = command.chunks, .steps = command.steps, .rounds = command.rounds},
                              options);
  }
  Outcome outcome{.exit_code = exit_code(answer), .text = report(command, answer)};
  if (!search.json.empty()) deliver(search.json, to_json(answer.result), outcome);
  return outcome;
}

}  // namespace chorale
