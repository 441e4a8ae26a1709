// What launchers of MPI programs tell their processes.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/commands.h"
#include "runtime/mpi_session.h"

namespace chorale {

bool started_by_mpirun() {
  const std::vector<std::string>& variables = mpi_launcher_variables();
  return std::any_of(variables.begin(), variables.end(),
                     [](const std::string& name) { return std::getenv(name.c_str()) != nullptr; });
}

// Before MPI is up only the environment says which.
bool speaks() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (const char* const rank = std::getenv(variable)) return std::string(rank) == "0";
  return true;
}

Outcome silent_refusal() {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return {.exit_code = kBadInput};
}

}  // namespace chorale
