// Reduction strategies as SMT-LIB text over bit vectors; a second, independent writing of Figure 8 of P^2.
//
//   h_t_d_r : BitVec k    contributions in device d's sum of chunk r after t instructions
//   s_t : Int             the (t+1)-th instruction
//   n_t_d_r : Int         how many of d's chunks 0..r-1 are not empty
// Of each instruction: s_t = i implies its precondition and the next state, as terms.
#pragma once

#include <string>
#include <vector>

#include "ir/placement.h"

namespace chorale {

class StrategySmtEncoding {
 public:
  StrategySmtEncoding(int devices, std::vector<LoweredInstruction> instructions, DeviceGroups reduced);

  std::string start() const;                         // declarations and the first state
  std::string extend(int t) const;                   // one more instruction, the (t+1)-th
  std::string at_goal(int t) const;                  // a term
  std::string chosen(int t, int instruction) const;  // a term
  static std::string selector(int t) { return "s_" + std::to_string(t); }

 private:
  std::string state(int t) const;
  std::string rule(int t, const LoweredInstruction&) const;  // precondition and next state
  // The rules of Figure 8, of one group each, as terms that must all hold. `sums`: by chunk, what the group
  // has of it.
  using Terms = std::vector<std::string>;
  using Devices = std::vector<int>;
  void add_up(int t, const Devices& group, Terms&) const;
  void all_reduce(int t, const Devices& group, const Terms& sums, Terms&) const;
  void reduce(int t, const Devices& group, const Terms& sums, Terms&) const;
  void reduce_scatter(int t, const Devices& group, const Terms& sums, Terms&) const;
  void all_gather(int t, const Devices& group, const Terms& sums, Terms&) const;
  void broadcast(int t, const Devices& group, Terms&) const;
  std::string becomes(int t, int device, int chunk, const std::string& term) const;
  std::string held(int t, int device, int chunk) const;
  std::string any(int t, int device, int chunk) const;    // not empty
  std::string count(int t, int device, int chunk) const;  // chunks before it
  std::string number(unsigned long long bits) const;

  const int k_;
  const std::vector<LoweredInstruction> instructions_;
  const DeviceGroups reduced_;
};

}  // namespace chorale
