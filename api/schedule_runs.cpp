#include "api/schedule_runs.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "ir/error.h"
#include "ir/files.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

class WorkFolder {
 public:
  explicit WorkFolder(const std::string& where) {
    std::string name = where + "/chorale_tune_XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw InputError("--measure", "no folder can be made in " + where,
                       "set TMPDIR to one that can be written to");
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

  // Did it succeed? What it prints is in the files `out` and `err`.
  bool run(const std::string& command) const {
    const int status =
        std::system(fmt::format("cd '{}' && {{ {}; }} >out 2>err </dev/null", path_, command).c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::string text(const std::string& name) const {
    std::error_code error;
    return fs::exists(path_ + "/" + name, error) ? read_file(path_ + "/" + name) : "";
  }
  // The first line that reports an error, in printable characters; otherwise the last line printed.
  std::string complaint() const {
    std::istringstream lines(text("err") + text("out"));
    std::string told;
    for (std::string line; std::getline(lines, line);) {
      if (line.find_first_not_of(' ') == std::string::npos) continue;
      told = line;
      if (line.find("error") != std::string::npos) break;
    }
    for (char& c : told)
      if (c < ' ' || c > '~') c = ' ';
    return told.substr(0, 200);
  }

 private:
  std::string path_ = {};
};

bool is_there(const std::string& program) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) == 0;
}

// Sums in another order differ, most if many numbers are added up one after the other in fp32 or are 16-bit
// floats; a wrong block, or one at another position, differs by more.
constexpr double kOtherOrder = 0.02;

}  // namespace

std::string name_of(WorkloadCarrier carrier) {
  return name_in(std::span<const Named<WorkloadCarrier>>(kWorkloadCarriers), carrier);
}

ScheduleRuns::ScheduleRuns(const WorkloadMachine& machine, WorkloadCarrier carrier, int runs,
                           std::string where)
    : machine_(machine), carrier_(carrier), runs_(runs), where_(std::move(where)) {
  for (const char* program : {"mpirun", "mpicxx"})
    if (carrier == WorkloadCarrier::Mpi && !is_there(program))
      throw InputError("--transport mpi", fmt::format("there is no {} here", program),
                       "install an MPI, or measure with threads");
  if (carrier == WorkloadCarrier::Cuda && !is_there("${NVCC:-nvcc}"))
    throw InputError("--transport cuda", "there is no nvcc here", "install CUDA, or measure with threads");
}

ScheduleRuns::Fingerprints ScheduleRuns::fingerprints(const std::string& printed) {
  Fingerprints result;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::string about = " is about ";
    if (const std::size_t at = line.find(about); at != line.npos) {
      char* end = nullptr;
      const double weighted = std::strtod(line.c_str() + at + about.size(), &end);
      Fingerprint& of = result[line.substr(0, at)];
      of.weighted = weighted;
      of.absolute = std::strtod(end + std::string(" of ").size(), nullptr);
    } else if (const std::size_t colon = line.find(": ");
               colon != line.npos && line.find("best of") == line.npos) {
      result[line.substr(0, colon)].bits = line.substr(colon + 2);
    }
  }
  return result;
}

std::string ScheduleRuns::difference(const Fingerprints& found) const {
  for (const auto& [name, wanted] : first_) {
    const auto it = found.find(name);
    if (it == found.end() || it->second.bits == wanted.bits) continue;
    const Fingerprint& other = it->second;
    const double most = kOtherOrder * std::max(wanted.absolute, other.absolute);
    // NaN is not close to any number.
    if (std::abs(other.weighted - wanted.weighted) <= most &&
        std::abs(other.absolute - wanted.absolute) <= most)
      continue;
    return fmt::format(
        "{} is another one than that of the first schedule: {:.6g} of {:.6g}, not {:.6g} of {:.6g}", name,
        other.weighted, other.absolute, wanted.weighted, wanted.absolute);
  }
  return "";
}

Timing ScheduleRuns::time(const Workload& workload, const Execution& execution) {
  const WorkFolder folder(where_);
  CompiledWorkload compiled;
  try {
    compiled = compile(workload, machine_, execution, carrier_);
  } catch (const InputError&) {
    return {};
  }
  for (NamedText& file : compiled.files) file.path = folder.path() + "/" + file.path;
  write_files(compiled.files);
  const std::string name = name_of(carrier_);
  if (!folder.run("make -s " + name)) return {.failure = "does not compile: " + folder.complaint()};
  const std::string start = (carrier_ == WorkloadCarrier::Mpi ? fmt::format("mpirun --oversubscribe -n {} ",
                                                                            workload.ranks * workload.groups)
                                                              : "") +
                            "./*_" + name;
  if (!folder.run(fmt::format("{} --runs {}", start, runs_)))
    return {.failure = "fails: " + folder.complaint()};
  const std::string printed = folder.text("out"), before = fmt::format("best of {}: ", runs_);
  const std::size_t at = printed.find(before);
  if (at == printed.npos) return {.failure = "prints no time: " + folder.complaint()};
  const Fingerprints found = fingerprints(printed);
  if (const std::string other = difference(found); !other.empty()) return {.failure = other};
  if (first_.empty()) first_ = found;
  return {.us = std::strtod(printed.c_str() + at + before.size(), nullptr)};
}

}  // namespace chorale
