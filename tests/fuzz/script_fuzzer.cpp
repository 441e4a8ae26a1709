#include "tensor/language/infer.h"
#include "tensor/language/text.h"
#include "tensor/transformations/transform.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {
namespace {

// With something for every transformation: an optimizer, and a layer that is sent on.
const Workload& transformable() {
  static const Workload kWorkload = parse_workload(R"(
workload transformable
ranks 3
groups 2
size N = 7, B = 2, H = 5
Tensor g(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
Tensor m(fp32, [N], Replicated) state
Tensor v(fp32, [N], Replicated) state
Tensor in(fp16, [B, H], Sliced(1) GROUP)
Tensor w(fp16, [H, H], Sliced(0) GROUP)
Tensor r(fp16, [B, H], Replicated GROUP)
sum = AllReduce("+", g)
avg = sum / WORLD
m_ = Update(m, 0.9 * m + 0.1 * avg)
v_ = Update(v, 0.9 * v + 0.1 * avg * avg)
m1 = m_ * 2
v1 = v_ * 2
n = Norm(m1)
p_ = Update(p, p - m1 / (Sqrt(v1) + 1))
layer = MatMul(in, w)
total = AllReduce("+", layer)
out = Dropout(total, 0.1) + r
sent = Send(out, GROUP + 1)
nobody = total * 3
return p_, n, sent
)",
                                                   "transformable");
  return kWorkload;
}

}  // namespace

void script(std::string_view text) {
  refusing([&] {
    const Workload after = transformed(transformable(), text, "input");
    require(inferred(after, "made").or_throw() == after,
            "a program that was transformed is inferred as another one");
    require(parse_workload(to_text(after), "written") == after,
            "a program that was transformed does not come back");
  });
}

}  // namespace chorale::fuzz
