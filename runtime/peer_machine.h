// A peer program with its buffers on this machine, for any types and any executor of the kernel: for the
// executors of peer programs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/peer_program.h"
#include "runtime/device/kernel.h"
#include "runtime/epilogue.h"
#include "runtime/peer_run_options.h"

namespace chorale {

class PeerMachine {
 public:
  // Must not outlive the program.
  PeerMachine(const PeerProgram&, const BlockShape&, const PeerRunOptions&);

  int ranks() const { return static_cast<int>(program_.ranks.size()); }
  bool in_place() const { return program_.in_place; }
  EpilogueFunction reference() const { return epilogue_.reference(); }
  std::int64_t input_bytes(Rank n) const { return begin(table_.ranks[n].input_chunks) * size(); }

  // Chunk by chunk, since in place they may lie in the other buffer.
  void write_input(Rank, const std::vector<std::byte>&);
  std::vector<std::byte> input(Rank n) { return read(n, Buffer::Input, table_.ranks[n].input_chunks); }
  std::vector<std::byte> output(Rank n) { return read(n, Buffer::Output, table_.ranks[n].output_chunks); }
  void spoil_output(Rank);

 protected:
  // Throws Hang, which names the wait that timed out, if one did.
  void require_no_trouble(const Trouble&, std::chrono::milliseconds timeout) const;

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(block_shape_.type)); }
  // Elements before a slot of an input or output.
  std::int64_t begin(int slot) const {
    return Pieces{block_shape_.elements, program_.chunks_per_block}.slot_begin(slot);
  }

  const PeerProgram& program_;
  const PeerTable table_;
  const BlockShape block_shape_;
  const PeerRunOptions options_;
  const EpilogueRun epilogue_;
  PeerShape shape_ = {};
  PeerTables tables_ = {};  // in the memory of this process
  std::vector<std::vector<std::byte>> input_ = {}, output_ = {};

 private:
  std::vector<std::byte> read(Rank, Buffer, int chunks);
  std::int64_t length(int slot) const { return begin(slot + 1) - begin(slot); }
  std::byte* at(Rank, const Slot&);
};

// Does it add anything, itself or by a switch?
bool adds_up(const PeerProgram&);

// Throws InputError for sizes that the kernel does not take, and for 16-bit floats that are to be added as
// float32 in a program for one memory.
void check(const PeerProgram&, const PeerRunOptions&, Accumulation);

}  // namespace chorale
