// Parts of the program in libraries of their own, loaded when they are first called. Who asks an easy
// question waits for what the program starts with: the solvers, MPI and what drives GPUs took 10 of its 12
// ms, and GPUs need libraries that not every machine has.
//
// A room that has a part keeps it in its folder parts/: tables.h says what the library does, as a struct of
// functions; loaded.cpp, in the program, has functions that call it; all else there is the library's. Tables
// have C++ types in them, so both sides state the headers that they were built from, and a part of another
// build is refused.
#pragma once

namespace chorale {

inline constexpr const char* kBuildAll = "build all of chorale: cmake --build --preset release";

struct Part {
  const char* name = "";      // as the user knows it: in front of what went wrong
  const char* library = "";   // file
  const char* function = "";  // that gives the table
  const char* remedy = "";
};

// What the library's function returns. The library is looked for in ../lib of the program and where the
// loader looks, once, and stays loaded. Throws InputError where there is none, or one of another build.
const void* table_of(const Part&);

template <typename Table>
const Table& loaded(const Part& part) {
  return *static_cast<const Table*>(table_of(part));
}

}  // namespace chorale

// In the library: CHORALE_PART chorale_clp_part() { ... }
#define CHORALE_PART extern "C" __attribute__((visibility("default"))) const void*
