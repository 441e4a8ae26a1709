// What the verifier has accepted, carried across the rooms' borders: a function that takes a
// Verified<Program> need not verify it again, and cannot be called with an unverified one.
//
// Made in semantics/verified.h alone, of a Schedule, a Program, a BlockProgram or a PeerProgram, each for one
// collective on one machine. Never changed afterwards: a pass takes the value, makes another one, and the
// recipe (codegen/passes/lower.h) verifies what it ends with. Copies share the value.
#pragma once

#include <memory>
#include <utility>

#include "ir/collective.h"
#include "ir/topology.h"

namespace chorale {

// What something was verified for.
struct VerifiedFor {
  Topology topology =
      {};  // without links where none were asked for: of a program from a file that names none
  Collective collective = {};
};

template <typename T>
class Verified {
 public:
  Verified(const Verified&) = default;  // and no moves, after which one would be empty
  Verified& operator=(const Verified&) = default;

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  const Topology& topology() const { return for_->topology; }
  const Collective& collective() const { return for_->collective; }

 private:
  friend class Verifier;  // semantics/verified.cpp
  friend struct
      UnverifiedForTests;  // executors are tested on wrong programs, too (tests/runtime/unverified.h)

  Verified(std::shared_ptr<const VerifiedFor> what_for, T value)
      : for_(std::move(what_for)), value_(std::make_shared<const T>(std::move(value))) {}

  std::shared_ptr<const VerifiedFor> for_;
  std::shared_ptr<const T> value_;
};

}  // namespace chorale
