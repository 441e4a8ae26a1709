// Slices along a dimension other than the first: a block is not contiguous in the tensor, so it is packed
// just before it is sent, and unpacked as it arrives. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tensor/exchange/exchange.h"
#include "tensor/exchange/overlap.h"
#include "tensor/exchange/parts.h"

namespace chorale {

// A tensor in blocks, slice by slice along a dimension: the positions of blocks' elements in the tensor.
class SlicedBlocks {
 public:
  SlicedBlocks(const Sides& sides, int dim, int ranks) {
    for (int r = 0; r < ranks; ++r) slices_.emplace_back(sides, dim, ranks, r);
    for (const Share& slice : slices_) begins_.push_back(begins_.back() + slice.elements());
  }

  std::int64_t elements() const { return begins_.back(); }

  // function(in the blocks, slice, within the slice, how many) of these elements of the blocks, slice by
  // slice.
  template <typename Function>
  void for_each_slice(std::int64_t begin, std::int64_t count, Function function) const {
    const std::int64_t end = begin + count;
    for (std::size_t r = 0; begin < end; ++r) {
      const std::int64_t next = std::min(end, begins_[r + 1]);
      if (begin >= next) continue;
      function(begin, slices_[r], begin - begins_[r], next - begin);
      begin = next;
    }
  }
  // function(in the blocks, in the tensor, how many) of each run of these elements of the blocks that is
  // contiguous in both.
  template <typename Function>
  void for_each_run(std::int64_t begin, std::int64_t count, Function function) const {
    for_each_slice(begin, count,
                   [&](std::int64_t at, const Share& slice, std::int64_t within, std::int64_t n) {
                     for (std::int64_t most = 0; n > 0; at += most, within += most, n -= most) {
                       most = std::min(n, slice.run() - within % slice.run());
                       function(at, slice.index(within), most);
                     }
                   });
  }
  ElementParts in_tensor(const ElementParts& parts) const {
    ElementParts result;
    for (const auto& [begin, count] : parts)
      for_each_run(begin, count,
                   [&](std::int64_t, std::int64_t at, std::int64_t n) { result.emplace_back(at, n); });
    return result;
  }

 private:
  std::vector<Share> slices_ = {};
  Blocks begins_ = {0};
};

// For a communication of such blocks: they are filled when it needs them, once `next` has made their
// elements.
template <typename Device, typename T, typename Next = NoProgress>
class Packing {
 public:
  static constexpr bool kBeside = Next::kBeside;
  Packing(Device& device, const SlicedBlocks& slices, T* blocks, const T* tensor, Next next = {})
      : device_(device), slices_(slices), blocks_(blocks), tensor_(tensor), next_(next) {}
  void needs(std::int64_t begin, std::int64_t count) {
    if (!filled_.insert(begin).second) return;  // pieces are the same in all steps
    if constexpr (kBeside)
      slices_.for_each_run(begin, count,
                           [&](std::int64_t, std::int64_t from, std::int64_t n) { next_.needs(from, n); });
    device_.fill(slices_, blocks_, tensor_, begin, count);
  }
  void has(std::int64_t, std::int64_t) {}

 private:
  Device& device_;
  const SlicedBlocks& slices_;
  T* const blocks_;
  const T* const tensor_;
  Next next_;
  std::set<std::int64_t> filled_ = {};
};
// Blocks are also unpacked as they are complete, which is reported to `next`; their operands are laid out as
// the rank's slice.
template <typename Device, typename T, typename Next = NoProgress>
class Unpacking {
 public:
  static constexpr bool kBeside = Next::kBeside;
  Unpacking(Device& device, const SlicedBlocks& slices, T* tensor, const T* blocks, Next next = {})
      : device_(device), slices_(slices), tensor_(tensor), blocks_(blocks), next_(next) {}
  void needs(std::int64_t begin, std::int64_t count) { next_.needs(begin, count); }
  void has(std::int64_t begin, std::int64_t count) {
    device_.empty(slices_, tensor_, blocks_, begin, count);
    if constexpr (kBeside)
      slices_.for_each_run(begin, count,
                           [&](std::int64_t, std::int64_t to, std::int64_t n) { next_.has(to, n); });
  }

 private:
  Device& device_;
  const SlicedBlocks& slices_;
  T* const tensor_;
  const T* const blocks_;
  Next next_;
};

}  // namespace chorale
