// The verifiers of a library's answers: the checker of results and what marks them, which know bounds and
// solvers, as a library does not (api/library.cpp passes them in).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/renumbering.h"
#include "ir/search_options.h"
#include "library/answers.h"

namespace chorale {

struct Verifiers {
  // From nothing: every schedule, every claim, and what these show of points and space (pareto/check.h).
  std::function<CheckReport(const Result&, const SolveLimits&)> check = {};
  // Faults in its points and space; claims are trusted (pareto/space_check.h).
  std::function<std::vector<Fault>(const Result&)> space_faults = {};
  // Works out anew what the claims show, schedules as they are, or once they are verified
  // (pareto/findings.h).
  std::function<void(Result&)> mark = {}, finish = {};
  // Does a claim exclude more than the known ones do (pareto/optimality.h)?
  std::function<bool(const std::vector<Claim>& known, const Claim&)> excludes_more = {};
  // The result on a machine that is numbered otherwise, its schedules verified
  // (pareto/formulas.h). Throws InputError at `where`.
  std::function<Result(const Result&, const Renumbering&, const Topology& to, const std::string& where)>
      verified_renumbering = {};
  // What the fastest point takes, and no schedule less, for blocks of each size (api/report.h).
  std::function<std::vector<PredictedTime>(const Result&, const std::vector<std::int64_t>& bytes)> predicted =
      {};
};

}  // namespace chorale
