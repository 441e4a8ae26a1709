// The idea: in row-major order, take as many of the last dimensions together as all operands either have in
// full or have nothing of. Along such a run an operand's address advances by one or stays; where a run begins
// is computed by division, once. Most loops have no other operands than tensors of the space and scalars:
// their run is everything.
//
// Between operations values are rounded to the types of results, as if they had been stored, so that a fused
// kernel gives the bits of separate ones.
//
// What depends on no element, such as 1 - Pow(0.9, t), is computed by the host when the struct is made, and
// is a parameter: once for the loop, and on GPUs by the host's functions, of which theirs give other bits.
#include "tensor/lowering/loop_contents.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/epilogue_source.h"

namespace chorale {
namespace {

using Kind = OperationKind;

// What a function of such elements is computed in.
const char* real_of(ElementType type) {
  return is_short_type(type) || type == ElementType::Float32 ? "float" : "double";
}
std::string as_real(const std::string& real, const std::string& type, const std::string& value) {
  return real == type ? value : fmt::format("chorale::real<{}>({})", real, value);
}
// Sides are compared from the last, as in broadcasting. An own side of 1 is broadcast, unless the space has 1
// there, too.
bool has_side(const TensorType& type, const TensorType& space, std::size_t d) {
  const std::size_t missing = space.shape.size() - std::min(space.shape.size(), type.shape.size());
  if (d < missing) return false;
  const Extent& own = type.shape[d - missing];
  return own == space.shape[d] || own.value != 1 || space.shape[d].value == 1;
}
// One element, for other sizes, too: a dimension of the space that happens to be 1 is not one that is
// broadcast.
bool is_scalar(const TensorType& type, const TensorType& space) {
  const std::size_t missing = space.shape.size() - std::min(space.shape.size(), type.shape.size());
  for (std::size_t d = 0; d < type.shape.size(); ++d)
    if (type.shape[d].value != 1 ||
        (!type.shape[d].sizes.empty() && type.shape[d] == space.shape[d + missing]))
      return false;
  return true;
}

// Functions that hosts and GPUs have of their own; all others are rounded as IEEE 754 has it.
bool is_of_library(ExpressionOperator op) {
  using Op = ExpressionOperator;
  return op == Op::Exp || op == Op::Log || op == Op::Tanh || op == Op::Pow;
}

// Subexpressions as [first, last + 1) of the nodes, from left to right: the largest ones that read nothing
// but `known` operands, and compute something with them. Constants by themselves remain where they are, as
// compilers compute them, but for functions of libraries.
std::vector<std::pair<std::size_t, std::size_t>> known_parts(const Expression& expression,
                                                             const std::vector<bool>& known) {
  using Op = ExpressionOperator;
  struct Part {
    std::size_t first = 0;
    bool known = true, worthwhile = false;
  };
  std::vector<Part> parts, stack;  // by its last node
  for (std::size_t k = 0; k < expression.size(); ++k) {
    const ExpressionNode& node = expression[k];
    const auto taken = stack.end() - arity(node.op);
    Part part{.first = taken == stack.end() ? k : taken->first, .worthwhile = is_of_library(node.op)};
    part.known = node.op == Op::Operand ? known[static_cast<std::size_t>(node.operand)]
                                        : node.op == Op::Constant || arity(node.op) > 0;
    for (auto it = taken; it != stack.end(); ++it) part.known = part.known && it->known;
    for (std::size_t n = part.first; n < k; ++n)
      part.worthwhile = part.worthwhile || expression[n].op == Op::Operand || is_of_library(expression[n].op);
    stack.erase(taken, stack.end());
    stack.push_back(part);
    parts.push_back(part);
  }
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (std::size_t end = expression.size(); end > 0;) {
    const Part& part = parts[end - 1];
    if (part.known && part.worthwhile) result.emplace(result.begin(), part.first, end);
    end = part.known && part.worthwhile ? part.first : end - 1;
  }
  return result;
}

class LoopReader {
 public:
  LoopReader(const Workload& workload, const std::vector<int>& operations, const LoopOptions& options,
             const LoopSurroundings& around)
      : loop_{workload, options, around} {
    for (const int i : operations) loop_.operations.push_back(&workload.operations[i]);
    loop_.space = options.sum != nullptr ? options.sum->type : space_of(workload, *loop_.operations[0]);
    find_indices();
    find_run();
  }

  // In the order of the operations, so that what a later one reads has a name by then. A sum over ranks comes
  // as the first value.
  LoopContents read() {
    if (loop_.options.sum != nullptr) made(*loop_.options.sum);
    for (const Operation* op : loop_.operations) statement(*op);
    return std::move(loop_);
  }

 private:
  void find_indices() {
    for (const Operation* op : loop_.operations)
      for (const ExpressionNode& node : op->expression)
        if (node.op == ExpressionOperator::Index) loop_.indices.insert(node.operand);
  }

  // The first dimension of a run: from it on, operands have all dimensions or none.
  // Dimensions from run_from on are one run. It begins behind the last dimension at which an operand changes
  // from having a side to being broadcast, or the other way.
  void find_run() {
    loop_.run_from =
        loop_.indices.empty() ? 0 : loop_.space.shape.size() - 1;  // along which an index advances or stays
    for (const Operation* op : loop_.operations)
      for (const std::string& operand : op->operands) {
        const TensorType& type = operation(loop_.workload, operand).type;
        if (values_.contains(operand) || is_scalar(type, loop_.space)) continue;
        const std::size_t dims = loop_.space.shape.size();
        std::size_t from = dims == 0 ? 0 : dims - 1;
        while (from > 0 && has_side(type, loop_.space, from - 1) == has_side(type, loop_.space, dims - 1))
          --from;
        loop_.run_from = std::max(loop_.run_from, from);
      }
  }

  // The value of an operand: made here, a scalar, or read.
  // Three kinds: what an operation of the loop has made has a name; one element for the whole loop is loaded
  // once; all else is read at an offset, `begin` in the rank's part or `index` in the whole tensor, or by a
  // walk where it is broadcast along some dimensions.
  std::string value(const std::string& operand) {
    if (const auto it = values_.find(operand); it != values_.end()) return it->second;
    const std::string name = loop_.around.behind(operand);
    if (const auto it = values_.find(name); it != values_.end()) return values_[operand] = it->second;
    const TensorType& type = operation(loop_.workload, name).type;
    const LoopPlace place = loop_.around.read_at(operand, loop_.space);
    std::string offset;
    bool stays = false;
    const std::string at = place.kind == PlaceKind::Own ? "begin" : "index";
    if (is_scalar(type, loop_.space) || place.kind == PlaceKind::Value) {
      stays = true;
    } else if (type.shape.size() == loop_.space.shape.size() && has_all_sides(type)) {
      offset = at;
    } else {
      // Broadcast: by the indices of the whole tensors, or, where slices are cut alike, of the slices.
      const bool sliced = type.layout.kind == LayoutKind::Sliced;
      const std::string walk = "walk_" + name;
      if (!loop_.walks.contains(walk))
        loop_.walks[walk] = sliced
                                ? fmt::format("{{{}.own(), {}.own()}}", kPartOfLoop, loop_.around.part(name))
                                : fmt::format("{{{}, {}}}", loop_.around.sides(loop_.space.shape),
                                              loop_.around.sides(type.shape));
      offset = fmt::format("{}.at({})", walk, sliced ? "begin" : "index");
      stays = !has_side(type, loop_.space, loop_.space.shape.size() - 1);
    }
    const bool handed = loop_.options.handed != nullptr && loop_.options.handed->name == name;
    if (handed && !stays) offset += " - handed";
    LoopParameter& parameter = parameter_of(place, offset, c_type(type.element), stays);
    parameter.is_handed = handed;
    loop_.inputs[name] = parameter.name;
    loop_.types[name] = c_type(type.element);
    return values_[operand] = values_[name] = fresh(name);
  }

  // What the host knows when it makes the struct: a scalar given by value, or a constant; else empty.
  std::string known(const std::string& operand) const {
    const LoopPlace place = loop_.around.read_at(operand, loop_.space);
    return place.kind == PlaceKind::Value ? place.pointer : "";
  }

  // The operation's expression, as text of one element. Parts that the host computes have numbers as names,
  // which no operation has.
  std::string expression_of(const Operation& op, const std::string& real) {
    std::vector<std::string> operands;
    std::vector<bool> is_known;
    const auto as_operand = [&](const std::string& name, const std::string& text) {
      return as_real(real, c_type(operation(loop_.workload, name).type.element), text);
    };
    for (const std::string& operand : op.operands) {
      const std::string text = known(operand);
      is_known.push_back(!text.empty());
      operands.push_back(text.empty() ? "" : as_operand(operand, text));
    }
    Expression rest;
    std::size_t done = 0;
    const auto keep_until = [&](std::size_t end) {
      rest.insert(rest.end(), op.expression.begin() + static_cast<std::ptrdiff_t>(done),
                  op.expression.begin() + static_cast<std::ptrdiff_t>(end));
      done = end;
    };
    std::vector<std::string> texts(op.operands.size());
    for (const auto& [first, end] : known_parts(op.expression, is_known)) {
      keep_until(first);
      const Expression part(op.expression.begin() + static_cast<std::ptrdiff_t>(first),
                            op.expression.begin() + static_cast<std::ptrdiff_t>(end));
      done = end;
      rest.push_back({.op = ExpressionOperator::Operand, .operand = static_cast<int>(texts.size())});
      texts.push_back(once(printed_expression(part, {.real = real, .operands = operands}), real));
    }
    keep_until(op.expression.size());
    for (const ExpressionNode& node : rest)
      if (node.op == ExpressionOperator::Operand && texts[static_cast<std::size_t>(node.operand)].empty()) {
        const std::string& operand = op.operands[static_cast<std::size_t>(node.operand)];
        texts[static_cast<std::size_t>(node.operand)] = as_operand(operand, value(operand));
      }
    return printed_expression(
        rest, {.real = real, .operands = texts, .seed = "seed", .index = "index", .along = "index_"});
  }

  // A parameter that the host computes by this text; equal ones are one. The text says its type, too: what is
  // not of it is converted there.
  std::string once(const std::string& text, const std::string& type) {
    const auto it = std::ranges::find(loop_.parameters, text, &LoopParameter::pointer);
    if (it != loop_.parameters.end())
      for (const auto& [name, parameter] : loop_.inputs)
        if (parameter == it->name) return fresh(name);
    const std::string name = std::to_string(loop_.parameters.size());
    loop_.inputs[name] = parameter_of({text, PlaceKind::Value}, "", type, true).name;
    loop_.types[name] = type;
    return fresh(name);
  }

  bool has_all_sides(const TensorType& type) const {
    for (std::size_t d = 0; d < loop_.space.shape.size(); ++d)
      if (!has_side(type, loop_.space, d)) return false;
    return true;
  }

  // One for each address: several tensors may be read at one, and a result may be stored where an operand was
  // read.
  LoopParameter& parameter_of(const LoopPlace& place, const std::string& offset, const std::string& type,
                              bool stays) {
    for (LoopParameter& parameter : loop_.parameters)
      if (parameter.pointer == place.pointer && parameter.offset == offset) return parameter;
    loop_.parameters.push_back({fmt::format("at{}", loop_.parameters.size()), type, place.pointer, offset,
                                stays, false, place.scattered, place.kind == PlaceKind::Value});
    return loop_.parameters.back();
  }

  void made(const Operation& op) {
    values_[op.name] = fresh(op.name);
    loop_.types[op.name] = c_type(op.type.element);
    if (!loop_.around.is_stored(op.name)) return;
    const LoopPlace place = loop_.around.stored_at(op.name);
    LoopParameter& parameter =
        parameter_of(place, place.kind == PlaceKind::Own ? "begin" : "index", c_type(op.type.element), false);
    parameter.stored = true;
    loop_.outputs.emplace_back(op.name, parameter.name);
  }

  // An expression is computed in float or double (real_of), and rounded to the type of its result at once, as
  // if it had been stored.
  void statement(const Operation& op) {
    if (is_reduction(op.kind)) {
      loop_.folds.push_back(&op);
      const std::string x = value(op.operands[0]);
      loop_.body +=
          fmt::format("    fold_{} = {};\n", op.name,
                      as_real("double", c_type(operation(loop_.workload, op.operands[0]).type.element), x));
      return;
    }
    const std::string real = real_of(op.type.element);
    const std::string text = expression_of(op, real);
    made(op);
    const std::string type = c_type(op.type.element);
    const bool used = loop_.around.is_stored(op.name) ||
                      std::ranges::any_of(loop_.operations, [&](const Operation* reader) {
                        return std::ranges::count(reader->operands, op.name) > 0;
                      });
    loop_.body +=
        fmt::format("    {}const {} {} = {};\n", used ? "" : "[[maybe_unused]] ", type, fresh(op.name),
                    type == real ? text : fmt::format("chorale::rounded_to<{}>({}({}))", type, real, text));
  }

  LoopContents loop_;
  std::map<std::string, std::string> values_ = {};  // by name of an operation: what it is called here
};

}  // namespace

LoopContents loop_contents(const Workload& workload, const std::vector<int>& operations,
                           const LoopOptions& options, const LoopSurroundings& around) {
  return LoopReader(workload, operations, options, around).read();
}

std::string part_of(const LoopContents& loop) {
  if (loop.options.sum != nullptr) return loop.around.part(loop.options.sum->name);
  const Operation& first = *loop.operations[0];
  return loop.around.part(is_reduction(first.kind) ? first.operands[0] : first.name);
}

bool is_box(const LoopContents& loop) {
  return loop.space.layout.kind == LayoutKind::Sliced && loop.space.layout.dim > 0;
}
bool has_span(const LoopContents& loop) {
  return !loop.walks.empty() || !loop.indices.empty();
}
bool is_last(const LoopContents& loop, int dim) {
  return dim + 1 == static_cast<int>(loop.space.shape.size());
}
std::string index_along(int dim) {
  return fmt::format("index / inner_{0} % side_{0}", dim);
}
std::string fresh(const std::string& name) {
  return "x_" + name;
}
std::string member(const LoopParameter& parameter) {
  return "from_" + parameter.name;
}

}  // namespace chorale
