// What a complete result excludes. Completeness is derived from claims about steps and rounds per chunk; it
// is one in time only where the cost model makes the time of steps and rounds, and only about the schedules
// that the claims are about. Text, JSON, pages and Python take their words from here.
#pragma once

#include <string>

#include "ir/frontier.h"

namespace chorale {

// Each excludes more than the one before.
enum class Completeness {
  Open,            // nothing: the result is not complete
  StepsAndRounds,  // schedules of its space that are better in steps and rounds per chunk
  Time             // schedules that are faster, at any size, by point_us (cost/program_time.h)
};

// Time: the space has no limits, and all links have one alpha and one beta, so a time is
// steps * alpha + rounds/chunks * bytes * beta.
Completeness completeness(const Result&);
// "complete in steps and rounds per chunk; in time not, since links differ in latency or rate"; "" for Open.
std::string completeness_in_words(const Result&);

// Is this time the least? The bound holds for all schedules; both are sums of products, so they are equal up
// to 1e-9.
bool meets_bound(double us, double bound_us);
// "98.7 %": the bound over the time. "100.0 %" is of a time that meets the bound alone, and "99.9 %" of one
// that nearly does; "-" where one of them is not known.
std::string share_of_bound(double us, double bound_us);

}  // namespace chorale
