// Ranks that loaded different files: NCCL does what they do together, in all of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "construct/baselines/classic.h"
#include "ir/files.h"
#include "ir/json.h"
#include "preload/nccl_collectives.h"
#include "tests/nccl/ranks.h"
#include "topology/builders.h"

namespace chorale {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "chorale_differ_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string with(const std::string& algorithm) const {
    const Topology topology = named_topology("full:4");
    const Point point = classic_algorithm(algorithm, topology, {});
    const std::string file = path_ + "/" + algorithm + ".json";
    write_file(file,
               to_json(Result{.kind = ResultKind::Algorithm,
                              .topology = topology,
                              .collective = make_collective(point.collective.kind, topology.ranks, 1, 0),
                              .space = {.min_chunks = point.cost.chunks, .max_chunks = point.cost.chunks},
                              .points = {point}}));
    return file;
  }

 private:
  std::string path_ = {};
};

// What a process has that loaded this.
std::unique_ptr<NcclCollectives> process(const std::string& file) {
  return std::make_unique<NcclCollectives>(NcclFunctions{.steps = linked_nccl(),
                                                         .count = ncclCommCount,
                                                         .user_rank = ncclCommUserRank,
                                                         .device = ncclCommCuDevice,
                                                         .all_gather = ncclAllGather},
                                           NcclSettings{.algorithms = file});
}

// Ranks 0, 1 and 2, 3 are in two processes; the sum of their numbers + 1, by whom?
std::vector<bool> ours(NcclCollectives& first, NcclCollectives& second, bool captured_first) {
  std::vector<char> by_us(4);
  const auto work = [&](GpuRank& mine) {
    NcclCollectives& here = mine.rank < 2 ? first : second;
    const DeviceMemory data(sizeof(int));
    const NcclCall call{.function = "ncclAllReduce",
                        .collective = CollectiveKind::AllReduce,
                        .send = data.data(),
                        .recv = data.data(),
                        .count = 1,
                        .type = ncclInt32,
                        .comm = mine.comm,
                        .stream = mine.stream,
                        .op = ncclSum};
    if (captured_first) {
      cudaGraph_t graph = nullptr;
      require(cudaStreamBeginCapture(mine.stream, cudaStreamCaptureModeGlobal), "capture");
      if (here.run(call)) throw std::runtime_error("compared nothing, and was ours all the same");
      require(cudaStreamEndCapture(mine.stream, &graph), "capture");
      require(cudaGraphDestroy(graph), "graph");
    }
    for (int again = 0; again < 2; ++again) {
      const int own = mine.rank + 1;
      int sum = 0;
      require(cudaMemcpy(data.data(), &own, sizeof(int), cudaMemcpyHostToDevice), "copy");
      const auto result = here.run(call);
      by_us[mine.rank] = result.has_value();
      require(result ? *result
                     : ncclAllReduce(data.data(), data.data(), 1, ncclInt32, ncclSum, mine.comm, mine.stream),
              "AllReduce");
      require(cudaStreamSynchronize(mine.stream), "stream");
      require(cudaMemcpy(&sum, data.data(), sizeof(int), cudaMemcpyDeviceToHost), "copy");
      if (sum != 10) throw std::runtime_error("the sum is " + std::to_string(sum));
    }
    here.forget(mine.comm);
  };
  for (const std::string& thrown : on_gpus(4, work)) EXPECT_EQ(thrown, "");
  return {by_us.begin(), by_us.end()};
}

TEST(Differ, NcclDoesItWhereRanksLoadedDifferentFiles) {
  const Folder folder;
  const std::string ring = folder.with("ring_allreduce"), other = folder.with("recursive_doubling_allreduce");
  const auto a = process(ring), b = process(other), c = process(ring), none = process("");
  for (bool captured_first : {false, true}) {
    EXPECT_EQ(ours(*a, *a, captured_first), std::vector<bool>(4, true));
    EXPECT_EQ(ours(*a, *c, captured_first), std::vector<bool>(4, true));
    testing::internal::CaptureStderr();
    EXPECT_EQ(ours(*a, *b, captured_first), std::vector<bool>(4, false));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              captured_first
                  ? ""  // it was reported before
                  : "chorale: ranks 0 and 2 of 4 have loaded different algorithms: NCCL does their "
                    "collectives; give all ranks the same files\n");
    EXPECT_EQ(ours(*a, *none, captured_first), std::vector<bool>(4, false));
  }
}

}  // namespace
}  // namespace chorale
