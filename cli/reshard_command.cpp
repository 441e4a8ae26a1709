// Layouts are read, and the report and the plan are written, in Python (python/chorale/resharding.py); the
// search is here. Python's share is small, so no limit ends it: what was found until a limit is reported.
#include <fmt/format.h>

#include "api/inputs.h"
#include "api/machines.h"
#include "api/reshard.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/python_command.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_reader.h"

namespace chorale {

Outcome perform(const ReshardCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.machine, command.changes);
  const std::string demand =
      done_in_python("reshard", "resharding",
                     fmt::format(R"({{"file":{},"ranks":{}}})", quoted(command.file), topology.ranks))
          .document;
  FrontierOptions options{.time_limit = command.search_time};
  options.synthesis.limits.stop = supervisor.stop();
  // Hosts decide which links are NICs; a machine without hosts has link seconds instead.
  const Resharding answer =
      reshard(topology, reshard_demand_from_json(demand, topology.ranks), hosts_of(command.machine), options);
  supervisor.take_floor();
  // Without a schedule there are still the bound and the times of the other methods. A search that ended by
  // itself was not cut, even if a limit came since.
  const Stopped stopped = supervisor.stopped();
  const Result& found = answer.result;
  const bool cut = stopped != Stopped::No && !found.complete && found.stopped != Stopped::ChunkCounts;
  Outcome outcome =
      done_in_python("reshard", "resharding",
                     fmt::format(R"({{"file":{},"found":{},"json":{},"emit":{}}})", quoted(command.file),
                                 to_json(answer), quoted(command.json), quoted(command.emit)));
  outcome.exit_code = cut ? exit_code_of(stopped) : found.points.empty() ? kUndecided : kFound;
  if (!command.result.empty()) deliver(command.result, to_json(found), outcome);
  return outcome;
}

}  // namespace chorale
