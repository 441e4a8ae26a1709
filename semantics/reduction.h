// The verifier of reduction strategies: what the five operations do to the data of devices, after Figure 8 of
// P^2 (Xie et al. 2022), to the letter.
//
// Data of k devices is k chunks. A device's state is a k x k bit matrix: row r is the set of contributions in
// its partial sum of chunk r; an empty row: it holds nothing of the chunk. For one group, s_i the state of
// its i-th device:
//
//   AllReduce      all s_i have the same non-empty rows, and in each row disjoint contributions; all get the
//                  sum
//   ReduceScatter  as AllReduce; the number of non-empty rows is divisible by the group's size n; the i-th
//                  device gets the i-th n-th of them, in row order
//   AllGather      equally many non-empty rows, at least one, and no two devices have the same one; all get
//                  all
//   Reduce         as AllReduce; the first device gets the sum, the others hold nothing any more
//   Broadcast      no device has a contribution that the first lacks, and one has fewer; all get the first's
//
// AllReduce, ReduceScatter and Reduce of devices that hold nothing are legal and do nothing. Groups of one
// instruction act at once. A rule that is broken anywhere makes the strategy invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/error.h"
#include "ir/placement.h"

namespace chorale {

inline constexpr int kMostVerifiedDevices = 64;

class ReductionState {
 public:
  // Every device holds its own data. Requires 1 <= devices <= kMostVerifiedDevices.
  explicit ReductionState(int devices);
  // Returns the state in which device d has complete sums over all devices of its group.
  static ReductionState reduced(int devices, const DeviceGroups&);

  int devices() const { return devices_; }
  std::uint64_t row(int device, int chunk) const { return bits_[device * devices_ + chunk]; }
  std::uint64_t rows(int device) const;  // the set of its non-empty rows

  bool allows(StrategyInstruction::Operation, const DeviceGroups&) const;
  // Applies the operation to all groups, or changes nothing and reports which rule is broken and where.
  std::optional<Fault> apply(StrategyInstruction::Operation, const DeviceGroups&);

  bool operator==(const ReductionState&) const = default;
  auto operator<=>(const ReductionState&) const = default;

 private:
  // Is a rule broken? Reports which if `fault` is not null.
  bool breaks(StrategyInstruction::Operation, const std::vector<int>& group, Fault* fault) const;
  void perform(StrategyInstruction::Operation, const std::vector<int>& group);
  std::uint64_t& at(int device, int chunk) { return bits_[device * devices_ + chunk]; }

  int devices_;
  std::vector<std::uint64_t> bits_;  // [device][chunk]
};

// Returns what is wrong with a strategy that is to sum over each of these groups: a malformed group, a broken
// rule, a device that ends without its sums. None: nothing.
std::optional<Fault> fault(int devices, const LoweredStrategy&, const DeviceGroups& reduced);

}  // namespace chorale
