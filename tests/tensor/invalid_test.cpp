// Programs that are none, each with all that is reported of it: what was found, where, and what to do.
#include <gtest/gtest.h>

#include "tensor/language/infer.h"
#include "tensor/language/text.h"
#include "tests/kit/refusal.h"

namespace chorale::test {
namespace {

std::string said_of(const std::string& text) {
  return test::refusal_of([&] { parse_workload(text, "w"); }, "it is read");
}

struct Invalid {
  const char* text;
  const char* message;
};

// Fifteen lines.
constexpr const char* kPrelude = R"(workload w
ranks 2
groups 2
size N = 8
Tensor g(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
Tensor s(fp32, [N], Sliced(0))
Tensor r(fp32, [N], Rooted(1))
Tensor q(fp32, [N], Replicated GROUP 0)
Tensor u(fp32, [N], Local GROUP 1)
Tensor a(fp16, [4, N], Replicated)
Tensor b(fp16, [N, 3], Sliced(0))
Tensor k(fp16, [N, 3], Replicated)
Tensor i(fp32, [1, 2, 5, 5], Replicated)
Scalar c(fp32)
)";

TEST(Invalid, Types) {
  constexpr Invalid kTable[] = {
      {"x = g + s\nreturn x",
       "w:16:1: x: g (fp32[N] Local) and s (fp32[N] Sliced(0)): of one, a rank has a slice, of the other, a "
       "tensor of its own; ReduceScatter the Local one, or AllGather the sliced one"},
      {"x = r + s\nreturn x",
       "w:16:1: x: r (fp32[N] Rooted(1)) and s (fp32[N] Sliced(0)): one lies on one rank, the other in "
       "slices on all; Broadcast the rooted one, or AllGather the sliced one"},
      {"x = g * r\nreturn x",
       "w:16:1: x: g (fp32[N] Local) and r (fp32[N] Rooted(1)): one lies on one rank, of the other each rank "
       "has its own; Broadcast the rooted one, or Reduce the Local one to the same root"},
      {"t = Slice(p, 0) + Reduce(\"+\", g, 0)\nreturn t",
       "w:16:1: t: t_1 (fp32[N] Sliced(0)) and t_2 (fp32[N] Rooted(0)): one lies on one rank, the other in "
       "slices on all; Broadcast the rooted one, or AllGather the sliced one"},
      {"t = r + Reduce(\"+\", g, 0)\nreturn t",
       "w:16:1: t: r (fp32[N] Rooted(1)) and t_1 (fp32[N] Rooted(0)) lie on two ranks; Broadcast one of "
       "them"},
      {"x = a + p * b\nreturn x",
       "w:16:1: x: a (fp16[4, N] Replicated) and b (fp16[N, 3] Sliced(0)) do not broadcast: 3 is not N, "
       "counted from the last side; sides have to be the same, or 1, or not there"},
      {"x = Slice(a, 0) + Slice(a, 1)\nreturn x",
       "w:16:1: x: x_1 (fp16[4, N] Sliced(0)) and x_2 (fp16[4, N] Sliced(1)) have other slices; AllGather "
       "one of them, or slice both equally"},
      {"x = Slice(a, flat) + s\nreturn x",
       "w:16:1: x: x_1 (fp16[4, N] Sliced(flat)) and s (fp32[N] Sliced(0)) have other slices; AllGather one "
       "of them, or slice both equally"},
      {"x = q + u\nreturn x",
       "w:16:1: x: no group has all of its operands; declare them for the same groups, or Send one to where "
       "the others are"},
      {"x = q + s\nreturn x",
       "w:16:1: x: s (fp32[N] Sliced(0)) is laid out over the world, and q (fp32[N] Replicated GROUP) over "
       "groups; in groups, only Replicated and Local tensors of the world can be read: declare both with "
       "GROUP"},
      {"x = AllReduce(\"+\", p)\nreturn x",
       "w:16:5: x: AllReduce takes a Local tensor, of which each rank has its own, and not p (fp32[N] "
       "Replicated); it would be added up as many times as there are ranks: take it as it is"},
      {"x = AllReduce(\"+\", s)\nreturn x",
       "w:16:5: x: AllReduce takes a Local tensor, of which each rank has its own, and not s (fp32[N] "
       "Sliced(0)); AllGather puts slices together"},
      {"x = ReduceScatter(\"max\", g, 1)\nreturn x",
       "w:16:5: x: g (fp32[N] Local): Sliced(1) is along dimension 1, counted from 0, and the tensor has 1 "
       "dimension; choose a layout that the tensor can have"},
      {"x = ReduceScatter(\"+\", c * RANK)\nreturn x",
       "w:16:5: x: x_1 (fp32[] Local): a scalar has no slices; choose a layout that the tensor can have"},
      {"x = Reduce(\"+\", g, 4)\nreturn x",
       "w:16:5: x: g (fp32[N] Local): Rooted(4) names rank 4, and the ranks are 0 to 3; choose a layout that "
       "the tensor can have"},
      {"x = Reduce(\"+\", u, 2)\nreturn x",
       "w:16:5: x: u (fp32[N] Local GROUP): Rooted(2) names rank 2, and the ranks are 0 to 1; choose a "
       "layout that the tensor can have"},
      {"x = AllGather(p)\nreturn x",
       "w:16:5: x: AllGather takes a sliced tensor, and not p (fp32[N] Replicated); each rank has all of it: "
       "take it as it is"},
      {"x = AllGather(g)\nreturn x",
       "w:16:5: x: AllGather takes a sliced tensor, and not g (fp32[N] Local); AllReduce or ReduceScatter "
       "it"},
      {"x = AllGather(r)\nreturn x",
       "w:16:5: x: AllGather takes a sliced tensor, and not r (fp32[N] Rooted(1)); Broadcast it"},
      {"x = Broadcast(s)\nreturn x",
       "w:16:5: x: Broadcast takes a tensor that lies on one rank, and not s (fp32[N] Sliced(0)); AllGather "
       "it"},
      {"x = Broadcast(p)\nreturn x",
       "w:16:5: x: Broadcast takes a tensor that lies on one rank, and not p (fp32[N] Replicated); each rank "
       "has all of it: take it as it is"},
      {"x = Broadcast(g)\nreturn x",
       "w:16:5: x: Broadcast takes a tensor that lies on one rank, and not g (fp32[N] Local); Reduce it "
       "first"},
      {"x = AllToAll(p)\nreturn x",
       "w:16:5: x: AllToAll takes a Local tensor, with a part for each rank, and not p (fp32[N] Replicated); "
       "declare it Local; of others, every rank would be sent the same"},
      {"Tensor l(fp32, [7], Local)\nx = AllToAll(l)\nreturn x",
       "w:17:5: x: l (fp32[7] Local) has no part for each of the 4 ranks; make the first side a multiple of "
       "the number of ranks"},
      {"Tensor n(int32, [7], Local)\nx = AllToAllV(g, n, 3)\nreturn x",
       "w:17:5: x: n (int32[7] Local) has not how many rows go to each of the 4 ranks; give it an int32 "
       "vector, Local or Replicated, whose length is a multiple of the ranks"},
      {"Tensor n(fp32, [4], Local)\nx = AllToAllV(g, n, 3)\nreturn x",
       "w:17:5: x: n (fp32[4] Local) has not how many rows go to each of the 4 ranks; give it an int32 "
       "vector, Local or Replicated, whose length is a multiple of the ranks"},
      {"Tensor n(int32, [4], Local)\nx = AllToAllV(p, n, 3)\nreturn x",
       "w:17:5: x: AllToAllV takes a Local tensor with rows for the ranks, and not p (fp32[N] Replicated); "
       "declare it Local, of rows"},
      {"x = Slice(g, 0)\nreturn x",
       "w:16:5: x: Slice takes a Replicated tensor, of which each rank has all, and not g (fp32[N] Local); "
       "ReduceScatter adds up and slices"},
      {"x = Slice(s, 0)\nreturn x",
       "w:16:5: x: Slice takes a Replicated tensor, of which each rank has all, and not s (fp32[N] "
       "Sliced(0)); it is sliced already"},
      {"x = Slice(r, 0)\nreturn x",
       "w:16:5: x: Slice takes a Replicated tensor, of which each rank has all, and not r (fp32[N] "
       "Rooted(1)); Broadcast it first"},
      {"x = Slice(c)\nreturn x",
       "w:16:5: x: c (fp32[] Replicated): a scalar has no slices; choose a layout that the tensor can have"},
      {"x = Send(p, GROUP + 1)\nreturn x",
       "w:16:5: x: Send takes a tensor of groups, and not p (fp32[N] Replicated); declare what it is made of "
       "with GROUP"},
      {"x = Send(u, GROUP + 1)\nreturn x",
       "w:16:5: x: u (fp32[N] Local GROUP) is sent to GROUP + 1, and there is none; send in the other "
       "direction, or declare more groups"},
      {"x = Send(p, RANK + 1)\nreturn x",
       "w:16:5: x: Send takes a Local tensor for RANK, and not p (fp32[N] Replicated); slices may differ in "
       "length: declare it Local"},
      {"x = Send(q, GROUP - 1)\nreturn x",
       "w:16:5: x: q (fp32[N] Replicated GROUP) is sent to GROUP - 1, and there is none; send in the other "
       "direction, or declare more groups"},
      {"x = MatMul(a, b)\nreturn x",
       "w:16:5: x: no rank can compute its part of a (fp16[4, N] Replicated) by b (fp16[N, 3] Sliced(0)) "
       "from what it has; the layouts may be Sliced(last) by Sliced(the side summed over), which gives Local "
       "summands; Replicated by Sliced(last); Sliced(another than last) by Replicated, or by the same if it "
       "is of the batch; Local by Local or Replicated"},
      {"x = MatMul(a, p)\nreturn x",
       "w:16:5: x: a (fp16[4, N] Replicated) by p (fp32[N] Replicated): matrices have two sides; give "
       "vectors a side of 1"},
      {"x = MatMul(a, a)\nreturn x",
       "w:16:5: x: a (fp16[4, N] Replicated) by a (fp16[4, N] Replicated): rows of N by columns of 4; the "
       "last side of the first is the one before the last of the second"},
      {"x = MatMul(p, i)\nreturn x",
       "w:16:5: x: p (fp32[N] Replicated) by i (fp32[1, 2, 5, 5] Replicated): matrices have two sides; give "
       "vectors a side of 1"},
      {"x = MatMul(i, Slice(i, flat))\nreturn x",
       "w:16:5: x: no rank can compute its part of i (fp32[1, 2, 5, 5] Replicated) by x_1 (fp32[1, 2, 5, 5] "
       "Sliced(flat)) from what it has; the layouts may be Sliced(last) by Sliced(the side summed over), "
       "which gives Local summands; Replicated by Sliced(last); Sliced(another than last) by Replicated, or "
       "by the same if it is of the batch; Local by Local or Replicated"},
      {"x = MatMul(a, Cast(fp32, k))\nreturn x",
       "w:16:5: x: a (fp16[4, N] Replicated) and x_1 (fp32[N, 3] Replicated) have elements of two types; "
       "Cast one of them"},
      {"Tensor l(int32, [N, N], Replicated)\nx = MatMul(l, l)\nreturn x",
       "w:17:5: x: l (int32[N, N] Replicated) has integers, which libraries do not multiply; Cast both "
       "to fp32 or fp64"},
      {"Tensor j(fp32, [2, 3, 5], Replicated)\nTensor l(fp32, [3, 5, 3], Replicated)\nx = MatMul(j, "
       "l)\nreturn x",
       "w:18:5: x: j (fp32[2, 3, 5] Replicated) by l (fp32[3, 5, 3] Replicated): 2 matrices by 3; leading "
       "sides have to be the same"},
      {"Tensor j(fp32, [2, 3, 5], Replicated)\nTensor l(fp32, [2, 2, 5, 3], Replicated)\nx = MatMul(j, "
       "l)\nreturn x",
       "w:18:5: x: j (fp32[2, 3, 5] Replicated) by l (fp32[2, 2, 5, 3] Replicated): the second is neither "
       "one matrix nor as many as the first; give it two sides, or the leading ones of the first"},
      {"x = Convolution(i, a)\nreturn x",
       "w:16:5: x: i (fp32[1, 2, 5, 5] Replicated) with a (fp16[4, N] Replicated): both have four sides; "
       "images are [N, C, H, W], windows [O, C, h, w]"},
      {"x = Convolution(i, i, stride = 0)\nreturn x",
       "w:16:32: found '0', expected the stride, an integer from 1 to 1048576; see docs/workloads.md, "
       "'Grammar'"},
      {"Tensor j(fp32, [1, 2, 9, 9], Replicated)\nx = Convolution(i, j, padding = 1)\nreturn x",
       "w:17:5: x: its window, 9 long, is longer than what it is moved over, 7 with the padding; pad more"},
      {"Tensor j(fp32, [1, 3, 2, 2], Replicated)\nx = Convolution(i, j)\nreturn x",
       "w:17:5: x: i (fp32[1, 2, 5, 5] Replicated) with j (fp32[1, 3, 2, 2] Replicated): 2 channels with 3; "
       "the second sides have to be the same"},
      {"x = Convolution(i, Slice(i, 2))\nreturn x",
       "w:16:5: x: no rank can compute its part of the convolution of i (fp32[1, 2, 5, 5] Replicated) with "
       "x_1 (fp32[1, 2, 5, 5] Sliced(2)) from what it has; the layouts may be Sliced(1) with Sliced(1), "
       "which gives Local summands; Sliced(0) with Replicated; Replicated with Sliced(0); Local with Local "
       "or Replicated"},
      {"x = Convolution(i, Cast(fp64, i))\nreturn x",
       "w:16:5: x: i (fp32[1, 2, 5, 5] Replicated) and x_1 (fp64[1, 2, 5, 5] Replicated) have elements of "
       "two types; Cast one of them"},
      {"Tensor j(fp32, [2^24, 1], Replicated)\nTensor l(fp32, [2^25], Replicated)\nx = j * l\nreturn x",
       "w:18:1: x: [16777216, 33554432] are too many elements; 281474976710656 are the most"},
      {"x = 1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - (1 - "
       "p)))))))))))))))\nreturn x",
       "w:16:1: x: its expression is nested too deeply; the most are 256 operators and values, 16 of them at "
       "once, and 16 operands: make several statements of it"},
  };
  for (const Invalid& each : kTable)
    EXPECT_EQ(said_of(kPrelude + std::string(each.text)), each.message) << each.text;
}

TEST(Invalid, Programs) {
  constexpr Invalid kTable[] = {
      {"p_ = Update(p, p + 1)\nx = p + p_\nreturn x",
       "w:17:1: x: reads p, whose memory has p_ from there on; read p_, or read p before"},
      {"p_ = Update(p, p + 1)\nx = Update(p, p_ + 1)\nreturn p_",
       "w:17:5: x: updates p, which p_ updates, too; update a tensor once"},
      {"p_ = Update(p, p + 1)\nx = Update(p, c * g)\nreturn p_",
       "w:17:5: x: updates p, which p_ updates, too; update a tensor once"},
      {"x = p + 1\ny = Update(x, x + 1)\nreturn y",
       "w:17:5: y: updates 'x', which is not a tensor from outside; declare it as a Tensor before"},
      {"x = Update(p, Cast(fp16, p))\nreturn x",
       "w:16:5: x: is fp16[N] Replicated, and p, which it updates, is fp32[N] Replicated; shape and element "
       "type have to be the same; Cast changes the type"},
      {"x = Update(p, a)\nreturn x",
       "w:16:5: x: is fp16[4, N] Replicated, and p, which it updates, is fp32[N] Replicated; shape and "
       "element type have to be the same; Cast changes the type"},
      {"x = Update(p, g)\nreturn x",
       "w:16:5: x: is fp32[N] Local, and p, which it updates, is fp32[N] Replicated; layout and groups have "
       "to be the same"},
      {"x = Update(p, q)\nreturn x",
       "w:16:5: x: is fp32[N] Replicated GROUP 0, and p, which it updates, is fp32[N] Replicated; layout and "
       "groups have to be the same"},
      {"x = Update(s, Slice(p, 0))\nreturn x",
       "w:16:5: x: Slice cannot store its result in a tensor that is there; update by a pointwise operation, "
       "AllReduce, AllGather, Broadcast or Send, or rows of the tensor by PutRows"},
      {"x = AllReduce(\"+\", g)\nx = p + 1\nreturn x",
       "w:17:1: 'x' is there already, from w:16:5; give the result a name of its own"},
      {"p = AllReduce(\"+\", g)\nreturn p",
       "w:16:1: 'p' is there already, from w:6:8; give the result a name of its own"},
      {"Tensor p(fp32, [N], Local)\nx = p + 1\nreturn x",
       "w:16:8: the name 'p' is that of two things; give each its own"},
      {"Tensor N(fp32, [N], Local)\nx = N + 1\nreturn x",
       "w:16:8: the name 'N' is that of two things; give each its own"},
      {"x = p + 1\nreturn x, x", "w:16:1: x is returned twice"},
      {"return p", "w:6:8: p is returned as it was given; return what was computed"},
      {"x = p + 1", "w:1:1: the program returns and updates nothing; end it with \"return NAME\""},
      {"return y", "w:16:8: there is no 'y'; declare it as a Tensor or Scalar, or compute it before"},
      {"kernel f {\n  x = AllReduce(\"+\", g)\n}\nreturn x",
       "w:16:8: kernel f: x is an AllReduce, which hands nothing over before it has ended; split it into "
       "ReduceScatter and AllGather first; only scalars are summed in one message"},
      {"kernel f {\n  x = MatMul(a, k)\n}\nreturn x",
       "w:16:8: kernel f: x is a MatMul, which a library computes; overlap it with the kernel"},
      {"kernel f {\n  x = Slice(p, 0)\n  y = x + s\n}\nreturn y",
       "w:16:8: kernel f: x is a Slice; read the Replicated tensor itself: each rank takes what it needs"},
      {"kernel f {\n  x = g + 1\n  y = AllToAll(x)\n}\nreturn y",
       "w:16:8: kernel f: y is an AllToAll, with which nothing is fused; overlap it with a MatMul"},
      {"kernel f {\n  x = s + 1\n  y = AllGather(x)\n  z = y + 1\n}\nreturn z",
       "w:16:8: kernel f: z reads y, which is complete only at the end of the kernel; compute it after the "
       "kernel"},
      {"kernel f {\n  x = g + 1\n  y = ReduceTensor(\"+\", x)\n  z = x * y\n}\nreturn z",
       "w:16:8: kernel f: z reads y, which is complete only at the end of the kernel; compute it after the "
       "kernel"},
      {"kernel f {\n  x = s + 1\n  y = AllGather(s)\n}\nreturn x, y",
       "w:16:8: kernel f: y sends s, which is not made in the kernel; fuse it with what makes that"},
      {"kernel f {\n  x = g + 1\n  y = ReduceScatter(\"+\", x)\n}\nreturn y",
       "w:16:8: kernel f: x is fp32[N] Local, and the kernel goes over fp32[N] Sliced(0); shape, layout and "
       "groups have to be the same, or the shape broadcast to it"},
      {"kernel f {\n  x = ReduceScatter(\"+\", g)\n  y = AllGather(Cast(fp16, x))\n}\nreturn y",
       "w:16:8: kernel f: y gathers fp16, and x scatters fp32; a fused AllReduce sends elements of one type: "
       "Cast before, or make two kernels"},
      {"kernel f {\n  x = Reduce(\"+\", g, 1)\n  y = Broadcast(x)\n}\nreturn y",
       "w:16:8: kernel f: y (Broadcast) and x (Reduce) are not a fused collective; of two, only "
       "ReduceScatter and AllGather can be in one kernel; make several"},
      {"kernel f {\n  x = ReduceScatter(\"+\", g)\n  y = Reduce(\"+\", g, 0)\n}\nreturn x, y",
       "w:16:8: kernel f: y (Reduce) and x (ReduceScatter) are not a fused collective; of two, only "
       "ReduceScatter and AllGather can be in one kernel; make several"},
      {"kernel f {\n  x = s + 1\n  y = p + 1\n}\nreturn x, y",
       "w:16:8: kernel f: y is fp32[N] Replicated, and the kernel goes over fp32[N] Sliced(0); shape, layout "
       "and groups have to be the same, or the shape broadcast to it"},
      {"kernel f {\n  x = c + 1\n  y = p + x\n}\nreturn x, y",
       "w:16:8: kernel f: x is fp32[] Replicated, which the kernel computes for each element of fp32[N] "
       "Replicated, and never stores; compute it before the kernel"},
      {"kernel f {\n  x = p + 1\n  y = ReduceTensor(\"+\", a)\n}\nreturn x, y",
       "w:16:8: kernel f: x is fp32[N] Replicated, which the kernel computes for each element of fp16[4, N] "
       "Replicated, and never stores; compute it before the kernel"},
      {"kernel f {\n  x = p + 1\n}\ny = x + 1\nkernel f {\n  z = y + 1\n}\nreturn z",
       "w:20:8: kernel f: its operations do not follow each other; z stands apart; move them together"},
      {"kernel p {\n  x = p + 1\n}\nreturn x",
       "w:16:8: the name 'p' is that of two things; give each its own"},
      {"kernel f {\n}\nx = p + 1\nreturn x",
       "w:17:1: found '}', expected an operation of f; see docs/workloads.md, 'Grammar'"},
      {"overlap o {\n  x = AllReduce(\"+\", g)\n}\nreturn x",
       "w:16:9: overlap o: there are not two in it that could be overlapped; name two or more"},
      {"overlap o {\n  x = AllReduce(\"+\", g)\n  y = AllReduce(\"max\", g)\n}\nreturn x, y",
       "w:16:9: overlap o: y does not read what x makes; overlap a producer with its consumer"},
      {"overlap o {\n  x = AllReduce(\"+\", g)\n  y = x + 1\n}\nreturn x, y",
       "w:16:9: overlap o: x and y are not a pair that can be overlapped; pairs are MatMul or Convolution "
       "with a collective, AllGather or AllToAll with them, ReduceScatter with Send, Send with AllGather, "
       "and MatMuls with what is computed between them, row by row"},
      {"Tensor l(fp16, [3, N], Local GROUP)\noverlap o {\n  x = MatMul(l, k)\n  y = Send(x, GROUP + "
       "1)\n}\nreturn y",
       "w:17:9: overlap o: x and y are not a pair that can be overlapped; pairs are MatMul or Convolution "
       "with a collective, AllGather or AllToAll with them, ReduceScatter with Send, Send with AllGather, "
       "and MatMuls with what is computed between them, row by row"},
  };
  for (const Invalid& each : kTable)
    EXPECT_EQ(said_of(kPrelude + std::string(each.text)), each.message) << each.text;
}

TEST(Invalid, Texts) {
  constexpr Invalid kTable[] = {
      {"",
       "w:1:1: found the end of the text, expected 'workload' and the program's name first; see "
       "docs/workloads.md, 'Grammar'"},
      {"program w",
       "w:1:1: found 'program', expected 'workload' and the program's name first; see docs/workloads.md, "
       "'Grammar'"},
      {"workload 3", "w:1:10: found '3', expected a name for the program; see docs/workloads.md, 'Grammar'"},
      {"workload kernel", "w:1:10: the name 'kernel' is a word of the language; choose another one"},
      {"workload w ranks 0",
       "w:1:18: found '0', expected how many ranks, an integer from 1 to 4096; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w ranks 4097",
       "w:1:18: found '4097', expected how many ranks, an integer from 1 to 4096; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w ranks 64 groups 65", "w:1:1: 64 ranks in each of 65 groups; there are 1 to 4096 in all"},
      {"workload w size N = 3 ranks 4",
       "w:1:23: found 'ranks', expected a statement; ranks and groups stand right after the program's name"},
      {"workload w size N = 0",
       "w:1:21: found '0', expected a number or a size, an integer from 1 to 4611686018427387904; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w size N = 2^70",
       "w:1:23: found '70', expected the exponent, an integer from 0 to 62; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w size N = 2^62 * 4", "w:1:28: the product is too large; 4611686018427387904 is the most"},
      {"workload w size N = 1.5",
       "w:1:21: found '1.5', expected a number or a size, an integer from 1 to 4611686018427387904; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w size N = M", "w:1:21: there is no size 'M'; write \"size NAME = NUMBER\" before"},
      {"workload w size N = 2^50", "w:1:17: the size N is 1125899906842624; sizes are 1 to 281474976710656"},
      {"workload w size N = 2, N = 3", "w:1:24: the name 'N' is that of two things; give each its own"},
      {"workload w Tensor x",
       "w:1:20: found the end of the text, expected '(' and an element type; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w Tensor x(fp8, [3], Local)",
       "w:1:21: found 'fp8', expected an element type: fp64, fp32, fp16, bf16, e4m3, e5m2 or int32; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w Tensor x(fp32, 3, Local)",
       "w:1:27: found '3', expected '[' and the sides; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor x(fp32, [3 4], Local)",
       "w:1:30: found '4', expected ',' or ']' after a side; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor x(fp32, [0], Local)",
       "w:1:28: found '0', expected a number or a size, an integer from 1 to 4611686018427387904; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w Tensor x(fp32, [2^40, 2^40], Local)",
       "w:1:19: x: [1099511627776, 1099511627776] are too many elements; 281474976710656 are the most"},
      {"workload w Tensor x(fp32, [1, 1, 1, 1, 1, 1, 1, 1, 1], Local)",
       "w:1:52: found '1', expected ']'; 8 sides are the most"},
      {"workload w Tensor x(fp32, [3], Everywhere)",
       "w:1:32: found 'Everywhere', expected a layout: Replicated, Local, Sliced(dimension), Sliced(flat) or "
       "Rooted(rank); see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor x(fp32, [3], Sliced(1))",
       "w:1:19: x: Sliced(1) is along dimension 1, counted from 0, and the tensor has 1 dimension; choose a "
       "layout that the tensor can have"},
      {"workload w Tensor x(fp32, [3], Rooted(2))",
       "w:1:19: x: Rooted(2) names rank 2, and the ranks are 0 to 1; choose a layout that the tensor can "
       "have"},
      {"workload w Tensor x(fp32, [3], Local GROUP 1)",
       "w:1:44: found '1', expected a group, an integer from 0 to 0; see docs/workloads.md, 'Grammar'"},
      {"workload w groups 3 Tensor x(fp32, [3], Local GROUP 2..1)",
       "w:1:56: found '1', expected the last group, an integer from 2 to 2; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w Tensor x(fp32, [3, 2], Local) scattered",
       "w:1:19: x: is scattered, and has the shape [3, 2]; scattered tensors are a list, with one side for "
       "all their elements"},
      {"workload w Scalar x(fp32, Sliced(0))",
       "w:1:19: x: a scalar has no slices; choose a layout that the tensor can have"},
      {"workload w x = 1 +",
       "w:1:19: found the end of the text, expected a value: a number, a name, a call or '('; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w x = (1 + 2",
       "w:1:22: found the end of the text, expected ')' or an operator; see docs/workloads.md, 'Grammar'"},
      {"workload w x = 1 < 2 < 3",
       "w:1:22: found '<', expected no second comparison; put one of them in parentheses"},
      {"workload w x = y", "w:1:16: there is no 'y'; declare it as a Tensor or Scalar, or compute it before"},
      {"workload w Tensor grad(fp32, [3], Local) x = grat + 1",
       "w:1:46: there is no 'grat'; did you mean 'grad'?"},
      {"workload w size N = 3 x = N + M",
       "w:1:31: there is no 'M'; declare it as a Tensor or Scalar, or compute it before"},
      {"workload w size N = 2^40 x = N + 1",
       "N: N: 1099511627776 is too large for an int32 number; as a number, 2^31 - 1 is the most"},
      {"workload w Tensor g(fp32, [3], Local) x = ReduceAlong(\"+\", g, 1)",
       "w:1:43: x: g (fp32[3] Local) is reduced along dimension 1, counted from 0, and has 1 dimension; "
       "choose one that it has; ReduceTensor reduces all"},
      {"workload w Tensor g(fp32, [3, 4], Sliced(flat)) x = ReduceAlong(\"+\", g, 1)",
       "w:1:53: x: ReduceAlong takes whole tensors, or slices along a dimension, and not g (fp32[3, 4] "
       "Sliced(flat)); slice it along a dimension, or AllGather it"},
      {"workload w Tensor g(fp32, [3], Local) x = Softmax(g, 1)",
       "w:1:54: found '1', expected a dimension of it, an integer from 0 to 0; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w Scalar s(fp32) x = RMSNorm(s, s, 1)",
       "w:1:31: s is a scalar; give it a tensor with dimensions"},
      {"workload w Tensor g(fp32, [3], Local) x = g + Index(1)",
       "w:1:39: x: Index(1) is along a dimension, counted from 0, that its result [3] does not have; choose "
       "one that it has"},
      {"workload w Tensor g(fp32, [3], Local) x = AllReduced(\"+\", g)",
       "w:1:43: there is no operation 'AllReduced'; did you mean 'AllReduce'?"},
      {"workload w Tensor g(fp32, [3], Local) x = AllReduce(g)",
       "w:1:53: found 'g', expected \"+\", \"min\" or \"max\"; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) x = AllReduce(\"*\", g)",
       "w:1:53: found '*', expected \"+\", \"min\" or \"max\"; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) x = Min(g)",
       "w:1:43: 'Min' takes 2 values; give it 2, with ',' between them"},
      {"workload w Tensor g(fp32, [3], Local) x = Dropout(g, 1)",
       "w:1:54: found '1', expected the probability, a number from 0 to less than 1; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) x = Send(g, 1)",
       "w:1:51: found '1', expected GROUP + 1, GROUP - 1, RANK + 1 or RANK - 1; tensors are sent to the same "
       "rank of the next group, or the one before, or round a ring of ranks"},
      {"workload w Tensor g(fp32, [3], Local) x = Random(1.5)",
       "w:1:50: found '1.5', expected the number of a stream, an integer from 0 to 4294967295; see "
       "docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) x = Convolution(g, g, dilation = 2)",
       "w:1:61: found 'dilation', expected stride or padding; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) g + 1",
       "w:1:41: found '+', expected '=' after 'g'; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) x = g + 1 return x y",
       "w:1:58: found 'y', expected the end of the text after what is returned; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) kernel k { x = g + 1 return x",
       "w:1:60: found 'return', expected an operation, NAME = ..., or '}'; see docs/workloads.md, 'Grammar'"},
      {"workload w Tensor g(fp32, [3], Local) kernel k { x = g + 1",
       "w:1:59: found the end of the text, expected '}' after the operations of k; see docs/workloads.md, "
       "'Grammar'"},
      {"workload w kernel k { Tensor g(fp32, [3], Local) }",
       "w:1:23: found 'Tensor', expected an operation, NAME = ..., or '}'; see docs/workloads.md, 'Grammar'"},
      {"workload w kernel k { kernel l { } }",
       "w:1:23: found 'kernel', expected an operation, NAME = ..., or '}'; see docs/workloads.md, 'Grammar'"},
      {"workload w op f(x) = y",
       "w:1:22: 'y' is not a parameter of the operator; operators see their parameters only: give it one "
       "more"},
      {"workload w op f(x, x) = x", "w:1:20: 'x' is a parameter already; choose another name"},
      {"workload w op f(x) = AllReduce(\"+\", x)",
       "w:1:22: 'AllReduce' is not pointwise; operators of one's own have arithmetic and functions of "
       "elements only"},
      {"workload w op f(x) = f(x)", "w:1:22: there is no operation 'f'; docs/workloads.md lists them"},
      {"workload w op f(x) = x op f(y) = y", "w:1:27: there is an operator 'f' already; choose another name"},
      {"workload w op f(x) = x y = f(1, 2)", "w:1:28: 'f' takes 1 value; give it 1, with ',' between them"},
      {"workload w x = 1e999",
       "w:1:16: found the number 1e999, too large or too small; numbers are those of float64"},
      {"workload w x = 3x",
       "w:1:16: found a number that 'x' follows; numbers may end with K, M or G; names begin with a letter"},
      {"workload w x = \"abc", "w:1:16: found a string that does not end; close it with \" on the same line"},
      {"workload w x = 1 % 2", "w:1:18: found '%', which begins no word; comments begin with #"},
      {"workload w x = Tensor", "w:1:16: found 'Tensor', expected a value; it is a word of the language"},
      {"workload w\n\n  x = 1 ; y", "w:3:9: found ';', which begins no word; comments begin with #"},
      {"workload w op twice(x) = x + x op a(x) = twice(twice(twice(twice(x)))) x = a(a(1))",
       "w:1:76: the expression is too long; 256 operators and values are the most: make several statements "
       "of it"},
  };
  for (const Invalid& each : kTable) EXPECT_EQ(said_of(each.text), each.message) << each.text;
}

TEST(Invalid, TextsWithoutAnEnd) {
  std::string nested = "workload w x = ";
  for (int depth = 0; depth < 100000; ++depth) nested += "(";
  EXPECT_EQ(said_of(nested),
            "w:1:272: found '(', expected less nesting; the deepest is 256: make several statements of it");
  EXPECT_EQ(said_of("workload w x = " + std::string(100000, '-') + "1"),
            "w:1:272: found '-', expected a value; that is too long");
  EXPECT_EQ(said_of(std::string(2 << 20, ' ')),
            "w: the text has 2097152 bytes; programs have 1048576 at the most");
  std::string many = "workload w x0 = 1\n";
  for (int k = 1; k < 2000; ++k) many += "x" + std::to_string(k) + " = x" + std::to_string(k - 1) + "\n";
  EXPECT_EQ(said_of(many), "w:1025:1: one operation too many; 1024 are the most");
}

// What no text can state, and code can.
TEST(Invalid, Workloads) {
  using Change = void (*)(Workload&);
  struct InvalidWorkload {
    Change change;
    const char* message;
  };
  constexpr InvalidWorkload kTable[] = {
      {[](Workload& w) { w.name = "a b"; },
       "here: the name 'a b' of the program is not of letters, digits and _, with no digit first; choose "
       "another one"},
      {[](Workload& w) { w.groups = 0; }, "here: 2 ranks in each of 0 groups; there are 1 to 4096 in all"},
      {[](Workload& w) { w.sizes[0].value = -1; }, "here: the size N is -1; sizes are 1 to 281474976710656"},
      {[](Workload& w) { w.operations[0].type.element = ElementType::Int8; },
       "here: g: has elements of int8; use fp64, fp32, fp16, bf16, e4m3, e5m2 or int32"},
      {[](Workload& w) { w.operations[0].type.shape[0].sizes = {"M"}; },
       "here: g: there is no size 'M'; write \"size NAME = NUMBER\" before"},
      {[](Workload& w) { w.operations[0].type.scope = Scope::Group, w.operations[0].type.last_group = 1; },
       "here: g: is of the groups 0 to 1; the groups are 0 to 0"},
      {[](Workload& w) { w.operations[0].kernel = "k"; },
       "here: g: is an input, and no part of a kernel or overlap; declare it before"},
      {[](Workload& w) { w.operations[1].operands = {"y"}; },
       "here: x: there is no 'y' before it; declare or compute it first"},
      {[](Workload& w) {
         w.operations[1].operands = {"g", "g"};
       },
       "here: x: AllReduce takes 1 tensor, and not 2"},
      {[](Workload& w) { w.operations[1].reduction = ReduceOp::Prod; },
       "here: x: AllReduce by 'prod'; use \"+\", \"min\" or \"max\""},
      {[](Workload& w) { w.operations[1].kind = OperationKind::ReduceScatter; },
       "here: x: ReduceScatter does not leave a tensor Replicated; give it a dimension, or flat"},
      {[](Workload& w) { w.operations[1].kind = OperationKind::Send, w.operations[1].shift = 2; },
       "here: x: sends 2 groups further on; use GROUP + 1 or GROUP - 1"},
      {[](Workload& w) { w.operations[2].expression.clear(); },
       "here: y: computes nothing: it has no expression"},
      {[](Workload& w) { w.operations[2].expression[0] = {.op = ExpressionOperator::Index}; },
       "here: y: its expression is of an element or an index; programs have operands, and Index(dimension)"},
      {[](Workload& w) { w.operations[2].expression[0].operand = 3; },
       "here: y: its expression names an operand that it has not; the most are 256 operators and values, 16 "
       "of them at once, and 16 operands: make several statements of it"},
      {[](Workload& w) { w.operations[2].casts = true, w.operations[2].type.element = ElementType::Uint8; },
       "here: y: is cast to a type that programs have not; use fp64, fp32, fp16, bf16, e4m3, e5m2 or int32"},
      {[](Workload& w) { w.operations[2].name = "RANK"; },
       "here: the name 'RANK' of an operation is a word of the language; choose another one"},
      {[](Workload& w) { w.operations[2].kernel = "k", w.operations[1].overlap = "o"; },
       "here: overlap o: there are not two in it that could be overlapped; name two or more"},
      {[](Workload& w) { w.outputs = {"z"}; },
       "here: 'z' is returned, and there is no such operation; return what was computed"},
      {[](Workload& w) { w.outputs = {"g"}; },
       "here: g is returned as it was given; return what was computed"},
  };
  const Workload right = parse_workload(
      "workload w size N = 5 Tensor g(fp32, [N], Local) x = AllReduce(\"+\", g) y = -x return y", "w");
  for (const InvalidWorkload& each : kTable) {
    Workload wrong = right;
    each.change(wrong);
    EXPECT_EQ(test::refusal_of([&] { inferred(wrong, "here").or_throw(); }), each.message);
  }
}

}  // namespace
}  // namespace chorale::test
