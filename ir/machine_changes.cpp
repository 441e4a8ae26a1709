// Rows of options (ir/option.h) for files of other tools. Defaults of 0 mean "by the file", or by the kind of
// device that the file names.
#include "ir/machine_changes.h"

namespace chorale {

std::span<const OptionRow<ImportOptions>> import_rows() {
  using O = ImportOptions;
  static constexpr OptionRow<O> kRows[] = {
      {{"nodes", "--nodes", "N", "Copies of one file that describes a node, joined by their NICs ({})",
        OptionKind::Integer, 1, 4096},
       member<O, &O::nodes>()},
      {{.name = "error",
        .option = "--error",
        .value = "PART",
        .help = "How far a rate may be off as whole chunks per round ({})",
        .kind = OptionKind::Number,
        .lowest = 1e-9,
        .highest = 0.5},
       member<O, &O::error>()},
      {{"network_within_nodes", "--network-within-nodes", "",
        "Paths through the network between GPUs of one node, too, beside NVLink or xGMI", OptionKind::Switch},
       member<O, &O::network_within_nodes>()},
      {{"line_rates", "--line-rates", "",
        "Rates of datasheets, instead of those that programs reach; of machines by name, too",
        OptionKind::Switch},
       member<O, &O::line_rates>()},
      {{"forward_only", "--switches-forward-only", "",
        "Switches neither copy nor add, even where they can (NVLS): links alone", OptionKind::Switch},
       member<O, &O::forward_only>()},
      {{"in_network", "--switches-in-network", "",
        "Refuse a machine whose switches are not known to copy and add (they do by default where they are)",
        OptionKind::Switch},
       member<O, &O::in_network>()},
      {{"instance", "--instance", "TYPE",
        "Type of a cloud machine, which has what its file lacks, such as aws-p5 (by the file)",
        OptionKind::Text},
       member<O, &O::instance>()},
      {{.name = "nic_gbits",
        .option = "--nic-gbits",
        .value = "G",
        .help = "Gb/s of NICs whose speed the file lacks (by their kind)",
        .kind = OptionKind::Number,
        .lowest = 1e-3,
        .highest = 1e6},
       member<O, &O::nic_gbits>()},
      {{.name = "nvlink_gbs",
        .option = "--nvlink-gbs",
        .value = "GB",
        .help = "GB/s of one NVLink or xGMI link, each direction (by the kind of GPU)",
        .kind = OptionKind::Number,
        .lowest = 1e-3,
        .highest = 1e6},
       member<O, &O::nvlink_gbs>()},
  };
  return kRows;
}

}  // namespace chorale
