// One machine as rooms pass it on: as it was described, as schedules see it, and what is asked of it again
// and again, found once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "ir/topology.h"

namespace chorale {

// A handle: copies are of one machine, and any thread may ask.
class Machine {
 public:
  // Requires `flat` without switches, since schedules are between ranks; throws std::logic_error. `flat` is
  // what `described` is without its switches (machine_of, topology/switches.h).
  Machine(Topology described, Topology flat)
      : shared_(std::make_shared<Shared>(std::move(described), std::move(flat))) {
    if (topology().switches > 0) throw std::logic_error(topology().name + " has switches");
  }
  Machine(const Topology& flat) : Machine(flat, flat) {}

  const Topology& described() const { return shared_->described; }
  const Topology& topology() const { return shared_->flat; }
  operator const Topology&() const { return topology(); }

  // Returns find(topology()), found when it is first asked for: machine.once(have_equal_rates). Two threads
  // that
  // ask at once may both find it, and get the same.
  template <class Fact>
  const Fact& once(Fact (*find)(const Topology&)) const {
    const auto key = reinterpret_cast<void (*)()>(find);
    {
      const std::lock_guard lock(shared_->mutex);
      if (const auto at = shared_->facts.find(key); at != shared_->facts.end())
        return *static_cast<const Fact*>(at->second.get());
    }
    const auto found = std::make_shared<const Fact>(find(topology()));
    const std::lock_guard lock(shared_->mutex);
    return *static_cast<const Fact*>(shared_->facts.try_emplace(key, found).first->second.get());
  }

 private:
  struct Shared {
    Shared(Topology with_switches, Topology without)
        : described(std::move(with_switches)), flat(std::move(without)) {}
    const Topology described, flat;
    std::mutex mutex = {};                                         // of the facts
    std::map<void (*)(), std::shared_ptr<const void>> facts = {};  // by what finds them
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace chorale
