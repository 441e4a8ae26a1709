// A linear program, and the solver that we use for it: Clp, in a library that is loaded when it is needed
// (plugins/).
#pragma once

#include <vector>

namespace chorale {

struct LpEntry {
  int row = 0;
  int column = 0;
  double value = 0;
};

// minimise cost * x over x >= 0, each row of coefficients (`entries`) * x in [low, high]
struct LinearProgram {
  std::vector<double> cost = {};  // by column
  std::vector<double> low = {};   // by row
  std::vector<double> high = {};  // by row; kNoLimit for none
  std::vector<LpEntry> entries = {};

  int add_column(double c) {
    cost.push_back(c);
    return static_cast<int>(cost.size()) - 1;
  }
  int add_row(double from, double to) {
    low.push_back(from);
    high.push_back(to);
    return static_cast<int>(low.size()) - 1;
  }
};

inline constexpr double kNoLimit = 1e30;

struct LpSolution {
  bool optimal = false;
  int iterations = 0;  // of the simplex method
  double objective = 0;
  std::vector<double> values = {};  // by column
  std::vector<double> duals = {};   // by row: growth of the objective with the row's active side
};

// Deterministic. Gives up (optimal false) after `iterations`.
LpSolution solve(const LinearProgram&, int iterations);

}  // namespace chorale
