// The fields of the reports of checks (ir/fields.h). Only written.
#pragma once

#include "ir/fields.h"
#include "ir/ranking.h"
#include "ir/search_options.h"

namespace chorale {

// Only those that the fault has.
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
