// Carries out a plan of an Alltoallv (ir/alltoallv.h): the part of one rank, over any transport. All messages
// of a step are posted at once; a rank goes on when its own are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/alltoallv.h"
#include "runtime/exchange/transport.h"

namespace chorale {

class AlltoallvRank {
 public:
  // The plan is read here only.
  AlltoallvRank(const AlltoallvPlan&, Rank);

  // For what others have and this rank passes on.
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

  // Moves send[n], this rank's block for rank n, to that rank, and that rank's for this one to receive[n];
  // this rank's own block is not moved. Blocks have the bytes of the plan; empty ones may be null. Every rank
  // of the plan calls it, and nothing else uses the transport meanwhile.
  void execute(std::span<const std::byte* const> send, std::span<std::byte* const> receive,
               std::byte* scratch, Transport&) const;

 private:
  // Where bytes of a message lie.
  struct Part {
    enum class In { Send, Receive, Scratch } in = In::Scratch;
    Rank block = 0;
    std::int64_t offset = 0, bytes = 0;
  };
  struct Message {
    int step = 0;
    Rank peer = 0;
    std::vector<Part> parts = {};
  };

  Rank rank_ = 0;
  int ranks_ = 0;
  std::int64_t scratch_bytes_ = 0;
  std::vector<Message> sends_ = {}, receives_ = {};  // by step, then in posting order
};

}  // namespace chorale
