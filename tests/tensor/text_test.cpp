#include "tensor/language/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"

namespace chorale::test {
namespace {

// As it is, and as it is printed, with types.
std::string typed(const Workload& workload) {
  std::string text;
  for (const Operation& each : workload.operations) text += each.name + ": " + to_string(each.type) + "\n";
  return text;
}

void expect_comes_back(const Workload& workload) {
  const std::string text = to_text(workload);
  SCOPED_TRACE(text);
  EXPECT_EQ(parse_workload(text, "printed"), workload);
}

constexpr const char* kUntyped = R"(
# Adam, data parallel.
workload adam
ranks 4
size N = 2^20
Tensor g(fp16, [N], Local)
Tensor p(fp32, [N], Replicated)
Tensor m(fp32, [N], Replicated) state
Tensor v(fp32, [N], Replicated) state
Scalar lr(fp32)
avg = AllReduce("+", g)
m_ = Update(m, 0.9 * m + 0.1 * (avg / WORLD))
v_ = Update(v, 0.999 * v + 0.001 * Pow(avg / WORLD, 2))
p_ = Update(p, p - lr * m_ / (Sqrt(v_) + 1e-8))
return p_
)";

TEST(ParseWorkload, ReadsAdam) {
  const Workload adam = parse_workload(kUntyped, "adam.chorale");
  EXPECT_EQ(adam.ranks, 4);
  EXPECT_EQ(typed(adam),
            "WORLD: int32[] Replicated\n"
            "g: fp16[N] Local\np: fp32[N] Replicated\nm: fp32[N] Replicated\nv: fp32[N] Replicated\n"
            "lr: fp32[] Replicated\navg: fp16[N] Replicated\nm_: fp32[N] Replicated\nv_: fp32[N] Replicated\n"
            "p_: fp32[N] Replicated\n");
  EXPECT_EQ(operation(adam, "p_").updates, "p");
  EXPECT_EQ(operation(adam, "m_").operands, (std::vector<std::string>{"m", "avg", "WORLD"}));
  expect_comes_back(adam);
}

TEST(ParseWorkload, DividesSides) {
  const std::string text = R"(
workload w
ranks 2
size D = 12, d = D/2
Tensor x(fp32, [D/2, 3*D/4, 2*D/4, 8/2, d], Local)
y = Mean(Narrow(x, 0, D/6, D/3), 1)
return y
)";
  const Workload w = parse_workload(text, "w.chorale");
  EXPECT_EQ(to_string(operation(w, "x").type), "fp32[D/2, 3*D/4, D/2, 4, d] Local");
  EXPECT_EQ(elements(operation(w, "x").type), 6 * 9 * 6 * 4 * 6);
  EXPECT_EQ(operation(w, "y").type.shape[0].value, 4);
  expect_comes_back(w);
  for (const char* side : {"D/5", "7/2", "D/24"}) {
    std::string wrong = text;
    EXPECT_THROW(parse_workload(wrong.replace(wrong.find("D/2, 3"), 3, side), "w.chorale"), InputError)
        << side;
  }
  EXPECT_THROW(parse_workload(text, "w.chorale", {.sizes = {{"D", 10}}}), InputError);  // 3*D/4
}

TEST(ParseWorkload, SettingsTakeThePlaceOfWhatTheTextGives) {
  const Workload adam =
      parse_workload(kUntyped, "adam.chorale", {.sizes = {{"N", 77}}, .ranks = 8, .groups = 2});
  EXPECT_EQ(adam.ranks, 8);
  EXPECT_EQ(adam.groups, 2);
  EXPECT_EQ(elements(operation(adam, "p_").type), 77);
  EXPECT_THROW(parse_workload(kUntyped, "adam.chorale", {.sizes = {{"M", 77}}}), InputError);
}

// What stands inside of expressions gets names of its own, which nothing else in the text has.
TEST(ParseWorkload, NamesWhatIsNested) {
  const Workload workload = parse_workload(R"(
workload nested
Tensor g(fp32, [6], Local)
Tensor p(fp32, [6], Replicated)
Tensor x_2(fp32, [6], Replicated)
x = AllGather(ReduceScatter("+", 2 * g)) + p * x_2
y = Update(p, AllGather(Slice(x, 0)))
n = Norm(Slice(x))
k = Dropout(x, 0.25)
return y, n, k
)",
                                           "nested");
  EXPECT_EQ(to_text(workload), R"(workload nested
ranks 2
groups 1
Tensor g(fp32, [6], Local)
Tensor p(fp32, [6], Replicated)
Tensor x_2(fp32, [6], Replicated)
x_1 = 2 * g
x_3 = ReduceScatter("+", x_1, 0)
x_4 = AllGather(x_3)
x = x_4 + p * x_2
y_1 = Slice(x, 0)
y = Update(p, AllGather(y_1))
n_1 = Slice(x, 0)
n_2 = Cast(fp32, n_1 * n_1)
n_3 = ReduceTensor("+", n_2)
n_4 = AllReduce("+", n_3)
n = Sqrt(n_4)
k = Select(Random(0) < 0.25, 0, x * 1.3333333333333333)
return y, n, k
)");
  expect_comes_back(workload);
}

TEST(ParseWorkload, AppliesOperatorsOfTheUser) {
  const Workload workload = parse_workload(R"(
workload own
op square(x) = x * x
op gelu(x) = 0.5 * x * (1 + Tanh(0.79788456 * (x + 0.044715 * x * square(x))))
op noisy(x, y) = Dropout(x, 0.5) + Dropout(y, 0.5) + RANK
Tensor a(fp32, [3, 4], Local)
b = gelu(a - 1)
c = noisy(a, noisy(a, b)) + Random(7)
return c, b
)",
                                           "own");
  const std::string shown = to_text(workload);
  EXPECT_THAT(shown,
              testing::HasSubstr("b = 0.5 * (a - 1) * (1 + Tanh(0.79788456 * (a - 1 + 0.044715 * (a - 1) * "
                                 "((a - 1) * (a - 1)))))"));
  // Each use has streams of its own, and none that the text has taken.
  for (const char* stream : {"Random(7)", "Random(8)", "Random(9)", "Random(10)", "Random(11)"})
    EXPECT_THAT(shown, testing::HasSubstr(stream));
  expect_comes_back(workload);
}

// torch.result_type of the same, with tensors of no dimension for scalars; comparisons, which are bool there,
// are int32.
TEST(Elements, AreThoseOfPyTorch) {
  constexpr const char* kTable[][2] = {{"h * 2", "fp16"},
                                       {"h * 0.5", "fp16"},
                                       {"h * lr", "fp16"},
                                       {"h * e", "fp16"},
                                       {"h / WORLD", "fp16"},
                                       {"h + b", "fp32"},
                                       {"h + f", "fp32"},
                                       {"b * d", "fp64"},
                                       {"lr * h + f", "fp32"},
                                       {"i * 2", "int32"},
                                       {"i * 0.5", "fp32"},
                                       {"i * lr", "fp32"},
                                       {"i * e", "fp64"},
                                       {"i * h", "fp16"},
                                       {"n * lr", "fp32"},
                                       {"lr * e", "fp64"},
                                       {"i / 2", "fp32"},
                                       {"i / i", "fp32"},
                                       {"n / e", "fp64"},
                                       {"Sqrt(i)", "fp32"},
                                       {"Tanh(h)", "fp16"},
                                       {"Abs(i)", "int32"},
                                       {"-i", "int32"},
                                       {"ReLU(b)", "bf16"},
                                       {"f < d", "int32"},
                                       {"(f < d) * h", "fp16"},
                                       {"Select(d, h, 0)", "fp16"},
                                       {"Select(h < 1, 1, 0)", "int32"},
                                       {"Select(h < 1, f, d)", "fp64"},
                                       {"Min(h, f)", "fp32"},
                                       {"Max(i, 0.5)", "fp32"},
                                       {"Pow(h, 2)", "fp16"},
                                       {"Pow(2, i)", "int32"},
                                       {"1 / 3", "fp32"},
                                       {"2147483647", "int32"},
                                       {"2147483648", "fp32"},
                                       {"h + Cast(fp32, 1)", "fp16"},
                                       {"h + Cast(fp32, i)", "fp32"},
                                       {"Cast(bf16, d)", "bf16"},
                                       {"Random(0)", "fp32"},
                                       {"Random(0) + h", "fp16"},
                                       {"Dropout(b, 0.5)", "bf16"},
                                       {"Norm(h)", "fp32"},
                                       {"Norm(d)", "fp64"},
                                       {"RANK + GROUP", "int32"}};
  for (const auto& [expression, element] : kTable) {
    const Workload workload = parse_workload(std::string(R"(
workload elements
Tensor h(fp16, [3], Replicated)
Tensor b(bf16, [3], Replicated)
Tensor f(fp32, [3], Replicated)
Tensor d(fp64, [3], Replicated)
Tensor i(int32, [3], Replicated)
Scalar n(int32)
Scalar lr(fp32)
Scalar e(fp64)
x = )") + expression + " return x",
                                             "elements");
    EXPECT_EQ(short_name(operation(workload, "x").type.element), element) << expression;
    expect_comes_back(workload);
  }
}

// Names of sides stay, sorted; what they are worth follows the sizes. One side is as good as another of its
// length.
TEST(Shapes, AreProductsOfSizes) {
  constexpr const char* kText = R"(
workload shapes
size H = 3, F = 4*H, K = 1K
Tensor x(fp32, [F, H*2^2], Replicated)
Tensor y(fp32, [H*4*F, 1, K], Replicated)
z = x + x
t = y * y
m = MatMul(x, x)
return z
)";
  const Workload workload = parse_workload(kText, "shapes");
  EXPECT_EQ(to_string(operation(workload, "z").type), "fp32[F, 4*H] Replicated");
  EXPECT_EQ(to_string(operation(workload, "t").type), "fp32[4*F*H, 1, K] Replicated");
  EXPECT_EQ(elements(operation(workload, "t").type), 4 * 12 * 3 * 1024);
  EXPECT_EQ(elements(operation(parse_workload(kText, "shapes", {.sizes = {{"H", 5}}}), "t").type),
            4 * 20 * 5 * 1024);
  EXPECT_THROW(parse_workload(kText, "shapes", {.sizes = {{"F", 13}}}),
               InputError);  // 13 by 12 times 13 by 12
}

}  // namespace
}  // namespace chorale::test
