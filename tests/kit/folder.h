// A folder of a test's own, of a name that nobody can guess, which goes with it (CHORALE_KEEP keeps it).
#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace chorale::test {

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "chorale-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    if (std::getenv("CHORALE_KEEP") == nullptr) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace chorale::test
