// Which of a program's own algorithms it should take, by collective, ranks and message size: as was measured
// with its settings, or else as baselines of the same shape predict.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/frontier.h"
#include "library/taken.h"
#include "library/tool_algorithms.h"

namespace chorale {

// From this size on, until the next rule's.
struct ToolRule {
  std::int64_t block_bytes = 0;
  const ToolAlgorithm* algorithm = nullptr;  // null: as the program chooses
  double us = 0;                             // of the algorithm
  double chosen_us = 0;                      // as the program chooses; 0: not measured
};

struct ToolRules {
  CollectiveKind kind = CollectiveKind::Custom;
  int ranks = 0;
  std::string group = {};
  bool is_measured = false;
  std::vector<ToolRule> rules = {};  // by size, the first from 0; neighbours differ
  // All sizes that were compared, as lines of a comment: the choice, its time, and that of the program's own
  // choice.
  std::vector<std::string> origin = {};
};

// A baseline by name, nullopt where the machine lacks its links or ranks.
using ClassicSchedule =
    std::function<std::optional<Result>(const Topology&, const std::string& name, int chunks)>;

// Was any of this program's algorithms measured? Times of another's do not count.
bool has_times(Tool, const TakenAnswer&);

// Measured: at each size that was measured, the algorithm with the least median, if that is less than the
// fastest round of the program's own choice, so that noise changes nothing. Predicted: at `block_bytes` the
// fastest of the baselines, at least two. Nullopt: neither, and `why`.
std::optional<ToolRules> tool_rules(Tool, const TakenAnswer&, const std::string& group,
                                    const std::vector<std::int64_t>& block_bytes, const ClassicSchedule&,
                                    std::string& why);

// Bytes as the program counts a call: the larger buffer of a rank, with exceptions.
std::int64_t tool_bytes(Tool, CollectiveKind, int ranks, std::int64_t block);

// Their files, each with what it was made of: in comments, or beside a JSON that has none. At most one rule
// set for a collective and number of ranks.
std::vector<NamedText> ompi_rules(
    const std::vector<ToolRules>&);  // coll_tuned_dynamic_rules_filename, 4.1 to 6
std::vector<NamedText> ompi_json(const std::vector<ToolRules>&);  // the same in JSON, from 6 on
std::vector<NamedText> mpich_json(
    const std::vector<ToolRules>&);                              // MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
std::vector<NamedText> ucc_tune(const std::vector<ToolRules>&);  // UCC_TL_UCP_TUNE, in a file ucc.conf

// The JSON of mpich_json() alone (library/mpich_selection.cpp).
std::string mpich_selection(const std::vector<ToolRules>&);

}  // namespace chorale
