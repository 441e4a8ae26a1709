// Sums are sets of contributions, one variable for each member, so a union is an or and disjointness is
// pairwise. What is hard to express in clauses is "the p-th of equal parts of what is there": it needs
// counting, so `before` is a unary counter over the chunks of a device, defined once for each state, and a
// part is read off it. Variables of a group (its union, its parts) are shared by all instructions that act on
// it.
//
// Invariant: held(t, ...) is exactly what the devices hold after t instructions, since every instruction
// defines the next state of each device, chunk and contributor, those in no group included; so at_goal and
// the precondition of the next may be read off it in either direction. Size: k^3 variables per state, and for
// each instruction k^3 clauses and more, k the number of devices.
#include "encoder/strategy_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "encoder/counter.h"

namespace chorale {
using Operation = StrategyInstruction::Operation;

StrategyEncoding::StrategyEncoding(int devices, std::vector<LoweredInstruction> instructions,
                                   const DeviceGroups& reduced)
    : k_(devices), instructions_(std::move(instructions)), reduced_(reduced) {
  add_state();
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) formula_.add({d == c ? held(0, d, r, c) : -held(0, d, r, c)});
}

Lit StrategyEncoding::held(int t, int device, int chunk, int contributor) const {
  return held_[t] + (device * k_ + chunk) * k_ + contributor;
}

Lit StrategyEncoding::some(int t, int device, int chunk) const {
  return some_[t] + device * k_ + chunk;
}

// 1 <= count <= chunk.
Lit StrategyEncoding::before(int t, int device, int chunk, int count) const {
  return before_[t][(device * (k_ + 1) + chunk) * (k_ + 1) + count];
}

// Variables of a time, and what follows from `held` alone. `some` is defined in both directions, since rules
// need both.
void StrategyEncoding::add_state() {
  const int t = static_cast<int>(held_.size());
  held_.push_back(formula_.variables + 1);
  formula_.variables += k_ * k_ * k_;
  some_.push_back(formula_.variables + 1);
  formula_.variables += k_ * k_;
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_; ++r) {
      std::vector<Lit> any = {-some(t, d, r)};
      for (int c = 0; c < k_; ++c) {
        any.push_back(held(t, d, r, c));
        formula_.add({-held(t, d, r, c), some(t, d, r)});
      }
      formula_.add(any);
    }
  count_chunks(t);
  reach_goal(t);
}

// A unary number for each device and each beginning of its chunks, in both directions: parts are read off it,
// and a part that was wrong by one would be another operation.
void StrategyEncoding::count_chunks(int t) {
  before_.emplace_back(static_cast<std::size_t>(k_ * (k_ + 1) * (k_ + 1)), 0);
  for (int d = 0; d < k_; ++d)
    for (int r = 1; r <= k_; ++r)
      for (int n = 1; n <= r; ++n) {
        const Lit here = formula_.fresh(), chunk = some(t, d, r - 1);
        before_[t][(d * (k_ + 1) + r) * (k_ + 1) + n] = here;
        // here <-> n before, or n - 1 before and this one
        if (n < r) formula_.add({-before(t, d, r - 1, n), here});
        std::vector<Lit> one_more = {-chunk, here}, needs_chunk = {-here, chunk}, needs_rest = {-here};
        if (n > 1) one_more.push_back(-before(t, d, r - 1, n - 1));
        if (n < r) {
          needs_chunk.push_back(before(t, d, r - 1, n));
          needs_rest.push_back(before(t, d, r - 1, n));
        }
        formula_.add(one_more);
        formula_.add(needs_chunk);
        if (n > 1) {
          needs_rest.push_back(before(t, d, r - 1, n - 1));
          formula_.add(needs_rest);
        }
      }
}

// A device in no group of those to be reduced ends as it began. `goal` is defined in both directions.
void StrategyEncoding::reach_goal(int t) {
  std::vector<bool> wanted(static_cast<std::size_t>(k_) * k_, false);
  for (int d = 0; d < k_; ++d) wanted[d * k_ + d] = true;
  for (const std::vector<int>& group : reduced_)
    for (int d : group)
      for (int c : group) wanted[d * k_ + c] = true;
  const Lit goal = formula_.fresh();
  goal_.push_back(goal);
  std::vector<Lit> reached = {goal};
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) {
        const Lit right = wanted[d * k_ + c] ? held(t, d, r, c) : -held(t, d, r, c);
        formula_.add({-goal, right});
        reached.push_back(-right);
      }
  formula_.add(reached);
}

// Instructions share groups (five operations on the same devices), so the union is written once for each
// group and time. The reference holds until the next new group.
StrategyEncoding::Group& StrategyEncoding::group(int t, const std::vector<int>& members) {
  for (Group& known : groups_)
    if (known.t == t && known.members == members) return known;
  groups_.push_back({.t = t, .members = members, .sum = formula_.variables + 1});
  formula_.variables += k_ * k_;
  for (int r = 0; r < k_; ++r)
    for (int c = 0; c < k_; ++c) {
      const Lit sum = groups_.back().sum + r * k_ + c;
      std::vector<Lit> any = {-sum};
      for (int d : members) {
        any.push_back(held(t, d, r, c));
        formula_.add({-held(t, d, r, c), sum});
      }
      formula_.add(any);
    }
  return groups_.back();
}

// If the guard holds: after <-> source, or after <-> source and also.
void StrategyEncoding::becomes(Lit guard, int t, int d, int r, int c, Lit source, Lit also) {
  const Lit after = held(t + 1, d, r, c);
  formula_.add({-guard, -after, source});
  if (also == 0) {
    formula_.add({-guard, after, -source});
  } else {
    formula_.add({-guard, -after, also});
    formula_.add({-guard, after, -source, -also});
  }
}

// With `total` chunks and `earlier` of them before it, a chunk is in part earlier / (total / size). The first
// device's are counted: rows are required to be equal. "Exactly n" is "at least n" without "at least n + 1".
// Totals that are not divisible have no clauses, since reduce_scatter forbids them; nor has a total of 0,
// since there is nothing to divide. Example: 4 chunks for 2 devices are parts 0 0 1 1.
void StrategyEncoding::divide(Group& g) {
  const int size = static_cast<int>(g.members.size()), first = g.members.front();
  for (int i = 0; i < size * k_; ++i) g.part.push_back(formula_.fresh());
  for (int total = size; total <= k_; total += size)
    for (int r = 0; r < k_; ++r)
      for (int earlier = 0; earlier <= std::min(r, total - 1); ++earlier)
        for (int p = 0; p < size; ++p) {
          std::vector<Lit> clause = {-before(g.t, first, k_, total)};
          if (total < k_) clause.push_back(before(g.t, first, k_, total + 1));
          if (earlier > 0) clause.push_back(-before(g.t, first, r, earlier));
          if (earlier < r) clause.push_back(before(g.t, first, r, earlier + 1));
          const Lit part = g.part[p * k_ + r];
          clause.push_back(earlier / (total / size) == p ? part : -part);
          formula_.add(clause);
        }
}

// One direction is enough: broadcast asks that one of these be true.
void StrategyEncoding::compare(Group& g) {
  for (std::size_t i = 1; i < g.members.size(); ++i)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) {
        g.more.push_back(formula_.fresh());
        formula_.add({-g.more.back(), held(g.t, g.members.front(), r, c)});
        formula_.add({-g.more.back(), -held(g.t, g.members[i], r, c)});
      }
}

// What AllReduce, ReduceScatter and Reduce require: equal rows, disjoint contributions.
void StrategyEncoding::add_up(Lit guard, const Group& g) {
  for (std::size_t i = 0; i + 1 < g.members.size(); ++i)
    for (int r = 0; r < k_; ++r) {
      const Lit a = some(g.t, g.members[i], r), b = some(g.t, g.members[i + 1], r);
      formula_.add({-guard, -a, b});
      formula_.add({-guard, a, -b});
    }
  for (std::size_t i = 0; i < g.members.size(); ++i)
    for (std::size_t j = i + 1; j < g.members.size(); ++j)
      for (int r = 0; r < k_; ++r)
        for (int c = 0; c < k_; ++c)
          formula_.add({-guard, -held(g.t, g.members[i], r, c), -held(g.t, g.members[j], r, c)});
}

void StrategyEncoding::all_reduce(Lit guard, const Group& g) {
  add_up(guard, g);
  for (int d : g.members)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) becomes(guard, g.t, d, r, c, sum(g, r, c));
}

// The first gets the sum; the others hold nothing any more.
void StrategyEncoding::reduce(Lit guard, const Group& g) {
  add_up(guard, g);
  for (int d : g.members)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c)
        if (d == g.members.front())
          becomes(guard, g.t, d, r, c, sum(g, r, c));
        else
          formula_.add({-guard, -held(g.t + 1, d, r, c)});
}

// The p-th device keeps of each chunk the sum if the chunk is in the p-th part, and nothing of the others.
void StrategyEncoding::reduce_scatter(Lit guard, Group& g) {
  const int size = static_cast<int>(g.members.size()), first = g.members.front();
  add_up(guard, g);
  if (g.part.empty()) divide(g);
  for (int total = 1; total <= k_; ++total) {
    if (total % size == 0) continue;  // cannot be divided
    std::vector<Lit> clause = {-guard, -before(g.t, first, k_, total)};
    if (total < k_) clause.push_back(before(g.t, first, k_, total + 1));
    formula_.add(clause);
  }
  for (int p = 0; p < size; ++p)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) becomes(guard, g.t, g.members[p], r, c, sum(g, r, c), g.part[p * k_ + r]);
}

// Equally many of each: the unary counts over all chunks agree, from the first device to the last. No two
// devices hold the same chunk, so the union adds nothing twice.
void StrategyEncoding::all_gather(Lit guard, const Group& g) {
  const std::vector<int>& members = g.members;
  formula_.add({-guard, before(g.t, members.front(), k_, 1)});
  for (std::size_t i = 0; i < members.size(); ++i)
    for (std::size_t j = i + 1; j < members.size(); ++j)
      for (int r = 0; r < k_; ++r)
        formula_.add({-guard, -some(g.t, members[i], r), -some(g.t, members[j], r)});
  for (std::size_t i = 0; i + 1 < members.size(); ++i)
    for (int n = 1; n <= k_; ++n) {
      const Lit a = before(g.t, members[i], k_, n), b = before(g.t, members[i + 1], k_, n);
      formula_.add({-guard, -a, b});
      formula_.add({-guard, a, -b});
    }
  for (int d : members)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) becomes(guard, g.t, d, r, c, sum(g, r, c));
}

// The first has all that another has, and something that another has not: a Broadcast that transfers nothing
// is not an instruction.
void StrategyEncoding::broadcast(Lit guard, Group& g) {
  const int first = g.members.front();
  if (g.more.empty()) compare(g);
  std::vector<Lit> informs = g.more;
  informs.push_back(-guard);
  formula_.add(informs);
  for (int d : g.members)
    for (int r = 0; r < k_; ++r)
      for (int c = 0; c < k_; ++c) {
        if (d != first) formula_.add({-guard, -held(g.t, d, r, c), held(g.t, first, r, c)});
        becomes(guard, g.t, d, r, c, held(g.t, first, r, c));
      }
}

// All groups act at once: each rule reads the state at t and writes that at t + 1. A device in no group keeps
// what it has.
void StrategyEncoding::instruct(int t, int instruction) {
  const LoweredInstruction& what = instructions_[instruction];
  const Lit guard = chosen(t, instruction);
  std::vector<bool> acts(k_, false);
  for (const std::vector<int>& members : what.groups) {
    for (int d : members) acts[d] = true;
    Group& g = group(t, members);
    switch (what.operation) {
      case Operation::AllReduce:
        all_reduce(guard, g);
        break;
      case Operation::Reduce:
        reduce(guard, g);
        break;
      case Operation::ReduceScatter:
        reduce_scatter(guard, g);
        break;
      case Operation::AllGather:
        all_gather(guard, g);
        break;
      case Operation::Broadcast:
        broadcast(guard, g);
        break;
    }
  }
  for (int d = 0; d < k_; ++d)
    for (int r = 0; r < k_ && !acts[d]; ++r)
      for (int c = 0; c < k_; ++c) becomes(guard, t, d, r, c, held(t, d, r, c));
}

// Instructions of one step are exclusive; their own clauses decide which are legal: an illegal one has a
// false guard.
void StrategyEncoding::extend() {
  const int t = length();
  add_state();
  chosen_.emplace_back();
  for (std::size_t i = 0; i < instructions_.size(); ++i) chosen_.back().push_back(formula_.fresh());
  formula_.add(chosen_.back());
  at_most_one(formula_, chosen_.back());
  for (int i = 0; i < static_cast<int>(instructions_.size()); ++i) instruct(t, i);
}

std::vector<int> StrategyEncoding::decode(const std::function<bool(Lit)>& value, int length) const {
  std::vector<int> result;
  for (int t = 0; t < length; ++t)
    for (std::size_t i = 0; i < instructions_.size(); ++i)
      if (value(chosen_[t][i])) result.push_back(static_cast<int>(i));
  return result;
}

// As text, and by other means than the clauses of strategy_encoding.cpp: sets are bit vectors, counting is
// arithmetic, and a part is an inequality of products. So what the two agree on has been derived twice,
// independently.
//
// Everything is written out for each instruction under "if it is the chosen one": text is long and nothing is
// shared; the solver finds the sharing. Counts are defined for each state once, by sums of 0 and 1, and only
// constants multiply them, so the arithmetic is linear.
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
