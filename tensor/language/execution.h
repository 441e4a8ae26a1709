// How a workload is carried out, where its program leaves that open: what the tuner chooses beside the
// schedule. What is not given is left to the emitted code, which decides by the sizes that it finds when it
// runs.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

class JsonReader;

// An operation's communication is done by the point of its collective's frontier that has this cost.
struct ChosenPoint {
  std::string operation = {};
  Cost cost = {};
  bool operator==(const ChosenPoint&) const = default;
};

// Number of pieces into which the data between the units of an overlap are cut.
struct ChosenPieces {
  std::string overlap = {};
  int pieces = 1;
  bool operator==(const ChosenPieces&) const = default;
};

struct Execution {
  std::vector<ChosenPoint> points = {};
  std::vector<ChosenPieces> pieces = {};
  int block =
      0;  // on a CPU: elements of a sum that are made at once; on a GPU: threads of a block; 0: not given
  int channels = 0;  // on a GPU: thread blocks that work for a rank; 0: not given
  bool operator==(const Execution&) const = default;
};

// None: not given.
const Cost* point_of(const Execution&, const std::string& operation);
int pieces_of(const Execution&, const std::string& overlap);  // 0: not given

// {"points":[{"operation":"rs","cost":[3,3,1]}],"pieces":[{"overlap":"both","pieces":8}],
//  "block":2048,"channels":2}: a cost is steps, rounds, chunks; what is not given is left out.
std::string to_json(const Execution&);
// Throws InputError.
Execution execution_from_json(const JsonReader&);

// For people: "rs in 3 steps and 3/1 rounds, both in 8 pieces, blocks of 2048"; "" if nothing is given.
std::string to_string(const Execution&);

}  // namespace chorale
