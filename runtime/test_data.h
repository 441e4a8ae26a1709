// Inputs whose results are known exactly, and the count of what differs from them. Depends on the collective
// only, not on the program that is to be checked.
//
// Values are small integers, of floating-point types divided by 8, such that every sum that the collective
// requires is exact in any order, in the type in which sums are kept; with 16-bit floats that are accumulated
// in float32 the result is the sum rounded once, and a sum with intermediate rounding differs from it; values
// of float32 that travel as a short type are rounded to it, and so is their sum. They
// depend on rank, slot and element: data in a wrong slot differ there, save by accident.
//
// Data whose sums are rounded are normal floats of mixed magnitude and sign: their sums depend on the order
// of the additions, and so show whether all ranks add in one order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/collective.h"
#include "ir/promise.h"
#include "runtime/elements.h"

namespace chorale {

enum class Sums { Exact, Rounded };

class TestData {
 public:
  // Must not outlive the collective.
  TestData(const Collective&, const BlockShape&, ReduceOp, std::uint64_t seed, Sums = Sums::Exact);

  void fill_input(Rank, std::span<std::byte> input) const;
  // Elements that are not as filled. Runs must leave inputs alone.
  std::int64_t changed_elements(Rank, std::span<const std::byte> input) const;

  // Gives no element the value it should have in the end.
  static void spoil_output(std::span<std::byte> output);
  // A number from 0 to 2^40 - 1. Those of all ranks add up to a multiple of 2^40 where each value that
  // several ranks receive has the same bits on all of them, and else with a probability of 2^-40.
  std::int64_t imbalance(Rank, std::span<const std::byte> output) const;
  // Elements that differ from what the collective promises, and an epilogue makes of it. Of exact sums.
  std::int64_t wrong_elements(Rank, std::span<const std::byte> output, const EpilogueFunction& = {}) const;

 private:
  // function(first element of the buffer, the values from there on), until the buffer has been gone through.
  template <typename T, typename Function>
  void for_each_input(Rank, Function) const;
  template <typename T, typename Kept, typename Function>
  void for_each_output(Rank, const EpilogueFunction&, Function) const;
  template <typename T, typename Function>
  void in_periods(int slot, const std::vector<T>& values, Function) const;
  template <typename T>
  std::vector<T> pattern(int place) const;
  std::int64_t begin(int slot) const;
  std::int64_t length(int slot) const;

  const Collective& collective_;
  const BlockShape shape_;
  const ReduceOp op_;
  const std::uint64_t seed_;
  const Sums sums_;
  const Promise promise_;
  std::int64_t largest_ = 0;  // value
};

}  // namespace chorale
