#include "workload/infer.h"

namespace chorale {

// Integers give way to real numbers, and narrow ones to wide; of the two halves neither holds the other.
ElementType promoted(ElementType a, ElementType b) {
  if (a == b || b == ElementType::Int32) return a;
  if (a == ElementType::Int32) return b;
  if (a == ElementType::Float64 || b == ElementType::Float64) return ElementType::Float64;
  return ElementType::Float32;
}

TensorLayout normal(TensorLayout layout, int dimensions) {
  if (layout.kind == LayoutKind::Sliced && layout.dim == kFlat && dimensions == 1) layout.dim = 0;
  return layout;
}

}  // namespace chorale
