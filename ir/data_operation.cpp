// Makers of the four operations that all forms of programs share, and their text: "move a message + input[0]
// to output[0] and a message".
#include "ir/data_operation.h"

#include <fmt/format.h>

namespace chorale {
namespace {

std::string place_list(const std::vector<DataPlace>& places, const char* between) {
  std::string text;
  for (const DataPlace& place : places) text += (text.empty() ? "" : between) + to_string(place);
  return text;
}

}  // namespace

DataOperation sending(const Slot& src, int piece) {
  return {.from = {{src}}, .sends = true, .piece = piece};
}

DataOperation receiving(const Slot& dst, int piece) {
  return {.takes = true, .to = {{dst}}, .piece = piece};
}

DataOperation copying(const Slot& src, const Slot& dst, int piece) {
  return {.from = {{src}}, .to = {{dst}}, .piece = piece};
}

// The destination is the first operand, as shape_of() requires of "re" (ir/block_program.h).
DataOperation adding(const Slot& src, const Slot& dst, int piece) {
  return {.from = {{dst}, {src}}, .to = {{dst}}, .piece = piece};
}

Slot next_slot(const Slot& slot, int by) {
  return {slot.buffer, slot.index + by};
}

DataPlace next_place(const DataPlace& place, int by) {
  return {next_slot(place.slot, by), place.rank, place.team};
}

std::vector<DataPlace> single_places(const Teams& teams, const DataPlace& place) {
  if (place.team < 0) return {place};
  std::vector<DataPlace> places;
  for (const Rank n : teams[place.team]) places.push_back({place.slot, n});
  return places;
}

std::string to_string(const DataPlace& place) {
  if (place.team >= 0) return fmt::format("team {}'s {}", place.team, to_string(place.slot));
  return place.rank < 0 ? to_string(place.slot)
                        : fmt::format("rank {}'s {}", place.rank, to_string(place.slot));
}

std::string to_string(const DataOperation& op) {
  if (does_nothing(op)) return "nothing";
  // "input[0] and the 3 after": every slot of an operation stands for `count` consecutive ones.
  const std::string more = op.count == 1 ? "" : fmt::format(" and the {} after", op.count - 1);
  std::string operands = op.takes ? "a message" : "";
  if (!op.from.empty()) operands += (op.takes ? " + " : "") + place_list(op.from, " + ") + more;
  std::string results = op.to.empty() ? "" : place_list(op.to, " and ") + more;
  if (op.sends) results += op.to.empty() ? "a message" : " and a message";
  return fmt::format("move {} to {}{}", operands, results,
                     applies(op) ? fmt::format(", applied to as {}", op.position) : "");
}

}  // namespace chorale
