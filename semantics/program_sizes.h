// The buffers of a program, whatever its instructions are: for its verifiers.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "ir/collective.h"
#include "ir/data_operation.h"
#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/words.h"

namespace chorale {

// An instruction of a program of any form in words: where it stands, and what it is.
template <typename Program>
std::string name_of(const Program& program, Rank rank, int block, int instruction) {
  return fmt::format("rank {}, block {}, instruction {} ({})", rank, block, instruction,
                     to_string(program.ranks[rank].blocks[block].instructions[instruction]));
}

// What is wrong with the sizes of a Program, BlockProgram or PeerProgram, against the collective; empty: they
// fit.
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

}  // namespace chorale
