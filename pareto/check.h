// Re-verifies a result from nothing: every schedule by the referee, every claim by its checker, every
// refutation by solving and checking its proof again (or by the proof that was kept), and that the
// claims show what the points say.
#pragma once

#include <functional>
#include <string>

#include "ir/search_options.h"

namespace chorale {

// `progress`, if any, is told what has been checked so far, after every point and claim.
CheckReport check_result(const Result&, const std::string& proof_dir, const SolveLimits&,
                         const std::function<void(const CheckReport&)>& progress = {});

}  // namespace chorale
