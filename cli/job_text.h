// A job as options of a command state it: axes and one communication, or a file.
#pragma once

#include <string>
#include <vector>

#include "cli/option_kinds.h"
#include "cli/options.h"

namespace chorale {

// By name, ascending. Errors cite `option`.
int axis_named(const std::string& option, const std::vector<Axis>&, const std::string& name);
std::vector<int> axes_named(const std::string& option, const std::vector<Axis>&, const std::string& names);

// "data=4,tensor=8". Open: a size may lack, and is 0.
std::vector<Axis> parse_axes(const std::string& text, bool open);

// Throws InputError where something lacks, or a file and options exclude each other.
Job job_of(const JobText&);

// The options of `place` and `order` that describe one communication: JobText but its axes and its file.
void one_communication(CLI::App*, JobText&);

}  // namespace chorale
