// An executor that is simple enough to trust: a thread per block, a mutex per rank, messages as vectors whose
// ownership is passed on. Blocks go on as their dependencies allow and not in steps, so every order that the
// program permits may happen, and bounded queues block a sender as those of a real executor do. It is not
// made to be fast.
//
// What orders blocks: done[b] counts the instructions of block b that are complete, message sent and all, and
// rises under the rank's mutex; a wait for a count, a queue or a barrier is a wait at that rank. A queue lies
// with its receiver, has one sender and one receiver, and a sender checks for room under the receiver's mutex
// while it holds none of its own: no thread ever holds two, so only the program itself can hang.
#include "runtime/block_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "ir/error.h"
#include "runtime/epilogue.h"
#include "runtime/rows.h"
#include "runtime/test_data.h"
#include "runtime/together.h"

namespace chorale {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

struct Stopped {};  // another block has failed

// A block that waits, and for what.
struct Waiter {
  std::function<bool()> ready;
  std::condition_variable woken = {};
};

// What the blocks of a rank wait at: progress of its blocks, and the queues that end there.
struct Rendezvous {
  std::mutex mutex = {};
  std::list<Waiter*> waiting = {};
  std::vector<int> done = {};                                 // by block: instructions
  std::map<int, int> missing = {};                            // by barrier: blocks that have not come
  std::map<std::pair<Rank, int>, std::deque<Bytes>> in = {};  // by sender and channel

  // With the mutex held. Only who may go on is woken: a rank has many blocks, each of which would look after
  // each instruction of all others.
  void changed() {
    for (Waiter* each : waiting)
      if (each->ready()) each->woken.notify_one();
  }
};

// A rank's memory, in the type in which values are kept. Slots of one buffer follow each other as the pieces
// of its blocks do; a scratch slot has room for the longest piece.
class Memory {
 public:
  Memory(const BlockProgram& program, Rank n, const BlockShape& shape, ElementType kept, bool in_place)
      : program_(program),
        rank_(n),
        shape_(shape),
        pieces_{shape.elements, program.chunks_per_block},
        kept_(kept),
        in_place_(in_place) {
    const BlockRank& rank = program.ranks[n];
    // In place both may lie in either.
    make_room({Buffer::Input, rank.input_chunks});
    make_room({Buffer::Output, rank.output_chunks});
    scratch_.resize(pieces_.longest() * rank.scratch_chunks * size());
  }

  std::byte* at(const Slot& given) {
    const Slot slot = where(given);
    if (slot.buffer == Buffer::Scratch) return scratch_.data() + slot.index * pieces_.longest() * size();
    return (slot.buffer == Buffer::Input ? input_ : output_).data() + pieces_.slot_begin(slot.index) * size();
  }

  const Pieces& pieces() const { return pieces_; }

  // In the elements' own type. Chunk by chunk, since in place they may lie elsewhere.
  void write_input(const Bytes& bytes) {
    for (int i = 0; i < program_.ranks[rank_].input_chunks; ++i)
      convert(i, at({Buffer::Input, i}), bytes.data() + pieces_.slot_begin(i) * door_size(), widen);
  }
  Bytes read(Buffer buffer) {
    const int chunks = chunks_in(program_.ranks[rank_], buffer);
    Bytes bytes(pieces_.slot_begin(chunks) * door_size());
    for (int i = 0; i < chunks; ++i)
      convert(i, bytes.data() + pieces_.slot_begin(i) * door_size(), at({buffer, i}), narrow);
    return bytes;
  }
  void divide_output(int by) {
    for (int i = 0; i < program_.ranks[rank_].output_chunks; ++i)
      divide(kept_, at({Buffer::Output, i}), pieces_.slot_length(i), by);
  }
  void spoil_output() {
    for (int i = 0; i < program_.ranks[rank_].output_chunks; ++i)
      TestData::spoil_output(
          {at({Buffer::Output, i}), static_cast<std::size_t>(pieces_.slot_length(i) * size())});
  }
  std::int64_t input_bytes() const {
    return pieces_.slot_begin(program_.ranks[rank_].input_chunks) * door_size();
  }

 private:
  // Of an element as it is kept, and as it comes in and goes out.
  std::int64_t size() const { return static_cast<std::int64_t>(size_of(kept_)); }
  std::int64_t door_size() const { return static_cast<std::int64_t>(size_of(shape_.type)); }
  Slot where(const Slot& slot) const {
    return in_place_ ? in_place_slot(program_.collective, program_.chunks_per_block, rank_, slot) : slot;
  }
  // For slots before this one. In place one buffer may hold both, and is as long as what lies farthest in it.
  void make_room(const Slot& end) {
    if (end.index == 0) return;
    const Slot last = where({end.buffer, end.index - 1});
    Bytes& buffer = last.buffer == Buffer::Input ? input_ : output_;
    buffer.resize(std::max<std::size_t>(buffer.size(), pieces_.slot_begin(last.index + 1) * size()));
  }
  // Between the elements' type and that in which values are kept.
  template <typename Convert>
  void convert(int slot, std::byte* to, const std::byte* from, Convert convert) const {
    const std::int64_t count = pieces_.slot_length(slot);
    if (count == 0) return;
    if (kept_ == shape_.type)
      std::memcpy(to, from, count * size());
    else
      convert(shape_.type, to, from, count);
  }

  const BlockProgram& program_;
  const Rank rank_;
  const BlockShape shape_;
  const Pieces pieces_;
  const ElementType kept_;
  const bool in_place_;
  Bytes input_ = {}, output_ = {}, scratch_ = {};
};

class Machine {
 public:
  // With wide sums memory and messages are of the wide type, and only inputs and outputs are converted.
  Machine(const BlockProgram& program, const BlockShape& shape, ReduceOp op, const BlockRunOptions& options)
      : program_(program),
        op_(op),
        options_(options),
        kept_(shape.type),
        epilogue_(program, {shape.elements, program.chunks_per_block}),
        function_(program.epilogue.expression.empty() ? options.epilogue : epilogue_.function()),
        meeting_(program.ranks.size()) {
    reduces_ = reduces(program);
    if (reduces_ && shape.accumulation == Accumulation::Float32) kept_ = wide_type(shape.type);
    for (Rank n = 0; n < ranks(); ++n) {
      meeting_[n].done.resize(program.ranks[n].blocks.size(), 0);
      blocks_ += static_cast<int>(program.ranks[n].blocks.size());
      memory_.push_back(std::make_unique<Memory>(program, n, shape, kept_, options.in_place));
    }
  }

  int ranks() const { return static_cast<int>(program_.ranks.size()); }
  // Of the function that is applied, if one is.
  EpilogueFunction reference() const {
    if (!has_epilogue(program_)) return {};
    return program_.epilogue.expression.empty() ? options_.epilogue : epilogue_.reference();
  }
  bool in_place() const { return options_.in_place; }
  std::int64_t input_bytes(Rank n) const { return memory_[n]->input_bytes(); }
  void write_input(Rank n, const Bytes& bytes) { memory_[n]->write_input(bytes); }
  void spoil_output(Rank n) { memory_[n]->spoil_output(); }
  Bytes input(Rank n) { return memory_[n]->read(Buffer::Input); }
  // Once after a run: averages are finished here.
  Bytes output(Rank n) {
    if (op_ == ReduceOp::Avg && reduces_ && !has_epilogue(program_)) memory_[n]->divide_output(ranks());
    return memory_[n]->read(Buffer::Output);
  }

  // Runs the program so often; microseconds of each time. before(i) is called before each while all blocks
  // rest. All blocks meet before each run, and once more after the last: what is done between two runs is
  // done by the last block to come, while no other is at work.
  template <typename Before>
  std::vector<double> run(int times, Before before) {
    std::vector<double> took;
    Clock::time_point start;
    int next = 0;
    // Between two runs one thread finishes the last and prepares the next.
    const auto between = [&]() noexcept {
      if (next > 0) took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      if (next < times) {
        before(next);
        for (Rank n = 0; n < ranks(); ++n) {
          std::ranges::fill(meeting_[n].done, 0);
          count_barriers(n);
        }
      }
      ++next;
      start = Clock::now();
    };
    std::barrier barrier(blocks_, between);
    std::vector<std::function<void()>> works;
    for (Rank n = 0; n < ranks(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        works.emplace_back([this, n, b, times, &barrier] {
          for (int i = 0; i < times; ++i) {
            barrier.arrive_and_wait();
            try {
              // A block that fails, or is stopped, still comes to the barriers, so that all threads end.
              block(n, b);
            } catch (const Stopped&) {
            } catch (...) {
              fail(std::current_exception());
            }
          }
          barrier.arrive_and_wait();
        });
    run_together(works);
    if (failure_) std::rethrow_exception(failure_);
    return took;
  }

 private:
  // A barrier is met once in a run, by each block that has its number.
  void count_barriers(Rank n) {
    meeting_[n].missing.clear();
    for (const Block& block : program_.ranks[n].blocks)
      for (const BlockInstruction& i : block.instructions)
        if (i.barrier >= 0) ++meeting_[n].missing[i.barrier];
  }

  // The first failure counts.
  void fail(const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(failing_);
      if (!failure_) failure_ = failure;
    }
    stopped_ = true;
    for (Rendezvous& meeting : meeting_) {
      const std::lock_guard lock(meeting.mutex);
      meeting.changed();
    }
  }

  // With the mutex held. A block that has failed ends all waits (Stopped, which is no failure of the waiting
  // one); a wait that is too long is a Hang, and names what did not come.
  template <typename Condition, typename Words>
  void wait(std::unique_lock<std::mutex>& lock, Rendezvous& meeting, Condition condition, Words words) {
    Waiter waiter{.ready = [&] { return stopped_.load() || condition(); }};
    const auto place = meeting.waiting.insert(meeting.waiting.end(), &waiter);
    const bool in_time = waiter.woken.wait_for(lock, options_.timeout, waiter.ready);
    meeting.waiting.erase(place);
    if (stopped_) throw Stopped{};
    if (!in_time)
      throw Hang(words() +
                 fmt::format(" within {:.3g} s", std::chrono::duration<double>(options_.timeout).count()));
  }

  std::string here(Rank n, int b, int i) const {
    return fmt::format("rank {}, block {}, instruction {} ({})", n, b, i,
                       to_string(program_.ranks[n].blocks[b].instructions[i]));
  }

  // One block, once. An instruction waits for its dependencies, for its barrier and for its message, in this
  // order; then it works without any lock, on slots that the verifier has shown to be its own at that time;
  // then it sends, and only then is it done.
  void block(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    Rendezvous& mine = meeting_[n];
    for (int k = 0; k < static_cast<int>(block.instructions.size()); ++k) {
      const BlockInstruction& i = block.instructions[k];
      Bytes message;
      {
        std::unique_lock lock(mine.mutex);
        for (const BlockReference& before : i.after)
          wait(
              lock, mine, [&] { return mine.done[before.block] > before.instruction; },
              [&] {
                return here(n, b, k) + fmt::format(": block {}, instruction {} was not complete",
                                                   before.block, before.instruction);
              });
        if (i.barrier >= 0) {
          int& missing = mine.missing[i.barrier];
          if (--missing == 0) mine.changed();
          wait(
              lock, mine, [&] { return missing == 0; },
              [&] { return here(n, b, k) + fmt::format(": {} of its blocks did not come", missing); });
        }
        if (i.does.takes) {
          std::deque<Bytes>& queue = mine.in[{block.recv_from, block.channel}];
          wait(
              lock, mine, [&] { return !queue.empty(); },
              [&] {
                return here(n, b, k) + fmt::format(": no message came from rank {} on channel {}",
                                                   block.recv_from, block.channel);
              });
          message = std::move(queue.front());
          queue.pop_front();
          mine.changed();
        }
      }
      // Without any lock: others may go on at this rank meanwhile.
      Bytes result = work(n, i.does, message);
      if (i.does.sends) {
        Rendezvous& theirs = meeting_[block.send_to];
        {
          std::unique_lock lock(theirs.mutex);
          std::deque<Bytes>& queue = theirs.in[{n, block.channel}];
          wait(
              lock, theirs, [&] { return static_cast<int>(queue.size()) < options_.queue_depth; },
              [&] {
                return here(n, b, k) + fmt::format(": rank {} did not take earlier messages on channel {}",
                                                   block.send_to, block.channel);
              });
          queue.push_back(std::move(result));
          theirs.changed();
        }
      }
      {
        const std::lock_guard lock(mine.mutex);
        mine.done[b] = k + 1;
        mine.changed();
      }
    }
  }

  // Chunk after chunk; the results, if they are to be sent. What is received is one more operand, the first.
  // A result that is stored nowhere is made beside memory and only sent.
  Bytes work(Rank n, const DataOperation& op, const Bytes& message) {
    Memory& memory = *memory_[n];
    Bytes out;
    std::size_t at = 0;
    for (int c = 0; c < op.count && !does_nothing(op); ++c) {
      const std::int64_t elements = memory.pieces().length((op.piece + c) % program_.chunks_per_block);
      const std::size_t bytes = elements * size_of(kept_);
      std::vector<const std::byte*> from;
      if (op.takes) {
        if (at + bytes > message.size()) throw std::logic_error("a message is too short");
        from.push_back(message.data() + at);
        at += bytes;
      }
      for (const DataPlace& place : op.from) from.push_back(memory.at(next_place(place, c).slot));
      std::vector<std::byte*> to;
      for (const DataPlace& place : op.to) to.push_back(memory.at(next_place(place, c).slot));
      Bytes unstored(to.empty() ? bytes : 0);
      std::byte* const result =
          combine(kept_, op_, from, to.empty() ? unstored.data() : to.front(), elements);
      if (applies(op))
        finish(kept_, op_, ranks(), function_, result, elements, memory.pieces().slot_begin(op.position + c),
               n);
      for (std::size_t t = 1; t < to.size() && bytes > 0; ++t) std::memcpy(to[t], result, bytes);
      if (op.sends) out.insert(out.end(), result, result + bytes);
    }
    return out;
  }

  const BlockProgram& program_;
  const ReduceOp op_;
  const BlockRunOptions options_;
  ElementType kept_ = ElementType::Float32;  // of values between operations
  const EpilogueRun epilogue_;
  const EpilogueFunction function_;  // the program's own, or the caller's
  std::vector<std::unique_ptr<Memory>> memory_ = {};
  std::vector<Rendezvous> meeting_;  // by rank
  int blocks_ = 0;                   // of all ranks
  bool reduces_ = false;
  std::atomic<bool> stopped_ = false;  // a block has failed: all waits end
  std::mutex failing_ = {};
  std::exception_ptr failure_ = {};
};

// With less room than the program states, blocks that receive and send in a ring would wait for each other:
// each has taken a message and wants room for the next.
void require_depth(const BlockProgram& program, const BlockRunOptions& options) {
  if (options.queue_depth < program.queue_depth)
    throw InputError(
        program.name,
        fmt::format("needs queues of depth {}, not {}", program.queue_depth, options.queue_depth),
        "run it with deeper queues");
}

}  // namespace

// output() is called once for each rank, since it finishes averages in place.
std::vector<std::vector<std::byte>> outputs_of(const Verified<BlockProgram>& program, const BlockShape& shape,
                                               ReduceOp op, const std::vector<std::vector<std::byte>>& inputs,
                                               const BlockRunOptions& options) {
  require_depth(*program, options);
  Machine machine(*program, shape, op, options);
  for (Rank n = 0; n < machine.ranks(); ++n) machine.write_input(n, inputs.at(n));
  machine.run(1, [](int) {});
  std::vector<std::vector<std::byte>> outputs;
  for (Rank n = 0; n < machine.ranks(); ++n) outputs.push_back(machine.output(n));
  return outputs;
}

// A machine for each row; the timeout of the run is that of each wait.
std::vector<RunRow> run_blocks_on_threads(const Verified<BlockProgram>& program, const RunOptions& options,
                                          const BlockRunOptions& how) {
  check(options);
  require_depth(*program, how);
  BlockRunOptions block_options = how;
  block_options.timeout = options.timeout;
  return for_all_rows(options, [&](const BlockShape& shape, ReduceOp op) {
    Machine machine(*program, shape, op, block_options);
    return run_row_of_all(machine, program.collective(), shape, op, options, machine.reference());
  });
}

}  // namespace chorale
