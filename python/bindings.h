// The extension of the Python package: api/ as Python has it. What is said in C++ is values and calls; what Python has more
// (drawings, tables, networkx) is python/chorale/*.py. Built on what libchorale shows to programs of others.
#pragma once

#include <chorale/chorale.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
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
void bind_library(py::module_&);

// What frontier() is asked; throws InputError for what is out of range.
FrontierOptions frontier_options(const py::kwargs&, const std::atomic<bool>& stop);

}  // namespace chorale
