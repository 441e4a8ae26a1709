// Parses, starts the supervisor with the command's limits, performs, prints.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>

#include "api/machines.h"
#include "cli/options.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/or_error.h"

namespace chorale {
namespace {

// What was read in the files of other tools, and assumed; of files that cannot be read nothing, since the
// command says why.
std::string provenance_of(const Invocation& asked) {
  std::string text;
  for (const auto& [spec, changes] : asked.machines)
    if (const OrError<std::string> its =
            read_or_error([&] { return spec->empty() ? "" : provenance_of(*spec, changes->import); }))
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
  Supervisor supervisor(asked);
  if (!asked.quiet) supervisor.end_reports_with(provenance_of(asked));
  const Outcome outcome = supervisor.run([&] {
    try {
      return asked.perform(supervisor);
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
