// Prints the program in the form that is read back, so transformations can be applied one command at a time.
#include "api/workload.h"
#include "cli/commands.h"
#include "cli/inputs.h"

namespace chorale {

Outcome perform(const TransformCommand& command, Supervisor&) {
  const std::string text = to_text(read_workload(command.workload));
  // Lines of a program may not be broken at the width of the terminal.
  Outcome outcome{.verbatim = true};
  if (command.output.empty())
    outcome.text = text;
  else
    deliver(command.output, text, outcome);
  return outcome;
}

}  // namespace chorale
