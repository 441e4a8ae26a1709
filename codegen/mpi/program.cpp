// A program over MPI as codegen/mpi_source.cpp prints it, but for its tables: these are an example's, so that
// this compiles and runs as it is (tests/scripts/mpi.cmake).
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "codegen/mpi/tables.h"

using chorale::Pieces;

// Whether messages are so long that those that share a port go one after the other.
bool is_long(long n) {
  return static_cast<double>(n) * sizeof(float) / kPieces > kLong;
}

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// The collective for blocks of n elements, from input to output, with this rank's tensors of the function
// that is applied to sums, if one is. Make it once, run it often.
class Algorithm {
 public:
  Algorithm(MPI_Comm comm, int rank, long n, const float* input, float* output, const void* const* tensors)
      : pieces_{n, kPieces},
        tensors_{tensors, pieces_.slot_begin(kSlices[rank])},
        scratch_(kSizes[rank][2] * pieces_.longest()) {
    const auto address = [&](int buffer, int slot) {
      return buffer == 2 ? scratch_.data() + slot * pieces_.longest()
                         : (buffer == 0 ? const_cast<float*>(input) : output) + pieces_.slot_begin(slot);
    };
    if (is_long(n))
      make(comm, rank, address, kLongSteps, kLongMessages, kLongLocal);
    else
      make(comm, rank, address, kSteps, kMessages, kLocal);
  }
  ~Algorithm() {
    for (auto& step : requests_)
      for (MPI_Request& request : step) MPI_Request_free(&request);
  }
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  void run() {
    for (std::size_t step = 0; step < requests_.size(); ++step) {
      std::vector<MPI_Request>& requests = requests_[step];
      if (!requests.empty()) {
        const int count = static_cast<int>(requests.size());
        require(MPI_Startall(count, requests.data()), "MPI_Startall");
        require(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
      }
      for (const Work& work : work_[step])
        if (work.index < 0)
          do_with(work, [](float value, long) { return value; });
        else
          do_with(work, [&](float sum, long e) { return applied(sum, work.index + e, tensors_); });
    }
  }

 private:
  template <typename Address, typename Messages, typename Local>
  void make(MPI_Comm comm, int rank, const Address& address, int steps, const Messages& messages,
            const Local& local) {
    requests_.resize(steps);
    work_.resize(steps);
    bool only_sends = false;
    // Rows of a rank's step: receives, then sends.
    for (const auto& [who, step, send, peer, tag, buffer, slot, piece] : messages) {
      if (who != rank) continue;
      const int count = static_cast<int>(pieces_.length(piece));
      if (requests_[step].empty()) only_sends = send != 0;
      requests_[step].emplace_back();
      const bool waits = chorale::waits_for_arrival(!only_sends, count * std::int64_t{sizeof(float)});
      const auto send_init = waits ? MPI_Ssend_init : MPI_Send_init;
      if (send)
        require(send_init(address(buffer, slot), count, MPI_FLOAT, peer, tag, comm, &requests_[step].back()),
                "MPI_Send_init");
      else
        require(
            MPI_Recv_init(address(buffer, slot), count, MPI_FLOAT, peer, tag, comm, &requests_[step].back()),
            "MPI_Recv_init");
    }
    for (const auto& [who, step, add, from_buffer, from, to_buffer, to, piece, position] : local)
      if (who == rank)
        work_[step].push_back({add != 0, address(from_buffer, from), address(to_buffer, to),
                               pieces_.length(piece), position < 0 ? -1 : pieces_.slot_begin(position)});
  }

  struct Work {
    bool add;
    const float* from;
    float* to;
    long count;
    long index;  // of the first element where the function is applied; else -1
  };
  template <typename Function>
  static void do_with(const Work& work, Function function) {
    for (long e = 0; e < work.count; ++e)
      work.to[e] = function(work.add ? work.to[e] + work.from[e] : work.from[e], e);
  }

  const Pieces pieces_;
  const Tensors tensors_;
  std::vector<float> scratch_;
  std::vector<std::vector<MPI_Request>> requests_;
  std::vector<std::vector<Work>> work_;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != kRanks) {
    if (rank == 0) std::fprintf(stderr, "needs %d ranks: mpirun -n %d\n", kRanks, kRanks);
    MPI_Finalize();
    return 2;
  }
  const long n = argc > 1 ? std::atol(argv[1]) : 65536;
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 10;
  if (n < 0 || iterations < 1) {
    if (rank == 0)
      std::fprintf(stderr, "usage: %s [elements of a block, 0 or more] [iterations, 1 or more]\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  const Pieces pieces{n, kPieces};
  std::vector<float> input(pieces.slot_begin(kSizes[rank][0])), output(pieces.slot_begin(kSizes[rank][1]));
  const auto put = [&](const chorale::SelfCheck& check, unsigned seed) {
    check.fill(rank, kSizes[rank][0], pieces, seed, input.data());
    std::fill(output.begin(), output.end(), -1e30f);
  };
  long whole = 0;
  for (const auto& sizes : kSizes) whole = std::max<long>(whole, pieces.slot_begin(sizes[0]));
  std::vector<std::vector<char>> tensors;
  std::vector<const void*> addresses;
  for (int k = 0; k < kOperands; ++k)
    tensors.push_back(
        test_tensor(k, whole, pieces.slot_begin(kSlices[rank]), pieces.slot_begin(kSizes[rank][1])));
  for (const std::vector<char>& tensor : tensors) addresses.push_back(tensor.data());
  const chorale::SelfCheck check(kRanks, kPromised, kTerms, kSame);
  double best = 1e30;
  std::vector<std::uint64_t> hashes;
  {
    Algorithm algorithm(MPI_COMM_WORLD, rank, n, input.data(), output.data(), addresses.data());
    put(check, chorale::kRounding);
    algorithm.run();
    hashes = check.hashes(rank, pieces, output);
    put(check, 1);
    for (int i = 0; i < iterations; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      algorithm.run();
      double took = MPI_Wtime() - start;
      MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      best = std::min(best, took);
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, hashes.data(), static_cast<int>(hashes.size()), MPI_UINT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  const long differ = check.disagreements(hashes);
  long wrong = check.wrong(
      rank, pieces, 1, output, [](float a, float b) { return a + b; },
      [](float have, float sum, long index) { return have == expected(sum, index); });
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%s: %ld elements per block, best of %d: %.1f us%s, %ld wrong, %ld slots with ranks that differ%s\n",
        kName, n, iterations, 1e6 * best, is_long(n) ? " with ports serialized" : "", wrong, differ,
        kAgreed ? "" : ", as they may");
  MPI_Finalize();
  return wrong == 0 && (differ == 0 || !kAgreed) ? 0 : 1;
}
