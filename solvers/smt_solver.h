// SMT-LIB text in, verdict and values out; Z3 behind it, in a library that is loaded when it is needed
// (plugins/).
#pragma once

#include <map>
#include <memory>
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

// A solver that keeps its assertions: add, solve under an assumption, add more. Limits on time and Ctrl-C
// hold for each question; a limit on conflicts is not kept.
class SmtSession {
 public:
  virtual ~SmtSession() = default;
  // Declarations and assertions; a mistake in them throws std::logic_error.
  virtual void add(const std::string& commands) = 0;
  // Is everything added satisfiable together with this term? After Sat, `values` of these integer constants.
  virtual Verdict ask(const std::string& term, const std::vector<std::string>& wanted,
                      std::vector<long long>& values) = 0;
  virtual std::int64_t conflicts() const = 0;  // of all questions
};

std::unique_ptr<SmtSession> make_z3(const SolveLimits&);

SmtAnswer solve_smtlib(const std::string& text, const std::vector<std::string>& wanted, const SolveLimits&);

}  // namespace chorale
