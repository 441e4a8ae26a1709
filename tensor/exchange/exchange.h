// One communication of a workload on one rank: the steps of a lowered program (ir/program.h), over blocks of
// any length.
//
// Tables give the chunk of each message and each sum by its block and piece; so lengths are known only at run
// time, and may be uneven. The data of a message are used where they lie: a transport whose ranks share
// memory lends it (Delivery::borrows), and one that does not stores it at the address given. A message starts
// when its data are there, a sum when its operands are (runtime/exchange/message_plan.h), so what is computed
// beside is handed over piece by piece, whatever the steps. Sums of several
// operands in a row are one, which reads each once and stores once. A complete sum may instead go to a
// function of the caller, in pieces that fit the first-level cache: then only what that function stores is
// stored.
//
// C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/device/elements.h"
#include "runtime/device/own_steps.h"
#include "runtime/exchange/message_plan.h"
#include "runtime/exchange/scattered.h"
#include "runtime/exchange/transport.h"
#include "tensor/exchange/parts.h"

// Elements of a sum of several operands that are made at once: the same throughout a program.
#ifndef CHORALE_BLOCK
#define CHORALE_BLOCK 2048
#endif

namespace chorale {

// For operands that are complete, and results that no worker waits for. Other Progress types are kBeside if
// computation overlaps. is_made(): whether elements of the input are there; needs() waits for them; has():
// elements of the output are complete.
struct NoProgress {
  static constexpr bool kBeside = false;
  bool is_made(std::int64_t, std::int64_t) { return true; }
  void needs(std::int64_t, std::int64_t) {}
  void has(std::int64_t, std::int64_t) {}
};

template <Combination op, typename T>
CHORALE_LOOP void combine_into(T* __restrict__ to, const T* __restrict__ b, std::int64_t count) {
  for (std::int64_t e = 0; e < count; ++e) to[e] = combined<op>(to[e], b[e]);
}
template <Combination op, typename T>
CHORALE_LOOP void combine(T* __restrict__ to, const T* __restrict__ a, const T* __restrict__ b,
                          std::int64_t count) {
  for (std::int64_t e = 0; e < count; ++e) to[e] = combined<op>(a[e], b[e]);
}

// The ranks of the transport that tables are about: from the first one on, each, or every `stride`-th one.
struct Peers {
  int first = 0, stride = 1;
  Peers(int from, int step = 1) : first(from), stride(step) {}
  int rank(int peer) const { return first + peer * stride; }
};

// Tables, and the memory of those that were made when the program runs.
struct OwnedTables {
  struct Rows {
    std::vector<std::array<int, 3>> slots = {};
    std::vector<StepMessage> messages = {};
    std::vector<StepWork> work = {};
    std::vector<int> slices = {};
  };
  StepTables tables = {};
  std::shared_ptr<const Rows> rows = {};

  OwnedTables(const StepTables& given) : tables(given) {}
};

// The pieces of an overlap, and the tiles of communications one after the other, where none are asked for. On
// hosts each piece is a hand-over between threads, and 8 take no more processor time than 2.
inline constexpr int kUsualPieces = 8;

// For a communication beside computation: chunks are cut until there are `pieces` of a vector, 0: the usual
// number, each of at least 2^10 elements; and of a step those with one number are a step, so what goes by
// steps hands them over one by one, but where two pieces use a slot in one step.
inline OwnedTables by_pieces(const StepTables& given, const Blocks& blocks, int pieces) {
  std::map<std::array<int, 4>, int> pieces_in;  // by step, rank, buffer and slot
  std::set<std::pair<int, int>> chunks;
  bool apart = true;
  const auto uses = [&](const auto& row, int rank, int buffer, int slot) {
    apart = pieces_in.insert({{row.step, rank, buffer, slot}, row.piece}).first->second == row.piece && apart;
    chunks.insert({row.block, row.piece});
  };
  for (int i = 0; i < given.message_count; ++i) {
    const StepMessage& m = given.messages[i];
    uses(m, m.from, m.from_buffer, m.from_slot);
    uses(m, m.to, m.to_buffer, m.to_slot);
  }
  for (int i = 0; i < given.work_count; ++i) {
    const StepWork& w = given.work[i];
    uses(w, w.rank, w.from_buffer, w.from_slot);
    uses(w, w.rank, w.to_buffer, w.to_slot);
  }
  std::int64_t longest = 0;
  for (std::size_t b = 0; b + 1 < blocks.size(); ++b) longest = std::max(longest, blocks[b + 1] - blocks[b]);
  const int all = std::max(1, static_cast<int>(chunks.size())), wanted = pieces > 0 ? pieces : kUsualPieces;
  const int parts = static_cast<int>(std::max<std::int64_t>(
      1, std::min<std::int64_t>((wanted + all - 1) / all, longest / given.pieces >> 10)));
  OwnedTables result(given);
  StepTables& tables = result.tables;
  tables.pieces = given.pieces * parts;
  tables.steps = apart ? given.steps * tables.pieces : given.steps;
  const auto rows = std::make_shared<OwnedTables::Rows>();
  const auto add = [&](auto row, auto& to, auto... slots) {
    const int step = row.step, piece = row.piece;
    const auto first = row;
    for (int k = 0; k < parts; ++k) {
      row.piece = piece * parts + k;
      row.step = apart ? step * tables.pieces + row.piece : step;
      ((row.*slots = first.*slots * parts + k), ...);
      to.push_back(row);
    }
  };
  for (int i = 0; i < given.message_count; ++i)
    add(given.messages[i], rows->messages, &StepMessage::from_slot, &StepMessage::to_slot);
  for (int i = 0; i < given.work_count; ++i)
    add(given.work[i], rows->work, &StepWork::from_slot, &StepWork::to_slot);
  const auto earlier = [](const auto& a, const auto& b) { return a.step < b.step; };
  std::stable_sort(rows->messages.begin(), rows->messages.end(), earlier);
  std::stable_sort(rows->work.begin(), rows->work.end(), earlier);
  for (int n = 0; n < given.ranks; ++n) {
    rows->slots.push_back(given.slots[n]);
    for (int& slots : rows->slots.back()) slots *= parts;
    if (given.slices != nullptr) rows->slices.push_back(given.slices[n] * parts);
  }
  tables.slots = rows->slots.data();
  tables.messages = rows->messages.data(), tables.message_count = static_cast<int>(rows->messages.size());
  tables.work = rows->work.data(), tables.work_count = static_cast<int>(rows->work.size());
  if (given.slices != nullptr) tables.slices = rows->slices.data();
  result.rows = rows;
  return result;
}

// The work of a rank in each step, for given lengths of blocks. A rank outside the tables (-1) does nothing.
class ExchangePlan {
 public:
  struct Step {
    std::vector<OwnMessage> sends = {}, receives = {};
    std::vector<OwnSum> sums = {};
    std::vector<Span> finished = {};  // of the output

    // function(first index, how many) of the parts of the input that it reads, in this order.
    template <typename Function>
    void for_each_input(Function function) const {
      for (const OwnMessage& m : sends)
        if (m.from.buffer == 0) function(m.from.begin, m.from.count);
      for (const OwnSum& sum : sums)
        for (const Span& place : sum.from)
          if (place.buffer == 0) function(place.begin, sum.to.count);
    }
  };

  // Elements have `size` bytes. Of rank `rank` of the tables. A tile is a part of each block, of whole rows
  // of `row` elements.
  ExchangePlan(std::int64_t size, const OwnedTables& tables, int rank, Peers peers, Blocks blocks,
               int tile = 0, int tiles = 1, std::int64_t row = 1)
      : tables_(tables.tables),
        rows_(tables.rows),
        rank_(rank),
        peers_(peers),
        tile_(tile),
        tiles_(tiles),
        row_(row),
        size_(size),
        blocks_(std::move(blocks)) {
    plan();
  }

  const StepTables& tables() const { return tables_; }
  int rank() const { return rank_; }
  const std::vector<Step>& steps() const { return steps_; }
  std::int64_t scratch_elements() const { return scratch_elements_; }

  // For own_steps.
  Span span(int rank, int buffer, int slot, int block, int piece) const {
    const std::int64_t count = index(block, piece + 1) - index(block, piece);
    if (buffer == 2) return {buffer, slot * longest_, count};
    const bool own = buffer == 0 ? tables_.own_input : tables_.own_output;
    const int at = own ? rank : slot / tables_.pieces;
    return {buffer, (own ? 0 : blocks_[static_cast<std::size_t>(at)]) + index(at, slot % tables_.pieces),
            count};
  }
  // Of the tile, within the block.
  std::int64_t index(int block, int piece) const {
    const std::int64_t length = blocks_[block + 1] - blocks_[block];
    const auto tile_begin = [&](int tile) {
      return tile == tiles_ ? length : part_begin(length / row_, tiles_, tile) * row_;
    };
    const std::int64_t begin = tile_begin(tile_), end = tile_begin(tile_ + 1);
    return begin + part_begin(end - begin, tables_.pieces, piece);
  }

  // The parts of the input, in the order in which run() needs them: first index, and how many.
  std::vector<std::pair<std::int64_t, std::int64_t>> needed() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> parts;
    for (const Step& step : steps_)
      step.for_each_input([&](std::int64_t begin, std::int64_t count) { parts.emplace_back(begin, count); });
    return parts;
  }

 protected:
  // Refuses tables whose sums are rounded once, for exchanges that round after each addition.
  void round_each(bool is_short) const {
    if (is_short && tables_.adds_once)
      throw std::invalid_argument(
          "sums of 16-bit floats are to be rounded once, which GPUs do not do: compile with another --order");
  }

  void plan() {
    for (std::size_t b = 0; b + 1 < blocks_.size(); ++b)
      longest_ = std::max(longest_, index(static_cast<int>(b), 1) - index(static_cast<int>(b), 0));
    scratch_elements_ = rank_ < 0 ? 0 : longest_ * tables_.slots[rank_][2];
    for (OwnStep& planned : own_steps(tables_, rank_, *this)) {
      steps_.push_back({std::move(planned.sends), std::move(planned.receives), fused_sums(planned.work), {}});
      find_brought(steps_.back());
    }
    find_finished();
  }

  // The content of a slot that a message of this step has arrived in is in the message's buffer, until the
  // slot is stored over.
  static void find_brought(Step& step) {
    for (auto sum = step.sums.begin(); sum != step.sums.end(); ++sum)
      for (Span& from : sum->from) {
        if (std::any_of(step.sums.begin(), sum, [&](const OwnSum& s) { return s.to.same_slot(from); }))
          continue;
        const auto m = std::find_if(step.receives.begin(), step.receives.end(),
                                    [&](const OwnMessage& each) { return each.to.same_slot(from); });
        if (m != step.receives.end())
          from.receive = static_cast<int>(m - step.receives.begin()), from.buffer = -1;
      }
  }

  // A slot of the output is finished with the last step that writes it.
  void find_finished() {
    std::vector<Span> seen;
    for (std::size_t s = steps_.size(); s-- > 0;) {
      const auto look = [&](const Span& place) {
        if (place.buffer != 1) return;
        if (std::any_of(seen.begin(), seen.end(), [&](const Span& p) { return p.same_slot(place); })) return;
        seen.push_back(place);
        steps_[s].finished.push_back(place);
      };
      for (const OwnMessage& m : steps_[s].receives) look(m.to);
      for (const OwnSum& sum : steps_[s].sums) look(sum.to);
    }
  }

  const StepTables tables_;
  const std::shared_ptr<const OwnedTables::Rows> rows_;
  const int rank_;
  const Peers peers_;
  const int tile_, tiles_;
  const std::int64_t row_, size_;
  const Blocks blocks_;
  std::vector<Step> steps_;
  std::int64_t longest_ = 0, scratch_elements_ = 0;
};

// In float where elements are shorter, and rounded once.
template <Combination op, typename T>
void combine_once(T* to, const std::vector<const T*>& operands, std::int64_t first, std::int64_t count) {
  for (std::int64_t e = 0; e < count; ++e) {
    auto sum = wide_value(operands[0][first + e]);
    for (std::size_t k = 1; k < operands.size(); ++k)
      sum = combined<op>(sum, wide_value(operands[k][first + e]));
    to[e] = T(sum);
  }
}

template <typename T, Combination op = Combination::Sum>
class Exchange : public ExchangePlan {
 public:
  using Element = T;
  static constexpr Combination kCombination = op;

  template <typename... Rest>
  Exchange(const OwnedTables& tables, Rest&&... rest)
      : ExchangePlan(sizeof(T), tables, std::forward<Rest>(rest)...) {}

  // From an input to an output, which do not overlap, or, if one is the rank's part of the other, share that
  // part. The function receives complete sums: void(index of the first in the output, count, operand, other
  // operand or null).
  template <typename Transport, typename Function = NoSumFunction, typename Progress = NoProgress>
  void run(Transport& transport, const BufferView<T>& input, const BufferView<T>& output,
           Function&& function = {}, Progress&& progress = {}) {
    if (scratch_ == nullptr && scratch_elements_ > 0) scratch_.reset(new T[scratch_elements_]);
    // Tiles are sent as they are made, and so at the rate of the port.
    const bool has_lanes = !std::decay_t<Progress>::kBeside;
    if (!driver_) prepare(transport.order(), has_lanes);
    const BufferView<T> buffers[] = {input, output, BufferView<T>(scratch_.get())};
    const auto over = [&](int number) {
      Task& task = tasks_[number];
      if (task.finishes) progress.has(plan_[number].to.begin, plan_[number].to.count);
      if (task.readers == 0) transport.give_back(task.message);
      for (const Span& from : plan_[number].from)
        if (from.receive >= 0 && --tasks_[from.receive].unread == 0)
          transport.give_back(tasks_[from.receive].message);
    };
    const auto begin = [&](int number) {
      const MessageTask& task = plan_[number];
      for (const Span& from : task.from)
        if (from.buffer == 0) progress.needs(from.begin, from.count);
      if (task.kind == MessageTask::Kind::Sum) {
        add_up(task, buffers, function);
        over(number);
        return true;
      }
      Delivery& message = tasks_[number].message;
      tasks_[number].unread = tasks_[number].readers;
      set_place(message, buffers[task.span().buffer], task.span());
      transport.start(message, task.kind == MessageTask::Kind::Send, number);
      return false;
    };
    const auto is_made = [&](int number) {
      return std::all_of(plan_[number].from.begin(), plan_[number].from.end(), [&](const Span& from) {
        return from.buffer != 0 || progress.is_made(from.begin, from.count);
      });
    };
    std::set<int> waiting;  // for what is made beside, in their order
    driver_->run(
        [&](int number) {
          if (is_made(number)) return begin(number);
          waiting.insert(number);
          return false;
        },
        [&] {
          for (;;) {
            std::vector<int> ended = transport.ended(waiting.empty());
            for (const int number : ended) over(number);
            // Where nothing else can go on, the first is waited for.
            for (bool waits = ended.empty(); !waiting.empty() && (waits || is_made(*waiting.begin()));
                 waits = false) {
              const int number = *waiting.begin();
              waiting.erase(waiting.begin());
              if (begin(number)) ended.push_back(number);
            }
            if (!ended.empty()) return ended;
          }
        });
  }

 private:
  struct Task {
    Delivery message = {};
    bool finishes = false;        // a slot of the output
    int readers = 0, unread = 0;  // of a receive: sums of its step, and those that are not done
  };

  // Sums that go to a function are made in the order of the plan: it may keep a total.
  void prepare(MessageOrder order, bool has_lanes) {
    if (order == MessageOrder::Lanes && !has_lanes) order = MessageOrder::Memory;
    const auto slot = [](const Span& span) {
      return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(span.begin * 3 + span.buffer));
    };
    plan_ = MessagePlanner(tables_, own_steps(tables_, rank_, *this), size_, slot, nullptr, order).plan();
    tasks_.assign(plan_.size(), {});
    int last = -1;
    for (std::size_t t = 0; t < plan_.size(); ++t) {
      MessageTask& task = plan_[t];
      if (task.kind != MessageTask::Kind::Sum) {
        tasks_[t].message = {peers_.rank(task.peer),
                             task.row,
                             nullptr,
                             task.span().count * size_,
                             task.step,
                             task.stays,
                             task.borrows};
        tasks_[t].message.arrives = task.arrives;
      } else if (task.completes != 0) {
        if (last >= 0) task.after.push_back(last);
        last = static_cast<int>(t);
      }
      for (const Span& from : task.from)
        if (from.receive >= 0) ++tasks_[from.receive].readers;
    }
    std::set<std::int64_t> seen;  // slots of the output, from the last task on
    for (std::size_t t = plan_.size(); t-- > 0;)
      if (plan_[t].kind != MessageTask::Kind::Send && plan_[t].to.buffer == 1 && plan_[t].to.count > 0)
        tasks_[t].finishes = seen.insert(plan_[t].to.begin).second;
    driver_.emplace(plan_);
  }

  static void set_place(Delivery& delivery, const BufferView<T>& buffer, const Span& place) {
    delivery.pieces.clear();
    if (buffer.is_together()) {
      delivery.data = buffer.at(place.begin);
      return;
    }
    constexpr std::int64_t size = sizeof(T);
    for (std::int64_t e = 0; e < place.count;) {
      const Interval<T> run = buffer.run(place.begin + e, place.count - e);
      delivery.pieces.push_back({reinterpret_cast<char*>(run.at), run.count * size});
      e += run.count;
    }
  }

  // The data of a message, from an element on: `count` is shortened to a contiguous range.
  static const T* brought(const Delivery& receive, std::int64_t index, std::int64_t& count) {
    const std::vector<Interval<char>>* const pieces = receive.at_pieces != nullptr ? receive.at_pieces
                                                      : receive.pieces.empty()     ? nullptr
                                                                                   : &receive.pieces;
    if (pieces == nullptr) return static_cast<const T*>(receive.at) + index;
    constexpr std::int64_t size = sizeof(T);
    for (const Interval<char>& piece : *pieces) {
      const std::int64_t elements = piece.count / size;
      if (index < elements) {
        count = std::min(count, elements - index);
        return reinterpret_cast<const T*>(piece.at) + index;
      }
      index -= elements;
    }
    return nullptr;  // none such
  }

  // Range by range, in each of which all operands and the result are contiguous.
  template <typename Function>
  void add_up(const MessageTask& sum, const BufferView<T>* buffers, Function&& function) {
    for (std::int64_t e = 0; e < sum.to.count;) {
      std::int64_t count = sum.to.count - e;
      operands_.clear();
      for (const Span& place : sum.from) {
        if (place.receive >= 0) {
          operands_.push_back(brought(tasks_[place.receive].message, e, count));
        } else {
          const Interval<T> run = buffers[place.buffer].run(place.begin + e, count);
          operands_.push_back(run.at);
          count = run.count;
        }
      }
      T* to = nullptr;
      if (sum.completes != 1) {
        const Interval<T> run = buffers[sum.to.buffer].run(sum.to.begin + e, count);
        to = run.at;
        count = run.count;
      }
      add_up(sum.index + e, count, sum.completes, to, function);
      e += count;
    }
  }
  template <typename Function>
  void add_up(std::int64_t index, std::int64_t all, int completes, T* to, Function&& function) {
    const std::size_t last = operands_.size() - 1;
    if (last == 0 && completes == 0) {
      if (to != operands_[0]) std::copy_n(operands_[0], all, to);
      return;
    }
    if (last <= 1 && to == nullptr) {
      function(index, all, operands_[0], last == 1 ? operands_[1] : static_cast<const T*>(nullptr));
      return;
    }
    constexpr std::int64_t kAtOnce = CHORALE_BLOCK;  // stays in the first cache
    T kept[kAtOnce];
    for (std::int64_t e = 0; e < all; e += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, all - e);
      if (is_short<T> && tables_.adds_once && last > 1) {
        T* const sum = to == nullptr ? kept : to + e;
        combine_once<op>(sum, operands_, e, count);
        if (completes != 0)
          function(index + e, count, static_cast<const T*>(sum), static_cast<const T*>(nullptr));
        continue;
      }
      if (to == nullptr) {
        combine<op>(kept, operands_[0] + e, operands_[1] + e, count);
        for (std::size_t k = 2; k < last; ++k) combine_into<op>(kept, operands_[k] + e, count);
        function(index + e, count, static_cast<const T*>(kept), operands_[last] + e);
        continue;
      }
      if (last == 0) {
        if (to != operands_[0]) std::copy_n(operands_[0] + e, count, to + e);
      } else if (to == operands_[0]) {
        combine_into<op>(to + e, operands_[1] + e, count);
      } else {
        combine<op>(to + e, operands_[0] + e, operands_[1] + e, count);
      }
      for (std::size_t k = 2; k <= last; ++k) combine_into<op>(to + e, operands_[k] + e, count);
      if (completes == 2)
        function(index + e, count, static_cast<const T*>(to + e), static_cast<const T*>(nullptr));
    }
  }

  MessagePlan plan_ = {};
  std::vector<Task> tasks_ = {};
  std::optional<MessageDriver> driver_ = {};
  std::unique_ptr<T[]> scratch_ = {};
  std::vector<const T*> operands_ = {};  // of the sum that is being made
};

// The number of tiles that blocks are cut into for communications one after the other: `wanted`, or, if 0, up
// to the usual number, each long enough to be worth its messages; the same on all ranks.
inline int tile_count(const Blocks& blocks, int wanted = 0) {
  const std::int64_t longest = blocks.size() < 2 ? 0 : blocks[1] - blocks[0];
  const std::int64_t most = wanted > 0 ? std::min<std::int64_t>(wanted, longest >> 10)
                                       : std::min<std::int64_t>(kUsualPieces, longest >> 13);
  return static_cast<int>(std::max<std::int64_t>(1, most));
}
template <typename Exchange>
std::vector<Exchange> tiled_exchange(const OwnedTables& tables, int rank, Peers peers, const Blocks& blocks,
                                     int tiles, std::int64_t row = 1) {
  std::vector<Exchange> exchanges;
  for (int tile = 0; tile < tiles; ++tile)
    exchanges.emplace_back(tables, rank, peers, blocks, tile, tiles, row);
  return exchanges;
}
// The ranges that they need, one after the other.
template <typename Exchange>
std::vector<std::pair<std::int64_t, std::int64_t>> needed(const std::vector<Exchange>& exchanges) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const Exchange& exchange : exchanges)
    for (const auto& part : exchange.needed()) parts.push_back(part);
  return parts;
}

}  // namespace chorale
