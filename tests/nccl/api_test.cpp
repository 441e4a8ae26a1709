// The C interface over NCCL: every collective that is known by hand and some that were found, all types and
// operations, sizes that nothing divides, in and out of place, captured; compared with what the collective
// promises (runtime/test_data.h), which knows nothing of programs. NCCL and the device are nccl/shim.
#include <chorale/nccl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "construct/baselines/classic.h"
#include "ir/files.h"
#include "ir/json.h"
#include "pareto/search.h"
#include "runtime/test_data.h"
#include "tests/kit/folder.h"
#include "tests/nccl/ranks.h"
#include "topology/builders.h"

extern "C" long shim_collectives();  // calls of NCCL's own, by all ranks

namespace chorale {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

struct NcclType {
  ElementType ours;
  ncclDataType_t nccl;
};
const std::vector<NcclType> all_types = {
    {ElementType::Float32, ncclFloat32}, {ElementType::Float64, ncclFloat64},
    {ElementType::Int32, ncclInt32},     {ElementType::Int64, ncclInt64},
    {ElementType::Int8, ncclInt8},       {ElementType::Uint8, ncclUint8},
    {ElementType::Uint32, ncclUint32},   {ElementType::Uint64, ncclUint64},
    {ElementType::Float16, ncclFloat16}, {ElementType::Bfloat16, ncclBfloat16}};
const std::vector<std::pair<ReduceOp, ncclRedOp_t>> all_ops = {{ReduceOp::Sum, ncclSum},
                                                               {ReduceOp::Max, ncclMax},
                                                               {ReduceOp::Min, ncclMin},
                                                               {ReduceOp::Prod, ncclProd},
                                                               {ReduceOp::Avg, ncclAvg}};

// A file with one result, gone with this.
class ResultFile {
 public:
  explicit ResultFile(const Result& result) { write_file(path_, to_json(result)); }
  const std::string& path() const { return path_; }

 private:
  const test::Folder folder_;
  const std::string path_ = (folder_.path() / "result.json").string();
};

Result by_hand(const std::string& name, const std::string& machine, int root = 0) {
  const Topology topology = named_topology(machine);
  const Point point = classic_algorithm(name, topology, {.root = root});
  return {.kind = ResultKind::Algorithm,
          .topology = topology,
          .collective = make_collective(point.collective.kind, topology.ranks, 1, root),
          .space = {.min_chunks = point.cost.chunks, .max_chunks = point.cost.chunks},
          .points = {point}};
}

struct Shape {
  std::int64_t elements = 0;
  NcclType type = all_types[0];
  std::pair<ReduceOp, ncclRedOp_t> op = all_ops[0];
  bool in_place = false;
};

ncclResult_t call(const Collective& c, const Shape& shape, const void* send, void* recv,
                  const GpuRank& mine) {
  const std::size_t n = static_cast<std::size_t>(shape.elements);
  const ncclDataType_t type = shape.type.nccl;
  const ncclRedOp_t op = shape.op.second;
  if (c.kind == CollectiveKind::AllReduce)
    return chorale_allreduce(send, recv, n, type, op, mine.comm, mine.stream);
  if (c.kind == CollectiveKind::Reduce)
    return chorale_reduce(send, recv, n, type, op, c.root, mine.comm, mine.stream);
  if (c.kind == CollectiveKind::Broadcast)
    return chorale_broadcast(send, recv, n, type, c.root, mine.comm, mine.stream);
  if (c.kind == CollectiveKind::Allgather)
    return chorale_allgather(send, recv, n, type, mine.comm, mine.stream);
  if (c.kind == CollectiveKind::ReduceScatter)
    return chorale_reducescatter(send, recv, n, type, op, mine.comm, mine.stream);
  if (c.kind == CollectiveKind::Alltoall)
    return chorale_alltoall(send, recv, n, type, mine.comm, mine.stream);
  throw std::runtime_error("NCCL has no " + name_of(c));
}

// Buffers of one rank, with inputs filled; in place as NCCL has it.
class Buffers {
 public:
  Buffers(const Collective& c, const Shape& shape, const GpuRank& mine)
      : data_(c, {shape.type.ours, shape.elements}, shape.op.first, 7),
        rank_(mine.rank),
        in_place_(shape.in_place),
        input_(bytes(c, shape, input_chunks(c, mine.rank))),
        output_(bytes(c, shape, output_chunks(c, mine.rank))),
        block_(shape.elements * static_cast<std::int64_t>(size_of(shape.type.ours))),
        gathers_(c.kind == CollectiveKind::Allgather),
        scatters_(c.kind == CollectiveKind::ReduceScatter),
        memory_(static_cast<std::size_t>(in_place_ ? std::max(input_, output_) : input_ + 64 + output_)) {
    TestData::spoil_output({memory_.data(), static_cast<std::size_t>(in_place_ ? std::max(input_, output_)
                                                                               : input_ + 64 + output_)});
    data_.fill_input(rank_, {input(), static_cast<std::size_t>(input_)});
  }
  std::byte* input() const { return memory_.data() + (in_place_ && gathers_ ? rank_ * block_ : 0); }
  std::byte* output() const {
    return in_place_ ? memory_.data() + (scatters_ ? rank_ * block_ : 0)
                     : memory_.data() + (input_ + 63) / 64 * 64;
  }
  std::int64_t wrong() const {
    return data_.wrong_elements(rank_, {output(), static_cast<std::size_t>(output_)}) +
           (in_place_ ? 0 : data_.changed_elements(rank_, {input(), static_cast<std::size_t>(input_)}));
  }
  void fill() const { data_.fill_input(rank_, {input(), static_cast<std::size_t>(input_)}); }

 private:
  static std::int64_t bytes(const Collective& c, const Shape& shape, int chunks) {
    return chunks / c.chunks_per_block * shape.elements * static_cast<std::int64_t>(size_of(shape.type.ours));
  }
  const TestData data_;
  const int rank_;
  const bool in_place_;
  const std::int64_t input_, output_, block_;
  const bool gathers_, scatters_;
  const DeviceMemory memory_;
};

// All shapes by the algorithm of the result, which must have been used.
void expect_right(const Result& result, const std::vector<Shape>& shapes) {
  const ResultFile file(result);
  ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess) << chorale_nccl_last_error();
  const Collective& c = result.points[0].collective;
  const long before = shim_collectives();
  const auto thrown = on_gpus(c.ranks, [&](GpuRank& mine) {
    for (const Shape& shape : shapes) {
      const Buffers buffers(c, shape, mine);
      const std::string what = name_of(result.points[0].method) + " " + name_of(c) + ", " +
                               std::to_string(shape.elements) + " " + to_string(shape.type.ours) + " " +
                               to_string(shape.op.first) + (shape.in_place ? " in place" : "");
      require(call(c, shape, buffers.input(), buffers.output(), mine), what);
      require(cudaStreamSynchronize(mine.stream), what);
      if (buffers.wrong() != 0)
        throw std::runtime_error(what + ": " + std::to_string(buffers.wrong()) + " wrong");
    }
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
  // Nothing to do is NCCL's; all else was ours.
  long empty = 0;
  for (const Shape& shape : shapes) empty += shape.elements == 0;
  EXPECT_EQ(shim_collectives() - before, empty * c.ranks);
}

std::vector<Shape> every_shape(bool combining, bool in_place) {
  std::vector<Shape> shapes;
  for (const NcclType& type : all_types)
    for (const auto& op : all_ops)
      if (combining || op.first == ReduceOp::Sum)
        for (bool place : {false, true})
          if (!place || in_place) shapes.push_back({61, type, op, place});
  for (std::int64_t n : {0, 1, 2, 7, 64, 96, 1009, 5003})
    for (bool place : {false, true})
      if (!place || in_place) shapes.push_back({n, all_types[0], all_ops[0], place});
  return shapes;
}

TEST(NcclApi, EveryBaseline) {
  int tried = 0;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective == CollectiveKind::Gather || entry.collective == CollectiveKind::Scatter) continue;
    for (const char* machine : {"full:4", "full:5"}) {
      const bool rooted =
          entry.collective == CollectiveKind::Broadcast || entry.collective == CollectiveKind::Reduce;
      Result result;
      try {
        result = by_hand(name_of(entry.method), machine, rooted ? 2 : 0);
      } catch (const std::exception&) {
        continue;  // that many ranks it cannot do
      }
      expect_right(result, every_shape(result.points[0].collective.combining,
                                       entry.collective != CollectiveKind::Alltoall));
      ++tried;
    }
  }
  EXPECT_GE(tried, 20);
}

// Two steps, with relays and chunks of uneven links.
TEST(NcclApi, FoundOnAMachine) {
  for (const char* name : {"allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "reduce"})
    for (const char* machine : {"ring:4", "mesh:2x3"}) {
      Topology topology = named_topology(machine);
      Result all = search_frontier(topology, make_collective(name, topology.ranks, 1), {.max_chunks = 2});
      const std::vector<Point> points = all.points;
      for (const Point& point : points) {
        all.points = {point};
        all.points[0].on_frontier = true;
        std::vector<Shape> shapes;
        for (std::int64_t n : {1, 13, 1009})
          for (bool place : {false, true})
            if (!place || all.collective.kind != CollectiveKind::Alltoall)
              shapes.push_back({n, all_types[8], all_ops[0], place});
        expect_right(all, shapes);
      }
    }
}

// A tool that replays the collective finds new inputs each time; scratch belongs to the graph.
TEST(NcclApi, IsCapturedInGraphs) {
  for (const char* name : {"ring_allreduce", "recursive_doubling_allreduce", "two_tree_allreduce"})
    for (bool in_place : {false, true}) {
      const Result result = by_hand(name, "full:4");
      const ResultFile file(result);
      ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess);
      const Collective& c = result.points[0].collective;
      const Shape shape{.elements = 1009, .op = all_ops[4], .in_place = in_place};
      const auto thrown = on_gpus(4, [&](GpuRank& mine) {
        const Buffers buffers(c, shape, mine);
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        require(cudaStreamBeginCapture(mine.stream, cudaStreamCaptureModeGlobal), "begin");
        require(call(c, shape, buffers.input(), buffers.output(), mine), chorale_nccl_last_error());
        require(cudaStreamEndCapture(mine.stream, &graph), "end");
        require(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
        for (int replay = 0; replay < 3; ++replay) {
          buffers.fill();
          require(cudaGraphLaunch(exec, mine.stream), "launch");
          require(cudaStreamSynchronize(mine.stream), "synchronize");
          if (buffers.wrong() != 0)
            throw std::runtime_error("replay " + std::to_string(replay) + " is wrong");
        }
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
      });
      EXPECT_THAT(thrown, Each(IsEmpty()));
    }
}

// Calls on two streams of a device that is not the current one.
TEST(NcclApi, CallsDoNotMeetInScratch) {
  const ResultFile file(by_hand("ring_allreduce", "full:4"));
  ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess);
  const Collective c = make_collective("allreduce", 4, 1);
  const auto thrown = on_gpus(4, [&](GpuRank& mine) {
    GpuRank other = mine;
    require(cudaStreamCreate(&other.stream), "stream");
    std::vector<std::unique_ptr<Buffers>> all;
    require(cudaSetDevice(7), "cudaSetDevice");  // NCCL does not care
    for (int i = 0; i < 40; ++i) {
      const Shape shape{.elements = 100 + 37 * i, .in_place = i % 3 == 0};
      all.push_back(std::make_unique<Buffers>(c, shape, mine));
      require(call(c, shape, all.back()->input(), all.back()->output(), i % 2 ? mine : other), "call");
      // NCCL too needs the streams of a communicator to be ordered alike everywhere.
      if (i % 2 == 0) require(cudaStreamSynchronize(other.stream), "synchronize");
      if (i % 2 == 1) require(cudaStreamSynchronize(mine.stream), "synchronize");
    }
    for (const auto& buffers : all)
      if (buffers->wrong() != 0) throw std::runtime_error("wrong");
    cudaStreamDestroy(other.stream);
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
}

// Overlaps that are none of NCCL's: the input is copied first.
TEST(NcclApi, AnyOverlapIsRight) {
  const ResultFile file(by_hand("ring_allreduce", "full:4"));
  ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess);
  const auto thrown = on_gpus(4, [&](GpuRank& mine) {
    const DeviceMemory memory(200 * sizeof(int));
    int* const data = reinterpret_cast<int*>(memory.data());
    for (int shift : {-3, 5, 99}) {
      int* const send = data + (shift < 0 ? -shift : 0);
      int* const recv = send + shift;
      for (int i = 0; i < 100; ++i) send[i] = i * 4 + mine.rank;
      require(chorale_allreduce(send, recv, 100, ncclInt32, ncclSum, mine.comm, mine.stream), "call");
      require(cudaStreamSynchronize(mine.stream), "synchronize");
      for (int i = 0; i < 100; ++i)
        if (recv[i] != 16 * i + 6) throw std::runtime_error("wrong at " + std::to_string(i));
    }
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
}

TEST(NcclApi, WhatDoesNotFitIsNccls) {
  const ResultFile file(by_hand("ring_allreduce", "full:4"));
  ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess);
  const auto mean_of_doubles = [](GpuRank& mine, bool own_operation) {
    const DeviceMemory memory(10 * sizeof(double));
    double* const data = reinterpret_cast<double*>(memory.data());
    for (int i = 0; i < 10; ++i) data[i] = i + mine.rank;
    double half = 0.5;
    ncclRedOp_t op = ncclSum;
    if (own_operation)
      require(ncclRedOpCreatePreMulSum(&op, &half, ncclFloat64, ncclScalarHostImmediate, mine.comm), "op");
    require(chorale_allreduce(data, data, 10, ncclFloat64, op, mine.comm, mine.stream), "call");
    require(cudaStreamSynchronize(mine.stream), "synchronize");
    int ranks = 0;
    ncclCommCount(mine.comm, &ranks);
    for (int i = 0; i < 10; ++i)
      if (data[i] != (own_operation ? 0.5 : 1) * (ranks * i + ranks * (ranks - 1) / 2))
        throw std::runtime_error("wrong");
  };
  const long before = shim_collectives();
  EXPECT_THAT(on_gpus(3, [&](GpuRank& mine) { mean_of_doubles(mine, false); }), Each(IsEmpty()));
  EXPECT_EQ(shim_collectives() - before, 3);
  EXPECT_THAT(on_gpus(4, [&](GpuRank& mine) { mean_of_doubles(mine, true); }), Each(IsEmpty()));
  EXPECT_EQ(shim_collectives() - before, 7);
  EXPECT_THAT(on_gpus(4, [&](GpuRank& mine) { mean_of_doubles(mine, false); }), Each(IsEmpty()));
  EXPECT_EQ(shim_collectives() - before, 7);
}

// A type of one byte that only moves.
TEST(NcclApi, MovesWhatItCannotAdd) {
  const ResultFile file(by_hand("ring_allgather", "full:4"));
  ASSERT_EQ(chorale_nccl_load(file.path().c_str()), ncclSuccess);
  const long before = shim_collectives();
  const auto thrown = on_gpus(4, [&](GpuRank& mine) {
    const DeviceMemory send(11), recv(44);
    std::memset(send.data(), mine.rank + 1, 11);
    require(chorale_allgather(send.data(), recv.data(), 11, ncclFloat8e4m3, mine.comm, mine.stream), "call");
    require(cudaStreamSynchronize(mine.stream), "synchronize");
    for (int i = 0; i < 44; ++i)
      if (recv.data()[i] != std::byte(i / 11 + 1)) throw std::runtime_error("wrong");
  });
  EXPECT_THAT(thrown, Each(IsEmpty()));
  EXPECT_EQ(shim_collectives(), before);
}

TEST(NcclApi, FilesThatCannotBeReadAreNamed) {
  EXPECT_EQ(chorale_nccl_load("/nowhere/x.json"), ncclInvalidArgument);
  EXPECT_THAT(chorale_nccl_last_error(), HasSubstr("/nowhere/x.json"));
}

}  // namespace
}  // namespace chorale
