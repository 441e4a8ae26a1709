// The positions of elements of tensors, by the definition of layouts; and tensors assembled from the parts of
// ranks, as users see them, and divided again.
//
// A Holding describes every layout: all of a tensor (side 1, length 1), none of it (length 0), or a run along
// one dimension. fp32[6, 4] sliced along dimension 0 over 4 ranks has side 6 and inner 4, and the ranks have
// 2, 2, 1 and 1 of the 6 (part_begin, ir/pieces.h). A flat slice is one of a vector of all elements.
#include "tensor/verifier/layout.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tensor/verifier/numbers.h"

namespace chorale {
namespace {

// The ranks that hold a tensor of the type are those from the first to before the last.
int first_rank(const Workload& workload, const TensorType& type) {
  return type.scope == Scope::World ? 0 : type.first_group * workload.ranks;
}
int last_rank(const Workload& workload, const TensorType& type) {
  return type.scope == Scope::World ? world(workload) : (type.last_group + 1) * workload.ranks;
}

}  // namespace

int world(const Workload& workload) {
  return workload.ranks * workload.groups;
}

int first_peer(const Workload& workload, const TensorType& type, int rank) {
  return type.scope == Scope::World ? 0 : rank / workload.ranks * workload.ranks;
}

// In this order: a group that does not hold the tensor, a rank that is not the root, a replica, a slice.
Holding held(const Workload& workload, const TensorType& type, int rank) {
  const std::int64_t all = elements(type);
  const int group = rank / workload.ranks;
  if (type.scope == Scope::Group && (group < type.first_group || group > type.last_group))
    return {.inner = all};
  const int within = rank - first_peer(workload, type, rank);
  if (type.layout.kind == LayoutKind::Rooted && within != type.layout.root) return {.inner = all};
  if (type.layout.kind != LayoutKind::Sliced) return {.inner = all, .length = 1};
  Holding holding{.side = all};
  if (type.layout.dim != kFlat) {
    holding.side = type.shape.at(type.layout.dim).value;
    for (std::size_t d = type.layout.dim + 1; d < type.shape.size(); ++d)
      holding.inner *= type.shape[d].value;
  }
  const int ranks = ranks_of(workload, type);
  holding.begin = part_begin(holding.side, ranks, within);
  holding.length = part_begin(holding.side, ranks, within + 1) - holding.begin;
  return holding;
}

std::int64_t size(const TensorType& type, const Holding& holding) {
  return elements(type) / holding.side * holding.length;
}

TensorSides sides_of(const TensorType& type) {
  TensorSides sides;
  for (const Extent& extent : type.shape) sides.push_back(extent.value);
  return sides;
}

std::int64_t aligned(const TensorSides& in, std::int64_t element, const TensorSides& of) {
  std::int64_t aligned_element = 0, stride = 1;
  for (std::size_t back = 1; back <= of.size(); ++back) {
    const std::int64_t along = element % in[in.size() - back];
    element /= in[in.size() - back];
    const std::int64_t side = of[of.size() - back];
    aligned_element += (side == 1 ? 0 : along) * stride;
    stride *= side;
  }
  return aligned_element;
}

// Replicas are compared where a second rank brings an element. A tensor that each group has is kept once, and
// that of each further group is compared with it.
std::vector<std::vector<double>> whole(const Workload& workload, const TensorType& type,
                                       const RankValues& values) {
  if (std::ssize(values) != world(workload)) throw std::logic_error("a tensor of another number of ranks");
  for (int rank = 0; rank < world(workload); ++rank)
    if (std::ssize(values[rank]) != size(type, held(workload, type, rank)))
      throw std::logic_error(
          fmt::format("rank {} has {} elements of a {}", rank, values[rank].size(), to_string(type)));
  const int peers = ranks_of(workload, type);
  std::vector<std::vector<double>> tensors;
  for (int first = first_rank(workload, type); first < last_rank(workload, type); first += peers) {
    std::vector<double> tensor;
    if (type.layout.kind == LayoutKind::Local) {
      for (int rank = first; rank < first + peers; ++rank)
        tensor.insert(tensor.end(), values[rank].begin(), values[rank].end());
    } else {
      tensor.resize(elements(type));
      std::vector<bool> is_known(tensor.size());
      for (int rank = first; rank < first + peers; ++rank) {
        const Holding holding = held(workload, type, rank);
        for (std::int64_t e = 0; e < std::ssize(tensor); ++e) {
          const std::int64_t place = holding.place(e);
          if (place < 0) continue;
          if (is_known[e] && !same_number(tensor[e], values[rank][place]))
            throw std::logic_error(fmt::format("element {} is {} on rank {} and {} on another", e,
                                               values[rank][place], rank, tensor[e]));
          tensor[e] = values[rank][place];
          is_known[e] = true;
        }
      }
    }
    tensors.push_back(std::move(tensor));
    if (!type.each || tensors.size() == 1) continue;
    if (!std::ranges::equal(tensors[0], tensors[1], same_number))
      throw std::logic_error("a tensor of each group that is another one in two of them");
    tensors.pop_back();
  }
  return tensors;
}

RankValues laid_out(const Workload& workload, const TensorType& type,
                    const std::vector<std::vector<double>>& tensors) {
  RankValues values(world(workload));
  const int peers = ranks_of(workload, type), from = first_rank(workload, type),
            to = last_rank(workload, type);
  const std::int64_t all = elements(type), given = type.layout.kind == LayoutKind::Local ? all * peers : all;
  if (std::ssize(tensors) != (type.each ? 1 : (to - from) / peers))
    throw std::logic_error("a tensor of another number of groups");
  for (int rank = from; rank < to; ++rank) {
    const std::vector<double>& tensor = tensors[type.each ? 0 : (rank - from) / peers];
    if (std::ssize(tensor) != given)
      throw std::logic_error(fmt::format("{} elements of a {}", tensor.size(), to_string(type)));
    const Holding holding = held(workload, type, rank);
    values[rank].resize(size(type, holding));
    for (std::int64_t e = 0; e < all; ++e)
      if (const std::int64_t place = holding.place(e); place >= 0)
        values[rank][place] = tensor[given == all ? e : (rank - from) % peers * all + e];
  }
  return values;
}

}  // namespace chorale
