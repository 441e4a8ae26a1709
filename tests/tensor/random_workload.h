// Random programs that are legal, in which transformations find something to do: gradients that are summed
// and update state, layers whose products are summed, norms, sends to the next group, and anything else that
// has a type. With odd and uneven shapes, sides of 1, scalars, one to three groups of one to five ranks, all
// element types.
//
// Sums are the only thing whose order a transformation may change, and of these only reductions to a scalar:
// their summands are integers from -2 to 2, and so few that every type holds all partial sums. So programs
// that mean the same have the same bits.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/error.h"
#include "tensor/language/infer.h"
#include "tests/tensor/interpreter.h"
#include "tests/tensor/workloads.h"

namespace chorale::test {

// Numbers that are the same with every library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  int from_to(int least, int most) { return least + below(most - least + 1); }
  bool one_in(int n) { return below(n) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& list) {
    return list[below(static_cast<int>(list.size()))];
  }

 private:
  std::mt19937_64 random_;
};

struct Cast {
  bool is = false;
  ElementType to = ElementType::Float32;
};

class RandomWorkload {
 public:
  explicit RandomWorkload(Dice& dice) : dice_(dice) {}

  Workload make() {
    begin();
    const int parts = dice_.from_to(1, 3);
    for (int i = 0; i < parts; ++i) part();
    for (int i = dice_.below(4); i > 0; --i) anything();
    return end();
  }

 private:
  using Name = std::string;  // of an operation; empty: there is no such operation

  void begin() {
    workload_ = {
        .name = "random", .ranks = dice_.from_to(1, 5), .groups = dice_.one_in(2) ? 1 : dice_.from_to(1, 3)};
    for (OperationKind kind : {OperationKind::Rank, OperationKind::Group, OperationKind::Ranks})
      add({.kind = kind, .name = to_string(kind)});
    in_groups_ = workload_.groups > 1 && !dice_.one_in(4);
    workload_.sizes = {{.name = "N", .value = dice_.from_to(1, 7)},
                       {.name = "H", .value = dice_.from_to(1, 5)}};
    for (int d = dice_.from_to(1, 3); d > 0; --d) shape_.push_back(side());
    while (count(shape_) > 48) shape_.pop_back();
    for (const WorkloadSize& size : workload_.sizes) add({.kind = OperationKind::Size, .name = size.name});
    element_ = element();
  }

  Extent side() {
    const WorkloadSize& size = dice_.of(workload_.sizes);
    switch (dice_.below(4)) {
      case 0:
        return {.factor = size.value, .value = size.value};
      case 1:
        return {.factor = 2, .sizes = {size.name}, .value = 2 * size.value};
      case 2:
        if (size.value % 2 == 0) return {.sizes = {size.name}, .divisor = 2, .value = size.value / 2};
        [[fallthrough]];
      default:
        return {.sizes = {size.name}, .value = size.value};
    }
  }
  static std::int64_t count(const TensorShape& shape) { return elements({.shape = shape}); }

  ElementType element() {
    using enum ElementType;
    return dice_.of(std::vector{Float32, Float32, Float32, Float32, Float16, Float16, Float16, Bfloat16,
                                Bfloat16, Float64, Float64, Int32, Int32, Float8E4m3, Float8E5m2});
  }
  // That holds sums of a tensor's few integers.
  ElementType summed_element() {
    ElementType type = element();
    while (size_of(type) == 1) type = element();
    return type;
  }
  ElementType real_element() {
    ElementType type = element();
    while (type == ElementType::Int32) type = element();
    return type;
  }

  Name fresh(const std::string& stem) { return stem + std::to_string(++names_); }

  // With its type; empty: it has none, or reads what is not there any more.
  Name add(Operation op) {
    if (std::ranges::any_of(op.operands, [&](const Name& name) { return is_updated(name); })) return {};
    if (op.name.empty()) op.name = fresh("t");
    const OrError<TensorType> type = inferred_type(workload_, op, "random");
    if (!type) return {};
    op.type = *type;
    if (elements(op.type) > 512) return {};
    if (!is_given(op.kind) && (op.kind == OperationKind::PutRows || dice_.one_in(12))) let_update(op);
    workload_.operations.push_back(op);
    return op.name;
  }

  // In the memory of an input that is like it.
  void let_update(Operation& op) {
    using enum OperationKind;
    if (op.kind == PutRows && operation(workload_, op.operands[0]).kind == Input) {
      op.updates = op.operands[0];
      if (!is_put_in_place(op)) op.updates.clear();
    }
    if (op.kind != Pointwise && op.kind != AllGather && op.kind != AllReduce && op.kind != Broadcast &&
        (op.kind != Send || op.around))
      return;
    op.updates = existing(
        [&](const Operation& other) { return other.kind == OperationKind::Input && other.type == op.type; });
    if (op.updates.empty() || dice_.one_in(3)) op.updates = add_input(op.type);
  }

  Name add_input(TensorType type) {
    Operation op = input(fresh("in"), type);
    op.state = !dice_.one_in(3);
    op.scattered = type.shape.size() == 1 && dice_.one_in(6);
    return add(op);
  }
  Name add_input(const TensorShape& shape, ElementType element, TensorLayout layout) {
    const int dimensions = static_cast<int>(shape.size());
    if (layout.kind == LayoutKind::Sliced && layout.dim >= dimensions) layout.dim = kFlat;
    if (layout.kind == LayoutKind::Sliced && dimensions == 0) layout = kReplicated;
    TensorType type{.element = element, .shape = shape, .layout = normal(layout, dimensions)};
    if (in_groups_ && !(layout == kReplicated && dice_.one_in(2))) {
      type.scope = Scope::Group;
      type.first_group = dice_.one_in(4) ? dice_.below(workload_.groups) : 0;
      type.last_group =
          dice_.one_in(4) ? dice_.from_to(type.first_group, workload_.groups - 1) : workload_.groups - 1;
    }
    return add_input(type);
  }

  const TensorType& type_of(const Name& name) const { return operation(workload_, name).type; }

  TensorLayout slices(const TensorShape& shape) {
    return sliced(dice_.one_in(2) ? kFlat : dice_.below(static_cast<int>(shape.size())));
  }
  TensorLayout layout_of(const TensorShape& shape) {
    switch (dice_.below(6)) {
      case 0:
        return shape.empty() ? kReplicated : slices(shape);
      case 1:
        return kLocal;
      case 2:
        return rooted(dice_.below(workload_.ranks));
      default:
        return kReplicated;
    }
  }

  // What broadcasts to the shape: without some leading sides, with sides of 1 for others.
  TensorShape part_of(TensorShape shape) {
    if (!dice_.one_in(3)) return shape;
    shape.erase(shape.begin(), shape.begin() + dice_.below(static_cast<int>(shape.size()) + 1));
    for (Extent& extent : shape)
      if (dice_.one_in(4)) extent = {};
    return shape;
  }

  // What was read by its own name after an update would be refused.
  bool is_updated(const Name& name) const {
    return std::ranges::any_of(workload_.operations, [&](const Operation& op) { return op.updates == name; });
  }
  template <typename Wanted>
  Name existing(const Wanted& wanted) {
    std::vector<Name> names;
    for (const Operation& op : workload_.operations)
      if (!is_updated(op.name) && wanted(op)) names.push_back(op.name);
    return names.empty() ? Name{} : dice_.of(names);
  }
  Name existing() {
    return existing([](const Operation&) { return true; });
  }

  // --- Expressions ---

  Expression leaf(int operands) {
    static const std::vector<double> kNumbers{0.5, 1, 2, 0.25, 3, 0.1, 1e-3};
    if (operands > 0 && !dice_.one_in(4)) return operand(dice_.below(operands));
    return dice_.one_in(8) ? random_number(dice_.below(3)) : number(dice_.of(kNumbers));
  }
  Expression of_size(const Expression& x) { return apply_to(ExpressionOperator::Abs, x); }

  // Finite for finite operands, as far as can be.
  Expression expression(int operands, int depth) {
    using enum ExpressionOperator;
    if (depth == 0) return leaf(operands);
    if (indexed_ > 0 && dice_.one_in(24)) return {{.op = Index, .operand = dice_.below(indexed_)}};
    const Expression a = expression(operands, depth - 1);
    const auto another = [&] { return expression(operands, depth - 1); };
    switch (dice_.below(18)) {
      case 0:
        return apply_to(Negate, a);
      case 1:
        return of_size(a);
      case 2:
        return apply_to(Tanh, a);
      case 3:
        return apply_to(Sqrt, of_size(a));
      case 4:
        return apply_to(Exp, apply_to(Negate, of_size(a)));
      case 5:
        return apply_to(Log, number(1) + of_size(a));
      case 6: {
        Expression converted = a;
        converted.push_back({.op = Convert, .operand = static_cast<int>(element())});
        return converted;
      }
      case 7:
        return a / (number(1) + of_size(another()));
      case 8:
        return apply_to(dice_.one_in(2) ? Min : Max, a, another());
      case 9:
        return apply_to(Select, apply_to(dice_.of(std::vector{Less, LessEqual, Equal}), a, another()),
                        another(), leaf(operands));
      case 10:
        return apply_to(Pow, of_size(a), leaf(0));
      case 11:
        return dropped_out(a);
      case 12:
        return a - another();
      case 13:
        return a * another();
      case 14:
        return a * number(0.5);
      default:
        return a + another();
    }
  }
  Expression dropped_out(const Expression& a) {
    return apply_to(ExpressionOperator::Select,
                    apply_to(ExpressionOperator::Less, random_number(stream_++), number(0.25)), number(0),
                    a * (number(1) / (number(1) - number(0.25))));
  }

  Name add_pointwise(const std::vector<Name>& names, const Expression& expression, Cast cast = {}) {
    Operation op{.kind = OperationKind::Pointwise, .operands = names, .expression = expression};
    op.casts = cast.is;
    if (cast.is) op.type.element = cast.to;
    // Operands that the expression has not are dropped by inferred(), and must not give the type.
    for (std::size_t k = 0; k < names.size(); ++k)
      if (std::ranges::none_of(expression, [&](const ExpressionNode& node) {
            return node.op == ExpressionOperator::Operand && node.operand == static_cast<int>(k);
          }))
        op.expression = op.expression + operand(static_cast<int>(k));
    return add(op);
  }

  // A function of x and of others that go with it.
  Name then(const Name& x) {
    if (x.empty()) return {};
    std::vector<Name> names{x};
    for (int i = dice_.below(3); i > 0; --i) {
      const TensorType type = type_of(x);
      Name other = dice_.one_in(2) ? add_input(part_of(type.shape), dice_.one_in(3) ? element() : element_,
                                               dice_.one_in(3) ? type.layout : kReplicated)
                                   : existing();
      if (other.empty()) continue;
      if (dice_.one_in(3))
        if (const Name more = add_pointwise({other}, expression(1, 1)); !more.empty()) other = more;
      if (dice_.one_in(8)) reduced(other);
      if (dice_.one_in(8)) scalar_sums(x);
      if (std::ranges::count(names, other) == 0) names.push_back(other);
    }
    const Cast cast{.is = dice_.one_in(4), .to = element()};
    const Expression all = expression(static_cast<int>(names.size()), dice_.from_to(1, 3));
    if (const Name result = add_pointwise(names, all, cast); !result.empty()) return result;
    return add_pointwise({x}, expression(1, 2), cast);
  }

  // m_ = Update(m, a function of m and x), where m is an input of the type of what is computed, new or there
  // already.
  Name update_with(const Name& x) {
    const TensorType type = type_of(x);  // its operation moves as others are added
    if (is_updated(x)) return {};
    Name m = existing([&](const Operation& op) {
      TensorType other = op.type;
      other.element = type.element;
      return op.kind == OperationKind::Input && op.name != x && other == type;
    });
    if (m.empty() || dice_.one_in(3)) {
      TensorType of_state = type;
      if (dice_.one_in(3)) of_state.element = element();
      Operation state = input(fresh("m"), of_state);
      state.state = !dice_.one_in(4);
      m = add(state);
    }
    indexed_ = static_cast<int>(type.shape.size());
    Operation op{.kind = OperationKind::Pointwise,
                 .name = fresh("t"),
                 .operands = {m, x},
                 .type = {.element = type_of(m).element},
                 .expression = number(0.5) * operand(0) + (operand(1) + expression(2, 2)),
                 .casts = true,
                 .updates = m};
    indexed_ = kIndexed;
    op.type = inferred_type(workload_, op, "random").or_throw();
    workload_.operations.push_back(op);
    return op.name;
  }

  Name communicate(OperationKind kind, const Name& x, TensorLayout layout = {}) {
    Operation op{.kind = kind, .operands = {x}, .layout = layout};
    op.reduction =
        dice_.of(std::vector{ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max});
    op.shift = dice_.one_in(4) ? -1 : 1;
    op.around = kind == OperationKind::Send && type_of(x).layout.kind == LayoutKind::Local && dice_.one_in(2);
    return add(op);
  }

  // Integers from -2 to 2.
  Name few(const Name& x) {
    using enum ExpressionOperator;
    if (x.empty() || count(type_of(x).shape) > 48) return {};
    Expression whole = operand(0);
    whole.push_back({.op = Convert, .operand = static_cast<int>(ElementType::Int32)});
    const Expression few = apply_to(Max, apply_to(Min, whole, number(2)), apply_to(Negate, number(2)));
    return add_pointwise({x}, few, {.is = true, .to = summed_element()});
  }
  // Of these.
  Name reduced(const Name& x) {
    Name summands = few(x);
    if (!summands.empty() && dice_.one_in(3)) summands = add_pointwise({summands}, operand(0) * operand(0));
    return summands.empty() ? Name{} : communicate(OperationKind::ReduceTensor, summands);
  }

  // Along a dimension: few integers, or, of any, the least or the greatest. With what is computed of the
  // tensor and of that, as norms and softmax have it.
  Name along(const Name& x) {
    if (x.empty() || is_updated(x) || type_of(x).shape.empty()) return {};
    const bool sums = dice_.one_in(2);
    Name of = x;
    if (sums) {
      of = few(x);
      if (of.empty()) return {};
    } else if (dice_.one_in(2)) {
      of = add_pointwise({x}, expression(1, 1));
      if (of.empty()) return {};
    }
    const int last = static_cast<int>(type_of(of).shape.size()) - 1;
    const Name reduced = add({.kind = OperationKind::ReduceAlong,
                              .operands = {of},
                              .reduction = sums              ? ReduceOp::Sum
                                           : dice_.one_in(2) ? ReduceOp::Min
                                                             : ReduceOp::Max,
                              .dims = {dice_.one_in(3) ? dice_.from_to(0, last) : last}});
    if (reduced.empty()) return {};
    Name whole = reduced;
    if (type_of(reduced).layout.kind == LayoutKind::Local && type_of(x).layout.kind == LayoutKind::Sliced)
      whole = communicate(OperationKind::AllReduce, reduced);
    if (!whole.empty() && dice_.one_in(2)) {
      const Name own = add_pointwise({whole}, expression(1, 2));
      whole = own.empty() ? whole : own;
    }
    if (whole.empty()) return {};
    const Name next = add_pointwise({x, whole}, operand(0) / (number(1) + of_size(operand(1))));
    return next.empty() || !dice_.one_in(3) ? next : along(next);
  }

  // Elements in other places, if they have a type there: transposed, reshaped, a part, twice beside itself,
  // or rows by numbers, of which some are none.
  Name rearranged(const Name& x) {
    if (x.empty() || is_updated(x) || type_of(x).shape.empty()) return {};
    const TensorShape shape = type_of(x).shape;
    const int dimensions = static_cast<int>(shape.size()), dim = dice_.below(dimensions);
    switch (dice_.below(6)) {
      case 0:
        return add(
            {.kind = OperationKind::Transpose, .operands = {x}, .dims = {dim, dice_.below(dimensions)}});
      case 1: {
        TensorShape other = shape;
        if (dice_.one_in(2)) other.insert(other.begin() + dice_.below(dimensions + 1), Extent{});
        if (dice_.one_in(2) && dimensions > 1) std::swap(other[0], other[1]);
        if (dice_.one_in(3)) other = {{.factor = count(shape), .value = count(shape)}};
        return add({.kind = OperationKind::Reshape, .operands = {x}, .shape = other});
      }
      case 2: {
        const std::int64_t begin = dice_.below(static_cast<int>(shape[dim].value)),
                           length = dice_.from_to(1, static_cast<int>(shape[dim].value - begin));
        return add({.kind = OperationKind::Narrow,
                    .operands = {x},
                    .dims = {dim},
                    .shape = {{.factor = begin, .value = begin}, {.factor = length, .value = length}}});
      }
      case 3: {
        const Name other = dice_.one_in(2) ? x : rearranged(x);
        return other.empty() ? Name{}
                             : add({.kind = OperationKind::Concat, .operands = {x, other, x}, .dims = {dim}});
      }
      default: {
        if (dice_.one_in(3)) return with_rows(x);
        const bool gathers = dice_.one_in(2);
        const TensorShape numbers = gathers ? TensorShape{side()} : TensorShape{shape[0]};
        const Name whole = add_input(numbers, ElementType::Int32,
                                     dice_.one_in(2) || gathers ? layout_of(numbers) : type_of(x).layout);
        if (gathers)
          return whole.empty() ? whole : add({.kind = OperationKind::GatherRows, .operands = {x, whole}});
        const Name rows = few(x);
        return whole.empty() || rows.empty()
                   ? Name{}
                   : add({.kind = OperationKind::ScatterRows, .operands = {rows, whole}, .shape = {side()}});
      }
    }
  }

  // With other rows, in a memory of its own, or where an input lies; and rows of numbers alone.
  Name with_rows(const Name& x) {
    const TensorType type = type_of(x);
    const Name of = dice_.one_in(2) ? x : add_input(type),
               numbers = add_input({side()}, ElementType::Int32, kReplicated);
    if (of.empty() || numbers.empty()) return {};
    TensorShape shape = type.shape;
    shape[0] = type_of(numbers).shape[0];
    Name rows;
    if (dice_.one_in(2)) {
      const Expression value =
          dice_.one_in(2) ? number(0.25) : index_of(dice_.below(static_cast<int>(shape.size())));
      rows = add({.kind = OperationKind::Pointwise,
                  .type = {.element = type.element},
                  .expression = value,
                  .casts = true,
                  .shape = shape});
    } else {
      rows = add_input(shape, type.element, type.layout);
    }
    return rows.empty() ? Name{} : add({.kind = OperationKind::PutRows, .operands = {of, rows, numbers}});
  }
  static Expression index_of(int dim) { return {{.op = ExpressionOperator::Index, .operand = dim}}; }

  // Two, as LAMB has two norms.
  void scalar_sums(const Name& x) {
    for (int i = 0; i < 2; ++i)
      if (const Name local = reduced(x); !local.empty()) communicate(OperationKind::AllReduce, local);
  }

  Name whole_sum(const Name& x) {
    if (x.empty()) return {};
    const TensorShape shape = type_of(x).shape;
    switch (dice_.below(6)) {
      case 0:
        return shape.empty() ? Name{} : communicate(OperationKind::ReduceScatter, x, slices(shape));
      case 1:
        return communicate(OperationKind::Reduce, x, rooted(dice_.below(workload_.ranks)));
      default:
        return communicate(OperationKind::AllReduce, x);
    }
  }
  // Views of it: slices, of what was gathered too, which loops, reductions, products and communications read.
  // A minimum, a maximum, and a sum of integers are of any, as they have no order.
  Name viewed(const Name& x) {
    if (x.empty() || is_updated(x)) return {};
    const Name whole = type_of(x).layout.kind == LayoutKind::Replicated ? x : gathered(x);
    if (whole.empty() || type_of(whole).layout.kind != LayoutKind::Replicated || type_of(whole).shape.empty())
      return {};
    Name slice = communicate(OperationKind::Slice, whole, slices(type_of(whole).shape));
    for (int i = dice_.from_to(1, 3); i > 0 && !slice.empty(); --i) {
      Name made;
      switch (dice_.below(7)) {
        case 0:
          made = reduced(slice);
          break;
        case 1:
          made = add({.kind = OperationKind::ReduceTensor,
                      .operands = {slice},
                      .reduction = type_of(slice).element == ElementType::Int32 ? ReduceOp::Sum
                                   : dice_.one_in(2)                            ? ReduceOp::Min
                                                                                : ReduceOp::Max});
          break;
        case 2:
          made = communicate(OperationKind::AllGather, slice);
          if (dice_.one_in(2)) made = viewed(made);
          break;
        case 3:
          made = multiplied(slice);
          break;
        case 4:
          made = communicate(OperationKind::Send, slice);
          break;
        default:
          made = then(slice);
          break;
      }
      if (made.empty()) continue;
      if (type_of(made).layout.kind == LayoutKind::Local && dice_.one_in(2)) gathered(made);
      if (type_of(made).layout.kind == LayoutKind::Sliced && dice_.one_in(2)) slice = made;
    }
    return slice;
  }

  // What makes a tensor whole that is not.
  Name gathered(const Name& x) {
    if (x.empty()) return {};
    switch (type_of(x).layout.kind) {
      case LayoutKind::Sliced:
        return communicate(OperationKind::AllGather, x);
      case LayoutKind::Rooted:
        return communicate(OperationKind::Broadcast, x);
      case LayoutKind::Local:
        return communicate(OperationKind::AllReduce, x);
      default:
        return x;
    }
  }

  // --- Parts of programs ---

  void part() {
    Name x;
    switch (dice_.below(6)) {
      case 0:
        x = whole_sum(product());
        break;
      case 1:
        x = whole_sum(convolution());
        break;
      case 2:
        x = exchanged();
        break;
      case 3:
        x = add_input(shape_, element_, layout_of(shape_));
        if (dice_.one_in(2)) x = then(x);
        break;
      default:
        x = whole_sum(add_input(shape_, element_, kLocal));
    }
    if (x.empty()) return;
    for (int i = dice_.from_to(1, 5); i > 0 && !x.empty(); --i) x = went_on(x);
    if (!x.empty() && dice_.one_in(2)) gathered(x);
  }

  Name went_on(const Name& x) {
    if (dice_.one_in(4))
      if (const Name next = along(x); !next.empty()) return next;
    if (dice_.one_in(4))
      if (const Name next = rearranged(x); !next.empty()) return next;
    switch (in_groups_ && dice_.one_in(4) ? 3 : dice_.below(10)) {
      case 0:
      case 1:
        return update_with(x);
      case 2: {  // divided by its norm, or so
        const Name norm = reduced(x);
        if (norm.empty()) return then(x);
        const Name sum = type_of(norm).layout.kind == LayoutKind::Local ? gathered(norm) : norm;
        const Name next =
            sum.empty() ? Name{} : add_pointwise({x, sum}, operand(0) / (number(1) + of_size(operand(1))));
        return next.empty() ? then(x) : next;
      }
      case 3: {
        const Name sent = communicate(OperationKind::Send, x);
        return sent.empty() ? then(x) : sent;
      }
      case 4: {
        if (!dice_.one_in(3)) return then(x);
        const Name whole = gathered(x);
        return whole.empty() ? then(x) : whole;
      }
      case 5: {
        const Name slice = dice_.one_in(2) ? viewed(x) : Name{};
        return slice.empty() ? then(x) : slice;
      }
      case 6: {
        const Name next = multiplied(x);
        return next.empty() ? then(x) : next;
      }
      default:
        return then(x);
    }
  }

  // By a matrix, which may be x's own shape, so that it can be updated with the result.
  Name multiplied(const Name& x) {
    const TensorType type = type_of(x);
    if (type.shape.size() < 2 || type.element == ElementType::Int32) return {};
    const Name b = add_input({type.shape.back(), dice_.one_in(2) ? type.shape.back() : side()}, type.element,
                             dice_.one_in(3) ? sliced(dice_.below(2)) : kReplicated);
    return b.empty() ? b : add({.kind = OperationKind::MatMul, .operands = {x, b}});
  }

  Name product() {
    const ElementType type = real_element();
    const Extent m = side(), k = dice_.one_in(3) ? m : side(), n = dice_.one_in(2) ? k : side();
    TensorShape a{m, k}, b{k, n};
    if (dice_.one_in(3)) {
      const Extent batch = side();
      a.insert(a.begin(), batch);
      if (dice_.one_in(2)) b.insert(b.begin(), batch);
    }
    const int last = static_cast<int>(a.size()) - 1, summed = static_cast<int>(b.size()) - 2;
    TensorLayout of_a = sliced(last), of_b = sliced(summed);
    switch (dice_.below(6)) {
      case 0:
        of_a = kLocal, of_b = dice_.one_in(2) ? kLocal : kReplicated;
        break;
      case 1:
        of_a = kReplicated, of_b = sliced(summed + 1);
        if (b.size() > 2 && dice_.one_in(2)) of_a = of_b = sliced(0);
        break;
      case 2:
        of_a = dice_.one_in(2) ? kReplicated : sliced(dice_.below(last)), of_b = kReplicated;
        break;
      default:
        break;
    }
    return product_of(OperationKind::MatMul, a, of_a, b, of_b, type);
  }

  Name convolution() {
    const TensorShape image{side(), side(), side(), side()},
        window{side(), image[1], {.factor = 2, .value = 2}, {.factor = 1, .value = 1}};
    if (count(image) > 128) return {};
    switch (dice_.below(5)) {
      case 0:
        return product_of(OperationKind::Convolution, image, sliced(0), window, kReplicated, real_element());
      case 1:
        return product_of(OperationKind::Convolution, image, kReplicated, window, sliced(0), real_element());
      case 2:
        return product_of(OperationKind::Convolution, image, kLocal, window, kReplicated, real_element());
      default:
        return product_of(OperationKind::Convolution, image, sliced(1), window, sliced(1), real_element());
    }
  }

  Name product_of(OperationKind kind, const TensorShape& a, TensorLayout of_a, const TensorShape& b,
                  TensorLayout of_b, ElementType type) {
    const Name x = add_input(a, type, of_a), y = add_input(b, type, of_b);
    if (x.empty() || y.empty()) return {};
    Operation op{.kind = kind, .operands = {x, y}};
    if (kind == OperationKind::Convolution) op.stride = dice_.from_to(1, 2), op.padding = dice_.below(2);
    return add(op);
  }

  // Mixture of experts: exchanged, multiplied, exchanged back.
  Name exchanged() {
    const int ranks = in_groups_ ? workload_.ranks : workload_.ranks * workload_.groups;
    const Extent rows{.factor = ranks * dice_.from_to(1, 2), .value = 0};
    TensorShape shape{{.factor = rows.factor, .value = rows.factor}, side()};
    const ElementType type = real_element();
    Name x = add_input(shape, type, kLocal);
    if (dice_.one_in(2)) return by_counts(x, ranks);
    x = x.empty() ? x : communicate(OperationKind::AllToAll, x);
    x = x.empty() ? x : multiplied(x);
    return x.empty() ? x : communicate(OperationKind::AllToAll, x);
  }

  // As many rows to each rank as a tensor says: too many, none and negative numbers, too; and, half of the
  // time, back.
  Name by_counts(const Name& x, int ranks) {
    const Extent counts{.factor = ranks * dice_.from_to(1, 2), .value = 0};
    const Name given = add_input({{.factor = counts.factor, .value = counts.factor}}, ElementType::Int32,
                                 dice_.one_in(3) ? kReplicated : kLocal);
    if (x.empty() || given.empty()) return {};
    const auto exchange = [&](const Name& rows, const Name& numbers, const Extent& most) {
      return add({.kind = OperationKind::AllToAllV, .operands = {rows, numbers}, .shape = {most}});
    };
    const Extent most{.factor = dice_.from_to(1, 3 * ranks), .value = 0};
    Name there = exchange(x, given, {.factor = most.factor, .value = most.factor});
    if (there.empty() || dice_.one_in(2)) return there;
    if (const Name made = multiplied(there); !made.empty()) there = made;
    const Name back = communicate(OperationKind::AllToAll, given);
    return back.empty() ? there : exchange(there, back, side());
  }

  // Any operation on any tensor, if it has a type.
  void anything() {
    const Name x = existing();
    if (x.empty()) return;
    if (dice_.one_in(4)) return static_cast<void>(along(x));
    if (dice_.one_in(4)) return static_cast<void>(rearranged(x));
    switch (dice_.below(5)) {
      case 0:
        reduced(x);
        return;
      case 4:
        viewed(x);
        return;
      case 1: {
        const TensorShape shape = type_of(x).shape;
        const auto kind = static_cast<OperationKind>(
            dice_.from_to(static_cast<int>(OperationKind::Slice), static_cast<int>(OperationKind::Send)));
        TensorLayout layout = shape.empty() ? kReplicated : slices(shape);
        if (kind == OperationKind::Reduce) layout = rooted(dice_.below(workload_.ranks));
        communicate(kind, x, layout);
        return;
      }
      case 2:
        multiplied(x);
        return;
      default:
        then(x);
    }
  }

  // Most of what nobody reads is an output, or else would be for nothing; and so is some of the rest.
  Workload end() {
    for (const Operation& op : workload_.operations) {
      if (is_given(op.kind)) continue;
      const bool is_read = std::ranges::any_of(workload_.operations, [&](const Operation& reader) {
        return std::ranges::count(reader.operands, op.name) > 0;
      });
      if (!is_read && op.updates.empty() ? !dice_.one_in(8) : dice_.one_in(is_read ? 8 : 2))
        workload_.outputs.push_back(op.name);
    }
    if (workload_.outputs.empty()) {
      const Name x = add_input(shape_, element_, kLocal);
      workload_.outputs = {communicate(OperationKind::AllReduce, x)};
    }
    return inferred(workload_, "random").or_throw();
  }

  Dice& dice_;
  Workload workload_ = {};
  bool in_groups_ = false;
  TensorShape shape_ = {};  // of most tensors, and their element type
  ElementType element_ = ElementType::Float32;
  int names_ = 0, stream_ = 0;
  static constexpr int kIndexed = 3;
  int indexed_ = kIndexed;  // dimensions along which expressions may have the index
};

// Multiples of 1/4 from -2 to 2, integers of int32: composed, by input.
inline std::map<std::string, std::vector<std::vector<double>>> random_inputs(const Workload& workload,
                                                                             Dice& dice) {
  std::map<std::string, std::vector<std::vector<double>>> inputs;
  for (const Operation& op : workload.operations) {
    if (op.kind != OperationKind::Input) continue;
    const std::int64_t ranks = op.type.layout.kind == LayoutKind::Local ? ranks_of(workload, op.type) : 1;
    const int groups = op.type.scope == Scope::World ? 1 : op.type.last_group - op.type.first_group + 1;
    const double step = op.type.element == ElementType::Int32 ? 1 : 0.25;
    for (int g = 0; g < groups; ++g) {
      std::vector<double>& values = inputs[op.name].emplace_back(elements(op.type) * ranks);
      for (double& x : values) x = step * dice.from_to(-8, 8);
    }
  }
  return inputs;
}

}  // namespace chorale::test
