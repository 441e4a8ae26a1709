// Is there a schedule within a budget? Rules that every schedule keeps, as inequalities over 0 and 1, in the
// OPB text of pseudo-Boolean solvers and proof checkers. A copy is a sum of one contribution. Variables (c
// chunk, n rank, l link, s step 1..S, i contribution, named by the rank that makes it; none of a copy):
//   h_c_n_s_i   n has contribution i to c after step s (s = 0: before the first)
//   s_c_l_s     chunk c is sent over link l in step s
//   p_c_l_s_i   ... with contribution i
//   r_s_j       step s has a j-th round
//
//   (start)      not h_c_n_0_i, where n does not start with it
//   (source)     p_c_l_s_i -> s_c_l_s, and h_c_src_(s-1)_i; of a copy s_c_l_s -> h_c_src_(s-1)
//   (arrival)    h_c_n_s_i -> h_c_n_(s-1)_i, or some p_c_l_s_i with l into n
//   (end)        h_c_d_S_i for all destinations d and all i
//   (rounds)     the sum of all r_s_j is at most that of the budget
//   (bandwidth)  per step and link or shared limit: sends <= bandwidth * rounds of the step
//
// These are fewer rules than those of plain_formula.h: what is impossible by them is impossible. Left out are
// limits that count several sends once. A step of no round has no send, so a schedule of at most R rounds has
// at most R steps, and the formula of R steps has all of them.
#pragma once

#include <string>
#include <vector>

#include "ir/instance.h"

namespace chorale {

class LinearFormula {
 public:
  // Budget::rounds may be kAnyRounds (ir/frontier.h): then (rounds) and (bandwidth) are left out. Requires
  // ranks and links in range, no switches.
  LinearFormula(const Topology&, const Collective&, const Budget&);

  // Estimates how many literals it has.
  static double literals(const Topology&, const Collective&, const Budget&);

  std::string text() const;
  long rules() const { return rules_; }
  // Rules are counted from 1 on. (rounds) is one, of a bandwidth each; 0: that limit was left out.
  long rounds_rule() const { return rounds_rule_; }
  long link_rule(LinkId l, int s) const { return link_rules_[(s - 1) * links_ + l]; }
  long limit_rule(int limit, int s) const { return limit_rules_[(s - 1) * limits_ + limit]; }

  static std::string send(Chunk, LinkId, int s);

 private:
  void write_chunk(const Topology&, const ChunkSpec&, Chunk, int contributor, int steps);
  void write_counts(const Topology&, const Collective&, const Budget&);
  void end(int least);  // of a rule whose terms have been written

  const std::size_t links_, limits_;
  std::vector<std::vector<LinkId>> into_ = {};  // by rank
  std::string body_ = {};
  long rules_ = 0, variables_ = 0, rounds_rule_ = 0;
  std::vector<long> link_rules_ = {}, limit_rules_ = {};
};

}  // namespace chorale
