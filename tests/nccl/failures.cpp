// Collectives of four ranks, threads with a device each, while parts of a ring fail: by a file that the
// preload library reads, or with LIBRARY by chorale_nccl_failed, with EMITTED (a file) by its chorale_failed.
// Every result is checked, and every message of what tests/nccl/watch.cpp sees: none may pass between the
// ranks of a link that has failed. Prints "right". argv: the file.
#include <nccl.h>
#include <signal.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>
#if defined EMITTED  // an AllReduce of 'library export --as nccl'
#define CHORALE_NO_MAIN
#include EMITTED
#elif defined LIBRARY
#include <chorale/nccl.h>
#else
#define chorale_allreduce ncclAllReduce
#define chorale_allgather ncclAllGather
#endif

extern "C" void watch_for(int a, int b) __attribute__((weak));

namespace {

constexpr int kWorld = 4;
std::barrier together(kWorld);

void require(bool good, const char* what) {
  if (!good) std::fprintf(stderr, "%s\n", what), std::_Exit(1);
}

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
};

void collectives(const Rank& r, int n) {
  std::vector<int> mine(n), all(n * r.ranks);
  int *a, *b;
  require(cudaMalloc(&a, n * sizeof(int)) == cudaSuccess &&
              cudaMalloc(&b, all.size() * sizeof(int)) == cudaSuccess,
          "cudaMalloc");
  for (int i = 0; i < n; ++i) mine[i] = 1000 * r.rank + i;
  cudaMemcpy(a, mine.data(), n * sizeof(int), cudaMemcpyHostToDevice);
#ifndef EMITTED
  require(chorale_allgather(a, b, n, ncclInt32, r.comm, r.stream) == ncclSuccess, "AllGather");
  require(cudaStreamSynchronize(r.stream) == cudaSuccess, "stream");
  cudaMemcpy(all.data(), b, all.size() * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n * r.ranks; ++i) require(all[i] == 1000 * (i / n) + i % n, "a wrong block");
#endif
  require(chorale_allreduce(a, a, n, ncclInt32, ncclSum, r.comm, r.stream) == ncclSuccess, "AllReduce");
  require(cudaStreamSynchronize(r.stream) == cudaSuccess, "stream");
  cudaMemcpy(mine.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) require(mine[i] == 500 * r.ranks * (r.ranks - 1) + r.ranks * i, "a wrong sum");
  cudaFree(a), cudaFree(b);
}

void rounds(const Rank& r) {
  for (int n = 1; n < 3000; n *= 13) collectives(r, n), collectives(r, n);
}

// All ranks, after what they have enqueued; `file` is what the preload library reads.
void fail(const Rank& world, ncclComm_t comm, [[maybe_unused]] const std::string& file, const char* name,
          int a, int b) {
  together.arrive_and_wait();
  if (world.rank == 0 && watch_for != nullptr) watch_for(a, b);
#if defined EMITTED
  if (std::getenv("CHORALE_FAILED") == nullptr) {
    require(comm == nullptr || chorale_failed(comm, name) == ncclSuccess, "chorale_failed");
    together.arrive_and_wait();
    return;
  }
#endif
#ifdef LIBRARY
  require(comm == nullptr || chorale_nccl_failed(comm, name) == ncclSuccess, "chorale_nccl_failed");
#else
  (void)comm;
  if (world.rank == 0) {
    std::ofstream(file + ".new") << name << "\n";
    std::filesystem::rename(file + ".new", file);
    if (std::getenv("RAISE") != nullptr) raise(SIGUSR1);
  }
#endif
  together.arrive_and_wait();
}

void work(int n, const ncclUniqueId& whole, const ncclUniqueId& some, const std::string& file) {
  cudaSetDevice(n);
  Rank r{n, kWorld, nullptr, nullptr};
  require(ncclCommInitRank(&r.comm, kWorld, whole, n) == ncclSuccess, "ncclCommInitRank");
  require(cudaStreamCreate(&r.stream) == cudaSuccess, "cudaStreamCreate");
  rounds(r);
  const struct {
    const char* name;
    int a, b;
  } links[] = {{"link 1-2", 1, 2}, {"link 0-3", 0, 3}, {"link 0-1", 0, 1}, {"link 2-3", 2, 3}};
  for (const auto& [name, a, b] : links) {
    fail(r, r.comm, file, name, a, b);
    rounds(r);
  }
  fail(r, r.comm, file, "", -1, -1);  // mended
  rounds(r);
  Rank other{n < 2 ? n : n - 1, kWorld - 1, nullptr, r.stream};  // rank 2 is gone
  if (n != 2)
    require(ncclCommInitRank(&other.comm, kWorld - 1, some, other.rank) == ncclSuccess, "ncclCommInitRank");
  fail(r, other.comm, file, "rank 2", -1, -1);
  if (n != 2) rounds(other), ncclCommDestroy(other.comm);
#ifdef EMITTED
  require(chorale_failed(r.comm, "link 7-8") == ncclInvalidArgument, "an unknown failure");
  if (n == 0) std::fprintf(stderr, "%s\n", chorale_last_error());
#else
  fail(r, r.comm, file, "link 7-8", -1, -1);  // nothing is ready for it: NCCL does it
  rounds(r);
#endif
  ncclCommDestroy(r.comm);
  cudaStreamDestroy(r.stream);
}

}  // namespace

int main(int argc, char** argv) {
  ncclUniqueId whole, some;
  ncclGetUniqueId(&whole), ncclGetUniqueId(&some);
  std::vector<std::thread> threads;
  for (int n = 0; n < kWorld; ++n)
    threads.emplace_back([&, n] { work(n, whole, some, argc > 1 ? argv[1] : ""); });
  for (std::thread& thread : threads) thread.join();
  std::puts("right");
  return 0;
}
