// The files that go along with emitted programs as they are, compiled into the binary by CMakeLists.txt.
#pragma once

#include <span>

namespace chorale {

struct EmbeddedFile {
  const char* path;  // where it lies in an emitted directory
  const char* contents;
};

std::span<const EmbeddedFile> cuda_files();

}  // namespace chorale
