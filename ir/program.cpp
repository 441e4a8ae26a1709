#include "ir/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorale {

bool is_local(Opcode opcode) {
  return opcode != Opcode::Send && opcode != Opcode::Recv;
}

std::int64_t piece_begin(std::int64_t elements, int pieces, int piece) {
  return elements / pieces * piece + std::min<std::int64_t>(piece, elements % pieces);
}

std::string to_string(const Slot& slot) {
  const char* names[] = {"input", "output", "scratch"};
  return fmt::format("{}[{}]", names[static_cast<int>(slot.buffer)], slot.index);
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
