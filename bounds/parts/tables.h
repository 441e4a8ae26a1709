#pragma once

#include "bounds/clp.h"

namespace chorale {

struct ClpPart {
  decltype(&solve) solve_program = nullptr;
};

}  // namespace chorale
