// MPICH's selection file replaces its whole decision tree, so that it has to have a branch for each
// collective and every call of it: a call that no branch takes ends the program. The eight blocking
// collectives that rules can be for (kRuled) have MPICH 4.0's own decision, at its sizes, where there are no
// rules; all others (kPlain) have one algorithm for all sizes. Calls that an algorithm is not for (in place,
// operators of users, fewer elements than ranks) are guarded.
//
// A key of the tree is a condition, tried in order; below the first that holds, one has to hold again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "library/tool_rules.h"

namespace chorale {
namespace {

std::string leaf(const std::string& algorithm) {
  return R"({"algorithm=MPIR_)" + algorithm + R"(":{}})";
}

// The tree is put below the condition: {"CONDITION":TREE}.
struct Branch {
  std::string condition = {}, tree = {};
};
std::string tree(const std::vector<Branch>& branches) {
  std::string text;
  for (const Branch& each : branches)
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", each.condition, each.tree);
  return "{" + text + "}";
}

// Rabenseifner's algorithms divide the vector among the largest power of two of ranks, so they need as many
// elements, and operators that apply to parts of it: those built in.
std::string for_built_in(const std::string& general, const std::string& algorithm) {
  return tree({{"is_op_built_in=yes", tree({{"count<pow2", leaf(general)}, {"count=any", leaf(algorithm)}})},
               {"is_op_built_in=no", leaf(general)}});
}

// A blocking collective with rules.
struct Ruled {
  CollectiveKind kind = CollectiveKind::Custom;
  const char* name = "";      // of the key
  const char* function = "";  // before "_intra_"
  const char* size = "";      // what its sizes are of
  const char* inter = "";
};
constexpr std::array<Ruled, 8> kRuled = {{
    {CollectiveKind::Broadcast, "bcast", "Bcast", "avg_msg_size", "Bcast_inter_remote_send_local_bcast"},
    {CollectiveKind::AllReduce, "allreduce", "Allreduce", "avg_msg_size",
     "Allreduce_inter_reduce_exchange_bcast"},
    {CollectiveKind::Reduce, "reduce", "Reduce", "avg_msg_size", "Reduce_inter_local_reduce_remote_send"},
    {CollectiveKind::Alltoall, "alltoall", "Alltoall", "avg_msg_size", "Alltoall_inter_pairwise_exchange"},
    {CollectiveKind::Allgather, "allgather", "Allgather", "total_msg_size",
     "Allgather_inter_local_gather_remote_bcast"},
    {CollectiveKind::ReduceScatter, "reduce_scatter_block", "Reduce_scatter_block", "total_msg_size",
     "Reduce_scatter_block_inter_remote_reduce_local_scatter"},
    // One algorithm at all sizes.
    {CollectiveKind::Gather, "gather", "Gather", "", "Gather_inter_linear"},
    {CollectiveKind::Scatter, "scatter", "Scatter", "", "Scatter_inter_linear"},
}};

// The algorithm for the calls that it is for, and another for the rest.
std::string guarded(const Ruled& ruled, std::string_view algorithm) {
  const std::string name = fmt::format("{}_intra_{}", ruled.function, algorithm);
  switch (ruled.kind) {
    case CollectiveKind::AllReduce:
      return algorithm == "reduce_scatter_allgather"
                 ? for_built_in("Allreduce_intra_recursive_doubling", name)
                 : leaf(name);
    case CollectiveKind::Reduce:
      return algorithm == "reduce_scatter_gather" ? for_built_in("Reduce_intra_binomial", name) : leaf(name);
    case CollectiveKind::Alltoall:
      return tree({{"is_sendbuf_inplace=yes", leaf("Alltoall_intra_pairwise_sendrecv_replace")},
                   {"is_sendbuf_inplace=no", leaf(name)}});
    case CollectiveKind::ReduceScatter:
      return tree({{"is_commutative=yes", leaf(name)},
                   {"is_commutative=no", leaf("Reduce_scatter_block_intra_recursive_doubling")}});
    default:
      return leaf(name);
  }
}

// Up to a size one algorithm, above it another.
std::string by_size(const Ruled& ruled, std::int64_t up_to, std::string_view small, std::string_view large) {
  return tree({{fmt::format("{}<={}", ruled.size, up_to), guarded(ruled, small)},
               {fmt::format("{}=any", ruled.size), guarded(ruled, large)}});
}

// The sizes are the defaults of MPICH's variables: MPIR_CVAR_BCAST_SHORT_MSG_SIZE 12288, ALLREDUCE_ and
// REDUCE_SHORT_MSG_SIZE 2048, ALLTOALL_SHORT_MSG_SIZE 256 and MEDIUM 32768, ALLGATHER_SHORT_MSG_SIZE 81920
// and LONG 524288, REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE 524288. MPICH takes Bruck's Alltoall and
// Broadcasts that scatter from 8 ranks on. Left out is the scatter with recursive doubling, of Broadcasts of
// medium size: the ring is taken for them, too.
std::string chosen_by_mpich(const Ruled& ruled) {
  switch (ruled.kind) {
    case CollectiveKind::Broadcast:
      return tree({{"comm_size<=7", leaf("Bcast_intra_binomial")},
                   {"comm_size=any", by_size(ruled, 12288, "binomial", "scatter_ring_allgather")}});
    case CollectiveKind::AllReduce:
      return by_size(ruled, 2048, "recursive_doubling", "reduce_scatter_allgather");
    case CollectiveKind::Reduce:
      return by_size(ruled, 2048, "binomial", "reduce_scatter_gather");
    case CollectiveKind::Alltoall:
      return tree(
          {{"comm_size<=7", by_size(ruled, 32768, "scattered", "pairwise")},
           {"comm_size=any", tree({{"avg_msg_size<=256", guarded(ruled, "brucks")},
                                   {"avg_msg_size=any", by_size(ruled, 32768, "scattered", "pairwise")}})}});
    case CollectiveKind::Allgather:
      return tree({{"comm_size=pow2", by_size(ruled, 524287, "recursive_doubling", "ring")},
                   {"comm_size=any", by_size(ruled, 81919, "brucks", "ring")}});
    case CollectiveKind::ReduceScatter:
      return by_size(ruled, 524287, "recursive_halving", "pairwise");
    default:
      return guarded(ruled, "binomial");
  }
}

// All others, intra and inter; "": there is none.
struct Plain {
  const char* name = "";
  const char* intra = "";
  const char* inter = "";
};
constexpr std::array<Plain, 36> kPlain = {{
    {"allgatherv", "Allgatherv_intra_ring", "Allgatherv_inter_remote_gather_local_bcast"},
    {"gatherv", "Gatherv_allcomm_linear", "Gatherv_allcomm_linear"},
    {"scatterv", "Scatterv_allcomm_linear", "Scatterv_allcomm_linear"},
    {"scan", "Scan_intra_recursive_doubling", ""},
    {"exscan", "Exscan_intra_recursive_doubling", ""},
    {"barrier", "Barrier_intra_dissemination", "Barrier_inter_bcast"},
    {"neighbor_allgather", "Neighbor_allgather_allcomm_nb", "Neighbor_allgather_allcomm_nb"},
    {"neighbor_allgatherv", "Neighbor_allgatherv_allcomm_nb", "Neighbor_allgatherv_allcomm_nb"},
    {"neighbor_alltoall", "Neighbor_alltoall_allcomm_nb", "Neighbor_alltoall_allcomm_nb"},
    {"neighbor_alltoallv", "Neighbor_alltoallv_allcomm_nb", "Neighbor_alltoallv_allcomm_nb"},
    {"neighbor_alltoallw", "Neighbor_alltoallw_allcomm_nb", "Neighbor_alltoallw_allcomm_nb"},
    {"ibarrier", "Ibarrier_intra_sched_recursive_doubling", "Ibarrier_inter_sched_bcast"},
    {"ibcast", "Ibcast_intra_sched_binomial", "Ibcast_inter_sched_flat"},
    {"iallreduce", "Iallreduce_intra_sched_recursive_doubling",
     "Iallreduce_inter_sched_remote_reduce_local_bcast"},
    {"ireduce", "Ireduce_intra_sched_binomial", "Ireduce_inter_sched_local_reduce_remote_send"},
    {"iallgather", "Iallgather_intra_sched_brucks", "Iallgather_inter_sched_local_gather_remote_bcast"},
    {"iallgatherv", "Iallgatherv_intra_sched_ring", "Iallgatherv_inter_sched_remote_gather_local_bcast"},
    {"igather", "Igather_intra_sched_binomial", "Igather_inter_sched_short"},
    {"igatherv", "Igatherv_allcomm_sched_linear", "Igatherv_allcomm_sched_linear"},
    {"iscatter", "Iscatter_intra_sched_binomial", "Iscatter_inter_sched_linear"},
    {"iscatterv", "Iscatterv_allcomm_sched_linear", "Iscatterv_allcomm_sched_linear"},
    {"iscan", "Iscan_intra_sched_recursive_doubling", ""},
    {"iexscan", "Iexscan_intra_sched_recursive_doubling", ""},
    {"ireduce_scatter", "Ireduce_scatter_intra_sched_recursive_doubling",
     "Ireduce_scatter_inter_sched_remote_reduce_local_scatterv"},
    {"ireduce_scatter_block", "Ireduce_scatter_block_intra_sched_recursive_doubling",
     "Ireduce_scatter_block_inter_sched_remote_reduce_local_scatterv"},
    {"ineighbor_allgather", "Ineighbor_allgather_allcomm_sched_linear",
     "Ineighbor_allgather_allcomm_sched_linear"},
    {"ineighbor_allgatherv", "Ineighbor_allgatherv_allcomm_sched_linear",
     "Ineighbor_allgatherv_allcomm_sched_linear"},
    {"ineighbor_alltoall", "Ineighbor_alltoall_allcomm_sched_linear",
     "Ineighbor_alltoall_allcomm_sched_linear"},
    {"ineighbor_alltoallv", "Ineighbor_alltoallv_allcomm_sched_linear",
     "Ineighbor_alltoallv_allcomm_sched_linear"},
    {"ineighbor_alltoallw", "Ineighbor_alltoallw_allcomm_sched_linear",
     "Ineighbor_alltoallw_allcomm_sched_linear"},
    // intra_of() adds a condition to these: in place, or an operator that does not commute.
    {"alltoallv", "Alltoallv_intra_scattered", "Alltoallv_inter_pairwise_exchange"},
    {"alltoallw", "Alltoallw_intra_scattered", "Alltoallw_inter_pairwise_exchange"},
    {"ialltoall", "Ialltoall_intra_sched_permuted_sendrecv", "Ialltoall_inter_sched_pairwise_exchange"},
    {"ialltoallv", "Ialltoallv_intra_sched_blocked", "Ialltoallv_inter_sched_pairwise_exchange"},
    {"ialltoallw", "Ialltoallw_intra_sched_blocked", "Ialltoallw_inter_sched_pairwise_exchange"},
    {"reduce_scatter", "Reduce_scatter_intra_recursive_doubling",
     "Reduce_scatter_inter_remote_reduce_local_scatter"},
}};

// In place another algorithm; a ReduceScatter by counts goes by the operator, and then by size.
std::string intra_of(const Plain& plain) {
  const std::string_view name = plain.name, intra = plain.intra;
  if (name == "alltoallv" || name == "alltoallw")
    return tree({{"is_sendbuf_inplace=yes", leaf(std::string(intra.substr(0, intra.find("_intra"))) +
                                                 "_intra_pairwise_sendrecv_replace")},
                 {"is_sendbuf_inplace=no", leaf(plain.intra)}});
  if (name.starts_with("ialltoall"))
    return tree({{"is_sendbuf_inplace=yes",
                  leaf(std::string(intra.substr(0, intra.find("_intra"))) + "_intra_sched_inplace")},
                 {"is_sendbuf_inplace=no", leaf(plain.intra)}});
  if (name == "reduce_scatter")
    return tree({{"is_commutative=yes",
                  tree({{"total_msg_size<=524287", leaf("Reduce_scatter_intra_recursive_halving")},
                        {"total_msg_size=any", leaf("Reduce_scatter_intra_pairwise")}})},
                 {"is_commutative=no", leaf(plain.intra)}});
  return leaf(plain.intra);
}

// Sizes in the file are read as int.
constexpr std::int64_t kMostSize = INT32_MAX;

// A rule holds up to the byte before the next one ("<=" includes its bound). The last rule that starts within
// kMostSize holds for the rest: MPICH itself cannot read larger bounds.
std::string of_rules(const Ruled& ruled, const ToolRules& set) {
  const auto bytes = [&](std::size_t r) {
    return tool_bytes(Tool::Mpich, set.kind, set.ranks, set.rules[r].block_bytes);
  };
  const auto taken = [&](const ToolRule& rule) {
    return rule.algorithm == nullptr ? chosen_by_mpich(ruled) : guarded(ruled, rule.algorithm->name);
  };
  std::vector<Branch> branches;
  std::size_t r = 0;
  if (*ruled.size == '\0') return taken(set.rules.front());
  for (; r + 1 < set.rules.size() && bytes(r + 1) <= kMostSize; ++r)
    branches.push_back({fmt::format("{}<={}", ruled.size, bytes(r + 1) - 1), taken(set.rules[r])});
  branches.push_back({fmt::format("{}=any", ruled.size), taken(set.rules[r])});
  return tree(branches);
}

// Rules are for exactly as many ranks as were compared. Of sets for 4 and 8 ranks: comm_size<=3 MPICH's
// choice, <=4 the first set, <=7 MPICH's choice, <=8 the second set, any MPICH's choice.
std::string intra_of(const Ruled& ruled, const std::vector<ToolRules>& all) {
  std::vector<const ToolRules*> sets;
  for (const ToolRules& each : all)
    if (each.kind == ruled.kind) sets.push_back(&each);
  if (sets.empty()) return chosen_by_mpich(ruled);
  std::ranges::sort(sets, {}, &ToolRules::ranks);
  std::vector<Branch> branches;
  int done = 0;  // numbers of ranks that branches are for
  for (const ToolRules* const set : sets) {
    if (set->ranks - 1 > done)
      branches.push_back({fmt::format("comm_size<={}", set->ranks - 1), chosen_by_mpich(ruled)});
    branches.push_back({fmt::format("comm_size<={}", set->ranks), of_rules(ruled, *set)});
    done = set->ranks;
  }
  branches.push_back({"comm_size=any", chosen_by_mpich(ruled)});
  return tree(branches);
}

}  // namespace

std::string mpich_selection(const std::vector<ToolRules>& all) {
  std::vector<Branch> branches;
  const auto add = [&](const char* name, const std::string& intra, std::string_view inter) {
    std::vector<Branch> types = {{"comm_type=intra", intra}};
    if (!inter.empty()) types.push_back({"comm_type=inter", leaf(std::string(inter))});
    branches.push_back({fmt::format("collective={}", name), tree(types)});
  };
  for (const Ruled& each : kRuled) add(each.name, intra_of(each, all), each.inter);
  for (const Plain& each : kPlain) add(each.name, intra_of(each), each.inter);
  std::string text = tree(branches);
  // A line per collective, so that files can be compared.
  for (std::size_t at = 0; (at = text.find(",\"collective=", at)) != std::string::npos; at += 2)
    text.insert(at + 1, "\n");
  return text + "\n";
}

}  // namespace chorale
