// What is declared: nothing is inferred, but everything is checked, and dimensions get the values of their
// sizes.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/language/infer.h"
#include "tensor/language/typing.h"

namespace chorale {
namespace {

// 4*B*S with B = 8 and S = 128 gets the value 4096. -1 stands for a product beyond the limit, so that one
// error covers all of them.
OrError<Extent> valued(const Typing& typing, Extent extent) {
  constexpr std::size_t kMostFactors = 16;
  const std::vector<WorkloadSize>& sizes = typing.workload.sizes;
  // H*B and B*H are the same side.
  std::ranges::sort(extent.sizes);
  if (extent.sizes.size() > kMostFactors)
    return typing.fail("has a side of too many sizes", fmt::format("{} are the most", kMostFactors));
  extent.value = extent.factor;
  for (const std::string& name : extent.sizes) {
    const auto size = std::ranges::find(sizes, name, &WorkloadSize::name);
    if (size == sizes.end())
      return typing.fail(fmt::format("there is no size '{}'", name), "write \"size NAME = NUMBER\" before");
    const bool fits = extent.value >= 1 && size->value >= 1 && extent.value <= kMostElements / size->value;
    extent.value = fits ? extent.value * size->value : -1;
  }
  if (extent.divisor < 1 || extent.value % extent.divisor != 0)
    return typing.fail(fmt::format("the side {} is not whole", to_string(extent)),
                       "give sizes that can be divided so");
  extent.value /= extent.divisor;
  if (extent.value < 1 || extent.value > kMostElements)
    return typing.fail(fmt::format("the side {} is nothing, or too long", to_string(extent)),
                       fmt::format("sides are 1 to {}", kMostElements));
  return extent;
}

}  // namespace

// Fields that the layout does not use get their defaults, so that equal types compare equal.
OrError<TensorType> input_type(const Typing& typing) {
  constexpr int kMostDimensions = 8;
  TensorType type = typing.operation.type;
  const int dimensions = static_cast<int>(type.shape.size()), last = typing.workload.groups - 1;
  if (!is_workload_type(type.element))
    return typing.fail(fmt::format("has elements of {}", to_string(type.element)),
                       "use fp64, fp32, fp16, bf16, e4m3, e5m2 or int32");
  if (dimensions > kMostDimensions)
    return typing.fail(fmt::format("has {} dimensions", dimensions),
                       fmt::format("{} are the most", kMostDimensions));
  for (Extent& extent : type.shape) {
    const OrError<Extent> side = valued(typing, extent);
    if (!side) return side.error();
    extent = *side;
  }
  if (type.scope == Scope::World) type.first_group = type.last_group = 0;
  if (type.first_group < 0 || type.first_group > type.last_group || type.last_group > last)
    return typing.fail(fmt::format("is of the groups {} to {}", type.first_group, type.last_group),
                       fmt::format("the groups are 0 to {}", last));
  if (type.each && (type.first_group != 0 || type.last_group != last || type.scope != Scope::Group))
    return typing.fail("is of EACH GROUP, and not of all", "leave the groups out");
  const int ranks = ranks_of(typing.workload, type);
  if (const std::string what = layout_flaw(type.layout, dimensions, ranks); !what.empty())
    return typing.fail(what, "choose a layout that the tensor can have");
  type.layout = normal(type.layout, dimensions);
  if (type.layout.kind != LayoutKind::Sliced) type.layout.dim = kFlat;
  if (type.layout.kind != LayoutKind::Rooted) type.layout.root = 0;
  if (typing.operation.scattered && dimensions != 1)
    return typing.fail(fmt::format("is scattered, and has the shape {}", to_string(type.shape)),
                       "scattered tensors are a list, with one side for all their elements");
  return type;
}

}  // namespace chorale
