// The programs that an emitted file has: which is for blocks of a size, and which are for a machine of which
// something has failed, as they are or renumbered; and the numbers that it is given. C++17, and is copied
// into emitted programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ir/step_table.h"
#include "runtime/device/self_check.h"

namespace chorale {

// What blocks of up to this many bytes take: the first row that reaches them.
struct Form {
  double up_to;
  const char* name;
  const StepTables& tables;
  bool serialized;  // messages that share a port go one after the other
  SelfCheck (*check)();
};
inline const Form& form_of(double bytes, const Form* form) {
  while (bytes > form->up_to) ++form;
  return *form;
}

// What has failed of the machine, and the forms for that; what their ranks are called, null: as they are.
struct Failure {
  const char* name;
  const Form* forms;
  const int* ranks;
  int lost;  // the rank that has failed, or -1
};
// Null: there is nothing for that failure.
template <std::size_t count>
const Failure* failure_named(const Failure (&failures)[count], const char* name) {
  for (const Failure& each : failures)
    if (std::strcmp(each.name, name) == 0) return &each;
  return nullptr;
}
// The first one is for the whole machine.
template <std::size_t count>
std::string not_ready_for(const Failure (&failures)[count], const char* name) {
  std::string some;
  for (std::size_t i = 1; i < std::min<std::size_t>(count, 5); ++i)
    some += (i == 1 ? ": " : ", ") + std::string(failures[i].name);
  return "no algorithm is ready for the failure of '" + std::string(name) + "'; there are some for " +
         std::to_string(count - 1) + " failures" + some;
}

// Of the command line; `otherwise` where it is shorter, and -1 for what is no number.
inline long integer_argument(int argc, char** argv, int k, long otherwise) {
  if (k >= argc) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(argv[k], &end, 10);
  return end == argv[k] || *end != '\0' ? -1 : value;
}

// Tables of a program (ir/step_table.h) whose rank n is called ranks[n]: an algorithm that was found for one
// failed link, for another that a symmetry of the machine carries to it. Blocks that lie by rank in an input
// or output go where they lie for those ranks. Not for custom collectives.
class RenumberedSteps {
 public:
  // A permutation; null: ranks are called as they are. The tables must live as long as this.
  RenumberedSteps(const StepTables& steps, const int* ranks) : tables_(steps) {
    if (ranks == nullptr) return;
    // Of an input or output of as many blocks as there are ranks.
    const auto slot = [&](int rank, int buffer, int at) {
      const bool by_rank = buffer < 2 && steps.slots[rank][buffer] == steps.ranks * steps.pieces;
      return by_rank ? ranks[at / steps.pieces] * steps.pieces + at % steps.pieces : at;
    };
    const auto block = [&](int rank, int at) { return slot(rank, 0, at * steps.pieces) / steps.pieces; };
    slots_.resize(steps.ranks);
    slices_.resize(steps.ranks);
    for (int n = 0; n < steps.ranks; ++n) {
      slots_[ranks[n]] = steps.slots[n];
      slices_[ranks[n]] = slot(n, 0, steps.slices[n]);
    }
    messages_.assign(steps.messages, steps.messages + steps.message_count);
    for (StepMessage& m : messages_) {
      m.from_slot = slot(m.from, m.from_buffer, m.from_slot);
      m.to_slot = slot(m.to, m.to_buffer, m.to_slot);
      m.from = ranks[m.from];
      m.to = ranks[m.to];
    }
    work_.assign(steps.work, steps.work + steps.work_count);
    for (StepWork& w : work_) {
      w.from_slot = slot(w.rank, w.from_buffer, w.from_slot);
      w.to_slot = slot(w.rank, w.to_buffer, w.to_slot);
      if (w.completes != 0) w.block = block(w.rank, w.block);
      w.rank = ranks[w.rank];
    }
    tables_.slots = slots_.data();
    tables_.slices = slices_.data();
    tables_.messages = messages_.data();
    tables_.work = work_.data();
  }
  RenumberedSteps(const RenumberedSteps&) = delete;
  RenumberedSteps& operator=(const RenumberedSteps&) = delete;

  const StepTables& tables() const { return tables_; }

 private:
  StepTables tables_;
  std::vector<std::array<int, 3>> slots_ = {};
  std::vector<int> slices_ = {};
  std::vector<StepMessage> messages_ = {};
  std::vector<StepWork> work_ = {};
};

}  // namespace chorale
