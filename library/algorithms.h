// The algorithms that a preloaded program may use: read once, chosen by collective, ranks and size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/frontier.h"
#include "ir/program.h"
#include "library/select.h"

namespace chorale {

struct LoadedAlgorithm {
  int number = 0;         // the same in all ranks that loaded the same
  std::string name = {};  // file and point, safe to be shown
  // Lowered when it is first chosen; null where it cannot be (then `why` says so).
  std::shared_ptr<const Program> program = {};
  std::string why = {};
};

// A schedule of a collective on a machine as a program; throws InputError where there is none.
using Lowering = std::function<Program(const Topology&, const Collective&, const Schedule&)>;

class Algorithms {
 public:
  // Files, or directories of them, separated by colons. What cannot be read, what is too large to be read in a
  // moment, and what the memory does not suffice for, is left out and said in `complaints`. Throws nothing.
  explicit Algorithms(const std::string& path);

  const std::vector<std::string>& complaints() const { return complaints_; }
  // Takes the algorithms of the other, not its complaints. Those at hand stay where they are.
  void add(Algorithms other);
  // Of the contents of all files that were loaded: the same, with overwhelming odds only, for the same files.
  std::uint64_t fingerprint() const { return fingerprint_; }
  int size() const { return size_; }

  // Is there one for this? Else `why` says that there is none. Ranks that loaded the same say the same, whatever
  // they did before.
  bool has(const CollectiveCall&, std::string& why) const;

  // The one that should be fastest of those that can be lowered; null: there is none, and `why` says so. There may not
  // be enough memory to lower; then nothing has changed.
  const LoadedAlgorithm* choose(const CollectiveCall&, const Lowering&, std::string& why);

 private:
  void read_all(const std::string& path);
  void read(const std::string& file);
  bool fits(const CollectiveCall&, const Choice&) const;

  std::vector<Result> results_ = {};                                        // without their claims
  std::vector<std::vector<std::unique_ptr<LoadedAlgorithm>>> points_ = {};  // of results_
  std::map<CollectiveCall, const LoadedAlgorithm*> chosen_ = {};  // programs make the same calls again
  int size_ = 0;                                                  // of all frontiers
  std::vector<std::string> complaints_ = {};
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
  std::uintmax_t bytes_ = 0;  // of all files that were loaded
};

}  // namespace chorale
