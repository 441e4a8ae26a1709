// Checks and reads arguments of commands before long work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "ir/frontier.h"

namespace chorale {

// The point of that number, or all on the frontier. Throws InputError where there is none.
std::vector<int> chosen_points(const std::string& file, const Result&, std::optional<int> point, bool all);

// For 'check' and 'show' of a ranking: refuses an option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file);

// The file, with the requested transformations applied.
Workload read_workload(const WorkloadInput&);

// To be called before long work: `path` names a file that can be made, or replaced. "" and "-" are fine.
void require_writable_file(const std::string& option, const std::string& path);
void make_writable_directory(const std::string& option, const std::string& path);  // if it is not there
void require_writable_directory(const std::string& option, const std::string& path);

// The same for a directory that may have to be made when files are written to it, with those above it.
void require_makeable_directory(const std::string& option, const std::string& path);

}  // namespace chorale
