#include "semantics/peer_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ir/words.h"
#include "semantics/fault_list.h"
#include "semantics/program_sizes.h"

namespace chorale {
namespace {

constexpr int kMostLag = 2;

class PeerForm : FaultList {
 public:
  PeerForm(const Collective& collective, const PeerProgram& program, int limit)
      : FaultList(limit), collective_(collective), program_(program) {}

  std::vector<Fault> run() {
    sizes();
    if (found_.empty()) form();
    if (found_.empty()) counters();
    if (found_.empty()) waits();
    return std::move(found_);
  }

 private:
  int ranks() const { return collective_.ranks; }
  int pieces() const { return program_.chunks_per_block; }

  std::string at(Rank n, int b, int i) const { return name_of(program_, n, b, i); }

  template <typename... Arguments>
  void complain(Kind kind, Rank n, int b, int i, fmt::format_string<Arguments...> text,
                Arguments&&... arguments) {
    if (!full())
      say(kind, {.rank = n, .block = b, .instruction = i}, "{}: {}", at(n, b, i),
          fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  // f(rank, block, number, instruction) for all instructions until there are enough faults.
  template <typename F>
  void for_all(const F& f) {
    for (Rank n = 0; n < ranks() && !full(); ++n)
      for (int b = 0; b < static_cast<int>(program_.ranks[n].blocks.size()); ++b)
        for (int i = 0; i < static_cast<int>(program_.ranks[n].blocks[b].instructions.size()); ++i)
          f(n, b, i, program_.ranks[n].blocks[b].instructions[i]);
  }

  void sizes() {
    for (Fault& fault : size_faults(collective_, program_)) say(std::move(fault));
    if (!found_.empty()) return;
    for (Rank n = 0; n < ranks(); ++n)
      if (const int counters = program_.ranks[n].counters; counters < 0)
        say(Kind::Form, {.rank = n}, "rank {}: {} counters", n, counters);
  }

  void form() {
    for_all([&](Rank n, int b, int i, const PeerInstruction& instruction) {
      if (instruction.opcode == PeerOpcode::Move) move_form(n, b, i, instruction);
      if (instruction.opcode != PeerOpcode::Signal && instruction.opcode != PeerOpcode::Wait) return;
      const Rank owner = instruction.opcode == PeerOpcode::Wait ? n : instruction.rank;
      if (owner < 0 || owner >= ranks()) return complain(Kind::Form, n, b, i, "there is no rank {}", owner);
      if (instruction.counter < 0 || instruction.counter >= program_.ranks[owner].counters)
        complain(Kind::Form, n, b, i, "rank {} has {}", owner,
                 counted(program_.ranks[owner].counters, "counter"));
      if (instruction.value < 1) complain(Kind::Form, n, b, i, "values begin at 1");
      if (instruction.opcode == PeerOpcode::Wait && (instruction.lag < 0 || instruction.lag > kMostLag))
        complain(Kind::Form, n, b, i, "a lag of {} launches, 0 to {} are possible", instruction.lag,
                 kMostLag);
    });
  }

  void move_form(Rank n, int b, int i, const PeerInstruction& move) {
    if (move.from.empty() || move.to.empty())
      complain(Kind::Form, n, b, i, "moves from nowhere, or to nowhere");
    if (move.count < 1) return complain(Kind::Form, n, b, i, "moves {} chunks", move.count);
    if (move.piece < 0 || move.piece >= pieces())
      return complain(Kind::Form, n, b, i, "piece {} of {}", move.piece, pieces());
    for (const auto& places : {move.from, move.to})
      for (const PeerSlot& place : places) slot_form(n, b, i, move, place);
    if (!program_.in_place && std::any_of(move.to.begin(), move.to.end(), [](const PeerSlot& place) {
          return place.slot.buffer == Buffer::Input;
        }))
      complain(Kind::Written, n, b, i, "writes the input");
  }

  void slot_form(Rank n, int b, int i, const PeerInstruction& move, const PeerSlot& place) {
    if (place.rank < 0 || place.rank >= ranks())
      return complain(Kind::Form, n, b, i, "there is no rank {}", place.rank);
    const int size = chunks_in(program_.ranks[place.rank], place.slot.buffer);
    if (place.slot.index < 0 || place.slot.index > size - move.count)
      complain(Kind::Form, n, b, i, "the buffer has {}", counted(size, "chunk"));
    else if (place.slot.buffer != Buffer::Scratch && place.slot.index % pieces() != move.piece)
      complain(Kind::Form, n, b, i, "{} is not piece {} of its block", to_string(place), move.piece);
  }

  // A counter is raised by one block: to 1, 2, 3, ... in the order of its Signals.
  void counters() {
    struct Raised {
      Rank rank = -1;
      int block = -1;
      int value = 0;
    };
    std::map<std::pair<Rank, int>, Raised> by_counter;
    for_all([&](Rank n, int b, int i, const PeerInstruction& signal) {
      if (signal.opcode != PeerOpcode::Signal) return;
      Raised& raised = by_counter[{signal.rank, signal.counter}];
      if (raised.rank >= 0 && (raised.rank != n || raised.block != b))
        return complain(Kind::Match, n, b, i, "the counter is raised by rank {}, block {} too", raised.rank,
                        raised.block);
      if (signal.value != raised.value + 1)
        complain(Kind::Match, n, b, i, "the counter is at {} and can become {} only", raised.value,
                 raised.value + 1);
      raised = {.rank = n, .block = b, .value = signal.value};
    });
  }

  void waits() {
    const std::vector<std::vector<int>> most = values_of_a_launch(program_);
    for_all([&](Rank n, int b, int i, const PeerInstruction& wait) {
      if (wait.opcode == PeerOpcode::Wait && wait.value > most[n][wait.counter])
        complain(Kind::Deadlock, n, b, i, "waits forever, the counter becomes {} at most",
                 most[n][wait.counter]);
    });
  }

  const Collective& collective_;
  const PeerProgram& program_;
};

}  // namespace

std::string name_of(const PeerProgram& program, Rank rank, int block, int instruction) {
  return fmt::format("rank {}, block {}, instruction {} ({})", rank, block, instruction,
                     to_string(program.ranks[rank].blocks[block].instructions[instruction]));
}

std::vector<Fault> form_faults(const Collective& collective, const PeerProgram& program, int limit) {
  return PeerForm(collective, program, limit).run();
}

}  // namespace chorale
