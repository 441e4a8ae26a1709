#include "ir/program.h"

#include <fmt/format.h>

#include <map>

namespace chorale {

std::vector<MessageEnds> messages_of(const Program& program) {
  std::map<int, MessageEnds> messages;
  for_each_instruction(program, [&](Rank n, int, int, const Instruction& i) {
    if (is_local(i.does)) return;
    MessageEnds& m = messages[i.message];
    m.number = i.message, m.step = i.step, m.piece = i.does.piece;
    if (i.does.sends)
      m.from = n, m.src = i.does.from.front().slot;
    else
      m.to = n, m.dst = i.does.to.front().slot;
  });
  std::vector<MessageEnds> result;
  for (const auto& [number, message] : messages) result.push_back(message);
  return result;
}

std::string to_string(const Instruction& i) {
  if (is_local(i.does)) return fmt::format("{}, step {}", to_string(i.does), i.step + 1);
  return fmt::format("{}, step {}: {} rank {}, message {}", to_string(i.does), i.step + 1,
                     i.does.sends ? "to" : "from", i.peer, i.message);
}

}  // namespace chorale
