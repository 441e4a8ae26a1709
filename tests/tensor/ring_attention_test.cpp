// examples/ring_attention.chorale against attention as it is defined, over the whole sequence in one place.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/tensor/examples.h"
#include "tests/tensor/workloads.h"

namespace chorale::test {
namespace {

constexpr int kHeadsOfRing = 2, kDepth = 3;

// Row-major, of the whole sequence: queries [position][head][d]; keys and values [position][head][d].
std::vector<double> attention(const std::vector<double>& q, const std::vector<double>& k,
                              const std::vector<double>& v, int positions) {
  std::vector<double> y(q.size());
  const auto at = [](int position, int head, int d) { return (position * kHeadsOfRing + head) * kDepth + d; };
  for (int head = 0; head < kHeadsOfRing; ++head)
    for (int row = 0; row < positions; ++row) {
      double sum = 0;
      for (int other = 0; other <= row; ++other) {
        double score = 0;
        for (int d = 0; d < kDepth; ++d) score += q[at(row, head, d)] * k[at(other, head, d)];
        const double weight = std::exp(score / std::sqrt(kDepth));
        sum += weight;
        for (int d = 0; d < kDepth; ++d) y[at(row, head, d)] += weight * v[at(other, head, d)];
      }
      for (int d = 0; d < kDepth; ++d) y[at(row, head, d)] /= sum;
    }
  return y;
}

// One text for any number of ranks.
TEST(RingAttention, IsAttentionOverTheWholeSequence) {
  for (const auto& [devices, length] : {std::pair(1, 3), {2, 1}, {4, 5}, {7, 2}}) {
    const Workload workload =
        example("ring_attention", {{"S", length}, {"h", kHeadsOfRing}, {"D", kDepth}}, devices);
    const int positions = devices * length, all = positions * kHeadsOfRing * kDepth;
    std::mt19937 random(static_cast<unsigned>(length));
    std::vector<double> q, k, v;
    for (std::vector<double>* each : {&q, &k, &v})
      for (int i = 0; i < all; ++i)
        each->push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f);
    RankValues queries(devices), rows(devices);
    const int width = kHeadsOfRing * kDepth;
    for (int rank = 0; rank < devices; ++rank) {
      for (int head = 0; head < kHeadsOfRing; ++head)
        for (int s = 0; s < length; ++s)
          for (int d = 0; d < kDepth; ++d)
            queries[rank].push_back(q[((rank * length + s) * kHeadsOfRing + head) * kDepth + d]);
      for (int s = 0; s < length; ++s)
        for (const std::vector<double>* each : {&k, &v})
          for (int i = 0; i < width; ++i) rows[rank].push_back((*each)[(rank * length + s) * width + i]);
    }
    const std::vector<double> want = attention(q, k, v, positions);
    const WorkloadRun run = interpret(workload, {.tensors = {{"q", queries}, {"kv", rows}}}, {});
    const RankValues& have = run.state.tensors.at("y");
    for (int rank = 0; rank < devices; ++rank)
      for (int head = 0; head < kHeadsOfRing; ++head)
        for (int s = 0; s < length; ++s)
          for (int d = 0; d < kDepth; ++d)
            EXPECT_NEAR(have[rank][(head * length + s) * kDepth + d],
                        want[((rank * length + s) * kHeadsOfRing + head) * kDepth + d], 1e-5)
                << rank << ' ' << head << ' ' << s << ' ' << d;
  }
}

}  // namespace
}  // namespace chorale::test
