// A program over NCCL that knows nothing of us: a thread and a device a rank, every collective, in place and
// not, in groups, with an own operation, captured into a graph, on two communicators. Prints checksums that
// must not change.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CUDA(call)                                                                                   \
  do {                                                                                               \
    const cudaError_t code = call;                                                                   \
    if (code != cudaSuccess) std::printf("%s: %s\n", #call, cudaGetErrorString(code)), std::exit(1); \
  } while (false)
#define NCCL(call)                                                                                   \
  do {                                                                                               \
    const ncclResult_t code = call;                                                                  \
    if (code != ncclSuccess) std::printf("%s: %s\n", #call, ncclGetErrorString(code)), std::exit(1); \
  } while (false)

namespace {

struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  unsigned long long sum;

  // Small integers, so that sums are the same in every order.
  void fill(int* device, int n, int salt) const {
    std::vector<int> host(n);
    for (int i = 0; i < n; ++i) host[i] = (rank * 7919 + i * 31 + salt) % 1000;
    CUDA(cudaMemcpy(device, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  }
  void add(const int* device, int n) {
    CUDA(cudaStreamSynchronize(stream));
    std::vector<int> host(n);
    CUDA(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int value : host) sum = (sum * 31 + static_cast<unsigned>(value) + 1) % 1000000007ull;
  }
};

void collectives(Rank& r, int n) {
  int *a, *b;
  CUDA(cudaMalloc(&a, r.ranks * n * sizeof(int)));
  CUDA(cudaMalloc(&b, r.ranks * n * sizeof(int)));
  const int all = r.ranks * n;
  const auto fresh = [&](int salt) { r.fill(a, all, salt), r.fill(b, all, salt + 1); };
  fresh(1);
  NCCL(ncclAllReduce(a, b, n, ncclInt32, ncclSum, r.comm, r.stream));
  r.add(b, n);
  NCCL(ncclAllReduce(b, b, n, ncclInt32, ncclMax, r.comm, r.stream));
  r.add(b, n);
  fresh(2);
  NCCL(ncclAllGather(a, b, n, ncclInt32, r.comm, r.stream));
  r.add(b, all);
  fresh(3);
  NCCL(ncclAllGather(a + r.rank * n, a, n, ncclInt32, r.comm, r.stream));
  r.add(a, all);
  fresh(4);
  NCCL(ncclReduceScatter(a, b, n, ncclInt32, ncclSum, r.comm, r.stream));
  r.add(b, n);
  fresh(5);
  NCCL(ncclReduceScatter(a, a + r.rank * n, n, ncclInt32, ncclMin, r.comm, r.stream));
  r.add(a + r.rank * n, n);
  for (int root = 0; root < r.ranks; ++root) {
    fresh(6);
    NCCL(ncclBroadcast(a, b, n, ncclInt32, root, r.comm, r.stream));
    r.add(b, n);
    NCCL(ncclBcast(a, n, ncclInt32, root, r.comm, r.stream));
    r.add(a, n);
    fresh(7);
    NCCL(ncclReduce(a, b, n, ncclInt32, ncclSum, root, r.comm, r.stream));
    r.add(b, n);
    NCCL(ncclReduce(a, a, n, ncclInt32, ncclProd, root, r.comm, r.stream));
    r.add(a, r.rank == root ? n : 0);
  }
  fresh(8);
  NCCL(ncclAlltoAll(a, b, n, ncclInt32, r.comm, r.stream));
  r.add(b, all);
  // Two at once, and a group in a group.
  fresh(9);
  NCCL(ncclGroupStart());
  NCCL(ncclAllReduce(a, a, n, ncclInt32, ncclSum, r.comm, r.stream));
  NCCL(ncclGroupStart());
  NCCL(ncclAllReduce(b, b, n, ncclInt32, ncclSum, r.comm, r.stream));
  NCCL(ncclGroupEnd());
  NCCL(ncclGroupEnd());
  r.add(a, n);
  r.add(b, n);
  CUDA(cudaFree(a));
  CUDA(cudaFree(b));
}

void own_operation(Rank& r) {
  float half = 0.5f, host[3] = {1.0f * r.rank, 2, 4};
  float* a;
  CUDA(cudaMalloc(&a, sizeof host));
  CUDA(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
  ncclRedOp_t op;
  NCCL(ncclRedOpCreatePreMulSum(&op, &half, ncclFloat32, ncclScalarHostImmediate, r.comm));
  NCCL(ncclAllReduce(a, a, 3, ncclFloat32, op, r.comm, r.stream));
  NCCL(ncclRedOpDestroy(op, r.comm));
  r.add(reinterpret_cast<int*>(a), 3);
  CUDA(cudaFree(a));
}

void captured(Rank& r) {
  const int n = 1013;
  int* a;
  CUDA(cudaMalloc(&a, n * sizeof(int)));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeGlobal));
  NCCL(ncclAllReduce(a, a, n, ncclInt32, ncclSum, r.comm, r.stream));
  CUDA(cudaStreamEndCapture(r.stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int replay = 0; replay < 3; ++replay) {
    r.fill(a, n, 50 + replay);
    CUDA(cudaGraphLaunch(exec, r.stream));
    r.add(a, n);
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaFree(a));
}

}  // namespace

int main() {
  const int ranks = 4;
  ncclUniqueId whole, halves[2];
  NCCL(ncclGetUniqueId(&whole));
  for (ncclUniqueId& half : halves) NCCL(ncclGetUniqueId(&half));
  std::vector<unsigned long long> sums(ranks);
  std::vector<std::thread> threads;
  for (int n = 0; n < ranks; ++n)
    threads.emplace_back([&, n] {
      CUDA(cudaSetDevice(n));
      Rank r{n, ranks, nullptr, nullptr, 0};
      NCCL(ncclCommInitRank(&r.comm, ranks, whole, n));
      CUDA(cudaStreamCreate(&r.stream));
      for (int size = 0; size <= 33; size = 2 * size + 1) collectives(r, size);
      for (int size = 1; size < 100; ++size) { /* more sizes than are kept */
        int* a;
        CUDA(cudaMalloc(&a, size * sizeof(int)));
        r.fill(a, size, 3);
        NCCL(ncclAllReduce(a, a, size, ncclInt32, ncclSum, r.comm, r.stream));
        r.add(a, size);
        CUDA(cudaFree(a));
      }
      own_operation(r);
      captured(r);
      Rank half{n / 2, 2, nullptr, r.stream, r.sum};
      NCCL(ncclCommInitRank(&half.comm, 2, halves[n % 2], n / 2));
      collectives(half, 5);
      sums[n] = half.sum;
      CUDA(cudaStreamSynchronize(r.stream));
      NCCL(ncclCommDestroy(half.comm));
      NCCL(ncclCommDestroy(r.comm));
      CUDA(cudaStreamDestroy(r.stream));
    });
  for (std::thread& thread : threads) thread.join();
  for (int n = 0; n < ranks; ++n) std::printf("rank %d: checksum %llu\n", n, sums[n]);
  return 0;
}
