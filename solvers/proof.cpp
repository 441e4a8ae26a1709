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
//
// A record (LratRecord) has for each lemma the clauses of its conflict, in the order of the trail. Each
// literal that becomes true without assumptions is a lemma of its own there, so that what follows from it
// names one clause, and not again all that it was derived from. Nothing here is decided by the record.
#include "solvers/proof.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

// The proof of a refutation in LRAT text (Cruz-Filipe, Heule, Hunt, Kaufmann and Schneider-Kamp, CADE 2017):
// each lemma names the clauses that it follows from, in the order in which they become unit, so that a
// checker searches for nothing. Verified checkers read it (ACL2's, cake_lpr). A line is
//
//   <id> <literals> 0 <ids of antecedents> 0      a lemma, which follows by unit propagation (RUP)
//   <id> d <ids> 0                                clauses that are not used any more
//
// The clauses of the formula have the ids 1, 2, ... in the order of its DIMACS text.
//
// Trimming is one pass backward: a lemma is needed if the empty clause or a needed lemma names it. What comes
// forward is numbered anew. A checker keeps only what is still used, so each clause is deleted after its last
// use, in lines of some size, since each line has a number of its own.

class LratRecord {
 public:
  using Id = int;

  // Of a formula with that many clauses.
  explicit LratRecord(std::int64_t clauses) : clauses_(static_cast<Id>(clauses)) {}

  // A lemma and the ids that it follows from. Nothing is recorded after the empty clause.
  Id add(std::span<const Lit> lemma, std::span<const Id> antecedents);
  // Of what the empty clause needs, and nothing else; "" if it was not recorded.
  std::string text() const;

 private:
  struct Lemma {
    std::size_t literals = 0, antecedents = 0;  // where they begin
  };
  std::span<const Lit> literals(std::size_t lemma) const;
  std::span<const Id> antecedents(std::size_t lemma) const;
  std::vector<std::size_t> last_uses() const;

  const Id clauses_;
  std::vector<Lemma> lemmas_ = {};
  std::vector<Lit> literals_ = {};
  std::vector<Id> antecedents_ = {};
  bool refuted_ = false;
};

constexpr std::size_t kDeletedAtOnce = 64;
constexpr std::size_t kNever = 0;  // an empty clause is the last lemma, so no use is counted from 0

// Literals and antecedents of all lemmas lie in one array each; a lemma ends where the next one begins.
LratRecord::Id LratRecord::add(std::span<const Lit> lemma, std::span<const Id> antecedents) {
  if (!refuted_) {
    lemmas_.push_back({.literals = literals_.size(), .antecedents = antecedents_.size()});
    literals_.insert(literals_.end(), lemma.begin(), lemma.end());
    antecedents_.insert(antecedents_.end(), antecedents.begin(), antecedents.end());
    refuted_ = lemma.empty();
  }
  return clauses_ + static_cast<Id>(lemmas_.size());
}

std::span<const Lit> LratRecord::literals(std::size_t lemma) const {
  const std::size_t end = lemma + 1 < lemmas_.size() ? lemmas_[lemma + 1].literals : literals_.size();
  return std::span(literals_).subspan(lemmas_[lemma].literals, end - lemmas_[lemma].literals);
}

std::span<const LratRecord::Id> LratRecord::antecedents(std::size_t lemma) const {
  const std::size_t end = lemma + 1 < lemmas_.size() ? lemmas_[lemma + 1].antecedents : antecedents_.size();
  return std::span(antecedents_).subspan(lemmas_[lemma].antecedents, end - lemmas_[lemma].antecedents);
}

// By id: one more than the last lemma that needs it and is needed; kNever. From the end, so that a lemma is
// known to be needed before its antecedents are visited.
std::vector<std::size_t> LratRecord::last_uses() const {
  std::vector<std::size_t> last(clauses_ + lemmas_.size() + 1, kNever);
  last.back() = lemmas_.size() + 1;  // the empty clause
  for (std::size_t i = lemmas_.size(); i-- > 0;) {
    if (last[clauses_ + i + 1] == kNever) continue;
    for (const Id id : antecedents(i))
      if (last[id] == kNever) last[id] = i + 1;
  }
  return last;
}

// Ids go on from the clauses of the formula without gaps. A line of deletions has the id of the lemma before
// it. The last lemma needs none: the checker ends there.
std::string LratRecord::text() const {
  if (!refuted_) return "";
  const std::vector<std::size_t> last = last_uses();
  std::vector<Id> number(last.size(), 0), unused;
  for (Id id = 1; id <= clauses_; ++id) number[id] = id;
  Id next = clauses_;
  std::string text;
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < lemmas_.size(); ++i) {
    if (last[clauses_ + i + 1] == kNever) continue;
    number[clauses_ + i + 1] = ++next;
    fmt::format_to(out, "{} ", next);
    for (const Lit lit : literals(i)) fmt::format_to(out, "{} ", lit);
    text += "0 ";
    for (const Id id : antecedents(i)) {
      fmt::format_to(out, "{} ", number[id]);
      if (last[id] == i + 1) unused.push_back(number[id]);
    }
    text += "0\n";
    if (unused.size() < kDeletedAtOnce || i + 1 == lemmas_.size()) continue;
    fmt::format_to(out, "{} d {} 0\n", next, fmt::join(unused, " "));
    unused.clear();
  }
  return text;
}

class RupChecker {
 public:
  // `record`: of the formula that the clauses are of, or null.
  RupChecker(int variables, LratRecord* record)
      : values_(2 * static_cast<std::size_t>(variables) + 2, 0),
        watches_(values_.size()),
        record_(record),
        marks_(variables + std::size_t{1}) {}

  bool refuted() const { return refuted_; }
  bool knows(Lit lit) const { return index(lit) < values_.size(); }

  // An original clause, or a lemma that follows() has accepted.
  void add(std::vector<Lit> clause) {
    if (refuted_) return;
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    const std::size_t start = arena_.size();
    by_hash_.emplace(hash(clause), clauses_.size());
    const int number = static_cast<int>(clauses_.size());
    clauses_.push_back({.start = start,
                        .size = static_cast<int>(clause.size()),
                        .id = last_lemma_ > 0 ? last_lemma_ : number + 1});
    arena_.insert(arena_.end(), clause.begin(), clause.end());
    for (Lit lit : clause)
      if (std::binary_search(clause.begin(), clause.end(), -lit)) return;  // always true: never propagates
    // Watch two literals that are not false, if there are.
    const auto literals = arena_.begin() + static_cast<std::ptrdiff_t>(start);
    const auto free_end = std::partition(literals, literals + static_cast<std::ptrdiff_t>(clause.size()),
                                         [this](Lit lit) { return value(lit) >= 0; });
    const auto free = free_end - literals;
    // All false at the root: the empty clause.
    if (free == 0) return refute(number);
    if (clause.size() >= 2) {
      watches_[index(literals[0])].push_back(number);
      watches_[index(literals[1])].push_back(number);
    }
    if (free == 1 && value(literals[0]) == 0) {
      assign(literals[0], number);
      if (const int conflict = propagate(); conflict != kNone) refute(conflict);
    }
  }

  // Does the clause follow by unit propagation? Assumes that all of its literals are false, and searches for
  // a conflict; the trail is as before afterwards, the watches are equivalent.
  bool follows(const std::vector<Lit>& clause) {
    if (refuted_) return true;
    const std::size_t kept = root_ = trail_.size();
    Lit known = 0;  // true at the root, or its negation is in the clause, too
    for (Lit lit : clause) {
      if (value(lit) > 0) known = lit;
      if (value(lit) == 0) assign(-lit, kNone);
    }
    const int conflict = known == 0 ? propagate() : kNone;
    if (record_ != nullptr && (known != 0 || conflict != kNone)) keep(clause, known, conflict);
    while (trail_.size() > kept) {
      values_[index(trail_.back())] = values_[index(-trail_.back())] = 0;
      trail_.pop_back();
    }
    propagated_ = kept;
    root_ = kAllOfIt;
    return known != 0 || conflict != kNone;
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
    LratRecord::Id id = 0;
    bool removed = false;
  };
  static constexpr int kNone = -1;
  static constexpr std::size_t kAllOfIt = static_cast<std::size_t>(-1);

  static std::size_t index(Lit lit) { return 2 * static_cast<std::size_t>(std::abs(lit)) + (lit < 0); }
  int value(Lit lit) const { return values_[index(lit)]; }

  static std::size_t hash(const std::vector<Lit>& sorted) {
    std::size_t h = sorted.size();
    for (Lit lit : sorted) h = (h ^ static_cast<std::size_t>(lit + 0x40000000)) * 0x9E3779B97F4A7C15ull;
    return h;
  }

  // By that clause, all of whose other literals are false; kNone: by assumption.
  void assign(Lit lit, int reason) {
    values_[index(lit)] = 1;
    values_[index(-lit)] = -1;
    trail_.push_back(lit);
    if (record_ == nullptr) return;
    Mark& mark = marks_[std::abs(lit)];
    mark.reason = reason;
    mark.unit = 0;
    if (root_ != kAllOfIt) return;
    const Clause& clause = clauses_[reason];
    mark.unit = clause.size == 1 ? clause.id : record_->add(std::span(&lit, 1), falsified(clause, lit));
  }

  void refute(int conflict) {
    refuted_ = true;
    if (record_ != nullptr) record_->add({}, falsified(clauses_[conflict], 0));
  }

  // The units that make all literals of a clause false but that one, and the clause.
  std::vector<LratRecord::Id> falsified(const Clause& clause, Lit but) const {
    std::vector<LratRecord::Id> ids;
    for (int k = 0; k < clause.size; ++k)
      if (const Lit lit = arena_[clause.start + k]; lit != but) ids.push_back(marks_[std::abs(lit)].unit);
    ids.push_back(clause.id);
    return ids;
  }

  // A lemma in the record: from the conflict back to the assumptions, over what it was derived from. Literals
  // of the lemma are assumed false, so nothing is needed for those that are so at the root.
  void keep(const std::vector<Lit>& lemma, Lit known, int conflict) {
    std::vector<LratRecord::Id> units, others;
    ++stamp_;
    for (const Lit lit : lemma) marks_[std::abs(lit)].stamp = stamp_;
    const auto visit = [&](const Clause& clause) {
      others.push_back(clause.id);
      for (int k = 0; k < clause.size; ++k) {
        Mark& mark = marks_[std::abs(arena_[clause.start + k])];
        if (std::exchange(mark.stamp, stamp_) != stamp_ && mark.unit != 0) units.push_back(mark.unit);
      }
    };
    if (conflict != kNone) {
      visit(clauses_[conflict]);
      for (std::size_t at = trail_.size(); at-- > root_;)
        if (const Mark& mark = marks_[std::abs(trail_[at])]; mark.stamp == stamp_ && mark.reason != kNone)
          visit(clauses_[mark.reason]);
    } else if (const Mark& mark = marks_[std::abs(known)]; mark.unit != 0) {
      units.push_back(mark.unit);
    }
    units.insert(units.end(), others.rbegin(), others.rend());
    last_lemma_ = record_->add(lemma, units);
  }

  // The clause that has become false, if one has. Then the rest of the list stays as it is, and what was
  // assigned is taken back by the caller, or the formula is refuted.
  int propagate() {
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
          const int conflict = watching[i];
          // Nothing of the list may be lost.
          for (++i; i < watching.size(); ++i) watching[kept++] = watching[i];
          watching.resize(kept);
          return conflict;
        }
        assign(literals[0], watching[i]);
      }
      watching.resize(kept);
    }
    return kNone;
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

  // For the record alone: of a variable that is assigned, its reason, and the lemma that it is, if it is true
  // without assumptions.
  struct Mark {
    int reason = kNone;
    LratRecord::Id unit = 0;
    long stamp = 0;
  };
  LratRecord* const record_;
  std::vector<Mark> marks_;  // by variable
  long stamp_ = 0;
  LratRecord::Id last_lemma_ = 0;  // that was recorded; 0: the clauses are those of the formula
  std::size_t root_ = kAllOfIt;    // this many literals of the trail are true without assumptions
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

// Clauses of the formula first, then line after line, until the empty clause follows; lines after that are
// not read. "interrupted" is no fault of the proof: the caller tests its own flag.
std::string proof_fault(const Formula& formula, const std::string& text, const std::atomic<bool>* stop,
                        std::string* lrat) {
  LratRecord record(formula.clauses);
  RupChecker checker(formula.variables, lrat != nullptr ? &record : nullptr);
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
  if (!checker.refuted()) return "the proof ends without the empty clause";
  if (lrat != nullptr) *lrat = record.text();
  return "";
}

namespace {

constexpr std::size_t kMostProofBytes = std::size_t{1} << 30;

// A file without a name: whatever ends the process, SIGKILL too, nothing is left.
class NamelessFile {
 public:
  NamelessFile() {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    int file = error ? -1 : open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 && !error) {  // NFS, for one, makes no file without a name
      std::string path = folder / "chorale-proof-XXXXXX";
      file = mkstemp(path.data());
      if (file >= 0) unlink(path.c_str());
    }
    file_ = file < 0 ? nullptr : fdopen(file, "w+");
    if (file_ != nullptr) return;
    if (file >= 0) close(file);
    throw InputError("the proof", "there is no folder for temporary files, or no file can be made in it",
                     "set TMPDIR to one that can be written to");
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

// The proof is kept in a file, which the solver writes as it goes on, and read when the solver is gone. A
// refutation that was not checked to the end is no refutation.
Refutation solve_with_proof(const Formula& formula, const SolveLimits& limits, int seed, bool lrat,
                            Solver asked) {
  Refutation result;
  const NamelessFile file;
  {
    // In a block of its own: the proof is complete when the solver is gone.
    const std::unique_ptr<SatSolver> solver =
        make_solver(writes_proofs(asked) ? asked : Solver::Cadical, seed, file.get());
    solver->add(formula);
    result.verdict = solver->solve({}, limits);
    result.conflicts = solver->conflicts();
    if (result.verdict == Verdict::Sat) result.model = solver->model(formula.variables);
  }
  if (result.verdict != Verdict::Unsat) return result;
  result.proof = file.text();
  result.formula_sha256 = sha256_hex(to_dimacs(formula));
  const std::string fault = proof_fault(formula, result.proof, limits.stop, lrat ? &result.lrat : nullptr);
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
