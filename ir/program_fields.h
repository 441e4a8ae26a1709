// The fields of block programs (ir/fields.h), for ir/json_block_program.cpp and the schemas of docs. What an
// instruction has depends on its operation.
#pragma once

#include "ir/block_program.h"
#include "ir/fields.h"

namespace chorale {

inline constexpr double kMostProgramNumber = 1 << 24;
inline constexpr std::size_t kMostProgramList = 1 << 24;

template <>
struct Fields<Block> {
  static constexpr std::tuple all = {
      Field<Block, &Block::send_to>{{.name = "send", .least = -1, .most = kMostRanks}},
      Field<Block, &Block::recv_from>{{.name = "recv", .least = -1, .most = kMostRanks}},
      Field<Block, &Block::channel>{{.name = "channel", .most = kMostProgramNumber}},
      Field<Block, &Block::instructions>{{.name = "instructions", .longest = kMostProgramList}}};
};

template <>
struct Fields<BlockRank> {
  using R = BlockRank;
  static constexpr std::tuple all = {
      Field<R, &R::input_chunks>{{.name = "input", .most = kMostProgramNumber}},
      Field<R, &R::output_chunks>{{.name = "output", .most = kMostProgramNumber}},
      Field<R, &R::scratch_chunks>{{.name = "scratch", .most = kMostProgramNumber}},
      Field<R, &R::slice>{
          {.name = "slice", .most = kMostProgramNumber, .may_lack = true, .unless_default = true}},
      Field<R, &R::blocks>{{.name = "blocks", .longest = kMostProgramList}}};
};

}  // namespace chorale
