// The programs of the paper, as they are written before anything is transformed.
#pragma once

#include <string>

#include "tensor/language/text.h"
#include "tensor/transformations/transform.h"
#include "tests/kit/refusal.h"

namespace chorale::test {

// Why the script is refused; "" if it is not.
inline std::string refused(const std::string& text, const std::string& script) {
  return refusal_of([&] { transformed(parse_workload(text, "test"), script); });
}

// N parameters and gradients in fp16, state in fp32.
inline const std::string kSgd = R"(
workload sgd
ranks 4
size N = 1024
Tensor g(fp16, [N], Local)
Tensor p(fp16, [N], Replicated)
Scalar lr(fp32)
avg = AllReduce("+", g)
p_ = Update(p, p - lr * (avg / WORLD))
return p_
)";

// What Adam and LAMB begin with.
inline std::string with_moments(const std::string& name, const std::string& body) {
  return "workload " + name + R"(
ranks 4
size N = 1024
Tensor g(fp16, [N], Local)
Tensor p(fp16, [N], Replicated)
Tensor m(fp32, [N], Replicated) state
Tensor v(fp32, [N], Replicated) state
Scalar lr(fp32)
Scalar t(fp32)
avg = AllReduce("+", g)
m_ = Update(m, 0.9 * m + 0.1 * (avg / WORLD))
v_ = Update(v, 0.999 * v + 0.001 * (avg / WORLD) * (avg / WORLD))
)" + body;
}

inline const std::string kAdam = with_moments("adam", R"(
m1 = m_ / (1 - Pow(0.9, t))
v1 = v_ / (1 - Pow(0.999, t))
p_ = Update(p, Cast(fp16, p - lr * m1 / (Sqrt(v1) + 1e-6)))
return p_
)");

inline const std::string kLamb = with_moments("lamb", R"(
u = (m_ / (1 - Pow(0.9, t))) / (Sqrt(v_ / (1 - Pow(0.999, t))) + 1e-6) + 0.01 * p
pp = Cast(fp32, p) * Cast(fp32, p)
uu = u * u
pn = ReduceTensor("+", pp)
un = ReduceTensor("+", uu)
ratio = Select(pn > 0, Select(un > 0, Sqrt(pn) / Sqrt(un), 1), 1)
p_ = Update(p, Cast(fp16, p - lr * ratio * u))
return p_
)");

// The end of Megatron's self-attention.
inline const std::string kAttention = R"(
workload attention
ranks 4
size B = 2
size S = 8
size H = 16
Tensor w(fp16, [H, H], Sliced(0))
Tensor b(fp16, [H], Replicated)
Tensor in(fp16, [B, S, H], Sliced(2))
Tensor r(fp16, [B, S, H], Replicated)
layer = MatMul(in, w)
sum = AllReduce("+", layer)
d = Dropout(sum + b, 0.1)
out = d + r
return out
)";

// Between two of its layers, on two groups of ranks.
inline const std::string kPipeline = R"(
workload pipeline
ranks 4
groups 2
size B = 2
size S = 8
size H = 16
Tensor in(fp16, [B, S, H], Local GROUP 0)
Tensor b(fp16, [H], Replicated)
Tensor r(fp16, [B, S, H], Replicated GROUP 0)
sum = AllReduce("+", in)
send = Dropout(sum + b, 0.1) + r
output = Send(send, GROUP + 1)
return output
)";

}  // namespace chorale::test
