// The algorithms that a preloaded program may use: read once, chosen by collective, ranks and size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/program.h"

namespace chorale {

struct Algorithm {
  std::string name = {};  // file and point
  Point point = {};
  Topology topology = {};
  // Lowered when it is first chosen; null where it cannot be (then `why` says so).
  std::shared_ptr<const Program> program = {};
  std::string why = {};
};

class Algorithms {
 public:
  // Files, or directories of them, separated by colons. What cannot be read is said in `complaints`.
  explicit Algorithms(const std::string& path);

  const std::vector<std::string>& complaints() const { return complaints_; }
  // Takes the algorithms of the other, not its complaints. Those at hand stay where they are.
  void add(Algorithms other);
  // Of the contents of all files that were read: the same, with overwhelming odds only, for the same files.
  std::uint64_t fingerprint() const { return fingerprint_; }
  int size() const { return static_cast<int>(all_.size()); }

  // The one that should be fastest for a block of so many bytes (ir/collective.h says what a block is); null:
  // there is none, and `why` says so.
  const Algorithm* choose(const std::string& collective, int ranks, int root, double block_bytes,
                          std::string& why);

 private:
  void read(const std::string& file);

  std::vector<std::unique_ptr<Algorithm>> all_ = {};
  std::vector<std::string> complaints_ = {};
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
};

}  // namespace chorale
