// Latencies and rates of the links of a machine, from times of messages between its ranks. By the model of
// ir/topology.h,
//
//   a message by itself        sum of alpha + bytes * largest beta / bandwidth, over the links of its path
//   messages at the same time  largest sum of alpha + largest load * beta, over the links, where the load of
//                              a link is the bytes that go over it divided by its bandwidth; a shared limit
//                              has a load as well, and the largest beta of its links
//
// Links that are described alike (bandwidth, alpha, beta) are of one class, and get the same numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/message_time.h"
#include "ir/topology.h"

namespace chorale {

struct LinkClass {
  Link described = {};             // the first of them
  std::vector<LinkId> links = {};  // rising
};

// Returns the classes by their first link.
std::vector<LinkClass> link_classes(const Topology&);

// Returns the path of a message, through switches only: the one of fewest links, of these the widest
// (bandwidth / beta at its narrowest link). Empty: there is none.
std::vector<LinkId> message_route(const Topology&, Rank src, Rank dst);

// Pairs such that each class of links that is on a path is on the paths of up to `most` of them, spread over
// the machine, the shortest paths first. Sorted, each once.
std::vector<std::pair<Rank, Rank>> pairs_to_measure(const Topology&, int most);

// Messages that all are sent at the same time.
struct Crowd {
  std::string name = {};                   // "all 16 links like 0 -> 1"
  std::vector<RankMessage> messages = {};  // with the bytes for one byte of unit: a link's bandwidth, or 1
};

// Returns, for each class of links between ranks, all of them; and with switches, all ranks to the next one,
// and to the opposite one.
std::vector<Crowd> crowds_to_measure(const Topology&);

// What a crowd takes by the machine as it is described, in us for each byte of unit, alphas left out; and the
// class that decides, of link_classes().
struct CrowdRate {
  double us_per_byte = 0;
  int decides = 0;
};
CrowdRate predicted(const Topology&, const Crowd&);

struct CalibratedClass {
  LinkClass links = {};
  std::optional<Spread> alpha_us = {},
                        beta_us_per_byte = {};  // none: it was not measured, and the description stays
  double line_gbs = 0;                          // of a link, by its datasheet; 0: not known
  double shared = 1;                            // times slower when all are in use; 1 or more
};

struct CalibratedCrowd {
  std::string name = {};
  double us_per_byte = 0;  // measured
  double alone = 0;        // what links give by themselves, unless an earlier crowd has determined it
};

// A collective that another program timed on the whole machine, at sizes from small to large.
struct CalibratedCollective {
  std::string name = {}, file = {};
  std::string algorithm = {};      // the baseline that is the fastest at the largest size
  double off_before = 0, off = 0;  // median of |predicted / measured - 1|, by the machine before and after
};

struct Calibration {
  Topology machine = {};  // with the medians, rates as when all links are in use
  std::vector<CalibratedClass> classes = {};
  std::vector<CalibratedCrowd> crowds = {};
  std::vector<CalibratedCollective> collectives = {};
};

// A measured time of a collective, and what the machine predicts of it without a call: by alphas, by betas.
struct CollectiveTime {
  double us = 0;  // > 0
  double steps_us = 0, bytes_us = 0;
};

// What a call costs, and by how much alphas and betas are longer than described, such that
//   us = call_us + alphas * steps_us + betas * bytes_us
// for all times with the least sum of squares of relative errors. None is negative. Alphas and betas stay
// near 1 where the times do not tell them apart (a call from steps, of one collective).
struct MachineFit {
  double call_us = 0, alphas = 1, betas = 1;
};
MachineFit fit_machine(std::span<const CollectiveTime>);

// The machine with these costs.
Topology with_fit(Topology, const MachineFit&);

// Of a pair, the shortest message by itself gives the latency; the two longest ones of different sizes give
// the rate, of those behind others if there are any: by their medians; by their least times if medians do not
// rise; no rate if these do not either. Throws InputError, which cites `where`, for times that are not
// positive, and for pairs without a path.
Calibration calibrated(const Topology&, std::span<const MessageTime>, const std::string& where);

// Solves, with crowds (us for each byte of unit, by crowd): the class that decides is as much slower as the
// crowd is.
void share(Calibration&, std::span<const Crowd>, std::span<const double> us_per_byte);

}  // namespace chorale
