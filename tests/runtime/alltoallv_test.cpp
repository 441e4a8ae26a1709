// Plans carried out by threads, every byte checked. The plans here are random paths that nobody would plan:
// what a rank does with a plan depends on nothing else.
#include "runtime/alltoallv.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/exchange/threads.h"
#include "tests/kit/random.h"

namespace chorale {
namespace {

struct Case {
  ByteCounts counts = {};
  AlltoallvPlan plan = {};
};

// Nodes are the halves of the ranks; blocks are cut anywhere, and pass any ranks of both halves, in any order
// of steps.
Case random_case(std::mt19937& random) {
  const int ranks = test::between(random, 2, 7), half = test::between(random, 1, ranks - 1);
  Case c{.counts = {.ranks = ranks}, .plan = {.ranks = ranks, .steps = 6}};
  for (Rank src = 0; src < ranks; ++src)
    for (Rank dst = 0; dst < ranks; ++dst) {
      const int bytes = test::below(random, 3) == 0 ? 0 : test::below(random, 400);
      c.counts.bytes.push_back(bytes);
      if (src == dst) continue;
      for (int offset = 0; offset < bytes;) {
        const int part = test::between(random, 1, bytes - offset);
        AlltoallvPiece piece{
            .src = src, .dst = dst, .offset = offset, .bytes = part, .step = test::below(random, 4)};
        const auto any = [&](bool low) {
          return low ? test::below(random, half) : test::between(random, half, ranks - 1);
        };
        if ((src < half) != (dst < half)) {
          piece.out = any(src < half);
          piece.in = any(dst < half);
        }
        c.plan.pieces.push_back(piece);
        offset += part;
      }
    }
  return c;
}

std::byte value(Rank src, Rank dst, std::int64_t i) {
  return static_cast<std::byte>((src * 31 + dst * 7 + i * 13 + i / 256) % 251);
}

TEST(AlltoallvRank, DeliversEveryByte) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Case c = random_case(random);
    const int ranks = c.counts.ranks;
    std::vector<int> wrong(ranks);
    on_thread_ranks(ranks, [&](Transport& transport) {
      const Rank me = transport.rank();
      std::vector<std::vector<std::byte>> in(ranks), out(ranks);
      std::vector<const std::byte*> sends;
      std::vector<std::byte*> receives;
      for (Rank n = 0; n < ranks; ++n) {
        for (std::int64_t i = 0; i < c.counts.at(me, n); ++i) in[n].push_back(value(me, n, i));
        out[n].resize(c.counts.at(n, me));
        sends.push_back(in[n].data());
        receives.push_back(out[n].data());
      }
      const AlltoallvRank mine(c.plan, me);
      std::vector<std::byte> scratch(mine.scratch_bytes());
      mine.execute(sends, receives, scratch.data(), transport);
      for (Rank n = 0; n < ranks; ++n)
        for (std::int64_t i = 0; i < c.counts.at(n, me); ++i)
          if (n != me) wrong[me] += out[n][i] != value(n, me, i);
    });
    for (Rank n = 0; n < ranks; ++n) EXPECT_EQ(wrong[n], 0) << "seed " << seed << ", rank " << n;
  }
}

}  // namespace
}  // namespace chorale
