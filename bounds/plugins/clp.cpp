// libchorale-clp: the adapter to Clp (Forrest et al.). Row duals are what most callers want: of a minimum
// over rows >= low they are nonnegative, up to rounding, and they are prices. The dual simplex method starts
// feasible where no cost is negative, as in our programs of flows.
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>

#include "bounds/plugins/tables.h"
#include "ir/plugin.h"

namespace chorale {
namespace {

LpSolution solve_by_clp(const LinearProgram& program, int iterations) {
  const int rows = static_cast<int>(program.low.size());
  const int columns = static_cast<int>(program.cost.size());
  std::vector<int> row_of, column_of;
  std::vector<double> value;
  for (const LpEntry& entry : program.entries) {
    row_of.push_back(entry.row);
    column_of.push_back(entry.column);
    value.push_back(entry.value);
  }
  CoinPackedMatrix matrix(true, row_of.data(), column_of.data(), value.data(),
                          static_cast<CoinBigIndex>(value.size()));
  matrix.setDimensions(rows, columns);
  const std::vector<double> zero(columns, 0.0), infinite(columns, COIN_DBL_MAX);
  std::vector<double> high = program.high;
  for (double& bound : high)
    if (bound >= kNoLimit) bound = COIN_DBL_MAX;

  ClpSimplex model;
  model.setLogLevel(0);
  model.setMaximumIterations(iterations);
  model.loadProblem(matrix, zero.data(), infinite.data(), program.cost.data(), program.low.data(),
                    high.data());
  model.dual();
  LpSolution solution{.optimal = model.status() == 0,
                      .iterations = model.numberIterations(),
                      .objective = model.objectiveValue()};
  if (!solution.optimal) return solution;
  solution.values.assign(model.primalColumnSolution(), model.primalColumnSolution() + columns);
  solution.duals.assign(model.dualRowSolution(), model.dualRowSolution() + rows);
  return solution;
}

}  // namespace
}  // namespace chorale

CHORALE_PLUGIN chorale_clp_plugin() {
  static const chorale::ClpPlugin plugin = {.solve_program = chorale::solve_by_clp};
  return &plugin;
}
