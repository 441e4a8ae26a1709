// Products by a BLAS, where there is one: as `make BLAS=1` finds it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tensor/emitted_workload.h"

namespace chorale::test {
namespace {

const std::string kElements = R"(
workload blas
ranks 2
size B = 2, M = 5, K = 7, N = 4
Tensor a(fp32, [M, K], Local)
Tensor b(fp32, [B, M, K], Local)
Tensor w(fp32, [K, N], Local)
Tensor wb(fp32, [B, K, N], Local)
Tensor h(fp16, [M, K], Local)
Tensor hw(fp16, [K, N], Local)
Tensor d(fp64, [M, K], Local)
Tensor dw(fp64, [K, N], Local)
Tensor x(bf16, [B, K, 6, 6], Local)
Tensor f(bf16, [N, K, 3, 3], Local)
p1 = MatMul(a, w)
p2 = MatMul(b, wb)
p3 = MatMul(h, hw)
p4 = MatMul(d, dw)
p5 = Convolution(x, f, stride = 2, padding = 1)
overlap o {
  p6 = MatMul(b, w)
  r = ReduceScatter("+", p6, 2)
}
return p1, p2, p3, p4, p5, r
)";

TEST(EmittedWorkload, LeavesProductsToABlas) {
  const auto sized = [](const std::map<std::string, std::int64_t>& sizes) {
    return parsed(kElements, "", sizes);
  };
  const Emitted emitted(sized({}), 1, true, Carrier::Threads, Build::None);
  int code = 0;
  const std::string said =
      run_command(fmt::format("cd {} && make threads BLAS=1 CXX={} FLAGS='@" CHORALE_EMITTED
                              "/quick17 -Wall -Wextra -Werror -I.' "
                              "&& mv w_threads w && nm w",
                              emitted.folder().string(), CHORALE_CXX),
                  code);
  if (said.find("there is no BLAS with CBLAS's names") != said.npos) GTEST_SKIP() << said;
  ASSERT_EQ(code, 0) << said;
  EXPECT_THAT(said, testing::HasSubstr("U cblas_sgemm"));
  EXPECT_THAT(said, testing::HasSubstr("U cblas_dgemm"));
  for (const auto& sizes : std::vector<std::map<std::string, std::int64_t>>{
           {}, {{"B", 1}, {"M", 1}, {"K", 1}, {"N", 1}}, {{"B", 3}, {"M", 70}, {"K", 9}, {"N", 13}}})
    EXPECT_EQ(emitted.difference(sized(sizes), 3, 0, true), "");
}

}  // namespace
}  // namespace chorale::test
