// What the verifiers of programs share: memory of symbolic values, the effect of an operation on it, and the
// accesses to it. A verifier decides when an instruction may run and what is ordered before it; all else is
// here.
//
// A value is a sum of inputs, how often each (ir/promise.h), with the order in which they were added
// (its combination tree, ir/sum_order.h), of a piece of a block, and how often it has had the program's
// function applied. What several ranks are promised must have been added in one order, or in the one that the
// collective asks for. Operands must have been written, be of the operation's piece, and not have had the
// function if anything is added to them. The function may be applied once, to what is complete. An operation
// reads all its operands before it stores, chunk by chunk; threads may do chunks in any order, so none may
// store where another one reads. What is read of a team is added up in an order of its own: no other sum,
// of the same values or not, counts as added alike.
//
// Races. Each slot has its last write and the reads since. Two accesses, one of them a write, must be
// ordered: the machine asks the verifier whether the earlier one has happened before the later one. So one
// run decides, whatever the timing, provided that the data that arrive do not depend on it: the verifiers'
// checks of form ensure that.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/collective.h"
#include "ir/data_operation.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/promise.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "semantics/fault_list.h"

namespace chorale {

// Returns an instruction of a program of any form in words: where it stands, and what it is.
template <typename Program>
std::string name_of(const Program& program, Rank rank, int block, int instruction) {
  return fmt::format("rank {}, block {}, instruction {} ({})", rank, block, instruction,
                     to_string(program.ranks[rank].blocks[block].instructions[instruction]));
}

// Returns what is wrong with the sizes of a Program, BlockProgram or PeerProgram, against the collective;
// empty: they fit.
template <typename Program>
std::vector<Fault> size_faults(const Collective& collective, const Program& program) {
  if (static_cast<int>(program.ranks.size()) != collective.ranks)
    return {{.kind = Fault::Kind::Size,
             .words = fmt::format("the collective is for {} ranks, the program for {}", collective.ranks,
                                  program.ranks.size())}};
  std::vector<Fault> faults;
  const auto wrong = [&faults](Rank n, std::string words) {
    faults.push_back({.kind = Fault::Kind::Size, .place = {.rank = n}, .words = std::move(words)});
  };
  if (program.chunks_per_block != collective.chunks_per_block || program.chunks_per_block < 1)
    wrong(-1, fmt::format("the program has {} per block, the collective {}",
                          counted(program.chunks_per_block, "chunk"), collective.chunks_per_block));
  const std::vector<int> inputs = input_chunks(collective), outputs = output_chunks(collective);
  for (Rank n = 0; n < collective.ranks; ++n) {
    const auto& rank = program.ranks[n];
    if (const int chunks = inputs[n]; rank.input_chunks != chunks)
      wrong(n, fmt::format("rank {}: the input has {}, the collective needs {}", n,
                           counted(rank.input_chunks, "chunk"), chunks));
    if (const int chunks = outputs[n]; rank.output_chunks != chunks)
      wrong(n, fmt::format("rank {}: the output has {}, the collective needs {}", n,
                           counted(rank.output_chunks, "chunk"), chunks));
    if (rank.scratch_chunks < 0)
      wrong(n, fmt::format("rank {}: the scratch has {} chunks", n, rank.scratch_chunks));
  }
  return faults;
}

// A clock says how far each actor has come, as seen from one of them: by actor.
using Clock = std::vector<int>;
void learn(Clock&, const Clock& other);

struct SymbolicValue {
  std::shared_ptr<const SymbolicSum> sum = {};  // null: not written
  int piece = 0;
  int applied = 0;  // how often it has had the function
  int tree = -1;    // of TreeNumbers
};

// Numbers combination trees: equal trees have equal ones.
class TreeNumbers {
 public:
  int input(int place) { return number({-1, place}); }
  int sum(int a, int b) { return number({std::min(a, b), std::max(a, b)}); }
  int by_switch() { return number({-2, static_cast<int>(known_.size())}); }  // another one at each call

 private:
  int number(const std::pair<int, int>& node) {
    return known_.try_emplace(node, static_cast<int>(known_.size())).first->second;
  }
  std::map<std::pair<int, int>, int> known_ = {};
};

// An access to memory and its time, as the verifier counts.
struct Access {
  int actor = -1;
  int phase = 0;
  int launch = 0;
  int instruction = -1;
};

struct Cell;

// An access to a cell: of an actor, by an instruction, in a phase.
using Accesses = std::set<std::tuple<const Cell*, int, int, int>>;

// A slot of memory.
struct Cell {
  SymbolicValue value = {};
  Access writer = {};
  std::map<std::pair<int, int>, Access> reads = {};  // since it was written, by actor and instruction
  Accesses made_of =
      {};  // what was read for the value, where that matters (semantics/verify_peers.h, packets)
};

// An instruction that is being done.
struct Doing {
  Rank rank = 0;
  int block = 0;  // of the rank
  Access access = {};
  // Has this earlier access to the cell happened before?
  std::function<bool(const Cell&, const Access&)> ordered = {};
  // Has the value come with a flag of its own? Then it is there, and what was read for it has been read.
  std::function<bool(const Cell&)> carried = {};
};

// Says where a sum becomes complete: by which instruction, and where its chunk lies in the inputs.
struct Completion {
  Rank rank = 0;
  int block = 0;
  int instruction = 0;
  int chunk = 0;  // of the instruction's
  int position = 0;
  bool operator==(const Completion&) const = default;
};

class SymbolicMachine : protected FaultList {
 protected:
  struct Sizes {
    int input = 0, output = 0, scratch = 0, slice = 0;
  };

  // `program` is of any form, with sizes that fit the collective.
  template <typename Program>
  SymbolicMachine(const Collective& collective, const Program& program, bool in_place, bool double_scratch,
                  int limit)
      : FaultList(limit),
        collective_(collective),
        pieces_(program.chunks_per_block),
        in_place_(in_place),
        double_scratch_(double_scratch),
        applies_(has_epilogue(program) || !program.epilogue.expression.empty()),
        sliced_(has_sliced_operand(program.epilogue)) {
    for (const auto& rank : program.ranks)
      sizes_.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks, rank.slice});
    if constexpr (requires { program.teams; }) teams_ = program.teams;
    lay_out();
    if (applies_) find_complete_sums();
    epilogue_form(program.epilogue);
  }
  ~SymbolicMachine() = default;

  // Return, for faults, where it stands, and in words "rank 0, block 1, instruction 2 (...)".
  virtual FaultPlace place(const Access&) const = 0;
  virtual std::string name(const Access&) const = 0;

  template <typename... Arguments>
  void complain(Kind kind, const Access& access, fmt::format_string<Arguments...> text,
                Arguments&&... arguments) {
    if (!full())
      report(kind, place(access), "{}: {}", name(access),
             fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  int ranks() const { return collective_.ranks; }

  // Reports what is wrong with an operation before anything runs: a slot, count or piece out of range, a
  // piece that the slot is not of, a write of the input (out of place), and slots of a team that lie at
  // different offsets.
  void operation_form(Rank, const DataOperation&, const Access&);

  Slot where(Rank, const Slot&) const;
  Cell& cell(Rank, const Slot&, int launch = 0);

  // Returns what the user writes into an input.
  SymbolicValue input_value(Rank, int input, int launch = 0);

  // Reads the operands of chunk after chunk, where `message` is what the message brings; stores the results,
  // and returns them for the message that it sends.
  std::vector<SymbolicValue> perform(const DataOperation&, const Doing&,
                                     const std::vector<SymbolicValue>& message = {});

  // Records an access, and reports its races.
  void touch(Cell&, const DataPlace&, bool writes, const Doing&, const Accesses& before = {});

  // Is every output of the rank as promised? `when`: "at the end".
  void outputs(Rank, const std::string& when, int launch = 0);

  void note_completions() { find_complete_sums(), completions_.emplace(); }
  std::optional<std::vector<Completion>> completions_ = {};

  const Collective& collective_;
  const Promise promise_{collective_};
  const int pieces_;
  const bool in_place_;

 private:
  void lay_out();
  void find_complete_sums();
  void epilogue_form(const Epilogue&);
  void places_form(Rank, const DataOperation&, const std::vector<DataPlace>&, const Access&);
  void team_form(const DataPlace&, const Access&);
  Rank owner(const DataPlace& place, const Doing& doing) const {
    return place.rank < 0 ? doing.rank : place.rank;
  }
  SymbolicValue operand(const DataPlace&, Cell&, int piece, const Doing&);
  SymbolicValue sum(const SymbolicValue&, const SymbolicValue&, const Doing&);
  SymbolicValue finished(SymbolicValue, const DataOperation&, int chunk, const Doing&);
  void expect(const SymbolicValue&, const std::string& what, int piece, const Doing&);
  bool once(const Access&, const Access&);
  SymbolicSum of_first_launch(const SymbolicSum&, int launch) const;
  void order(Rank, int output, const SymbolicValue&, const std::string& when, int launch);
  int asked_tree(std::span<const Chunk>, int launch);

  const bool double_scratch_;
  const bool applies_, sliced_;    // a function; one with tensors that lie like the outputs
  std::vector<Sizes> sizes_ = {};  // by rank
  Teams teams_ = {};
  std::vector<std::array<int, 3>> first_cell_ = {};      // by rank and buffer
  std::vector<std::vector<Cell>> cells_ = {};            // by rank
  std::map<int, SymbolicSum> complete_ = {};             // by position in the inputs
  std::map<SymbolicSum, int> position_of_ = {};          // of sums of several inputs
  std::set<std::tuple<int, int, int, int>> races_ = {};  // actor and instruction of both
  TreeNumbers trees_ = {};
  struct Ordered {
    int tree = -1;
    Rank rank = -1;  // that has it so; -1: it is asked for
  };
  std::map<std::pair<int, std::vector<Chunk>>, Ordered> ordered_ =
      {};  // by launch and the chunks of an output
};

// What the verifiers of programs of blocks share beyond the symbolic machine: blocks as actors, numbered
// through over all ranks, each of which works in the memory of its own rank.

// A program is a Program, or a BlockProgram.
template <typename Program>
class BlockMachine : protected SymbolicMachine {
 protected:
  BlockMachine(const Collective& collective, const Program& program, bool in_place, int limit)
      : SymbolicMachine(collective, program, in_place, false, limit), program_(program) {
    for (const auto& rank : program.ranks) {
      first_block_.push_back(static_cast<int>(rank_of_.size()));
      rank_of_.resize(rank_of_.size() + rank.blocks.size(), static_cast<Rank>(first_block_.size()) - 1);
    }
  }

  int all_blocks() const { return static_cast<int>(rank_of_.size()); }
  Access at(Rank n, int b, int i) const { return {.actor = first_block_[n] + b, .instruction = i}; }
  FaultPlace place(const Access& access) const override {
    const Rank n = rank_of_[access.actor];
    return {.rank = n, .block = access.actor - first_block_[n], .instruction = access.instruction};
  }
  std::string name(const Access& access) const override {
    const FaultPlace here = place(access);
    return name_of(program_, here.rank, here.block, here.instruction);
  }

  // Checks as operation_form does, and that all is in the rank's own memory.
  void own_operation_form(Rank n, const DataOperation& op, const Access& here) {
    operation_form(n, op, here);
    const auto far = [n](const DataPlace& place) { return place.rank >= 0 && place.rank != n; };
    if (std::ranges::any_of(op.from, far) || std::ranges::any_of(op.to, far))
      complain(Kind::Form, here, "is not in its own memory");
  }

  void write_inputs() {
    for (Rank n = 0; n < ranks(); ++n)
      for (int i = 0; i < program_.ranks[n].input_chunks; ++i)
        cell(n, {Buffer::Input, i}).value = input_value(n, i);
  }

  const Program& program_;
  std::vector<int> first_block_ = {};  // by rank
  std::vector<Rank> rank_of_ = {};     // by block
};

}  // namespace chorale
