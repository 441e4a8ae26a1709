// What one rank does on blocks of one size: the program with addresses instead of slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/program.h"
#include "ir/verified.h"
#include "runtime/elements.h"
#include "runtime/epilogue.h"
#include "runtime/exchange/transport.h"
#include "runtime/rank_buffers.h"

namespace chorale {

class RankPlan {
 public:
  RankPlan(const Verified<Program>& program, Rank n, const BlockShape& shape)
      : RankPlan(*program, n, shape) {}
  RankPlan(const RankPlan&) = delete;  // epochs point into the buffers
  RankPlan& operator=(const RankPlan&) = delete;

  // The caller's; in place they share memory.
  std::span<std::byte> input() const { return buffers_.input; }
  std::span<std::byte> output() const { return buffers_.output; }
  bool in_place() const { return in_place_; }

  // Runs the program once; every rank must. Its epilogue is computed over the tensors of runtime/epilogue.h,
  // averages divided before it. Throws Hang.
  void execute(ReduceOp, Transport&);

  const EpilogueRun& epilogue() const { return epilogue_; }

 private:
  struct LocalWork {
    std::vector<const std::byte*> from = {};
    std::vector<std::byte*> to = {};
    std::int64_t elements = 0;
    std::int64_t index = -1;  // of the first element, where the function is applied; else -1
  };
  struct Epoch {
    std::vector<Delivery> sends = {}, recvs = {};
    std::vector<LocalWork> work = {};
  };

  RankPlan(const Program&, Rank, const BlockShape&);
  std::byte* address(const Slot&);
  void add(const Program&, const Instruction&);

  ElementType type_ = ElementType::Float32;       // of the buffers
  ElementType kept_type_ = ElementType::Float32;  // of what is sent, added and kept between operations
  Pieces pieces_ = {};
  Rank rank_ = 0;
  EpilogueRun epilogue_;
  bool in_place_ = false;
  bool reduces_ = false;       // does any rank? Then outputs are sums
  bool has_epilogue_ = false;  // likewise
  int ranks_ = 1;
  RankBuffers buffers_ = {};
  std::optional<RankBuffers> wide_ = {};  // of the kept type where that is another one
  std::vector<std::byte> scratch_ = {};
  std::vector<Epoch> epochs_ = {};
};

}  // namespace chorale
