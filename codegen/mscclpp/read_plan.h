// Reads execution plans of MSCCL++ (JSON) as peer programs, with the meaning that its executor gives them
// (src/core/executor, src/core/include/execution_kernel.hpp):
//
//   put get copy re res rre rres       a Move; re and rre store at home only, res and rres at peers too
//   glres, gstore                      a Move from, and to, the team that is the switch channel's group
//   signal, rlxsignal, wait, rlxwait   a Signal or Wait for each channel. The k-th channel of rank a to rank
//                                      b ends in the k-th of b to a; each end is a counter of its rank, and
//                                      the i-th wait is for its value i
//   nop                                Sync
//   barrier                            Sync, a Signal to and a Wait for all blocks at it, Sync
//   sem_release, sem_acquire           Signal; a Wait for the value i - init_value, if that is one
//   packets (ppkt, ..., recspkt)       Wait, Sync, Move, Sync, Signal: a counter for each stretch of scratch
//                                      that is stored and loaded as a whole, listed in `packets`
//   pws, pwsf, flush, puts             over a port channel: a block of its own, the proxy of the channel,
//                                      does what it is asked, in that order: Wait for a counter that the
//                                      asking block raises, Sync, the Move, the Signal to the peer, or a
//                                      Signal back (flush), Sync. A launch ends without it (`proxies`)
//   tbg_info                           the part of the chunks that the block of a group moves
//   pipeline                           its operations for each unit, one after the other, unrolled
//
// A chunk of the file is `pieces` chunks of the program, such that each part of a group and each unit of a
// pipeline is a chunk of its own. The number of units depends on the size of the data: it is taken to be two
// or, if units reuse scratch (reuse_resources), two more than there is room for.
//
// "root", which plans of ours have, is the root of a collective that has one, and then the others' buffers
// that the collective does not give them are none, whatever their numbers of chunks.
//
// Sizes are assumed to be such that all parts of a group are equally long.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/promised.h"
#include "ir/collective.h"
#include "ir/peer_program.h"
#include "semantics/verify_peers.h"

namespace chorale {

struct MscclppFile {
  Collective collective = {};
  PeerProgram program = {};
  std::vector<PeerPacket> packets = {};            // for the verifier
  std::vector<std::pair<Rank, int>> proxies = {};  // for the verifier: rank and block
  std::string protocol = {};
  int pieces = 1;                       // chunks of the program in one of the file
  std::vector<std::string> notes = {};  // what its loader stumbles over, though the plan has a meaning
};

// Throws InputError, located by rank, thread block and operation, if the text is not such a plan, and for
// what has no meaning here: unknown operations and collectives, an index out of range, more than the
// executor's 64 operations, 16 channels and 16 buffers per thread block, 8 channels per operation, 16
// barriers and semaphores; a channel, semaphore or packet of two blocks; waits and signals whose numbers in a
// launch differ; what the executor does not do as the plan states (get between different indices, packets in
// a pipeline, double-buffered scratch of peers). `most_operations` is for executors that were built with
// another limit. "sendrecv" of the DSL is known: each rank's input goes to the next rank's output, or to
// the same rank of the next group of 2^k, as channels lead. Other names, such as "custom", say nothing of
// what is promised: `promised` does.
MscclppFile mscclpp_from_json(std::string_view text, const std::string& file, int most_operations = 64,
                              const PromisedOf& promised = {});

// Whether this JSON text is such a plan, perhaps a faulty one: it is an object with the key "gpus".
bool is_mscclpp_plan(std::string_view text, const std::string& file);

}  // namespace chorale
