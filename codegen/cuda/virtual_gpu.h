// All ranks on one GPU: memory, launches, time. Included by virtual_ranks.cu.
#pragma once

#include <cstdlib>
#include <iterator>
#include <string>

#include "algorithm.h"
#include "gpu_calls.h"
#include "runtime/device/gpu.h"

inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(2);
}

template <typename Memory, typename Combine>
class Device {
 public:
  using Launch = chorale::PeerLaunch<Memory, Combine>;

  Device() { require(cudaStreamCreate(&stream_), "cudaStreamCreate"); }

  template <typename V>
  V* allocate(long count) {
    return ::allocate<V>(count);
  }
  template <typename V>
  void upload(V* to, const V* from, long count) {
    ::upload(to, from, count);
  }
  template <typename V>
  void download(V* to, const V* from, long count) {
    ::download(to, from, count);
  }

  void fit(Options& options) {
    ::fit(options, chorale::peer_kernel<Memory, Combine>, static_cast<int>(std::size(algorithm::kBlockRows)),
          32);
  }

  // finish: divide or round the results of the kernel.
  void launch(const Launch& given, int threads, bool finish) {
    Launch launch = given;
    void* arguments[] = {&launch};
    const unsigned slices = static_cast<unsigned>(launch.shape.slices);
    const dim3 blocks(static_cast<unsigned>(std::size(algorithm::kBlockRows)) * slices),
        last_blocks(static_cast<unsigned>(algorithm::kRanks) * slices), block(static_cast<unsigned>(threads));
    require(cudaLaunchCooperativeKernel(chorale::peer_kernel<Memory, Combine>, blocks, block, arguments, 0,
                                        stream_),
            "cudaLaunchCooperativeKernel");
    if (finish)
      require(cudaLaunchCooperativeKernel(chorale::finish_kernel<Memory, Combine>, last_blocks, block,
                                          arguments, 0, stream_),
              "cudaLaunchCooperativeKernel");
  }
  void wait() { require(cudaStreamSynchronize(stream_), "the kernel"); }

  // Replays a graph `times` times; microseconds of one.
  double replay(const Launch& given, int threads, bool finish, int warm_up, int times) {
    return timed_as_graph(
        stream_, warm_up, times, [&] { launch(given, threads, finish); }, [] {});
  }
  double copy(void* to, const void* from, std::size_t bytes, int times) {
    const auto once = [&] {
      require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
    };
    return timed(stream_, 3, times, once, [] {});
  }
  std::string name() {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    return properties.name;
  }

 private:
  cudaStream_t stream_ = nullptr;
};
