// Parses, starts the supervisor with the command's limits, performs, prints. Limits and machines are found in
// the variant by their members, so that a new command has them by declaring one.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>
#include <variant>
#include <vector>

#include "api/machines.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/or_error.h"

namespace chorale {
namespace {

Limits limits_of(const Command& command) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.search; })
          return each.search.limits;
        else if constexpr (requires { each.limits; })
          return each.limits;
        else
          return Limits();
      },
      command);
}

// A machine that a command was given: a name or a file, with what is to be different about it.
struct GivenMachine {
  std::string spec = {};
  MachineChanges changes = {};
};

std::vector<GivenMachine> machines_of(const Command& command) {
  return std::visit(
      [](const auto& each) -> std::vector<GivenMachine> {
        if constexpr (requires { each.search.question.changes; })
          return {{each.search.question.machine, each.search.question.changes}};
        else if constexpr (requires { each.first, each.second, each.question.changes; })
          return {{each.first, each.question.changes}, {each.second, each.question.changes}};
        else if constexpr (requires { each.question.machine, each.question.changes; })
          return {{each.question.machine, each.question.changes}};
        else if constexpr (requires { each.target.machine, each.target.changes; })
          return {{each.target.machine, each.target.changes}};
        else if constexpr (requires { each.machine, each.changes; })
          return {{each.machine, each.changes}};
        else if constexpr (requires { each.hierarchy, each.changes; })
          return {{each.hierarchy, each.changes}};
        else if constexpr (requires { each.topology, each.changes; })
          return {{each.topology, each.changes}};
        else if constexpr (requires { each.name, each.changes; })
          return {{each.name, each.changes}};
        else
          return {};
      },
      command);
}

// What was read in the files of other tools, and assumed; of files that cannot be read nothing, since the
// command says why.
std::string provenance_of(const Command& command) {
  std::string text;
  for (const GivenMachine& each : machines_of(command))
    if (const OrError<std::string> its =
            read_or_error([&] { return provenance_of(each.spec, each.changes.import); }))
      if (text.find(*its) == text.npos) text += *its;
  return text;
}

// A file of ours that was opened next would have the number of a closed one, and take what is printed to it.
// These cannot be read or written either, so that what is lost is noticed.
void hold_closed_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main_of(int argc, char** argv) {
  const Invocation asked = parse_command_line(argc, argv);
  Supervisor supervisor(limits_of(asked.command), asked.quiet);
  if (!asked.quiet) supervisor.end_reports_with(provenance_of(asked.command));
  const Outcome outcome = supervisor.run([&] {
    try {
      return std::visit([&](const auto& each) { return perform(each, supervisor); }, asked.command);
    } catch (const Hang& hang) {
      throw hung(asked.name, hang);
    }
  });
  say(outcome, asked.quiet);
  return outcome.exit_code;
}

}  // namespace
}  // namespace chorale

// Nothing but the user's errors and a lack of memory is caught: a bug of ours stops loudly.
int main(int argc, char** argv) {
  using namespace chorale;
  hold_closed_files();
  // Behind Clp there may be a BLAS that starts threads when it is loaded, and prints on standard error if a
  // memory limit forbids that. They would have no work.
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  try {
    return main_of(argc, argv);
  } catch (const InputError& error) {
    if (!speaks()) return silent_refusal().exit_code;
    std::fprintf(stderr, "chorale: error: %s\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {  // before there was a supervisor
    std::fputs("chorale: error: out of memory: there is too little to start; give the process more\n",
               stderr);
    return kUndecided;
  }
}
