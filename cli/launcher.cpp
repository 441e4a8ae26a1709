// The environment that launchers of MPI programs give to their processes.
#include "cli/launcher.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/run.h"

namespace chorale {

bool started_by_mpirun() {
  const std::vector<std::string>& variables = launcher_variables();
  return std::any_of(variables.begin(), variables.end(),
                     [](const std::string& name) { return std::getenv(name.c_str()) != nullptr; });
}

// Before MPI is initialized only the environment determines it.
bool speaks() {
  // Open MPI; MPICH, Intel MPI and Slurm (PMI); launchers by PMIx.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const rank = std::getenv(variable)) return std::string(rank) == "0";
  return true;
}

// All processes read the same line and fail alike; the one that prints has to do so before mpirun sees the
// first exit code and ends the job.
Outcome silent_refusal() {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return {.exit_code = kBadInput};
}

InputError hung(const std::string& command, const Hang& hang) {
  const InputError error(command, hang.what(), "raise --wait, or see whether all ranks are alive");
  if (!speaks()) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::fprintf(stderr, "chorale: error: %s\n", error.what());
  }
  return error;
}

}  // namespace chorale
