#include "ir/block_program.h"

#include <fmt/format.h>

namespace chorale {

bool sends(BlockOpcode opcode) {
  return opcode == BlockOpcode::Send || opcode == BlockOpcode::RecvCopySend ||
         opcode == BlockOpcode::RecvReduceSend || opcode == BlockOpcode::RecvReduceCopySend;
}

bool receives(BlockOpcode opcode) {
  return opcode == BlockOpcode::Recv || opcode == BlockOpcode::RecvCopySend ||
         opcode == BlockOpcode::RecvReduce || opcode == BlockOpcode::RecvReduceSend ||
         opcode == BlockOpcode::RecvReduceCopySend;
}

bool reads_src(BlockOpcode opcode) {
  return opcode == BlockOpcode::Send || opcode == BlockOpcode::Copy || reduces(opcode);
}

bool reads_dst(BlockOpcode opcode) {
  return opcode == BlockOpcode::Reduce || opcode == BlockOpcode::Epilogue;
}

bool writes_dst(BlockOpcode opcode) {
  return opcode != BlockOpcode::Nop && opcode != BlockOpcode::Barrier && opcode != BlockOpcode::Send &&
         opcode != BlockOpcode::RecvReduceSend;
}

bool reduces(BlockOpcode opcode) {
  return opcode == BlockOpcode::Reduce || opcode == BlockOpcode::RecvReduce ||
         opcode == BlockOpcode::RecvReduceSend || opcode == BlockOpcode::RecvReduceCopySend;
}

bool has_epilogue(const BlockProgram& program) {
  for (const BlockRank& rank : program.ranks)
    for (const Block& block : rank.blocks)
      for (const BlockInstruction& i : block.instructions)
        if (i.opcode == BlockOpcode::Epilogue) return true;
  return false;
}

std::string to_string(BlockOpcode opcode) {
  switch (opcode) {
    case BlockOpcode::Nop:
      return "nop";
    case BlockOpcode::Send:
      return "s";
    case BlockOpcode::Recv:
      return "r";
    case BlockOpcode::RecvCopySend:
      return "rcs";
    case BlockOpcode::RecvReduce:
      return "rrc";
    case BlockOpcode::RecvReduceSend:
      return "rrs";
    case BlockOpcode::RecvReduceCopySend:
      return "rrcs";
    case BlockOpcode::Copy:
      return "cpy";
    case BlockOpcode::Reduce:
      return "re";
    case BlockOpcode::Barrier:
      return "bar";
    case BlockOpcode::Epilogue:
      return "epi";
  }
  return "";
}

std::string to_string(const BlockInstruction& i) {
  std::string text = to_string(i.opcode);
  if (reads_src(i.opcode)) text += " " + to_string(i.src);
  if (writes_dst(i.opcode)) text += (i.opcode == BlockOpcode::Epilogue ? " " : " -> ") + to_string(i.dst);
  if (i.opcode == BlockOpcode::Barrier) text += fmt::format(" {}", i.barrier);
  if (i.opcode == BlockOpcode::Epilogue) text += fmt::format(" as {}", i.position);
  if (i.count != 1) text += fmt::format(" x {}", i.count);
  return text;
}

}  // namespace chorale
