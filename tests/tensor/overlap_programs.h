// Programs of which everything that can be is overlapped: products whose factors arrive and whose results are
// taken along any dimension, and tiles that follow each other.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/tensor/emitted_workload.h"

namespace chorale::test {

// A factor that arrives, and the product that is made of it.
inline std::string arriving(int k, const std::string& slices, const std::string& left,
                            const std::string& right) {
  return fmt::format("overlap o{0} {{\n  g{0} = AllGather({1})\n  c{0} = MatMul({2}, {3})\n}}\n", k, slices,
                     left, right);
}

// Products whose results are taken along any dimension, and whose factors arrive along any.
inline const std::string kProducts = R"(
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
)" + arriving(4, "columns", "ar", "g4") +
                                     arriving(5, "summed", "ar", "g5") + arriving(6, "deep", "g6", "wr") +
                                     arriving(7, "batch", "ar", "g7") + R"(overlap o8 {
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

inline const std::vector<std::map<std::string, std::int64_t>> kProductSizes = {
    {{"B", 2}, {"M", 5}, {"K", 7}, {"N", 4}},
    {{"B", 1}, {"M", 1}, {"K", 1}, {"N", 1}},
    {{"B", 5}, {"M", 2}, {"K", 2}, {"N", 2}},
    {{"B", 3}, {"M", 37}, {"K", 19}, {"N", 23}}};

// Convolutions, likewise.
inline const std::string kConvolutions = R"(
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

inline const std::vector<std::map<std::string, std::int64_t>> kConvolutionSizes = {
    {{"N", 4}, {"C", 3}, {"H", 6}, {"O", 5}},
    {{"N", 1}, {"C", 1}, {"H", 6}, {"O", 1}},
    {{"N", 7}, {"C", 2}, {"H", 6}, {"O", 4}}};

// Slices of columns that go to the next group tile by tile.
inline const std::string kColumnTiles = R"(
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

inline const std::vector<std::map<std::string, std::int64_t>> kTileSizes = {{{"M", 6}, {"N", 5}},
                                                                            {{"M", 301}, {"N", 203}}};

// The experts of examples/moe.chorale from the first token to the last.
inline const std::string kExperts = "overlap(o; there, up, inner, down, back)";
// One layer alone, in two parts of a batch.
inline const std::string kOneExpert = R"(
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
inline const std::vector<std::map<std::string, std::int64_t>> kTokens = {
    {{"T", 6}, {"H", 4}, {"F", 5}}, {{"T", 3}, {"H", 3}, {"F", 1}}, {{"T", 369}, {"H", 160}, {"F", 3}}};

// Printed for sizes[0], and run for all of them, with each of these arguments.
inline void expect_what_it_means(const std::string& text, const std::string& script, int ranks,
                                 const std::vector<std::map<std::string, std::int64_t>>& sizes, int chunks,
                                 Carrier carrier, Build build, double tolerance = 0,
                                 const std::vector<std::string>& arguments = {""}) {
  const auto sized = [&](const auto& some) { return parsed(text, script, some, ranks); };
  const Emitted emitted(sized(sizes[0]), chunks, chunks == 1, carrier, build);
  for (unsigned seed = 0; seed < sizes.size(); ++seed)
    for (const std::string& each : arguments)
      EXPECT_EQ(emitted.difference(sized(sizes[seed]), seed, tolerance, true, each), "") << seed << each;
}
inline std::string moe() {
  return read_file(fmt::format("{}/examples/moe.chorale", CHORALE_SOURCE));
}

}  // namespace chorale::test
