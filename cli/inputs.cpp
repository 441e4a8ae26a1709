// Checks that come before long work: a search of an hour must not end in a file that cannot be written. They
// ask the system (access), and so may be outdated when the file is written; then the write reports its own
// error.
#include "cli/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/outcome.h"
#include "ir/error.h"
#include "ir/files.h"

namespace chorale {
namespace fs = std::filesystem;

// Without a number and without `all` the points of the frontier, in their order in the file.
std::vector<int> chosen_points(const std::string& file, const Result& result, std::optional<int> point,
                               bool all) {
  const int count = static_cast<int>(result.points.size());
  if (point && *point >= count)
    throw InputError("--point", fmt::format("{} has no point {}", file, *point),
                     count == 0 ? "it has none at all" : fmt::format("use 0 to {}", count - 1));
  if (point) return {*point};
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    if (all || result.points[i].on_frontier) chosen.push_back(i);
  return chosen;
}

// An option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file) {
  if (!unset) throw InputError(option, "is for results, and " + file + " is a ranking", "leave it out");
}

// Errors in a script cite where it is from: the option, or its file.
Workload read_workload(const WorkloadInput& input) {
  const Workload workload = read_workload(input.file, input.settings);
  if (input.script_file.empty()) return transformed(workload, input.script, "--apply");
  return transformed(workload, read_file(input.script_file), input.script_file);
}

void require_writable_file(const std::string& option, const std::string& path) {
  if (path.empty() || path == kStandardOutput) return;
  const std::string why = why_not_writable(path);
  if (!why.empty()) throw InputError(option, path + ": " + why, "choose another file");
}

void make_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw InputError(option, "the directory " + path + " cannot be made: " + error.message(),
                     "choose another");
  require_writable_directory(option, path);
}

void require_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw InputError(option, "there is no directory " + path, "make it first, or choose another");
  // A file is made in a directory that can be written and searched.
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw InputError(option, "the directory " + path + " cannot be written to", "choose another");
}

// The nearest directory above that exists decides: those below it are made with the files.
void require_makeable_directory(const std::string& option, const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    throw InputError(option, there.string() + " is not a directory", "choose another");
  require_writable_directory(option, there.string());
}

}  // namespace chorale
