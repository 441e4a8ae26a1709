// Slots stay slots here: what depends on a size is runtime/device/step_plan.h's.
#include "runtime/step_tables.h"

#include "ir/step_rows.h"

namespace chorale {

StepProgram::StepProgram(const Program& program) : steps_(program.steps), pieces_(program.chunks_per_block) {
  for (const MessageEnds& m : messages_of(program))
    messages_.push_back({m.step, m.from, static_cast<int>(m.src.buffer), m.src.index, m.to,
                         static_cast<int>(m.dst.buffer), m.dst.index, m.piece});
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    const RankProgram& rank = program.ranks[n];
    slots_.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks});
  }
  for (const StepRow& row : step_rows(program))
    work_.push_back({row.rank, row.step, row.add, row.from_buffer, row.from_slot, row.to_buffer, row.to_slot,
                     row.piece, row.position});
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
