// A program over MPI as codegen/mpi_source.cpp prints it, but for its tables: these are an example's, so that this
// compiles and runs as it is (tests/scripts/mpi.cmake).
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "codegen/mpi/tables.h"

// Where piece 0 .. kPieces of a block of n elements begins; the longer pieces come first.
long piece_begin(long n, int piece) {
  return n / kPieces * piece + std::min<long>(piece, n % kPieces);
}
long piece_length(long n, int piece) {
  return piece_begin(n, piece + 1) - piece_begin(n, piece);
}
long slot_begin(long n, int slot) {
  return slot / kPieces * n + piece_begin(n, slot % kPieces);
}

// Are messages so long that those that share a port go one after the other?
bool is_long(long n) {
  return static_cast<double>(n) * sizeof(float) / kPieces > kLong;
}

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

constexpr std::size_t kArrives = 1 << 14;  // bytes; shorter messages are there before the word that they are

// The collective for blocks of n elements, from input to output, with this rank's tensors of the function that is
// applied to sums, if one is. Make it once, run it often.
class Algorithm {
 public:
  Algorithm(MPI_Comm comm, int rank, long n, const float* input, float* output, const void* const* tensors)
      : tensors_{tensors, slot_begin(n, kSlices[rank])}, scratch_(kSizes[rank][2] * piece_length(n, 0)) {
    const auto address = [&](int buffer, int slot) {
      return buffer == 2 ? scratch_.data() + slot * piece_length(n, 0)
                         : (buffer == 0 ? const_cast<float*>(input) : output) + slot_begin(n, slot);
    };
    if (is_long(n))
      make(comm, rank, n, address, kLongSteps, kLongMessages, kLongLocal);
    else
      make(comm, rank, n, address, kSteps, kMessages, kLocal);
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
  void make(MPI_Comm comm, int rank, long n, const Address& address, int steps, const Messages& messages,
            const Local& local) {
    requests_.resize(steps);
    work_.resize(steps);
    bool only_sends = false;
    // Rows of a rank's step: receives, then sends.
    for (const auto& [who, step, send, peer, tag, buffer, slot, piece] : messages) {
      if (who != rank) continue;
      const int count = static_cast<int>(piece_length(n, piece));
      if (requests_[step].empty()) only_sends = send != 0;
      requests_[step].emplace_back();
      // Who receives nothing waits until what it sends has arrived: else its next step's messages share the
      // way with these.
      const auto send_init = only_sends && count * sizeof(float) >= kArrives ? MPI_Ssend_init : MPI_Send_init;
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
                               piece_length(n, piece), position < 0 ? -1 : slot_begin(n, position)});
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

  const Tensors tensors_;
  std::vector<float> scratch_;
  std::vector<std::vector<MPI_Request>> requests_;
  std::vector<std::vector<Work>> work_;
};

// A number for each element. Ranks that are to have the same data do: see kSame.
unsigned long element_number(int rank, int slot, long e) {
  for (const auto& [who, at, as_rank, as_slot] : kSame)
    if (who == rank && at == slot) return element_number(as_rank, as_slot, e);
  unsigned long x = 0x9e3779b97f4a7c15ul * (rank * 100003ul + slot + 1) + e * 0xbf58476d1ce4e5b9ul;
  x ^= x >> 29;
  return x;
}
// Small integers, so that sums are exact in any order.
float element(int rank, int slot, long e) {
  return static_cast<float>(element_number(rank, slot, e) % 2001) - 1000;
}
// Of mixed magnitude, so that sums are rounded, and have equal bits only if they are made in one order.
float rounding_element(int rank, int slot, long e) {
  const unsigned long x = element_number(rank, slot, e) * 0x94d049bb133111ebul;
  const float magnitude =
      std::ldexp(1 + static_cast<float>(x >> 41) * 0x1p-23f, static_cast<int>(x >> 8 & 15) - 8);
  return (x & 1) != 0 ? -magnitude : magnitude;
}

void fill(int rank, long n, float (*value)(int, int, long), std::vector<float>& input) {
  for (int slot = 0; slot < kSizes[rank][0]; ++slot)
    for (long e = 0; e < piece_length(n, slot % kPieces); ++e)
      input[slot_begin(n, slot) + e] = value(rank, slot, e);
}

// How many slots of all outputs have other bits than the first that is promised the same sums. Called by all ranks.
long disagreements(MPI_Comm comm, int rank, long n, const std::vector<float>& output) {
  std::map<std::vector<int>, std::size_t> first;  // by what is added up
  std::vector<unsigned long> hashes;              // of each promised slot
  std::vector<std::size_t> like;
  for (std::size_t p = 0; p < std::size(kPromised);) {
    const int who = kPromised[p][0], slot = kPromised[p][1];
    std::vector<int> sum;
    for (; p < std::size(kPromised) && kPromised[p][0] == who && kPromised[p][1] == slot; ++p)
      sum.insert(sum.end(), {kPromised[p][2], kPromised[p][3]});
    like.push_back(first.emplace(std::move(sum), like.size()).first->second);
    unsigned long hash = 0;
    for (long e = 0; who == rank && e < piece_length(n, slot % kPieces); ++e) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &output[slot_begin(n, slot) + e], sizeof bits);
      hash = (hash ^ bits) * 0x9e3779b97f4a7c15ul;
      hash ^= hash >> 29;
    }
    hashes.push_back(hash);
  }
  MPI_Allreduce(MPI_IN_PLACE, hashes.data(), static_cast<int>(hashes.size()), MPI_UNSIGNED_LONG, MPI_BOR,
                comm);
  long differ = 0;
  for (std::size_t k = 0; k < hashes.size(); ++k) differ += hashes[k] != hashes[like[k]];
  return differ;
}

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
  std::vector<float> input(slot_begin(n, kSizes[rank][0])), output(slot_begin(n, kSizes[rank][1]), -1e30f);
  long whole = 0;
  for (const auto& sizes : kSizes) whole = std::max(whole, slot_begin(n, sizes[0]));
  std::vector<std::vector<char>> tensors;
  std::vector<const void*> addresses;
  for (int k = 0; k < kOperands; ++k)
    tensors.push_back(test_tensor(k, whole, slot_begin(n, kSlices[rank]), slot_begin(n, kSizes[rank][1])));
  for (const std::vector<char>& tensor : tensors) addresses.push_back(tensor.data());
  double best = 1e30;
  long differ = 0;
  {
    Algorithm algorithm(MPI_COMM_WORLD, rank, n, input.data(), output.data(), addresses.data());
    fill(rank, n, rounding_element, input);
    algorithm.run();
    differ = disagreements(MPI_COMM_WORLD, rank, n, output);
    fill(rank, n, element, input);
    std::fill(output.begin(), output.end(), -1e30f);
    for (int i = 0; i < iterations; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      algorithm.run();
      double took = MPI_Wtime() - start;
      MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      best = std::min(best, took);
    }
  }
  long wrong = 0;
  for (std::size_t p = 0; p < std::size(kPromised);) {
    const int who = kPromised[p][0], slot = kPromised[p][1];
    std::size_t end = p;
    while (end < std::size(kPromised) && kPromised[end][0] == who && kPromised[end][1] == slot) ++end;
    for (long e = 0; who == rank && e < piece_length(n, slot % kPieces); ++e) {
      float sum = 0;
      for (std::size_t k = p; k < end; ++k) sum += element(kPromised[k][2], kPromised[k][3], e);
      wrong += output[slot_begin(n, slot) + e] != expected(sum, slot_begin(n, kPromised[p][3]) + e);
    }
    p = end;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%s: %ld elements a block, best of %d: %.1f us%s, %ld wrong, %ld slots with ranks that differ%s\n",
        kName, n, iterations, 1e6 * best, is_long(n) ? " with ports serialized" : "", wrong, differ,
        kAgreed ? "" : ", as they may");
  MPI_Finalize();
  return wrong == 0 && (differ == 0 || !kAgreed) ? 0 : 1;
}
