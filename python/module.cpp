// The module, and what becomes of exceptions: the caller's are chorale.InputError, a ValueError.
#include <chorale/chorale.h>
#include <chorale/chorale_c.h>

#include "bindings.h"

namespace chorale {

// Exceptions are classes of the package (python/chorale/errors.py), so that they can derive from Python's and
// carry results. They are imported when one is raised, so that the extension can be loaded before the
// package.
py::object exception_type(const char* name) {
  return py::module_::import("chorale.errors").attr(name);
}

}  // namespace chorale

PYBIND11_MODULE(_chorale, module) {
  using namespace chorale;
  module.attr("__version__") = chorale_version();
  module.doc() = "Chorale's nouns and calls; use the package 'chorale'.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      PyErr_SetString(exception_type("InputError").ptr(), error.what());
    } catch (const Hang& error) {
      PyErr_SetString(exception_type("Hang").ptr(), error.what());
    }
  });
  // Nouns first: calls name their classes in signatures.
  bind_nouns(module);
  bind_calls(module);
  bind_library(module);
  bind_options(module);
}
