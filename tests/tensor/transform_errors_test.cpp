// Transformations that are refused, and what is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/programs.h"

namespace chorale::test {
namespace {

#define EXPECT_REFUSAL(text, script, words) EXPECT_THAT(refused(text, script), testing::HasSubstr(words))

TEST(SplitErrors, SayWhatIsNoAllReduce) {
  EXPECT_REFUSAL(kSgd, "split(g, rs)", "script:1:1: split g: it is Tensor, and only AllReduce can be split");
  EXPECT_REFUSAL(kSgd, "shard(g, a, b)", "shard g: it is Tensor, and only AllReduce can be sharded");
  EXPECT_REFUSAL(kSgd, "shard(avg, a, a)", "shard avg: a is the name of two things");
  EXPECT_REFUSAL(kSgd, "shard(avg, g, a)", "there is a g already");
  EXPECT_REFUSAL(kSgd, "shard(avg, a)", "expected , and another name");
  EXPECT_REFUSAL(kSgd, "shard(avg, a, b, Sliced(1))", "shard avg: ");
  EXPECT_REFUSAL(kSgd, "shard(avg, a, b, Rooted(0))", "shard avg: ");
  EXPECT_REFUSAL(kSgd, "split(p_, rs)", "split p_: it is Pointwise");
  EXPECT_REFUSAL(kSgd, "split(average, rs)", "there is no operation average");
}

TEST(SplitErrors, SayWhatIsWrongWithTheParts) {
  EXPECT_REFUSAL(kSgd, "split(avg, g)", "there is a g already");
  EXPECT_REFUSAL(kSgd, "split(avg, N)", "there is a N already");
  EXPECT_REFUSAL(kSgd, "split(avg, Tensor)", "the name 'Tensor' is a word of the language");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, Sliced(1))", "split avg: ");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, Rooted(4))", "split avg: ");
  EXPECT_REFUSAL(
      "workload w\nScalar x(fp32)\nTensor l(fp32, [], Local)\ns = AllReduce(\"+\", l)\ny = s * x\nreturn y\n",
      "split(s, part)", "split s: it is a scalar, which has no slices; Rooted(0)");
}

TEST(SplitErrors, SayThatNoPartLeavesALayout) {
  const Workload sgd = parse_workload(kSgd, "test");
  for (const LayoutKind kind : {LayoutKind::Replicated, LayoutKind::Local}) {
    const OrError<Workload> split_so = split(sgd, "avg", "rs", {.kind = kind});
    ASSERT_FALSE(split_so);
    EXPECT_THAT(split_so.error().what(), testing::HasSubstr("neither ReduceScatter nor Reduce leaves"));
  }
}

TEST(SplitErrors, SayThatItIsOverlappedAlready) {
  EXPECT_REFUSAL(kAttention, "overlap(ol; layer, sum); split(sum, rs)",
                 "script:1:26: split sum: sum is overlapped in ol; overlap comes after this");
}

TEST(JoinErrors, SayWhatWasNotSplit) {
  EXPECT_REFUSAL(kSgd, "join(avg)",
                 "join avg: it is AllReduce, and only AllGather and Broadcast end what was split");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; p_); join(p_)",
                 "join p_: what it reads, s_p_, is Pointwise, not ReduceScatter");
  EXPECT_REFUSAL(kAdam, "split(avg, rs); reorder(avg; m_); join(avg)", "join avg: s_m_ reads rs, too");
}

TEST(ReorderErrors, SayWhatCannotBeMoved) {
  EXPECT_REFUSAL(kSgd, "reorder(avg; p_)",
                 "reorder avg: it is AllReduce, and only AllGather and Broadcast can be moved; split makes "
                 "an AllGather of it");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; rs)",
                 "rs is ReduceScatter, behind which nothing can be moved");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; avg)", "reorder avg: it cannot be moved behind itself");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; nobody)", "there is no operation or kernel nobody");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; p_, p_)", "p_ is named twice");
  EXPECT_REFUSAL(kAttention, "split(sum, rs); reorder(sum; layer)", "layer reads neither sum nor slices");
}

TEST(ReorderErrors, SayTheRuleThatForbidsSlices) {
  // Columns of a first factor are what is summed over.
  EXPECT_REFUSAL(
      "workload w\nranks 2\nTensor a(fp32, [4, 6], Local)\nTensor w(fp32, [6, 2], Replicated)\nx = "
      "AllReduce(\"+\", a)\ny = MatMul(x, w)\nreturn y\n",
      "split(x, r, Sliced(1)); reorder(x; y)", "reorder x: y of slices");
  // A vector in slices is another part of the rows than slices of all elements in a row.
  EXPECT_REFUSAL(
      "workload w\nranks 2\nTensor a(fp32, [4, 6], Local)\nTensor t(fp32, [4, 6], Sliced(0))\nx = "
      "AllReduce(\"+\", a)\ny = x + t\nreturn y\n",
      "split(x, r, Sliced(1)); reorder(x; y)", "reorder x: y of slices");
  EXPECT_REFUSAL(
      "workload w\nranks 2\nTensor a(fp32, [4, 6], Local)\nTensor b(fp32, [4, 6], Local)\nx = "
      "AllReduce(\"+\", a)\ny = x + b\nreturn y\n",
      "split(x, r); reorder(x; y)", "reorder x: y of slices");
}

TEST(ReorderErrors, SayWhatNamesAreTaken) {
  EXPECT_REFUSAL(kAdam, "split(avg, s_m_); reorder(avg; m_)", "reorder avg: there is a s_m_ already");
}

TEST(ReorderErrors, SayWhatIsFusedOrOverlapped) {
  EXPECT_REFUSAL(kAdam, "fuse(k; m_, m1); split(avg, rs); reorder(avg; m_)",
                 "reorder avg: m1 stays, but is in the kernel k with m_, which is moved; move k as a whole");
  EXPECT_REFUSAL(kSgd, "split(avg, rs); reorder(avg; p_); fuse(k; rs, s_p_, p_); reorder(p_; s_p_)",
                 "p_ is in the kernel k; fuse comes after this");
  EXPECT_REFUSAL(kPipeline,
                 "split(sum, rs); reorder(sum; send); reorder(send; output); overlap(ol; s_output, output); "
                 "reorder(output; s_output)",
                 "output is overlapped in ol");
}

TEST(AsSliceErrors, SayWhatStateIs) {
  EXPECT_REFUSAL(kAdam, "asSlice(p)", "asSlice p: it is not the program's own state");
  EXPECT_REFUSAL(kAdam, "asSlice(avg)", "asSlice avg: it is not the program's own state");
  EXPECT_REFUSAL(kAdam, "asSlice(m)",
                 "asSlice m: m_ updates it with all elements; reorder makes an AllGather");
  EXPECT_REFUSAL(kAdam, "split(avg, rs); reorder(avg; m_); asSlice(m)",
                 "asSlice m: m1 reads all of m_; reorder moves the AllGather behind it");
  EXPECT_REFUSAL(kAdam, "split(avg, rs); reorder(avg; m_, v_, m1, v1, p_); asSlice(m); asSlice(m)",
                 "asSlice m: it is Sliced(0) already");
}

TEST(AsSliceErrors, SayWhoReadsEverything) {
  const std::string text =
      "workload w\nranks 2\nTensor g(fp32, [9], Local)\nTensor m(fp32, [9], Replicated) state\nn = "
      "ReduceTensor(\"+\", m)\nm_ = Update(m, m + AllReduce(\"+\", g))\nreturn n\n";
  EXPECT_REFUSAL(text, "split(m_1, rs); reorder(m_1; m_); asSlice(m)", "asSlice m: n would be ");
  EXPECT_REFUSAL("workload w\nranks 2\nTensor m(fp32, [9], Replicated) state\ny = m * 2\nreturn y\n",
                 "asSlice(m)", "asSlice m: nothing is a slice of it; reorder makes slices");
}

TEST(DeadErrors, SayWhoNeedsIt) {
  EXPECT_REFUSAL(kAdam, "dead(g)", "dead g: it is an input");
  EXPECT_REFUSAL(kAdam, "dead(avg)", "dead avg: m_ reads it");
  EXPECT_REFUSAL(kAdam, "dead(p_)", "dead p_: it is an output");
  EXPECT_REFUSAL("workload w\nTensor m(fp32, [9], Replicated)\ny = m * 2\nz = Update(m, m * 3)\nreturn y\n",
                 "dead(z)", "dead z: it updates m; asSlice");
}

TEST(FuseErrors, NameThePathOutside) {
  EXPECT_REFUSAL(kAdam, "fuse(k; m_, p_)",
                 "fuse k: m1 would have to come before and after them: it reads them, and they read it");
  // Of a longer one all of it.
  EXPECT_REFUSAL(
      "workload w\nTensor x(fp32, [9], Replicated)\na = x + 1\nb = a * 2\nc = b * 3\nd = a + c\nreturn d\n",
      "fuse(k; a, d)", "fuse k: b, c would have to come before and after them");
}

// b reads a, and has to read m before the update.
TEST(FuseErrors, CountUpdatesAsDependencies) {
  EXPECT_REFUSAL(
      "workload w\nTensor x(fp32, [9], Replicated)\nTensor m(fp32, [9], Replicated)\na = x + 1\nb = m * a\n"
      "m_ = Update(m, a + x)\nreturn b\n",
      "fuse(k; a, m_)", "fuse k: b would have to come before and after them");
}

TEST(FuseErrors, SayWhatAKernelMayConsistOf) {
  EXPECT_REFUSAL(kAttention, "fuse(k; layer, sum)", "fuse k: layer is a MatMul, which a library computes");
  EXPECT_REFUSAL(kAttention, "fuse(k; sum, d)", "fuse k: sum is an AllReduce");
  EXPECT_REFUSAL(kAdam, "fuse(k; m, m_)", "fuse k: m is Tensor, for which nothing is done");
  EXPECT_REFUSAL(kAdam, "fuse(k; m_)", "fuse k: two operations or more are done as one");
  EXPECT_REFUSAL(kAdam, "fuse(k; m_, m1); fuse(l; m1, p_)",
                 "fuse l: m1 is in the kernel k, and so is m_; name k as a whole");
  EXPECT_REFUSAL(kAdam, "fuse(v_; m_, m1)", "fuse v_: there is a v_ already");
  EXPECT_REFUSAL(kLamb, "fuse(k; uu, un, ratio)", "fuse k: ");
  EXPECT_REFUSAL(kAttention, "overlap(ol; layer, sum); fuse(k; sum, d)",
                 "fuse k: sum is overlapped in ol already");
}

TEST(OverlapErrors, SayThePair) {
  EXPECT_REFUSAL(kAttention, "overlap(ol; sum, d)",
                 "overlap ol: sum and d are not a pair that can be overlapped");
  EXPECT_REFUSAL(kAttention, "overlap(ol; layer, out)",
                 "overlap ol: sum, d would have to come before and after them");
  EXPECT_REFUSAL(kAttention, "overlap(ol; layer)", "two operations or more");
  EXPECT_REFUSAL(kAttention, "overlap(ol; layer, sum); overlap(o2; layer, sum)",
                 "layer is overlapped in ol already");
  EXPECT_REFUSAL(
      "workload w\nranks 2\nTensor a(fp32, [9], Local)\nTensor b(fp32, [9], Local)\nx = AllReduce(\"+\", "
      "a)\ny = AllReduce(\"+\", b)\nreturn x, y\n",
      "overlap(ol; x, y)", "overlap ol: y does not read what x makes; overlap a producer with its consumer");
}

// Each element of a product needs a row, and a column of p; the sums that are there first would be stored in
// p while the others are not even products yet. Found by random programs (tests/tensor/preserve.cpp): one
// in 5,000.
TEST(OverlapErrors, SayWhatIsUpdatedMeanwhile) {
  EXPECT_REFUSAL(
      "workload w\nranks 2\nTensor x(fp32, [3, 3], Local)\nTensor p(fp32, [3, 3], Replicated)\n"
      "y = MatMul(x, p)\np_ = Update(p, AllReduce(\"+\", y))\nreturn p_\n",
      "overlap(ol; y, p_)", "overlap ol: p_ updates p, which y still reads when they are overlapped");
}

TEST(ScriptErrors, SayLineColumnAndWhatWasExpected) {
  EXPECT_REFUSAL(
      kSgd, "cut(avg)",
      "script:1:1: there is no transformation cut; split, join, shard, levels, reorder, asSlice, dead, "
      "fuse, overlap");
  EXPECT_REFUSAL(kSgd, "split avg", "script:1:7: expected (, found 'avg'; split(NAME, NEW)");
  EXPECT_REFUSAL(kSgd, "\n  split(avg)", "script:2:12: expected , and another name, found ')'");
  EXPECT_REFUSAL(kSgd, "split(avg, rs", "script:1:14: expected ), found the end");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, flat)", "script:1:16: there is no layout flat of parts");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, Sliced(two))",
                 "script:1:23: expected a dimension or flat, found 'two'");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, Rooted())", "script:1:23: expected a rank, found ')'");
  EXPECT_REFUSAL(kSgd, "split(avg, rs, Rooted(99999999999))", "expected a rank");
  EXPECT_REFUSAL(kSgd, "reorder(avg, p_)", "script:1:12: expected ;, found ','");
  EXPECT_REFUSAL(kSgd, "reorder(avg; p_; a, b)", "script:1:19: expected ), found ','");
  EXPECT_REFUSAL(kSgd, "dead(avg) dead(p_)",
                 "script:1:11: expected ; or a new line after a transformation, found 'dead'");
  EXPECT_REFUSAL(kSgd, "(", "script:1:1: expected a transformation, found '('");
  EXPECT_REFUSAL(kSgd, "dead(\x01)", "begins no word");
  EXPECT_REFUSAL(kSgd, "dead(1)", "script:1:6: expected a name, found '1'; dead(NAME)");
}

// All of a script is read before any of it is applied, and names the file that it is of.
TEST(ScriptErrors, AreThoseOfTheTextFirst) {
  const Workload sgd = parse_workload(kSgd, "test");
  EXPECT_EQ(test::refusal_of([&] {
              transformed(sgd, "dead(avg)\nwhat", "moves.txt");
            }).find("moves.txt:2:1: there is no transformation what"),
            0);
}

}  // namespace
}  // namespace chorale::test
