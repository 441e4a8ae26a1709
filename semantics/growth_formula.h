// How fast can equal chunks spread? Rules that every schedule keeps, as inequalities over 0 and 1, in OPB
// text. First holders start with the chunks; M other ranks do not. A step of r rounds has at most r*k sends
// by first holders, r*K by each other rank, and r*J to each (of its links, or of a shared limit over some of
// them). Variables (c chunk, n other rank, s step 1..S):
//   h_c_n_s   n has chunk c after step s
//   f_c_s_i   first holders give c to an i-th other rank in step s
//   r_s_j     step s has a j-th round
//
//   (end)     so many h_c_n_S as there are destinations that do not start with c
//   (growth)  per c, s and r: if s has no (r+1)-th round, then after it the holders of c are at most
//             (1 + r*K) times those before, and one for each f_c_s_i
//   (first)   the f of a step are at most k * its rounds
//   (hold)    f_c_s_i -> r_s_j, the round in which the i-th can be given: the least j with i <= j*k
//   (all)     in a step as many h are new as its rounds * min(k + K*M, J*M), at most
//   (order)   r_s_(j+1) -> r_s_j
//   (rounds)  all rounds are at most those of the budget
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instance.h"

namespace chorale {

class GrowthFormula {
 public:
  // Requires copies, chunks of the same sources and destinations, a budget of rounds, and no switches.
  GrowthFormula(const Topology&, const Collective&, std::vector<Chunk> equal, const Budget&);

  // Rates, each no more than is of use.
  std::int64_t others() const { return std::ssize(others_); }  // M
  std::int64_t of_first() const { return of_first_; }          // k
  std::int64_t of_other() const { return of_other_; }          // K
  std::int64_t of_all() const { return of_all_; }              // min(k + K*M, J*M)
  std::int64_t wanted() const { return wanted_; }              // of (end)
  std::int64_t given() const { return given_; }                // f of a chunk and step

  // Rules are counted from 1 on; `at` is a position among the equal chunks.
  long end_rule(int at) const { return 1 + at; }
  long growth_rule(int at, int s, int r) const { return growth_ + index(at, s) * (budget_.rounds + 1) + r; }
  long first_rule(int s) const { return first_ + s - 1; }
  long hold_rule(int at, int s, int i) const { return hold_ + index(at, s) * given_ + i - 1; }
  long all_rule(int s) const { return all_ + s - 1; }
  long rules() const { return rules_; }
  std::string text() const;

  std::string given(int at, int s, int i) const;
  static std::string round(int s, int j);

 private:
  long index(int at, int s) const { return static_cast<long>(at) * budget_.steps + s - 1; }
  void write_spread(int at);
  void write_rounds();
  void write_held(int at, int s, std::int64_t coefficient);
  void end(std::int64_t least);

  const std::vector<Chunk> equal_;
  const Budget budget_;
  std::vector<Rank> others_ = {};
  std::int64_t of_first_ = 0, of_other_ = 0, of_all_ = 0, wanted_ = 0, given_ = 0;
  std::string body_ = {};
  long rules_ = 0, growth_ = 0, first_ = 0, hold_ = 0, all_ = 0;
};

}  // namespace chorale
