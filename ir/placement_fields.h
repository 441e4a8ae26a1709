// The fields of jobs and rankings (ir/fields.h), for their writers and readers (ir/json_placement.cpp,
// ir/json_ranking.cpp), the schemas of docs, and Python. In files axes, levels and reductions have names;
// numbers of microseconds are at most kMostUs.
#pragma once

#include "ir/fields.h"
#include "ir/ranking.h"
#include "ir/ranking_sentences.h"

namespace chorale {

inline constexpr double kMostUs = 1e30, kMostBytes = 1e30, kMostCount = 1 << 30;
inline constexpr double kMostReductionBytes = 1e18;
inline constexpr double kMostPrograms = static_cast<double>(1LL << 60);
inline constexpr std::size_t kMostAxes = 8;
inline constexpr std::size_t kMostRanked = 1'000'000, kMostRankedStrategies = 10'000, kMostRankedSteps = 64;

// A number that files have as a name: of an axis, a level or a reduction.
template <typename Owner, auto... Path>
struct ByName : Field<Owner, Path...> {
  static constexpr bool is_by_name = true;
};
// A double that files have as an integer.
template <typename Owner, auto... Path>
struct Whole : Field<Owner, Path...> {
  static constexpr bool is_whole = true;
};

template <>
struct Fields<Reduction> {
  using R = Reduction;
  static constexpr std::tuple all = {
      Field<R, &R::name>{{.name = "name", .may_lack = true}},
      Field<R, &R::goal>{{.name = "goal", .may_lack = true}},
      Field<R, &R::axes>{{.name = "axes", .longest = kMostAxes}},
      Field<R, &R::bytes>{{.name = "bytes", .least = 1, .most = kMostReductionBytes}},
      Field<R, &R::times>{{.name = "times", .least = 1e-9, .most = 1e12, .may_lack = true}},
      Whole<R, &R::element_bytes>{{{.name = "element_bytes", .least = 1, .most = 64, .may_lack = true}}},
      Field<R, &R::after>{{.name = "after", .longest = 1000, .may_lack = true, .unless_default = true}}};
};

template <>
struct Fields<Job> {
  static constexpr std::tuple all = {Field<Job, &Job::name>{{.name = "name", .key = "job"}},
                                     Field<Job, &Job::axes>{{.name = "axes", .longest = kMostAxes}},
                                     Field<Job, &Job::reductions>{{.name = "reductions", .longest = 1000}}};
};

template <>
struct Fields<Conditions::Inside> {
  using I = Conditions::Inside;
  static constexpr std::tuple all = {ByName<I, &I::axis>{{{.name = "axis"}}},
                                     ByName<I, &I::level>{{{.name = "level"}}}};
};
template <>
struct Fields<Conditions::Order> {
  using O = Conditions::Order;
  static constexpr std::tuple all = {ByName<O, &O::inner>{{{.name = "inner"}}},
                                     ByName<O, &O::outer>{{{.name = "outer"}}}};
};
template <>
struct Fields<Conditions::Memory> {
  using M = Conditions::Memory;
  static constexpr std::tuple all = {
      ByName<M, &M::level>{{{.name = "level"}}}, Field<M, &M::axes>{{.name = "axes", .longest = kMostAxes}},
      Field<M, &M::shard_bytes>{{.name = "shard_bytes", .most = kMostBytes}},
      Field<M, &M::capacity_bytes>{{.name = "capacity_bytes", .most = kMostBytes}}};
};
template <>
struct Fields<Conditions> {
  using C = Conditions;
  static constexpr std::tuple all = {Field<C, &C::inside>{{.name = "inside", .longest = 1000}},
                                     Field<C, &C::order>{{.name = "order", .longest = 1000}},
                                     Field<C, &C::memory>{{.name = "memory", .longest = 1000}}};
};

// An instruction as files have it: with its groups, where they are listed.
struct ListedInstruction {
  PricedInstruction priced = {};
  DeviceGroups groups = {};
  bool operator==(const ListedInstruction&) const = default;
};
template <>
struct Fields<ListedInstruction> {
  using L = ListedInstruction;
  using P = PricedInstruction;
  using S = StrategyInstruction;
  template <auto Member>
  using Priced = Field<L, &L::priced, Member>;
  template <auto Member>
  using Instruction = Field<L, &L::priced, &P::instruction, Member>;
  static constexpr std::tuple all = {
      ByName<L, &L::priced, &P::instruction, &S::slice>{{{.name = "slice"}}},
      Instruction<&S::form>{{.name = "form"}},
      ByName<L, &L::priced, &P::instruction, &S::ancestor>{{{.name = "ancestor", .may_lack = true}}},
      Instruction<&S::operation>{{.name = "operation"}},
      Priced<&P::us>{{.name = "us", .most = kMostUs}},
      Priced<&P::latency_us>{{.name = "latency_us", .most = kMostUs}},
      Priced<&P::binding>{{.name = "binding"}},
      Priced<&P::rings>{{.name = "rings", .most = kMostCount}},
      Priced<&P::pattern>{{.name = "pattern", .may_lack = true}},
      Field<L, &L::groups>{{.name = "groups", .may_lack = true}}};
};

// Of an exchange, which has no instruction.
template <>
struct Fields<PricedInstruction> {
  using P = PricedInstruction;
  static constexpr std::tuple all = {Field<P, &P::us>{{.name = "us", .most = kMostUs}},
                                     Field<P, &P::latency_us>{{.name = "latency_us", .most = kMostUs}},
                                     Field<P, &P::binding>{{.name = "binding"}},
                                     Field<P, &P::pattern>{{.name = "pattern", .may_lack = true}}};
};

inline std::vector<ListedInstruction> listed_instructions(const RankedStrategy& strategy) {
  std::vector<ListedInstruction> all;
  for (std::size_t i = 0; i < strategy.instructions.size(); ++i)
    all.push_back({strategy.instructions[i],
                   i < strategy.lowered.size() ? strategy.lowered[i].groups : DeviceGroups()});
  return all;
}
inline void take_instructions(RankedStrategy& strategy, const std::vector<ListedInstruction>& all) {
  for (const ListedInstruction& each : all) {
    strategy.instructions.push_back(each.priced);
    if (!each.groups.empty()) strategy.lowered.push_back({each.priced.instruction.operation, each.groups});
  }
}

template <>
struct Fields<RankedStrategy> {
  using S = RankedStrategy;
  static constexpr std::tuple all = {
      Field<S, &S::us>{{.name = "us", .most = kMostUs}},
      View<S, listed_instructions, take_instructions>{{.name = "instructions", .longest = kMostRankedSteps}}};
};

inline std::vector<ListedInstruction> own_instructions(const OwnStrategy& own) {
  return listed_instructions(own.priced);
}
inline void take_own_instructions(OwnStrategy& own, const std::vector<ListedInstruction>& all) {
  take_instructions(own.priced, all);
}

// A fault, or all the others; levels where they are not those of the other strategies.
template <>
struct Fields<OwnStrategy> {
  using O = OwnStrategy;
  static constexpr std::tuple all = {
      Field<O, &O::fault>{{.name = "fault", .longest = 4000, .may_lack = true, .unless_default = true}},
      Field<O, &O::priced, &RankedStrategy::us>{{.name = "us", .most = kMostUs}},
      Field<O, &O::levels>{
          {.name = "levels", .longest = kMostRankedSteps, .may_lack = true, .unless_default = true}},
      View<O, own_instructions, take_own_instructions>{
          {.name = "instructions", .longest = kMostRankedSteps}}};
};

template <>
struct Fields<ReductionRanking> {
  using R = ReductionRanking;
  static constexpr std::tuple all = {
      ByName<R, &R::reduction>{{{.name = "reduction"}}},
      Field<R, &R::levels>{{.name = "levels", .longest = kMostRankedSteps}},
      Field<R, &R::sizes>{{.name = "sizes", .least = 1, .most = 1 << 24, .longest = kMostRankedSteps}},
      Field<R, &R::allreduce_us>{{.name = "allreduce_us", .most = kMostUs}},
      Field<R, &R::programs>{{.name = "programs", .most = kMostPrograms}},
      Field<R, &R::faster>{{.name = "faster", .most = kMostPrograms}},
      Field<R, &R::programs_over>{
          {.name = "programs_over", .most = kMostPrograms, .may_lack = true, .unless_default = true}},
      Field<R, &R::strategies>{{.name = "strategies", .longest = kMostRankedStrategies}},
      Field<R, &R::exchange>{{.name = "exchange", .may_lack = true, .unless_default = true}},
      Field<R, &R::own>{{.name = "own", .may_lack = true, .unless_default = true}},
      Field<R, &R::from_us>{{.name = "from_us", .most = kMostUs, .may_lack = true}},
      Field<R, &R::to_us>{{.name = "to_us", .most = kMostUs, .may_lack = true}}};
};

template <>
struct Fields<RankedMatrix> {
  using M = RankedMatrix;
  using P = ParallelismMatrix;
  static constexpr std::tuple all = {
      Field<M, &M::matrix, &P::factors>{{.name = "matrix", .least = 1, .most = 1 << 20}},
      Field<M, &M::matrix, &P::orders>{
          {.name = "orders", .most = kMostAxes, .may_lack = true, .unless_default = true}},
      Field<M, &M::us>{{.name = "us", .most = kMostUs}},
      Field<M, &M::one_by_one_us>{{.name = "one_by_one_us", .most = kMostUs, .may_lack = true}},
      Field<M, &M::allreduce_us>{{.name = "allreduce_us", .most = kMostUs}},
      Field<M, &M::reductions>{{.name = "reductions", .longest = 1000}}};
};

template <>
struct Fields<RankedSizes> {
  using S = RankedSizes;
  static constexpr std::tuple all = {
      Field<S, &S::sizes>{{.name = "sizes", .least = 1, .most = 1 << 24}},
      Field<S, &S::memory_bytes>{{.name = "memory_bytes", .most = kMostBytes}},
      Field<S, &S::compute_us>{{.name = "compute_us", .most = kMostUs}},
      Field<S, &S::communication_us>{{.name = "communication_us", .most = kMostUs}}};
};

// What it says in sentences is written for people, and not read.
template <>
struct Fields<Ranking> {
  using R = Ranking;
  using C = SizeChoices;
  static constexpr std::tuple all = {
      Field<R, &R::hierarchy>{{.name = "hierarchy"}},
      Field<R, &R::job>{{.name = "job"}},
      Field<R, &R::algorithm>{{.name = "algorithm", .longest = 40}},
      Field<R, &R::rules>{{.name = "rules", .longest = 40}},
      Field<R, &R::synthesis>{{.name = "synthesis", .longest = 40}},
      Field<R, &R::conditions>{{.name = "conditions", .may_lack = true, .unless_default = true}},
      Field<R, &R::matrices>{{.name = "matrices", .most = kMostCount}},
      Field<R, &R::priced>{{.name = "priced", .most = kMostCount}},
      Field<R, &R::without_strategy>{{.name = "without_strategy", .most = kMostCount}},
      Field<R, &R::seconds>{{.name = "seconds", .most = kMostSeconds}},
      Field<R, &R::size_choices, &C::all>{
          {.name = "choices", .most = kMostCount, .may_lack = true, .unless_default = true}},
      Field<R, &R::size_choices, &C::fit>{{.name = "fitting", .most = kMostCount, .may_lack = true}},
      Field<R, &R::size_choices, &C::priced>{{.name = "placed", .most = kMostCount, .may_lack = true}},
      Field<R, &R::sizes>{{.name = "sizes", .longest = kMostRanked, .may_lack = true}},
      Derived<R, sentences>{{.name = "sentences", .may_lack = true}},
      Field<R, &R::present>{{.name = "present", .may_lack = true, .unless_default = true}},
      Field<R, &R::best>{{.name = "best", .longest = kMostRanked}}};
};

}  // namespace chorale
