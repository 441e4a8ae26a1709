// NCCL chooses among algorithms of its own, so what can be exported is only which of them: ring or tree. Both
// are built as baselines on the machine and timed by the model; a row states a choice for a range of sizes.
// Where the latency is more than half of a time no row is written: a model of links does not know NCCL's
// launch and protocol costs, which decide there.
#include "library/nccl_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cost/program_time.h"
#include "ir/words.h"
#include "library/select.h"
#include "library/tool_rules.h"

namespace chorale {

std::string nccl_tuner_plugin_source();  // library/nccl_tuner_plugin.c, compiled in

namespace {

// The time of the fastest schedule of one shape; with a block of 0 bytes its latency. Nullopt: there is none.
std::optional<double> shape_us(const Topology& topology, std::span<const Result> of_shape, double block) {
  std::optional<double> best;
  for (const Result& result : of_shape)
    for (const Point& point : result.points) {
      const double us = point_us(topology, point, block);
      best = std::min(us, best.value_or(us));
    }
  return best;
}

// Each with the fewest chunks, one per channel, and trees, which are pipelines, also with more; the longest
// are left out.
std::vector<Result> of_shapes(const Topology& topology, std::initializer_list<const char*> names,
                              bool pipelines, const ClassicSchedule& classic) {
  // A tree AllReduce has about two sends per chunk and rank.
  constexpr int kMostSends = 200'000;
  std::vector<Result> results;
  for (const char* const name : names) {
    std::optional<Result> fewest = classic(topology, name, 0);
    if (!fewest) continue;
    const int channels = fewest->points.front().cost.chunks;
    results.push_back(std::move(*fewest));
    for (int pieces = 2; pipelines && pieces <= 64 && pieces * channels <= kMostSends / (2 * topology.ranks);
         pieces *= 2)
      if (std::optional<Result> finer = classic(topology, name, pieces * channels))
        results.push_back(std::move(*finer));
  }
  return results;
}

int nodes_of(const std::vector<int>& hosts) {
  return hosts.empty() ? 1 : static_cast<int>(std::set<int>(hosts.begin(), hosts.end()).size());
}

constexpr const char* kOrigin =
    "What 'chorale library export' predicts of NCCL's own algorithms; nothing was measured.";

// The lines of comment of all sizes, each after the mark of a comment.
std::string origins(const std::vector<NcclChoices>& all, const std::string& before) {
  std::string text;
  for (const NcclChoices& each : all)
    for (std::size_t from = 0; from < each.origin.size();) {
      const std::size_t end = each.origin.find('\n', from);
      text += before + each.origin.substr(from, end + 1 - from);
      from = end + 1;
    }
  return text;
}

const char* shape_of(const NcclRow& row) {
  return row.tree ? "tree" : "ring";
}

}  // namespace

// Adjacent sizes with one choice become one row. A row ends before the next size with another choice, or
// whose latency decides: that one adds no row. The tree of full:16 is faster at 256 KiB; at 512 KiB the ring
// is, but most of its time is latency, so from there to 2 MiB NCCL chooses.
std::optional<NcclChoices> nccl_choices(const std::vector<Result>& results, const std::vector<int>& hosts,
                                        const std::vector<std::int64_t>& message_bytes,
                                        const ClassicSchedule& classic, std::vector<std::string>& notes) {
  const Collective& collective = results.front().collective;
  const std::string name = name_of(collective);
  if (collective.kind != CollectiveKind::AllReduce) {
    notes.push_back(name +
                    ": no rows; of NCCL's algorithms only ring and tree of an allreduce are known here");
    return {};
  }
  const Topology& topology = results.front().topology;
  const std::vector<Result> rings =
      of_shapes(topology, {"ring_allreduce", "multi_ring_allreduce"}, false, classic);
  const std::vector<Result> trees =
      of_shapes(topology, {"tree_allreduce", "two_tree_allreduce"}, true, classic);
  if (rings.empty() || trees.empty()) {
    notes.push_back(name + ": no rows; this machine has not the links for both a ring and a tree");
    return {};
  }
  NcclChoices all{.collective = collective, .nodes = nodes_of(hosts)};
  for (const std::int64_t bytes : message_bytes) {
    const auto block = static_cast<double>(bytes);
    const double ring = shape_us(topology, rings, block).value(),
                 tree = shape_us(topology, trees, block).value();
    const auto ours = select(results, call_of(collective, block));
    all.origin += fmt::format("{} of {}: ring {}, tree {}", name, format_bytes(block), format_us(ring),
                              format_us(tree));
    if (ours) all.origin += fmt::format(", the library's {}", format_us(ours->us));
    const bool is_tree = tree < ring;
    const bool is_known = std::min(ring, tree) >= 2 * shape_us(topology, is_tree ? trees : rings, 0).value();
    all.origin += is_known ? "\n" : "; latency counts more: NCCL's choice\n";
    const bool goes_on = !all.rows.empty() && all.rows.back().to == INT64_MAX;
    if (goes_on && is_known && all.rows.back().tree == is_tree) continue;
    if (goes_on) all.rows.back().to = bytes - 1;
    if (!is_known) continue;
    all.rows.push_back({.from = bytes, .to = INT64_MAX, .tree = is_tree});
  }
  return all;
}

// -1 in a column leaves it to NCCL, or holds for any: channels, nodes, pipelined operations, registered
// buffers.
std::vector<NamedText> nccl_tuner_csv(const std::vector<NcclChoices>& all) {
  std::string text = fmt::format(
      "# {}\n# For NCCL's example of a tuner plugin.\n"
      "# "
      "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n{}",
      kOrigin, origins(all, "# "));
  for (const NcclChoices& each : all)
    for (const NcclRow& row : each.rows)
      text += fmt::format("{},{},{},{},simple,-1,-1,{},-1,-1\n", name_of(each.collective), row.from, row.to,
                          shape_of(row), each.collective.ranks);
  return {{.path = "nccl_tuner.csv", .text = text}};
}

// The source of the plugin is compiled in, with marks at which rows and their origin are put.
std::vector<NamedText> nccl_tuner_plugin(const std::vector<NcclChoices>& all) {
  std::string rows;
  for (const NcclChoices& each : all)
    for (const NcclRow& row : each.rows)
      rows += fmt::format("    {{ALL_REDUCE, {}, {}u, {}u, {}, SIMPLE}},\n", each.collective.ranks, row.from,
                          row.to, row.tree ? "TREE" : "RING");
  std::string text = nccl_tuner_plugin_source();
  const auto put = [&](const std::string& mark, const std::string& what) {
    text.replace(text.find(mark), mark.size(), what);
  };
  put("// ORIGIN\n", fmt::format("// {}\n{}", kOrigin, origins(all, "// ")));
  put("    // ROWS\n", rows);
  return {{.path = "nccl_tuner_plugin.c", .text = text}};
}

// NCCLX counts bytes per rank, so bounds are divided by the ranks and rounded up: ranges are half open.
std::vector<NamedText> ncclx_csv(const std::vector<NcclChoices>& all) {
  std::string text = fmt::format(
      "# {}\n# NCCLX_TUNER_CONFIG_FILE=ABSOLUTE_PATH/ncclx_tuner.csv; bytesPerRank is the message of a "
      "rank through the number of ranks.\n"
      "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks\n{}",
      kOrigin, origins(all, "# "));
  for (const NcclChoices& each : all) {
    const int ranks = each.collective.ranks, nodes = each.nodes;
    if (ranks % nodes != 0) continue;  // NCCLX knows only nodes of one size
    for (const NcclRow& row : each.rows) {
      const std::string to =
          row.to == INT64_MAX ? "" : std::to_string((row.to + ranks) / ranks);  // of the next, rounded up
      text += fmt::format("allreduce,[{},{}),{},simple,-1,{},{}\n", (row.from + ranks - 1) / ranks, to,
                          shape_of(row), nodes, ranks / nodes);
    }
  }
  return {{.path = "ncclx_tuner.csv", .text = text}};
}

}  // namespace chorale
