// One question, or the few that find the fewest steps or rounds, as one result.
#include <fmt/format.h>

#include "api/inputs.h"
#include "api/search.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/json.h"
#include "ir/words.h"

namespace chorale {

struct SynthesizeCommand {
  SearchSettings search = {};
  SynthesisQuestion asked = {};
};
namespace {

// "3 steps and 7 rounds", of those that were given.
std::string asked(const SynthesizeCommand& command) {
  std::string text;
  if (command.asked.steps) text = counted(*command.asked.steps, "step");
  if (command.asked.rounds) text += (text.empty() ? "" : " and ") + counted(*command.asked.rounds, "round");
  return text;
}

// Impossible is an answer, with a proof; undecided is none.
int exit_code(const SynthesisResult& answer) {
  if (answer.verdict == Verdict::Sat) return kFound;
  if (answer.verdict == Verdict::Unsat) return kImpossible;
  return answer.result.stopped == Stopped::Interrupted ? kInterrupted : kUndecided;
}

// The schedule is printed step by step unless a file has it.
std::string report(const SynthesizeCommand& command, const SynthesisResult& answer,
                   const Supervisor& supervisor) {
  const Result& result = answer.result;
  std::string text = heading(result);
  const std::string effort =
      fmt::format("; {:.2f} s, {}\n", supervisor.seconds(), counted(answer.conflicts, "conflict"));
  const std::string within = asked(command).empty() ? "" : " within " + asked(command);
  if (answer.verdict == Verdict::Unsat) return text + "impossible" + within + effort;
  if (!result.points.empty())
    text += points_table(result, {0}, best_sizes(result, {}, supervisor.stop())) + bound_line(result);
  if (answer.verdict == Verdict::Unknown)
    text += openings_in_words(result) + "undecided" + within + " (" + name_of(result.stopped) + ")";
  text += std::string(answer.verdict == Verdict::Unknown ? "; " : "");
  text += result.points.empty() ? "nothing found" : "found and verified";
  text += effort;
  if (!result.points.empty() && command.search.json.empty())
    text += schedule_text(result.topology, result.points[0]);
  return text;
}

// Writes the answer and reports it. `stopped`: the cause that stopped the command, which the search may not
// have.
Outcome outcome_of(const SynthesizeCommand& command, SynthesisResult answer, const Supervisor& supervisor,
                   Stopped stopped) {
  if (answer.verdict == Verdict::Unknown && stopped != Stopped::No) answer.result.stopped = stopped;
  Outcome outcome{.exit_code = exit_code(answer), .text = report(command, answer, supervisor)};
  if (!command.search.json.empty()) deliver(command.search.json, to_json(answer.result), outcome);
  return outcome;
}

}  // namespace

Outcome perform(const SynthesizeCommand& command, Supervisor& supervisor) {
  const std::atomic<bool>* const stop = supervisor.stop();
  const SearchSettings& search = command.search;
  make_writable_directory("--proofs", search.options.synthesis.proof_dir);
  const Topology topology = machine(search.question.machine, search.question.changes);
  const Collective collective = chorale::collective(search.question.collective, topology, search.question);
  FrontierOptions options = search.options;
  options.memory_bytes = asked_memory(supervisor.limits());
  options.synthesis.limits.stop = stop;
  options.publish = [&](const std::function<Result()>& found) {
    supervisor.publish([&, found](Stopped stopped) {
      SynthesisResult answer{.result = found()};
      // What the search published is complete if the question is decided, by a schedule or by none.
      if (answer.result.complete)
        answer.verdict = answer.result.points.empty() ? Verdict::Unsat : Verdict::Sat;
      return outcome_of(command, std::move(answer), supervisor, stopped);
    });
  };
  if (ProgressLine& line = supervisor.progress(); line.wanted())
    options.progress = [&line](const Progress& progress) { line.show(progress.doing); };
  SynthesisResult answer = synthesize(topology, collective, command.asked, options);
  supervisor.take_floor();
  return outcome_of(command, std::move(answer), supervisor, supervisor.stopped());
}

void synthesize_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "synthesize", "Find one schedule within a budget, or prove that there is none",
      "Without --steps the fewest that are possible are taken; without --rounds the fewest for these steps.\n"
      "AllReduce is synthesized directly here; 'frontier' also composes it from ReduceScatter and "
      "Allgather.\n" +
          Text(kSearchExitCodes) +
          "\nexamples:\n  chorale synthesize dgx1 allgather --chunks 6 --steps 3 --rounds 7\n"
          "  chorale synthesize ring:8 broadcast --root 3 --chunks 4 --json b.json");
  auto options = std::make_shared<SynthesizeCommand>();
  search_settings(sub, parsed, options->search);
  choice<Engine>(
      sub, "--engine", options->search.options.synthesis.engine, engines(),
      "sat: Chorale's; smt: SCCL's encoding in Z3; sat-partition: one formula for each split of the rounds");
  by_rows(sub, synthesis_rows(), options->asked);
  sub->final_callback([options, &parsed] {
    settle(options->search, parsed);
    accept(parsed, options);
  });
}

}  // namespace chorale
