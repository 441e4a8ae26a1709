// A workload that is built in C++ is the one that is read from the text that states the same.
#include "tensor/language/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/kit/refusal.h"
#include "tests/tensor/examples.h"

namespace chorale::test {
namespace {

using enum ElementType;

// What Adam and LAMB have in common.
struct Moments {
  Builder b;
  Side n = b.size("N", 1 << 20);
  Tensor g = b.tensor("g", Float32, {n}, local());
  Tensor p = b.tensor("p", Float32, {n}, replicated());
  Tensor m = b.tensor("m", Float32, {n}, replicated(), {.state = true});
  Tensor v = b.tensor("v", Float32, {n}, replicated(), {.state = true});
  Tensor lr = b.scalar("lr", Float32), t = b.scalar("t", Float32);
  Tensor sum = b.all_reduce("sum", ReduceOp::Sum, g);
  Tensor avg = b.let("avg", sum / b.world());
  Tensor m_ = b.update("m_", m, 0.9 * m + 0.1 * avg);
  Tensor v_ = b.update("v_", v, 0.999 * v + 0.001 * avg * avg);
  Tensor m1 = b.let("m1", m_ / (1 - pow(0.9, t)));
  Tensor v1 = b.let("v1", v_ / (1 - pow(0.999, t)));
};

TEST(Builder, BuildsAdam) {
  Moments a{Builder("adam", {.ranks = 4})};
  a.b.returns({a.b.update("p_", a.p, a.p - a.lr * a.m1 / (sqrt(a.v1) + 1e-8))});
  EXPECT_EQ(a.b.finish(), as_written("adam"));
}

TEST(Builder, BuildsFunctionsOfRows) {
  Builder b("rows", {.ranks = 2});
  const Side n = b.size("N", 5), h = b.size("H", 7);
  const Tensor x = b.tensor("x", Float16, {n, 2 * h}, sliced(1)),
               w = b.tensor("w", Float32, {2 * h}, replicated());
  const Tensor whole = b.all_gather("whole", x);
  const Tensor most = b.reduce_along("most", ReduceOp::Max, whole, 0);
  const Tensor y = b.softmax("y", select(index(1) <= index(0), x, -1e4), 1);
  b.returns({b.rms_norm("a", whole, w, 1e-5), b.layer_norm("c", whole, w, most, 1e-5),
             b.mean("m", x / b.number(2 * h), 1), y});
  EXPECT_EQ(b.finish(), parse_workload(R"(
workload rows ranks 2
size N = 5, H = 7
Tensor x(fp16, [N, 2*H], Sliced(1))
Tensor w(fp32, [2*H], Replicated)
whole = AllGather(x)
most = ReduceAlong("max", whole, 0)
y = Softmax(Select(Index(1) <= Index(0), x, -1e4), 1)
a = RMSNorm(whole, w, 1e-5)
c = LayerNorm(whole, w, most, 1e-5)
m = Mean(x / (2 * H), 1)
return a, c, m, y
)",
                                       "rows"));
}

TEST(Builder, BuildsLamb) {
  Moments a{Builder("lamb", {.ranks = 4})};
  const Tensor u = a.b.let("u", a.m1 / (sqrt(a.v1) + 1e-6) + 0.01 * a.p);
  const Tensor p_norm = a.b.norm("p_norm", a.p), u_norm = a.b.norm("u_norm", u);
  const Tensor ratio = a.b.let("ratio", select(p_norm > 0, select(u_norm > 0, p_norm / u_norm, 1), 1));
  a.b.returns({a.b.update("p_", a.p, a.p - a.lr * ratio * u)});
  EXPECT_EQ(a.b.finish(), as_written("lamb"));
}

// Every operation and function, and what is around them.
TEST(Builder, SaysAllThatTextsSay) {
  Builder b("all", {.ranks = 2, .groups = 3});
  const Side c = b.size("C", 6);
  const Tensor x = b.tensor("x", Float32, {c, 2 * c}, local());
  const Tensor y = b.tensor("y", Float32, {c, 2 * c}, replicated());
  const Tensor w = b.tensor("w", Float32, {2 * c, 3}, replicated());
  const Tensor z = b.tensor("z", Float64, {c * c}, replicated(), {.scope = Scope::Group, .last_group = 1});
  const Tensor s = b.tensor("s", Int32, {5}, local(), {.scattered = true});
  const Tensor n = b.tensor("n", Int32, {c}, local());
  const Tensor images = b.tensor("images", Bfloat16, {1, 2, 5, 5}, replicated());
  const Tensor windows = b.tensor("windows", Bfloat16, {3, 2, 3, 3}, sliced(0));

  Tensor gathered;
  b.overlap("both", [&] {
    const Tensor product = b.matmul("product", x, w);
    b.kernel("fused", [&] {
      const Tensor rs = b.reduce_scatter("rs", ReduceOp::Sum, product, 1);
      gathered = b.all_gather("gathered", b.let("doubled", -rs * 2));
    });
  });
  const Tensor stored = b.store(y, b.all_reduce("stored", ReduceOp::Max, relu(x)));
  const Tensor rooted = b.reduce("rooted", ReduceOp::Min, x, 5);
  const Tensor back = b.broadcast("back", abs(rooted));
  const Tensor there = b.all_to_all("there", b.let("padded", x + b.rank() + 3 * b.group()));
  const Tensor counted = b.all_to_all_v("counted", x, n, c);
  const Tensor sent = b.send("sent", tanh(z), 1);
  const Tensor part = b.slice("part", back, 1);
  const Tensor most = b.reduce_tensor("most", ReduceOp::Max, exp(min(part, 1)) - log(max(part, 2)));
  const Tensor other = b.convolution("other", images, windows, 2, 1);
  const Tensor kept = b.let("kept", b.dropout(random(7) <= cast(Float16, s), 0.5) + equal(s, 1));
  b.returns({gathered, stored, there, counted, sent, most, other, kept});
  const Workload built = b.finish();

  EXPECT_EQ(parse_workload(to_text(built), "printed"), built);
  EXPECT_EQ(parse_workload(R"(
workload all
ranks 2
groups 3
size C = 6
Tensor x(fp32, [C, 2*C], Local)
Tensor y(fp32, [C, 2*C], Replicated)
Tensor w(fp32, [2*C, 3], Replicated)
Tensor z(fp64, [C*C], Replicated GROUP 0..1)
Tensor s(int32, [5], Local) scattered
Tensor n(int32, [C], Local)
Tensor images(bf16, [1, 2, 5, 5], Replicated)
Tensor windows(bf16, [3, 2, 3, 3], Sliced(0))
overlap both {
  product = MatMul(x, w)
  kernel fused {
    rs = ReduceScatter("+", product, 1)
    doubled = -rs * 2
    gathered = AllGather(doubled)
  }
}
stored = Update(y, AllReduce("max", ReLU(x)))
rooted = Reduce("min", x, 5)
back = Broadcast(Abs(rooted))
padded = x + RANK + 3 * GROUP
there = AllToAll(padded)
counted = AllToAllV(x, n, C)
sent = Send(Tanh(z), GROUP + 1)
part = Slice(back, 1)
most = ReduceTensor("max", Exp(Min(part, 1)) - Log(Max(part, 2)))
other = Convolution(images, windows, stride = 2, padding = 1)
kept = Select(Random(8) < 0.5, 0, (Random(7) <= Cast(fp16, s)) * 2) + (s == 1)
return gathered, stored, there, counted, sent, most, other, kept
)",
                           "all"),
            built);
}

// As in a text, where Random(3) may come before or after.
TEST(Builder, GivesDropoutsStreamsOfTheirOwn) {
  Builder b("streams", {.ranks = 2});
  const Tensor x = b.tensor("x", Float32, {4}, replicated());
  const Tensor first = b.let("first", b.dropout(x, 0.5) + random(0));
  const Tensor second = b.let("second", b.dropout(first, 0.5) * random(3));
  b.returns({second});
  const Workload built = b.finish();
  EXPECT_EQ(built, parse_workload(R"(
workload streams
ranks 2
Tensor x(fp32, [4], Replicated)
first = Dropout(x, 0.5) + Random(0)
second = Dropout(first, 0.5) * Random(3)
return second
)",
                                  "text"));
  EXPECT_EQ(b.finish(), built);  // again
}

TEST(Builder, RefusesAsTextsDo) {
  Builder b("wrong", {.ranks = 2});
  const Tensor g = b.tensor("g", Float32, {5}, local());
  const Tensor s = b.reduce_scatter("s", ReduceOp::Sum, g);
  EXPECT_EQ(
      refusal_of([&] { b.let("x", s + g); }),
      "wrong: x: s (fp32[5] Sliced(0)) and g (fp32[5] Local): of one, a rank has a slice, of the other, "
      "a tensor of its own; ReduceScatter the Local one, or AllGather the sliced one");
  EXPECT_THROW(b.dropout(g, 1), InputError);
  EXPECT_THROW(b.store(g, g), InputError);
  EXPECT_THROW(b.finish(), InputError);  // it returns nothing
}

}  // namespace
}  // namespace chorale::test
