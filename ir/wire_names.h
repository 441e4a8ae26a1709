// Names of what elements travel as, beside ir/elements.h, which kernels include and nvcc reads as C++17.
#pragma once

#include "ir/elements.h"
#include "ir/named.h"

namespace chorale {

inline constexpr Named<Wire> kWireNames[] = {
    {Wire::Float32, "fp32"}, {Wire::Float16, "fp16"}, {Wire::Bfloat16, "bf16"}, {Wire::E4m3, "e4m3"},
    {Wire::E5m2, "e5m2"},    {Wire::Int8, "int8"},    {Wire::Mxfp8, "mxfp8"}};

}  // namespace chorale
