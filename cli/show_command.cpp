#include <fmt/format.h>

#include "api/inputs.h"
#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/ranking_file.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/ranking.h"

namespace chorale {

Outcome perform(const ShowCommand& command, Supervisor& supervisor) {
  require_writable_file("--html", command.html);
  require_writable_file("--json", command.json);
  if (is_ranking(read_file(command.file))) return show_ranking_file(command, supervisor);
  const Result result = read_sound_result(command.file);
  const std::vector<int> chosen = chosen_points(command.file, result, command.point, false);
  Outcome outcome{.text = heading(result) + points_table(result, chosen, command.model) + bound_line(result)};
  if (!command.bytes.empty()) {
    outcome.text += sizes_table(result, command.bytes);
    if (!command.json.empty()) deliver(command.json, sizes_json(result, command.bytes), outcome);
  }
  if (!command.html.empty()) {
    const std::string page = to_page(result, command.model);
    supervisor.take_floor();
    deliver(command.html, page, outcome);
    return outcome;
  }
  for (int i : command.bytes.empty() ? chosen : std::vector<int>()) {
    const Point& point = result.points[i];
    outcome.text +=
        fmt::format("\npoint {}: {}\n", i, name_of(point.method)) + schedule_text(result.topology, point);
  }
  return outcome;
}

}  // namespace chorale
