// Transfers over the links of a machine, as fluids: all active transfers share each link and each shared
// limit evenly (max-min fairness, as Bertsekas and Gallager 1992, 6.5.2), and rates change when one begins or
// ends. A transfer of b bytes alone occupies its link for beta * b / bandwidth; then its data have left, and
// they arrive alpha later.
#pragma once

#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "ir/topology.h"

namespace chorale {

class FluidNetwork {
 public:
  explicit FluidNetwork(const Topology&);  // kept by reference; without switches

  double now() const { return now_; }

  // Of a shared limit over a link, which part of a transfer counts: less than all where a switch carries
  // one value for several.
  struct Counted {
    int limit = 0;
    double part = 1;
  };
  const std::vector<int>& limits_of(LinkId l) const { return limits_of_[l]; }

  // A transfer that begins now; its number, from 0. It has as many shares as it has messages. All limits
  // count it in full.
  int start(LinkId, double bytes, int messages = 1);
  int start(LinkId, double bytes, int messages, const std::vector<Counted>&);
  // The same over the direct link between the two on which it should arrive first, given the transfers that
  // are under way. Throws InputError if there is no link.
  int start_between(Rank from, Rank to, double bytes);
  double least_alpha(Rank from, Rank to) const;        // likewise
  bool had_a_choice() const { return had_a_choice_; }  // of several links, for any start_between so far

  bool left(int transfer) const { return transfers_[transfer].leaves <= now_; }
  bool arrived(int transfer) const { return transfers_[transfer].arrives <= now_; }

  void wake_at(double time);  // something else happens then
  // Goes on to the next time at which something happens; false if nothing does. What arrived then:
  // `arrivals`.
  bool advance();
  const std::vector<int>& arrivals() const { return arrivals_; }

  struct Busiest {
    double us = 0;          // for which it is in use: no order of transfers beats it
    std::string name = {};  // "link 0 -> 1", "limit out of 3"; empty if nothing was sent
  };
  Busiest busiest() const;

 private:
  struct Use {
    int resource = 0;        // a link, or number of links + a limit
    double us_per_byte = 0;  // of one unit of it
  };
  struct Transfer {
    LinkId link = 0;
    double weight = 1, bytes_left = 0, rate = 0, since = 0;
    double leaves = 0, arrives = 0;
    unsigned version = 0;  // of `leaves`
    std::vector<Use> uses = {};
  };
  struct Event {
    double time = 0;
    int transfer = -1;     // -1: a call to wake
    bool arrival = false;  // else its data have left
    unsigned version = 0;
    bool operator>(const Event& other) const { return time > other.time; }
  };

  const std::vector<LinkId>& links_between(Rank from, Rank to) const;
  void leave(int transfer);
  void share();
  void flow(int transfer, double rate);

  const Topology& topology_;
  std::map<std::pair<Rank, Rank>, std::vector<LinkId>> between_ = {};
  std::vector<std::vector<int>> limits_of_ = {};  // by link
  std::vector<int> capacity_ = {};                // by resource, as what follows
  std::vector<std::vector<int>> on_ = {};         // active transfers
  std::vector<double> busy_us_ = {}, backlog_us_ = {};
  std::vector<Transfer> transfers_ = {};
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_ = {};
  std::vector<int> changed_ = {};  // resources on which something began or ended
  std::vector<int> arrivals_ = {};
  double now_ = 0;
  bool had_a_choice_ = false;
  // Of share(), kept between its calls.
  std::vector<double> room_ = {}, demand_ = {};
  std::vector<int> open_ = {}, resource_seen_ = {}, transfer_seen_ = {}, fixed_ = {};
  int round_ = 0;
};

}  // namespace chorale
