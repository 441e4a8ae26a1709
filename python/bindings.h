// The extension of the Python package: api/ as Python has it. The C++ part is values and calls; additions in
// Python (drawings, tables, networkx) are in python/chorale/*.py. Built on what libchorale shows to programs
// of others.
#pragma once

#include <chorale/chorale.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <atomic>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace chorale {

namespace py = pybind11;
using namespace pybind11::literals;

// chorale.errors.NAME
py::object exception_type(const char* name);

// What a Python value is to be, in words.
template <typename Value>
std::string kind_of() {
  if constexpr (std::is_same_v<Value, bool>) return "True or False";
  if constexpr (std::is_integral_v<Value>) return "an integer";
  if constexpr (std::is_floating_point_v<Value>) return "a number";
  if constexpr (std::is_same_v<Value, std::string>) return "a text";
  return "a list of texts";
}

// A keyword argument; TypeError with its name where it is of another type, and InputError where the number is
// out of range.
template <typename Value>
Value keyword(const py::dict& asked, const char* name) {
  if constexpr (requires(Value value) { value.value(); }) {
    if (asked[name].is_none()) return std::nullopt;
    return keyword<typename Value::value_type>(asked, name);
  } else {
    const py::object value = asked[name];
    try {
      if (!std::is_same_v<Value, bool> || py::isinstance<py::bool_>(value)) return value.cast<Value>();
    } catch (const py::cast_error&) {
      if (std::is_arithmetic_v<Value> && PyLong_Check(value.ptr()))
        throw InputError(name, py::str(value).cast<std::string>() + " is out of range",
                         "use a smaller number");
    }
    throw py::type_error(std::string(name) + ": " + py::repr(value).cast<std::string>().substr(0, 60) +
                         " is not " + kind_of<Value>());
  }
}

void bind_nouns(py::module_&);
void bind_calls(py::module_&);
void bind_library(py::module_&);
void bind_options(py::module_&);

// Options by their rows (ir/option.h): InputError for what is out of range, TypeError for a keyword of no
// option.
PlaceOptions place_options(const py::kwargs&);
RunOptions run_options(const py::kwargs&);
CompileOptions compile_options(const py::kwargs&);
ImportOptions import_question(const py::kwargs&);
FrontierOptions frontier_options(const py::kwargs&, const std::atomic<bool>& stop);
std::pair<SynthesisQuestion, FrontierOptions> synthesis_options(const py::kwargs&,
                                                                const std::atomic<bool>& stop);
SolveLimits limits_of(const std::optional<std::int64_t>& conflicts, const std::optional<double>& time_limit,
                      const std::atomic<bool>& stop);
void add_options(py::dict& job, const FrontierOptions&);  // those of a library's question, as keywords

}  // namespace chorale
