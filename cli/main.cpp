#include <cstdio>
#include <variant>

#include "cli/commands.h"
#include "ir/error.h"

// Nothing but the user's errors is caught: a bug of ours stops loudly.
int main(int argc, char** argv) {
  using namespace chorale;
  try {
    const Invocation asked = parse_command_line(argc, argv);
    const Outcome outcome = std::visit([](const auto& command) { return perform(command); }, asked.command);
    say(outcome, asked.quiet);
    return outcome.exit_code;
  } catch (const InputError& error) {
    if (!speaks()) return silent_refusal().exit_code;
    std::fprintf(stderr, "chorale: error: %s\n", error.what());
    return kBadInput;
  }
}
