// What the verifiers of programs of blocks share beyond the symbolic machine: blocks as actors, numbered
// through over all ranks, each of which works in the memory of its own rank.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "semantics/program_sizes.h"
#include "semantics/symbolic_machine.h"

namespace chorale {

// Of Program, and BlockProgram.
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

  // As operation_form, in the rank's own memory.
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
