// The program's side of the plugin: the library is searched at the first question, and stays loaded for all
// that follow.
#include "bounds/plugins/tables.h"
#include "ir/plugin.h"

namespace chorale {

LpSolution solve(const LinearProgram& program, int iterations) {
  static const auto& clp = loaded<ClpPlugin>({.name = "linear programs",
                                              .library = "libchorale-clp.so",
                                              .function = "chorale_clp_plugin",
                                              .remedy = kBuildAll});
  return clp.solve_program(program, iterations);
}

}  // namespace chorale
