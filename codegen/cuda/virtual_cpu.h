// All ranks on threads of a CPU, as virtual_gpu.h has them on a GPU: the same kernel, compiled as plain C++.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "algorithm.h"
#include "options.h"
#include "runtime/device/cpu.h"
#include "runtime/device/kernel.h"

template <typename Memory, typename Combine>
class Device {
 public:
  using Launch = chorale::PeerLaunch<Memory, Combine>;

  template <typename V>
  V* allocate(long count) {
    auto memory = std::make_unique<std::vector<char>>(sizeof(V) * std::max(count, 1l) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    V* const result = reinterpret_cast<V*>(memory->data() + (64 - address % 64) % 64);
    memory_.push_back(std::move(memory));
    return result;
  }
  template <typename V>
  void upload(V* to, const V* from, long count) {
    std::copy_n(from, count, to);
  }
  template <typename V>
  void download(V* to, const V* from, long count) {
    std::copy_n(from, count, to);
  }
  void fit(Options& options) {
    if (options.threads == 0) options.threads = 1;
    if (options.slices == 0) options.slices = 1;
  }

  void launch(const Launch& launch, int threads, bool finish) {
    const int slices = launch.shape.slices;
    on_teams(static_cast<int>(std::size(algorithm::kBlockRows)) * slices, threads,
             [&](int b, chorale::CpuTeam& team) { Kernel(launch, b / slices, b % slices, team).run(); });
    if (finish)
      on_teams(algorithm::kRanks * slices, threads, [&](int b, chorale::CpuTeam& team) {
        Kernel(launch, 0, b % slices, team).finish(b / slices);
      });
  }
  void wait() {}
  double replay(const Launch& given, int threads, bool finish, int warm_up, int times) {
    for (int i = 0; i < warm_up; ++i) launch(given, threads, finish);
    return timed(times, [&] { launch(given, threads, finish); });
  }
  double copy(void* to, const void* from, std::size_t bytes, int times) {
    return timed(times, [&] { std::memcpy(to, from, bytes); });
  }
  std::string name() { return "threads of the CPU"; }

 private:
  using Kernel = chorale::PeerKernel<Memory, Combine, chorale::CpuTeam>;

  template <typename Work>
  static void on_teams(int teams, int threads, Work work) {
    std::vector<std::unique_ptr<chorale::CpuTeam::Shared>> shared;
    std::vector<std::thread> all;
    for (int b = 0; b < teams; ++b) {
      shared.push_back(std::make_unique<chorale::CpuTeam::Shared>(threads));
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&work, b, t, threads, mine = shared.back().get()] {
          chorale::CpuTeam team(t, threads, *mine);
          work(b, team);
        });
    }
    for (std::thread& thread : all) thread.join();
  }
  template <typename Work>
  static double timed(int times, Work work) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
           times;
  }

  std::vector<std::unique_ptr<std::vector<char>>> memory_ = {};
};
