// An exchange of ranks that read each other's memory, as tables for a launch (fused.h): of
// all its steps, or, beside a product, of one after the other. Needs nvcc; C++17, and is copied into emitted
// programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/exchange/exchange.h"
#include "tensor/exchange/fused.h"
#include "tensor/exchange/gpu.h"

namespace chorale {

// Copies between ranks, sums, and loops after them, as phases of a launch (fused.h).
template <typename T, Combination op>
class GpuExchange : public ExchangePlan {
 public:
  using Element = T;

  template <typename... Rest>
  GpuExchange(const OwnedTables& tables, Rest&&... rest)
      : ExchangePlan(sizeof(T), tables, std::forward<Rest>(rest)...) {
    round_each(is_short<T>);
  }

  template <typename Loop = NoSumFunction>
  ExchangePhase<T, op, Loop> phase(const BufferView<T>& input, const BufferView<T>& output,
                                   const Loop& loop = {}) {
    return phase(input, output, loop, 0, static_cast<int>(steps().size()));
  }
  // One launch if no computation overlaps, or if a total is to be kept; else one per step.
  template <typename Transport, typename Loop = NoSumFunction, typename Progress = NoProgress>
  void run(Transport& transport, const BufferView<T>& input, const BufferView<T>& output,
           const Loop& loop = {}, Progress progress = {}) {
    const int all = static_cast<int>(steps().size());
    int from = 0;
    do {
      const int to = Progress::kBeside && Loop::kTotals == 0 ? std::min(all, from + 1) : all;
      for (int s = from; s < to; ++s)
        steps()[static_cast<std::size_t>(s)].for_each_input(
            [&](std::int64_t begin, std::int64_t count) { progress.needs(begin, count); });
      transport.launch(GpuDevice::chain(phase(input, output, loop, from, to)), Progress::kBeside);
      for (int s = from; s < to; ++s)
        for (const Span& place : steps()[static_cast<std::size_t>(s)].finished)
          progress.has(place.begin, place.count);
      from = to;
    } while (from < all);
  }

 private:
  struct Tables {
    GpuMemory<FusedStep> rows;
    GpuMemory<int> waits, copied;
    GpuMemory<FusedMove> moves;
    GpuMemory<FusedSum> sums;
    GpuMemory<FusedPlace> places;
    GpuMemory<T> scratch;
    FusedPlan plan;
  };

  template <typename Loop>
  ExchangePhase<T, op, Loop> phase(const BufferView<T>& input, const BufferView<T>& output, const Loop& loop,
                                   int from, int to) {
    if (!tables_here_) prepare();
    return {tables_here_->plan, {input, output, BufferView<T>(tables_here_->scratch.get())}, loop, from, to};
  }
  // The sums of its step do not store into its source: so it may be read until the step is over.
  using Source = std::tuple<int, int, int, int>;  // rank, step, buffer, slot
  std::set<Source> stored_over() const {
    std::set<Source> places;
    for (int i = 0; i < tables().work_count; ++i) {
      const StepWork& w = tables().work[i];
      if (w.completes != 1) places.insert({w.rank, w.step, w.to_buffer, w.to_slot});
    }
    return places;
  }

  void prepare() {
    std::vector<FusedStep> rows;
    std::vector<int> waits, copied;
    std::vector<FusedMove> moves;
    std::vector<FusedSum> sums;
    std::vector<FusedPlace> places;
    const std::set<Source> over = stored_over();
    const auto stays = [&](const OwnMessage& message) {
      const StepMessage& m = tables().messages[message.row];
      return over.count({m.from, m.step, m.from_buffer, m.from_slot}) == 0;
    };
    const auto own = [](const Span& place) { return FusedPlace{-1, place.buffer, place.begin}; };
    std::set<int> readers;  // of data sent in the step before
    for (const Step& step : steps()) {
      FusedStep row = {};
      std::set<int> before = readers, after;
      readers.clear();
      for (const OwnMessage& send : step.sends) {
        readers.insert(peers_.rank(send.peer));
        if (!stays(send)) after.insert(peers_.rank(send.peer));
      }
      std::vector<FusedPlace> brought;
      for (const OwnMessage& m : step.receives) {
        const FusedPlace there{peers_.rank(m.peer), m.from.buffer, m.from.begin};
        before.insert(there.rank);
        const bool read_there = m.borrows && stays(m);
        brought.push_back(read_there ? there : own(m.to));
        if (read_there) continue;
        moves.push_back({there, own(m.to), m.from.count});
        if (!stays(m)) row.announces = 1;
      }
      std::vector<const OwnSum*> since;  // the last barrier
      for (const OwnSum& sum : step.sums) {
        const auto meets = [&](const OwnSum* other) {
          return conflict(step, *other, sum) || conflict(step, sum, *other);
        };
        const bool barrier = std::any_of(since.begin(), since.end(), meets);
        if (barrier) since.clear();
        since.push_back(&sum);
        sums.push_back({static_cast<int>(places.size()), static_cast<int>(sum.from.size()), sum.completes,
                        barrier, own(sum.to), sum.index, sum.to.count});
        for (const Span& place : sum.from)
          places.push_back(place.receive >= 0 ? brought[static_cast<std::size_t>(place.receive)]
                                              : own(place));
      }
      waits.insert(waits.end(), before.begin(), before.end());
      copied.insert(copied.end(), after.begin(), after.end());
      end(row, waits, copied, moves, sums);
      rows.push_back(row);
    }
    waits.insert(waits.end(), readers.begin(), readers.end());
    FusedStep last = {};
    end(last, waits, copied, moves, sums);
    rows.push_back(last);
    tables_here_ = std::make_shared<Tables>(Tables{gpu_table(rows),
                                                   gpu_table(waits),
                                                   gpu_table(copied),
                                                   gpu_table(moves),
                                                   gpu_table(sums),
                                                   gpu_table(places),
                                                   gpu_memory<T>(scratch_elements()),
                                                   {}});
    Tables& t = *tables_here_;
    t.plan = {static_cast<int>(steps().size()),
              t.rows.get(),
              t.waits.get(),
              t.copied.get(),
              t.moves.get(),
              t.sums.get(),
              t.places.get()};
  }
  static void end(FusedStep& row, const std::vector<int>& waits, const std::vector<int>& copied,
                  const std::vector<FusedMove>& moves, const std::vector<FusedSum>& sums) {
    row.waits = static_cast<int>(waits.size());
    row.copied = static_cast<int>(copied.size());
    row.moves = static_cast<int>(moves.size());
    row.sums = static_cast<int>(sums.size());
  }
  // Whether one stores to memory that the other stores to or reads.
  static bool conflict(const Step& step, const OwnSum& a, const OwnSum& b) {
    if (a.completes == 1) return false;
    return (b.completes != 1 && a.to.same_slot(b.to)) ||
           std::any_of(b.from.begin(), b.from.end(), [&](const Span& place) {
             return (place.receive < 0 ? place : step.receives[static_cast<std::size_t>(place.receive)].to)
                 .same_slot(a.to);
           });
  }

  std::shared_ptr<Tables> tables_here_ = {};
};

}  // namespace chorale
