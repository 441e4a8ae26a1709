// Calls of the CUDA runtime that the programs for GPUs share.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "options.h"

// Prints the error and ends the program, in all its processes. Each program has its own.
[[noreturn]] void fail(const char* what, const char* why);

inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

template <typename V>
V* allocate(long count) {
  void* memory = nullptr;
  const std::size_t bytes = sizeof(V) * std::max(count, 1l);
  require(cudaMalloc(&memory, bytes), "cudaMalloc");
  require(cudaMemset(memory, 0, bytes), "cudaMemset");
  return static_cast<V*>(memory);
}
template <typename V>
void upload(V* to, const V* from, long count) {
  if (count > 0) require(cudaMemcpy(to, from, sizeof(V) * count, cudaMemcpyHostToDevice), "cudaMemcpy");
}
template <typename V>
void download(V* to, const V* from, long count) {
  if (count > 0) require(cudaMemcpy(to, from, sizeof(V) * count, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

// Slices and threads of a kernel of `blocks` blocks per slice such that all can be resident, which is
// necessary since they wait for each other; at most `slices` unless the options have more.
template <typename Kernel>
void fit(Options& options, Kernel kernel, int blocks, int slices) {
  int device = 0, processors = 0, resident = 0;
  require(cudaGetDevice(&device), "cudaGetDevice");
  require(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
  if (options.threads == 0) options.threads = 512;
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, options.threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const int most = processors * resident / blocks;
  if (options.slices == 0) options.slices = std::max(1, std::min(most, slices));
  if (options.slices <= most) return;
  char why[100];
  std::snprintf(why, sizeof why, "%d of %d blocks cannot all be resident: use -s %d", options.slices, blocks,
                most);
  fail("slices", why);
}

// Microseconds of one launch, after a warm-up; between() is called between the two.
template <typename Work, typename Between>
double timed(cudaStream_t stream, int warm_up, int times, Work work, Between between) {
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start), "cudaEventCreate");
  require(cudaEventCreate(&stop), "cudaEventCreate");
  for (int i = 0; i < warm_up; ++i) work();
  between();
  require(cudaEventRecord(start, stream), "cudaEventRecord");
  for (int i = 0; i < times; ++i) work();
  require(cudaEventRecord(stop, stream), "cudaEventRecord");
  require(cudaEventSynchronize(stop), "the kernel");
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return milliseconds * 1e3 / times;
}

// The same for the work that launch() enqueues in the stream, as a graph that is replayed.
template <typename Launch, typename Between>
double timed_as_graph(cudaStream_t stream, int warm_up, int times, Launch launch, Between between) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  launch();
  require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  const double us = timed(
      stream, warm_up, times, [&] { require(cudaGraphLaunch(executable, stream), "cudaGraphLaunch"); },
      between);
  require(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return us;
}
