// The time that a workload takes on a machine, by a model. Units come one after the other, each
//
//   launch + steps * alpha + the longest of: what its collectives move, its memory traffic, its arithmetic
//
// since a kernel, and a collective, moves, reads and computes piece by piece. The launch of a unit that
// communicates is a call on its machine (AlphaBeta::call_us), where that takes longer than the device's.
// Units that are overlapped hand over pieces to each other: all launches, all steps, and a price for each
// handing over; but never less than their memory traffic together takes. As emitted, a product hands over to
// one communication, and takes what it brings, piece by piece: messages are cut as the product is.
// Communications that follow each other, and those around the products of experts, are cut as a pipeline, and
// each piece takes the steps of its own.
//
// What a schedule leaves open, the points of its collectives and the number of pieces (language/execution.h),
// is chosen: for each number of pieces, from what is best for each collective by itself, one point at a time
// is changed for as long as the run that it belongs to gets shorter.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "ir/frontier.h"
#include "tensor/language/execution.h"
#include "tensor/language/workload.h"

namespace chorale {

// The computing rates of a rank. The defaults are about those of a GPU of 2020 with tensor cores.
struct DeviceNumbers {
  double launch_us = 4;          // of a kernel, or of a call of a library
  double memory_gbs = 1400;      // between memory and registers
  double product_tflops = 200;   // of MatMul and Convolution of 16-bit floats
  double compute_tflops = 15;    // of all else, in float32
  double double_tflops = 7;      // in float64 and integers
  double piece_bytes = 1 << 16;  // overlapped units hand over at least this much at a time
  double piece_us = 1;           // of handing a piece over: a counter is raised, and seen
  // The part of overlapped work that is done at the same time: none where the processor that computes also
  // moves what is communicated, and has nothing left.
  double beside = 1;
  bool operator==(const DeviceNumbers&) const = default;
};

// The algorithms for a collective among all ranks, or among those of a group; Send: between groups.
struct CollectivePrice {
  static constexpr int kAnyRoot = -1;
  OperationKind kind = OperationKind::AllReduce;
  Scope scope = Scope::World;
  int root = kAnyRoot;  // of Reduce, Broadcast
  AlphaBeta link = {};
  std::vector<Cost> points = {};  // of a frontier, in any order; at least one
  // Microseconds that a point takes for a block of `block_bytes` bytes, from 0 on, by simulation, for links
  // that differ. None: steps and rounds at the price of `link`. Called often with the same arguments.
  std::function<double(std::size_t point, double block_bytes)> simulated = {};
};

struct WorkloadPrices {
  DeviceNumbers device = {};
  std::vector<CollectivePrice> collectives = {};
};

// Null: there is none for that, or it has no points.
const CollectivePrice* price_of(const WorkloadPrices&, OperationKind, Scope, int root);

struct UnitPrice {
  std::string name = {};  // of the kernel, or operation
  double launch_us = 0, steps_us = 0;
  double moved_us = 0, memory_us = 0, compute_us = 0;  // at the same time
  std::vector<Cost> points = {};                       // that were chosen, by collective of the unit
  double us() const;                                   // by itself
  bool operator==(const UnitPrice&) const = default;
};

// Units that are overlapped, or a single one.
struct RunPrice {
  std::string overlap = {};
  int pieces = 1;  // handed over
  double us = 0;
  std::vector<UnitPrice> units = {};
  bool operator==(const RunPrice&) const = default;
};

struct WorkloadPrice {
  double us = 0;
  std::vector<RunPrice> runs = {};  // in order
  Execution execution = {};         // what was chosen, and what was given
};

// The numbers of pieces that the `handed_over` bytes per rank of an overlap can be cut into: 1, 2, 4, .. 64,
// each piece of no fewer bytes than the device's.
std::vector<int> possible_pieces(std::int64_t handed_over, const DeviceNumbers&);

// Of what is carried out as is given; the rest is chosen. Throws InputError for a collective without a price,
// and for a point that it does not have. Requires types.
WorkloadPrice price(const Workload&, const WorkloadPrices&, const Execution& = {});
// The same; none where a collective has no price, or not that point.
std::optional<WorkloadPrice> price_if_any(const Workload&, const WorkloadPrices&, const Execution& = {});

// Settings of execution that a schedule leaves open, each with its possible values: for measurements to try
// them.

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
