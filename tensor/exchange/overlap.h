// Computation beside communication: a result that is made tile by tile, by hosts on a thread of its own. If
// its operands come from other ranks, tiles are made as those arrive; if it goes to other ranks, tiles are
// made in the order in which the steps of that communication first need them, and a message, or a sum, waits
// for the tiles that have its elements. C++17, and is copied into emitted programs.
//
// Communications report the progress of elements of their blocks (Exchange::run, Progress). The rank looks
// after messages when a tile is made: it sleeps between two, so that the processor is the tiles'.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/exchange/exchange.h"
#include "tensor/exchange/parts.h"

namespace chorale {

// Work on a thread of its own, until the end of its scope. Nothing of it may throw.
class Beside {
 public:
  template <typename Work>
  explicit Beside(Work work) : thread_(std::move(work)) {}
  ~Beside() { thread_.join(); }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  std::thread thread_;
};

// First elements, and how many, one after the other.
using ElementParts = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The beginnings of the tiles that a length is cut into, each of at most `most`, and the end of the last. No
// tile is empty.
inline std::vector<std::int64_t> cuts(std::int64_t length, std::int64_t most) {
  std::vector<std::int64_t> result = {0};
  while (result.back() < length) result.push_back(std::min(length, result.back() + most));
  return result;
}
// Cuts into one slice per rank, without empty ones.
inline std::vector<std::int64_t> slice_cuts(std::int64_t length, int ranks) {
  std::vector<std::int64_t> result = {0};
  for (int r = 1; r <= ranks; ++r)
    if (part_begin(length, ranks, r) > result.back()) result.push_back(part_begin(length, ranks, r));
  return result;
}
// The union of two lists of cuts.
inline std::vector<std::int64_t> cuts_of_both(std::vector<std::int64_t> a,
                                              const std::vector<std::int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

// A tensor as a row-major matrix, cut into tiles by rows and by columns. Tiles are counted in row-major
// order.
struct TileGrid {
  std::vector<std::int64_t> rows = {0}, columns = {0};  // where tiles begin, and where the last one ends

  int down() const { return static_cast<int>(rows.size()) - 1; }
  int across() const { return static_cast<int>(columns.size()) - 1; }
  int tiles() const { return down() * across(); }
  std::int64_t elements(int tile) const {
    const int i = tile / across(), j = tile % across();
    return (rows[i + 1] - rows[i]) * (columns[j + 1] - columns[j]);
  }
  // Tiles that have some of these elements, with how many; a tile may come more than once.
  template <typename Function>
  void for_each(std::int64_t begin, std::int64_t count, Function function) const {
    const std::int64_t width = columns.back(), end = begin + count;
    if (count <= 0 || width == 0) return;
    const auto tile_at = [](const std::vector<std::int64_t>& from, std::int64_t place) {
      return static_cast<int>(std::upper_bound(from.begin(), from.end(), place) - from.begin()) - 1;
    };
    for (int i = tile_at(rows, begin / width); begin < end; ++i)
      while (begin < std::min(end, rows[i + 1] * width)) {
        if (across() == 1) {  // tiles lie together
          const std::int64_t next = std::min(end, rows[i + 1] * width);
          function(i, next - begin);
          begin = next;
          continue;
        }
        const std::int64_t row = begin / width * width, last = std::min(end, row + width);
        for (int j = tile_at(columns, begin - row); begin < last; ++j) {
          const std::int64_t next = std::min(last, row + columns[j + 1]);
          function(i * across() + j, next - begin);
          begin = next;
        }
      }
  }
};

// One piece of work: the tile of an operand that it waits for (-1: none), and the tile of the result that it
// makes, or helps to make.
struct TileWork {
  int waits_for = -1, makes = 0;
};

// The order of tasks, as the data that they wait for arrive.
class TileQueue {
 public:
  TileQueue(TileGrid operand, TileGrid result, std::vector<TileWork> work, bool in_order)
      : operand_(std::move(operand)),
        result_(std::move(result)),
        work_(std::move(work)),
        in_order_(in_order),
        missing_(static_cast<std::size_t>(operand_.tiles())),
        waiting_(missing_.size()),
        unmade_(static_cast<std::size_t>(result_.tiles()), 0),
        makers_(unmade_.size()),
        queued_(work_.size(), 0) {
    for (int t = 0; t < operand_.tiles(); ++t) missing_[t] = operand_.elements(t);
    for (int k = 0; k < static_cast<int>(work_.size()); ++k) {
      if (work_[k].waits_for >= 0) waiting_[work_[k].waits_for].push_back(k);
      ++unmade_[work_[k].makes];
      makers_[work_[k].makes].push_back(k);
    }
  }

  // Tasks that wait for nothing can be done, in the order of these parts of the result; the others when
  // arrived() reports the data that they wait for.
  void start(const ElementParts& needed) {
    for (const auto& [begin, count] : needed)
      for_each_tile(begin, count, [&](int tile) {
        for (const int k : makers_[tile]) queue(k);
      });
    for (int k = 0; k < static_cast<int>(work_.size()); ++k) queue(k);
  }
  void arrived(std::int64_t from, std::int64_t count) {
    operand_.for_each(from, count, [&](int tile, std::int64_t elements) {
      if ((missing_[tile] -= elements) == 0)
        for (const int k : waiting_[tile]) queue(k);
    });
  }

  bool has_next() const {
    return in_order_ ? taken_ < work_.size() && queued_[taken_] != 0 : !ready_.empty();
  }
  // Requires has_next().
  int take() {
    int k = static_cast<int>(taken_++);
    if (!in_order_) {
      k = ready_.front();
      ready_.pop_front();
    }
    return k;
  }
  bool all_taken() const { return taken_ == work_.size(); }

  // Whether the tile is complete with it.
  bool made(int k) {
    ++made_;
    return --unmade_[work_[k].makes] == 0;
  }
  bool is_made(int tile) const { return unmade_[tile] == 0; }
  bool all_made() const { return made_ == work_.size(); }

  const TileWork& work(int k) const { return work_[k]; }
  int tiles() const { return result_.tiles(); }
  // Of the result; each may come more than once.
  template <typename Function>
  void for_each_tile(std::int64_t begin, std::int64_t count, Function function) const {
    result_.for_each(begin, count, [&](int tile, std::int64_t) { function(tile); });
  }

 private:
  void queue(int k) {
    if (queued_[k] != 0 || (work_[k].waits_for >= 0 && missing_[work_[k].waits_for] > 0)) return;
    queued_[k] = 1;
    if (!in_order_) ready_.push_back(k);
  }

  const TileGrid operand_, result_;
  const std::vector<TileWork> work_;
  const bool in_order_;
  std::vector<std::int64_t> missing_;      // by tile of the operand: elements that have not arrived
  std::vector<std::vector<int>> waiting_;  // and the work that waits for it
  std::vector<int> unmade_;                // by tile of the result: work that is not done
  std::vector<std::vector<int>> makers_;   // and all of it
  std::vector<char> queued_;               // by work
  std::size_t taken_ = 0, made_ = 0;
  std::deque<int> ready_ = {};
};

// The calls by which a communication reports to a worker and waits for it.
template <typename Worker>
struct Arrivals {
  static constexpr bool kBeside = true;
  Worker& worker;
  bool is_made(std::int64_t, std::int64_t) { return true; }
  void needs(std::int64_t, std::int64_t) {}
  void has(std::int64_t begin, std::int64_t count) { worker.arrived(begin, count); }
};
template <typename Worker>
struct Demands {
  static constexpr bool kBeside = true;
  Worker& worker;
  bool is_made(std::int64_t begin, std::int64_t count) { return worker.is_made(begin, count); }
  void needs(std::int64_t begin, std::int64_t count) { worker.wait_for(begin, count); }
  void has(std::int64_t, std::int64_t) {}
};

// The worker of hosts.
class TileWorker {
 public:
  // make(k) does work[k], each once; `in_order`: in that order.
  TileWorker(TileGrid operand, TileGrid result, std::vector<TileWork> work, std::function<void(int)> make,
             bool in_order = false)
      : tiles_(std::move(operand), std::move(result), std::move(work), in_order), make_(std::move(make)) {}
  ~TileWorker() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  TileWorker(const TileWorker&) = delete;
  TileWorker& operator=(const TileWorker&) = delete;

  // Begins, with the tasks that these parts of the result need.
  void start(const ElementParts& needed = {}) {
    tiles_.start(needed);
    thread_ = std::thread([this] { run(); });
  }
  // Waits until all is made.
  void finish() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return tiles_.all_made(); });
  }

  Arrivals<TileWorker> arrivals() { return {*this}; }
  Demands<TileWorker> demands() { return {*this}; }

  // Elements of the operand.
  void arrived(std::int64_t from, std::int64_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tiles_.arrived(from, count);
    changed_.notify_all();
  }
  // Elements of the result.
  bool is_made(std::int64_t from, std::int64_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bool all = true;
    tiles_.for_each_tile(from, count, [&](int tile) { all = all && tiles_.is_made(tile); });
    return all;
  }
  void wait_for(std::int64_t from, std::int64_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    tiles_.for_each_tile(from, count,
                         [&](int tile) { changed_.wait(lock, [&] { return tiles_.is_made(tile); }); });
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!tiles_.all_taken()) {
      changed_.wait(lock, [&] { return ended_ || tiles_.has_next(); });
      if (ended_) return;
      const int k = tiles_.take();
      lock.unlock();
      make_(k);
      lock.lock();
      tiles_.made(k);
      changed_.notify_all();
    }
  }

  TileQueue tiles_;
  const std::function<void(int)> make_;
  std::mutex mutex_ = {};
  std::condition_variable changed_ = {};
  bool ended_ = false;
  std::thread thread_ = {};
};

// Rows per tile, for `wanted` tiles; 0: the usual number.
inline std::int64_t rows_of_tile(std::int64_t rows, int wanted) {
  if (wanted <= 0) wanted = kUsualPieces;
  return std::max<std::int64_t>(1, (rows + wanted - 1) / wanted);
}

// Rows of a result, each made from one row of an operand: make(begin, end). Tiles are cut at `also`, too.
// operand_row: elements of a row that arrive; 0 where it is there.
template <typename Device>
typename Device::Worker row_worker(Device& device, std::int64_t rows, std::int64_t operand_row,
                                   std::int64_t result_row,
                                   const std::function<void(std::int64_t, std::int64_t)>& make,
                                   const std::vector<std::int64_t>& also = {0}, int pieces = 0) {
  const std::vector<std::int64_t> from = cuts_of_both(cuts(rows, rows_of_tile(rows, pieces)), also);
  std::vector<TileWork> work(from.size() - 1);
  for (int k = 0; k < static_cast<int>(work.size()); ++k) work[k] = {k, k};
  return device.worker({from, {0, operand_row}}, {from, {0, result_row}}, work,
                       [=](int k) { make(from[k], from[k + 1]); });
}

// The cuts of the rows of a tensor that is moved as one block per rank, each block in `tiles` tiles
// (Exchange).
inline std::vector<std::int64_t> tile_cuts(std::int64_t rows, int ranks, int tiles) {
  std::vector<std::int64_t> result = {0};
  for (int k = 1; k <= ranks * tiles; ++k)
    result.push_back(rows / ranks * (k / tiles) + part_begin(rows / ranks, tiles, k % tiles));
  return result;
}

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
  bool is_made(std::int64_t begin, std::int64_t count) {
    bool all = true;
    if constexpr (kBeside)
      if (filled_.count(begin) == 0)
        slices_.for_each_run(begin, count, [&](std::int64_t, std::int64_t from, std::int64_t n) {
          all = all && next_.is_made(from, n);
        });
    return all;
  }
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
  bool is_made(std::int64_t begin, std::int64_t count) { return next_.is_made(begin, count); }
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
