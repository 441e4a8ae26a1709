// The names of enumerations in files: writers, readers (ir/json_fields.h) and the schemas of docs take them
// from here. An enumeration that one codec names otherwise has none here.
#pragma once

#include <span>

#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/hierarchy.h"
#include "ir/named.h"
#include "ir/placement.h"

namespace chorale {

template <typename Value>
struct Names;  // all()

template <>
struct Names<ResultKind> {
  static std::span<const Named<ResultKind>> all() { return result_kinds(); }
};
template <>
struct Names<Stopped> {
  static std::span<const Named<Stopped>> all() { return endings(); }
};

inline constexpr Named<LinkModel::Shape> kShapes[] = {{LinkModel::Shape::Switch, "switch"},
                                                      {LinkModel::Shape::Ring, "ring"}};
template <>
struct Names<LinkModel::Shape> {
  static std::span<const Named<LinkModel::Shape>> all() { return kShapes; }
};
template <>
struct Names<Goal> {
  static std::span<const Named<Goal>> all() { return kGoalNames; }
};
template <>
struct Names<StrategyInstruction::Form> {
  static std::span<const Named<StrategyInstruction::Form>> all() { return kFormNames; }
};
template <>
struct Names<StrategyInstruction::Operation> {
  static std::span<const Named<StrategyInstruction::Operation>> all() { return kOperationNames; }
};

inline constexpr Named<Fault::Kind> kFaultKinds[] = {
    {Fault::Kind::Form, "form"},           {Fault::Kind::Size, "size"},
    {Fault::Kind::Match, "match"},         {Fault::Kind::Written, "written"},
    {Fault::Kind::Bandwidth, "bandwidth"}, {Fault::Kind::Repeated, "repeated"},
    {Fault::Kind::Absent, "absent"},       {Fault::Kind::CountedTwice, "counted twice"},
    {Fault::Kind::Race, "race"},           {Fault::Kind::Deadlock, "deadlock"},
    {Fault::Kind::Epilogue, "epilogue"},   {Fault::Kind::Order, "order"},
    {Fault::Kind::Outcome, "outcome"},     {Fault::Kind::Claim, "claim"},
    {Fault::Kind::Statement, "statement"}, {Fault::Kind::Limit, "limit"}};
template <>
struct Names<Fault::Kind> {
  static std::span<const Named<Fault::Kind>> all() { return kFaultKinds; }
};

}  // namespace chorale
