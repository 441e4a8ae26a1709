// Which rank has most to do is seen from few of them: the first of each group at which a tensor begins or
// ends, since the longer slices come first, and the roots.
#include "tensor/tuner/unit_work.h"

#include <algorithm>
#include <map>
#include <set>

namespace chorale {
namespace {

using Kind = OperationKind;

// Of the dimension along which a tensor is cut (or of all elements in a row) the part that a rank has.
// Elements are side * others; a rank has length * others of them. Rooted: all on the root, none elsewhere.
struct Share {
  std::int64_t side = 1, length = 0;
};

Share share_of(const Workload& workload, const TensorType& type, int rank) {
  const int group = rank / workload.ranks;
  const bool world = type.scope == Scope::World;
  if (!world && (group < type.first_group || group > type.last_group)) return {};
  const int index = world ? rank : rank % workload.ranks;
  if (type.layout.kind == LayoutKind::Rooted) return {.length = index == type.layout.root ? 1 : 0};
  if (type.layout.kind != LayoutKind::Sliced) return {.length = 1};
  const int count = ranks_of(workload, type);
  const std::int64_t side = type.layout.dim == kFlat ? elements(type) : type.shape[type.layout.dim].value;
  return {.side = side, .length = part_begin(side, count, index + 1) - part_begin(side, count, index)};
}

std::int64_t held_elements(const Workload& workload, const TensorType& type, int rank) {
  const Share share = share_of(workload, type, rank);
  return elements(type) / share.side * share.length;
}

// Elements of an operand that a rank reads for those of a pointwise result that it has.
// Of a bias [H] for a slice of [B, S, H] along S all of it is read, for a slice along H the rank's part;
// for a flat slice no more than the slice has elements.
std::int64_t read_pointwise(const Workload& workload, const TensorType& made, const TensorType& operand,
                            int rank) {
  const Share share = share_of(workload, made, rank);
  if (share.length == 0) return 0;
  if (made.layout.kind != LayoutKind::Sliced || operand.layout.kind == LayoutKind::Sliced)
    return held_elements(workload, operand, rank);
  const std::int64_t all = elements(operand);
  if (made.layout.dim == kFlat) return std::min(all, share.length);
  const int dim = made.layout.dim - static_cast<int>(made.shape.size() - operand.shape.size());
  if (dim < 0 || operand.shape[dim].value == 1) return all;
  return all / operand.shape[dim].value * share.length;
}

// Of the second factor, for slices of the first one: of the matrices that belong to them, if it has as many.
std::int64_t read_second_factor(const Workload& workload, const TensorType& first, const TensorType& second,
                                int rank) {
  const int dim = first.layout.kind == LayoutKind::Sliced ? first.layout.dim : kFlat;
  const bool by_matrix = dim >= 0 && dim + 2 < static_cast<int>(first.shape.size()) &&
                         second.layout.kind == LayoutKind::Replicated &&
                         second.shape.size() == first.shape.size();
  if (!by_matrix) return held_elements(workload, second, rank);
  return elements(second) / second.shape[dim].value * share_of(workload, first, rank).length;
}

// Multiplications and additions of one element of a product.
double inner_length(const Workload& workload, const Operation& product, const TensorType& first,
                    const TensorType& second, int rank) {
  // Where the factors are cut along what is summed over, a rank sums over its part.
  const int dim = product.kind == Kind::MatMul ? static_cast<int>(first.shape.size()) - 1 : 1;
  const bool cut = first.layout.kind == LayoutKind::Sliced && first.layout.dim == dim;
  double length = static_cast<double>(cut ? share_of(workload, first, rank).length : first.shape[dim].value);
  if (product.kind == Kind::Convolution)
    length *= static_cast<double>(second.shape[2].value) * static_cast<double>(second.shape[3].value);
  return length;
}

// A Send beyond the last group, or before the first, has no receiver and moves nothing.
bool sends(const Workload& workload, const Operation& send, int rank) {
  if (send.around) return true;
  const int to = rank / workload.ranks + send.shift;
  return to >= send.type.first_group && to <= send.type.last_group;
}

// Of an element, in additions. A random number is 10 rounds of 10 operations on integers (Philox); functions
// that processors have no instruction for are some 40, fewer on GPUs and more on hosts. What is the same for
// all elements is computed once.
int arithmetic(const Expression& expression, const std::vector<bool>& operand_varies) {
  using Op = ExpressionOperator;
  int all = 0;
  std::vector<bool> varies;  // the stack
  for (const ExpressionNode& node : expression) {
    bool any = node.op == Op::Random || node.op == Op::Index || node.op == Op::Element ||
               (node.op == Op::Operand && operand_varies.at(node.operand));
    for (int k = 0; k < arity(node.op); ++k) any = varies.back() || any, varies.pop_back();
    varies.push_back(any);
    const bool is_function =
        node.op == Op::Exp || node.op == Op::Log || node.op == Op::Tanh || node.op == Op::Pow;
    if (any) all += node.op == Op::Random ? 100 : is_function ? 40 : arity(node.op) > 0 ? 1 : 0;
  }
  return all;
}

bool reads_own_parts(Kind kind) {
  return is_communication(kind) || kind == Kind::ReduceTensor;
}

class WorkCount {
 public:
  explicit WorkCount(const Workload& workload) : workload_(workload) {
    for (const Operation& operation : workload.operations) named_[operation.name] = &operation;
  }

  // Memory is that of one rank, the busiest in bytes; each kind of arithmetic that of the rank with most
  // of it. These may be different ranks, so the time is an upper bound for each.
  UnitWork of(const Unit& unit) {
    UnitWork most{.unit = unit, .is_product = is_product(workload_.operations[unit.operations[0]].kind)};
    for (const int rank : ranks_to_ask(unit)) {
      const UnitWork there = on_rank(unit, rank);
      if (there.read + there.written > most.read + most.written)
        most.read = there.read, most.written = there.written;
      most.product_flops = std::max(most.product_flops, there.product_flops);
      most.flops = std::max(most.flops, there.flops);
      most.double_flops = std::max(most.double_flops, there.double_flops);
      most.handed_over = std::max(most.handed_over, there.handed_over);
    }
    for (const int i : unit.operations)
      if (const Operation& operation = workload_.operations[i]; is_communication(operation.kind))
        most.collectives.push_back(collective(operation));
    // Scalars go in one message.
    if (unit.kind == KernelKind::Scalars) {
      most.collectives[0].block_bytes *= static_cast<std::int64_t>(unit.operations.size());
      most.collectives.resize(1);
    }
    return most;
  }

 private:
  // Slices of n elements over p ranks: the first n mod p have one more, so the first rank of each group
  // that has the tensor has most. On other ranks nothing can be larger, but on a root.
  std::set<int> ranks_to_ask(const Unit& unit) const {
    std::set<int> ranks;
    const auto add = [&](const TensorType& type) {
      const int root = type.layout.kind == LayoutKind::Rooted ? type.layout.root : 0;
      for (const int group : {type.first_group, type.last_group}) {
        const int first = type.scope == Scope::World ? 0 : group * workload_.ranks;
        ranks.insert({first, first + root});
      }
    };
    for (const int i : unit.operations) {
      add(workload_.operations[i].type);
      for (const std::string& operand : workload_.operations[i].operands) add(named_.at(operand)->type);
    }
    return ranks;
  }

  // `read` is by memory: an updated input and the update are one tensor, which is read once.
  UnitWork on_rank(const Unit& unit, int rank) const {
    UnitWork work;
    std::map<std::string, std::int64_t> read;  // elements, by memory
    for (const int i : unit.operations) {
      const Operation& operation = workload_.operations[i];
      for (std::size_t k = 0; k < operation.operands.size(); ++k) {
        const Operation& operand = *named_.at(operation.operands[k]);
        if (is_constant(operand.kind) || is_in(unit, operand)) continue;
        std::int64_t& elements_read = read[operand.updates.empty() ? operand.name : operand.updates];
        elements_read = std::max(elements_read, elements_of_operand(operation, k, rank));
      }
      if (is_kept(unit, operation)) {
        // Rows in place leave the others alone.
        const TensorType& put =
            is_put_in_place(operation) ? named_.at(operation.operands[1])->type : operation.type;
        const std::int64_t bytes =
            held_elements(workload_, put, rank) * static_cast<std::int64_t>(size_of(operation.type.element));
        work.written += bytes;
        work.handed_over = std::max(work.handed_over, bytes);
      }
      count_flops(operation, rank, work);
    }
    for (const auto& [name, count] : read)
      work.read += count * static_cast<std::int64_t>(size_of(named_.at(name)->type.element));
    return work;
  }

  // From memory, by kind: communication and sums read what the rank has; views what they take; products all
  // of both factors, but for batches.
  std::int64_t elements_of_operand(const Operation& operation, std::size_t k, int rank) const {
    const TensorType& type = named_.at(operation.operands[k])->type;
    if (k == 0 && is_put_in_place(operation)) return 0;
    if (operation.kind == Kind::Send)
      return sends(workload_, operation, rank) ? held_elements(workload_, type, rank) : 0;
    if (reads_own_parts(operation.kind)) return held_elements(workload_, type, rank);
    if (operation.kind == Kind::Slice || held_elements(workload_, operation.type, rank) == 0)
      return held_elements(workload_, operation.type, rank);
    if (operation.kind == Kind::Narrow ||
        ((operation.kind == Kind::GatherRows || operation.kind == Kind::TakeAlong) && k == 0))
      return std::min(held_elements(workload_, type, rank), held_elements(workload_, operation.type, rank));
    if (operation.kind == Kind::Pointwise) return read_pointwise(workload_, operation.type, type, rank);
    if (operation.kind == Kind::MatMul && k == 1)
      return read_second_factor(workload_, named_.at(operation.operands[0])->type, type, rank);
    return held_elements(workload_, type, rank);
  }

  bool is_in(const Unit& unit, const Operation& operation) const {
    return std::ranges::any_of(unit.operations,
                               [&](int i) { return &workload_.operations[i] == &operation; });
  }

  // Stored to memory: what is single, what others read, what is returned, what updates. All else of a
  // kernel stays in registers.
  bool is_kept(const Unit& unit, const Operation& operation) const {
    if (operation.kernel.empty() || !operation.updates.empty()) return true;
    if (operation.kind == Kind::ReduceTensor) return true;  // complete at the end, when no register is left
    if (std::ranges::find(workload_.outputs, operation.name) != workload_.outputs.end()) return true;
    return std::ranges::any_of(workload_.operations, [&](const Operation& reader) {
      return std::ranges::find(reader.operands, operation.name) != reader.operands.end() &&
             !is_in(unit, reader);
    });
  }

  // By the type that arithmetic is done in: float64 and integers apart, float32 for shorter floats, products
  // of short floats on tensor cores. Two operations for each multiplication and addition of a product.
  void count_flops(const Operation& operation, int rank, UnitWork& work) const {
    const ElementType element = operation.type.element;
    const bool wide = element == ElementType::Float64 || element == ElementType::Int32;
    double& plain = wide ? work.double_flops : work.flops;
    const auto made = static_cast<double>(held_elements(workload_, operation.type, rank));
    if (operation.kind == Kind::Pointwise) {
      std::vector<bool> varies;
      for (const std::string& operand : operation.operands)
        varies.push_back(elements(named_.at(operand)->type) > 1);
      plain += made * arithmetic(operation.expression, varies);
    }
    if (is_reduction(operation.kind) || operation.kind == Kind::ScanAlong || operation.kind == Kind::TopK)
      plain += static_cast<double>(held_elements(workload_, named_.at(operation.operands[0])->type, rank));
    if (!is_product(operation.kind)) return;
    double& products = is_short_type(element) ? work.product_flops : plain;
    products += 2 * made *
                inner_length(workload_, operation, named_.at(operation.operands[0])->type,
                             named_.at(operation.operands[1])->type, rank);
  }

  // Frontiers count in blocks (ir/collective.h): the bytes of a block times rounds per chunk is what a
  // link carries.
  CollectiveWork collective(const Operation& operation) const {
    const TensorType& operand = named_.at(operation.operands[0])->type;
    const bool from_parts = operation.kind == Kind::AllGather || operation.kind == Kind::Send;
    const TensorType& blocks = from_parts ? operand : operation.type;
    std::int64_t count = elements(blocks);
    if (operation.kind == Kind::AllToAllV) count = elements(operand);
    if (operation.kind == Kind::AllToAll || operation.kind == Kind::AllToAllV)
      count /= ranks_of(workload_, blocks);
    else if (blocks.layout.kind == LayoutKind::Sliced)
      count = held_elements(workload_, blocks,
                            blocks.scope == Scope::World ? 0 : blocks.first_group * workload_.ranks);
    return {.name = operation.name,
            .kind = operation.kind,
            .scope = scope_of(workload_, operation),
            .root = operation.kind == Kind::Broadcast ? operand.layout.root : operation.type.layout.root,
            .block_bytes = count * static_cast<std::int64_t>(size_of(operation.type.element))};
  }

  const Workload& workload_;
  std::map<std::string, const Operation*> named_;
};

}  // namespace

std::vector<UnitWork> unit_work(const Workload& workload) {
  WorkCount count(workload);
  std::vector<UnitWork> result;
  std::map<std::string, std::vector<Unit>> overlaps;
  for (const Unit& unit : units(workload)) {
    result.push_back(count.of(unit));
    if (!unit.overlap.empty()) overlaps[unit.overlap].push_back(unit);
  }
  for (const auto& [name, members] : overlaps)
    // Units of such an overlap are priced side by side, and not as a pipeline.
    if (goes_beside(workload, members))
      for (UnitWork& work : result) work.beside = work.beside || work.unit.overlap == name;
  return result;
}

}  // namespace chorale
