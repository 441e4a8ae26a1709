// Files of results and rankings, verified and shown.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "api/inputs.h"
#include "api/place.h"
#include "api/report.h"
#include "api/search.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_report.h"
#include "ir/ranking.h"
#include "ir/search_options.h"
#include "ir/words.h"

namespace chorale {

// The verdict is that of the independent checkers (api/search.h, check): what was accepted is counted, and a
// refutation also by which formula it was refuted again: the plain one, which shares no code with the search,
// or the search's own. Faults take precedence over limits in the exit code: a file that is wrong is wrong,
// however little of it was checked.

struct CheckCommand {
  std::string file = {};
  std::string proofs = {};
  std::string lrat = {};
  std::string pb = {};
  PbFormat pb_format = PbFormat::V2_0;
  std::int64_t conflicts = -1;
  std::int64_t plain_conflicts = PlainEffort{}.conflicts;
  std::string json = {}, html = {};
  bool all = false;  // list every fault
};
namespace {

// Every fault, then what was checked. The first fault is the error, unless all are listed or a file has them:
// a file that is wrong once may be wrong in every row.
template <typename Checked>
Outcome outcome_of(const CheckCommand& command, const Checked& checked, std::string what, Stopped stopped,
                   int code) {
  const std::vector<Fault>& faults = checked.faults;
  const auto more = static_cast<long long>(faults.size()) - 1;
  if (!faults.empty() && !command.all && command.json.empty() && command.html.empty())
    throw InputError(command.file, faults.front().words,
                     more == 0 ? "" : "and " + counted(more, "more fault") + " (--all lists them)");
  Report report{.title = "check of " + command.file};
  for (const Fault& fault : faults) report.sentences.push_back(command.file + ": " + fault.words);
  if (stopped != Stopped::No) what += "; not all was checked (" + name_of(stopped) + ")";
  report.sentences.push_back(std::move(what));
  Outcome outcome = reported(report, command.html);
  outcome.exit_code = faults.empty() ? code : kBadInput;
  if (!command.json.empty()) deliver(command.json, to_json(checked), outcome);
  return outcome;
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

Outcome outcome_of(const CheckCommand& command, const Ranking& ranking, const RankingReport& report,
                   Stopped stopped) {
  std::string what =
      fmt::format("{} and {} verified and priced again", counted(report.placements, "placement"),
                  counted(report.strategies, "strategy", "strategies"));
  if (ranking.size_choices.all > 0 && report.faults.empty())
    what += "; other sizes were not, their template is not in the file";
  if (stopped == Stopped::No && report.faults.empty()) what += beyond_the_list(ranking, report);
  return outcome_of(command, report, what, stopped, exit_code_of(stopped));
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

// `under`: what is proven holds for machines whose switches multicast or reduce alone.
Outcome outcome_of(const CheckCommand& command, const CheckReport& report, std::ptrdiff_t listed,
                   const std::string& under, Stopped stopped) {
  std::string what = fmt::format("{} verified ({} on the frontier), {} accepted, {} checked",
                                 counted(report.schedules, "schedule"), listed,
                                 counted(report.bounds, "bound"), counted(report.refutations, "refutation"));
  if (report.times > 0) what += fmt::format(", {} in time accepted", counted(report.times, "bound"));
  if (const int others = report.refutations - report.plain; report.plain > 0)
    what += others == 0
                ? " (by the plain formula)"
                : fmt::format(" ({} by the plain formula, {} by the search's alone)", report.plain, others);
  else if (others > 0)
    what += " (by the search's formula alone)";
  if (report.undecided > 0)
    what += fmt::format(", {} undecided within the limits", counted(report.undecided, "refutation"));
  const int code = stopped == Stopped::No && report.undecided > 0 ? kUndecided : exit_code_of(stopped);
  return outcome_of(command, report, what + under, stopped, code);
}

}  // namespace

// A file is a result or a ranking; its contents decide, so that one command takes both.
Outcome perform(const CheckCommand& command, Supervisor& supervisor) {
  if (is_ranking(read_file(command.file))) return check_ranking_file(command, supervisor);
  if (std::error_code error; !command.proofs.empty() && !std::filesystem::is_directory(command.proofs, error))
    throw InputError("--proofs", command.proofs + " is not a directory",
                     "check the path, or leave it out, and refutations are done again");
  make_writable_directory("--lrat", command.lrat);
  make_writable_directory("--pb", command.pb);
  const std::atomic<bool>* const stop = supervisor.stop();
  supervisor.progress().show("reading " + command.file);
  const Result result = read_result(command.file);
  const auto listed = std::count_if(result.points.begin(), result.points.end(),
                                    [](const Point& point) { return point.on_frontier; });
  const std::string under = under_abilities(result.topology);
  // The report so far is what a limit prints; it begins empty, since the first schedule or refutation alone
  // can take longer than a limit.
  const auto publish = [&](const CheckReport& report) {
    supervisor.publish([&command, report, listed, under](Stopped stopped) {
      return outcome_of(command, report, listed, under, stopped);
    });
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
                     .pb_dir = command.pb,
                     .pb_format = command.pb_format,
                     .lrat_dir = command.lrat,
                     .limits = {.conflicts = command.conflicts, .time = supervisor.time_left(), .stop = stop},
                     .plain = {.conflicts = command.plain_conflicts},
                     .progress = progress});
  supervisor.take_floor();
  // A limit that comes after the last refutation has cut nothing.
  return outcome_of(command, report, listed, under,
                    report.undecided > 0 ? supervisor.stopped() : Stopped::No);
}

// For results and for rankings: options that are of results only are refused when the file is read
// (cli/ranking_words.cpp).
void check_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "check", "Verify a result file or a ranking again, trusting nothing in it",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexamples:\n  chorale check f.json\n"
              "  chorale frontier hub:4 broadcast --no-bounds --proofs proofs --json h.json\n"
              "  chorale check h.json --proofs proofs\n"
              "  chorale check h.json --lrat lrat\n"
              "  chorale check f.json --pb pb\n"
              "  chorale place a100:2 --axes data=2,tensor=16 --reduce data \\\n"
              "    --bytes 1G --json p.json\n"
              "  chorale check p.json");
  auto options = values_of<CheckCommand>(sub, parsed);
  argument(sub, "result", options->file, "FILE", "A result file, or a ranking that 'place --json' wrote");
  text(sub, "--proofs", options->proofs, "DIR",
       "Read kept proofs from there; what is not there is refuted again");
  text(sub, "--lrat", options->lrat, "DIR",
       "Write each refuted formula there, and its proof in LRAT for a verified checker");
  text(sub, "--pb", options->pb, "DIR", "The same of bounds, as pseudo-Boolean formulas and proofs");
  choice<PbFormat>(sub, "--pb-format", options->pb_format, {{"1.2", PbFormat::V1_2}, {"2.0", PbFormat::V2_0}},
                   "Version of VeriPB's proof format (2.0); VeriPB of 2022 reads 1.2");
  value(sub, "--plain-conflicts", "N",
        "Try each refutation from the plain formula first, for N conflicts (" +
            std::to_string(PlainEffort{}.conflicts) + "); 0: never",
        [options](const Text& t) {
          options->plain_conflicts = parse_integer("--plain-conflicts", t, 0, INT64_MAX);
        });
  conflicts(sub, options->conflicts);
  limits(sub, parsed.limits, " and report what was checked");
  sub->add_flag("--all", options->all, "List every fault on standard output, not only the first");
  file_to_write(sub, "--json", options->json, "Write what was checked there, and every fault");
  file_to_write(sub, "--html", options->html, kReportPage);
}

// All that takes long (times by size, the page) is made before anything is written. When a limit strikes, the
// last report is made again without the page, with sizes timed as far as that is quick.

struct ShowCommand {
  std::string file = {};
  std::string html = {};
  std::optional<int> point = {};
  SizeModel model = {};
  std::vector<std::int64_t> bytes = {};  // as of a frontier
  std::string json = {};                 // where to write their report, if anywhere
  std::int64_t events = -1;              // of a message whose events are drawn; -1: none are
};
namespace {

// The text is that of `place --explain`: the file has what binds each step.
Outcome show_ranking_file(const ShowCommand& command) {
  require_unset(!command.point, "--point", command.file);
  require_unset(command.bytes.empty(), "--bytes", command.file);
  require_unset(!command.model.alpha_us && !command.model.beta_us_per_byte, "--alpha and --beta",
                command.file);
  const Ranking ranking = read_sound_ranking(command.file);
  Outcome outcome = reported(report_of(ranking, true), "");
  if (!command.html.empty()) deliver(command.html, to_page(ranking), outcome);
  return outcome;
}

// What takes long, before any of it is delivered.
struct Shown {
  Outcome outcome = {};
  std::string json = {}, html = {};
};

// One point on a time axis: the fastest by events, unless one is named.
Shown shown_events(const ShowCommand& command, const Result& result, const Supervisor& supervisor) {
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, true);
  Shown made{.outcome = {.text = heading(result) + "\n"}};
  if (chosen.empty()) return made;
  const int point = command.point ? *command.point : fastest_by_events(result, command.events);
  const Report report = event_report(result, point, command.events);
  made.outcome.text += text_of(report);
  if (!command.html.empty())
    made.html =
        to_page(result, best_sizes(result, command.model, supervisor.stop()), report, supervisor.stop());
  return made;
}

// Once stopped, without what would have to be simulated or drawn for long.
Shown shown_result(const ShowCommand& command, const Result& result, const Supervisor& supervisor) {
  if (command.events >= 0) return shown_events(command, result, supervisor);
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  const BestSizes sizes = best_sizes(result, command.model, supervisor.stop());
  bool whole = sizes.timed;
  std::vector<SizeRow> rows;
  if (!command.bytes.empty()) rows = best_by_size(result, command.bytes, command.model, supervisor.stop());
  // Without points no size can be timed, and none is missing.
  const std::size_t asked = result.points.empty() ? 0 : command.bytes.size();
  whole = whole && rows.size() == asked;
  Listed listed{.points = chosen, .best = sizes, .timed = rows, .sizes = asked};
  // Schedules in full only where neither times by size nor a page were asked for: they are long.
  if (command.bytes.empty() && command.html.empty()) listed.schedules = chosen;
  Shown made{.outcome = reported(report_of(result, listed))};
  if (!command.bytes.empty()) made.json = sizes_json(result, rows);
  if (!command.html.empty()) made.html = to_page(result, sizes, supervisor.stop());
  if (!whole) made.outcome.exit_code = exit_code_of(supervisor.stopped());
  return made;
}

Outcome delivered(const ShowCommand& command, Shown made) {
  if (!made.json.empty() && !command.json.empty()) deliver(command.json, std::move(made.json), made.outcome);
  if (!made.html.empty()) deliver(command.html, std::move(made.html), made.outcome);
  return made.outcome;
}

}  // namespace

Outcome perform(const ShowCommand& command, Supervisor& supervisor) {
  if (is_ranking(read_file(command.file))) return show_ranking_file(command);
  const Result result = read_sound_result(command.file);
  supervisor.publish([&command, result, &supervisor](Stopped stopped) {
    Outcome outcome = delivered(command, shown_result(command, result, supervisor));
    outcome.exit_code = exit_code_of(stopped);
    return outcome;
  });
  Shown made = shown_result(command, result, supervisor);
  supervisor.take_floor();
  return delivered(command, std::move(made));
}

void show_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(app, "show", "Print a result or a ranking step by step, or as an HTML report",
                                kPlainExitCodes +
                                    "examples:\n  chorale show f.json --point 1\n  chorale show f.json "
                                    "--html f.html\n  chorale show f.json --sizes 1K:1G:32");
  auto options = std::make_shared<ShowCommand>();
  argument(sub, "result", options->file, "FILE", "A result file, or a ranking that 'place --json' wrote");
  file_to_write(sub, "--html", options->html,
                "Write one self-contained page instead: the machine, the schedules, the frontier");
  integer(sub, "--point", options->point, 0, INT_MAX, "N", "Only the point of this number");
  size_model(sub, options->model);
  sizes(sub, options->bytes,
        "Print the fastest point for messages of these sizes instead, as 'frontier --sizes'");
  file_to_write(sub, "--json", options->json, "Write that there, too");
  size(sub, "--events", options->events,
       "Draw one point on a time axis instead, for a message of this size, where each message waits for its "
       "data and its links alone: the critical path, and what links carry when");
  limits(sub, parsed.limits, "");
  sub->final_callback([sub, options, &parsed] {
    only_for(sub, {"--json"}, !options->bytes.empty(), "--sizes");
    if (options->events >= 0 && !options->bytes.empty())
      throw InputError("--events", "--sizes prints something else", "give one of them");
    accept(parsed, options);
  });
}

}  // namespace chorale
