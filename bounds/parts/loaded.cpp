// The program's side of the plugin: the library is searched at the first question, and stays loaded for all
// that follow.
#include "bounds/parts/tables.h"
#include "parts/part.h"

namespace chorale {

LpSolution solve(const LinearProgram& program, int iterations) {
  static const auto& clp = loaded<ClpPart>({.name = "linear programs",
                                            .library = "libchorale-clp.so",
                                            .function = "chorale_clp_part",
                                            .remedy = kBuildAll});
  return clp.solve_program(program, iterations);
}

}  // namespace chorale
