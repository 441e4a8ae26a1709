// Sums are added up in the order of ranks, or of elements: those over ranks are rounded to the element type
// each time, the others once, by the caller.
#include "tests/tensor/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "ir/expression_value.h"

namespace chorale {

// Numbers are doubles here, which hold every number of the types exactly, and rounding is done on their
// values: by the distance of neighbours at a number's size, not by its bits, as devices do it. Sums and
// products of two fp32 numbers are made in fp32.
namespace {

// With `digits` binary ones, and exponents from `least`; `largest` is the largest number. The product with a
// power of two is exact, so ties are recognized exactly; they go to the even neighbour. What is nearest to a
// number above the largest is infinity: fp16 has 65504, and 65520 is a tie of it with 65536.
double rounded_to_digits(double value, int digits, int least, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least);  // below `least` the neighbours get no closer
  const double step = std::ldexp(1.0, exponent - digits + 1), steps = std::abs(value) / step;
  double whole_steps = std::floor(steps);
  const double rest = steps - whole_steps;
  if (rest > 0.5 || (rest == 0.5 && std::fmod(whole_steps, 2) == 1)) ++whole_steps;
  const double nearest = whole_steps * step;
  return std::copysign(nearest > largest ? std::numeric_limits<double>::infinity() : nearest, value);
}

double saturated(double value, double largest) {
  return std::isinf(value) ? std::copysign(largest, value) : value;
}

// By way of unsigned numbers, whose conversions wrap around by definition.
double wrapped(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
}

bool is_computed_in_float(ElementType type) {
  return type == ElementType::Float32 || is_short_type(type);
}

// The counter is the element's index, so a number depends on no other: ranks draw the same ones for the same
// elements, however a tensor is divided.
double random_number(std::uint64_t seed, std::uint32_t stream, std::int64_t index) {
  const auto low = [](std::uint64_t words) { return static_cast<std::uint32_t>(words); };
  const auto high = [](std::uint64_t words) { return static_cast<std::uint32_t>(words >> 32); };
  const std::uint64_t place = static_cast<std::uint64_t>(index);
  return std::ldexp(philox({low(place), high(place), stream, 0}, {low(seed), high(seed)})[0] >> 8, -24);
}

template <typename R>
// In R from operator to operator; a conversion within the expression rounds to its type.
R computed_in(const Expression& expression, std::int64_t index, std::uint64_t seed,
              const std::function<double(int)>& operand,
              const std::function<std::int64_t(int)>& index_along) {
  return value_of<R>(
      expression,
      [&](const ExpressionNode& node) -> R {
        switch (node.op) {
          case ExpressionOperator::Constant:
            return static_cast<R>(node.constant);
          case ExpressionOperator::Index:
            return static_cast<R>(index_along(node.operand));
          case ExpressionOperator::Operand:
            return static_cast<R>(operand(node.operand));
          case ExpressionOperator::Random:
            return static_cast<R>(random_number(seed, static_cast<std::uint32_t>(node.constant), index));
          default:
            throw std::logic_error("an expression of a workload is of no element");
        }
      },
      [](ElementType type, R value) { return static_cast<R>(rounded(type, static_cast<double>(value))); });
}

}  // namespace

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double rounded(ElementType type, double value) {
  constexpr double kLeast = std::numeric_limits<std::int32_t>::min(),
                   kMost = std::numeric_limits<std::int32_t>::max();
  switch (type) {
    case ElementType::Float64:
      return value;
    case ElementType::Float32:
      return static_cast<float>(value);
    case ElementType::Float16:
      return rounded_to_digits(static_cast<float>(value), 11, -14, 65504);
    case ElementType::Bfloat16:
      return rounded_to_digits(static_cast<float>(value), 8, -126, std::ldexp(255, 120));
    case ElementType::Float8E4m3:
      return saturated(rounded_to_digits(static_cast<float>(value), 4, -6, 448), 448);
    case ElementType::Float8E5m2:
      return saturated(rounded_to_digits(static_cast<float>(value), 3, -14, 57344), 57344);
    case ElementType::Int32:
      // NaN is no greater than anything, and becomes the smallest.
      if (!(value > kLeast)) return kLeast;
      return value >= kMost ? kMost : static_cast<std::int32_t>(value);
    default:
      throw std::logic_error("workloads have no elements of " + to_string(type));
  }
}

double computed(const Expression& expression, ElementType type, std::int64_t index, std::uint64_t seed,
                const std::function<double(int)>& operand,
                const std::function<std::int64_t(int)>& index_along) {
  if (is_computed_in_float(type)) return computed_in<float>(expression, index, seed, operand, index_along);
  return computed_in<double>(expression, index, seed, operand, index_along);
}

double folded(ElementType type, ReduceOp op, double a, double b) {
  if (op == ReduceOp::Min || op == ReduceOp::Max) {
    if (std::isnan(a) || a == b) return std::isnan(a) || std::signbit(a) ? a : b;
    return std::isnan(b) || (op == ReduceOp::Min ? b < a : a < b) ? b : a;
  }
  if (op != ReduceOp::Sum) throw std::logic_error("workloads have no reduction by " + to_string(op));
  if (type == ElementType::Int32) return wrapped(static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b));
  return is_computed_in_float(type) ? static_cast<float>(a) + static_cast<float>(b) : a + b;
}

double product(ElementType type, double a, double b) {
  if (type == ElementType::Int32) return wrapped(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b));
  return is_computed_in_float(type) ? static_cast<float>(a) * static_cast<float>(b) : a * b;
}

// Infinities as the type has them: the largest numbers of integers and of floats of 8 bits, which saturate.
double neutral(ElementType type, ReduceOp op) {
  if (op == ReduceOp::Sum) return 0;
  const double least = rounded(type, -std::numeric_limits<double>::infinity());
  const double most = rounded(type, std::numeric_limits<double>::infinity());
  return op == ReduceOp::Min ? most : least;
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};  // the golden ratio, and the root of 3 less 1
  }
  return counter;
}

// The positions of elements of tensors, by the definition of layouts; and tensors assembled from the parts of
// ranks, as users see them, and divided again.
//
// A Holding describes every layout: all of a tensor (side 1, length 1), none of it (length 0), or a run along
// one dimension. fp32[6, 4] sliced along dimension 0 over 4 ranks has side 6 and inner 4, and the ranks have
// 2, 2, 1 and 1 of the 6 (part_begin, ir/pieces.h). A flat slice is one of a vector of all elements.

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

namespace {

// Summands are those of the group or the world of the operand, rank by rank; of a sum across groups, those of
// the ranks with the same number in each group, which are `ranks` apart.
double sum_over_ranks(const Workload& workload, const MadeElement& made, const OperandReader& read,
                      const RankSum& rank_sum) {
  const Operation& op = *made.op;
  const bool across = op.over == Scope::Across;
  const TensorType& among = op.over == Scope::Group ? op.type : *made.operands[0].type;
  const int first = across ? made.rank % workload.ranks : first_peer(workload, among, made.rank),
            peers = across ? workload.groups : ranks_of(workload, among);
  std::vector<double> summands;
  for (int k = 0; k < peers; ++k)
    summands.push_back(read(0, first + k * (across ? workload.ranks : 1), made.element));
  if (rank_sum) return rank_sum(op, made.rank, made.element, summands);
  double sum = summands[0];
  for (int k = 1; k < peers; ++k)
    sum = rounded(op.type.element, folded(op.type.element, op.reduction, sum, summands[k]));
  return sum;
}

// Part j of what rank i has becomes part i of what rank j has.
double exchanged(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const TensorType& type = made.op->type;
  const int first = first_peer(workload, type, made.rank);
  const std::int64_t part = elements(type) / ranks_of(workload, type);
  const int from = first + static_cast<int>(made.element / part);
  return read(0, from, (made.rank - first) * part + made.element % part);
}

// Row k of those that rank i sends to rank j follows all rows that j gets from ranks before i. Rank i has it
// behind all that it sends to ranks before j; where it has no such row, or nobody sends one, zeros arrive.
double exchanged_row(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const int first = first_peer(workload, made.op->type, made.rank), peers = ranks_of(workload, made.op->type);
  const std::int64_t each = made.operands[1].sides.at(0) / peers;
  const auto sent = [&](int from, int to) {
    double rows = 0;
    for (std::int64_t k = to * each; k < (to + 1) * each; ++k)
      rows += std::max(0.0, read(1, first + from, k));
    return static_cast<std::int64_t>(rows);
  };
  std::int64_t length = 1;
  for (std::size_t d = 1; d < made.sides->size(); ++d) length *= (*made.sides)[d];
  std::int64_t row = made.element / length;
  const int to = made.rank - first;
  int from = 0;
  while (from < peers && row >= sent(from, to)) row -= sent(from++, to);
  if (from == peers) return 0;
  for (int before = 0; before < to; ++before) row += sent(from, before);
  return row < made.operands[0].sides[0] ? read(0, first + from, row * length + made.element % length) : 0;
}

// Over what of the inner dimension? All; or where both operands are cut along it, the part that the rank has.
Holding summed(const Workload& workload, const MadeElement& made, int first_dim, int second_dim) {
  const TensorType &a = *made.operands[0].type, &b = *made.operands[1].type;
  const auto is_cut = [](const TensorType& x, int dim) {
    return x.layout.kind == LayoutKind::Sliced && x.layout.dim == dim;
  };
  if (is_cut(a, first_dim) && is_cut(b, second_dim)) return held(workload, a, made.rank);
  return {.begin = 0, .length = a.shape.at(first_dim).value};
}

double matrix_element(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const TensorSides &left = made.operands[0].sides, &right = made.operands[1].sides;
  const ElementType type = made.op->type.element;
  const std::int64_t inner = left.back(), columns = right.back(), rows = left.at(left.size() - 2);
  const std::int64_t row = made.element / columns,
                     column = made.element % columns;  // of all matrices, one below the other
  const std::int64_t matrix = right.size() > 2 ? row / rows : 0;
  const Holding over =
      summed(workload, made, static_cast<int>(left.size()) - 1, static_cast<int>(right.size()) - 2);
  double sum = 0;
  for (std::int64_t k = over.begin; k < over.begin + over.length; ++k)
    sum = folded(type, ReduceOp::Sum, sum,
                 product(type, read(0, made.rank, row * inner + k),
                         read(1, made.rank, (matrix * inner + k) * columns + column)));
  return sum;
}

// Where an element is along a dimension.
std::int64_t along(const TensorSides& sides, int dim, std::int64_t element) {
  for (std::size_t d = sides.size() - 1; d > static_cast<std::size_t>(dim); --d) element /= sides[d];
  return element % sides.at(dim);
}

// In float64 where elements are real, of what the rank has where slices are along the dimension.
double reduced_along(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const Operation& op = *made.op;
  const int dim = op.dims.at(0);
  const SizedTensor& of = made.operands[0];
  std::int64_t inner = 1;
  for (std::size_t d = of.sides.size() - 1; d > static_cast<std::size_t>(dim); --d) inner *= of.sides[d];
  Holding over{.length = of.sides.at(dim)};
  if (of.type->layout.kind == LayoutKind::Sliced && of.type->layout.dim == dim)
    over = held(workload, *of.type, made.rank);
  const ElementType type = op.type.element == ElementType::Int32 ? op.type.element : ElementType::Float64;
  double sum = neutral(op.type.element, op.reduction);
  for (std::int64_t k = over.begin; k < over.begin + over.length; ++k)
    sum =
        folded(type, op.reduction, sum,
               read(0, made.rank, (made.element / inner * of.sides[dim] + k) * inner + made.element % inner));
  return sum;
}

TensorSides coordinates(const TensorSides& sides, std::int64_t element);
std::int64_t element_at(const TensorSides& sides, const TensorSides& coordinates);

// Up to the element, from the first one on.
double scanned(const MadeElement& made, const OperandReader& read) {
  const Operation& op = *made.op;
  const ElementType type = op.type.element == ElementType::Int32 ? op.type.element : ElementType::Float64;
  TensorSides at = coordinates(*made.sides, made.element);
  const std::int64_t last = at.at(op.dims.at(0));
  double sum = neutral(op.type.element, op.reduction);
  for (std::int64_t& k = at.at(op.dims.at(0)) = 0; k <= last; ++k)
    sum = folded(type, op.reduction, sum, read(0, made.rank, element_at(*made.sides, at)));
  return sum;
}

// By how many come before each: NaNs first, then the larger ones, of equals the first.
double top_number(const MadeElement& made, const OperandReader& read) {
  const int dim = made.op->dims.at(0);
  TensorSides at = coordinates(*made.sides, made.element);
  const std::int64_t wanted = at.at(dim);
  std::vector<double> values;
  for (std::int64_t& k = at.at(dim) = 0; k < made.operands[0].sides.at(dim); ++k)
    values.push_back(read(0, made.rank, element_at(made.operands[0].sides, at)));
  for (std::size_t k = 0; k < values.size(); ++k) {
    std::int64_t before = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const bool same = values[j] == values[k] || (std::isnan(values[j]) && std::isnan(values[k]));
      const bool more = std::isnan(values[j]) ? !std::isnan(values[k]) : values[j] > values[k];
      before += same ? j < k : more;
    }
    if (before == wanted) return static_cast<double>(k);
  }
  throw std::logic_error(made.op->name + " has fewer elements");
}

double taken(const MadeElement& made, const OperandReader& read) {
  const int dim = made.op->dims.at(0);
  TensorSides at = coordinates(*made.sides, made.element);
  const double number = read(1, made.rank, made.element);
  if (number < 0 || number >= static_cast<double>(made.operands[0].sides.at(dim))) return 0;
  at.at(dim) = static_cast<std::int64_t>(number);
  return read(0, made.rank, element_at(made.operands[0].sides, at));
}

// Row-major: the last dimension varies fastest.
TensorSides coordinates(const TensorSides& sides, std::int64_t element) {
  TensorSides result(sides.size());
  for (std::size_t d = sides.size(); d-- > 0; element /= sides[d]) result[d] = element % sides[d];
  return result;
}
std::int64_t element_at(const TensorSides& sides, const TensorSides& coordinates) {
  std::int64_t element = 0;
  for (std::size_t d = 0; d < sides.size(); ++d) element = element * sides[d] + coordinates[d];
  return element;
}

// Coordinates of the result, changed to where the operand has the element: a dimension swapped, shifted,
// or in another operand.
double moved(const MadeElement& made, const OperandReader& read) {
  const Operation& op = *made.op;
  if (op.kind == OperationKind::Reshape) return read(0, made.rank, made.element);
  TensorSides at = coordinates(*made.sides, made.element);
  int operand = 0;
  if (op.kind == OperationKind::Transpose) std::swap(at.at(op.dims.at(0)), at.at(op.dims.at(1)));
  if (op.kind == OperationKind::Narrow) at.at(op.dims.at(0)) += op.shape.at(0).value;
  if (op.kind == OperationKind::Concat)
    for (; at.at(op.dims.at(0)) >= made.operands[operand].sides.at(op.dims[0]); ++operand)
      at[op.dims[0]] -= made.operands[operand].sides[op.dims[0]];
  return read(operand, made.rank, element_at(made.operands[operand].sides, at));
}

// Numbers that are no row give zeros.
double gathered_row(const MadeElement& made, const OperandReader& read) {
  const TensorSides& rows = made.operands[0].sides;
  std::int64_t length = 1;
  for (std::size_t d = 1; d < rows.size(); ++d) length *= rows[d];
  const double number = read(1, made.rank, made.element / length);
  if (number < 0 || number >= static_cast<double>(rows[0])) return 0;
  return read(0, made.rank, static_cast<std::int64_t>(number) * length + made.element % length);
}

// The last of the new rows that has the number, or the old one.
double put_row(const MadeElement& made, const OperandReader& read) {
  std::int64_t length = 1, k = 1;
  for (std::size_t d = 1; d < made.sides->size(); ++d) length *= (*made.sides)[d];
  for (const std::int64_t side : made.operands[2].sides) k *= side;
  while (k-- > 0)
    if (read(2, made.rank, k) == static_cast<double>(made.element / length))
      return read(1, made.rank, k * length + made.element % length);
  return read(0, made.rank, made.element);
}

// In the order of the rows that the rank has, rounded each time.
double scattered_rows(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const ElementType type = made.op->type.element;
  std::int64_t length = 1, count = 1;
  for (std::size_t d = 1; d < made.sides->size(); ++d) length *= (*made.sides)[d];
  for (const std::int64_t side : made.operands[1].sides) count *= side;
  const Holding numbers = held(workload, *made.operands[1].type, made.rank);
  double sum = 0;
  for (std::int64_t k = 0; k < count; ++k)
    if (numbers.place(k) >= 0 && read(1, made.rank, k) == static_cast<double>(made.element / length))
      sum = rounded(type,
                    folded(type, ReduceOp::Sum, sum, read(0, made.rank, k * length + made.element % length)));
  return sum;
}

// The definition, as seven nested loops of which four are the element that is asked for.
double convolved(const Workload& workload, const MadeElement& made, const OperandReader& read) {
  const Operation& op = *made.op;
  const TensorSides &image = made.operands[0].sides, &filter = made.operands[1].sides, &out = *made.sides;
  const ElementType type = op.type.element;
  const std::int64_t element = made.element;
  const std::int64_t column = element % out[3], row = element / out[3] % out[2];
  const std::int64_t o = element / out[3] / out[2] % out[1], n = element / out[3] / out[2] / out[1];
  const Holding over = summed(workload, made, 1, 1);
  double sum = 0;
  for (std::int64_t c = over.begin; c < over.begin + over.length; ++c)
    for (std::int64_t i = 0; i < filter[2]; ++i)
      for (std::int64_t j = 0; j < filter[3]; ++j) {
        const std::int64_t y = row * op.stride + i - op.padding;
        const std::int64_t z = column * op.stride + j - op.padding;
        if (y < 0 || y >= image[2] || z < 0 || z >= image[3]) continue;  // zeros around the image
        sum = folded(type, ReduceOp::Sum, sum,
                     product(type, read(0, made.rank, ((n * image[1] + c) * image[2] + y) * image[3] + z),
                             read(1, made.rank, ((o * filter[1] + c) * filter[2] + i) * filter[3] + j)));
      }
  return sum;
}

}  // namespace

double made_element(const Workload& workload, const MadeElement& made, std::uint64_t seed,
                    const OperandReader& read, const RankSum& rank_sum) {
  const Operation& op = *made.op;
  switch (op.kind) {
    case OperationKind::Pointwise:
      return computed(
          op.expression, op.type.element, made.element, seed,
          [&](int operand) {
            return read(operand, made.rank, aligned(*made.sides, made.element, made.operands[operand].sides));
          },
          [&](int dim) { return along(*made.sides, dim, made.element); });
    case OperationKind::MatMul:
      return matrix_element(workload, made, read);
    case OperationKind::Convolution:
      return convolved(workload, made, read);
    case OperationKind::Transpose:
    case OperationKind::Reshape:
    case OperationKind::Narrow:
    case OperationKind::Concat:
      return moved(made, read);
    case OperationKind::GatherRows:
      return gathered_row(made, read);
    case OperationKind::PutRows:
      return put_row(made, read);
    case OperationKind::ScatterRows:
      return scattered_rows(workload, made, read);
    case OperationKind::ReduceAlong:
      return reduced_along(workload, made, read);
    case OperationKind::ScanAlong:
      return scanned(made, read);
    case OperationKind::TopK:
      return top_number(made, read);
    case OperationKind::TakeAlong:
      return taken(made, read);
    case OperationKind::ReduceTensor:
    case OperationKind::Slice:
    case OperationKind::AllGather:
    case OperationKind::Broadcast:
    case OperationKind::Send:
      return read(0, made.rank, made.element);
    case OperationKind::AllReduce:
    case OperationKind::ReduceScatter:
    case OperationKind::Reduce:
      return sum_over_ranks(workload, made, read, rank_sum);
    case OperationKind::AllToAll:
      return exchanged(workload, made, read);
    case OperationKind::AllToAllV:
      return exchanged_row(workload, made, read);
    default:
      throw std::logic_error(op.name + " is nothing that is done");
  }
}

// By algorithms that send the fewest bytes: of an AllReduce 2 (p-1)/p of the tensor, of a ReduceScatter or
// AllGather half of that.
std::int64_t sent_bytes(const Workload& workload, const Operation& op) {
  const TensorType& type = op.type;
  const std::int64_t element = static_cast<std::int64_t>(size_of(type.element)), n = elements(type) * element;
  const int p = ranks_of(workload, type);
  const auto smallest = [&](const TensorType& sliced) {  // the last ranks' parts are
    const int last =
        sliced.scope == Scope::World ? world(workload) - 1 : (sliced.last_group + 1) * workload.ranks - 1;
    return size(sliced, held(workload, sliced, last)) * element;
  };
  const auto operand = [&]() -> const TensorType& { return operation(workload, op.operands.at(0)).type; };
  switch (op.kind) {
    case OperationKind::AllReduce: {
      const bool across = op.over == Scope::Across;
      const TensorType& among = op.over == Scope::Group ? type : operand();
      const std::int64_t held_here = across ? size(type, held(workload, type, 0)) : elements(type),
                         ranks = across ? workload.groups : ranks_of(workload, among);
      return 2 * (held_here - held_here / ranks) * element;
    }
    case OperationKind::ReduceScatter:
      return n - smallest(type);
    case OperationKind::AllGather:
      return n - smallest(operand());
    case OperationKind::AllToAll:
      return n - n / p;
    case OperationKind::AllToAllV: {  // of as many rows to each rank
      const std::int64_t rows = elements(operand()) * element;
      return rows - rows / p;
    }
    case OperationKind::Reduce:
    case OperationKind::Broadcast:
      return p > 1 ? n : 0;
    case OperationKind::Send: {
      std::int64_t most = op.around && p > 1 ? n : 0;
      for (int rank = 0; rank < world(workload) && !op.around; ++rank) {
        const int to = rank + op.shift * workload.ranks;
        if (to >= 0 && to < world(workload) && held(workload, type, to).length > 0)
          most = std::max(most, size(operand(), held(workload, operand(), rank)) * element);
      }
      return most;
    }
    default:
      return 0;
  }
}

}  // namespace chorale
