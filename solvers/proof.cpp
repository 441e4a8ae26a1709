// A forward RUP checker. Clauses live in one arena and are found again, for deletions, by a hash of their
// sorted literals; two literals of each are watched. Literals that are true without assumptions (units and
// what follows) stay assigned; a lemma is checked by assuming its negation on top of them and propagating to
// a conflict.
//
// Invariant: between calls every clause follows from the formula, and every literal of the trail follows by
// unit propagation alone and is propagated. A clause that is not true yet watches two literals that are not
// false. So only the clauses that watch a literal which has become false are examined; and retracting
// assumptions needs no repair, since what was not false stays so.
//
// Forward means that each lemma is checked when it comes, by the clauses before it, and no other order has to
// be trusted. Only unit propagation is known: a lemma that needs RAT would keep the formula satisfiable, and
// not follow from it; CaDiCaL's need none (proof.h). Cost: a propagation for each lemma.

#include "solvers/proof.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

class RupChecker {
 public:
  explicit RupChecker(int variables)
      : values_(2 * static_cast<std::size_t>(variables) + 2, 0), watches_(values_.size()) {}

  bool refuted() const { return refuted_; }
  bool knows(Lit lit) const { return index(lit) < values_.size(); }

  // An original clause, or a lemma that was checked.
  void add(std::vector<Lit> clause) {
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    const std::size_t start = arena_.size();
    by_hash_.emplace(hash(clause), clauses_.size());
    clauses_.push_back({.start = start, .size = static_cast<int>(clause.size())});
    arena_.insert(arena_.end(), clause.begin(), clause.end());
    for (Lit lit : clause)
      if (std::binary_search(clause.begin(), clause.end(), -lit)) return;  // always true: never propagates
    // Watch two literals that are not false, if there are.
    const auto literals = arena_.begin() + static_cast<std::ptrdiff_t>(start);
    const auto free_end = std::partition(literals, literals + static_cast<std::ptrdiff_t>(clause.size()),
                                         [this](Lit lit) { return value(lit) >= 0; });
    const auto free = free_end - literals;
    // All false at the root: the empty clause.
    if (free == 0) {
      refuted_ = true;
      return;
    }
    if (clause.size() >= 2) {
      watches_[index(literals[0])].push_back(static_cast<int>(clauses_.size()) - 1);
      watches_[index(literals[1])].push_back(static_cast<int>(clauses_.size()) - 1);
    }
    if (free == 1 && value(literals[0]) == 0) {
      assign(literals[0]);
      if (!propagate()) refuted_ = true;
    }
  }

  // Does the clause follow by unit propagation? Assumes that all of its literals are false, and searches for
  // a conflict; the trail is as before afterwards, the watches are equivalent.
  bool follows(const std::vector<Lit>& clause) {
    if (refuted_) return true;
    const std::size_t kept = trail_.size();
    bool conflict = false;
    for (Lit lit : clause) {
      // True at the root, or its negation is in the clause, too.
      if (value(lit) > 0) conflict = true;
      if (value(lit) == 0) assign(-lit);
    }
    if (!conflict) conflict = !propagate();
    while (trail_.size() > kept) {
      values_[index(trail_.back())] = values_[index(-trail_.back())] = 0;
      trail_.pop_back();
    }
    propagated_ = kept;
    return conflict;
  }

  // Clauses that are true at the root stay: one of them may be the reason of a literal, and deleting it would
  // unassign what was derived. To keep a clause is never wrong, since it follows; a deletion that names no
  // clause of ours is passed over for the same reason.
  void remove(std::vector<Lit> clause) {
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    const auto [begin, end] = by_hash_.equal_range(hash(clause));
    for (auto at = begin; at != end; ++at) {
      Clause& found = clauses_[at->second];
      if (found.removed || found.size != static_cast<int>(clause.size())) continue;
      // Watching has changed the order of its literals; equal hashes may also be chance.
      std::vector<Lit> same(arena_.begin() + static_cast<std::ptrdiff_t>(found.start),
                            arena_.begin() + static_cast<std::ptrdiff_t>(found.start) + found.size);
      std::sort(same.begin(), same.end());
      if (same != clause) continue;
      const bool reason =
          std::count_if(clause.begin(), clause.end(), [this](Lit lit) { return value(lit) > 0; }) > 0;
      if (!reason) {
        found.removed = true;  // its watches are dropped when they are next visited
        by_hash_.erase(at);
      }
      return;
    }
  }

 private:
  struct Clause {
    std::size_t start = 0;
    int size = 0;
    bool removed = false;
  };

  static std::size_t index(Lit lit) { return 2 * static_cast<std::size_t>(std::abs(lit)) + (lit < 0); }
  int value(Lit lit) const { return values_[index(lit)]; }

  static std::size_t hash(const std::vector<Lit>& sorted) {
    std::size_t h = sorted.size();
    for (Lit lit : sorted) h = (h ^ static_cast<std::size_t>(lit + 0x40000000)) * 0x9E3779B97F4A7C15ull;
    return h;
  }

  void assign(Lit lit) {
    values_[index(lit)] = 1;
    values_[index(-lit)] = -1;
    trail_.push_back(lit);
  }

  // False if some clause has become false. Then the rest of the list stays as it is, and what was assigned is
  // taken back by the caller, or the formula is refuted.
  bool propagate() {
    while (propagated_ < trail_.size()) {
      const Lit now_false = -trail_[propagated_++];
      std::vector<int>& watching = watches_[index(now_false)];
      std::size_t kept = 0;
      for (std::size_t i = 0; i < watching.size(); ++i) {
        const Clause& clause = clauses_[watching[i]];
        if (clause.removed) continue;
        Lit* const literals = arena_.data() + clause.start;
        // The false one second, so that the first is the candidate to be true.
        if (literals[0] == now_false) std::swap(literals[0], literals[1]);
        if (value(literals[0]) > 0 || find_watch(literals, clause.size, watching[i])) {
          if (value(literals[0]) > 0 && literals[1] == now_false) watching[kept++] = watching[i];
          continue;
        }
        watching[kept++] = watching[i];
        if (value(literals[0]) < 0) {
          // A conflict: nothing of the list may be lost.
          for (++i; i < watching.size(); ++i) watching[kept++] = watching[i];
          watching.resize(kept);
          return false;
        }
        assign(literals[0]);
      }
      watching.resize(kept);
    }
    return true;
  }

  // Moves the second watch to a literal that is not false.
  bool find_watch(Lit* literals, int size, int clause) {
    for (int k = 2; k < size; ++k)
      if (value(literals[k]) >= 0) {
        std::swap(literals[1], literals[k]);
        watches_[index(literals[1])].push_back(clause);
        return true;
      }
    return false;
  }

  std::vector<signed char> values_;        // by literal: 1 true, -1 false, 0 neither
  std::vector<std::vector<int>> watches_;  // by literal: clauses that watch it
  std::vector<Clause> clauses_ = {};
  std::vector<Lit> arena_ = {};  // literals of all clauses, one after the other
  std::unordered_multimap<std::size_t, std::size_t> by_hash_ = {};  // clauses that were not removed
  std::vector<Lit> trail_ = {};  // true literals, in the order in which they became so
  std::size_t propagated_ = 0;   // this many literals of the trail have been
  bool refuted_ = false;
};

// One line of DRAT text: literals up to 0, or false with what is wrong.
bool parse_line(std::string_view line, bool& deletion, std::vector<Lit>& clause) {
  clause.clear();
  deletion = !line.empty() && line[0] == 'd';
  if (deletion) line.remove_prefix(1);
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
    Lit lit = 0;
    const auto [next, error] = std::from_chars(at, end, lit);
    if (error != std::errc()) return false;
    at = next;
    if (lit == 0) return true;
    clause.push_back(lit);
  }
}

}  // namespace

std::string proof_fault(const Formula& formula, const std::string& text, const std::atomic<bool>* stop) {
  RupChecker checker(formula.variables);
  std::vector<Lit> clause;
  for (Lit lit : formula.literals) {
    if (lit != 0) {
      clause.push_back(lit);
      continue;
    }
    checker.add(clause);
    clause.clear();
  }
  long line_number = 0;
  bool deletion = false;
  for (std::size_t at = 0; at < text.size() && !checker.refuted();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++line_number;
    // Not a fault of the proof: the caller that set the flag handles it.
    if (stop != nullptr && *stop) return "interrupted";
    if (line.empty() || line[0] == 'c') continue;
    const std::string where = "line " + std::to_string(line_number) + ": ";
    if (!parse_line(line, deletion, clause)) return where + "not a clause in DRAT text";
    for (Lit lit : clause)
      if (!checker.knows(lit))
        return where + "variable " + std::to_string(std::abs(lit)) + " is not in the formula";
    if (deletion) {
      checker.remove(clause);
      continue;
    }
    if (!checker.follows(clause)) return where + "the lemma does not follow by unit propagation";
    checker.add(clause);
  }
  return checker.refuted() ? "" : "the proof ends without the empty clause";
}

namespace {

constexpr std::size_t kMostProofBytes = std::size_t{1} << 30;

// A file without a name: whatever ends the process, SIGKILL too, nothing is left.
class NamelessFile {
 public:
  NamelessFile() {
    std::string path = (std::filesystem::temp_directory_path() / "chorale-proof-XXXXXX").string();
    const int file = mkstemp(path.data());
    if (file < 0) throw std::runtime_error("cannot create a temporary file in " + path);
    unlink(path.c_str());
    file_ = fdopen(file, "w+");
    if (file_ == nullptr) {
      close(file);
      throw std::runtime_error("cannot open a temporary file in " + path);
    }
  }
  ~NamelessFile() { std::fclose(file_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  std::FILE* get() const { return file_; }
  std::string text() const {
    if (std::fflush(file_) != 0) throw std::runtime_error("a proof cannot be written to its end");
    std::rewind(file_);
    std::string text;
    std::vector<char> part(1 << 16);
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), file_)) {
      text.append(part.data(), count);
      if (text.size() > kMostProofBytes)
        throw InputError("the proof", "has more than 1 GiB", "ask for fewer conflicts");
    }
    if (std::ferror(file_) != 0) throw std::runtime_error("a proof cannot be read to its end");
    return text;
  }

 private:
  std::FILE* file_ = nullptr;
};

}  // namespace

Refutation solve_with_proof(const Formula& formula, const SolveLimits& limits, int seed) {
  Refutation result;
  const NamelessFile file;
  {
    // In a block of its own: the proof is complete when the solver is gone.
    const std::unique_ptr<SatSolver> solver = make_cadical(seed, file.get());
    solver->add(formula);
    result.verdict = solver->solve({}, limits);
    result.conflicts = solver->conflicts();
    if (result.verdict == Verdict::Sat) result.model = solver->model(formula.variables);
  }
  if (result.verdict != Verdict::Unsat) return result;
  result.proof = file.text();
  result.formula_sha256 = sha256_hex(to_dimacs(formula));
  const std::string fault = proof_fault(formula, result.proof, limits.stop);
  if (limits.stop != nullptr && *limits.stop && !fault.empty()) {
    result.verdict = Verdict::Unknown;  // not checked, so not claimed
    return result;
  }
  // A solver's proof that does not hold is a bug, of ours or of its: nothing may be concluded, and it must
  // not go unnoticed.
  if (!fault.empty()) throw std::logic_error("our checker refuses the solver's proof: " + fault);
  return result;
}

}  // namespace chorale
