// A table of sizes and times with the columns of nccl-tests, and what else the programs in this directory
// share on GPUs and CPUs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "algorithm.h"
#include "options.h"
#include "runtime/device/kernel.h"
#include "runtime/device/self_check.h"

// The tables of the algorithm at the addresses that upload(rows, count) returns.
template <typename Upload>
chorale::PeerTables tables_by(Upload upload) {
  return {.rows = upload(algorithm::kRows, std::size(algorithm::kRows)),
          .places = upload(algorithm::kPlaces, std::size(algorithm::kPlaces)),
          .blocks = upload(algorithm::kBlockRows, std::size(algorithm::kBlockRows)),
          .ranks = upload(algorithm::kRankRows, std::size(algorithm::kRankRows)),
          .teams = upload(algorithm::kTeams, std::size(algorithm::kTeams)),
          .members = upload(algorithm::kMembers, std::size(algorithm::kMembers)),
          .all_ranks = algorithm::kRanks,
          .pieces = algorithm::kPieces,
          .double_scratch = algorithm::kDoubleScratch};
}

// For messages up to `most` elements of T, of which W is moved and added.
template <typename T, typename W>
chorale::PeerShape shape_for(const Options& options, long most) {
  return {.elements = 0,
          .segment = std::max(1l, std::min(most, options.segment / static_cast<long>(sizeof(T)))),
          .tile = std::max<long>(16, 32768 / static_cast<long>(sizeof(W))),
          .slices = options.slices};
}

// Prints the wait of a kernel that timed out; false if none did.
inline bool complain(const chorale::Trouble& trouble, double patience) {
  if (trouble.state == 0) return false;
  const chorale::PeerBlockRow& block = algorithm::kBlockRows[trouble.block];
  const chorale::PeerRow& row = algorithm::kRows[block.row + trouble.row];
  std::fprintf(stderr,
               "rank %d, slice %d, instruction %d: rank %d did not raise counter %d to %d within %.3g s\n",
               block.rank, trouble.slice, trouble.row, row.rank, row.counter, row.value, patience);
  return true;
}

// Elements of a block of the collective in messages of that many bytes.
template <typename T>
long block_elements(long bytes) {
  return bytes / algorithm::kBlocks / static_cast<long>(sizeof(T));
}

// Wrong elements over all sizes. A machine has
//   prepare(elements, seed)      fills inputs of blocks of `elements` elements, and spoils outputs
//   run()                        once
//   replay(warm_up, times)       as a graph where there are graphs; microseconds of one
//   wrong(seed)                  elements of all ranks; of kRounding, output slots whose ranks differ
//   copy(elements, times)        if it has that: microseconds of a copy to time it beside
template <typename T, typename Machine>
long measure_sizes(Machine& machine, const Options& options, bool speaks) {
  constexpr bool kCopies = requires {
    machine.copy(1l, 1);
  };
  if (speaks)
    std::printf("#%12s %12s %12s %12s %12s%s %8s\n", "size (B)", "count", "time (us)", "algbw (GB/s)",
                "busbw (GB/s)", kCopies ? "    copy (us)" : "", "#wrong");
  long all_wrong = 0;
  for (long size = std::max(options.from, 1l); size <= options.to; size *= options.factor) {
    const long count = block_elements<T>(size);
    machine.prepare(count, 1);
    machine.run();
    long wrong = machine.wrong(1);
    if (algorithm::kAgreed) {
      machine.prepare(count, chorale::kRounding);
      machine.run();
      wrong += machine.wrong(chorale::kRounding);
    }
    machine.prepare(count, 2);
    const double us = machine.replay(3, options.iterations);
#ifdef IN_PLACE
    machine.prepare(count, 2);  // a run leaves no inputs for the next one
    machine.replay(0, 1);
#endif
    wrong += machine.wrong(2);
    all_wrong += wrong;
    const double bytes = static_cast<double>(count) * sizeof(T) * algorithm::kBlocks;
    if (speaks)
      std::printf(" %12.0f %12ld %12.2f %12.3f %12.3f", bytes, count, us, bytes / us / 1e3,
                  bytes / us / 1e3 * algorithm::kBusFactor);
    if constexpr (kCopies) std::printf(" %12.2f", machine.copy(count, options.iterations));
    if (speaks) std::printf(" %8ld\n", wrong);
  }
  return all_wrong;
}
