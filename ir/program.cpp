// A message stands twice in a program, at its sender and at its receiver; here the two ends are joined.
#include "ir/program.h"

#include <fmt/format.h>

#include <map>

namespace chorale {

// The ends meet by the message's number, in a map, so the result is by number. Step and piece are the same at
// both.
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

// Sends, receives, copies and sums of two have words of their own; other operations are described operand by
// operand.
std::string to_string(const Instruction& i) {
  const DataOperation& op = i.does;
  if (op.sends && op.from.size() == 1)
    return fmt::format("send {} to rank {} (message {})", to_string(op.from[0]), i.peer, i.message);
  if (op.takes && op.to.size() == 1)
    return fmt::format("receive {} from rank {} (message {})", to_string(op.to[0]), i.peer, i.message);
  if (applies(op) || op.count != 1 || op.to.size() != 1) return to_string(op);
  if (op.from.size() == 1) return fmt::format("copy {} to {}", to_string(op.from[0]), to_string(op.to[0]));
  if (op.from.size() == 2 && op.from[0] == op.to[0])
    return fmt::format("reduce {} into {}", to_string(op.from[1]), to_string(op.to[0]));
  return to_string(op);
}

}  // namespace chorale
