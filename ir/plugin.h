// Plugins: parts of the program in libraries of their own, loaded when they are first called. An
// easy question waits only for what the program starts with: the solvers, MPI and the GPU drivers took 10 of
// its 12 ms, and GPUs need libraries that not every machine has.
//
// A room that has a plugin keeps it in its folder plugins/: tables.h declares what the library does, as a
// struct of functions; loaded.cpp, in the program, has functions that call it; all else there belongs to the
// library. Tables have C++ types in them, so both sides state the headers that they were built from, and a
// plugin of another build is refused.
#pragma once

namespace chorale {

inline constexpr const char* kBuildAll = "build all of chorale: cmake --build --preset release";

struct Plugin {
  const char* name = "";      // as the user knows it: in front of what went wrong
  const char* library = "";   // file
  const char* function = "";  // that gives the table
  const char* remedy = "";
};

// Returns the table that the library's function returns. The library is searched in ../lib of the program and
// where the loader searches, once, and stays loaded. Throws InputError if there is none, or one of another
// build.
const void* table_of(const Plugin&);

template <typename Table>
const Table& loaded(const Plugin& plugin) {
  return *static_cast<const Table*>(table_of(plugin));
}

}  // namespace chorale

// Returns a hash of the headers that a side was built from: those whose types cross between the program and
// its plugins. Both sides have it, of ir/plugin_headers.cpp.in.
extern "C" __attribute__((visibility("default"))) const char* chorale_headers();

// In the library: CHORALE_PLUGIN chorale_clp_plugin() { ... }
#define CHORALE_PLUGIN extern "C" __attribute__((visibility("default"))) const void*
