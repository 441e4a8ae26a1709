// The fields of jobs, rankings, block programs and reports (ir/fields.h), for their writers and readers
// (ir/json_placement.cpp), the schemas of docs, and Python. In files axes, levels and reductions have names;
// numbers of microseconds are at most kMostUs.
#pragma once

#include "ir/block_program.h"
#include "ir/collective.h"
#include "ir/fields.h"
#include "ir/ranking.h"
#include "ir/search_options.h"

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
      field<&R::name>({.may_lack = true}),
      field<&R::goal>({.may_lack = true}),
      field<&R::axes>({.longest = kMostAxes}),
      field<&R::bytes>({.least = 1, .most = kMostReductionBytes}),
      field<&R::times>({.least = 1e-9, .most = 1e12, .may_lack = true}),
      field_as<Whole, &R::element_bytes>({.least = 1, .most = 64, .may_lack = true}),
      field<&R::after>({.longest = 1000, .unless_default = true})};
};

template <>
struct Fields<Job> {
  static constexpr std::tuple all = {field<&Job::name>({.key = "job"}),
                                     field<&Job::axes>({.longest = kMostAxes}),
                                     field<&Job::reductions>({.longest = 1000})};
};

template <>
struct Fields<Conditions::Inside> {
  using I = Conditions::Inside;
  static constexpr std::tuple all = {field_as<ByName, &I::axis>(), field_as<ByName, &I::level>()};
};
template <>
struct Fields<Conditions::Order> {
  using O = Conditions::Order;
  static constexpr std::tuple all = {field_as<ByName, &O::inner>(), field_as<ByName, &O::outer>()};
};
template <>
struct Fields<Conditions::Memory> {
  using M = Conditions::Memory;
  static constexpr std::tuple all = {field_as<ByName, &M::level>(), field<&M::axes>({.longest = kMostAxes}),
                                     field<&M::shard_bytes>({.most = kMostBytes}),
                                     field<&M::capacity_bytes>({.most = kMostBytes})};
};
template <>
struct Fields<Conditions> {
  using C = Conditions;
  static constexpr std::tuple all = {field<&C::inside>({.longest = 1000}),
                                     field<&C::order>({.longest = 1000}),
                                     field<&C::memory>({.longest = 1000})};
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
  static constexpr std::tuple all = {
      field_as<ByName, &L::priced, &P::instruction, &S::slice>(),
      field<&L::priced, &P::instruction, &S::form>(),
      field_as<ByName, &L::priced, &P::instruction, &S::ancestor>({.may_lack = true}),
      field<&L::priced, &P::instruction, &S::operation>(),
      field<&L::priced, &P::us>({.most = kMostUs}),
      field<&L::priced, &P::latency_us>({.most = kMostUs}),
      field<&L::priced, &P::binding>(),
      field<&L::priced, &P::rings>({.most = kMostCount}),
      field<&L::priced, &P::pattern>({.may_lack = true}),
      field<&L::groups>({.may_lack = true})};
};

// Of an exchange, which has no instruction.
template <>
struct Fields<PricedInstruction> {
  using P = PricedInstruction;
  static constexpr std::tuple all = {field<&P::us>({.most = kMostUs}),
                                     field<&P::latency_us>({.most = kMostUs}), field<&P::binding>(),
                                     field<&P::pattern>({.may_lack = true})};
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
      field<&S::us>({.most = kMostUs}),
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
  static constexpr std::tuple all = {field<&O::fault>({.longest = 4000, .unless_default = true}),
                                     field<&O::priced, &RankedStrategy::us>({.most = kMostUs}),
                                     field<&O::levels>({.longest = kMostRankedSteps, .unless_default = true}),
                                     View<O, own_instructions, take_own_instructions>{
                                         {.name = "instructions", .longest = kMostRankedSteps}}};
};

template <>
struct Fields<ReductionRanking> {
  using R = ReductionRanking;
  static constexpr std::tuple all = {
      field_as<ByName, &R::reduction>(),
      field<&R::levels>({.longest = kMostRankedSteps}),
      field<&R::sizes>({.least = 1, .most = 1 << 24, .longest = kMostRankedSteps}),
      field<&R::allreduce_us>({.most = kMostUs}),
      field<&R::programs>({.most = kMostPrograms}),
      field<&R::faster>({.most = kMostPrograms}),
      field<&R::programs_over>({.most = kMostPrograms, .unless_default = true}),
      field<&R::strategies>({.longest = kMostRankedStrategies}),
      field<&R::exchange>({.unless_default = true}),
      field<&R::own>({.unless_default = true}),
      field<&R::from_us>({.most = kMostUs, .may_lack = true}),
      field<&R::to_us>({.most = kMostUs, .may_lack = true})};
};

template <>
struct Fields<RankedMatrix> {
  using M = RankedMatrix;
  using P = ParallelismMatrix;
  static constexpr std::tuple all = {
      field<&M::matrix, &P::factors>({.name = "matrix", .least = 1, .most = 1 << 20}),
      field<&M::matrix, &P::orders>({.most = kMostAxes, .unless_default = true}),
      field<&M::us>({.most = kMostUs}),
      field<&M::one_by_one_us>({.most = kMostUs, .may_lack = true}),
      field<&M::allreduce_us>({.most = kMostUs}),
      field<&M::reductions>({.longest = 1000})};
};

template <>
struct Fields<RankedSizes> {
  using S = RankedSizes;
  static constexpr std::tuple all = {
      field<&S::sizes>({.least = 1, .most = 1 << 24}), field<&S::memory_bytes>({.most = kMostBytes}),
      field<&S::compute_us>({.most = kMostUs}), field<&S::communication_us>({.most = kMostUs})};
};

template <>
struct Fields<SolverReport> {
  using S = SolverReport;
  static constexpr std::tuple all = {field<&S::strategies>({.most = kMostPrograms}),
                                     field<&S::calls>({.most = kMostPrograms}),
                                     field<&S::conflicts>({.most = kMostPrograms}),
                                     field<&S::seconds>({.most = kMostSeconds}),
                                     field<&S::complete>(),
                                     field<&S::nothing_longer>()};
};

// What it says in sentences is written for people, and not read.
template <>
struct Fields<Ranking> {
  using R = Ranking;
  using C = SizeChoices;
  static constexpr std::tuple all = {
      field<&R::hierarchy>(),
      field<&R::job>(),
      field<&R::algorithm>({.longest = 40}),
      field<&R::rules>({.longest = 40}),
      field<&R::synthesis>({.longest = 40}),
      field<&R::engine>({.longest = 40, .unless_default = true}),
      field<&R::solver>({.unless_default = true}),
      field<&R::conditions>({.unless_default = true}),
      field<&R::matrices>({.most = kMostCount}),
      field<&R::priced>({.most = kMostCount}),
      field<&R::without_strategy>({.most = kMostCount}),
      field<&R::seconds>({.most = kMostSeconds}),
      field<&R::size_choices, &C::all>({.name = "choices", .most = kMostCount, .unless_default = true}),
      field<&R::size_choices, &C::fit>({.name = "fitting", .most = kMostCount, .may_lack = true}),
      field<&R::size_choices, &C::priced>({.name = "placed", .most = kMostCount, .may_lack = true}),
      field<&R::sizes>({.longest = kMostRanked, .may_lack = true}),
      Derived<R, sentences>{{.name = "sentences", .may_lack = true}},
      field<&R::present>({.unless_default = true}),
      field<&R::best>({.longest = kMostRanked})};
};

// Block programs are written and read in ir/json_block_program.cpp. What an
// instruction has depends on its operation.
inline constexpr double kMostProgramNumber = 1 << 24;
inline constexpr std::size_t kMostProgramList = 1 << 24;

template <>
struct Fields<Block> {
  static constexpr std::tuple all = {
      field<&Block::send_to>({.name = "send", .least = -1, .most = kMostRanks}),
      field<&Block::recv_from>({.name = "recv", .least = -1, .most = kMostRanks}),
      field<&Block::channel>({.most = kMostProgramNumber}),
      field<&Block::instructions>({.longest = kMostProgramList})};
};

template <>
struct Fields<BlockRank> {
  using R = BlockRank;
  static constexpr std::tuple all = {
      field<&R::input_chunks>({.name = "input", .most = kMostProgramNumber}),
      field<&R::output_chunks>({.name = "output", .most = kMostProgramNumber}),
      field<&R::scratch_chunks>({.name = "scratch", .most = kMostProgramNumber}),
      field<&R::slice>({.most = kMostProgramNumber, .unless_default = true}),
      field<&R::blocks>({.longest = kMostProgramList})};
};

// Reports of checks are only written. Of a place they have only those members that the fault has.
template <>
struct Fields<FaultPlace> {
  using P = FaultPlace;
  static constexpr FieldWords kIfAny = {.unless_default = true};
  static constexpr std::tuple all = {field<&P::point>(kIfAny), field<&P::claim>(kIfAny),
                                     field<&P::step>(kIfAny),  field<&P::rank>(kIfAny),
                                     field<&P::chunk>(kIfAny), field<&P::link>(kIfAny)};
};

template <>
struct Fields<Fault> {
  using F = Fault;
  static constexpr auto all = plain_fields<&F::kind, &F::place, &F::words>();
};

struct CheckedRefutations {
  int plain = 0, search = 0, undecided = 0;
  bool operator==(const CheckedRefutations&) const = default;
};
template <>
struct Fields<CheckedRefutations> {
  using C = CheckedRefutations;
  static constexpr std::tuple all = {field<&C::plain>({.name = "by_the_plain_formula"}),
                                     field<&C::search>({.name = "by_the_searchs_formula"}),
                                     field<&C::undecided>()};
};
inline CheckedRefutations refutations_of(const CheckReport& report) {
  return {report.plain, report.refutations - report.plain, report.undecided};
}

template <>
struct Fields<CheckReport> {
  using R = CheckReport;
  static constexpr std::tuple all = {
      field<&R::schedules>({.may_lack = true}), field<&R::bounds>({.may_lack = true}),
      Derived<R, refutations_of>{{.name = "refutations", .may_lack = true}}, field<&R::faults>()};
};

template <>
struct Fields<RankingReport> {
  using R = RankingReport;
  static constexpr std::tuple all = {field<&R::placements>({.may_lack = true}),
                                     field<&R::strategies>({.may_lack = true}),
                                     field<&R::matrices>({.may_lack = true}), field<&R::faults>()};
};

}  // namespace chorale
