// Layouts are read, and the report and the plan are written, in Python (python/chorale/resharding.py); the
// search is here. Python's share is small, so no limit ends it: what was found until a limit is reported.
#include "api/inputs.h"
#include "api/machines.h"
#include "api/reshard.h"
#include "cli/inputs.h"
#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/json_fields.h"

namespace chorale {

struct ReshardCommand {
  std::string machine = {};
  MachineChanges changes = {};
  std::string file = {};  // of layouts and tensors
  std::chrono::milliseconds search_time{8'000};
  std::string json = {}, html = {};
  std::string result = {};  // a file
  std::string emit = {};    // a directory
};

Outcome perform(const ReshardCommand& command, Supervisor& supervisor) {
  const Topology topology = machine(command.machine, command.changes);
  const std::string demand =
      done_in_python("reshard", "resharding", json_object("file", command.file, "ranks", topology.ranks).text)
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
  Outcome outcome = done_in_python("reshard", "resharding",
                                   json_object("file", command.file, "found", JsonText{to_json(answer)},
                                               "json", command.json, "emit", command.emit)
                                       .text,
                                   nullptr, command.html);
  outcome.exit_code = cut ? exit_code_of(stopped) : found.points.empty() ? kUndecided : kFound;
  if (!command.result.empty()) deliver(command.result, to_json(found), outcome);
  return outcome;
}

// The schedules are a result like that of a search, so emit, run, simulate, show and check take them.
void reshard_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub =
      command(app, "reshard", "Tensors from one layout to another, M ranks to N: bound, schedule, times",
              "Layouts are meshes with DTensor's placements (docs/placement.md). The result is\n"
              "one of a collective: emit, run, simulate, show and check take it.\n"
              "exit codes: 0 found, 2 bad input, 3 out of time or memory, 130 interrupted\n"
              "examples:\n"
              "  chorale reshard dgx-h100:2 examples/reshard.json --result r.json\n"
              "  chorale reshard dgx-h100:2 examples/reshard.json --emit plan");
  auto options = values_of<ReshardCommand>(sub, parsed);
  argument(sub, "machine", options->machine, "MACHINE",
           "A machine ('chorale topology list'), or a file of one");
  argument(sub, "file", options->file, "FILE", "Layouts and tensors, as JSON (docs/formats.md)");
  machine_changes(sub, parsed, {&options->machine}, options->changes);
  duration(sub, "--search-time", options->search_time, "Search for at most T (8s)");
  limits(sub, parsed.limits, "");
  file_to_write(sub, "--json", options->json, "Write times, NIC seconds and bytes per link there");
  file_to_write(sub, "--html", options->html, kReportPage);
  file_to_write(sub, "--result", options->result,
                "Write the schedules and bounds there, for emit, run, check");
  directory_to_write(
      sub, "--emit", options->emit,
      "Write the plan there, and a program of torch.distributed that does it and checks every byte");
}

}  // namespace chorale
