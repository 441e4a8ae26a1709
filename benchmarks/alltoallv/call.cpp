// One Alltoallv, with data that are checked: by the plan that libchorale-mpi makes, or by MPI_Alltoallv.
// Compiled by mpicxx, and by SimGrid's smpicxx, with the sources of runtime/alltoallv/ and
// runtime/alltoallv.cpp.
//
// usage: call COUNTS NODES RATES ours|direct|mpi TIMES
// Rank 0 prints the time of each run in microseconds, from the first rank that begins to the last that ends.
// `ours` has gathering of counts and planning in it (under SimGrid computation takes no time).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/alltoallv.h"
#include "runtime/alltoallv/plan.h"
#include "runtime/exchange/mpi.h"

using namespace chorale;

static std::byte value(Rank src, Rank dst, std::int64_t i) {
  return static_cast<std::byte>((src * 31 + dst * 7 + i * 13 + i / 256) % 251);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  ByteCounts all{.ranks = ranks};
  std::ifstream file(argv[1]);
  for (std::int64_t n = 0; file >> n;) all.bytes.push_back(n);
  TwoTiers tiers;
  const int nodes = std::atoi(argv[2]);
  for (Rank n = 0; n < ranks; ++n) tiers.node.push_back(n / (ranks / nodes));
  std::sscanf(argv[3], "nic=%lf,node=%lf,latency=%lf", &tiers.rates.nic_gbs, &tiers.rates.node_gbs,
              &tiers.rates.latency_us);
  const std::string mode = argv[4];
  std::vector<int> out(ranks), in(ranks), to(ranks), from(ranks);
  for (Rank n = 0; n < ranks; ++n)
    out[n] = static_cast<int>(all.at(rank, n)), in[n] = static_cast<int>(all.at(n, rank));
  std::exclusive_scan(out.begin(), out.end(), to.begin(), 0);
  std::exclusive_scan(in.begin(), in.end(), from.begin(), 0);
  std::vector<std::byte> send(to.back() + out.back() + 1), receive(from.back() + in.back() + 1);
  for (Rank n = 0; n < ranks; ++n)
    for (int i = 0; i < out[n]; ++i) send[to[n] + i] = value(rank, n, i);
  MpiTransport transport(MPI_COMM_WORLD);
  for (int run = 0; run < std::atoi(argv[5]); ++run) {
    std::fill(receive.begin(), receive.end(), std::byte{255});
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (mode == "mpi") {
      MPI_Alltoallv(send.data(), out.data(), to.data(), MPI_BYTE, receive.data(), in.data(), from.data(),
                    MPI_BYTE, MPI_COMM_WORLD);
    } else {
      ByteCounts counts{.ranks = ranks, .bytes = std::vector<std::int64_t>(all.bytes.size())};
      MPI_Allgather(all.bytes.data() + rank * ranks, ranks, MPI_INT64_T, counts.bytes.data(), ranks,
                    MPI_INT64_T, MPI_COMM_WORLD);
      const AlltoallvPlan plan =
          mode == "ours" ? plan_alltoallv(tiers, counts) : direct_alltoallv(tiers, counts);
      const AlltoallvRank mine(plan, rank);
      std::vector<const std::byte*> sends;
      std::vector<std::byte*> receives;
      for (Rank n = 0; n < ranks; ++n) {
        sends.push_back(send.data() + to[n]);
        receives.push_back(receive.data() + from[n]);
      }
      std::vector<std::byte> scratch(mine.scratch_bytes());
      std::copy_n(sends[rank], out[rank], receives[rank]);
      mine.execute(sends, receives, scratch.data(), transport);
    }
    const double mine[2] = {-begin, MPI_Wtime()};
    double most[2] = {};
    MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%.1f us\n", 1e6 * (most[0] + most[1]));
    for (Rank n = 0; n < ranks; ++n)
      for (int i = 0; i < in[n]; ++i)
        if (receive[from[n] + i] != value(n, rank, i)) {
          std::fprintf(stderr, "rank %d: byte %d of rank %d is wrong\n", rank, i, n);
          MPI_Abort(MPI_COMM_WORLD, 1);
        }
  }
  MPI_Finalize();
}
