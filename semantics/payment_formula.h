// What are the chunks paid at least, in however many steps? Rules that every schedule keeps, as inequalities
// over 0 and 1, in OPB text. Links and shared limits have prices, a send pays those of its link and of the
// limits over it, and a round is paid at most P, the sum of bandwidth * price. Variables (c chunk, l link):
//   s_c_l       chunk c is sent over l; where a limit over l multicasts and reduces, as a copy
//   a_c_l       there, as what is added
//   o_c_z_n     limit z, which multicasts, counts chunk c once as it leaves rank n
//   i_c_z_n     limit z, which reduces sums, counts chunk c once as it comes to rank n
//   x_c_j_l     of the sends of chunk c between groups of ranks, in order of time, the j-th is over l
//   h_c_g_j_i   then some rank of group g has what a rank of group i, which contributes, starts with
//
//   (entry)     a set of ranks that needs c and does not start with it (a sum: with all of it):
//               c is sent over some link into it
//   (once)      s_c_l or a_c_l -> the o of its source, or the i of its destination
//   (start)     not h_c_g_0_i, for g other than i
//   (single)    at most one x_c_j_l for each j
//   (order)     where there is a (j+1)-th, there is a j-th
//   (arrival)   h_c_g_j_i -> h_c_g_(j-1)_i, or some x_c_j_l into g
//   (source)    h_c_g_j_i and x_c_j_l -> h_c_g_(j-1)_i, or h_c_f_(j-1)_i, where l is from group f into g
//   (end)       h_c_g_J_i for all groups g that need c and all i, or there is a J-th send
//   (payment)   all together pay at most `most`: s and a the prices of the link and of limits that count each
//               send, o and i that of the limit; of a chunk with x, those between groups
//
// Sends of one step are in any order: each sends what was there before the step. A send counted once where
// it is made twice, and sends left out after the J-th, only pay less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

class PaymentFormula {
 public:
  // Requires ranks and links in range, no switches, and one price for each link and limit.
  PaymentFormula(const Topology&, const Collective&, Prices);

  // How a chunk can be sent over a link, and the limits with a price that count it once.
  struct PaidSend {
    std::string name = {};
    std::vector<int> leaving = {}, coming = {};  // by the rank that it leaves, comes to
  };
  std::vector<PaidSend> sends(Chunk, LinkId) const;

  // Writes (entry), and returns the rule's number, from 1 on; 0 and nothing where no send need enter the set.
  long enter(Chunk, const std::vector<bool>& inside);
  // Writes all rules from (start) to (end), for the first `sends` between groups, numbered from 0 without
  // gaps. Returns the first of `sends` rules (single), after which (order) follows for j = 1..sends-1.
  // Requires a sum, and no price of limits that count several sends once.
  long cross(Chunk, const std::vector<int>& group, int sends);
  // Writes (once) and (payment), and returns the number of the latter.
  long pay(std::int64_t most);

  std::string text() const;
  long rules() const { return rules_; }
  static std::string once(Chunk, int limit, Rank, bool leaving);
  static std::string crossing(Chunk, int j, LinkId);
  static std::string known(Chunk, int group, int j, int of_group);

 private:
  long end(std::int64_t least);  // of a rule whose terms have been written

  const Topology& topology_;
  const Collective& collective_;
  const Prices prices_;
  std::vector<std::int64_t> weights_ = {};     // by link: what each send pays
  std::vector<std::vector<int>> limits_ = {};  // by link: those with a price that count several sends once
  std::vector<bool> crosses_;                  // by chunk
  std::string body_ = {}, payment_ = {};
  long rules_ = 0, variables_ = 0;
};

}  // namespace chorale
