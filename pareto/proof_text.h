// A refutation by cutting planes in VeriPB's format of proofs (Gocht and Nordstrom, AAAI 2021), line by line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/search_options.h"

namespace chorale {

struct BoundProof {
  std::string why_none = {};  // where there is no proof; all else is then empty
  std::string opb = {}, pbp = {};
  long rules = 0;  // of the formula
  long cuts = 0;   // that the proof adds up, 0 if none is needed; of growth: divisions of rounds among steps
  std::optional<int> chunks = {}, steps = {}, rounds = {};  // that the formula is about; none: however many
  std::optional<std::int64_t> payment = {},
                              per_round = {};  // of a formula of payments: the most, and a round's
};

// Lines are numbered on from the formula's rules. Formats differ in the first line and the last ones.
class ProofText {
 public:
  ProofText(long rules, PbFormat);

  // Writes what follows by unit propagation (rup): terms, each with a space behind it, are at least 1.
  // Returns its number, as add_up does.
  long derive(const std::string& terms);
  // Adds a line times a factor to a sum (pol); 0 is left out.
  void add(long line, std::int64_t times);
  // The same of a literal, which is at least 0: its negation leaves the sum.
  void add(const std::string& literal, std::int64_t times) { add_term(literal, times); }
  void divide(std::int64_t by);  // the sum, with coefficients rounded up
  void saturate();               // no coefficient is more than the sum's right side
  void begin_term();             // begins a sum that is a term of this one
  void end_term();
  long add_up();  // writes the sum and begins another

  // Returns all, the last line being the contradiction.
  std::string ended() const;

 private:
  void add_term(const std::string& what, std::int64_t times);

  const PbFormat format_;
  long last_;
  bool begins_ = true;  // the next term of the sum is its first
  std::string text_, sum_ = {};
};

}  // namespace chorale
