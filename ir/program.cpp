#include "ir/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace chorale {

std::vector<MessageEnds> messages_of(const Program& program) {
  std::map<int, MessageEnds> messages;
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (const ThreadBlock& block : program.ranks[n].blocks)
      for (const Instruction& i : block.instructions) {
        if (is_local(i.opcode)) continue;
        MessageEnds& m = messages[i.message];
        m.number = i.message, m.step = i.step, m.piece = i.piece;
        if (i.opcode == Opcode::Send)
          m.from = n, m.src = i.src;
        else
          m.to = n, m.dst = i.dst;
      }
  std::vector<MessageEnds> result;
  for (const auto& [number, message] : messages) result.push_back(message);
  return result;
}

bool is_local(Opcode opcode) {
  return opcode != Opcode::Send && opcode != Opcode::Recv;
}

std::int64_t piece_begin(std::int64_t elements, int pieces, int piece) {
  return elements / pieces * piece + std::min<std::int64_t>(piece, elements % pieces);
}

std::string to_string(const Instruction& i) {
  switch (i.opcode) {
    case Opcode::Send:
      return fmt::format("send {} to rank {} (message {})", to_string(i.src), i.peer, i.message);
    case Opcode::Recv:
      return fmt::format("receive {} from rank {} (message {})", to_string(i.dst), i.peer, i.message);
    case Opcode::Copy:
      return fmt::format("copy {} to {}", to_string(i.src), to_string(i.dst));
    case Opcode::Reduce:
      return fmt::format("reduce {} into {}", to_string(i.src), to_string(i.dst));
  }
  return "unknown instruction";
}

}  // namespace chorale
