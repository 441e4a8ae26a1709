// Builds a library: its questions without an answer are searched, by the given search, and stored.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "library/verified_answer.h"

namespace chorale {

// Has a library's file for itself, one call at a time.
class Keeper {
 public:
  Keeper(AnswerFile& file, const AnswerVerifier& verifier, const Verifiers& verifiers)
      : file_(file), answers_(verifier), verifiers_(verifiers) {}

  // Is there an answer? Then it has the question's places and predicted times afterwards.
  bool has(const LibraryQuestion&);
  // Stores it, with its places and predicted times. Not what was interrupted or had not enough memory: it
  // would be found instead of a search that can do better. Returns whether it did.
  bool keep(const LibraryQuestion&, Result);

 private:
  void complete(const LibraryQuestion&, const StoredAnswer&);

  AnswerFile& file_;
  const AnswerVerifier& answers_;
  const Verifiers& verifiers_;
};

// The outcome of the search of a question: its result, or the reason why there is none, in words.
struct Searched {
  std::optional<Result> result = {};
  std::string why = {};
};
// Searches. Several are called at once, each by a thread of its own. May return at once when `stopped`. What
// it throws ends the build.
using Search = std::function<Searched(const LibraryQuestion&, const std::function<bool()>& stopped)>;

struct LibraryBuildOptions {
  int jobs = 1;                             // number of searches at once
  const std::atomic<bool>* stop = nullptr;  // once set no search is begun, and none that ends is kept
  std::function<void(int answered, int of)> progress = {};  // after each
};

struct BuildReport {
  int there = 0, answered = 0;
  std::vector<std::string> failures = {};  // of questions that were not answered, a line each
};

BuildReport build(Keeper&, const std::vector<LibraryQuestion>&, const Search&,
                  const LibraryBuildOptions& = {});

}  // namespace chorale
