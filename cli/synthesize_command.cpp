// One question, or the few that find the fewest steps or rounds, as one result.
#include <fmt/format.h>

#include <algorithm>

#include "bounds/lower_bounds.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/text.h"
#include "ir/json.h"
#include "pareto/optimality.h"
#include "pareto/search.h"
#include "pareto/synthesize.h"

namespace chorale {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Session {
 public:
  explicit Session(const SynthesizeCommand& command)
      : command_(command),
        topology_(machine(command.search.topology)),
        asked_(communication(command.search.collective, topology_, command.search.root)),
        collective_(with_chunks(asked_, command.chunks)),
        line_(command.search.progress) {
    options_ = {.engine = command.engine,
                .limits = {.conflicts = command.search.conflicts, .stop = watch_for_interrupt()},
                .use_bounds = command.search.use_bounds,
                .use_symmetry = command.search.use_symmetry,
                .proof_dir = command.search.proofs,
                .seed = command.search.seed};
    result_ = {.kind = "synthesis",
               .topology = topology_,
               .collective = asked_,
               .min_chunks = command.chunks,
               .max_chunks = command.chunks};
  }

  Outcome run() {
    const Verdict verdict = search();
    finish(verdict);
    if (!command_.search.json.empty()) write_file(command_.search.json, to_json(result_));
    return {.exit_code = exit_code(verdict), .text = report(verdict)};
  }

 private:
  Verdict search() {
    const StepBound bound = fewest_steps(topology_, collective_);
    if (bound.steps > 0) claim(bound.claim);
    const int fewest = std::max(1, bound.steps);
    if (command_.steps && command_.rounds) return ask(*command_.steps, *command_.rounds);
    if (command_.rounds) return fewest_steps_for(fewest, *command_.rounds);
    return fewest_rounds_for(command_.steps.value_or(fewest), fewest);
  }

  // More steps than rounds are no use: a step has a round at least.
  Verdict fewest_steps_for(int fewest, int rounds) {
    Verdict verdict = Verdict::Unsat;
    for (int steps = std::min(fewest, rounds); steps <= rounds; ++steps) {
      verdict = ask(steps, rounds);
      if (verdict != Verdict::Unsat) break;
    }
    return verdict;
  }

  Verdict fewest_rounds_for(int steps, int fewest) {
    if (steps < fewest) return Verdict::Unsat;
    int rounds = fewest;
    if (options_.use_bounds && !collective_.chunks.empty()) {
      claim(fewest_rounds_in(topology_, collective_, steps));
      rounds = std::max(rounds, rounds_left(result_, collective_.name, result_.min_chunks, steps));
    }
    for (;; ++rounds)
      if (const Verdict verdict = ask(steps, rounds); verdict != Verdict::Unsat) return verdict;
  }

  Verdict ask(int steps, int rounds) {
    SynthesisOptions options = options_;
    if (command_.search.time_limit.count() >= 0)
      options.limits.time = std::max(command_.search.time_limit - elapsed(), milliseconds(1));
    line_.show(fmt::format("{:.0f} s; asking for {}, {}", static_cast<double>(elapsed().count()) / 1000,
                           counted(steps, "step"), counted(rounds, "round")));
    Answer answer = synthesize(topology_, collective_, {.steps = steps, .rounds = rounds}, options);
    conflicts_ += answer.conflicts;
    if (answer.claim) claim(*answer.claim);
    if (answer.point) result_.points = {std::move(*answer.point)};
    budget_ = {.steps = steps, .rounds = rounds};
    return answer.verdict;
  }

  void claim(const Claim& claim) {
    if (claim.certificate.kind == Certificate::Kind::None) return;
    if (std::find(result_.claims.begin(), result_.claims.end(), claim) == result_.claims.end())
      result_.claims.push_back(claim);
  }

  void finish(Verdict verdict) {
    if (verdict == Verdict::Unknown) result_.stopped = why_undecided();
    // What was found may meet a bound that nobody had to ask for.
    if (verdict == Verdict::Sat && options_.use_bounds && !result_.claims.empty())
      claim(fewest_rounds_in(topology_, collective_, result_.points[0].cost.steps));
    finish_result(result_);
    result_.seconds = static_cast<double>(elapsed().count()) / 1000;
  }

  std::string why_undecided() const {
    if (*options_.limits.stop) return "interrupted";
    const bool late = command_.search.time_limit.count() >= 0 && elapsed() >= command_.search.time_limit;
    return late ? "time limit" : "conflict limit";
  }

  int exit_code(Verdict verdict) const {
    if (verdict == Verdict::Sat) return kFound;
    if (verdict == Verdict::Unsat) return kImpossible;
    return result_.stopped == "interrupted" ? kInterrupted : kUndecided;
  }

  std::string report(Verdict verdict) const {
    std::string text = heading(result_);
    const std::string budget =
        fmt::format("{} and {}", counted(budget_.steps, "step"), counted(budget_.rounds, "round"));
    const std::string effort =
        fmt::format("; {:.2f} s, {}\n", result_.seconds, counted(conflicts_, "conflict"));
    if (verdict == Verdict::Unsat) return text + "impossible within " + asked() + effort;
    if (verdict == Verdict::Unknown)
      return text + "undecided within " + budget + " (" + result_.stopped + ")" + effort;
    text += points_table(result_, {0}, {}) + bound_line(result_) + "found and verified" + effort;
    if (command_.search.json.empty()) text += schedule_text(topology_, result_.points[0]);
    return text;
  }

  std::string asked() const {
    std::string text;
    if (command_.steps) text = counted(*command_.steps, "step");
    if (command_.rounds) text += (text.empty() ? "" : " and ") + counted(*command_.rounds, "round");
    return text;
  }

  milliseconds elapsed() const { return duration_cast<milliseconds>(steady_clock::now() - started_); }

  const SynthesizeCommand& command_;
  const Topology topology_;
  const Collective asked_;
  const Collective collective_;  // with its chunks
  ProgressLine line_;
  SynthesisOptions options_ = {};
  Result result_ = {};
  Budget budget_ = {};
  std::int64_t conflicts_ = 0;
  const steady_clock::time_point started_ = steady_clock::now();
};

}  // namespace

Outcome perform(const SynthesizeCommand& command) {
  require_writable_file("--json", command.search.json);
  require_writable_directory("--proofs", command.search.proofs);
  return Session(command).run();
}

}  // namespace chorale
