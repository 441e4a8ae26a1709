// Programs of one collective, of which an emitted file chooses by the size of a block.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/verified.h"

namespace chorale {

struct SizedProgram {
  Verified<Program> program;
  double up_to = HUGE_VAL;  // bytes of a block: the first program that reaches them is taken
  bool serialized = false;  // over MPI: its messages that share a port go one after the other
  // What its ranks check, where they are renumbered (AfterFailure); else what the program promises.
  std::optional<Collective> asked = {};
};

// Which of the programs are for the machine after a failure.
struct AfterFailure {
  std::string failure = {};      // "link 0-1"; "": nothing has failed
  int first = 0;                 // of the programs: those from this to the next one that is for all sizes
  std::vector<Rank> ranks = {};  // what their ranks are called; empty: as they are
  int lost = -1;  // the rank that has failed; the others are numbered in their order. -1: none has
};

}  // namespace chorale
