// Every kind of overlap, emitted: it gives what it means, also under ThreadSanitizer, and is none in name
// only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/emitted_workload.h"
#include "tests/tensor/overlap_programs.h"

namespace chorale::test {
namespace {

TEST(EmittedOverlap, OfProductsGivesWhatItMeans) {
  expect_what_it_means(kProducts, "", 3, kProductSizes, 1, Carrier::Threads, Build::Quick);
  expect_what_it_means(kProducts, "", 4, kProductSizes, 2, Carrier::Mpi, Build::Quick);
}
TEST(EmittedOverlap, OfConvolutionsGivesWhatItMeans) {
  const auto sized = [&](const auto& some) { return parsed(kConvolutions, "", some, 3); };
  const Emitted emitted(sized(kConvolutionSizes[0]), 2, false, Carrier::Threads);
  for (unsigned seed = 0; seed < kConvolutionSizes.size(); ++seed)
    EXPECT_EQ(emitted.difference(sized(kConvolutionSizes[seed]), seed, 0, true), "") << seed;
  // Sides of a convolution's result are those of the defaults.
  int code = 0;
  EXPECT_THAT(emitted.run("H=7 --runs 0", code),
              testing::HasSubstr("w: c1: images of H with kernels of 3 must give 3"));
  EXPECT_NE(code, 0);
}
TEST(EmittedOverlap, OfSlicesOfColumnsGivesWhatItMeans) {
  expect_what_it_means(kColumnTiles, "", 2, kTileSizes, 2, Carrier::Threads, Build::Quick);
}
TEST(EmittedOverlap, OfExpertsGivesWhatItMeans) {
  expect_what_it_means(moe(), kExperts, 3, kTokens, 1, Carrier::Threads, Build::Quick, 1e-2);
  expect_what_it_means(kOneExpert, "", 3, kTokens, 2, Carrier::Mpi, Build::Quick);
}
// Where tokens are there, work waits for none of them.
TEST(EmittedOverlap, OfExpertsOnOneSideGivesWhatItMeans) {
  for (const char* script : {"overlap(o; up, inner, down, back)", "overlap(o; there, up, inner, down)"})
    expect_what_it_means(moe(), script, 3, kTokens, 1, Carrier::Threads, Build::Quick, 1e-2);
  expect_what_it_means(moe(), "overlap(o; up, inner, down, back)", 3, {kTokens[0]}, 1, Carrier::Cuda,
                       Build::Quick, 1e-2);
}
TEST(EmittedOverlap, OfProductsHasNoRaces) {
  expect_what_it_means(kProducts, "", 3, {kProductSizes.back()}, 2, Carrier::Threads, Build::Races);
}
TEST(EmittedOverlap, OfConvolutionsHasNoRaces) {
  expect_what_it_means(kConvolutions, "", 3, {kConvolutionSizes.back()}, 1, Carrier::Threads, Build::Races);
}
TEST(EmittedOverlap, OfSlicesOfColumnsHasNoRaces) {
  expect_what_it_means(kColumnTiles, "", 2, {kTileSizes.back()}, 2, Carrier::Threads, Build::Races);
}
TEST(EmittedOverlap, OfExpertsHasNoRaces) {
  expect_what_it_means(moe(), kExperts, 3, {kTokens.back()}, 1, Carrier::Threads, Build::Races, 1e-2);
}

// Nothing that is reported to be overlapped is a call by itself.
TEST(EmittedOverlap, HasAWorkerForEachProduct) {
  const std::string products = header_of(parsed(kProducts)), convolutions = header_of(parsed(kConvolutions));
  EXPECT_EQ(count(products, "auto worker = chorale::"), 10);
  EXPECT_EQ(count(products, "device_.matrix_products("), 0);
  EXPECT_EQ(count(products, "worker.demands()"), 6);
  EXPECT_EQ(count(products, "worker.arrivals()"), 6);
  EXPECT_EQ(count(convolutions, "auto worker = chorale::"), 7);
  EXPECT_EQ(count(convolutions, "device_.convolution("), 0);
}

// LAMB's two norms, in one message.
TEST(EmittedScalars, AreSummedInOneMessage) {
  const std::string text = R"(
workload w
ranks 3
size N = 7
Tensor p(fp32, [N], Sliced(0))
Tensor u(fp32, [N], Sliced(0))
Scalar f(fp32, Local)
x = ReduceTensor("+", p * p)
y = ReduceTensor("+", u * u)
kernel norms {
  n = AllReduce("+", x)
  k = AllReduce("+", y)
  c = AllReduce("+", f)
}
q = p + n * k + c
return q, k
)";
  const auto sized = [&](std::int64_t n) { return parsed(text, "", {{"N", n}}); };
  ASSERT_EQ(needed_collectives(sized(7)).size(), 1);
  const Emitted emitted(sized(7), 1, true, Carrier::Threads);
  for (const std::int64_t n : {1, 2, 7, 100}) EXPECT_EQ(emitted.difference(sized(n), 3, 0, true), "") << n;
  EXPECT_EQ(count(header_of(sized(7)), ".run(transport_"), 1);
}

TEST(EmittedScalars, OfLambAreItsNorms) {
  const std::string lamb = read_file(fmt::format("{}/examples/lamb.chorale", CHORALE_SOURCE));
  const std::string script =
      "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, u, p_norm_1, p_norm_2, u_norm_1, u_norm_2, p_norm, "
      "u_norm, ratio, p_); asSlice(m); asSlice(v); fuse(norms; p_norm_2, u_norm_2)";
  const auto sized = [&](std::int64_t n) { return parsed(lamb, script, {{"N", n}}, 3); };
  EXPECT_EQ(needed_collectives(sized(7)).size(), 3);  // with the sum of gradients, and the parameters
  const Emitted emitted(sized(7), 1, false, Carrier::Threads);
  for (const std::int64_t n : {2, 100, 1001}) EXPECT_EQ(emitted.difference(sized(n), 3, 1e-5, true), "") << n;
}

// A program that is run by a transport which looks at each message that leaves.
std::string watched(const Workload& workload, bool ring, const std::string& body) {
  const Emitted emitted(workload, 1, ring, Carrier::Threads, Build::None);
  write_file(emitted.folder() / "watch.cpp", R"(
#include <cstdio>
#include "runtime/exchange/threads.h"
#include "w.h"
struct Watching {
  using Device = chorale::ThreadTransport::Device;
  chorale::ThreadTransport& under;
  std::function<void(const chorale::Delivery&)> leaves;
  Device& device() { return under.device(); }
  int rank() const { return under.rank(); }
  int ranks() const { return under.ranks(); }
  chorale::MessageOrder order() const { return under.order(); }
  void start(chorale::Delivery& message, bool sends, int number) {
    if (sends) leaves(message);
    under.start(message, sends, number);
  }
  std::vector<int> ended(bool waits) { return under.ended(waits); }
  void give_back(chorale::Delivery& receive) { under.give_back(receive); }
  void exchange(std::vector<chorale::Delivery>& sends, std::vector<chorale::Delivery>& receives) {
    for (const chorale::Delivery& send : sends) leaves(send);
    under.exchange(sends, receives);
  }
  void release(std::vector<chorale::Delivery>& sends, std::vector<chorale::Delivery>& receives) {
    under.release(sends, receives);
  }
  void post(const chorale::Delivery& send) { leaves(send), under.post(send); }
  void finish() { under.finish(); }
};
int main() {
  chorale::on_thread_ranks(workloads::of_w::kRanks, [](chorale::ThreadTransport& under) {
    const int rank = under.rank();
    workloads::of_w::Sizes s;
    workloads::of_w::Tensors t;
    std::string seen;
    Watching transport{under, {}};
)" + body + R"(
    workloads::of_w::Program<Watching> program(transport, s);
    program.run(t);
    if (rank == 0) std::printf("%s", seen.c_str());
  });
}
)");
  int code = 0;
  return run_command(fmt::format("cd {} && {} -Wall -Wextra -Wpedantic -Werror -I. watch.cpp "
                                 "-o watch -pthread && ./watch",
                                 emitted.folder().string(), compiler_for(Carrier::Threads, Build::Quick)),
                     code);
}

// Of fuse(C-P2P): when the first tile leaves, the last element is not yet computed.
TEST(EmittedOverlap, SendsWhatAKernelComputesPieceByPiece) {
  const Workload workload = parsed(R"(
workload w ranks 1 groups 2
size N = 100003
Tensor x(fp32, [N], Local GROUP)
kernel k {
  y = 2 * x + 1
  sent = Send(y, GROUP + 1)
  most = ReduceTensor("max", y)
}
return y, sent, most
)");
  EXPECT_EQ(watched(workload, false, R"(
    std::vector<float> x(s.of_N, 1), y(s.of_N, -1), sent(s.of_N, -1), most(1);
    t.of_x = x.data(), t.of_y = y.data(), t.of_sent = sent.data(), t.of_most = most.data();
    transport.leaves = [&](const chorale::Delivery&) { seen += y.back() == -1 ? 'p' : 'a'; };
)"),
            "pppppppa");
  const Emitted emitted(workload, 1, false, Carrier::Mpi);
  for (const std::int64_t n : {1, 2, 100003}) {
    const Workload other = parse_workload(to_text(workload), "test", {.sizes = {{"N", n}}});
    EXPECT_EQ(emitted.difference(other, 1), "") << n;
  }
}

// Of AllToAll, products, AllToAll: tiles are on their way back before the last one has come.
TEST(EmittedOverlap, SendsTokensBackBeforeAllHaveCome) {
  const Workload workload = parsed(kOneExpert, "", {{"T", 300}, {"S", 2}, {"H", 160}, {"F", 3}}, 3);
  EXPECT_EQ(watched(workload, false, R"(
    std::vector<float> x(s.of_T * s.of_S * s.of_H, 1), w(s.of_H * s.of_F, 1), back(s.of_T * s.of_S * s.of_F);
    t.of_x = x.data(), t.of_w = w.data(), t.of_back = back.data();
    transport.leaves = [&](const chorale::Delivery& send) {
      const float* const from = static_cast<const float*>(send.data);
      seen += from >= x.data() && from < x.data() + x.size() ? '>' : '<';
    };
)"),
            ">>>><<>><<<<");
}

// Slices of columns are put where they belong as they arrive: some are there before the last messages leave.
TEST(EmittedOverlap, PutsColumnsWhereTheyBelongAsTheyArrive) {
  const Workload workload = parsed(R"(
workload w ranks 4
size M = 3, N = 8
Tensor x(fp32, [M, N], Sliced(1))
g = AllGather(x)
return g
)");
  const std::string seen = watched(workload, true, R"(
    std::vector<float> x(s.of_M * s.of_N / 4, 1), g(s.of_M * s.of_N, -1);
    t.of_x = x.data(), t.of_g = g.data();
    transport.leaves = [&](const chorale::Delivery&) {
      seen += std::count(g.begin(), g.end(), -1.0F) == s.of_M * s.of_N ? 'n' : 's';
    };
)");
  EXPECT_THAT(seen, testing::StartsWith("n"));
  EXPECT_THAT(seen, testing::EndsWith("s"));
}

}  // namespace
}  // namespace chorale::test
