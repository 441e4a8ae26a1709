// What a job calls and would gain is in Python: readers of other programs' traces, and what is asked of this
// program's own commands (python/chorale/jobs.py).
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/json_reader.h"

namespace chorale {

Outcome perform(const JobCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  return done_in_python(
      "chorale job", "jobs",
      fmt::format(
          R"({{"traces":{},"machine":{},"library":{},"baselines":{},"search_ms":{},"spec":{},"json":{}}})",
          list(command.traces), quoted(command.machine), quoted(command.library),
          quoted(std::string(name_in(baseline_sets(), command.baselines))), command.search_time.count(),
          quoted(command.spec), quoted(command.json)),
      supervisor);
}

}  // namespace chorale
