// The idea: an epoch's sends read before anything of it is written, so all ranks' messages are collected
// first, then delivered, and then each thread block does its local instructions; one run decides. Two rules
// about accesses of one epoch make this the meaning whatever the timing: messages are not ordered among
// themselves, and thread blocks are not ordered among each other; all that an epoch's messages do comes
// before its local instructions. Form is checked first and alone, then the matching of messages: a program
// that fails there cannot be run.
//
// In a real run ranks are in different epochs at one time. That makes no difference here: no rank accesses
// another's memory, a message has both its ends in one epoch, and its data were read in the sender's.
#include "semantics/verify_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/words.h"

namespace chorale {
namespace {

class ProgramVerifier final : BlockMachine<Program> {
 public:
  ProgramVerifier(const Topology& topology, const Collective& collective, const Program& program, int limit)
      : BlockMachine(collective, program, program.in_place, limit),
        topology_(topology),
        next_(all_blocks(), 0) {}

  std::vector<Fault> violations() {
    form();
    if (found_.empty()) messages();
    if (!found_.empty()) return std::move(found_);
    run();
    for (Rank n = 0; n < ranks(); ++n) outputs(n, "at the end");
    return std::move(found_);
  }

  // Of a program that is right: the instructions that complete sums, for the pass that puts functions there.
  std::vector<Completion> completions() {
    note_completions();
    run();
    return std::move(*completions_);
  }

 private:
  struct Ends {
    int sends = 0, recvs = 0;
    Rank src = -1, dst = -1;
    const Instruction* send = nullptr;
    const Instruction* recv = nullptr;
  };

  FaultPlace place(const Access& access) const override {
    FaultPlace here = BlockMachine::place(access);
    here.step = program_.ranks[here.rank].blocks[here.block].instructions[here.instruction].step;
    return here;
  }

  void form() {
    for_each_instruction(program_, [this](Rank n, int b, int number, const Instruction& i) {
      const Access here = at(n, b, number);
      if (i.step < 0 || i.step >= program_.steps)
        complain(Kind::Form, here, "step {}, the program has {}", i.step + 1,
                 counted(program_.steps, "step"));
      own_operation_form(n, i.does, here);
      if (does_nothing(i.does)) complain(Kind::Form, here, "does nothing");
      if (is_local(i.does)) {
        if (i.does.from.empty() || i.does.to.empty())
          complain(Kind::Form, here, "moves from nowhere, or to nowhere");
        both_in_one_place(n, i.does, here);
        return;
      }
      if (i.does.takes == i.does.sends || i.does.from.size() + i.does.to.size() != 1 || i.does.count != 1 ||
          i.does.sends == i.does.from.empty() || applies(i.does))
        complain(Kind::Form, here, "a message is sent from one slot, or received into one");
      if (i.peer < 0 || i.peer >= ranks() || i.peer == n) complain(Kind::Form, here, "there is no such peer");
    });
    for (Rank n = 0; n < ranks(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b) in_order(n, b);
  }

  // In place an input under two names; out of place no two slots are one, and nothing is found.
  void both_in_one_place(Rank n, const DataOperation& op, const Access& at) {
    for (const DataPlace& from : op.from)
      for (const std::vector<DataPlace>* others : {&op.from, &op.to})
        for (const DataPlace& other : *others)
          if (found_.empty() && from != other && where(n, from.slot) == where(n, other.slot))
            return complain(Kind::Race, at, "both lie in one slot");
  }

  // epoch() relies on this: it takes the instructions of a block from where the last epoch ended as far as
  // they have its step.
  void in_order(Rank n, int b) {
    const std::vector<Instruction>& list = program_.ranks[n].blocks[b].instructions;
    for (int k = 1; k < static_cast<int>(list.size()); ++k) {
      const Instruction &before = list[k - 1], &i = list[k];
      if (i.step < before.step)
        complain(Kind::Match, at(n, b, k), "comes after an instruction of a later step");
      if (i.step == before.step && is_local(before.does) && !is_local(i.does))
        complain(Kind::Match, at(n, b, k), "communicates after local instructions of its step");
    }
  }

  // Every number is sent once and received once, in one epoch, as the same piece (the length), over a link
  // that the machine has. So run() can hand each message from the one end to the other by its number.
  void messages() {
    std::map<int, Ends> messages;
    for_each_instruction(program_, [&messages](Rank n, int, int, const Instruction& i) {
      if (is_local(i.does)) return;
      Ends& ends = messages[i.message];
      if (i.does.sends)
        ++ends.sends, ends.src = n, ends.send = &i;
      else
        ++ends.recvs, ends.dst = n, ends.recv = &i;
    });
    std::set<std::pair<Rank, Rank>> linked;
    for (const Link& link : topology_.links) linked.insert({link.src, link.dst});
    for (const auto& [message, ends] : messages) {
      if (message < 0) report(Kind::Match, {}, "message {}: numbers start from 0", message);
      if (ends.sends != 1 || ends.recvs != 1) {
        report(Kind::Match, {}, "message {}: {} and {}", message, counted(ends.sends, "send"),
               counted(ends.recvs, "receive"));
        continue;
      }
      if (ends.send->peer != ends.dst || ends.recv->peer != ends.src)
        report(Kind::Match, {}, "message {}: rank {} sends it to rank {}, rank {} receives it from rank {}",
               message, ends.src, ends.send->peer, ends.dst, ends.recv->peer);
      else if (!linked.contains({ends.src, ends.dst}))
        report(Kind::Match, {}, "message {}: there is no link {} -> {}", message, ends.src, ends.dst);
      if (ends.send->step != ends.recv->step)
        report(Kind::Match, {}, "message {}: sent in step {}, received in step {}", message,
               ends.send->step + 1, ends.recv->step + 1);
      if (ends.send->does.piece != ends.recv->does.piece)
        report(Kind::Match, {}, "message {}: piece {} is sent, piece {} is received", message,
               ends.send->does.piece, ends.recv->does.piece);
    }
  }

  // Messages begin and end in one epoch, so memory is all that an epoch takes over from those before it.
  void run() {
    write_inputs();
    for (int step = 0; step < program_.steps && !full(); ++step) epoch(step);
  }

  void epoch(int step) {
    // Four walks over the instructions of the epoch: all that is sent is read, then all that is received is
    // stored, then local work in the order of each block; the last walk moves on to the next epoch.
    std::unordered_map<int, std::vector<SymbolicValue>> in_flight;
    const auto each = [&](auto wanted, auto act) {
      for (int block = 0; block < all_blocks(); ++block) {
        const Rank n = rank_of_[block];
        const std::vector<Instruction>& list = program_.ranks[n].blocks[block - first_block_[n]].instructions;
        for (int k = next_[block]; k < static_cast<int>(list.size()) && list[k].step == step; ++k)
          if (wanted(list[k].does)) act(block, k, list[k]);
      }
    };
    each([](const DataOperation& op) { return op.sends; },
         [&](int block, int k, const Instruction& i) { in_flight[i.message] = perform(i, block, k, {}); });
    each([](const DataOperation& op) { return op.takes; },
         [&](int block, int k, const Instruction& i) { perform(i, block, k, in_flight.at(i.message)); });
    each([](const DataOperation& op) { return is_local(op); },
         [&](int block, int k, const Instruction& i) { perform(i, block, k, {}); });
    each([](const DataOperation&) { return true; },
         [&](int block, int k, const Instruction&) { next_[block] = k + 1; });
  }

  // A phase is the messages of an epoch, or what follows them; in the latter a block has an order.
  std::vector<SymbolicValue> perform(const Instruction& i, int block, int number,
                                     const std::vector<SymbolicValue>& message) {
    const bool local = is_local(i.does);
    const Access access{.actor = block, .phase = 2 * i.step + (local ? 1 : 0), .instruction = number};
    return SymbolicMachine::perform(i.does,
                                    {.rank = rank_of_[block],
                                     .block = block - first_block_[rank_of_[block]],
                                     .access = access,
                                     .ordered =
                                         [&](const Cell&, const Access& before) {
                                           return before.phase < access.phase ||
                                                  (local && before.actor == block);
                                         }},
                                    message);
  }

  const Topology& topology_;
  std::vector<int> next_;  // by block: instruction
};

}  // namespace

std::vector<Fault> violations(const Topology& topology, const Collective& collective, const Program& program,
                              int limit) {
  if (topology.ranks != collective.ranks)
    return {{.kind = Fault::Kind::Size,
             .words = fmt::format("the collective is for {} ranks, the topology has {}", collective.ranks,
                                  topology.ranks)}};
  std::vector<Fault> faults = size_faults(collective, program);
  if (!faults.empty()) return faults;
  return ProgramVerifier(topology, collective, program, limit).violations();
}

std::vector<Completion> completions(const Topology& topology, const Collective& collective,
                                    const Program& program) {
  return ProgramVerifier(topology, collective, program, 1).completions();
}

}  // namespace chorale
