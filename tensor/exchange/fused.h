// A kernel of a workload on GPUs, one launch per rank: communications, and the loops around them and between.
// For device code, C++17; copied into emitted programs.
//
// The idea. Every rank has the same number of blocks, its channels, and channel c has slice c of every piece:
// what is added to a slice of a piece, and copied from it, is the same slice of the same piece of another
// rank, so channel c of a rank synchronizes only with channel c of others, and an exchange needs no barrier.
// A receiver reads data in the memory of their holder, into registers, where sums are made and given to the
// loop.
//
// Each channel of each rank has a doorbell in memory that all can read: a number, its progress, which only
// goes up, and where the rank's buffers of this exchange lie. In an exchange that begins with progress b,
//   b + 1              it is there, and its doorbell says where its buffers are;
//   b + 2 + 2s         what comes in step s from memory that changes in step s has been copied;
//   b + 3 + 2s         step s is done;
//   b + 2 + 2 * steps  so is the exchange: all readers of this rank's memory have finished.
// Before step s it waits until those that it reads from in step s, and those that have read here in step s -
// 1, are done with step s - 1; what a step reads is stored over in that step only after its readers have
// copied it. By induction nothing is read before it is there, nor stored over while it is read. An exchange
// may be several launches of some steps each: then the end of a step is signalled by the next launch, which
// begins when what its steps read has been made. Between an exchange and what comes next in the kernel, the
// channels of a rank wait for each other, since slices of other tensors are other ones.
//
// All ranks go through the same launches, and each raises progress by the same; nothing is reset, no host
// takes part, and a launch begins with the progress at its own doorbell, so that launches can be replayed as
// a graph. All blocks of all ranks must be resident: a cooperative launch, or one on each of several GPUs
// that reach each other's memory. Waits are bounded (runtime/device/counters.h).
#pragma once

#include <cstdint>

#include "runtime/exchange/scattered.h"
#include "tensor/exchange/counted.h"
#include "tensor/exchange/fused_block.h"
#include "tensor/exchange/pack.h"

namespace chorale {

// The work of a rank in an exchange, in tables that device code can read (made by gpu.h).
struct FusedPlace {
  int rank;  // of all ranks; -1: this one
  int buffer;
  std::int64_t begin;
};
struct FusedMove {
  FusedPlace from, to;
  std::int64_t count;
};
struct FusedSum {
  int first, operands;  // of its operands in the table of places
  int completes;        // as in StepWork
  int after;            // it reads, or stores over, memory that other sums of the step use
  FusedPlace to;
  std::int64_t index, count;
};
// Where the rows of a step end; they begin where those of the step before do.
struct FusedStep {
  int waits;   // ranks to wait for before it: one step more than there are has those to wait for in the end
  int copied;  // ranks to wait for before its sums, which store over what these copy
  int moves, sums;
  int announces;  // another rank waits for its copies
};
struct FusedPlan {
  int steps;
  const FusedStep* rows;
  const int *waits, *copied;
  const FusedMove* moves;
  const FusedSum* sums;
  const FusedPlace* places;
};

template <typename T, Combination op, typename Loop = NoSumFunction>
struct ExchangePhase {
  FusedPlan plan;
  BufferView<T> buffers[3];
  Loop loop;
  // The steps of this launch: all, or, if computation overlaps, some that follow those of the launch before.
  int first, last;

  __device__ bool run(FusedBlock& block) const {
    FusedStep begin = {};
    if (first == 0) {
      if (!block.join()) return false;
      for (int b = 0; b < 3; ++b) block.publish(b, buffers[b]);
      block.reach(1);
    } else {
      block.resume(2 * static_cast<std::uint64_t>(first));
      block.reach(1 + 2 * static_cast<std::uint64_t>(first));
      begin = plan.rows[first - 1];
    }
    double totals[Loop::kTotals + 1];
    const Loop mine = loop;
    if constexpr (Loop::kTotals > 0) Loop::start(totals);
    for (int s = first; s < last; ++s) {
      const FusedStep end = plan.rows[s];
      const std::uint64_t before = 1 + 2 * static_cast<std::uint64_t>(s);
      if (!block.wait(plan.waits + begin.waits, end.waits - begin.waits, before)) return false;
      for (int i = begin.moves; i < end.moves; ++i) move(block, plan.moves[i]);
      if (end.announces != 0)
        block.reach(before + 1);
      else if (end.moves > begin.moves)
        block.sync();
      if (end.copied > begin.copied &&
          !block.wait(plan.copied + begin.copied, end.copied - begin.copied, before + 1))
        return false;
      for (int i = begin.sums; i < end.sums; ++i) {
        if (plan.sums[i].after != 0) block.sync();
        add_up(block, plan.sums[i], mine, totals);
      }
      block.reach(s + 1 == last && last < plan.steps ? before + 1 : before + 2);
      begin = end;
    }
    if (last < plan.steps) return true;
    const std::uint64_t done = 1 + 2 * static_cast<std::uint64_t>(plan.steps);
    if (!block.wait(plan.waits + begin.waits, plan.rows[plan.steps].waits - begin.waits, done)) return false;
    if constexpr (!std::is_same_v<Loop, NoSumFunction>) mine.finish(totals, block.team());
    block.end_phase(done + 1);
    return true;
  }

 private:
  __device__ BufferView<T> at(const FusedBlock& block, const FusedPlace& place) const {
    return place.rank < 0 ? buffers[place.buffer] : block.published<T>(place.rank, place.buffer);
  }
  __device__ void move(const FusedBlock& block, const FusedMove& row) const {
    const BufferView<T> from = at(block, row.from), to = at(block, row.to);
    const std::int64_t begin = block.begin(row.count), end = block.end(row.count);
    if (from.is_together() && to.is_together()) {
      const T* const a = from.at(row.from.begin);
      T* const b = to.at(row.to.begin);
      for_packs<kWidthOf<T>>(begin, end, block.thread, block.threads, [&](auto width, std::int64_t e) {
        store_pack(b + e, pack_at<decltype(width)::value>(a + e));
      });
      return;
    }
    for (std::int64_t e = begin + block.thread; e < end; e += block.threads)
      *to.element(row.to.begin + e) = *from.element(row.from.begin + e);
  }

  // Few operands: their addresses are in registers.
  static constexpr int kFew = 4;

  __device__ void add_up(const FusedBlock& block, const FusedSum& row, const Loop& mine,
                         double* totals) const {
    const FusedPlace* const places = plan.places + row.first;
    const BufferView<T> to = row.completes == 1 ? BufferView<T>() : at(block, row.to);
    const T* first[kFew] = {};
    bool together = to.is_together();
    for (int k = 0; k < row.operands; ++k) together = together && at(block, places[k]).is_together();
    const std::int64_t begin = block.begin(row.count), end = block.end(row.count);
    if (!together) {
      for (std::int64_t e = begin + block.thread; e < end; e += block.threads) {
        Pack<T, 1> sum = {{*at(block, places[0]).element(places[0].begin + e)}};
        for (int k = 1; k < row.operands; ++k)
          sum.of[0] = combined<op>(sum.of[0], *at(block, places[k]).element(places[k].begin + e));
        if (row.completes != 1) {
          T* const result = to.element(row.to.begin + e);
          if (row.operands > 1 || result != at(block, places[0]).element(places[0].begin + e))
            *result = sum.of[0];
        }
        apply(row, e, sum, mine, totals);
      }
      return;
    }
    CHORALE_UNROLL
    for (int k = 0; k < kFew; ++k)
      if (k < row.operands) first[k] = at(block, places[k]).at(places[k].begin);
    // Data are not stored over themselves: other ranks may be reading them.
    const bool stays = row.operands == 1 && row.completes != 1 && to.at(row.to.begin) == first[0];
    if (stays && row.completes == 0) return;
    T* const result = stays || row.completes == 1 ? nullptr : to.at(row.to.begin);
    const int operands = row.operands;
    for_packs<kWidthOf<T>>(begin, end, block.thread, block.threads, [&](auto width, std::int64_t e) {
      constexpr int count = decltype(width)::value;
      Pack<T, count> more[kFew];
      CHORALE_UNROLL
      for (int k = 0; k < kFew; ++k)
        if (k < operands) more[k] = pack_at<count>(first[k] + e);
      Pack<T, count> sum = more[0];
      CHORALE_UNROLL
      for (int k = 1; k < kFew; ++k)
        if (k < operands) add(sum, more[k]);
      for (int k = kFew; k < operands; ++k)
        add(sum, pack_at<count>(at(block, places[k]).at(places[k].begin + e)));
      if (result != nullptr) store_pack(result + e, sum);
      apply(row, e, sum, mine, totals);
    });
  }
  template <int count>
  __device__ static void add(Pack<T, count>& sum, const Pack<T, count>& more) {
    CHORALE_UNROLL
    for (int k = 0; k < count; ++k) sum.of[k] = combined<op>(sum.of[k], more.of[k]);
  }
  template <int count>
  __device__ static void apply(const FusedSum& row, std::int64_t e, const Pack<T, count>& sum,
                               const Loop& mine, double* totals) {
    if constexpr (!std::is_same_v<Loop, NoSumFunction>)
      if (row.completes != 0) mine.template pack<count>(row.index + e, sum, totals);
  }
};

// A loop over all elements of the rank.
template <typename Loop>
struct LoopPhase {
  Loop loop;

  __device__ bool run(FusedBlock& block) const {
    if (!block.join()) return false;
    const Loop mine = loop;
    double totals[Loop::kTotals + 1];
    Loop::start(totals);
    const std::int64_t count = mine.part.elements;
    for_packs<Loop::kWidth>(
        block.begin(count), block.end(count), block.thread, block.threads,
        [&](auto width, std::int64_t e) { mine.template pack<decltype(width)::value>(e, totals); });
    mine.finish(totals, block.team());
    block.end_phase(1);
    return true;
  }
};

// Sends this rank's data to one rank, and receives those of another; -1: none.
template <typename T>
struct SendPhase {
  int to, from;
  const T* input;
  T* output;
  std::int64_t count;  // that are received

  __device__ bool run(FusedBlock& block) const {
    if (!block.join()) return false;
    block.publish(0, BufferView<T>(input));
    block.reach(1);
    if (!block.wait(&from, from >= 0 ? 1 : 0, 1)) return false;
    if (from >= 0) {
      const T* const there = block.published<T>(from, 0).at(0);
      for_packs<kWidthOf<T>>(block.begin(count), block.end(count), block.thread, block.threads,
                             [&](auto width, std::int64_t e) {
                               store_pack(output + e, pack_at<decltype(width)::value>(there + e));
                             });
    }
    block.reach(2);
    if (!block.wait(&to, to >= 0 ? 1 : 0, 2)) return false;
    block.end_phase(3);
    return true;
  }
};

// Rows by counts (counted.h): a rank reads those of all others, and then its rows there.
template <typename T>
struct CountedPhase {
  CountedRows rows;
  const T* input;
  const std::int32_t* counts;
  T* output;

  __device__ bool run(FusedBlock& block) const {
    const int peers = rows.rank < 0 ? 0 : rows.ranks;
    if (!block.join()) return false;
    block.publish(0, BufferView<T>(input));
    block.publish(1, BufferView<std::int32_t>(counts));
    block.reach(1);
    if (!block.wait_all(rows.first, peers, 1)) return false;
    std::int64_t end = 0;
    for (int from = 0; from < peers; ++from) {
      const std::int32_t* const theirs = block.published<std::int32_t>(rows.first + from, 1).at(0);
      const CountedRows::Run run = rows.run(theirs, rows.rank, end);
      if (run.count > 0)
        move(block, output + run.to * rows.length,
             block.published<T>(rows.first + from, 0).at(run.from * rows.length), run.count * rows.length);
      if (run.zeros > 0) clear(block, (run.to + run.count) * rows.length, run.zeros * rows.length);
      end += rows.counted(theirs, rows.rank, rows.rank + 1);
    }
    if (peers > 0 && end < rows.capacity)
      clear(block, end * rows.length, (rows.capacity - end) * rows.length);
    block.reach(2);
    if (!block.wait_all(rows.first, peers, 2)) return false;
    block.end_phase(3);
    return true;
  }

 private:
  __device__ static void move(const FusedBlock& block, T* to, const T* from, std::int64_t count) {
    for_packs<kWidthOf<T>>(
        block.begin(count), block.end(count), block.thread, block.threads,
        [&](auto width, std::int64_t e) { store_pack(to + e, pack_at<decltype(width)::value>(from + e)); });
  }
  __device__ void clear(const FusedBlock& block, std::int64_t first, std::int64_t count) const {
    for_packs<kWidthOf<T>>(block.begin(count), block.end(count), block.thread, block.threads,
                           [&](auto width, std::int64_t e) {
                             store_pack(output + first + e, Pack<T, decltype(width)::value>{});
                           });
  }
};

template <typename... Phases>
struct FusedChain {
  __device__ bool run(FusedBlock&) const { return true; }
};
template <typename First, typename... Rest>
struct FusedChain<First, Rest...> {
  First first;
  FusedChain<Rest...> rest;
  __device__ bool run(FusedBlock& block) const { return first.run(block) && rest.run(block); }
};

// The ranks of one GPU: `first` and those after it.
template <int ranks, typename Chain>
struct FusedLaunch {
  FusedGround ground;
  Chain chains[ranks];
};

template <int ranks, typename Chain>
__global__ void __launch_bounds__(kMostThreads, 1)
    fused_kernel(const __grid_constant__ FusedLaunch<ranks, Chain> launch) {
  const int channels = static_cast<int>(launch.ground.channels);
  const int here = static_cast<int>(blockIdx.x) / channels;
  FusedBlock block(launch.ground, launch.ground.first_rank + here, static_cast<int>(blockIdx.x) % channels);
  launch.chains[here].run(block);
}

}  // namespace chorale
