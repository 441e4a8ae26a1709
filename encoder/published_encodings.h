// The encodings of the literature, as baselines: SCCL's of integers, and one of SAT by partitions of the
// rounds.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/formula.h"
#include "ir/instance.h"
#include "ir/schedule.h"

namespace chorale {

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

// The SAT encoding of "Synthesizing Optimal Parallel Collectives via SAT" (2024), as a baseline: one formula
// for one split of the rounds over the steps, without pruning. Variables here(c,n,t) and send(c,l,t); the
// page's constraints by number:
//
//   (1) here(c,n,0) iff n has c before
//   (2) here(c,d,S) for each destination
//   (3) send(c,l,t) -> here(c,src,t-1)
//   (4) here(c,n,t) and not here(c,n,t-1) -> some send(c,l,t) with l into n
//   (5) per link or limit and step: sends <= bandwidth * rounds of the step
//   (6) here(c,n,t-1) -> here(c,n,t)
//   (7) a chunk moves over a link at most once
class PartitionEncoding {
 public:
  // Takes one number of rounds per step. Requires a flattened topology and a collective that does not
  // combine.
  PartitionEncoding(const Instance&, std::span<const int> rounds_of_step);
  const Formula& formula() const { return formula_; }
  Schedule decode(const Assignment&) const;

 private:
  Lit here(Chunk c, Rank n, int t) const { return 1 + (c * ranks_ + n) * (steps_ + 1) + t; }
  Lit send(Chunk c, LinkId l, int t) const { return sends_from_ + (c * links_ + l) * steps_ + t; }

  const Instance instance_;
  const int ranks_, links_, chunks_, steps_;
  const Lit sends_from_;  // send(0, 0, 1) is the variable after this
  Formula formula_ = {};
};

// Steps to the next way to write the sum of `rounds_of_step` as the same number of integers >= 1, in
// lexicographic order from 1 1 ... up; false after the last.
bool next_partition(std::vector<int>& rounds_of_step);

}  // namespace chorale
