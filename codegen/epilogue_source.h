// The function that a program applies to complete sums, as C++ for hosts and device code: a struct as device/epilogue.h
// asks for one.
#pragma once

#include <string>

#include "ir/epilogue.h"

namespace chorale {

// struct NAME {...}; for an expression that is not empty. Needs device/epilogue.h and device/test_tensors.h before it.
std::string printed_function(const Epilogue&, const std::string& name);

// device/elements.h, epilogue.h, test_tensors.h (made by CMake).
std::string epilogue_runtime_source();

}  // namespace chorale
