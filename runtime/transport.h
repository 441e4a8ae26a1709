// The seam to what carries messages: threads of this process, MPI, later GPUs. Each rank has its own.
#pragma once

#include <cstddef>
#include <span>

#include "ir/run_options.h"
#include "ir/topology.h"
#include "runtime/elements.h"

namespace chorale {

struct MessageTransfer {
  int message = 0;  // of the program
  Rank peer = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;  // may be 0; the message is sent all the same
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;

  // Moves all messages of an epoch; returns when the data sent may be overwritten and the data received are
  // there. Both lists are in posting order (ir/posting_order.h), those of a pair sorted by message, and each
  // message is in one list of each of its two ranks. Throws Hang.
  virtual void exchange(int step, std::span<const MessageTransfer> sends,
                        std::span<const MessageTransfer> recvs) = 0;

  // Every rank calls these, in the same order.
  virtual void barrier() = 0;
  virtual double all_reduce(ReduceOp, double) = 0;
};

}  // namespace chorale
