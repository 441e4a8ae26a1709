// What is known of a collective by its kind alone: a table with one row per kind.
//
// A row defines the holders of a block before and its receivers after: the root, each rank a block of its
// own, or all ranks the same block. There is a block for each pair (s, d): s ranges over the ranks if each
// holds a block of its own before, d if each needs a block of its own after, and is 0 otherwise. Block (s, d)
// is block d of the input buffers of its holders and block s of the output buffers of its receivers. The row
// thus also defines whether there is a root, whether blocks are summed (several holders of one block before),
// how many blocks a buffer has, and where the input lies if it shares memory with the output.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/slot.h"
#include "ir/topology.h"

namespace chorale {

enum class CollectiveKind {
  Broadcast,
  Scatter,
  Gather,
  Allgather,
  Alltoall,
  Reduce,
  ReduceScatter,
  AllReduce,
  AllReduceByGather,  // AllReduce by copies: each rank gets all vectors, and adds them up
  AllReduceInPhases,  // the same: each rank gets a part of all vectors, adds it up, and sends the sum to all
  Custom,             // its chunks are listed in a file
};

enum class Participants { Root, Each, All, Listed };

struct CollectiveRow {
  CollectiveKind kind = CollectiveKind::Custom;
  std::string_view name = {};  // in files and on command lines
  std::string_view counted =
      {};  // with a count of chunks for each rank, or pair: "allgatherv"; "": it has none
  std::string_view block = {};  // what a block is, to people
  Participants before = Participants::Listed;
  Participants after = Participants::Listed;
  // With reversed data flow, and copies for sums or sums for copies; Custom if that kind does not exist.
  CollectiveKind dual = CollectiveKind::Custom;
  CollectiveKind result = kind;  // what it is to its caller: AllReduce of the two above, else itself
};

const CollectiveRow& row_of(CollectiveKind);
std::string name_of(CollectiveKind);  // "allgather"
std::optional<CollectiveKind> kind_named(std::string_view);
// As libraries spell it, too.
std::optional<CollectiveKind> kind_spelled(const std::string& name);
CollectiveKind known_kind(const std::string& name);  // likewise; throws InputError

// Says which kinds can be requested by name, in the order of the table: without implementations of other
// kinds and Custom.
bool is_offered(CollectiveKind);
const std::vector<std::string>& collective_names();
// Returns those that are asked about where none is named, in this order.
const std::vector<std::string>& usual_collectives();

// Returns those with counts (ir/group_collective.h).
std::optional<CollectiveKind> kind_with_counts(std::string_view name);  // of "allgatherv"
const std::vector<std::string>& counted_names();

bool is_rooted(CollectiveKind);     // one rank, the root, plays another part than the others
bool is_combining(CollectiveKind);  // by the row; of a custom collective, by its own member

// Returns blocks of the buffers of a rank that has one.
int input_blocks(CollectiveKind, int ranks);
int output_blocks(CollectiveKind, int ranks);
int blocks_of(CollectiveKind, int ranks);  // of the larger of the two

// In place, which is where NCCL and MPI have it: buffers of one size are one (AllReduce, Broadcast, Reduce,
// Alltoall); where the output is larger the input is the rank's block of it (Allgather, and at the root
// Gather); where the input is larger the output is (ReduceScatter, and at the root Scatter). MPI alone has it
// otherwise in MPI_Reduce_scatter_block: there both begin at one place.
//
// The input begins this many times `rank` blocks after the output: 1, 0 or -1.
int in_place_shift(CollectiveKind);
// Returns the one slot that two such slots of both buffers share; a slot that is shared with no other is its
// own.
Slot in_place_slot(CollectiveKind, int chunks_per_block, Rank, const Slot&);
// Returns the same for a rank whose buffers have these numbers of chunks. A slot stays as it is if the other
// buffer does not have it (a rank other than the root has no output in Reduce).
Slot in_place_slot(CollectiveKind, int chunks_per_block, Rank, const Slot&, int input_chunks,
                   int output_chunks);

}  // namespace chorale
