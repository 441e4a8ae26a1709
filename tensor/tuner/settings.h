// Settings of execution that a schedule leaves open, each with its possible values: for measurements to try
// them.
#pragma once

#include <string>
#include <vector>

#include "tensor/language/execution.h"
#include "tensor/language/workload.h"
#include "tensor/tuner/price.h"

namespace chorale {

// What there is to choose from where a schedule is to run, rising; nothing: it means nothing there.
struct SettingValues {
  std::vector<int> blocks = {};             // sizes of blocks, where sums are made
  std::vector<int> channels = {};           // thread blocks that work for a rank
  int usual_block = 0, usual_channels = 0;  // of these, what is emitted where none is given
};

struct OpenSetting {
  enum class Kind { Point, Pieces, Block, Channels };
  Kind kind = Kind::Point;
  std::string name = {};          // of the operation; of the overlap
  std::vector<Cost> points = {};  // of Point: by rising steps
  std::vector<int> numbers = {};  // of the others: rising
  std::size_t usual = 0;          // the value of an execution that gives none
  std::size_t size() const { return kind == Kind::Point ? points.size() : numbers.size(); }
};

// Those with more than one value. Throws InputError for a collective without a price.
std::vector<OpenSetting> open_settings(const Workload&, const WorkloadPrices&, const SettingValues&);

// Which value an execution has: the nearest one.
std::size_t value_of(const Execution&, const OpenSetting&);
Execution with_value(Execution, const OpenSetting&, std::size_t value);

}  // namespace chorale
