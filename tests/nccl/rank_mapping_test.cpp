// Communicators over NCCL are matched to a library by where their ranks sit: hosts by their names, GPUs of a
// host by their PCI addresses. The machine is a chain of two hosts of two, in one direction only, so that
// nothing is alike and only one rank can be the root of a broadcast: the one that sits where the chain
// begins.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/json.h"
#include "library/answers.h"
#include "library/question.h"
#include "pareto/search.h"
#include "preload/nccl_collectives.h"
#include "tests/kit/folder.h"
#include "tests/nccl/ranks.h"

namespace chorale {
namespace {

// A library of that machine, gone with this.
class Chain {
 public:
  explicit Chain(const std::vector<int>& hosts) {
    const Topology chain = without_names({.name = "chain", .ranks = 4, .links = {{0, 1}, {1, 2}, {2, 3}}});
    const Result found = search_frontier(chain, make_collective(CollectiveKind::Broadcast, 4, 1, 0), {});
    const Renumbering same = no_renumbering(chain);
    const std::string question = question_text(subject_of(chain, found.collective, same), {});
    open_answers(path_, true)
        ->put({.question = question, .answer = to_json(found), .numbering = to_json(same)});
    open_answers(path_, false)
        ->put_place(
            question,
            {.machine = "chain", .group = "all", .collective = "broadcast", .ranks = 4, .hosts = hosts});
  }
  const std::string& path() const { return path_; }

 private:
  const test::Folder folder_;
  const std::string path_ = (folder_.path() / "chain.db").string();
};

// Roots whose broadcasts are ours, where rank n is a process on hosts[n] with GPU gpus[n]; data arrive with
// all of them.
std::vector<int> roots(const std::string& library, const std::vector<std::string>& hosts,
                       const std::vector<int>& gpus) {
  std::vector<std::unique_ptr<NcclCollectives>> processes;
  for (const std::string& host : hosts)
    processes.push_back(std::make_unique<NcclCollectives>(NcclFunctions{.steps = linked_nccl(),
                                                                        .count = ncclCommCount,
                                                                        .user_rank = ncclCommUserRank,
                                                                        .device = ncclCommCuDevice,
                                                                        .all_gather = ncclAllGather},
                                                          NcclSettings{.algorithms = library, .host = host}));
  std::vector<std::vector<int>> ours(hosts.size());
  const auto work = [&](GpuRank& mine) {
    for (int root = 0; root < 4; ++root) {
      const DeviceMemory data(sizeof(int));
      const int before = mine.rank == root ? 42 + root : 0;
      int after = 0;
      require(cudaMemcpy(data.data(), &before, sizeof(int), cudaMemcpyHostToDevice), "copy");
      const auto result = processes[mine.rank]->run({.function = "ncclBroadcast",
                                                     .collective = CollectiveKind::Broadcast,
                                                     .send = data.data(),
                                                     .recv = data.data(),
                                                     .count = 1,
                                                     .type = ncclInt32,
                                                     .comm = mine.comm,
                                                     .stream = mine.stream,
                                                     .root = root});
      if (result) ours[mine.rank].push_back(root);
      require(result ? *result
                     : ncclBroadcast(data.data(), data.data(), 1, ncclInt32, root, mine.comm, mine.stream),
              "Broadcast");
      require(cudaStreamSynchronize(mine.stream), "stream");
      require(cudaMemcpy(&after, data.data(), sizeof(int), cudaMemcpyDeviceToHost), "copy");
      if (after != 42 + root) throw std::runtime_error("rank " + std::to_string(mine.rank) + " has nothing");
    }
    processes[mine.rank]->forget(mine.comm);
  };
  for (const std::string& thrown : on_gpus(4, work, gpus)) EXPECT_EQ(thrown, "");
  for (const std::vector<int>& each : ours) EXPECT_EQ(each, ours.front());
  return ours.front();
}

using Roots = std::vector<int>;

TEST(NcclLocations, GpusOfAHostAreTakenByTheirAddresses) {
  const Chain chain({0, 0, 0, 0});
  const std::vector<std::string> one(4, "here");
  EXPECT_EQ(roots(chain.path(), one, {0, 1, 2, 3}), Roots{0});
  EXPECT_EQ(roots(chain.path(), one, {7, 5, 3, 1}), Roots{3});
  EXPECT_EQ(roots(chain.path(), one, {4, 2, 0, 6}), Roots{2});
  setenv("CHORALE_SHIM_BUS_DOWN", "1", 1);
  EXPECT_EQ(roots(chain.path(), one, {0, 1, 2, 3}), Roots{3});
  unsetenv("CHORALE_SHIM_BUS_DOWN");
  EXPECT_EQ(roots(chain.path(), one, {5, 5, 5, 5}), Roots{0});  // shared by all: by their numbers
}

TEST(NcclLocations, HostsAreMatchedByTheirNames) {
  const Chain chain({0, 0, 1, 1});
  EXPECT_EQ(roots(chain.path(), {"a", "a", "b", "b"}, {0, 1, 0, 1}), Roots{0});
  EXPECT_EQ(roots(chain.path(), {"b", "a", "b", "a"}, {1, 0, 0, 1}),
            Roots{2});  // chain's first host is the first
  EXPECT_EQ(roots(chain.path(), {"a", "a", "a", "b"}, {0, 1, 2, 0}), Roots{});
  EXPECT_EQ(roots(chain.path(), {"a", "a", "a", "a"}, {0, 1, 2, 3}), Roots{});
}

TEST(NcclLocations, AMachineWithoutHostsIsMatchedByItsRanks) {
  const Chain chain({});
  EXPECT_EQ(roots(chain.path(), {"a", "b", "c", "a"}, {3, 2, 1, 0}), Roots{0});
}

}  // namespace
}  // namespace chorale
