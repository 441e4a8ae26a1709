// What is odd in the descriptions of nodes, and what each odd record costs: the bound of a collective on the
// machine beside that on its healed twin.
#pragma once

#include <string>
#include <vector>

#include "ir/fields.h"
#include "ir/files.h"
#include "ir/machine_changes.h"
#include "ir/report.h"

namespace chorale {

struct OddRecord {
  std::string record = {};  // "dgx.xml:17: gpu 5 (0000:9b:00.0) has no NVLink, where 7 of 8 GPUs have ..."
  std::string collective = {};  // of which the bound differs; "": none that was asked, or the twin is unknown
  int ranks = 0;                // of one node, or of two that are joined by their NICs
  double healed_gbs = 0;        // bus bandwidth at most, were the record as the others,
  double gbs = 0;               // and as it is; 0: a rank cannot be reached
  std::string unpriced = {};    // why the bound is not known (no solver of linear programs); "": it is
  bool operator==(const OddRecord&) const = default;
};
template <>
struct Fields<OddRecord> {
  using R = OddRecord;
  static constexpr auto all =
      plain_fields<&R::record, &R::collective, &R::ranks, &R::healed_gbs, &R::gbs, &R::unpriced>();
};

// Returns what is odd in each file; without the plugin that solves linear programs some of it has no cost.
// Throws InputError as an import does, and for files that describe no node.
std::vector<OddRecord> lint(const std::vector<NamedText>& files, const ImportOptions& = {});

// Returns the records, a sentence each, with what they cost: "AllReduce 480 -> 48 GB/s".
Report report_of(const std::vector<OddRecord>&, const std::vector<NamedText>& files);
// Returns {"chorale_lint": 1, "odd": [records], "report": ...}.
std::string to_json(const std::vector<OddRecord>&, const Report&);

}  // namespace chorale
