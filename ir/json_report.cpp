// The report of a check, for programs.
#include "ir/json_report.h"

#include <iterator>
#include <utility>

#include "ir/json_writer.h"

namespace chorale {
namespace {

// In the order of Fault::Kind.
constexpr const char* kKindNames[] = {
    "form", "size",     "match",    "written", "bandwidth", "repeated", "absent",    "counted twice",
    "race", "deadlock", "epilogue", "order",   "outcome",   "claim",    "statement", "limit"};
static_assert(std::size(kKindNames) == static_cast<std::size_t>(Fault::Kind::Limit) + 1);

// Only the members that the fault has.
std::string write_place(const FaultPlace& place) {
  std::vector<std::string> members;
  for (const auto& [name, number] :
       {std::pair("point", place.point), std::pair("claim", place.claim), std::pair("step", place.step),
        std::pair("rank", place.rank), std::pair("chunk", place.chunk), std::pair("link", place.link)})
    if (number >= 0) members.push_back(fmt::format("\"{}\":{}", name, number));
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

std::string write_faults(const std::vector<Fault>& all) {
  std::vector<std::string> faults;
  for (const Fault& fault : all)
    faults.push_back(fmt::format(R"({{"kind":{},"place":{},"words":{}}})",
                                 quoted(kKindNames[static_cast<int>(fault.kind)]), write_place(fault.place),
                                 quoted(fault.words)));
  return lines(faults, " ");
}

}  // namespace

std::string to_json(const CheckReport& report) {
  return fmt::format(
      R"({{"schedules":{},"bounds":{},
 "refutations":{{"by_the_plain_formula":{},"by_the_searchs_formula":{},"undecided":{}}},
 "faults":{}}}
)",
      report.schedules, report.bounds, report.plain, report.refutations - report.plain, report.undecided,
      write_faults(report.faults));
}

std::string to_json(const RankingReport& report) {
  return fmt::format(R"({{"placements":{},"strategies":{},"matrices":{},
 "faults":{}}}
)",
                     report.placements, report.strategies, report.matrices, write_faults(report.faults));
}

}  // namespace chorale
