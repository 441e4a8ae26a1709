// SMT-LIB text in, verdict and values out; Z3 behind it (z3.cpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/instance.h"
#include "solvers/sat_solver.h"

namespace chorale {

struct SmtAnswer {
  Verdict verdict = Verdict::Unknown;
  std::map<std::string, long long> values =
      {};  // integers, and booleans as 0/1, of the named constants, if Sat
  std::int64_t conflicts = 0;
};

SmtAnswer solve_smtlib(const std::string& text, const std::vector<std::string>& wanted, const SolveLimits&);

}  // namespace chorale
