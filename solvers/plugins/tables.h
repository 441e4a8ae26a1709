#pragma once

#include "solvers/proof.h"
#include "solvers/smt_solver.h"

namespace chorale {

struct Z3Plugin {
  decltype(&make_z3) make_session = nullptr;
  std::unique_ptr<SatSolver> (*make_sat)(int seed) = nullptr;
  decltype(&solve_smtlib) solve_text = nullptr;
};

struct CryptoPlugin {
  std::string (*sha256_hex)(std::string_view bytes) = nullptr;
};

}  // namespace chorale
