// Both ends of a message list its parts in the order of the plan's pieces, so bytes need no headers.
#include "runtime/alltoallv.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/program.h"

namespace chorale {
namespace {

// Messages that are being listed, by step and posting distance.
template <typename Message>
using Listed = std::map<std::pair<int, int>, Message>;

}  // namespace

// Messages of a step are kept in the order of their posting distance, so that ranks do not all send to one at
// first. Bytes that are passed on have room of their own in scratch, one piece after the other.
AlltoallvRank::AlltoallvRank(const AlltoallvPlan& plan, Rank rank) : rank_(rank), ranks_(plan.ranks) {
  Listed<Message> sends, receives;
  // Parts that follow each other in memory become one, so that a message of a whole block needs no packing.
  const auto list = [](Listed<Message>& listed, int step, int distance, Rank peer, const Part& part) {
    Message& message = listed[{step, distance}];
    message.step = step;
    message.peer = peer;
    if (!message.parts.empty()) {
      Part& last = message.parts.back();
      if (last.in == part.in && last.block == part.block && last.offset + last.bytes == part.offset) {
        last.bytes += part.bytes;
        return;
      }
    }
    message.parts.push_back(part);
  };
  for (const AlltoallvPiece& piece : plan.pieces) {
    const bool inside = piece.out < 0;
    const Rank out = inside ? piece.src : piece.out, in = inside ? piece.dst : piece.in;
    // A rank passes on at most once: its own bytes and those for it have their blocks.
    std::int64_t passed = -1;
    if ((rank == out && rank != piece.src) || (rank == in && rank != piece.dst)) {
      passed = scratch_bytes_;
      scratch_bytes_ += piece.bytes;
    }
    // Where this rank has the piece: in its own block if it comes from or goes to this rank, else in passing.
    const auto here = [&]() -> Part {
      if (passed >= 0) return {.in = Part::In::Scratch, .offset = passed, .bytes = piece.bytes};
      return rank == piece.src ? Part{Part::In::Send, piece.dst, piece.offset, piece.bytes}
                               : Part{Part::In::Receive, piece.src, piece.offset, piece.bytes};
    };
    // The three legs of a piece, of which those that stay on one rank are none.
    const auto hop = [&](Rank from, Rank to, int step) {
      if (from == to) return;
      const int distance = posting_distance(from, to, ranks_);
      if (rank == from) list(sends, step, distance, to, here());
      if (rank == to) list(receives, step, distance, from, here());
    };
    hop(piece.src, out, piece.step);
    hop(out, in, piece.step + 1);
    hop(in, piece.dst, piece.step + 2);
  }
  for (auto& [order, message] : sends) sends_.push_back(std::move(message));
  for (auto& [order, message] : receives) receives_.push_back(std::move(message));
}

// A message of one part is sent from where it lies; one of several is a list of pieces, which the transport
// packs or sends as they are.
void AlltoallvRank::execute(std::span<const std::byte* const> send, std::span<std::byte* const> receive,
                            std::byte* scratch, Transport& transport) const {
  const auto at = [&](const Part& part) {
    // What is sent is not written: a delivery has one type for both ends.
    std::byte* const begin = part.in == Part::In::Send      ? const_cast<std::byte*>(send[part.block])
                             : part.in == Part::In::Receive ? receive[part.block]
                                                            : scratch;
    return begin + part.offset;
  };
  const auto delivery = [&](const Message& message) {
    Delivery delivery{.peer = message.peer, .tag = message.step, .step = message.step};
    for (const Part& part : message.parts) delivery.bytes += part.bytes;
    if (message.parts.size() == 1)
      delivery.data = at(message.parts.front());
    else
      for (const Part& part : message.parts)
        delivery.pieces.push_back({reinterpret_cast<char*>(at(part)), part.bytes});
    return delivery;
  };
  auto sending = sends_.begin();
  auto receiving = receives_.begin();
  // A step that has only sends, or only receives, on this rank is one all the same.
  while (sending != sends_.end() || receiving != receives_.end()) {
    const int step = std::min(sending != sends_.end() ? sending->step : receiving->step,
                              receiving != receives_.end() ? receiving->step : sending->step);
    std::vector<Delivery> sends, receives;
    for (; sending != sends_.end() && sending->step == step; ++sending) sends.push_back(delivery(*sending));
    for (; receiving != receives_.end() && receiving->step == step; ++receiving)
      receives.push_back(delivery(*receiving));
    transport.exchange(sends, receives);
    transport.release(sends, receives);
  }
}

}  // namespace chorale
