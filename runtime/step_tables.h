// A program as the tables that runtime/device/step_plan.h plans from.
#pragma once

#include <array>
#include <vector>

#include "ir/program.h"
#include "ir/verified.h"
#include "runtime/device/step_plan.h"

namespace chorale {

class StepProgram {
 public:
  explicit StepProgram(const Verified<Program>& program) : StepProgram(*program) {}

  StepTables tables() const;  // as long as this lives

 private:
  explicit StepProgram(const Program&);

  int steps_ = 0, pieces_ = 1;
  std::vector<std::array<int, 3>> slots_ = {};
  std::vector<StepMessage> messages_ = {};
  std::vector<StepWork> work_ = {};
};

}  // namespace chorale
