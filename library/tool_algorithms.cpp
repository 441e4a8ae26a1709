// Names and numbers are those of the programs' own settings, by their documentation: of Open MPI ompi_info
// --param coll tuned --level 9, of MPICH mpivars, of UCC ucc_info -A. UCC's k-nomial algorithms have a radix,
// which the exported file sets to two, as baselines have it.
//
// A baseline has the shape of its algorithm, the same messages between the same ranks, since it predicts the
// time. Pipelines, chains, segmented rings and Bruck's algorithm have none: they can be chosen where their
// times were measured.
#include "library/tool_algorithms.h"

#include <algorithm>
#include <array>
#include <bit>

namespace chorale {
namespace {

// Tool, collective, the number of the algorithm in Open MPI's rules (0: it goes by name), its name, the
// baseline that predicts it ("": none does), and whether it is for powers of two only.
constexpr std::array kAlgorithms = std::to_array<ToolAlgorithm>({
    {Tool::Ompi, CollectiveKind::AllReduce, 1, "basic_linear", ""},
    {Tool::Ompi, CollectiveKind::AllReduce, 2, "nonoverlapping", ""},
    {Tool::Ompi, CollectiveKind::AllReduce, 3, "recursive_doubling", "recursive_doubling_allreduce"},
    {Tool::Ompi, CollectiveKind::AllReduce, 4, "ring", "ring_allreduce"},
    {Tool::Ompi, CollectiveKind::AllReduce, 5, "segmented_ring", ""},
    {Tool::Ompi, CollectiveKind::AllReduce, 6, "rabenseifner", "halving_doubling_allreduce"},
    {Tool::Ompi, CollectiveKind::AllReduce, 7, "allgather_reduce", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 1, "linear", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 2, "bruck", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 3, "recursive_doubling", "recursive_doubling_allgather"},
    {Tool::Ompi, CollectiveKind::Allgather, 4, "ring", "ring_allgather"},
    {Tool::Ompi, CollectiveKind::Allgather, 5, "neighbor", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 6, "two_proc", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 7, "sparbit", ""},
    {Tool::Ompi, CollectiveKind::Allgather, 8, "direct-messaging", "direct_allgather"},
    {Tool::Ompi, CollectiveKind::Alltoall, 1, "linear", "direct_alltoall"},
    {Tool::Ompi, CollectiveKind::Alltoall, 2, "pairwise", ""},
    {Tool::Ompi, CollectiveKind::Alltoall, 3, "modified_bruck", ""},
    {Tool::Ompi, CollectiveKind::Alltoall, 4, "linear_sync", ""},
    {Tool::Ompi, CollectiveKind::Alltoall, 5, "two_proc", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 1, "basic_linear", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 2, "chain", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 3, "pipeline", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 4, "split_binary_tree", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 5, "binary_tree", "tree_broadcast"},
    {Tool::Ompi, CollectiveKind::Broadcast, 6, "binomial", "binomial_broadcast"},
    {Tool::Ompi, CollectiveKind::Broadcast, 7, "knomial", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 8, "scatter_allgather", ""},
    {Tool::Ompi, CollectiveKind::Broadcast, 9, "scatter_allgather_ring", ""},
    {Tool::Ompi, CollectiveKind::Gather, 1, "basic_linear", ""},
    {Tool::Ompi, CollectiveKind::Gather, 2, "binomial", "binomial_gather"},
    {Tool::Ompi, CollectiveKind::Gather, 3, "linear_sync", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 1, "linear", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 2, "chain", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 3, "pipeline", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 4, "binary", "tree_reduce"},
    {Tool::Ompi, CollectiveKind::Reduce, 5, "binomial", "binomial_reduce"},
    {Tool::Ompi, CollectiveKind::Reduce, 6, "in-order_binary", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 7, "rabenseifner", ""},
    {Tool::Ompi, CollectiveKind::Reduce, 8, "knomial", ""},
    {Tool::Ompi, CollectiveKind::ReduceScatter, 1, "basic_linear", ""},
    {Tool::Ompi, CollectiveKind::ReduceScatter, 2, "recursive_doubling", ""},
    {Tool::Ompi, CollectiveKind::ReduceScatter, 3, "recursive_halving", "recursive_halving_reducescatter"},
    {Tool::Ompi, CollectiveKind::ReduceScatter, 4, "butterfly", ""},
    {Tool::Ompi, CollectiveKind::Scatter, 1, "basic_linear", ""},
    {Tool::Ompi, CollectiveKind::Scatter, 2, "binomial", "binomial_scatter"},
    {Tool::Ompi, CollectiveKind::Scatter, 3, "linear_nb", ""},
    {Tool::Mpich, CollectiveKind::AllReduce, 0, "recursive_doubling", "recursive_doubling_allreduce"},
    {Tool::Mpich, CollectiveKind::AllReduce, 0, "reduce_scatter_allgather", "halving_doubling_allreduce"},
    {Tool::Mpich, CollectiveKind::Allgather, 0, "brucks", ""},
    {Tool::Mpich, CollectiveKind::Allgather, 0, "recursive_doubling", "recursive_doubling_allgather", true},
    {Tool::Mpich, CollectiveKind::Allgather, 0, "ring", "ring_allgather"},
    {Tool::Mpich, CollectiveKind::Alltoall, 0, "brucks", ""},
    {Tool::Mpich, CollectiveKind::Alltoall, 0, "pairwise", ""},
    {Tool::Mpich, CollectiveKind::Alltoall, 0, "scattered", "direct_alltoall"},
    {Tool::Mpich, CollectiveKind::Broadcast, 0, "binomial", "binomial_broadcast"},
    {Tool::Mpich, CollectiveKind::Broadcast, 0, "scatter_recursive_doubling_allgather", "", true},
    {Tool::Mpich, CollectiveKind::Broadcast, 0, "scatter_ring_allgather", ""},
    {Tool::Mpich, CollectiveKind::Gather, 0, "binomial", "binomial_gather"},
    {Tool::Mpich, CollectiveKind::Reduce, 0, "binomial", "binomial_reduce"},
    {Tool::Mpich, CollectiveKind::Reduce, 0, "reduce_scatter_gather", ""},
    {Tool::Mpich, CollectiveKind::ReduceScatter, 0, "recursive_halving", "recursive_halving_reducescatter"},
    {Tool::Mpich, CollectiveKind::ReduceScatter, 0, "pairwise", "direct_reducescatter"},
    {Tool::Mpich, CollectiveKind::ReduceScatter, 0, "recursive_doubling", ""},
    {Tool::Mpich, CollectiveKind::Scatter, 0, "binomial", "binomial_scatter"},
    {Tool::Ucc, CollectiveKind::AllReduce, 0, "knomial", "recursive_doubling_allreduce"},
    {Tool::Ucc, CollectiveKind::AllReduce, 0, "sra_knomial", "halving_doubling_allreduce"},
    {Tool::Ucc, CollectiveKind::AllReduce, 0, "dbt", "two_tree_allreduce"},
    {Tool::Ucc, CollectiveKind::AllReduce, 0, "ring", "ring_allreduce"},
    {Tool::Ucc, CollectiveKind::Allgather, 0, "knomial", "recursive_doubling_allgather"},
    {Tool::Ucc, CollectiveKind::Allgather, 0, "ring", "ring_allgather"},
    {Tool::Ucc, CollectiveKind::Allgather, 0, "neighbor", ""},
    {Tool::Ucc, CollectiveKind::Allgather, 0, "bruck", ""},
    {Tool::Ucc, CollectiveKind::Allgather, 0, "linear", "direct_allgather"},
    {Tool::Ucc, CollectiveKind::Alltoall, 0, "pairwise", "direct_alltoall"},
    {Tool::Ucc, CollectiveKind::Alltoall, 0, "bruck", ""},
    {Tool::Ucc, CollectiveKind::Broadcast, 0, "knomial", "binomial_broadcast"},
    {Tool::Ucc, CollectiveKind::Broadcast, 0, "sag_knomial", ""},
    {Tool::Ucc, CollectiveKind::Broadcast, 0, "dbt", ""},
    {Tool::Ucc, CollectiveKind::Reduce, 0, "knomial", "binomial_reduce"},
    {Tool::Ucc, CollectiveKind::Reduce, 0, "dbt", ""},
    {Tool::Ucc, CollectiveKind::Reduce, 0, "srg", ""},
    {Tool::Ucc, CollectiveKind::ReduceScatter, 0, "ring", "ring_reducescatter"},
    {Tool::Ucc, CollectiveKind::ReduceScatter, 0, "knomial", "recursive_halving_reducescatter"},
});

}  // namespace

std::span<const Named<Tool>> tools() {
  static constexpr std::array<Named<Tool>, 3> all = {
      {{Tool::Ompi, "ompi"}, {Tool::Mpich, "mpich"}, {Tool::Ucc, "ucc"}}};
  return all;
}

std::optional<Tool> tool_named(std::string_view name) {
  return value_in(tools(), name);
}

std::span<const ToolAlgorithm> tool_algorithms() {
  return kAlgorithms;
}

const ToolAlgorithm* find_algorithm(Tool tool, CollectiveKind kind, std::string_view name) {
  const auto* const found = std::ranges::find_if(kAlgorithms, [&](const ToolAlgorithm& each) {
    return each.tool == tool && each.kind == kind && each.name == name;
  });
  return found == kAlgorithms.end() ? nullptr : found;
}

bool suits(const ToolAlgorithm& algorithm, int ranks) {
  return !algorithm.is_for_powers_of_two || std::has_single_bit(static_cast<unsigned>(ranks));
}

}  // namespace chorale
