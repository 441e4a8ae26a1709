// Rows of a tensor from each rank to each, as many as counts say that are known only when the program runs
// (AllToAllV). Rows lie in the order of the ranks that they go to, and arrive in the order of those that they
// come from. Rows that a count asks for and a rank does not have are zeros where they arrive; those that the
// result has no room for are left out; the rest of the result is zeros. Negative counts are 0.
//
// All ranks get all counts first, so that both ends of a message know its length, and empty ones are not
// sent. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/exchange/transport.h"
#include "tensor/exchange/parts.h"

namespace chorale {

struct CountedRows {
  int rank = -1, first = 0, ranks = 1;              // of the scope, -1: it has none; the first one's number
  std::int64_t each = 0;                            // counts of a rank for each other; they are added up
  std::int64_t rows = 0, capacity = 0, length = 1;  // that a rank has; of the result; elements of a row

  CHORALE_DEVICE std::int64_t counts() const { return ranks * each; }
  // Rows for ranks begin .. end, by the counts of their sender.
  CHORALE_DEVICE std::int64_t counted(const std::int32_t* counts, int begin, int end) const {
    std::int64_t sum = 0;
    for (std::int64_t k = begin * each; k < end * each; ++k) sum += counts[k] > 0 ? counts[k] : 0;
    return sum;
  }

  // Rows of one sender: where they begin there and here, how many are sent, and how many zeros follow.
  struct Run {
    std::int64_t from, to, count, zeros;
  };
  // `to`: where those of the sender before end.
  CHORALE_DEVICE Run run(const std::int32_t* counts, int receiver, std::int64_t to) const {
    const std::int64_t from = counted(counts, 0, receiver), all = counted(counts, receiver, receiver + 1),
                       here = limited(all, capacity - to), there = limited(all, rows - from),
                       count = here < there ? here : there;
    return {from < rows ? from : rows, to, count, here - count};
  }

 private:
  CHORALE_DEVICE static std::int64_t limited(std::int64_t count, std::int64_t most) {
    return most < 0 ? 0 : count < most ? count : most;
  }
};

template <typename Device>
class CountedExchange {
 public:
  explicit CountedExchange(const CountedRows& rows)
      : rows_(rows), counts_(Device::template memory<std::int32_t>(rows.ranks * rows.counts())) {}

  const CountedRows& rows() const { return rows_; }

  template <typename Transport, typename T>
  void run(Transport& transport, const T* input, const std::int32_t* counts, T* output) {
    if (rows_.rank < 0) return;
    Device& device = transport.device();
    const std::vector<std::int32_t> all = all_counts(transport, counts);
    const auto of = [&](int rank) { return all.data() + rank * rows_.counts(); };
    std::vector<Delivery> sends, receives;
    const auto message = [&](std::vector<Delivery>& list, int peer, const T* at, std::int64_t count) {
      if (count > 0)
        list.push_back({rows_.first + peer, kTag, const_cast<T*>(at),
                        count * rows_.length * static_cast<std::int64_t>(sizeof(T))});
    };
    for (int distance = 1; distance < rows_.ranks; ++distance) {
      const int to = (rows_.rank + distance) % rows_.ranks;
      std::int64_t end = 0;
      for (int k = 0; k < rows_.rank; ++k) end += rows_.counted(of(k), to, to + 1);
      const CountedRows::Run run = rows_.run(of(rows_.rank), to, end);
      message(sends, to, input + run.from * rows_.length, run.count);
    }
    std::int64_t end = 0;
    for (int from = 0; from < rows_.ranks; ++from) {
      const CountedRows::Run run = rows_.run(of(from), rows_.rank, end);
      T* const at = output + std::min(run.to, rows_.capacity) * rows_.length;
      if (from == rows_.rank)
        device.copy(at, input + run.from * rows_.length, run.count * rows_.length);
      else
        message(receives, from, at, run.count);
      device.clear(at + run.count * rows_.length, run.zeros * rows_.length);
      end += rows_.counted(of(from), rows_.rank, rows_.rank + 1);
    }
    if (end < rows_.capacity)
      device.clear(output + end * rows_.length, (rows_.capacity - end) * rows_.length);
    // From the rank before this one first (ir/program.h).
    const auto distance = [&](const Delivery& each) {
      return (rows_.first + rows_.rank - each.peer + rows_.ranks) % rows_.ranks;
    };
    std::sort(receives.begin(), receives.end(),
              [&](const Delivery& a, const Delivery& b) { return distance(a) < distance(b); });
    transport.exchange(sends, receives);
    transport.release(sends, receives);
  }

 private:
  static constexpr int kTag = 1 << 20;

  // A row for each rank.
  template <typename Transport>
  std::vector<std::int32_t> all_counts(Transport& transport, const std::int32_t* counts) {
    Device& device = transport.device();
    device.copy(counts_.get() + rows_.rank * rows_.counts(), counts, rows_.counts());
    transport.gather(counts, counts_.get(), rows_.counts() * static_cast<std::int64_t>(sizeof *counts),
                     rows_.first, rows_.ranks, kTag);
    std::vector<std::int32_t> all(static_cast<std::size_t>(rows_.ranks * rows_.counts()));
    device.download(all.data(), counts_.get(), all.size() * sizeof *counts);
    return all;
  }

  const CountedRows rows_;
  const typename Device::template Memory<std::int32_t> counts_;
};

}  // namespace chorale
