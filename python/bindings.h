// The extension of the Python package: api/ as Python has it. What is said in C++ is values and calls; what Python has more
// (drawings, tables, networkx) is python/chorale/*.py. Built on what libchorale shows to programs of others.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <climits>
#include <optional>
#include <string>

namespace chorale {

namespace py = pybind11;

// Numbers without a limit are None in Python.
inline std::optional<int> if_any(int number) {
  return number == INT_MAX ? std::nullopt : std::optional(number);
}

// chorale.errors.NAME
py::object exception_type(const char* name);

void bind_nouns(py::module_&);
void bind_doors(py::module_&);

}  // namespace chorale
