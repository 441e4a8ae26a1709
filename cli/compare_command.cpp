// A figure needs two curves: of machines without --sizes there are none, which is bad
// input, but a limit that came before them is not.
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/words.h"
#include "jobs/compare.h"

namespace chorale {

struct CompareCommand {
  std::string first = {}, second = {};  // machines, or files of results
  CompareQuestion question = {};
  std::string json = {}, html = {}, svg = {};
};
namespace {

Outcome outcome_of(const CompareCommand& command, const Comparison& comparison, Stopped stopped) {
  const Report report = report_of(comparison);
  Outcome outcome = reported(report, command.html);
  outcome.exit_code = exit_code_of(stopped);
  if (!command.json.empty()) deliver(command.json, to_json(comparison), outcome);
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

// Two sides by position, each a machine or a result; what they are is seen when they are read
// (jobs/compare.cpp).
void compare_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "compare", "Two machines or two results side by side: bounds, times and bus bandwidth by size",
      "Of machines: what no schedule can beat, for each collective; with --sizes also the fastest\n"
      "algorithms that a search finds at these message sizes. Of results: the times of\n"
      "their points. The speedup is how many times as fast the second is.\n" +
          kPlainExitCodes +
          "examples:\n  chorale compare dgx-a100:2 dgx-h100:2\n"
          "  chorale compare ring:8 full:8 allreduce --sizes 1K:1M:32\n"
          "  chorale compare examples/node.xml dgx-a100:2 --nodes 4 alltoall");
  auto options = values_of<CompareCommand>(sub, parsed);
  const auto side = [&](const Text& name, Text& target) {
    argument(sub, name, target, "MACHINE|RESULT",
             "A machine ('chorale topology list'), a file of one, or a result");
  };
  side("first", options->first);
  side("second", options->second);
  text(sub, "collectives", options->question.collectives, "COLLECTIVE ...",
       "Of machines: some of " + joined(collective_names()) + " (the five usual ones)");
  machine_changes(sub, parsed, {&options->first, &options->second}, options->question.changes);
  rising_sizes(sub, options->question.message_bytes,
               "Bytes of messages: 64K, 1K,3000, or from:to:factor (of machines none, of results 1K:1G:4)");
  duration(sub, "--search-time", options->question.search_time,
           "Search each collective on each machine for at most T (10s)");
  file_to_write(sub, "--json", options->json, "Write the comparison there");
  file_to_write(sub, "--html", options->html,
                "Write one self-contained page with both curves and the tables");
  file_to_write(sub, "--svg", options->svg, "Draw both curves over message size there");
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
}

}  // namespace chorale
