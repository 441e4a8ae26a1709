// The report of a check, for programs.
#include "ir/json_report.h"

#include "ir/json_fields.h"
#include "ir/noun_fields.h"

namespace chorale {
namespace {

// Counts of one kind, refutations and faults have a line each; so has a fault.
struct ReportFields {
  static std::string_view between(const FieldWords& words) {
    return words.name == "refutations" || words.name == "faults" ? ",\n " : ",";
  }
  static std::string_view colon() { return ":"; }
  static std::string write(const std::vector<Fault>& faults, const FieldWords&) {
    return lines_of(faults, " ", ReportFields());
  }
};

}  // namespace

std::string to_json(const CheckReport& report) {
  return write_fields(report, ReportFields()) + "\n";
}

std::string to_json(const RankingReport& report) {
  return write_fields(report, ReportFields()) + "\n";
}

}  // namespace chorale
