// A plugin is a shared library with two functions: one returns the headers from which it was built,
// the other its table. Everything is bound at once (RTLD_NOW), so that a library with missing symbols is
// refused here and not in the middle of a question, and none of it is seen by other libraries (RTLD_LOCAL).
// It is never closed: tables point into it.
#include "ir/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <new>
#include <string_view>

#include "ir/error.h"

namespace chorale {

namespace {

// dlopen() reports only as text why it failed. What a library needs for its data is less than this.
bool has_room() {
  constexpr std::size_t kEnough = 16 << 20;
  void* const room = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, kEnough) == 0;
}

}  // namespace

const void* table_of(const Plugin& plugin) {
  const auto refuse = [&](const std::string& what) { throw InputError(plugin.name, what, plugin.remedy); };
  void* const library = dlopen(plugin.library, RTLD_NOW | RTLD_LOCAL);
  // Out of memory is not a missing plugin: it is a limit, and what was found until then is kept.
  if (library == nullptr && !has_room()) throw std::bad_alloc();
  if (library == nullptr) refuse(fmt::format("this chorale runs without that part ({})", dlerror()));
  const auto headers = reinterpret_cast<const char* (*)()>(dlsym(library, "chorale_headers"));
  const auto table = reinterpret_cast<const void* (*)()>(dlsym(library, plugin.function));
  if (headers == nullptr || table == nullptr || std::string_view(headers()) != chorale_headers())
    refuse(fmt::format("{} is of another build than this chorale", plugin.library));
  return table();
}

}  // namespace chorale
