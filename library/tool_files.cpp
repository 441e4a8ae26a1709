// Rules as the files of the programs that obey them.
//
// Open MPI's classic file lists, by collective and number of ranks, a rule from each size on. Open MPI 4.1
// and 5 read the ranks of a set as its least, up to those of the next set; the first set is also for fewer.
// Open MPI 6 reads them as one more than its most. A set is so written twice, between two empty ones: for n
// ranks (n: none), (n: rules), (n + 1: rules), (n + 1: none) is for n alone in both.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>

#include "library/tool_rules.h"

namespace chorale {
namespace {

// Numbers are those of COLLTYPE_T in coll_base_functions.h, where collectives are in alphabetical order.
struct OmpiNames {
  CollectiveKind kind = CollectiveKind::Custom;
  int id = 0;             // of the classic file
  const char* name = "";  // of the JSON
};
constexpr std::array<OmpiNames, 8> kOmpi = {{{CollectiveKind::Allgather, 0, "allgather"},
                                             {CollectiveKind::AllReduce, 2, "allreduce"},
                                             {CollectiveKind::Alltoall, 3, "alltoall"},
                                             {CollectiveKind::Broadcast, 7, "bcast"},
                                             {CollectiveKind::Gather, 9, "gather"},
                                             {CollectiveKind::Reduce, 11, "reduce"},
                                             {CollectiveKind::ReduceScatter, 13, "reducescatterblock"},
                                             {CollectiveKind::Scatter, 15, "scatter"}}};

// The sets of one collective, by rising number of ranks.
std::vector<const ToolRules*> of_kind(const std::vector<ToolRules>& all, CollectiveKind kind) {
  std::vector<const ToolRules*> found;
  for (const ToolRules& each : all)
    if (each.kind == kind) found.push_back(&each);
  std::ranges::sort(found, {}, &ToolRules::ranks);
  return found;
}

// Where the rules come from, with every size that was compared, after the mark of a comment.
std::string origin_in_words(const std::vector<ToolRules>& all, const std::string& before) {
  std::string text;
  for (const ToolRules& each : all) {
    text += fmt::format("{}{} of {} ranks ({}), by message size; {}\n", before, name_of(each.kind),
                        each.ranks, each.group,
                        each.is_measured ? "times were measured with its settings"
                                         : "nothing was measured: times are predicted, of baselines of the "
                                           "same shape on the links of the machine");
    for (const std::string& line : each.origin) text += before + line + "\n";
  }
  return text;
}

// What an algorithm that is forced has by default (coll_tuned_init_chain_fanout,
// coll_tuned_init_tree_fanout): it was measured so. Segments it has none.
constexpr int kFanOut = 4;

// 0 makes Open MPI choose by itself, at the sizes of this rule alone.
std::string number_of(const ToolRule& rule) {
  return std::to_string(rule.algorithm == nullptr ? 0 : rule.algorithm->number);
}

// "4096 3 4 0": from 4096 bytes on algorithm 3, with fan-out 4 and without segments.
std::string classic_rules(const ToolRules& set) {
  std::string text = fmt::format("{}  # rules\n", set.rules.size());
  for (const ToolRule& rule : set.rules)
    text += fmt::format("{} {} {} 0  # {}\n", tool_bytes(Tool::Ompi, set.kind, set.ranks, rule.block_bytes),
                        number_of(rule), kFanOut,
                        rule.algorithm == nullptr ? "its own choice" : rule.algorithm->name);
  return text;
}

constexpr const char* kOmpiUse =
    "mpirun --mca coll_tuned_use_dynamic_rules 1 --mca {} ABSOLUTE_PATH/{} ...\n";

}  // namespace

std::vector<NamedText> ompi_rules(const std::vector<ToolRules>& all) {
  std::string text = "# Which algorithms Open MPI takes, written by 'chorale library export':\n# ";
  text += fmt::format(kOmpiUse, "coll_tuned_dynamic_rules_filename", "ompi_rules.conf");
  text +=
      "# A rule is: bytes from which it holds, algorithm (0: as Open MPI chooses), fan-out, segment size.\n" +
      origin_in_words(all, "# ");
  std::string sets;
  int collectives = 0;
  for (const OmpiNames& names : kOmpi) {
    const std::vector<const ToolRules*> found = of_kind(all, names.kind);
    if (found.empty()) continue;
    ++collectives;
    sets += fmt::format("{}  # {}\n{}  # sets, for exactly {} ranks\n", names.id, names.name,
                        4 * found.size(), fmt::join(found | std::views::transform(&ToolRules::ranks), ", "));
    for (const ToolRules* const set : found) {
      const std::string rules = classic_rules(*set);
      sets += fmt::format("{0} 0\n{0} {2}{1} {2}{1} 0\n", set->ranks, set->ranks + 1, rules);
    }
  }
  return {{.path = "ompi_rules.conf", .text = text + fmt::format("{}  # collectives\n", collectives) + sets}};
}

// Ranges of ranks and sizes include both ends here, so a set is for its number of ranks alone.
std::vector<NamedText> ompi_json(const std::vector<ToolRules>& all) {
  std::vector<std::string> collectives;
  for (const OmpiNames& names : kOmpi) {
    std::vector<std::string> sets;
    for (const ToolRules* const set : of_kind(all, names.kind)) {
      std::vector<std::string> rules;
      for (std::size_t r = 0; r < set->rules.size(); ++r) {
        const auto bytes = [&](std::size_t rule) {
          return tool_bytes(Tool::Ompi, set->kind, set->ranks, set->rules[rule].block_bytes);
        };
        rules.push_back(
            fmt::format(R"(          {{"msg_size_min": {}, "msg_size_max": {}, "alg": {}, "faninout": {}}})",
                        bytes(r), r + 1 < set->rules.size() ? std::to_string(bytes(r + 1) - 1) : R"("inf")",
                        number_of(set->rules[r]), kFanOut));
      }
      sets.push_back(
          fmt::format("      {{\n        \"comm_size_min\": {0},\n        \"comm_size_max\": {0},\n"
                      "        \"rules\": [\n{1}\n        ]\n      }}",
                      set->ranks, fmt::join(rules, ",\n")));
    }
    if (!sets.empty())
      collectives.push_back(fmt::format("    \"{}\": [\n{}\n    ]", names.name, fmt::join(sets, ",\n")));
  }
  const std::string json = fmt::format(
      "{{\n  \"rule_file_version\": 3,\n  \"module\": \"tuned\",\n  \"collectives\": {{\n{}\n  }}\n}}\n",
      fmt::join(collectives, ",\n"));
  return {{.path = "ompi_rules.json", .text = json},
          {.path = "ompi_rules.txt",
           .text = "ompi_rules.json was written by 'chorale library export', for Open MPI 6:\n" +
                   fmt::format(kOmpiUse, "coll_tuned_dynamic_rules_filename", "ompi_rules.json") +
                   origin_in_words(all, "")}};
}

std::vector<NamedText> mpich_json(const std::vector<ToolRules>& all) {
  return {
      {.path = "mpich_selection.json", .text = mpich_selection(all)},
      {.path = "mpich_selection.txt",
       .text = "mpich_selection.json was written by 'chorale library export', for MPICH 4.0:\n"
               "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=ABSOLUTE_PATH/mpich_selection.json mpiexec ...\n"
               "Where MPICH's device has collectives of its own, they come first; without them:\n"
               "MPIR_CVAR_DEVICE_COLLECTIVES=none\n" +
               origin_in_words(all, "")}};
}

// A token per rule, separated by #: "allreduce:0-4095:[8-8]:@ring" is a collective, sizes, ranks, and an
// algorithm. A size without a token is left to UCC.
std::vector<NamedText> ucc_tune(const std::vector<ToolRules>& all) {
  static const std::map<CollectiveKind, const char*> names = {
      {CollectiveKind::Allgather, "allgather"}, {CollectiveKind::AllReduce, "allreduce"},
      {CollectiveKind::Alltoall, "alltoall"},   {CollectiveKind::Broadcast, "bcast"},
      {CollectiveKind::Reduce, "reduce"},       {CollectiveKind::ReduceScatter, "reduce_scatter"}};
  std::vector<std::string> tokens;
  for (const ToolRules& set : all)
    for (std::size_t r = 0; r < set.rules.size(); ++r) {
      if (set.rules[r].algorithm == nullptr || !names.contains(set.kind)) continue;
      const auto bytes = [&](std::size_t rule) {
        return tool_bytes(Tool::Ucc, set.kind, set.ranks, set.rules[rule].block_bytes);
      };
      tokens.push_back(fmt::format("{}:{}-{}:[{}-{}]:@{}", names.at(set.kind), bytes(r),
                                   r + 1 < set.rules.size() ? std::to_string(bytes(r + 1) - 1) : "inf",
                                   set.ranks, set.ranks, set.rules[r].algorithm->name));
    }
  std::string text =
      "# Which algorithms UCC's tl/ucp takes, written by 'chorale library export': a configuration file\n"
      "# of UCC, ucc.conf; its settings may also be environment variables.\n" +
      origin_in_words(all, "# ") + fmt::format("UCC_TL_UCP_TUNE={}\n", fmt::join(tokens, "#"));
  if (text.find("knomial") != std::string::npos) text += "# As baselines have them.\nUCC_TL_UCP_KN_RADIX=2\n";
  return {{.path = "ucc.conf", .text = text}};
}

}  // namespace chorale
