// Reduction strategies as a formula: is there a sequence of exactly T instructions? Written from Figure 8 of
// P^2 (Xie et al. 2022), independently of semantics/reduction.h.
//
// k devices, an instruction is one of the given (groups, operation). Variables, t the number of instructions
// so far:
//   held(t,d,r,c)    device d has the contribution of c in its sum of chunk r; some(t,d,r): of anyone
//   chosen(t,i)      instruction i is the (t+1)-th; exactly one
//   before(t,d,r,n)  of d's chunks 0..r-1 at least n are not empty; before(t,d,k,n): of all chunks
//   sum(t,g,r,c)     some device of group g has the contribution
//   part(t,g,p,r)    chunk r is in the p-th of the equal parts, in row order, of what the group holds
// Each rule of Figure 8 is a set of clauses guarded by chosen(t,i); devices in no group keep what they hold.
//
// Incremental over the length: extend() adds one more instruction; at_goal(t) is a literal to assume.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/formula.h"
#include "ir/placement.h"

namespace chorale {

class StrategyEncoding {
 public:
  // Instructions by number. Requires that groups of one instruction have equal sizes.
  StrategyEncoding(int devices, std::vector<LoweredInstruction> instructions, const DeviceGroups& reduced);

  const Formula& formula() const { return formula_; }
  int length() const { return static_cast<int>(chosen_.size()); }
  void extend();

  Lit at_goal(int t) const { return goal_[t]; }
  Lit chosen(int t, int instruction) const { return chosen_[t][instruction]; }
  // Instructions 0..length-1 of a model, by number.
  std::vector<int> decode(const std::function<bool(Lit)>& value, int length) const;

 private:
  struct Group {  // variables of one group at one time
    int t = 0;
    std::vector<int> members = {};
    Lit sum = 0;                 // the first: [chunk][contributor]
    std::vector<Lit> part = {};  // [part][chunk]; none until a scatter asks for them
    std::vector<Lit> more =
        {};  // the first member has what another has not: [member - 1][chunk][contributor]
  };
  void add_state();
  void count_chunks(int t);
  void reach_goal(int t);
  Group& group(int t, const std::vector<int>& members);
  void divide(Group&);   // defines `part`
  void compare(Group&);  // and `more`
  // Adds the rules of Figure 8, of one group each: if the guard holds, the precondition and what is held
  // afterwards.
  void instruct(int t, int instruction);
  void all_reduce(Lit guard, const Group&);
  void reduce(Lit guard, const Group&);
  void reduce_scatter(Lit guard, Group&);
  void all_gather(Lit guard, const Group&);
  void broadcast(Lit guard, Group&);
  void add_up(Lit guard, const Group&);
  // After instruction t, the device has the contribution if and only if `source` is true (and, if given,
  // `also`).
  void becomes(Lit guard, int t, int device, int chunk, int contributor, Lit source, Lit also = 0);
  Lit sum(const Group& g, int chunk, int contributor) const { return g.sum + chunk * k_ + contributor; }
  Lit held(int t, int device, int chunk, int contributor) const;
  Lit some(int t, int device, int chunk) const;
  Lit before(int t, int device, int chunk, int count) const;

  const int k_;
  const std::vector<LoweredInstruction> instructions_;
  const DeviceGroups reduced_;
  Formula formula_ = {};
  std::vector<Lit> held_ = {}, some_ = {};  // first variable, by t
  std::vector<std::vector<Lit>> before_ = {};
  std::vector<std::vector<Lit>> chosen_ = {};
  std::vector<Lit> goal_ = {};
  std::vector<Group> groups_ = {};
};

// Reduction strategies as SMT-LIB text over bit vectors; a second, independent writing of Figure 8 of P^2.
//
//   h_t_d_r : BitVec k    contributions in device d's sum of chunk r after t instructions
//   s_t : Int             the (t+1)-th instruction
//   n_t_d_r : Int         how many of d's chunks 0..r-1 are not empty
// Of each instruction: s_t = i implies its precondition and the next state, as terms.
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
