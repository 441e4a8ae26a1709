// 'check' and 'show' take a result or a ranking by the same name; options that are of results only are
// refused here by comparing them with their defaults.
#include "cli/ranking_file.h"

#include <fmt/format.h>

#include "api/place.h"
#include "api/report.h"
#include "cli/inputs.h"
#include "cli/ranking_words.h"
#include "ir/error.h"
#include "ir/json_report.h"
#include "ir/words.h"

namespace chorale {
namespace {

// An option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file) {
  if (!unset) throw InputError(option, "is for results, and " + file + " is a ranking", "leave it out");
}

// Statements about all matrices that were examined.
std::string beyond_the_list(const Ranking& ranking, const RankingReport& report) {
  if (ranking.priced < ranking.matrices)
    return fmt::format("; the ranking was cut short, {} of {} priced, so others may be better",
                       ranking.priced, counted(ranking.matrices, "matrix", "matrices"));
  if (ranking.solver && !ranking.solver->complete)
    return "; the solver was cut short, so other strategies may be cheaper, and other placements better";
  return fmt::format(
      "; {} priced again, none is better{}",
      ranking.matrices == 1 ? "the only matrix" : fmt::format("all {} matrices", report.matrices),
      ranking.solver ? fmt::format(" by strategies of at most {} instructions", kMostCounted) : "");
}

// `stopped`: why not all was checked, if so.
Outcome outcome_of(const CheckCommand& command, const Ranking& ranking, const RankingReport& report,
                   Stopped stopped) {
  std::string text = listed_faults(command, report.faults);
  text += fmt::format("{} and {} verified and priced again", counted(report.placements, "placement"),
                      counted(report.strategies, "strategy", "strategies"));
  if (stopped != Stopped::No)
    text += "; not all was checked (" + name_of(stopped) + ")";
  else if (report.faults.empty())
    text += beyond_the_list(ranking, report);
  if (ranking.size_choices.all > 0 && report.faults.empty())
    text += "; other sizes were not, their template is not in the file";
  text += "\n";
  Outcome outcome{.exit_code = report.faults.empty() ? exit_code_of(stopped) : kBadInput, .text = text};
  if (!command.json.empty()) deliver(command.json, to_json(report), outcome);
  return outcome;
}

}  // namespace

// The first fault is the error, unless all are listed or a file has them: a file that is wrong once may be
// wrong in every row.
std::string listed_faults(const CheckCommand& command, const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fmt::format("{}: {}\n", command.file, fault.words);
  if (faults.empty() || command.all || !command.json.empty()) return text;
  const auto more = static_cast<long long>(faults.size()) - 1;
  throw InputError(command.file, faults.front().words,
                   more == 0 ? "" : "and " + counted(more, "more fault") + " (--all lists them)");
}

// Listed placements are verified and priced first; then all matrices are priced again, which shows that none
// is better. A fault ends the check, since a ranking with one proves nothing.
Outcome check_ranking_file(const CheckCommand& command, Supervisor& supervisor) {
  require_unset(command.proofs.empty(), "--proofs", command.file);
  require_unset(command.lrat.empty(), "--lrat", command.file);
  require_unset(command.pb.empty(), "--pb", command.file);
  require_unset(command.conflicts == -1, "--conflicts", command.file);
  require_unset(command.plain_conflicts == PlainEffort{}.conflicts, "--plain-conflicts", command.file);
  const std::atomic<bool>* const stop = supervisor.stop();
  supervisor.progress().show("reading " + command.file);
  const Ranking ranking = read_ranking(command.file);
  supervisor.publish(
      [&command, ranking](Stopped stopped) { return outcome_of(command, ranking, {}, stopped); });
  const RankingReport report = check(ranking, [&](int done, int of) {
    supervisor.progress().show(fmt::format("{} of {} priced again", done, counted(of, "matrix", "matrices")));
    return !*stop;
  });
  supervisor.take_floor();
  const bool whole =
      !report.faults.empty() || ranking.priced < ranking.matrices || report.matrices == ranking.matrices;
  return outcome_of(command, ranking, report, whole ? Stopped::No : supervisor.stopped());
}

// The text is that of `place --explain`: the file has what binds each step.
Outcome show_ranking_file(const ShowCommand& command) {
  require_unset(!command.point, "--point", command.file);
  require_unset(command.bytes.empty(), "--bytes", command.file);
  require_unset(!command.model.alpha_us && !command.model.beta_us_per_byte, "--alpha and --beta",
                command.file);
  const Ranking ranking = read_sound_ranking(command.file);
  Outcome outcome{.text = in_words(ranking, true)};
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  return outcome;
}

}  // namespace chorale
