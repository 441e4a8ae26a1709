#include "graph/free_symmetries.h"

#include <utility>

#include "graph/automorphisms.h"
#include "graph/digit_shifts.h"

namespace chorale {
namespace {

constexpr std::size_t kMostLinks =
    5000;  // for which bliss and products of its generators take some hundredths

}  // namespace

std::vector<std::vector<Rank>> free_symmetries(const Topology& topology) {
  std::vector<std::vector<Rank>> shifts = digit_shifts(topology);
  if (std::ssize(shifts) == topology.ranks || topology.links.size() > kMostLinks) return shifts;
  std::vector<std::vector<Rank>> found = largest_free_subgroup(topology);
  return found.size() > shifts.size() ? found : shifts;
}

}  // namespace chorale
