// The worker of a GPU (tensor/exchange/overlap.h): events in place of a thread. C++17, and is copied into
// emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tensor/exchange/overlap.h"

namespace chorale {

// Tiles are put into the stream of products as soon as their operands are in a stream: the host goes through
// all of it once, in the order in which a worker of a host would.
template <typename Device>
class GpuTileWorker {
 public:
  GpuTileWorker(Device& device, TileGrid operand, TileGrid result, std::vector<TileWork> work,
                std::function<void(int)> make, bool in_order)
      : device_(device),
        tiles_(std::move(operand), std::move(result), std::move(work), in_order),
        make_(std::move(make)),
        place_(static_cast<std::size_t>(tiles_.tiles())) {}
  GpuTileWorker(const GpuTileWorker&) = delete;
  GpuTileWorker& operator=(const GpuTileWorker&) = delete;

  void start(const ElementParts& needed = {}) {
    device_.products_follow(kFollows);
    tiles_.start(needed);
    make();
  }
  void finish() {
    if (!tiles_.all_made()) throw std::logic_error("a tile waits for what does not come");
    device_.products_reached(kEnds);
    device_.wait_for(kEnds);
  }

  Arrivals<GpuTileWorker> arrivals() { return {*this}; }
  Demands<GpuTileWorker> demands() { return {*this}; }

  void arrived(std::int64_t begin, std::int64_t count) {
    tiles_.arrived(begin, count);
    if (!tiles_.has_next()) return;
    device_.products_follow(kFollows);
    make();
  }
  void wait_for(std::int64_t begin, std::int64_t count) {
    std::size_t last = 0;
    tiles_.for_each_tile(begin, count, [&](int tile) {
      if (!tiles_.is_made(tile)) throw std::logic_error("a tile is needed before its operands");
      last = std::max(last, place_[static_cast<std::size_t>(tile)]);
    });
    if (last <= waited_) return;  // those before it in the stream are made, too
    device_.wait_for(kEnds + static_cast<int>(last));
    waited_ = last;
  }

 private:
  // Events: one that products wait for; their end; those of tiles follow. Each is always recorded in the same
  // stream.
  static constexpr int kFollows = 0, kEnds = 1;

  void make() {
    while (tiles_.has_next()) {
      const int k = tiles_.take();
      device_.beside([&] { make_(k); });
      if (!tiles_.made(k)) continue;
      place_[static_cast<std::size_t>(tiles_.work(k).makes)] = ++tiles_made_;
      device_.products_reached(kEnds + static_cast<int>(tiles_made_));
    }
  }

  Device& device_;
  TileQueue tiles_;
  const std::function<void(int)> make_;
  std::vector<std::size_t> place_;  // of tiles in the stream, from 1
  std::size_t tiles_made_ = 0, waited_ = 0;
};

}  // namespace chorale
