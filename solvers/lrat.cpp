// Trimming is one pass backward: a lemma is needed if the empty clause or a needed lemma names it. What comes
// forward is numbered anew. A checker keeps only what is still used, so each clause is deleted after its last
// use, in lines of some size, since each line has a number of its own.
#include "solvers/lrat.h"

#include <fmt/format.h>

#include <cassert>
#include <iterator>

namespace chorale {
namespace {

constexpr std::size_t kDeletedAtOnce = 64;
constexpr std::size_t kNever = 0;  // an empty clause is the last lemma, so no use is counted from 0

}  // namespace

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

}  // namespace chorale
