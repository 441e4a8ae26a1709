#include "semantics/verify_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "ir/words.h"
#include "semantics/fault_list.h"
#include "semantics/program_sizes.h"
#include "semantics/promise.h"

namespace chorale {
namespace {

struct Value {
  std::shared_ptr<const SymbolicSum> sum = {};  // null: never written
  int piece = 0;
  int epilogues = 0;  // that it has had
};

// How far each block of each rank has come, as seen from one of them: by block, numbered through.
using Clock = std::vector<int>;

struct Message {
  std::vector<Value> values = {};
  Clock clock = {};
};

// Who has touched a slot since its last write.
struct History {
  int writer = -1;  // block, numbered through
  int written = 0;  // its clock then
  std::map<int, int> reads = {};
};

class BlockReferee : FaultList {
 public:
  BlockReferee(const Collective& collective, const BlockProgram& program, const BlockRefereeOptions& options,
               int limit)
      : FaultList(limit),
        collective_(collective),
        program_(program),
        depth_(options.depth),
        in_place_(options.in_place) {}

  std::vector<Fault> run() {
    sizes();
    if (found_.empty()) form();
    if (found_.empty()) barriers();
    if (found_.empty()) connections();
    if (!found_.empty()) return std::move(found_);
    start();
    bool moved = true;
    while (moved && !full()) {
      moved = false;
      for (Rank n = 0; n < ranks(); ++n)
        for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
          while (!full() && can_step(n, b)) {
            step(n, b);
            moved = true;
          }
    }
    ends();
    if (found_.empty()) outputs();
    return std::move(found_);
  }

 private:
  using Connection = std::tuple<Rank, Rank, int>;  // from, to, channel

  int ranks() const { return collective_.ranks; }
  int pieces() const { return program_.chunks_per_block; }

  std::string at(Rank n, int b, int i) const {
    return fmt::format("rank {}, block {}, instruction {} ({})", n, b, i,
                       to_string(program_.ranks[n].blocks[b].instructions[i]));
  }

  template <typename... Arguments>
  void complain(Kind kind, Rank n, int b, int i, fmt::format_string<Arguments...> text,
                Arguments&&... arguments) {
    if (!full())
      say(kind, {.rank = n, .block = b, .instruction = i}, "{}: {}", at(n, b, i),
          fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  void sizes() {
    for (Fault& fault : size_faults(collective_, program_)) say(std::move(fault));
  }

  void slots(Rank n, int b, int i, const Slot& slot) {
    const BlockRank& r = program_.ranks[n];
    const BlockInstruction& instruction = r.blocks[b].instructions[i];
    const int size = chunks_in(r, slot.buffer);
    if (slot.index < 0 || slot.index + instruction.count > size)
      complain(Kind::Form, n, b, i, "the buffer has {}", counted(size, "chunk"));
    else if (slot.buffer != Buffer::Scratch && slot.index % pieces() != instruction.piece)
      complain(Kind::Form, n, b, i, "{} is not piece {} of its block", to_string(slot), instruction.piece);
  }

  void form() {
    for (Rank n = 0; n < ranks() && !full(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b) {
        const Block& block = program_.ranks[n].blocks[b];
        for (Rank peer : {block.send_to, block.recv_from})
          if (peer < -1 || peer >= ranks() || peer == n)
            say(Kind::Form, {.rank = n, .block = b}, "rank {}, block {}: there is no peer {}", n, b, peer);
        for (int i = 0; i < static_cast<int>(block.instructions.size()); ++i) {
          const BlockInstruction& instruction = block.instructions[i];
          if (instruction.count < 1) complain(Kind::Form, n, b, i, "moves {} chunks", instruction.count);
          if (instruction.piece < 0 || instruction.piece >= pieces())
            complain(Kind::Form, n, b, i, "piece {} of {}", instruction.piece, pieces());
          if (sends(instruction.opcode) && block.send_to < 0)
            complain(Kind::Form, n, b, i, "the block has nobody to send to");
          if (receives(instruction.opcode) && block.recv_from < 0)
            complain(Kind::Form, n, b, i, "the block has nobody to receive from");
          if (reads_src(instruction.opcode)) slots(n, b, i, instruction.src);
          if (writes_dst(instruction.opcode)) {
            slots(n, b, i, instruction.dst);
            if (instruction.dst.buffer == Buffer::Input && !in_place_)
              complain(Kind::Written, n, b, i, "writes the input");
          }
          if (instruction.opcode == BlockOpcode::Barrier)
            meetings_[{n, instruction.barrier}].push_back({b, i});
          for (const BlockReference& before : instruction.after) {
            const auto& blocks = program_.ranks[n].blocks;
            if (before.block < 0 || before.block >= static_cast<int>(blocks.size()) ||
                before.instruction < 0 ||
                before.instruction >= static_cast<int>(blocks[before.block].instructions.size()))
              complain(Kind::Form, n, b, i, "depends on what does not exist");
          }
        }
      }
  }

  void barriers() {
    for (const auto& [barrier, meeting] : meetings_) {
      if (meeting.size() == 1)
        say(Kind::Match, {.rank = barrier.first, .block = meeting.front().block},
            "rank {}: nobody else has barrier {} of block {}", barrier.first, barrier.second,
            meeting.front().block);
      for (std::size_t k = 1; k < meeting.size(); ++k)
        if (meeting[k].block == meeting[k - 1].block)
          say(Kind::Match, {.rank = barrier.first, .block = meeting[k].block},
              "rank {}: block {} has barrier {} twice", barrier.first, meeting[k].block, barrier.second);
    }
  }

  void connections() {
    std::map<Connection, std::pair<int, int>> ends;  // senders, receivers
    for (Rank n = 0; n < ranks(); ++n)
      for (const Block& block : program_.ranks[n].blocks) {
        const auto any = [&](bool (*is)(BlockOpcode)) {
          return std::any_of(block.instructions.begin(), block.instructions.end(),
                             [&](const BlockInstruction& i) { return is(i.opcode); });
        };
        if (any(sends)) ++ends[{n, block.send_to, block.channel}].first;
        if (any(receives)) ++ends[{block.recv_from, n, block.channel}].second;
      }
    for (const auto& [connection, count] : ends)
      if (count.first != 1 || count.second != 1)
        say(Kind::Match, {.rank = std::get<0>(connection)}, "connection {} -> {} on channel {}: {} and {}",
            std::get<0>(connection), std::get<1>(connection), std::get<2>(connection),
            counted(count.first, "sender"), counted(count.second, "receiver"));
  }

  void start() {
    first_block_.resize(ranks() + 1, 0);
    for (Rank n = 0; n < ranks(); ++n)
      first_block_[n + 1] = first_block_[n] + static_cast<int>(program_.ranks[n].blocks.size());
    held_.resize(ranks());
    histories_.resize(ranks());
    for (Rank n = 0; n < ranks(); ++n)
      for (int i = 0; i < program_.ranks[n].input_chunks; ++i)
        held_[n][where(n, {Buffer::Input, i})] = {
            std::make_shared<SymbolicSum>(SymbolicSum{{promise_.place(n, i), 1}}), i % pieces()};
    complete();
    next_.resize(first_block_.back(), 0);
    clocks_.resize(first_block_.back(), Clock(first_block_.back(), 0));
    at_end_.resize(first_block_.back());
  }

  // Which sums are complete. Chunks that do not combine may share an output, and are added there.
  void complete() {
    std::map<std::pair<Rank, int>, int> position;
    std::set<std::pair<Rank, int>> taken;
    for (const ChunkSpec& spec : collective_.chunks)
      for (Rank n : spec.post)
        if (!taken.insert({n, spec.output}).second || collective_.combining)
          position.try_emplace({n, spec.output}, spec.input);
    for (const auto& [output, at] : position) complete_[at] = *promise_.output(output.first, output.second);
  }

  Slot where(Rank n, const Slot& slot) const {
    return in_place_ ? in_place_slot(collective_.kind, pieces(), n, slot) : slot;
  }

  // What an instruction waits for in its rank, in words.
  std::string waits_here(Rank n, const BlockInstruction& i) const {
    for (const BlockReference& before : i.after)
      if (next_[first_block_[n] + before.block] <= before.instruction)
        return fmt::format("block {}, instruction {}", before.block, before.instruction);
    return "";
  }

  // What the next instruction waits for, in words; empty if it can run.
  std::string waits(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    const BlockInstruction& i = block.instructions[next_[first_block_[n] + b]];
    if (const std::string words = waits_here(n, i); !words.empty()) return words;
    if (i.opcode == BlockOpcode::Barrier)
      for (const BlockReference& other : meetings_.at({n, i.barrier}))
        if (next_[first_block_[n] + other.block] != other.instruction ||
            !waits_here(n, program_.ranks[n].blocks[other.block].instructions[other.instruction]).empty())
          return fmt::format("block {} at barrier {}", other.block, i.barrier);
    if (receives(i.opcode) && queues_[{block.recv_from, n, block.channel}].empty())
      return fmt::format("a message from rank {} on channel {}", block.recv_from, block.channel);
    if (sends(i.opcode) && static_cast<int>(queues_[{n, block.send_to, block.channel}].size()) >= depth_)
      return fmt::format("room in the queue to rank {} on channel {}", block.send_to, block.channel);
    return "";
  }

  bool can_step(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    return next_[first_block_[n] + b] < static_cast<int>(block.instructions.size()) && waits(n, b).empty();
  }

  bool happened(int block, int clock, const Clock& seen) const { return seen[block] >= clock; }

  void touch(Rank n, int b, int i, const Slot& slot, bool writes, int self, const Clock& clock) {
    History& history = histories_[n][where(n, slot)];
    if (history.writer >= 0 && history.writer != self && !happened(history.writer, history.written, clock))
      complain(Kind::Race, n, b, i, "{} is written by block {} at the same time", to_string(slot),
               history.writer - first_block_[n]);
    if (!writes) {
      history.reads[self] = clock[self];
      return;
    }
    for (const auto& [reader, read] : history.reads)
      if (reader != self && !happened(reader, read, clock))
        complain(Kind::Race, n, b, i, "{} is read by block {} at the same time", to_string(slot),
                 reader - first_block_[n]);
    history = {.writer = self, .written = clock[self]};
  }

  Value read(Rank n, int b, int i, const Slot& slot, int piece, int self, const Clock& clock) {
    touch(n, b, i, slot, false, self, clock);
    const Value value = held_[n][where(n, slot)];
    if (!value.sum)
      complain(Kind::Absent, n, b, i, "{} was never written", to_string(slot));
    else if (value.piece != piece)
      complain(Kind::Match, n, b, i, "{} holds piece {}, not {}", to_string(slot), value.piece, piece);
    return value;
  }

  Value sum(Rank n, int b, int i, const Value& x, const Value& y) {
    if (!x.sum || !y.sum) return {};
    if (x.epilogues > 0 || y.epilogues > 0)
      complain(Kind::Epilogue, n, b, i, "adds to what has had its epilogue");
    return {std::make_shared<SymbolicSum>(added(*x.sum, *y.sum)), x.piece};
  }

  Value after_epilogue(Rank n, int b, int i, Value value, int position) {
    if (!value.sum) return value;
    const auto complete = complete_.find(position);
    if (complete == complete_.end())
      complain(Kind::Epilogue, n, b, i, "nothing is summed up at position {}", position);
    else if (*value.sum != complete->second)
      complain(Kind::Epilogue, n, b, i, "it has {} of {} of position {}",
               counted(static_cast<long long>(value.sum->size()), "input"), complete->second.size(),
               position);
    if (++value.epilogues > 1) complain(Kind::Epilogue, n, b, i, "a second epilogue");
    return value;
  }

  // All blocks that meet go on at once, and each knows what all of them have done.
  void meet(Rank n, int barrier) {
    const std::vector<BlockReference>& meeting = meetings_.at({n, barrier});
    Clock all(first_block_.back(), 0);
    const auto learn = [&all](const Clock& other) {
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = std::max(all[k], other[k]);
    };
    for (const BlockReference& each : meeting) {
      learn(clocks_[first_block_[n] + each.block]);
      for (const BlockReference& before :
           program_.ranks[n].blocks[each.block].instructions[each.instruction].after)
        learn(at_end_[first_block_[n] + before.block][before.instruction]);
    }
    for (const BlockReference& each : meeting) {
      const int block = first_block_[n] + each.block;
      clocks_[block] = all;
      ++clocks_[block][block];
      at_end_[block].push_back(clocks_[block]);
      ++next_[block];
    }
  }

  void step(Rank n, int b) {
    const Block& block = program_.ranks[n].blocks[b];
    const int self = first_block_[n] + b, number = next_[self];
    const BlockInstruction& i = block.instructions[number];
    if (i.opcode == BlockOpcode::Barrier) return meet(n, i.barrier);
    Clock& clock = clocks_[self];
    const auto learn = [&clock](const Clock& other) {
      for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
    };
    for (const BlockReference& before : i.after)
      learn(at_end_[first_block_[n] + before.block][before.instruction]);
    Message arrived;
    if (receives(i.opcode)) {
      auto& queue = queues_[{block.recv_from, n, block.channel}];
      arrived = std::move(queue.front());
      queue.pop_front();
      learn(arrived.clock);
      if (static_cast<int>(arrived.values.size()) != i.count)
        complain(Kind::Match, n, b, number, "receives {}, but {} sent", counted(i.count, "chunk"),
                 arrived.values.size());
      arrived.values.resize(i.count);
    }
    ++clock[self];
    Message out;
    // All chunks are read before any is written, as a kernel may.
    std::vector<Value> results;
    for (int k = 0; k < i.count; ++k) {
      const int piece = (i.piece + k) % pieces();
      Value value;
      if (receives(i.opcode)) {
        value = arrived.values[k];
        if (value.sum && value.piece != piece)
          complain(Kind::Match, n, b, number, "piece {} arrives, not {}", value.piece, piece);
      }
      if (reads_src(i.opcode)) {
        const Value local = read(n, b, number, {i.src.buffer, i.src.index + k}, piece, self, clock);
        value = receives(i.opcode) ? sum(n, b, number, value, local) : local;
      }
      if (reads_dst(i.opcode)) {
        const Value there = read(n, b, number, {i.dst.buffer, i.dst.index + k}, piece, self, clock);
        value = i.opcode == BlockOpcode::Reduce ? sum(n, b, number, value, there)
                                                : after_epilogue(n, b, number, there, i.position + k);
      }
      results.push_back(value);
    }
    for (int k = 0; k < i.count; ++k) {
      if (writes_dst(i.opcode)) {
        const Slot slot{i.dst.buffer, i.dst.index + k};
        touch(n, b, number, slot, true, self, clock);
        held_[n][where(n, slot)] = results[k];
        if (slot.buffer == Buffer::Output) written_.insert({n, slot.index});
      }
      if (sends(i.opcode)) out.values.push_back(results[k]);
    }
    if (sends(i.opcode)) {
      out.clock = clock;
      queues_[{n, block.send_to, block.channel}].push_back(std::move(out));
    }
    at_end_[self].push_back(clock);
    ++next_[self];
  }

  void ends() {
    for (Rank n = 0; n < ranks(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        if (const int i = next_[first_block_[n] + b];
            !full() && i < static_cast<int>(program_.ranks[n].blocks[b].instructions.size()))
          say(Kind::Deadlock, {.rank = n, .block = b, .instruction = i},
              "{} waits forever for {}, with queues of depth {}", at(n, b, i), waits(n, b), depth_);
    for (const auto& [connection, queue] : queues_)
      if (!queue.empty() && found_.empty())
        say(Kind::Match, {.rank = std::get<1>(connection)},
            "{} from rank {} to rank {} on channel {}, never received",
            counted(static_cast<long long>(queue.size()), "message"), std::get<0>(connection),
            std::get<1>(connection), std::get<2>(connection));
  }

  void outputs() {
    const bool epilogue = has_epilogue(program_);
    for (Rank n = 0; n < ranks() && !full(); ++n)
      for (int o = 0; o < program_.ranks[n].output_chunks; ++o) {
        const Value& value = held_[n][where(n, {Buffer::Output, o})];
        const SymbolicSum* const wanted = promise_.output(n, o);
        if (wanted == nullptr) {
          if (written_.contains({n, o}) && !in_place_)
            say(Kind::Written, {.rank = n, .chunk = o},
                "at the end: rank {} has written output[{}], where nothing is promised", n, o);
        } else if (!value.sum) {
          say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end: rank {} has not written output[{}]", n, o);
        } else if (*value.sum != *wanted) {
          say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end: output[{}] of rank {} {}", o, n,
              promise_.difference(*wanted, *value.sum));
        } else if (epilogue && value.epilogues != 1) {
          say(Kind::Epilogue, {.rank = n, .chunk = o},
              "at the end: output[{}] of rank {} has not had the epilogue that others have had", o, n);
        }
      }
  }

  const Collective& collective_;
  const BlockProgram& program_;
  const int depth_;
  const bool in_place_;
  const Promise promise_{collective_};
  std::vector<int> first_block_ = {};                                          // by rank
  std::map<std::pair<Rank, int>, std::vector<BlockReference>> meetings_ = {};  // by rank and barrier
  std::map<int, SymbolicSum> complete_ = {};                                   // by position in the inputs
  std::vector<std::map<Slot, Value>> held_ = {};                               // by rank
  std::vector<std::map<Slot, History>> histories_ = {};                        // by rank
  std::set<std::pair<Rank, int>> written_ = {};                                // output slots
  std::vector<int> next_ = {};                                                 // by block
  std::vector<Clock> clocks_ = {};                                             // by block
  std::vector<std::vector<Clock>> at_end_ = {};                                // by block and instruction
  std::map<Connection, std::deque<Message>> queues_ = {};
};

}  // namespace

std::vector<Fault> violations(const Collective& collective, const BlockProgram& program,
                              const BlockRefereeOptions& options, int limit) {
  return BlockReferee(collective, program, options, limit).run();
}

}  // namespace chorale
