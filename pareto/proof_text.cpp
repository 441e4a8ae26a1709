// Sums are in postfix notation.
#include "pareto/proof_text.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace chorale {

ProofText::ProofText(long rules, PbFormat format)
    : format_(format),
      last_(rules),
      text_(fmt::format("pseudo-Boolean proof version {}\nf {}\n", format == PbFormat::V2_0 ? "2.0" : "1.2",
                        rules)) {}

long ProofText::derive(const std::string& terms) {
  text_.append("rup ").append(terms).append(">= 1 ;\n");
  return ++last_;
}

void ProofText::add(long line, std::int64_t times) {
  add_term(std::to_string(line), times);
}

void ProofText::add_term(const std::string& what, std::int64_t times) {
  if (times == 0) return;
  fmt::format_to(std::back_inserter(sum_), "{}{}{}", what, times == 1 ? "" : fmt::format(" {} *", times),
                 begins_ ? " " : " + ");
  begins_ = false;
}

void ProofText::begin_term() {
  begins_ = true;
}

void ProofText::end_term() {
  sum_ += "+ ";
}

void ProofText::divide(std::int64_t by) {
  if (by > 1) fmt::format_to(std::back_inserter(sum_), "{} d ", by);
}

void ProofText::saturate() {
  sum_ += "s ";
}

long ProofText::add_up() {
  sum_.pop_back();
  begins_ = true;
  text_.append("pol ").append(std::exchange(sum_, "")).append("\n");
  return ++last_;
}

std::string ProofText::ended() const {
  if (format_ == PbFormat::V1_2) return text_ + fmt::format("c {}\n", last_);
  return text_ + fmt::format("output NONE\nconclusion UNSAT : {}\nend pseudo-Boolean proof\n", last_);
}

}  // namespace chorale
