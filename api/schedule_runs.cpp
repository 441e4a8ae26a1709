// A schedule is measured by compiling the emitted program with its own Makefile and running it. Each prints
// its time and a fingerprint of its results: sums of the elements with fixed weights, and of their absolute
// values. The first schedule's fingerprint is the reference for all others, since transformations keep the
// program's meaning.
#include "api/schedule_runs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "api/work_folder.h"
#include "ir/error.h"
#include "ir/files.h"

namespace chorale {
namespace {

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
    if (carrier == WorkloadCarrier::Mpi && !has_program(program))
      throw InputError("--transport mpi", fmt::format("there is no {} here", program),
                       "install an MPI, or measure with threads");
  if (carrier == WorkloadCarrier::Cuda && !has_program("${NVCC:-nvcc}"))
    throw InputError("--transport cuda", "there is no nvcc here", "install CUDA, or measure with threads");
}

// Lines "NAME is about WEIGHTED of ABSOLUTE" have the sums, and "NAME: BITS" the bits of the result.
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

// Equal bits are equal results. Other bits are accepted if both sums agree up to the error of another order
// of additions; results that one of the two does not print are not compared.
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

// A schedule that cannot be emitted has no time, and is no fault; one that does not compile, fails or differs
// has a failure, which the tuner reports. The first schedule that runs is the reference, so it cannot differ.
Timing ScheduleRuns::time(const Workload& workload, const Execution& execution) {
  const WorkFolder folder("--measure", where_);
  OrError<CompiledWorkload> compiled = try_compile(workload, machine_, execution, carrier_);
  if (!compiled) return {};
  write_files(in_folder(folder.path(), std::move(compiled->files)));
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
