// What a job calls and would gain is in Python: readers of other programs' traces, and what is asked of this
// program's own commands (python/chorale/jobs.py).
#include <fmt/format.h>

#include <memory>

#include "cli/option_kinds.h"
#include "cli/python_command.h"
#include "cli/supervisor.h"
#include "ir/json_fields.h"
#include "jobs/optimize.h"

namespace chorale {

struct JobCommand {
  std::vector<std::string> traces = {};
  std::string machine = {};  // "": the job is only listed
  std::string library = {};
  BaselineSet baselines = BaselineSet::Auto;
  std::chrono::milliseconds search_time{2'000};  // of each collective and level
  std::string spec = {};                         // where to write the specification of a library
  std::string json = {}, html = {};
};

Outcome perform(const JobCommand& command, Supervisor& supervisor) {
  return done_in_python(
      "chorale job", "jobs",
      json_object("traces", command.traces, "machine", command.machine, "library", command.library,
                  "baselines", name_in(baseline_sets(), command.baselines), "search_ms",
                  command.search_time.count(), "spec", command.spec, "json", command.json)
          .text,
      &supervisor, command.html);
}

// A library and a specification are of a machine, so they require --machine.
void job_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "job", "The collectives that a job calls, by its traces, and what it would gain on a machine",
      "Traces are of one job, of one rank or of several: PyTorch's profiler (Kineto) and flight recorder\n"
      "(JSON), Chakra, NCCL's inspector, NCCL_DEBUG=INFO lines (subsystem COLL), or a table of a PMPI\n"
      "wrapper: comma-separated, with a header that has collective, ranks, bytes, and perhaps group, calls,\n"
      "us.\n" +
          kPlainExitCodes +
          "examples:\n  chorale job examples/calls.csv\n"
          "  chorale job examples/calls.csv --machine dgx-a100:2 --search-time 1");
  auto options = std::make_shared<JobCommand>();
  argument(sub, "traces", options->traces, "TRACE...", "Traces and logs of the job");
  text(sub, "--machine", options->machine, "MACHINE",
       "Compare there, by predicted times: a name of 'chorale topology list', or a file");
  text(sub, "--library", options->library, "FILE",
       "Take the algorithms of this library, built for that machine, instead of short searches");
  baselines(sub, options->baselines);
  duration(sub, "--search-time", options->search_time, "Search each collective of each level for T (2s)");
  file_to_write(sub, "--spec", options->spec,
                "Write the specification of a library for this job there, for 'chorale library build'");
  file_to_write(sub, "--json", options->json, "Write the calls, and the comparison, there");
  file_to_write(sub, "--html", options->html, kReportPage);
  limits(sub, parsed.limits, "");
  progress(sub, parsed.progress);
  sub->final_callback([options, &parsed] {
    // Groups of a job become levels of the machine; without one neither option has a meaning.
    if (options->machine.empty() && !options->library.empty())
      throw InputError("--library", "is of a machine", "name it: --machine MACHINE");
    if (options->machine.empty() && !options->spec.empty())
      throw InputError("--spec", "is of a machine", "name it: --machine MACHINE");
    accept(parsed, options);
  });
}

}  // namespace chorale
