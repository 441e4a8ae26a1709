// Runs all ranks epoch by epoch on symbolic sums. Form is checked first and alone, then the matching of
// messages: what fails there cannot be run.
#include "semantics/verify_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "ir/block_program.h"
#include "ir/words.h"
#include "semantics/fault_list.h"
#include "semantics/program_sizes.h"
#include "semantics/promise.h"

namespace chorale {
namespace {

using Sum = SymbolicSum;

struct Value {
  std::shared_ptr<const Sum> sum = {};  // null: never written
  int piece = 0;
};

class ProgramReferee : FaultList {
 public:
  ProgramReferee(const Topology& topology, const Collective& collective, const Program& program, int limit)
      : FaultList(limit), topology_(topology), collective_(collective), program_(program) {}

  std::vector<Fault> run() {
    sizes();
    if (found_.empty()) form();
    if (found_.empty()) messages();
    if (!found_.empty()) return std::move(found_);
    start();
    for (step_ = 0; step_ < program_.steps && !full(); ++step_) epoch();
    outputs();
    return std::move(found_);
  }

 private:
  struct Ends {
    int sends = 0, recvs = 0;
    Rank src = -1, dst = -1;
    const Instruction* send = nullptr;
    const Instruction* recv = nullptr;
  };
  struct Buffers {
    std::vector<Value> input = {}, output = {}, scratch = {};
  };

  void complain(Kind kind, Rank n, const Instruction& i, const std::string& problem) {
    say(kind, {.rank = n, .step = i.step}, "rank {}, step {}: {}: {}", n, i.step + 1, to_string(i), problem);
  }

  int ranks() const { return collective_.ranks; }

  template <typename Function>  // void(Rank, int block, const Instruction&)
  void for_each_instruction(Function function) const {
    for (Rank n = 0; n < ranks(); ++n)
      for (std::size_t b = 0; b < program_.ranks[n].blocks.size(); ++b)
        for (const Instruction& i : program_.ranks[n].blocks[b].instructions)
          function(n, static_cast<int>(b), i);
  }

  void sizes() {
    if (topology_.ranks != collective_.ranks)
      return say(Kind::Size, {}, "the collective is for {} ranks, the topology has {}", collective_.ranks,
                 topology_.ranks);
    for (Fault& fault : size_faults(collective_, program_)) say(std::move(fault));
  }

  void form() {
    for_each_instruction([this](Rank n, int, const Instruction& i) {
      if (i.step < 0 || i.step >= program_.steps)
        complain(Kind::Form, n, i, "the program has " + counted(program_.steps, "step"));
      if (i.piece < 0 || i.piece >= program_.chunks_per_block)
        complain(Kind::Form, n, i, fmt::format("piece {} of {}", i.piece, program_.chunks_per_block));
      if (i.opcode != Opcode::Recv) slot_in_range(n, i, i.src);
      if (i.opcode != Opcode::Send) {
        slot_in_range(n, i, i.dst);
        if (i.dst.buffer == Buffer::Input) complain(Kind::Written, n, i, "writes the input");
      }
      if (!is_local(i.opcode) && (i.peer < 0 || i.peer >= ranks() || i.peer == n))
        complain(Kind::Form, n, i, "there is no such peer");
    });
    for (Rank n = 0; n < ranks(); ++n)
      for (const ThreadBlock& block : program_.ranks[n].blocks) in_order(n, block.instructions);
  }

  void slot_in_range(Rank n, const Instruction& i, const Slot& slot) {
    const int size = chunks_in(program_.ranks[n], slot.buffer);
    if (slot.index < 0 || slot.index >= size)
      complain(Kind::Form, n, i,
               fmt::format("there is no {}, the buffer has {}", to_string(slot), counted(size, "chunk")));
    else if (slot.buffer != Buffer::Scratch && slot.index % program_.chunks_per_block != i.piece)
      complain(Kind::Form, n, i, fmt::format("{} is not piece {} of its block", to_string(slot), i.piece));
  }

  void in_order(Rank n, const std::vector<Instruction>& instructions) {
    for (std::size_t k = 1; k < instructions.size(); ++k) {
      const Instruction &before = instructions[k - 1], &i = instructions[k];
      if (i.step < before.step) complain(Kind::Match, n, i, "comes after an instruction of a later step");
      if (i.step == before.step && is_local(before.opcode) && !is_local(i.opcode))
        complain(Kind::Match, n, i, "communicates after local instructions of its step");
    }
  }

  void messages() {
    std::map<int, Ends> messages;
    for_each_instruction([&messages](Rank n, int, const Instruction& i) {
      if (is_local(i.opcode)) return;
      Ends& ends = messages[i.message];
      if (i.opcode == Opcode::Send) {
        ++ends.sends, ends.src = n, ends.send = &i;
      } else {
        ++ends.recvs, ends.dst = n, ends.recv = &i;
      }
    });
    std::set<std::pair<Rank, Rank>> linked;
    for (const Link& link : topology_.links) linked.insert({link.src, link.dst});
    for (const auto& [message, ends] : messages) {
      if (message < 0) say(Kind::Match, {}, "message {}: numbers start from 0", message);
      if (ends.sends != 1 || ends.recvs != 1) {
        say(Kind::Match, {}, "message {}: {} and {}", message, counted(ends.sends, "send"),
            counted(ends.recvs, "receive"));
        continue;
      }
      if (ends.send->peer != ends.dst || ends.recv->peer != ends.src)
        say(Kind::Match, {}, "message {}: rank {} sends it to rank {}, rank {} receives it from rank {}",
            message, ends.src, ends.send->peer, ends.dst, ends.recv->peer);
      else if (!linked.contains({ends.src, ends.dst}))
        say(Kind::Match, {}, "message {}: there is no link {} -> {}", message, ends.src, ends.dst);
      if (ends.send->step != ends.recv->step)
        say(Kind::Match, {}, "message {}: sent in step {}, received in step {}", message, ends.send->step + 1,
            ends.recv->step + 1);
      if (ends.send->piece != ends.recv->piece)
        say(Kind::Match, {}, "message {}: piece {} is sent, piece {} is received", message, ends.send->piece,
            ends.recv->piece);
    }
  }

  void start() {
    buffers_.resize(ranks());
    next_.resize(ranks());
    for (Rank n = 0; n < ranks(); ++n) {
      const RankProgram& r = program_.ranks[n];
      make_room(n, {Buffer::Input, r.input_chunks});
      make_room(n, {Buffer::Output, r.output_chunks});
      make_room(n, {Buffer::Scratch, r.scratch_chunks});
      for (int i = 0; i < r.input_chunks; ++i)
        at(n, {Buffer::Input, i}) = {.sum = std::make_shared<Sum>(Sum{{promise_.place(n, i), 1}}),
                                     .piece = i % program_.chunks_per_block};
      next_[n].resize(r.blocks.size(), 0);
    }
  }

  // The slot in whose memory a slot lies.
  Slot where(Rank n, const Slot& slot) const {
    return program_.in_place ? in_place_slot(collective_.kind, program_.chunks_per_block, n, slot) : slot;
  }

  std::vector<Value>& buffer(Rank n, Buffer which) {
    Buffers& b = buffers_[n];
    return which == Buffer::Input ? b.input : which == Buffer::Output ? b.output : b.scratch;
  }

  // For the slots before this one.
  void make_room(Rank n, const Slot& end) {
    if (end.index == 0) return;
    const Slot last = where(n, {end.buffer, end.index - 1});
    std::vector<Value>& values = buffer(n, last.buffer);
    values.resize(std::max<std::size_t>(values.size(), last.index + 1));
  }

  void epoch() {
    std::map<int, Value> in_flight;
    std::vector<std::map<Slot, Use>> uses(ranks());
    std::vector<std::pair<Rank, const Instruction*>> recvs;
    const auto of_this_step = [this](Rank n, std::size_t b, bool local) -> const Instruction* {
      const std::vector<Instruction>& all = program_.ranks[n].blocks[b].instructions;
      std::size_t& next = next_[n][b];
      if (next == all.size() || all[next].step != step_ || is_local(all[next].opcode) != local)
        return nullptr;
      return &all[next++];
    };
    for (Rank n = 0; n < ranks(); ++n) {
      std::set<Slot> sent, received;
      for (std::size_t b = 0; b < program_.ranks[n].blocks.size(); ++b)
        while (const Instruction* i = of_this_step(n, b, false)) {
          if (i->opcode == Opcode::Send) {
            in_flight[i->message] = read(n, *i, i->src);
            sent.insert(where(n, i->src));
          } else {
            recvs.push_back({n, i});
            if (!received.insert(where(n, i->dst)).second)
              complain(Kind::Race, n, *i, "a second message lands there in this step");
          }
        }
      for (const Slot& slot : received)
        if (sent.contains(slot))
          say(Kind::Race, {.rank = n, .step = step_}, "rank {}, step {}: {} is sent and received into", n,
              step_ + 1, to_string(slot));
    }
    for (const auto& [n, i] : recvs) at(n, i->dst) = in_flight.at(i->message);
    for (Rank n = 0; n < ranks(); ++n)
      for (std::size_t b = 0; b < program_.ranks[n].blocks.size(); ++b)
        while (const Instruction* i = of_this_step(n, b, true)) local(n, static_cast<int>(b), *i, uses[n]);
  }

  struct Use {
    int block = -1;
    bool shared = false, written = false;
  };

  void local(Rank n, int b, const Instruction& i, std::map<Slot, Use>& uses) {
    const auto use = [&](const Slot& slot, bool writes) {
      Use& u = uses[where(n, slot)];
      u.shared |= u.block >= 0 && u.block != b;
      u.written |= writes;
      u.block = b;
      if (u.shared && u.written)
        complain(Kind::Race, n, i, to_string(slot) + " is in use by another thread block");
    };
    use(i.src, false);
    use(i.dst, true);
    if (i.src != i.dst && where(n, i.src) == where(n, i.dst))
      complain(Kind::Race, n, i, "both lie in one place");
    const Value src = read(n, i, i.src);
    if (i.opcode == Opcode::Copy) {
      at(n, i.dst) = src;
    } else if (const Value dst = read(n, i, i.dst); src.sum && dst.sum) {
      at(n, i.dst).sum = std::make_shared<Sum>(added(*dst.sum, *src.sum));
    }
  }

  Value& at(Rank n, const Slot& slot) {
    const Slot memory = where(n, slot);
    return buffer(n, memory.buffer)[memory.index];
  }

  Value read(Rank n, const Instruction& i, const Slot& slot) {
    const Value& value = at(n, slot);
    if (!value.sum)
      complain(Kind::Absent, n, i, to_string(slot) + " was never written");
    else if (value.piece != i.piece)
      complain(Kind::Match, n, i,
               fmt::format("{} holds piece {}, not {}", to_string(slot), value.piece, i.piece));
    return value;
  }

  void outputs() {
    for (Rank n = 0; n < ranks() && !full(); ++n)
      for (int o = 0; o < program_.ranks[n].output_chunks; ++o) {
        const Value& value = at(n, {Buffer::Output, o});
        const Sum* const wanted = promise_.output(n, o);
        if (wanted == nullptr) {
          if (value.sum && !program_.in_place)
            say(Kind::Written, {.rank = n, .chunk = o},
                "at the end: rank {} has written output[{}], where nothing is promised", n, o);
        } else if (!value.sum) {
          say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end: rank {} has not written output[{}]", n, o);
        } else if (*value.sum != *wanted) {
          say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end: output[{}] of rank {} {}", o, n,
              promise_.difference(*wanted, *value.sum));
        } else if (value.piece != o % program_.chunks_per_block) {
          say(Kind::Outcome, {.rank = n, .chunk = o}, "at the end: output[{}] of rank {} holds piece {}", o,
              n, value.piece);
        }
      }
  }

  const Topology& topology_;
  const Collective& collective_;
  const Program& program_;
  const Promise promise_{collective_};
  int step_ = 0;
  std::vector<Buffers> buffers_ = {};                // by rank
  std::vector<std::vector<std::size_t>> next_ = {};  // by rank and block: the next instruction
};

}  // namespace

std::vector<Fault> violations(const Topology& topology, const Collective& collective, const Program& program,
                              int limit) {
  return ProgramReferee(topology, collective, program, limit).run();
}

}  // namespace chorale
