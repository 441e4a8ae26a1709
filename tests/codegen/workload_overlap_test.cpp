// Every kind of overlap, emitted: it gives what it means, also under ThreadSanitizer, and is none in name only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/codegen/emitted_workload.h"

namespace chorale::test {
namespace {

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Products whose results are taken along any dimension, and whose factors arrive along any.
const std::string kProducts = R"(
workload products
ranks 3
size B = 2, M = 5, K = 7, N = 4
Tensor a(fp32, [B, M, K], Local)
Tensor w(fp32, [K, N], Local)
Tensor wb(fp32, [B, K, N], Local)
Tensor bias(fp32, [N], Replicated)
Tensor ar(fp32, [B, M, K], Replicated)
Tensor wr(fp32, [K, N], Replicated)
Tensor columns(fp32, [K, N], Sliced(1))
Tensor summed(fp32, [K, N], Sliced(0))
Tensor even(fp32, [K, N], Sliced(flat))
Tensor deep(fp32, [B, M, K], Sliced(2))
Tensor batch(fp32, [B, K, N], Sliced(0))
Tensor rows(fp32, [B, M, K], Sliced(1))
overlap o1 {
  c1 = MatMul(a, w)
  r1 = ReduceScatter("+", c1, 2)
}
overlap o2 {
  c2 = MatMul(a, wb)
  r2 = AllReduce("+", c2)
}
overlap o3 {
  c3 = MatMul(a, wb)
  kernel k {
    r3 = ReduceScatter("+", c3, 1)
    y3 = r3 * 2 + bias
    g3 = AllGather(y3)
  }
}
overlap o4 {
  g4 = AllGather(columns)
  c4 = MatMul(ar, g4)
}
overlap o5 {
  g5 = AllGather(summed)
  c5 = MatMul(ar, g5)
}
overlap o6 {
  g6 = AllGather(deep)
  c6 = MatMul(g6, wr)
}
overlap o7 {
  g7 = AllGather(batch)
  c7 = MatMul(ar, g7)
}
overlap o8 {
  g8 = AllGather(even)
  c8 = MatMul(a, g8)
  r8 = ReduceScatter("+", c8, 2)
}
overlap o9 {
  c9 = MatMul(rows, wr)
  g9 = AllGather(c9)
}
overlap o10 {
  g10 = AllGather(rows)
  c10 = MatMul(g10, columns)
  all = AllGather(c10)
}
return r1, r2, y3, g3, c4, c5, c6, c7, r8, g9, all
)";

const std::vector<std::map<std::string, std::int64_t>> kProductSizes = {
    {{"B", 2}, {"M", 5}, {"K", 7}, {"N", 4}},
    {{"B", 1}, {"M", 1}, {"K", 1}, {"N", 1}},
    {{"B", 5}, {"M", 2}, {"K", 2}, {"N", 2}},
    {{"B", 3}, {"M", 37}, {"K", 19}, {"N", 23}}};

// Convolutions, likewise.
const std::string kConvolutions = R"(
workload convolutions
ranks 3
size N = 4, C = 3, H = 6, O = 5
Tensor x(fp32, [N, C, H, H], Local)
Tensor f(fp32, [O, C, 3, 3], Local)
Tensor xr(fp32, [N, C, H, H], Replicated)
Tensor fr(fp32, [O, C, 3, 3], Replicated)
Tensor images(fp32, [N, C, H, H], Sliced(0))
Tensor channels(fp32, [N, C, H, H], Sliced(1))
Tensor filters(fp32, [O, C, 3, 3], Sliced(0))
overlap v1 {
  c1 = Convolution(x, f, stride = 2, padding = 1)
  r1 = AllReduce("+", c1)
}
overlap v2 {
  c2 = Convolution(x, f)
  kernel k {
    r2 = ReduceScatter("+", c2, 1)
    y2 = r2 + 1
    g2 = AllGather(y2)
  }
}
overlap v3 {
  g3 = AllGather(images)
  c3 = Convolution(g3, fr, padding = 1)
}
overlap v4 {
  g4 = AllGather(filters)
  c4 = Convolution(xr, g4)
}
overlap v5 {
  g5 = AllGather(channels)
  c5 = Convolution(g5, fr)
}
overlap v6 {
  c6 = Convolution(images, fr)
  g6 = AllGather(c6)
}
overlap v7 {
  c7 = Convolution(xr, filters)
  g7 = AllGather(c7)
}
return r1, g2, c3, c4, c5, g6, g7
)";

const std::vector<std::map<std::string, std::int64_t>> kConvolutionSizes = {
    {{"N", 4}, {"C", 3}, {"H", 6}, {"O", 5}},
    {{"N", 1}, {"C", 1}, {"H", 6}, {"O", 1}},
    {{"N", 7}, {"C", 2}, {"H", 6}, {"O", 4}}};

// Slices of columns that go to the next group tile by tile.
const std::string kColumnTiles = R"(
workload tiles
ranks 2 groups 2
size M = 6, N = 5
Tensor x(fp32, [M, N], Local GROUP)
Tensor b(fp32, [N], Replicated)
overlap all {
  rs = ReduceScatter("+", x, 1)
  kernel k {
    y = rs * 2 + b
    sent = Send(y, GROUP + 1)
  }
  g = AllGather(sent)
}
return g
)";

const std::vector<std::map<std::string, std::int64_t>> kTileSizes = {{{"M", 6}, {"N", 5}},
                                                                     {{"M", 301}, {"N", 203}}};

// The experts of examples/moe.chorale from the first token to the last.
const std::string kExperts = "overlap(o; there, up, inner, down, back)";
// One layer alone, in two parts of a batch.
const std::string kOneExpert = R"(
workload expert
ranks 3
size T = 6, S = 2, H = 4, F = 5
Tensor x(fp32, [T, S, H], Local)
Tensor w(fp32, [H, F], Local)
overlap o {
  there = AllToAll(x)
  up = MatMul(there, w)
  back = AllToAll(up)
}
return back
)";
// The last has several tiles.
const std::vector<std::map<std::string, std::int64_t>> kTokens = {
    {{"T", 6}, {"H", 4}, {"F", 5}}, {{"T", 3}, {"H", 3}, {"F", 1}}, {{"T", 369}, {"H", 160}, {"F", 3}}};

void expect_what_it_means(const std::string& text, const std::string& script, int ranks,
                          const std::vector<std::map<std::string, std::int64_t>>& sizes, int chunks,
                          Carrier carrier, const std::string& flags, double tolerance = 0) {
  const auto sized = [&](const auto& some) { return parsed(text, script, some, ranks); };
  const Emitted emitted(sized(sizes[0]), chunks, chunks == 1, carrier, flags);
  for (unsigned seed = 0; seed < sizes.size(); ++seed)
    EXPECT_EQ(emitted.difference(sized(sizes[seed]), seed, tolerance, true), "") << seed;
}
std::string moe() {
  return read_file(fmt::format("{}/examples/moe.chorale", CHORALE_SOURCE));
}

const std::string kPlainFlags = "-O1", kSanitized = "-O1 -g -fsanitize=thread";

TEST(EmittedOverlap, OfProductsGivesWhatItMeans) {
  expect_what_it_means(kProducts, "", 3, kProductSizes, 1, Carrier::Threads, kPlainFlags);
  expect_what_it_means(kProducts, "", 4, kProductSizes, 2, Carrier::Mpi, kPlainFlags);
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
  expect_what_it_means(kColumnTiles, "", 2, kTileSizes, 2, Carrier::Threads, kPlainFlags);
}
TEST(EmittedOverlap, OfExpertsGivesWhatItMeans) {
  expect_what_it_means(moe(), kExperts, 3, kTokens, 1, Carrier::Threads, kPlainFlags, 1e-2);
  expect_what_it_means(kOneExpert, "", 3, kTokens, 2, Carrier::Mpi, kPlainFlags);
}
TEST(EmittedOverlap, OfProductsHasNoRaces) {
  expect_what_it_means(kProducts, "", 3, {kProductSizes.back()}, 2, Carrier::Threads, kSanitized);
}
TEST(EmittedOverlap, OfConvolutionsHasNoRaces) {
  expect_what_it_means(kConvolutions, "", 3, {kConvolutionSizes.back()}, 1, Carrier::Threads, kSanitized);
}
TEST(EmittedOverlap, OfSlicesOfColumnsHasNoRaces) {
  expect_what_it_means(kColumnTiles, "", 2, {kTileSizes.back()}, 2, Carrier::Threads, kSanitized);
}
TEST(EmittedOverlap, OfExpertsHasNoRaces) {
  expect_what_it_means(moe(), kExperts, 3, {kTokens.back()}, 1, Carrier::Threads, kSanitized, 1e-2);
}

std::string header_of(const Workload& workload) {
  return to_workload_sources(workload, some_algorithms(workload, 1, false), {.name = "w"})[0].text;
}

// Nothing that is said to be overlapped is a call by itself.
TEST(EmittedOverlap, HasAWorkerForEachProduct) {
  const std::string products = header_of(parsed(kProducts)), convolutions = header_of(parsed(kConvolutions));
  EXPECT_EQ(count(products, "chorale::TileWorker worker"), 10);
  EXPECT_EQ(count(products, "device_.matrix_products("), 10);  // where devices do one after the other
  EXPECT_EQ(count(products, "worker.demands()"), 6);
  EXPECT_EQ(count(products, "worker.arrivals()"), 6);
  EXPECT_EQ(count(convolutions, "chorale::TileWorker worker"), 7);
  EXPECT_EQ(count(convolutions, "device_.convolution("), 7);
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
  const Emitted emitted(workload, 1, ring, Carrier::Threads, kNotCompiled);
  write_file(emitted.folder() / "watch.cpp", R"(
#include <cstdio>
#include "device/workload_threads.h"
#include "w.h"
struct Watching {
  using Device = chorale::ThreadTransport::Device;
  chorale::ThreadTransport& under;
  std::function<void(const chorale::Delivery&)> leaves;
  Device& device() { return under.device(); }
  int rank() const { return under.rank(); }
  int ranks() const { return under.ranks(); }
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
  chorale::on_thread_ranks(w::kRanks, [](chorale::ThreadTransport& under) {
    const int rank = under.rank();
    w::Sizes s;
    w::Tensors t;
    std::string seen;
    Watching transport{under, {}};
)" + body + R"(
    w::Program<Watching> program(transport, s);
    program.run(t);
    if (rank == 0) std::printf("%s", seen.c_str());
  });
}
)");
  int code = 0;
  return run_command(fmt::format("cd {} && {} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror -I. watch.cpp "
                                 "-o watch -pthread && ./watch",
                                 emitted.folder().string(), CHORALE_CXX),
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
    std::vector<float> x(s.N, 1), y(s.N, -1), sent(s.N, -1), most(1);
    t.x = x.data(), t.y = y.data(), t.sent = sent.data(), t.most = most.data();
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
    std::vector<float> x(s.T * s.S * s.H, 1), w(s.H * s.F, 1), back(s.T * s.S * s.F);
    t.x = x.data(), t.w = w.data(), t.back = back.data();
    transport.leaves = [&](const chorale::Delivery& send) {
      const float* const from = static_cast<const float*>(send.data);
      seen += from >= x.data() && from < x.data() + x.size() ? '>' : '<';
    };
)"),
            ">>>><<>><<<<");
}

}  // namespace
}  // namespace chorale::test
