// Emitted workloads on GPUs, by the stand-in for CUDA and NCCL: ranks of one process on several GPUs, and
// products beside communication. They give what they mean, also under ThreadSanitizer, and do what they
// state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/emitted_workload.h"
#include "tests/tensor/overlap_programs.h"

namespace chorale::test {
namespace {

// A ReduceScatter, Adam and an AllGather in one launch a GPU.
const std::string kFusedAdam =
    "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
    "fuse(update; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)";
Workload adam(std::int64_t n) {
  return parsed(text_of_example("adam"), kFusedAdam, {{"N", n}}, 3);
}

// One that goes out in slices of columns, one that comes so, and one between both.
const std::string kFew = R"(
workload few
ranks 3
size M = 37, K = 19, N = 23
Tensor a(fp32, [M, K], Local)
Tensor w(fp32, [K, N], Local)
Tensor ar(fp32, [M, K], Replicated)
Tensor columns(fp32, [K, N], Sliced(1))
Tensor even(fp32, [K, N], Sliced(flat))
overlap o1 {
  c1 = MatMul(a, w)
  r1 = ReduceScatter("+", c1, 1)
}
)" + arriving(2, "columns", "ar", "g2") +
                         R"(
overlap o3 {
  g3 = AllGather(even)
  c3 = MatMul(a, g3)
  r3 = ReduceScatter("+", c3, 0)
}
return r1, c2, r3
)";

// Two ranks on one of them, one on the other; and one each.
TEST(EmittedOnGpus, RunsOnSeveral) {
  const Emitted emitted(adam(100), 2, true, Carrier::Cuda, Build::Quick);
  for (const std::int64_t n : {2, 100, 5003})
    for (const char* gpus : {"--gpus 2", "--gpus 3"})
      EXPECT_EQ(emitted.difference(adam(n), 7, 1e-6, true, gpus), "") << n << gpus;
  const auto says = [&](const std::string& arguments, const std::string& environment,
                        const std::string& what) {
    int code = 0;
    const std::string said = emitted.run("N=10 --runs 0 " + arguments, code, environment);
    EXPECT_THAT(said, testing::HasSubstr(what));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(code, 0);
  };
  says("--gpus 2", "CHORALE_SHIM_NO_PEERS=1 ",
       "--gpus: GPU 0 does not reach the memory of GPU 1; put all ranks on one GPU, or take target nccl");
  says("--gpus 3", "CHORALE_SHIM_DEVICES=2 ", "--gpus: there are 2 GPUs, not 3");
  says("--gpus 4", "", "--gpus: 3 ranks go on 1 to 3 GPUs");
  says("--gpus 0", "", "--gpus: 3 ranks go on 1 to 3 GPUs");
  says("--gpus", "", "--gpus: '--channels' is not an integer");
  says("--patience 1s", "", "--patience: '1s' is not an integer");
}
TEST(EmittedOnGpus, HasNoRacesBetweenThem) {
  const Emitted emitted(adam(5003), 2, false, Carrier::Cuda, Build::Races);
  EXPECT_EQ(emitted.difference(adam(5003), 7, 1e-6, true, "--gpus 2"), "");
}

// For programs in other languages: tensors on GPUs, after what is in the caller's stream, and before what
// comes there next.
TEST(EmittedOnGpus, IsALibraryOverNccl) {
  const Workload workload = parsed(R"(
workload w ranks 3
size N = 5
Tensor x(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
Scalar f(fp32)
sum = AllReduce("+", x)
p_ = Update(p, p + f * sum)
return p_, sum
)");
  const Emitted emitted(workload, 1, true, Carrier::Nccl, Build::None);
  write_file(emitted.folder() / "drive.cpp", R"(
#include <cstdio>
#include <thread>
#include <vector>
#include "w_main.cpp"
int main() {
  unsigned char id[128];
  if (chorale_id(id) != 0) return 1;
  std::vector<std::thread> threads;
  std::vector<float> found[3];
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      void* const joined = chorale_join(rank, 3, id, rank);
      const std::int64_t n = 1001;
      void* const program = chorale_make(joined, &n);
      float *x = nullptr, *p = nullptr, *sum = nullptr, f = 0.5;
      cudaStream_t stream = nullptr;
      cudaStreamCreate(&stream);
      for (float** at : {&x, &p, &sum}) cudaMalloc(at, n * sizeof(float));
      const std::vector<float> given(n, static_cast<float>(rank + 1)), zeros(n, 0);
      found[rank].resize(n);
      cudaMemcpyAsync(x, given.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
      cudaMemcpyAsync(p, zeros.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream);
      void* const addresses[] = {x, p, &f, sum};
      for (int run = 0; run < 2; ++run)
        if (chorale_elements(program, 3) != n || chorale_run(program, addresses, 1, stream) != 0)
          std::puts(chorale_error());
      cudaMemcpyAsync(found[rank].data(), p, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
      cudaStreamSynchronize(stream);
      chorale_free(program);
      chorale_leave(joined);
    });
  for (std::thread& thread : threads) thread.join();
  int wrong = 0;
  for (const std::vector<float>& each : found)
    for (const float value : each) wrong += value == 2 * 0.5F * (1 + 2 + 3) ? 0 : 1;
  std::printf("%d wrong", wrong);
}
)");
  int code = 0;
  EXPECT_EQ(
      run_command(fmt::format("cd {} && {} -DCHORALE_LIBRARY -Wall -Wextra -Wpedantic -Werror drive.cpp "
                              "-o drive -pthread && ./drive",
                              emitted.folder().string(), compiler_for(Carrier::Nccl, Build::Quick)),
                  code),
      "0 wrong");
}

// A step that was recorded, on both streams of each GPU, does the same again.
TEST(EmittedOnGpus, ReplaysAStepAsAGraph) {
  const auto printed = [](const Emitted& emitted, const std::string& arguments) {
    int code = 0;
    const std::string said = emitted.run("--runs 1 " + arguments, code);
    EXPECT_EQ(code, 0) << said;
    return said.substr(0, said.find(" ranks, best of"));
  };
  for (const Workload& workload : {adam(5003), parsed(kFew)}) {
    const Emitted emitted(workload, 2, true, Carrier::Cuda, Build::Quick);
    for (const char* gpus : {"--gpus 1", "--gpus 2"})
      EXPECT_EQ(printed(emitted, fmt::format("{} --graph", gpus)), printed(emitted, gpus)) << gpus;
    int code = 0;
    EXPECT_THAT(emitted.run("--runs 2 --copy 1000", code),
                testing::HasSubstr("\ncopy of 1000 bytes, best of 2: "));
  }
}

// Products on a stream of their own, on one GPU and on several, and over NCCL.
TEST(EmittedOnGpus, ComputesProductsBesideCommunication) {
  expect_what_it_means(kProducts, "", 3, kProductSizes, 2, Carrier::Cuda, Build::Quick, 0, {"", "--gpus 2"});
  expect_what_it_means(kProducts, "", 3, kProductSizes, 2, Carrier::Nccl, Build::Quick);
}
TEST(EmittedOnGpus, ComputesConvolutionsBesideCommunication) {
  expect_what_it_means(kConvolutions, "", 3, kConvolutionSizes, 1, Carrier::Cuda, Build::Quick, 0,
                       {"--gpus 3"});
}
TEST(EmittedOnGpus, ComputesExpertsBetweenTheirTokens) {
  expect_what_it_means(moe(), kExperts, 3, kTokens, 1, Carrier::Cuda, Build::Quick, 1e-2, {"--gpus 2"});
  expect_what_it_means(moe(), kExperts, 3, kTokens, 1, Carrier::Nccl, Build::Quick, 1e-2);
}
// Of an algorithm that takes tiles of the product in later steps, too: a launch that tells too early that it
// is there for the next one, while the other GPU still makes what that reads, is seen in one run of four.
TEST(EmittedOnGpus, HasNoRacesBesideProducts) {
  const Workload few = parsed(kFew, "", {}, 4);
  const Emitted emitted(few, some_algorithms(few, 4, true, true), Carrier::Cuda, Build::Races);
  const std::string header = read_file(emitted.folder() / "w.h");
  const std::size_t messages = header.find("kMessages_r1[]");
  EXPECT_THAT(header.substr(messages, header.find("};", messages) - messages),
              testing::ContainsRegex("\\{1, [0-3], 0, "));
  for (unsigned seed = 0; seed < 6; ++seed)
    EXPECT_EQ(emitted.difference(few, seed, 0, true, "--gpus 2"), "") << seed;
}

}  // namespace
}  // namespace chorale::test
