#include "runtime/step_tables.h"

namespace chorale {

StepProgram::StepProgram(const Program& program) : steps_(program.steps), pieces_(program.chunks_per_block) {
  for (const MessageEnds& m : messages_of(program))
    messages_.push_back({m.step, m.from, static_cast<int>(m.src.buffer), m.src.index, m.to,
                         static_cast<int>(m.dst.buffer), m.dst.index, m.piece});
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    const RankProgram& rank = program.ranks[n];
    slots_.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks});
    for (const ThreadBlock& block : rank.blocks)
      for (const Instruction& i : block.instructions)
        if (is_local(i.opcode))
          work_.push_back({n, i.step, i.opcode == Opcode::Reduce, static_cast<int>(i.src.buffer), i.src.index,
                           static_cast<int>(i.dst.buffer), i.dst.index, i.piece});
  }
}

StepTables StepProgram::tables() const {
  return {static_cast<int>(slots_.size()),
          steps_,
          pieces_,
          slots_.data(),
          messages_.data(),
          messages_.size(),
          work_.data(),
          work_.size()};
}

}  // namespace chorale
