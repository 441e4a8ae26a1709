// The fields of the reports of checks (ir/fields.h). Only written.
#pragma once

#include "ir/fields.h"
#include "ir/ranking.h"
#include "ir/search_options.h"

namespace chorale {

// Only those that the fault has.
template <auto Member>
constexpr Field<FaultPlace, Member> place_field(std::string_view name) {
  return {{.name = name, .may_lack = true, .unless_default = true}};
}
template <>
struct Fields<FaultPlace> {
  using P = FaultPlace;
  static constexpr std::tuple all = {place_field<&P::point>("point"), place_field<&P::claim>("claim"),
                                     place_field<&P::step>("step"),   place_field<&P::rank>("rank"),
                                     place_field<&P::chunk>("chunk"), place_field<&P::link>("link")};
};

template <>
struct Fields<Fault> {
  static constexpr std::tuple all = {Field<Fault, &Fault::kind>{{.name = "kind"}},
                                     Field<Fault, &Fault::place>{{.name = "place"}},
                                     Field<Fault, &Fault::words>{{.name = "words"}}};
};

struct CheckedRefutations {
  int plain = 0, search = 0, undecided = 0;
  bool operator==(const CheckedRefutations&) const = default;
};
template <>
struct Fields<CheckedRefutations> {
  using C = CheckedRefutations;
  static constexpr std::tuple all = {Field<C, &C::plain>{{.name = "by_the_plain_formula"}},
                                     Field<C, &C::search>{{.name = "by_the_searchs_formula"}},
                                     Field<C, &C::undecided>{{.name = "undecided"}}};
};
inline CheckedRefutations refutations_of(const CheckReport& report) {
  return {report.plain, report.refutations - report.plain, report.undecided};
}

template <>
struct Fields<CheckReport> {
  using R = CheckReport;
  static constexpr std::tuple all = {Field<R, &R::schedules>{{.name = "schedules", .may_lack = true}},
                                     Field<R, &R::bounds>{{.name = "bounds", .may_lack = true}},
                                     Derived<R, refutations_of>{{.name = "refutations", .may_lack = true}},
                                     Field<R, &R::faults>{{.name = "faults"}}};
};

template <>
struct Fields<RankingReport> {
  using R = RankingReport;
  static constexpr std::tuple all = {Field<R, &R::placements>{{.name = "placements", .may_lack = true}},
                                     Field<R, &R::strategies>{{.name = "strategies", .may_lack = true}},
                                     Field<R, &R::matrices>{{.name = "matrices", .may_lack = true}},
                                     Field<R, &R::faults>{{.name = "faults"}}};
};

}  // namespace chorale
