// How programs are run on real data, and the report of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/elements.h"
#include "ir/hang.h"
#include "ir/option.h"

namespace chorale {

struct RunOptions {
  // Of a *block* of the collective (defined in ir/collective.h), rounded down to whole elements; need not be
  // divisible by anything, and may be 0. Elements count as what they travel as (unit_on_wire).
  std::vector<std::int64_t> bytes = {1024};
  std::vector<ElementType> types = {ElementType::Float32};
  // Of a program that only copies, the first one is run: they do not differ.
  std::vector<ReduceOp> ops = {ReduceOp::Sum};
  int iterations = 20;                        // that are timed, at least 1
  int warm_up = 5;                            // before them
  std::chrono::milliseconds timeout{60'000};  // of one wait for another rank
  std::uint64_t seed = 1;                     // of the inputs
  bool check = true;                          // every element, before and after the timed runs
  Accumulation accumulation = Accumulation::OwnType;
  Wire wire = Wire::Float32;  // as what elements of float32 travel, each sum made once
};

// On the command line and in Python. A new one is a member and a row.
std::span<const OptionRow<RunOptions>> run_rows();

// One size, type and op. A time is from a barrier until the last rank is done.
struct RunRow {
  std::int64_t bytes = 0;         // of a block, in whole elements, as they travel
  std::int64_t buffer_bytes = 0;  // likewise the largest buffer of a rank: what nccl-tests calls the size
  ElementType type = ElementType::Float32;
  ReduceOp op = ReduceOp::Sum;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  double algbw = 0;  // GB/s: buffer_bytes in the median time, as nccl-tests defines it
  double busbw = 0;  // and as it is comparable with the speed of a link (cost/busbw.h); by api/run.h only
  std::int64_t wrong = 0;  // elements of output not as promised, or of input changed, in all ranks: 0
  bool agrees =
      true;  // ranks that receive one value have the same bits of it, with inputs whose sums are rounded
};

}  // namespace chorale
