// Which of NCCL's own algorithms it should take, for its tuner plugins. What is known of these here is the
// shape of two, ring and tree, of AllReduce: times are predicted, and nothing is measured. There are rows
// where moving the data takes longer than all latencies, with protocol Simple; elsewhere NCCL goes on
// choosing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/frontier.h"

namespace chorale {

struct NcclRow {
  std::int64_t from = 0, to = 0;  // bytes of a message, both included; INT64_MAX: without end
  bool tree = false;              // else ring
};

struct NcclChoices {
  Collective collective = {};
  int nodes = 1;
  std::vector<NcclRow> rows = {};
  std::string origin = {};  // a line of comment for each size that was compared
};

// Of an AllReduce; nullopt for others, and where the machine has not the links for both shapes, with a note.
// `hosts`: by rank; empty: one. `classic` as in library/tool_rules.h.
std::optional<NcclChoices> nccl_choices(
    const std::vector<Result>&, const std::vector<int>& hosts, const std::vector<std::int64_t>& message_bytes,
    const std::function<std::optional<Result>(const Topology&, const std::string&, int)>& classic,
    std::vector<std::string>& notes);

std::vector<NamedText> nccl_tuner_csv(const std::vector<NcclChoices>&);
// A C source without other files: cc -shared -fPIC makes a library that exports ncclTunerPlugin_v4, v5 and
// v6.
std::vector<NamedText> nccl_tuner_plugin(const std::vector<NcclChoices>&);
// collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks (NCCLX_TUNER_CONFIG_FILE).
std::vector<NamedText> ncclx_csv(const std::vector<NcclChoices>&);

}  // namespace chorale
