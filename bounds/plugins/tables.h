#pragma once

#include "bounds/clp.h"

namespace chorale {

struct ClpPlugin {
  decltype(&solve) solve_program = nullptr;
};

}  // namespace chorale
