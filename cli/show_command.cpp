// All that takes long (times by size, the page) is made before anything is written. When a limit strikes, the
// last report is made again without the page, with sizes timed as far as that is quick.
#include <fmt/format.h>

#include "api/event_report.h"
#include "api/inputs.h"
#include "api/place.h"
#include "api/report.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/ranking.h"

namespace chorale {

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
  Shown made{.outcome = {.text = heading(result)}};
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
  Shown made{
      .outcome = {.text = heading(result) + points_table(result, chosen, sizes, rows) + bound_line(result)}};
  std::string& text = made.outcome.text;
  if (!command.bytes.empty()) {
    // Without points no size can be timed, and none is missing.
    const std::size_t asked = result.points.empty() ? 0 : command.bytes.size();
    whole = whole && rows.size() == asked;
    text += sizes_table(result, rows, asked);
    made.json = sizes_json(result, rows);
  }
  if (!command.html.empty()) made.html = to_page(result, sizes, supervisor.stop());
  // Schedules in full only where neither times by size nor a page were asked for: they are long.
  for (int i : command.bytes.empty() && command.html.empty() ? chosen : std::vector<int>()) {
    const Point& point = result.points[i];
    text += fmt::format("\npoint {}: {}\n", i, algorithm_of(result.topology, point)) +
            schedule_text(result.topology, point);
  }
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
