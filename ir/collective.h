// A communication: which rank holds which chunk before, which ranks need it after, and where it lies in their
// buffers.
//
// A collective that combines (Reduce, ReduceScatter, AllReduce) starts with one *contribution* to chunk c at
// each rank of pre(c); each rank of post(c) needs the sum of all contributions, each counted once. One that
// does not combine starts with copies of c at pre(c); each rank of post(c) needs a copy.
//
// Positions are counted in chunks. Every rank of pre(c) has chunk c at `input` of its input buffer; every
// rank of post(c) needs it at `output` of its output buffer. Several chunks of a non-combining collective may
// share an output position: the rank adds them up locally when they have arrived (AllReduce by gathering
// everything). Their sum can go on from there as a chunk of its own, which is marked.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/rank_set.h"
#include "ir/sum_order.h"
#include "ir/topology.h"

namespace chorale {

// Pairs (s, d) that have a block (ir/collective_kind.h), and the ranks that a block names.
struct BlockPairs {
  int sources = 1, destinations = 1;
  double named = 0;  // any number of ranks may be asked about
};
BlockPairs block_pairs(CollectiveKind, int ranks);

// Returns why there can be no such collective: the size of all of it is computed before anything is
// allocated, since a short text may ask for any number of chunks. Requires a kind that is not Custom.
std::optional<Fault> flaw(CollectiveKind, int ranks, int chunks, Rank root);
// Returns why refined() has none, of a collective that takes so many bytes.
std::optional<Fault> flaw_if_refined(double bytes, int ranks, int chunks_per_block, int chunks);

using Chunk = int;  // index into Collective::chunks

struct ChunkSpec {
  RankSet pre = {};
  RankSet post = {};
  int input = 0;
  int output = 0;
  // The one rank of pre has it once it has all unmarked chunks that have this output there: as their sum.
  bool summed = false;
  bool operator==(const ChunkSpec&) const = default;
};

// Is the rank in pre, in post?
bool starts_at(const ChunkSpec&, Rank);
bool ends_at(const ChunkSpec&, Rank);

struct Collective {
  CollectiveKind kind = CollectiveKind::Custom;
  std::string custom_name = {};  // of a custom one; the others are called as their kind is
  int ranks = 0;
  Rank root = 0;             // of a kind that has one
  int chunks_per_block = 1;  // the C of the cost (steps, rounds/C); see make_collective
  bool combining = false;
  SumOrder order = {};  // of its sums, where it adds
  std::vector<ChunkSpec> chunks = {};
  bool operator==(const Collective&) const = default;
};

std::string name_of(const Collective&);
bool is_custom(const Collective&);  // its chunks come from a file, not from its kind
bool adds(const Collective&);       // it combines, or does by copies what one that combines does

// Is it a sum in any order, each chunk of which has one destination? Then its schedules are those of its
// dual, a copy, reversed in time.
bool has_copying_dual(const Collective&);

// Can the contributions to a chunk be added up in an order that is not what the collective asks for?
bool asks_order(const Collective&, Chunk);

// Returns a collective of a kind with `chunks` chunks a *block* (ir/collective_kind.h): what a rank
// contributes to an Allgather or receives from a ReduceScatter; what one rank sends to one other in Alltoall,
// Scatter, Gather; the whole vector in Broadcast, Reduce and AllReduce. Scatter, Gather and Alltoall include
// the block that stays where it is: chunks with pre == post whose transfer is a local copy. Requires a kind
// that is not Custom, ranks >= 1, chunks >= 1, 0 <= root < ranks; throws InputError otherwise.
Collective make_collective(CollectiveKind, int ranks, int chunks, Rank root = 0);
Collective make_collective(const std::string& name, int ranks, int chunks,
                           Rank root = 0);  // by its name in files and on command lines

// A kind's blocks among the ranks of a group, numbered in its order, as chunks of a collective that has
// others besides: block (s, d) is cut into chunks(s, d), from 0 on; s, d and root are numbers in the group
// (the table's rows define which).
void add_blocks(Collective&, CollectiveKind, const std::vector<Rank>& group, int root,
                const std::function<int(int s, int d)>& chunks);

// Returns a custom collective with each of its chunks cut into `chunks` pieces.
Collective refined(const Collective&, int chunks);

// Returns the same with each block cut into `chunks`. Requires one chunk per block.
Collective with_chunks(const Collective& one, int chunks);

// Returns the same, or one of a kind that stands in for it or is a phase of it: for the same ranks, root and
// order of sums.
Collective of_kind(const Collective& asked, CollectiveKind, int chunks);

// Returns the collective with its data flow reversed: pre and post exchanged. For a combining collective
// whose chunks each have one destination (Reduce, ReduceScatter) this is the dual that does not combine
// (Broadcast, Allgather) on the reversed topology, and vice versa. Positions are exchanged too.
Collective dual(const Collective&);

// Returns chunks per rank of the input and output buffers: one past the largest position that the rank uses.
int input_chunks(const Collective&, Rank);
int output_chunks(const Collective&, Rank);
// Returns the same of all ranks, in one walk over the chunks; of what is out of range, nothing.
std::vector<int> input_chunks(const Collective&);
std::vector<int> output_chunks(const Collective&);

// Returns, by chunk, which chunks it is the sum of; none of those that are not marked so.
std::vector<std::vector<Chunk>> operands_of(const Collective&);

// About what it takes (ir/limits.h).
double bytes_of(const Collective&);

// Chunks that start at the same ranks and go to the same ranks: they differ by their number and by where they
// lie in buffers, so what bounds, encodings and constructions find out about one is true of all.
struct ChunkClass {
  RankSet pre = {};
  RankSet post = {};
  std::vector<Chunk> chunks = {};  // ascending
  std::int64_t count() const { return std::ssize(chunks); }
};

// Returns every class, by pre, then post.
std::vector<ChunkClass> chunk_classes(const Collective&);

}  // namespace chorale
