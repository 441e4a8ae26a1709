// A program of epochs as rows of ir/step_table.h: the one writer of them, for executors and for sources. An
// operation of several operands or results is several rows, one after the other.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "ir/message_plan.h"
#include "ir/pieces.h"
#include "ir/program.h"
#include "ir/step_table.h"
#include "ir/topology.h"
#include "ir/verified.h"

namespace chorale {

struct StepRows {
  int steps = 0, pieces = 1;
  bool own_input = false, own_output = false;
  bool adds_once = false;
  std::vector<std::array<int, 3>> slots = {};
  std::vector<int> slices = {};
  std::vector<StepMessage> messages = {};
  std::vector<StepWork> work = {};
  std::vector<int> numbers = {};  // of messages, in the program

  StepTables tables() const;  // as long as this lives
};

// For blocks of one length. Requires a program that the verifier accepts. Links of a rank that a limit of the
// machine shares are one lane, each other one is its own; without links, all of a rank are one.
StepRows step_rows(const Program&, const Topology& = {});
StepRows step_rows(const Verified<Program>&);  // with the order of its sums

// Judges the plan of a rank before it runs, and throws where it is wrong.
using PlanCheck = std::function<void(const StepRows&, Rank, const Pieces&, const MessagePlan&)>;

}  // namespace chorale
