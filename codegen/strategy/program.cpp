// Reduction strategies over MPI's communicators as codegen/strategy_source.cpp prints them, but for the tables: these are an
// example's, so that this compiles and runs as it is (tests/scripts/mpi.cmake).
//
// Process r is device r of the ranking. A vector is cut into pieces, as many as the strategy ever scatters it into; a device
// has some of them, in the order of their numbers: a ReduceScatter leaves to each its equal part of these, an AllGather
// brings together what the group has.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

#include "codegen/strategy/tables.h"

constexpr int kSteps = static_cast<int>(std::size(kOperations));
constexpr int kNumberOfJobs = static_cast<int>(std::size(kJobs));

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A communicator a step; none where the device takes no part.
std::vector<MPI_Comm> communicators(int device) {
  std::vector<MPI_Comm> result(kSteps, MPI_COMM_NULL);
  for (int step = 0; step < kSteps; ++step) {
    int colour = MPI_UNDEFINED, place = 0;
    for (const auto& [at, who, group, number] : kGroups)
      if (at == step && who == device) {
        colour = group;
        place = number;
      }
    require(MPI_Comm_split(MPI_COMM_WORLD, colour, place, &result[step]) == MPI_SUCCESS,
            "MPI_Comm_split failed");
  }
  return result;
}

// What a device has of a vector: the numbers of pieces, and their elements one after the other.
struct Holding {
  std::vector<int> pieces;
  std::vector<float> data;
};

// One operation in the group, on pieces of n elements.
void perform(int operation, MPI_Comm group, int n, Holding& held) {
  if (group == MPI_COMM_NULL) return;
  int size = 0, place = 0;
  MPI_Comm_size(group, &size);
  MPI_Comm_rank(group, &place);
  const int count = static_cast<int>(held.pieces.size());
  int code = MPI_SUCCESS;
  if (operation == 0) {
    code = MPI_Allreduce(MPI_IN_PLACE, held.data.data(), count * n, MPI_FLOAT, MPI_SUM, group);
  } else if (operation == 1) {
    require(count % size == 0, "pieces cannot be scattered evenly");
    const int each = count / size;
    std::vector<float> part(static_cast<std::size_t>(each) * n);
    code = MPI_Reduce_scatter_block(held.data.data(), part.data(), each * n, MPI_FLOAT, MPI_SUM, group);
    held.pieces = {held.pieces.begin() + place * each, held.pieces.begin() + (place + 1) * each};
    held.data = part;
  } else if (operation == 2) {
    std::vector<int> pieces(static_cast<std::size_t>(size) * count);
    std::vector<float> data(pieces.size() * n);
    MPI_Allgather(held.pieces.data(), count, MPI_INT, pieces.data(), count, MPI_INT, group);
    code = MPI_Allgather(held.data.data(), count * n, MPI_FLOAT, data.data(), count * n, MPI_FLOAT, group);
    std::map<int, std::size_t> where;  // by piece
    for (std::size_t i = 0; i < pieces.size(); ++i) where[pieces[i]] = i;
    held = {};
    for (const auto& [piece, i] : where) {
      held.pieces.push_back(piece);
      held.data.insert(held.data.end(), data.begin() + static_cast<long>(i) * n,
                       data.begin() + static_cast<long>(i + 1) * n);
    }
  } else if (operation == 3) {
    std::vector<float> sum(held.data.size());
    code = MPI_Reduce(held.data.data(), sum.data(), count * n, MPI_FLOAT, MPI_SUM, 0, group);
    held = place == 0 ? Holding{held.pieces, sum} : Holding{};
  } else {
    int has = count;
    MPI_Bcast(&has, 1, MPI_INT, 0, group);
    held.pieces.resize(static_cast<std::size_t>(has));
    held.data.resize(static_cast<std::size_t>(has) * n);
    MPI_Bcast(held.pieces.data(), has, MPI_INT, 0, group);
    code = MPI_Bcast(held.data.data(), has * n, MPI_FLOAT, 0, group);
  }
  require(code == MPI_SUCCESS, "a collective failed");
}

// Small integers, so that sums are exact in any order.
float element(int device, int job, long index) {
  unsigned long x = 0x9e3779b97f4a7c15ul * (device * 100003ul + job + 1) + index * 0xbf58476d1ce4e5b9ul;
  x ^= x >> 29;
  return static_cast<float>(x % 2001) - 1000;
}

// What a device has before: its vector, or, of what is to be gathered, the part of the common one that scattering it back
// would leave to the device.
Holding before(int job, int device, int total, int n, const std::vector<MPI_Comm>& groups) {
  const auto& [first, end, goal, pieces] = kWork[job];
  Holding held;
  for (int piece = 0; piece < pieces; ++piece) held.pieces.push_back(piece);
  for (int step = end - 1; goal == 2 && step >= first; --step) {
    if (groups[step] == MPI_COMM_NULL) continue;
    int size = 0, place = 0;
    MPI_Comm_size(groups[step], &size);
    MPI_Comm_rank(groups[step], &place);
    const int each = static_cast<int>(held.pieces.size()) / size;
    held.pieces =
        std::vector<int>(held.pieces.begin() + place * each, held.pieces.begin() + (place + 1) * each);
  }
  for (int piece : held.pieces)
    for (int e = 0; e < n; ++e)
      held.data.push_back(
          element(goal == 2 ? kDevices + total : device, job, static_cast<long>(piece) * n + e));
  return held;
}

// Elements that are not what they should be; all of a piece that should be there and is not.
long wrong(int job, int total, int n, const Holding& held) {
  const auto& [first, end, goal, pieces] = kWork[job];
  long wrong = 0;
  if (held.pieces.empty() || (goal != 1 && static_cast<int>(held.pieces.size()) != pieces)) wrong += n;
  for (std::size_t i = 0; i < held.pieces.size(); ++i)
    for (int e = 0; e < n; ++e) {
      const long index = static_cast<long>(held.pieces[i]) * n + e;
      float expected = goal == 2 ? element(kDevices + total, job, index) : 0;
      for (const auto& [which, device, group] : kTotals)
        if (goal != 2 && which == job && group == total) expected += element(device, job, index);
      wrong += held.data[i * n + e] != expected;
    }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int device = 0, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &device);
  MPI_Comm_size(MPI_COMM_WORLD, &devices);
  const long elements = argc > 1 ? std::atol(argv[1]) : 65536;
  const int iterations = argc > 2 ? std::atoi(argv[2]) : 10;
  if (devices != kDevices || elements < 1 || elements > 1L << 30 || iterations < 1) {
    if (device == 0)
      std::fprintf(stderr,
                   "usage: mpirun -n %d %s [elements of a device, 1 or more] [iterations, 1 or more]\n",
                   kDevices, argv[0]);
    MPI_Finalize();
    return 2;
  }
  std::vector<MPI_Comm> groups = communicators(device);
  long all_wrong = 0;
  for (int job = 0; job < kNumberOfJobs; ++job) {
    const auto& [first, end, goal, pieces] = kWork[job];
    int total = 0;
    for (const auto& [which, who, group] : kTotals)
      if (which == job && who == device) total = group;
    const int n = static_cast<int>((elements + pieces - 1) / pieces);
    const Holding start = before(job, device, total, n, groups);
    Holding held;
    double best = 1e30;
    for (int i = 0; i < iterations; ++i) {
      held = start;
      MPI_Barrier(MPI_COMM_WORLD);
      const double began = MPI_Wtime();
      for (int step = first; step < end; ++step) perform(kOperations[step][0], groups[step], n, held);
      double took = MPI_Wtime() - began;
      MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      best = std::min(best, took);
    }
    long bad = wrong(job, total, n, held);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    all_wrong += bad;
    if (device == 0)
      std::printf("%s, %s: %ld elements a device, best of %d: %.1f us, %ld wrong\n", kName, kJobs[job],
                  static_cast<long>(n) * pieces, iterations, 1e6 * best, bad);
  }
  for (MPI_Comm& group : groups)
    if (group != MPI_COMM_NULL) MPI_Comm_free(&group);
  MPI_Finalize();
  return all_wrong == 0 ? 0 : 1;
}
