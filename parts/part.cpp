#include "parts/part.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "ir/error.h"
#include "parts/headers.h"

namespace chorale {

const void* table_of(const Part& part) {
  const auto refuse = [&](const std::string& what) { throw InputError(part.name, what, part.remedy); };
  void* const library = dlopen(part.library, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(fmt::format("this chorale runs without that part ({})", dlerror()));
  const auto headers = reinterpret_cast<const char* (*)()>(dlsym(library, "chorale_headers"));
  const auto table = reinterpret_cast<const void* (*)()>(dlsym(library, part.function));
  if (headers == nullptr || table == nullptr || std::string_view(headers()) != chorale_headers())
    refuse(fmt::format("{} is of another build than this chorale", part.library));
  return table();
}

}  // namespace chorale
