// Transformations on the programs of the paper, and on what surrounds them. That they keep meanings is shown
// elsewhere, on random programs; here it is what comes out.
#include "tensor/transformations/transform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tensor/language/kernels.h"
#include "tensor/language/text.h"
#include "tests/tensor/programs.h"

namespace chorale::test {
namespace {

Workload plain(const std::string& text) {
  return parse_workload(text, "test");
}

// An operation a line, without inputs; one of kernel k, which is overlapped in o, as "o k rs =
// ReduceScatter(g) Sliced(0)".
std::string body(const Workload& workload) {
  std::string result;
  for (const Operation& o : workload.operations) {
    if (is_given(o.kind)) continue;
    result += fmt::format("{}{}{} = {}({}) {}{}\n", o.overlap.empty() ? "" : o.overlap + " ",
                          o.kernel.empty() ? "" : o.kernel + " ", o.name, to_string(o.kind),
                          fmt::join(o.operands, ", "), to_string(o.type.layout),
                          o.updates.empty() ? "" : " updates " + o.updates);
  }
  return result + fmt::format("return {}\n", fmt::join(workload.outputs, ", "));
}

TEST(Split, OfAllReduceIsReduceScatterAndAllGatherUnderTheOldName) {
  const Workload sgd = plain(kSgd);
  EXPECT_EQ(body(transformed(sgd, "split(avg, rs)")),
            "rs = ReduceScatter(g) Sliced(0)\n"
            "avg = AllGather(rs) Replicated\n"
            "p_ = Pointwise(p, lr, avg, WORLD) Replicated updates p\n"
            "return p_\n");
  EXPECT_EQ(transformed(sgd, "split(avg, rs)"),
            *split(sgd, "avg", "rs", {.kind = LayoutKind::Sliced, .dim = 0}));
}

TEST(Split, GivesTheLayoutThatIsAskedFor) {
  const Workload attention = plain(kAttention);
  const auto layout = [&](const std::string& script) {
    return to_string(operation(transformed(attention, script), "part").type.layout);
  };
  EXPECT_EQ(layout("split(sum, part)"), "Sliced(flat)");
  EXPECT_EQ(layout("split(sum, part, Sliced(flat))"), "Sliced(flat)");
  EXPECT_EQ(layout("split(sum, part, Sliced(1))"), "Sliced(1)");
  EXPECT_EQ(layout("split(sum, part, Rooted(3))"), "Rooted(3)");
}

TEST(Split, LeavesTheUpdateToTheSecondPart) {
  const Workload workload = plain(R"(
workload w
Tensor g(fp32, [7], Local)
Tensor total(fp32, [7], Replicated)
t = Update(total, AllReduce("+", g))
return t
)");
  EXPECT_EQ(body(transformed(workload, "split(t, part, Rooted(1))")),
            "part = Reduce(g) Rooted(1)\n"
            "t = Broadcast(part) Replicated updates total\n"
            "return t\n");
}

TEST(Join, UndoesSplit) {
  for (const char* script : {"split(sum, part); join(sum)", "split(sum, part, Sliced(2)); join(sum)",
                             "split(sum, part, Rooted(1)); join(sum)"})
    EXPECT_EQ(transformed(plain(kAttention), script), plain(kAttention)) << script;
}

TEST(Join, LeavesTheUpdateToTheSum) {
  const Workload workload = plain(
      "workload w\nTensor g(fp32, [7], Local)\nTensor total(fp32, [7], Replicated)\nt = Update(total, "
      "AllReduce(\"+\", g))\nreturn t\n");
  EXPECT_EQ(operation(transformed(workload, "split(t, part); join(t)"), "t").updates, "total");
  EXPECT_EQ(transformed(workload, "split(t, part); join(t)"), workload);
}

TEST(Reorder, SlicesTheOptimizerAndGathersWhatIsUpdated) {
  EXPECT_EQ(body(transformed(plain(kAdam), "split(avg, rs); reorder(avg; m_, v_, m1, v1, p_)")),
            "rs = ReduceScatter(g) Sliced(0)\n"
            "s_m_ = Pointwise(m, rs, WORLD) Sliced(0)\n"
            "m_ = AllGather(s_m_) Replicated updates m\n"
            "s_v_ = Pointwise(v, rs, WORLD) Sliced(0)\n"
            "v_ = AllGather(s_v_) Replicated updates v\n"
            "s_m1 = Pointwise(s_m_, t) Sliced(0)\n"
            "s_v1 = Pointwise(s_v_, t) Sliced(0)\n"
            "s_p_ = Pointwise(p, lr, s_m1, s_v1) Sliced(0)\n"
            "p_ = AllGather(s_p_) Replicated updates p\n"
            "return p_\n");
}

// One after the other: the gather of m_ is moved behind m1, which was not taken along, and so on. What is
// sliced already goes on to be, and reads a second slice.
TEST(Reorder, InSmallStepsIsTheSameAsAtOnce) {
  const Workload sum_of_two = plain(R"(
workload two
ranks 3
Tensor a(fp32, [7], Local)
Tensor b(fp32, [7], Local)
x = AllReduce("+", a)
y = AllReduce("+", b)
z = x + y
return z
)");
  EXPECT_EQ(body(transformed(sum_of_two, "split(x, rx); split(y, ry); reorder(x; z); reorder(y; s_z)")),
            "rx = ReduceScatter(a) Sliced(0)\n"
            "ry = ReduceScatter(b) Sliced(0)\n"
            "s_z = Pointwise(rx, ry) Sliced(0)\n"
            "z = AllGather(s_z) Replicated\n"
            "return z\n");
}

TEST(Reorder, KeepsTheGatherThatOthersRead) {
  const Workload workload = plain(R"(
workload w
ranks 3
Tensor a(fp32, [7], Local)
x = AllReduce("+", a)
y = x * x
z = x + y
return y, z
)");
  // y is an output and read by z, which stays; x is read by z.
  EXPECT_EQ(body(transformed(workload, "split(x, r); reorder(x; y)")),
            "r = ReduceScatter(a) Sliced(0)\n"
            "x = AllGather(r) Replicated\n"
            "s_y = Pointwise(r) Sliced(0)\n"
            "y = AllGather(s_y) Replicated\n"
            "z = Pointwise(x, y) Replicated\n"
            "return y, z\n");
}

TEST(Reorder, MakesPartialsOfReductionsAndAddsThemUp) {
  EXPECT_EQ(
      body(transformed(plain(kLamb),
                       "split(avg, rs); reorder(avg; m_, v_, u, uu, un, p_; x_); asSlice(m); asSlice(v)")),
      "rs = ReduceScatter(g) Sliced(0)\n"
      "x_m_ = Pointwise(m, rs, WORLD) Sliced(0) updates m\n"
      "x_v_ = Pointwise(v, rs, WORLD) Sliced(0) updates v\n"
      "x_u = Pointwise(x_m_, t, x_v_, p) Sliced(0)\n"
      "pp = Pointwise(p) Replicated\n"
      "x_uu = Pointwise(x_u) Sliced(0)\n"
      "pn = ReduceTensor(pp) Replicated\n"
      "x_un = ReduceTensor(x_uu) Local\n"
      "un = AllReduce(x_un) Replicated\n"
      "ratio = Pointwise(pn, un) Replicated\n"
      "x_p_ = Pointwise(p, lr, ratio, x_u) Sliced(0)\n"
      "p_ = AllGather(x_p_) Replicated updates p\n"
      "return p_\n");
}

// The norm of the weights does not depend on the gradients, but can be computed in slices as well.
TEST(Reorder, SlicesWhatReadsOtherTensorsIfItIsNamed) {
  const std::string moved =
      body(transformed(plain(kLamb), "split(avg, rs); reorder(avg; m_, v_, u, pp, uu, pn, un, p_)"));
  EXPECT_NE(moved.find("s_p = Slice(p) Sliced(0)\ns_pp = Pointwise(s_p) Sliced(0)\n"), std::string::npos)
      << moved;
  EXPECT_NE(moved.find("s_pn = ReduceTensor(s_pp) Local\npn = AllReduce(s_pn) Replicated\n"),
            std::string::npos)
      << moved;
}

TEST(Reorder, MovesAKernelAsAWholeAndWhatDoesNotDependStaysBefore) {
  EXPECT_EQ(
      body(transformed(
          plain(kLamb),
          "fuse(k; m_, v_, u, pp, uu, pn, un); split(avg, rs); reorder(avg; k); asSlice(m); asSlice(v)")),
      "rs = ReduceScatter(g) Sliced(0)\n"
      "k pp = Pointwise(p) Replicated\n"
      "k pn = ReduceTensor(pp) Replicated\n"
      "s_k s_m_ = Pointwise(m, rs, WORLD) Sliced(0) updates m\n"
      "s_k s_v_ = Pointwise(v, rs, WORLD) Sliced(0) updates v\n"
      "s_k s_u = Pointwise(s_m_, t, s_v_, p) Sliced(0)\n"
      "s_k s_uu = Pointwise(s_u) Sliced(0)\n"
      "s_k s_un = ReduceTensor(s_uu) Local\n"
      "u = AllGather(s_u) Replicated\n"
      "un = AllReduce(s_un) Replicated\n"
      "ratio = Pointwise(pn, un) Replicated\n"
      "p_ = Pointwise(p, lr, ratio, u) Replicated updates p\n"
      "return p_\n");
}

TEST(Reorder, OfABroadcastLeavesTheWorkToTheRoot) {
  EXPECT_EQ(body(transformed(plain(kLamb),
                             "split(avg, r, Rooted(2)); reorder(avg; m_, v_, u, uu, un); asSlice(m)")),
            "r = Reduce(g) Rooted(2)\n"
            "s_m_ = Pointwise(m, r, WORLD) Rooted(2) updates m\n"
            "s_v_ = Pointwise(v, r, WORLD) Rooted(2)\n"
            "v_ = Broadcast(s_v_) Replicated updates v\n"
            "s_u = Pointwise(s_m_, t, s_v_, p) Rooted(2)\n"
            "u = Broadcast(s_u) Replicated\n"
            "pp = Pointwise(p) Replicated\n"
            "s_uu = Pointwise(s_u) Rooted(2)\n"
            "pn = ReduceTensor(pp) Replicated\n"
            "s_un = ReduceTensor(s_uu) Rooted(2)\n"
            "un = Broadcast(s_un) Replicated\n"
            "ratio = Pointwise(pn, un) Replicated\n"
            "p_ = Pointwise(p, lr, ratio, u) Replicated updates p\n"
            "return p_\n");
}

// Rows of a product, and its columns, can be sliced along.
TEST(Reorder, GoesBehindProducts) {
  const std::string text = R"(
workload products
ranks 3
size M = 5
Tensor a(fp32, [M, 4], Local)
Tensor w(fp32, [4, 7], Replicated)
x = AllReduce("+", a)
y = MatMul(x, w)
return y
)";
  EXPECT_EQ(body(transformed(plain(text), "split(x, r, Sliced(0)); reorder(x; y)")),
            "r = ReduceScatter(a) Sliced(0)\n"
            "s_y = MatMul(r, w) Sliced(0)\n"
            "y = AllGather(s_y) Replicated\n"
            "return y\n");
}

TEST(Reorder, GoesBehindSendsAndTheirGroups) {
  const Workload moved = transformed(plain(kPipeline), "split(sum, rs); reorder(sum; send, output)");
  EXPECT_EQ(body(moved),
            "rs = ReduceScatter(in) Sliced(flat)\n"
            "s_send = Pointwise(rs, b, r) Sliced(flat)\n"
            "s_output = Send(s_send) Sliced(flat)\n"
            "output = AllGather(s_output) Replicated\n"
            "return output\n");
  EXPECT_EQ(operation(moved, "output").type, operation(plain(kPipeline), "output").type);
  EXPECT_EQ(operation(moved, "s_output").type.first_group, 1);
}

TEST(AsSlice, MakesSlicesOfStateAndOfTheOutputThatItIs) {
  const std::string text = R"(
workload momentum
ranks 4
Tensor g(fp32, [10], Local)
Tensor m(fp32, [10], Replicated) state
m_ = Update(m, 0.9 * m + AllReduce("+", g))
return m_
)";
  const Workload slices = transformed(plain(text), "split(m_1, rs); reorder(m_1; m_); asSlice(m)");
  EXPECT_EQ(body(slices),
            "rs = ReduceScatter(g) Sliced(0)\n"
            "s_m_ = Pointwise(m, rs) Sliced(0) updates m\n"
            "return s_m_\n");
  EXPECT_EQ(operation(slices, "m").type.layout, (TensorLayout{.kind = LayoutKind::Sliced, .dim = 0}));
}

// Weights that are only read: slices of them are, since what is added to them is sliced. The vector is along
// the second dimension of what it is broadcast to.
TEST(AsSlice, OfStateThatIsOnlyRead) {
  const std::string text = R"(
workload w
ranks 2
Tensor x(fp32, [3, 8], Sliced(1))
Tensor b(fp32, [8], Replicated) state
Tensor c(fp32, [3, 1], Replicated) state
y = x + b + c
z = AllGather(y)
return z
)";
  EXPECT_EQ(operation(transformed(plain(text), "asSlice(b)"), "b").type.layout,
            (TensorLayout{.kind = LayoutKind::Sliced, .dim = 0}));
  EXPECT_THROW(transformed(plain(text), "asSlice(c)"), InputError);
}

TEST(AsSlice, TakesThePlaceOfExplicitSlices) {
  const std::string text = R"(
workload w
ranks 2
Tensor x(fp32, [8], Sliced(0))
Tensor b(fp32, [8], Replicated) state
s = Slice(b, 0)
z = AllGather(x * s)
return z
)";
  EXPECT_EQ(body(transformed(plain(text), "asSlice(b)")),
            "z_1 = Pointwise(x, b) Sliced(0)\n"
            "z = AllGather(z_1) Replicated\n"
            "return z\n");
}

TEST(Dead, RemovesWhatNobodyReads) {
  const std::string text = R"(
workload w
Tensor x(fp32, [8], Local)
a = AllReduce("+", x)
b = x + x
return a
)";
  EXPECT_EQ(body(transformed(plain(text), "dead(b)")), "a = AllReduce(x) Replicated\nreturn a\n");
}

// c needs a and comes before b, which it stays; d reads a and goes behind; e stays behind.
TEST(Fuse, MovesWhatLiesBetweenOutOfTheWay) {
  const std::string text = R"(
workload w
Tensor x(fp32, [8], Replicated)
Tensor y(fp32, [8], Replicated)
a = x + 1
c = y * 2
d = a * 3
b = a + c
e = b * d
return b, d, e
)";
  EXPECT_EQ(body(transformed(plain(text), "fuse(k; a, b)")),
            "c = Pointwise(y) Replicated\n"
            "k a = Pointwise(x) Replicated\n"
            "k b = Pointwise(a, c) Replicated\n"
            "d = Pointwise(a) Replicated\n"
            "e = Pointwise(b, d) Replicated\n"
            "return b, d, e\n");
}

// What reads an input by its own name comes before its update, wherever the update is moved.
TEST(Fuse, LeavesReadersOfAnInputBeforeItsUpdate) {
  const std::string text = R"(
workload w
Tensor x(fp32, [8], Replicated)
Tensor m(fp32, [8], Replicated)
a = x + 1
b = m * 2
m_ = Update(m, a + x)
c = b * a
return b, c
)";
  EXPECT_EQ(body(transformed(plain(text), "fuse(k; a, m_)")),
            "b = Pointwise(m) Replicated\n"
            "k a = Pointwise(x) Replicated\n"
            "k m_ = Pointwise(a, x) Replicated updates m\n"
            "c = Pointwise(b, a) Replicated\n"
            "return b, c\n");
  EXPECT_THROW(transformed(plain(text), "fuse(k; m_, b)\nfuse(l; a, c)"), InputError);
}

// AR-Opt -> RS-Opt-AG -> fuse(RS-Opt-AG), in the paper's own steps (its figure of Adam's schedule).
TEST(Paper, AdamBecomesOneKernelWithSlicedState) {
  const Workload adam = plain(kAdam);
  const Workload fused = transformed(adam, R"(
fuse(comps; m_, v_, m1, v1, p_)     # AR-Opt
split(avg, rsG)
reorder(avg; comps)
asSlice(m); asSlice(v)              # RS-Opt-AG
fuse(fuseAR; rsG, s_comps, p_)
)");
  EXPECT_EQ(body(fused),
            "fuseAR rsG = ReduceScatter(g) Sliced(0)\n"
            "fuseAR s_m_ = Pointwise(m, rsG, WORLD) Sliced(0) updates m\n"
            "fuseAR s_v_ = Pointwise(v, rsG, WORLD) Sliced(0) updates v\n"
            "fuseAR s_m1 = Pointwise(s_m_, t) Sliced(0)\n"
            "fuseAR s_v1 = Pointwise(s_v_, t) Sliced(0)\n"
            "fuseAR s_p_ = Pointwise(p, lr, s_m1, s_v1) Sliced(0)\n"
            "fuseAR p_ = AllGather(s_p_) Replicated updates p\n"
            "return p_\n");
  EXPECT_EQ(operation(fused, "v").type.layout.kind, LayoutKind::Sliced);
  EXPECT_EQ(operation(fused, "p").type, operation(adam, "p").type);
  ASSERT_EQ(units(fused).size(), 1);
  EXPECT_EQ(units(fused)[0].kind, KernelKind::AllReduce);
}

// MM-AR-C -> MM-RS-C-AG -> ol(MM, fuse(RS-C-AG)).
TEST(Paper, SelfAttentionOverlapsItsProductWithAFusedAllReduce) {
  EXPECT_EQ(body(transformed(plain(kAttention), R"(
split(sum, rsSum)
reorder(sum; d, out; sc_)
fuse(fuseAR; rsSum, sc_d, sc_out, out)
overlap(layerWithAR; layer, fuseAR)
)")),
            "layerWithAR layer = MatMul(in, w) Local\n"
            "layerWithAR fuseAR rsSum = ReduceScatter(layer) Sliced(flat)\n"
            "layerWithAR fuseAR sc_d = Pointwise(rsSum, b) Sliced(flat)\n"
            "layerWithAR fuseAR sc_out = Pointwise(sc_d, r) Sliced(flat)\n"
            "layerWithAR fuseAR out = AllGather(sc_out) Replicated\n"
            "return out\n");
}

// AR-C-P2P-AG -> RS-C-P2P-AG -> ol(RS, fuse(C-P2P), AG).
TEST(Paper, PipelineOverlapsReductionSendAndGather) {
  EXPECT_EQ(body(transformed(plain(kPipeline), R"(
fuse(fuseSend; send, output)
split(sum, rsSum)
reorder(sum; fuseSend)
overlap(all; rsSum, s_fuseSend, output)
)")),
            "all rsSum = ReduceScatter(in) Sliced(flat)\n"
            "all s_fuseSend s_send = Pointwise(rsSum, b, r) Sliced(flat)\n"
            "all s_fuseSend s_output = Send(s_send) Sliced(flat)\n"
            "all output = AllGather(s_output) Replicated\n"
            "return output\n");
}

TEST(Script, IsReadWithCommentsAndLines) {
  const Workload sgd = plain(kSgd);
  EXPECT_EQ(transformed(sgd, ""), sgd);
  EXPECT_EQ(transformed(sgd, " ;; # nothing\n\n;"), sgd);
  EXPECT_EQ(transformed(sgd, "split(avg,rs);reorder(avg;p_)"),
            transformed(sgd, "split ( avg ,\n rs )\nreorder(avg ; p_ ; s_ ) # moved"));
}

TEST(Transformations, LeaveTheirArgumentAlone) {
  const Workload adam = plain(kAdam), before = adam;
  const Workload after =
      transformed(adam, "fuse(k; m_, v_); split(avg, rs); reorder(avg; k, m1, v1, p_); asSlice(m)");
  EXPECT_NE(after, before);
  EXPECT_EQ(adam, before);
}

// Types of what keeps its name, and outputs, are the same whatever is applied but asSlice.
TEST(Transformations, KeepTypesOfOutputs) {
  for (const auto& [text, script] :
       {std::pair(kAdam, "split(avg, rs); reorder(avg; m_, v_, m1, v1, p_)"),
        std::pair(kAttention, "split(sum, rs, Sliced(1)); reorder(sum; d, out)"),
        std::pair(kPipeline, "split(sum, rs, Rooted(1)); reorder(sum; send, output)")}) {
    const Workload before = plain(text), after = transformed(before, script);
    EXPECT_EQ(before.outputs, after.outputs);
    for (const std::string& name : before.outputs)
      EXPECT_EQ(operation(before, name).type, operation(after, name).type) << name;
  }
}

}  // namespace
}  // namespace chorale::test
