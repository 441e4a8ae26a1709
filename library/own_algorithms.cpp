// Names are those of the programs' own settings, by their documentation: of Open MPI ompi_info --param coll
// tuned --level 9, of MPICH mpivars, of UCC ucc_info -A.
#include "library/own_algorithms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <ranges>

namespace chorale {
namespace {

struct Row {
  std::string_view library = {};
  CollectiveKind kind = CollectiveKind::Custom;
  std::string_view names = {};  // with blanks between them
};

constexpr std::array kOwnAlgorithms = std::to_array<Row>(
    {{"ompi", CollectiveKind::AllReduce,
      "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner allgather_reduce"},
     {"ompi", CollectiveKind::Allgather,
      "linear bruck recursive_doubling ring neighbor two_proc sparbit direct-messaging"},
     {"ompi", CollectiveKind::Alltoall, "linear pairwise modified_bruck linear_sync two_proc"},
     {"ompi", CollectiveKind::Broadcast,
      "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial scatter_allgather "
      "scatter_allgather_ring"},
     {"ompi", CollectiveKind::Gather, "basic_linear binomial linear_sync"},
     {"ompi", CollectiveKind::Reduce,
      "linear chain pipeline binary binomial in-order_binary rabenseifner knomial"},
     {"ompi", CollectiveKind::ReduceScatter, "basic_linear recursive_doubling recursive_halving butterfly"},
     {"ompi", CollectiveKind::Scatter, "basic_linear binomial linear_nb"},
     {"mpich", CollectiveKind::AllReduce, "recursive_doubling reduce_scatter_allgather"},
     {"mpich", CollectiveKind::Allgather, "brucks recursive_doubling ring"},
     {"mpich", CollectiveKind::Alltoall, "brucks pairwise scattered"},
     {"mpich", CollectiveKind::Broadcast,
      "binomial scatter_recursive_doubling_allgather scatter_ring_allgather"},
     {"mpich", CollectiveKind::Gather, "binomial"},
     {"mpich", CollectiveKind::Reduce, "binomial reduce_scatter_gather"},
     {"mpich", CollectiveKind::ReduceScatter, "recursive_halving pairwise recursive_doubling"},
     {"mpich", CollectiveKind::Scatter, "binomial"},
     {"ucc", CollectiveKind::AllReduce, "knomial sra_knomial dbt ring"},
     {"ucc", CollectiveKind::Allgather, "knomial ring neighbor bruck linear"},
     {"ucc", CollectiveKind::Alltoall, "pairwise bruck"},
     {"ucc", CollectiveKind::Broadcast, "knomial sag_knomial dbt"},
     {"ucc", CollectiveKind::Reduce, "knomial dbt srg"},
     {"ucc", CollectiveKind::ReduceScatter, "ring knomial"}});

}  // namespace

bool is_own_algorithm(std::string_view library, CollectiveKind kind, std::string_view name) {
  return std::ranges::any_of(kOwnAlgorithms, [&](const Row& row) {
    return row.library == library && row.kind == kind &&
           std::ranges::any_of(row.names | std::views::split(' '), [&](const auto& word) {
             return std::string_view(word.begin(), word.end()) == name;
           });
  });
}

// MPICH's recursive doubling is for powers of two of ranks; of an AllReduce and a ReduceScatter it has a form
// for all.
bool suits(std::string_view library, CollectiveKind kind, std::string_view name, int ranks) {
  const bool is_for_powers_of_two =
      library == "mpich" &&
      ((kind == CollectiveKind::Allgather && name == "recursive_doubling") ||
       (kind == CollectiveKind::Broadcast && name == "scatter_recursive_doubling_allgather"));
  return !is_for_powers_of_two || std::has_single_bit(static_cast<unsigned>(ranks));
}

}  // namespace chorale
