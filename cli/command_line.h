// The words of a command line, read.
#pragma once

#include "cli/manual.h"
#include "cli/options.h"

namespace chorale {

// Throws InputError, also for what the option library complains about.
Invocation parse_command_line(int argc, const char* const* argv);

// All commands, for completion and the manual.
CommandText described_program();

}  // namespace chorale
