// The integer encoding of SCCL (Cai et al. 2021, section 3) as SMT-LIB text, as a baseline: no pruning.
//
//   time(c,n) in 0..S+1   the step after which n has c; S+1: never        rounds(s) >= 0, their sum <= R
//   send(c,l)             c moves over link l
//
//   (C1) time = 0 where the chunk starts           (C2) time <= S where it is wanted
//   (C3) time <= S -> exactly one send(c,l) into n (C4) send(c,l) -> time(c,src) < time(c,dst)
//   (C5) per link or limit and step s: number of sends(c,l) with time(c,dst) = s is <= bandwidth * rounds(s)
//
// The paper has rounds(s) >= 1 and exactly S steps; ours may be 0, so that the question is "at most", as
// everywhere here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/instance.h"
#include "ir/schedule.h"

namespace chorale {

class SmtEncoding {
 public:
  explicit SmtEncoding(const Instance&);  // flattened topology, a collective that does not combine
  const std::string& text() const { return text_; }
  std::vector<std::string> wanted() const;  // the names whose values decode needs
  Schedule decode(const std::map<std::string, long long>& values) const;

 private:
  const Instance instance_;
  std::string text_ = {};
};

}  // namespace chorale
