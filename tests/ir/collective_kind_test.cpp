#include "ir/collective_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/collective.h"
#include "ir/error.h"

namespace chorale {
namespace {

using enum CollectiveKind;

constexpr Buffer kIn = Buffer::Input, kOut = Buffer::Output;

// What follows from a row, written out by hand: the table is compared with MPI's and NCCL's manuals here, not
// against itself.
struct Known {
  CollectiveKind kind;
  bool rooted, combining;
  int input_blocks, output_blocks;  // of 4 ranks
  CollectiveKind dual;
  // Where block 0 of each buffer of rank 2 lies in place.
  Slot input, output;
};

// MPI_IN_PLACE: the input is taken from where the output goes; of Allgather and (at the root) Gather from the
// rank's block of it. NCCL: sendbuff == recvbuff; of AllGather and Gather sendbuff == recvbuff + rank *
// count; of ReduceScatter and Scatter recvbuff == sendbuff + rank * count.
const Known kKnown[] = {
    {Broadcast, true, false, 1, 1, Reduce, {kOut, 0}, {kOut, 0}},
    {Scatter, true, false, 4, 1, Custom, {kIn, 0}, {kIn, 4}},
    {Gather, true, false, 1, 4, Custom, {kOut, 4}, {kOut, 0}},
    {Allgather, false, false, 1, 4, ReduceScatter, {kOut, 4}, {kOut, 0}},
    {Alltoall, false, false, 4, 4, Custom, {kOut, 0}, {kOut, 0}},
    {Reduce, true, true, 1, 1, Broadcast, {kOut, 0}, {kOut, 0}},
    {ReduceScatter, false, true, 4, 1, Allgather, {kIn, 0}, {kIn, 4}},
    {AllReduce, false, true, 1, 1, Custom, {kOut, 0}, {kOut, 0}},
    {AllReduceByGather, false, false, 1, 1, Custom, {kOut, 0}, {kOut, 0}},
    {AllReduceInPhases, false, false, 1, 1, Custom, {kOut, 0}, {kOut, 0}},
    {Custom, false, false, 1, 1, Custom, {kOut, 0}, {kOut, 0}},
};

TEST(CollectiveKind, RowsSayWhatManualsSay) {
  for (const Known& known : kKnown) {
    SCOPED_TRACE(name_of(known.kind));
    EXPECT_EQ(is_rooted(known.kind), known.rooted);
    EXPECT_EQ(is_combining(known.kind), known.combining);
    EXPECT_EQ(input_blocks(known.kind, 4), known.input_blocks);
    EXPECT_EQ(output_blocks(known.kind, 4), known.output_blocks);
    EXPECT_EQ(row_of(known.kind).dual, known.dual);
    EXPECT_EQ(in_place_slot(known.kind, 2, 2, {kIn, 0}), known.input);
    EXPECT_EQ(in_place_slot(known.kind, 2, 2, {kOut, 0}), known.output);
    EXPECT_EQ(in_place_slot(known.kind, 2, 2, {Buffer::Scratch, 3}), (Slot{Buffer::Scratch, 3}));
  }
}

// Who is not the root of a Gather has no output: its input is where it is.
TEST(CollectiveKind, ABufferThatIsNotThereSharesNothing) {
  EXPECT_EQ(in_place_slot(Gather, 2, 1, {kIn, 1}, 2, 0), (Slot{kIn, 1}));
  EXPECT_EQ(in_place_slot(Gather, 2, 1, {kIn, 1}, 2, 8), (Slot{kOut, 3}));
  EXPECT_EQ(in_place_slot(Scatter, 2, 1, {kOut, 1}, 0, 2), (Slot{kOut, 1}));
  EXPECT_EQ(in_place_slot(Scatter, 2, 1, {kOut, 1}, 8, 2), (Slot{kIn, 3}));
}

TEST(CollectiveKind, BuffersAndDualsFollowFromTheRows) {
  for (const Known& known : kKnown) {
    if (known.kind == Custom) continue;
    SCOPED_TRACE(name_of(known.kind));
    const Collective c = make_collective(known.kind, 4, 3, known.rooted ? 2 : 0);
    EXPECT_EQ(c.combining, known.combining);
    // The root has all buffers that there are.
    EXPECT_EQ(input_chunks(c, 2), 3 * known.input_blocks);
    EXPECT_EQ(output_chunks(c, 2), 3 * known.output_blocks);
    if (known.dual == Custom) continue;
    EXPECT_EQ(dual(c), make_collective(known.dual, 4, 3, known.rooted ? 2 : 0));
    EXPECT_EQ(row_of(known.dual).dual, known.kind);
  }
}

TEST(CollectiveKind, IsKnownByItsName) {
  EXPECT_EQ(kind_named("allreduce_by_gather"), AllReduceByGather);
  EXPECT_EQ(kind_named("custom"), std::nullopt);
  EXPECT_FALSE(is_offered(AllReduceByGather));
  EXPECT_EQ(collective_names().size(), 8u);
  for (const std::string& name : collective_names()) EXPECT_EQ(name_of(known_kind(name)), name);
  EXPECT_THAT(collective_names(), testing::IsSupersetOf(usual_collectives()));
  EXPECT_THROW(known_kind("allgahter"), InputError);
  EXPECT_THROW(known_kind("mpi"), InputError);
  EXPECT_THROW(known_kind(""), InputError);
}

TEST(CollectiveKind, IsKnownAsLibrariesSpellIt) {
  for (const char* name :
       {"AllReduce", "ALLREDUCE", "all-reduce", "all_reduce", "MPI_Allreduce", "ncclAllReduce"})
    EXPECT_EQ(known_kind(name), AllReduce) << name;
  for (const char* name :
       {"ReduceScatter", "reduce_scatter_tensor", "MPI_Reduce_scatter_block", "rcclReduceScatter"})
    EXPECT_EQ(known_kind(name), ReduceScatter) << name;
  for (const char* name : {"AllGather", "all_gather_into_tensor", "MPI_Allgather"})
    EXPECT_EQ(known_kind(name), Allgather) << name;
  for (const char* name : {"AlltoAll", "all_to_all_single", "MPI_Alltoall"})
    EXPECT_EQ(known_kind(name), Alltoall) << name;
  EXPECT_EQ(known_kind("MPI_Bcast"), Broadcast);
  EXPECT_EQ(kind_with_counts("MPI_Alltoallv"), Alltoall);
  EXPECT_EQ(kind_with_counts("AllGatherV"), Allgather);
  for (const char* name : {"", "mpi", "-", "NCCL_"}) EXPECT_FALSE(kind_with_counts(name)) << name;
}

}  // namespace
}  // namespace chorale
