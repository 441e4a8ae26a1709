// The tables of an example: an AllReduce over two ranks, each of which adds up and hands out one of its two
// chunks.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "ir/step_table.h"
#include "runtime/device/failure_file.h"
#include "runtime/device/forms.h"
#include "runtime/device/own_steps.h"
#include "runtime/device/self_check.h"
#include "runtime/device/wire.h"
#include "runtime/exchange/message_plan.h"

namespace {

constexpr int kRanks = 2;
constexpr bool kAgreed = true;  // whether all ranks get the same bits of a sum
using Travels = float;          // what floats are while they travel

// By rank: slots of input, output, scratch. Buffers are 0, 1, 2 below.
constexpr std::array<int, 3> kSlots[] = {
    {2, 2, 0},
    {2, 2, 0},
};

// step, from rank, buffer, slot, to rank, buffer, slot, block, piece, may be lent, lane
constexpr chorale::StepMessage kMessages[] = {
    {0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1},
    {0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0},
    {1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1},
    {1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0},
};

// After the step's messages: rank, step, add?, from buffer, slot, to buffer, slot, block, piece,
// complete: 1 for the function, 2 stored too, 3 what it makes is stored
constexpr chorale::StepWork kWork[] = {
    {0, 0, 1, 0, 0, 1, 0, 0, 0, 0},
    {1, 0, 1, 0, 1, 1, 1, 0, 1, 0},
};

// By rank: where its first output lies in the inputs.
constexpr int kSlices[] = {0, 0};
constexpr chorale::StepTables kTables = {2, 2, 2, kSlots, kMessages, 4, kWork, 2, kSlices, false, false};

// rank, output slot, sum
constexpr chorale::PromisedOutput kPromised[] = {
    {0, 0, 0},
    {0, 1, 1},
    {1, 0, 0},
    {1, 1, 1},
};

// sum: rank, input slot
constexpr chorale::PromisedTerm kTerms[] = {
    {0, 0, 0},
    {0, 1, 0},
    {1, 0, 1},
    {1, 1, 1},
};

// rank, input slot has the same data as rank, input slot
constexpr chorale::SameInput kSame[] = {
    {-1, -1, -1, -1},
};

chorale::SelfCheck check() {
  return chorale::SelfCheck(kRanks, kPromised, kTerms, kSame);
}

constexpr chorale::Form kForms[] = {
    {HUGE_VAL, "allreduce on ring:2: 2 steps, 2 rounds, 2 chunks", kTables, false, check},
};
constexpr chorale::Failure kFailures[] = {
    {"", kForms + 0, nullptr, -1},
};

// No function is applied to complete sums.
struct Tensors {
  const void* const* data;
  long slice;
};
float applied(float sum, long, const Tensors&) {
  return sum;
}
float expected(float sum, long) {
  return sum;
}
constexpr int kOperands = 0;
std::vector<char> test_tensor(int, long, long, long) {
  return {};
}

}  // namespace
