// The function that a program applies to complete sums, as C++ for hosts and device code: a struct as
// runtime/device/epilogue.h requires it.
#pragma once

#include <string>
#include <vector>

#include "ir/epilogue.h"

namespace chorale {

// Names that an expression uses: the type that it is computed in, its operands, of that type, the seed of
// random numbers, and the index of the element; along a dimension, NAME and its number.
struct ExpressionNames {
  std::string real = {};
  std::vector<std::string> operands = {};
  std::string seed = {}, index = {}, along = {};
};
// Needs runtime/device/epilogue.h before it.
std::string printed_expression(const Expression&, const ExpressionNames&);

// "chorale::Float16".
const char* c_type(ElementType);

// struct NAME {...}; for an expression that is not empty. Needs runtime/device/epilogue.h and
// runtime/device/test_tensors.h before it.
std::string printed_function(const Epilogue&, const std::string& name);

// runtime/device/elements.h, epilogue.h, test_tensors.h (made by CMake).
std::string epilogue_runtime_source();

}  // namespace chorale
