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
      field<&Block::send_to>({.name = "send", .least = -1, .most = kMostRanks}),
      field<&Block::recv_from>({.name = "recv", .least = -1, .most = kMostRanks}),
      field<&Block::channel>({.most = kMostProgramNumber}),
      field<&Block::instructions>({.longest = kMostProgramList})};
};

template <>
struct Fields<BlockRank> {
  using R = BlockRank;
  static constexpr std::tuple all = {
      field<&R::input_chunks>({.name = "input", .most = kMostProgramNumber}),
      field<&R::output_chunks>({.name = "output", .most = kMostProgramNumber}),
      field<&R::scratch_chunks>({.name = "scratch", .most = kMostProgramNumber}),
      field<&R::slice>({.most = kMostProgramNumber, .unless_default = true}),
      field<&R::blocks>({.longest = kMostProgramList})};
};

}  // namespace chorale
