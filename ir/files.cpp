#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/error.h"
#include "ir/json.h"

namespace chorale {

std::string read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw InputError(path, "is a directory", "name a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path, std::string("cannot be read: ") + std::strerror(errno), "check the path");
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) throw InputError(path, "cannot be read to its end");
  return std::move(text).str();
}

void write_file(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr)
    throw InputError(path, std::string("cannot be written: ") + std::strerror(errno), "check the directory");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    throw InputError(path, "cannot be written: " + why, "check the directory and the space on it");
  }
}

}  // namespace chorale
