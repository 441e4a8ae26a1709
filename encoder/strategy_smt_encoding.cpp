// As text, and by other means than the clauses of strategy_encoding.cpp: sets are bit vectors, counting is
// arithmetic, and a part is an inequality of products. So what the two agree on has been derived twice,
// independently.
//
// Everything is written out for each instruction under "if it is the chosen one": text is long and nothing is
// shared; the solver finds the sharing. Counts are defined for each state once, by sums of 0 and 1, and only
// constants multiply them, so the arithmetic is linear.
#include "encoder/strategy_smt_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;
using Terms = std::vector<std::string>;

std::string all_of(const Terms& terms) {
  return terms.empty() ? "true" : fmt::format("(and true {})", fmt::join(terms, " "));
}

std::string equal(const std::string& a, const std::string& b) {
  return fmt::format("(= {} {})", a, b);
}

}  // namespace

StrategySmtEncoding::StrategySmtEncoding(int devices, std::vector<LoweredInstruction> instructions,
                                         DeviceGroups reduced)
    : k_(devices), instructions_(std::move(instructions)), reduced_(std::move(reduced)) {}

std::string StrategySmtEncoding::held(int t, int device, int chunk) const {
  return fmt::format("h_{}_{}_{}", t, device, chunk);
}

std::string StrategySmtEncoding::any(int t, int device, int chunk) const {
  return fmt::format("(distinct {} {})", held(t, device, chunk), number(0));
}

std::string StrategySmtEncoding::count(int t, int device, int chunk) const {
  return fmt::format("n_{}_{}_{}", t, device, chunk);
}

// A set as a constant: k bits, of which 64 can be named.
std::string StrategySmtEncoding::number(unsigned long long bits) const {
  return fmt::format("(_ bv{} {})", bits, k_);
}

// What a device holds, and how many of its chunks before each are not empty; n_t_d_k is the number of all.
std::string StrategySmtEncoding::state(int t) const {
  std::string text;
  for (int d = 0; d < k_; ++d) {
    for (int r = 0; r < k_; ++r) text += fmt::format("(declare-const {} (_ BitVec {}))\n", held(t, d, r), k_);
    for (int r = 0; r <= k_; ++r) text += fmt::format("(declare-const {} Int)\n", count(t, d, r));
    text += fmt::format("(assert (= {} 0))\n", count(t, d, 0));
    for (int r = 0; r < k_; ++r)
      text += fmt::format("(assert (= {} (+ {} (ite {} 1 0))))\n", count(t, d, r + 1), count(t, d, r),
                          any(t, d, r));
  }
  return text;
}

// Each device has its own contribution to every chunk, bit d of device d.
std::string StrategySmtEncoding::start() const {
  std::string text = state(0);
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_; ++r)
      text += fmt::format("(assert (= {} {}))\n", held(0, d, r), number(1ULL << d));
  return text;
}

// Complete sums over the device's group, or its own data where it is in none.
std::string StrategySmtEncoding::at_goal(int t) const {
  std::vector<unsigned long long> wanted(k_);
  for (int d = 0; d < k_; ++d) wanted[d] = 1ULL << d;
  for (const std::vector<int>& group : reduced_)
    for (int d : group)
      for (int c : group) wanted[d] |= 1ULL << c;
  Terms terms;
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_; ++r) terms.push_back(equal(held(t, d, r), number(wanted[d])));
  return all_of(terms);
}

std::string StrategySmtEncoding::chosen(int t, int instruction) const {
  return fmt::format("(= {} {})", selector(t), instruction);
}

std::string StrategySmtEncoding::becomes(int t, int device, int chunk, const std::string& term) const {
  return equal(held(t + 1, device, chunk), term);
}

// What AllReduce, Reduce and ReduceScatter require: equal rows, disjoint contributions.
void StrategySmtEncoding::add_up(int t, const Devices& group, Terms& terms) const {
  for (std::size_t i = 0; i < group.size(); ++i)
    for (int r = 0; r < k_; ++r) {
      terms.push_back(equal(any(t, group[i], r), any(t, group.front(), r)));
      for (std::size_t j = 0; j < i; ++j)
        terms.push_back(
            equal(fmt::format("(bvand {} {})", held(t, group[i], r), held(t, group[j], r)), number(0)));
    }
}

void StrategySmtEncoding::all_reduce(int t, const Devices& group, const Terms& sums, Terms& terms) const {
  add_up(t, group, terms);
  for (int d : group)
    for (int r = 0; r < k_; ++r) terms.push_back(becomes(t, d, r, sums[r]));
}

void StrategySmtEncoding::reduce(int t, const Devices& group, const Terms& sums, Terms& terms) const {
  add_up(t, group, terms);
  for (int d : group)
    for (int r = 0; r < k_; ++r) terms.push_back(becomes(t, d, r, d == group.front() ? sums[r] : number(0)));
}

// No division: the p-th of `size` equal parts is where size * (chunks before) lies in [p * total, (p + 1) *
// total).
void StrategySmtEncoding::reduce_scatter(int t, const Devices& group, const Terms& sums, Terms& terms) const {
  add_up(t, group, terms);
  const int first = group.front(), size = static_cast<int>(group.size());
  const std::string total = count(t, first, k_);
  terms.push_back(fmt::format("(= (mod {} {}) 0)", total, size));
  for (int p = 0; p < size; ++p)
    for (int r = 0; r < k_; ++r) {
      // p/size <= chunks before / total < (p+1)/size
      const std::string scaled = fmt::format("(* {} {})", size, count(t, first, r));
      terms.push_back(becomes(t, group[p], r,
                              fmt::format("(ite (and (<= (* {} {}) {}) (< {} (* {} {}))) {} {})", p, total,
                                          scaled, scaled, p + 1, total, sums[r], number(0))));
    }
}

// All have as many chunks as the first, which has one at least; no two have the same, compared with all
// before.
void StrategySmtEncoding::all_gather(int t, const Devices& group, const Terms& sums, Terms& terms) const {
  const std::string total = count(t, group.front(), k_);
  terms.push_back(fmt::format("(> {} 0)", total));
  for (std::size_t i = 0; i < group.size(); ++i) {
    terms.push_back(equal(count(t, group[i], k_), total));
    for (std::size_t j = 0; j < i; ++j)
      for (int r = 0; r < k_; ++r)
        terms.push_back(fmt::format("(not (and {} {}))", any(t, group[i], r), any(t, group[j], r)));
    for (int r = 0; r < k_; ++r) terms.push_back(becomes(t, group[i], r, sums[r]));
  }
}

// x | first = first: x has nothing that the first lacks. `less`: and one has not all of it.
void StrategySmtEncoding::broadcast(int t, const Devices& group, Terms& terms) const {
  const int first = group.front();
  Terms less = {"false"};
  for (int d : group)
    for (int r = 0; r < k_; ++r) {
      terms.push_back(
          equal(fmt::format("(bvor {} {})", held(t, d, r), held(t, first, r)), held(t, first, r)));
      less.push_back(fmt::format("(distinct {} {})", held(t, d, r), held(t, first, r)));
      terms.push_back(becomes(t, d, r, held(t, first, r)));
    }
  terms.push_back(fmt::format("(or {})", fmt::join(less, " ")));
}

// A device in no group keeps everything, chunk by chunk: without it, the solver would be free to change them.
std::string StrategySmtEncoding::rule(int t, const LoweredInstruction& instruction) const {
  Terms terms;
  std::vector<bool> acts(k_, false);
  for (const Devices& group : instruction.groups) {
    for (int d : group) acts[d] = true;
    Terms sums;
    for (int r = 0; r < k_; ++r) {
      // The union over the group, which is also the sum wherever a rule requires that nothing is held twice.
      Terms rows;
      for (int d : group) rows.push_back(held(t, d, r));
      sums.push_back(fmt::format("(bvor {})", fmt::join(rows, " ")));
    }
    switch (instruction.operation) {
      case Operation::AllReduce:
        all_reduce(t, group, sums, terms);
        break;
      case Operation::Reduce:
        reduce(t, group, sums, terms);
        break;
      case Operation::ReduceScatter:
        reduce_scatter(t, group, sums, terms);
        break;
      case Operation::AllGather:
        all_gather(t, group, sums, terms);
        break;
      case Operation::Broadcast:
        broadcast(t, group, terms);
        break;
    }
  }
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_ && !acts[d]; ++r) terms.push_back(becomes(t, d, r, held(t, d, r)));
  return all_of(terms);
}

// The selector is an integer, so exactly one instruction is chosen without a clause for it.
std::string StrategySmtEncoding::extend(int t) const {
  std::string text = state(t + 1);
  text += fmt::format("(declare-const {} Int)\n(assert (and (<= 0 {}) (< {} {})))\n", selector(t),
                      selector(t), selector(t), instructions_.size());
  for (std::size_t i = 0; i < instructions_.size(); ++i)
    text += fmt::format("(assert (=> {} {}))\n", chosen(t, static_cast<int>(i)), rule(t, instructions_[i]));
  return text;
}

}  // namespace chorale
