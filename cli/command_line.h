// The words of a command line, read.
#pragma once

#include "cli/options.h"

namespace chorale {

// Throws InputError, also for what the option library complains about.
Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace chorale
