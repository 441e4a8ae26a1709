// What a rank does where messages drive it, and what each of it waits for. C++17 without other headers of
// ours, since it is copied into emitted programs.
#pragma once

#include <cstdint>
#include <vector>

namespace chorale {

// Elements of a buffer (ir/step_table.h), from its beginning on. Slots are equal or do not touch.
struct Span {
  int buffer = 0;
  std::int64_t begin = 0, count = 0;
  int receive = -1;  // not in a buffer, but what this message of the step has brought

  bool same_slot(const Span& other) const { return buffer == other.buffer && begin == other.begin; }
};

struct MessageTask {
  enum class Kind { Receive, Send, Sum };
  Kind kind = Kind::Sum;
  int step = 0;             // of the program
  int peer = -1, row = -1;  // of a message: the other rank, and its row of the table
  // What is read: of a send one span, of a sum its operands in their order. An operand that a message of the
  // same step has brought says which task that was (Span::receive).
  std::vector<Span> from = {};
  Span to = {};                 // where a message lands, or the result of a sum
  std::int64_t index = -1;      // of the first element, where a function takes the complete sum; else -1
  bool arrives = false;         // of a send: it has ended when its receiver has it, not before
  bool stays = false;           // of a send: no sum of its step stores over it
  bool borrows = false;         // of a receive: it is read in this step alone
  int completes = 0;            // of a sum: as of StepWork
  std::vector<int> after = {};  // tasks before this one in the list that end before it starts

  const Span& span() const { return kind == Kind::Send ? from[0] : to; }  // of a message
};

// The tasks of one rank, in an order in which they could be done one after the other.
using MessagePlan = std::vector<MessageTask>;

// MPI promises this many tags: messages of a pair whose tags are equal modulo that keep their order.
constexpr int kTags = 1 << 15;

}  // namespace chorale
