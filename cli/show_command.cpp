#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/report.h"
#include "codegen/html.h"
#include "ir/json.h"

namespace chorale {
namespace {

PageNotes notes(const Result& result, const SizeModel& model) {
  const RateBound bound = rate_bound(result);
  return {.bound_rounds = bound.rounds,
          .bound_chunks = bound.chunks,
          .best_sizes = best_sizes_in_words(result, model)};
}

}  // namespace

Outcome perform(const ShowCommand& command) {
  require_writable_file("--html", command.html);
  const Result result = load_sound_result(command.file);
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  if (!command.html.empty()) write_file(command.html, to_html(result, notes(result, command.model)));
  std::string text = heading(result) + points_table(result, chosen, command.model) + bound_line(result);
  for (int i : chosen) {
    const Point& point = result.points[i];
    text += fmt::format("\npoint {}: {}\n", i, point.method) + schedule_text(result.topology, point);
  }
  return {.text = text};
}

}  // namespace chorale
