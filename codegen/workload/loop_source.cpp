// The idea: in row-major order, take as many of the last dimensions together as all operands either have in
// full or have nothing of. Along such a run an operand's address advances by one or stays; where a run begins
// is computed by division, once. Most loops have no other operands than tensors of the space and scalars:
// their run is everything.
//
// Between operations values are rounded to the types of results, as if they had been stored, so that a fused
// kernel gives the bits of separate ones.
#include "codegen/workload/loop_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/epilogue_source.h"

namespace chorale {
namespace {

using Kind = OperationKind;

const char* combination(ReduceOp op) {
  return op == ReduceOp::Min   ? "chorale::Combination::Min"
         : op == ReduceOp::Max ? "chorale::Combination::Max"
                               : "chorale::Combination::Sum";
}
// What a function of such elements is computed in.
const char* real_of(ElementType type) {
  return is_short_type(type) || type == ElementType::Float32 ? "float" : "double";
}
std::string as_real(const std::string& real, const std::string& type, const std::string& value) {
  return real == type ? value : fmt::format("chorale::real<{}>({})", real, value);
}
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

// A parameter of the loop: what it is a pointer or a value of.
struct Parameter {
  std::string name = {}, type = {};
  std::string pointer = {};  // member of the struct
  std::string offset = {};   // where a run begins
  bool stays = false;        // along a run: given by value
  bool stored = false;
  bool scattered = false;
  bool is_value = false;  // `pointer` is one
};

class LoopPrinter {
 public:
  LoopPrinter(const Workload& workload, const std::vector<int>& operations, const LoopOptions& options,
              const LoopSurroundings& around)
      : workload_(workload), options_(options), around_(around) {
    for (const int i : operations) operations_.push_back(&workload.operations[i]);
    space_ = options.sum != nullptr ? options.sum->type : space_of(workload, *operations_[0]);
    find_indices();
    find_run();
  }

  PrintedLoop print() {
    if (options_.sum != nullptr) made(*options_.sum);
    for (const Operation* op : operations_) statement(*op);
    return {
        .definition = definition(), .made = construction(), .after = totals(), .members = total_members()};
  }

 private:
  bool is_sliced() const { return space_.layout.kind == LayoutKind::Sliced; }
  bool is_box() const { return is_sliced() && space_.layout.dim > 0; }

  void find_indices() {
    for (const Operation* op : operations_)
      for (const ExpressionNode& node : op->expression)
        if (node.op == ExpressionOperator::Index) indices_.insert(node.operand);
  }
  bool is_last(int dim) const { return dim + 1 == static_cast<int>(space_.shape.size()); }
  // Do runs end where dimensions do?
  bool has_span() const { return !walks_.empty() || !indices_.empty(); }
  // Of where a run begins, along a dimension.
  static std::string index_along(int dim) { return fmt::format("index / inner_{0} % side_{0}", dim); }

  // The first dimension of a run: from it on, operands have all dimensions or none.
  void find_run() {
    run_from_ = indices_.empty() ? 0 : space_.shape.size() - 1;  // along which an index advances or stays
    for (const Operation* op : operations_)
      for (const std::string& operand : op->operands) {
        const TensorType& type = operation(workload_, operand).type;
        if (values_.contains(operand) || is_scalar(type, space_)) continue;
        const std::size_t dims = space_.shape.size();
        std::size_t from = dims == 0 ? 0 : dims - 1;
        while (from > 0 && has_side(type, space_, from - 1) == has_side(type, space_, dims - 1)) --from;
        run_from_ = std::max(run_from_, from);
      }
  }

  std::string fresh(const std::string& name) const { return "x_" + name; }

  // The value of an operand: made here, a scalar, or read.
  std::string value(const std::string& operand) {
    if (const auto it = values_.find(operand); it != values_.end()) return it->second;
    const std::string name = around_.behind(operand);
    if (const auto it = values_.find(name); it != values_.end()) return values_[operand] = it->second;
    const TensorType& type = operation(workload_, name).type;
    const LoopPlace place = around_.read_at(operand, space_);
    std::string offset;
    bool stays = false;
    const std::string at = place.kind == PlaceKind::Own ? "begin" : "index";
    if (is_scalar(type, space_) || place.kind == PlaceKind::Value) {
      stays = true;
    } else if (type.shape.size() == space_.shape.size() && has_all_sides(type)) {
      offset = at;
    } else {
      // Broadcast: by the indices of the whole tensors, or, where slices are cut alike, of the slices.
      const bool sliced = type.layout.kind == LayoutKind::Sliced;
      const std::string walk = "walk_" + name;
      if (!walks_.contains(walk))
        walks_[walk] =
            sliced ? fmt::format("{{{}.own(), {}.own()}}", part_, around_.part(name))
                   : fmt::format("{{{}, {}}}", around_.sides(space_.shape), around_.sides(type.shape));
      offset = fmt::format("{}.at({})", walk, sliced ? "begin" : "index");
      stays = !has_side(type, space_, space_.shape.size() - 1);
    }
    const Parameter& parameter = parameter_of(place, offset, c_type(type.element), stays);
    inputs_[name] = parameter.name;
    types_[name] = c_type(type.element);
    return values_[operand] = values_[name] = fresh(name);
  }
  bool has_all_sides(const TensorType& type) const {
    for (std::size_t d = 0; d < space_.shape.size(); ++d)
      if (!has_side(type, space_, d)) return false;
    return true;
  }

  Parameter& parameter_of(const LoopPlace& place, const std::string& offset, const std::string& type,
                          bool stays) {
    for (Parameter& parameter : parameters_)
      if (parameter.pointer == place.pointer && parameter.offset == offset) return parameter;
    parameters_.push_back({fmt::format("at{}", parameters_.size()), type, place.pointer, offset, stays, false,
                           place.scattered, place.kind == PlaceKind::Value});
    return parameters_.back();
  }

  void made(const Operation& op) {
    values_[op.name] = fresh(op.name);
    types_[op.name] = c_type(op.type.element);
    if (!around_.is_stored(op.name)) return;
    const LoopPlace place = around_.stored_at(op.name);
    Parameter& parameter =
        parameter_of(place, place.kind == PlaceKind::Own ? "begin" : "index", c_type(op.type.element), false);
    parameter.stored = true;
    outputs_.emplace_back(op.name, parameter.name);
  }

  void statement(const Operation& op) {
    if (is_fold(op)) {
      folds_.push_back(&op);
      const std::string x = value(op.operands[0]);
      body_ += fmt::format("    fold_{} = {};\n", op.name,
                           as_real("double", c_type(operation(workload_, op.operands[0]).type.element), x));
      return;
    }
    const std::string real = real_of(op.type.element);
    std::vector<std::string> operands;
    for (const std::string& operand : op.operands) {
      const std::string x = value(operand);
      operands.push_back(as_real(real, c_type(operation(workload_, operand).type.element), x));
    }
    const std::string text = printed_expression(
        op.expression,
        {.real = real, .operands = operands, .seed = "seed", .index = "index", .along = "index_"});
    made(op);
    const std::string type = c_type(op.type.element);
    const bool used =
        around_.is_stored(op.name) || std::ranges::any_of(operations_, [&](const Operation* reader) {
          return std::ranges::count(reader->operands, op.name) > 0;
        });
    body_ +=
        fmt::format("    {}const {} {} = {};\n", used ? "" : "[[maybe_unused]] ", type, fresh(op.name),
                    type == real ? text : fmt::format("chorale::rounded_to<{}>({}({}))", type, real, text));
  }

  static bool is_fold(const Operation& op) {
    return op.kind == Kind::ReduceTensor || op.kind == Kind::ReduceAlong;
  }

  // static void element(values in, references out).
  std::string element() const {
    std::vector<std::string> parameters = {"[[maybe_unused]] std::uint64_t seed",
                                           "[[maybe_unused]] std::int64_t index"};
    if (options_.sum != nullptr)
      parameters.push_back(fmt::format("[[maybe_unused]] const {} {}", types_.at(options_.sum->name),
                                       fresh(options_.sum->name)));
    for (const auto& [name, parameter] : inputs_)
      parameters.push_back(fmt::format("const {} {}", types_.at(name), fresh(name)));
    for (const int dim : indices_) parameters.push_back(fmt::format("const std::int64_t index_{}", dim));
    std::string results;
    for (const auto& [name, parameter] : outputs_) {
      parameters.push_back(fmt::format("{}& to_{}", types_.at(name), name));
      results += fmt::format("    to_{} = {};\n", name, fresh(name));
    }
    for (const Operation* fold : folds_) parameters.push_back(fmt::format("double& fold_{}", fold->name));
    return fmt::format("  CHORALE_ELEMENT static void element({}) {{\n{}{}  }}\n",
                       fmt::join(parameters, ", "), body_, results);
  }

  // The loop over a run.
  std::string run() const {
    const bool sum = options_.sum != nullptr;
    std::vector<std::string> parameters = {"std::int64_t count", "[[maybe_unused]] std::uint64_t seed",
                                           "[[maybe_unused]] std::int64_t index"};
    std::vector<std::string> arguments = {"seed", "index + i"};
    if (sum) {
      const std::string& type = types_.at(options_.sum->name);
      parameters.push_back(fmt::format("const {}* __restrict__ a", type));
      parameters.push_back(fmt::format("[[maybe_unused]] const {}* __restrict__ b", type));
      arguments.push_back("sum");
    }
    for (const Parameter& p : parameters_)
      parameters.push_back(
          p.stays ? fmt::format("const {} {}", p.type, p.name)
                  : fmt::format("{}{}* __restrict__ {}", p.stored ? "" : "const ", p.type, p.name));
    for (const auto& [name, parameter] : inputs_) {
      const auto it = std::ranges::find(parameters_, parameter, &Parameter::name);
      arguments.push_back(it->stays ? parameter : parameter + "[i]");
    }
    for (const int dim : indices_) {
      parameters.push_back(fmt::format("std::int64_t index_{}", dim));
      arguments.push_back(fmt::format("index_{}{}", dim, is_last(dim) ? " + i" : ""));
    }
    std::string results, stores;
    for (const auto& [name, parameter] : outputs_) {
      results += fmt::format("      {} to_{};\n", types_.at(name), name);
      stores += fmt::format("      {}[i] = to_{};\n", parameter, name);
      arguments.push_back("to_" + name);
    }
    for (const Operation* fold : folds_) {
      parameters.push_back(fmt::format("double* __restrict__ folds_{}", fold->name));
      arguments.push_back(fmt::format("folds_{}[i]", fold->name));
    }
    return fmt::format(
        "{}  CHORALE_LOOP static void run({}) {{\n    for (std::int64_t i = 0; i < count; ++i) {{\n"
        "{}{}      element({});\n{}    }}\n  }}\n",
        sum ? "  template <int operands>\n" : "", fmt::join(parameters, ", "),
        sum ? fmt::format("      const {} sum = operands == 2 ? chorale::combined<{}>(a[i], b[i]) : a[i];\n",
                          types_.at(options_.sum->name), combination(options_.sum->reduction))
            : "",
        results, fmt::join(arguments, ", "), stores);
  }

  // Elements begin .. begin + count of what the rank has, from run to run.
  std::string way() const {
    const bool sum = options_.sum != nullptr;
    std::vector<std::string> arguments = {"n", "seed", "index"};
    if (sum) arguments.insert(arguments.end(), {"a", "b"});
    for (const Parameter& p : parameters_)
      arguments.push_back(p.is_value         ? member(p)
                          : p.scattered      ? fmt::format("{}run_{}.at", p.stays ? "*" : "", p.name)
                          : p.offset.empty() ? fmt::format("*{}", member(p))
                          : p.stays          ? fmt::format("{}[{}]", member(p), p.offset)
                                             : fmt::format("{} + {}", member(p), p.offset));
    for (const int dim : indices_) arguments.push_back(index_along(dim));
    for (const Operation* fold : folds_) arguments.push_back("folds_" + fold->name);
    std::string limits;
    if (is_box()) limits += "      if (part.run > 0) n = std::min(n, part.run - begin % part.run);\n";
    if (has_span()) limits += "      n = std::min(n, span - index % span);\n";
    if (!folds_.empty()) limits += "      n = std::min(n, chorale::kFolded);\n";
    for (const Parameter& p : parameters_)
      if (p.scattered) {
        limits += fmt::format("      const auto run_{} = {}.run({});\n", p.name, member(p),
                              p.offset.empty() ? "0" : p.offset);
        if (!p.stays) limits += fmt::format("      n = std::min(n, run_{}.count);\n", p.name);
      }
    std::string kept, totals;
    for (const Operation* fold : folds_) {
      kept += fmt::format("    double folds_{}[chorale::kFolded];\n", fold->name);
      totals += fmt::format("      *total_{} = chorale::folded<{}>(folds_{}, n, *total_{});\n", fold->name,
                            combination(fold->reduction), fold->name, fold->name);
    }
    const std::string all = fmt::format("{}", fmt::join(arguments, ", "));
    return fmt::format(
        "  void operator()(std::int64_t begin, std::int64_t count{}) const {{\n{}"
        "    while (count > 0) {{\n      [[maybe_unused]] const std::int64_t index = part.index(begin);\n"
        "      std::int64_t n = count;\n{}{}{}      begin += n;\n      count -= n;\n{}    }}\n  }}\n",
        sum ? fmt::format(", const {0}* a, const {0}* b", types_.at(options_.sum->name)) : "", kept, limits,
        sum ? fmt::format("      if (b != nullptr)\n        run<2>({});\n      else\n        run<1>({});\n",
                          all, all)
            : fmt::format("      run({});\n", all),
        totals, sum ? "      a += n;\n      if (b != nullptr) b += n;\n" : "");
  }
  static std::string member(const Parameter& p) { return "from_" + p.name; }

  std::string definition() const {
    std::vector<std::string> names;
    if (options_.sum != nullptr) names.push_back(options_.sum->name);
    for (const Operation* op : operations_) names.push_back(op->name);
    std::string members = "  chorale::Indices part = {};\n  std::uint64_t seed = 0;\n";
    // A member for each pointer, though several parameters may begin there.
    for (const Parameter& p : parameters_)
      members += p.is_value    ? fmt::format("  {} {} = {{}};  // {}\n", p.type, member(p), p.pointer)
                 : p.scattered ? fmt::format("  chorale::ScatteredView<{}> {} = {{}};  // {}\n", p.type,
                                             member(p), p.pointer)
                               : fmt::format("  {}{}* {} = nullptr;  // {}\n", p.stored ? "" : "const ",
                                             p.type, member(p), p.pointer);
    for (const auto& [walk, made] : walks_)
      members += fmt::format("  chorale::Walk<{}> {} = {{}};\n", space_.shape.size(), walk);
    if (has_span()) members += "  std::int64_t span = 1;\n";
    for (const int dim : indices_)
      members += fmt::format("  std::int64_t inner_{0} = 1, side_{0} = 1;\n", dim);
    for (const Operation* fold : folds_)
      members += fmt::format("  double* total_{} = nullptr;\n", fold->name);
    return fmt::format("// {}.\nstruct {} {{\n{}\n{}{}{}{}{}}};\n\n", fmt::join(names, ", "), options_.name,
                       members, element(), run(), way(), for_kernels(), for_rows());
  }

  // Totals of a row, and where they are put.
  std::string for_rows() const {
    if (options_.row == RowLoop::None) return "";
    std::string results, begun, ended;
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const std::string &name = folds_[k]->name, type = c_type(folds_[k]->type.element),
                        op = combination(folds_[k]->reduction);
      results += fmt::format("  {}* rows_{} = nullptr;\n", type, name);
      begun += fmt::format(" total_{0} = totals + {1}, *total_{0} = chorale::identity<{2}>();", name, k, op);
      ended += fmt::format(" rows_{0}[row] = chorale::total_as<{1}, {2}>(*total_{0});", name, op, type);
    }
    return fmt::format(
        "\n  static constexpr bool kValueOfRow = {};\n{}"
        "  void begin_row([[maybe_unused]] double* totals) {{{} }}\n"
        "  void end_row([[maybe_unused]] std::int64_t row) const {{{} }}\n",
        options_.row == RowLoop::Value, results, begun, ended);
  }

  // Where several elements do not follow each other for all operands, they are done one by one.
  std::string for_kernels() const {
    const bool sum = options_.sum != nullptr;
    std::vector<std::string> together, arguments = {"seed", "index + k"};
    if (sum) arguments.push_back("sums.of[k]");
    if (is_box()) together.push_back("(part.run > 0 && begin % part.run + width > part.run)");
    if (has_span()) together.push_back("index % span + width > span");
    std::string loads, results, moved, stores;
    for (const Parameter& p : parameters_) {
      const std::string offset = p.offset.empty() ? "0" : p.offset;
      if (p.scattered) {
        loads += fmt::format("    const auto run_{} = {}.run({});\n", p.name, member(p), offset);
        if (!p.stays) together.push_back(fmt::format("run_{}.count < width", p.name));
      }
    }
    const auto address = [](const Parameter& p) {
      return p.scattered ? fmt::format("run_{}.at", p.name) : fmt::format("{} + {}", member(p), p.offset);
    };
    for (const Parameter& p : parameters_) {
      const bool read = std::ranges::any_of(inputs_, [&](const auto& i) { return i.second == p.name; });
      if (!read || p.is_value) continue;
      if (p.stays)
        moved += fmt::format("    const {} {} = {};\n", p.type, p.name,
                             p.scattered        ? fmt::format("*run_{}.at", p.name)
                             : p.offset.empty() ? fmt::format("*{}", member(p))
                                                : fmt::format("{}[{}]", member(p), p.offset));
      else
        moved += fmt::format("    const auto {} = chorale::several_at<width>({});\n", p.name, address(p));
    }
    for (const auto& [name, parameter] : inputs_) {
      const auto it = std::ranges::find(parameters_, parameter, &Parameter::name);
      arguments.push_back(it->is_value ? member(*it) : it->stays ? parameter : parameter + ".of[k]");
    }
    for (const int dim : indices_) {
      moved += fmt::format("    const std::int64_t index_{} = {};\n", dim, index_along(dim));
      arguments.push_back(fmt::format("index_{}{}", dim, is_last(dim) ? " + k" : ""));
    }
    for (const auto& [name, parameter] : outputs_) {
      const auto it = std::ranges::find(parameters_, parameter, &Parameter::name);
      results += fmt::format("    chorale::Several<{}, width> to_{};\n", types_.at(name), name);
      stores += fmt::format("    chorale::store_several({}, to_{});\n", address(*it), name);
      arguments.push_back(fmt::format("to_{}.of[k]", name));
    }
    std::string folds, added, started, kept;
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const std::string op = combination(folds_[k]->reduction);
      folds += fmt::format("      double fold_{};\n", folds_[k]->name);
      added += fmt::format("      totals[{0}] = chorale::combined<{1}>(totals[{0}], fold_{2});\n", k, op,
                           folds_[k]->name);
      started += fmt::format(" totals[{}] = chorale::identity<{}>();", k, op);
      kept +=
          options_.row == RowLoop::None
              ? fmt::format(" team.template keep_total<{}>(total_{}, totals[{}]);", op, folds_[k]->name, k)
              : fmt::format(" team.template keep_row<{}>(rows_{}, totals[{}]);", op, folds_[k]->name, k);
      arguments.push_back(fmt::format("fold_{}", folds_[k]->name));
    }
    const std::string given =
        sum ? fmt::format(", const chorale::Several<{}, width>& sums", types_.at(options_.sum->name)) : "";
    const std::string one_by_one =
        together.empty()
            ? ""
            : fmt::format(
                  "    if constexpr (width > 1)\n      if ({}) {{\n        for (int k = 0; k < width; ++k) "
                  "several<1>(begin + k, {}totals);\n        return;\n      }}\n",
                  fmt::join(together, " || "),
                  sum ? fmt::format("chorale::Several<{}, 1>{{{{sums.of[k]}}}}, ",
                                    types_.at(options_.sum->name))
                      : "");
    return fmt::format(
        "\n  static constexpr int kTotals = {};\n"
        "  CHORALE_ELEMENT static void start([[maybe_unused]] double* totals) {{{} }}\n"
        "  template <int width>\n"
        "  CHORALE_ELEMENT void several([[maybe_unused]] std::int64_t begin{}, [[maybe_unused]] double* "
        "totals) const {{\n    [[maybe_unused]] const std::int64_t index = part.index(begin);\n"
        "{}{}{}{}    CHORALE_UNROLL\n    for (int k = 0; k < width; ++k) {{\n{}      element({});\n{}    "
        "}}\n{}  "
        "}}\n"
        "  template <typename Team>\n  CHORALE_ELEMENT void finish([[maybe_unused]] const double* totals, "
        "[[maybe_unused]] const Team& team) const {{{} }}\n",
        folds_.size(), started, given, loads, one_by_one, moved, results, folds, fmt::join(arguments, ", "),
        added, stores, kept);
  }

  std::string construction() const {
    const std::string& loop = options_.variable;
    std::string text =
        fmt::format("      {0} {1};\n      {1}.part = {2}.indices();\n      {1}.seed = tensors.seed;\n",
                    options_.name, loop, part());
    for (const Parameter& p : parameters_)
      text += fmt::format("      {}.{} = {};\n", loop, member(p), p.pointer);
    for (const auto& [walk, made] : walks_) {
      std::string with_part = made;
      if (const std::size_t at = with_part.find(part_); at != std::string::npos)
        with_part.replace(at, std::string(part_).size(), part());
      text += fmt::format("      {}.{} = {};\n", loop, walk, with_part);
    }
    for (const int dim : indices_)
      text +=
          fmt::format("      {0}.inner_{1} = chorale::product({2}, {3});\n      {0}.side_{1} = {2}[{1}];\n",
                      loop, dim, around_.sides(space_.shape), dim + 1);
    if (has_span())
      text += fmt::format("      {}.span = std::max<std::int64_t>(1, chorale::product({}, {}));\n", loop,
                          around_.sides(space_.shape), run_from_);
    for (const Operation* fold : folds_)
      text += options_.row == RowLoop::None
                  ? fmt::format("      {}.total_{} = total_{}_.start();\n", loop, fold->name, fold->name)
                  : fmt::format("      {}.rows_{} = {};\n", loop, fold->name,
                                around_.stored_at(fold->name).pointer);
    return text;
  }
  std::string part() const {
    if (options_.sum != nullptr) return around_.part(options_.sum->name);
    const Operation& first = *operations_[0];
    return around_.part(is_fold(first) ? first.operands[0] : first.name);
  }
  std::string totals() const {
    if (options_.row != RowLoop::None) return "";
    std::string text;
    for (const Operation* fold : folds_)
      text += fmt::format("      if ({}.elements() > 0) total_{}_.store({});\n", around_.part(fold->name),
                          fold->name, around_.stored_at(fold->name).pointer);
    return text;
  }
  std::string total_members() const {
    if (options_.row != RowLoop::None) return "";
    std::string text;
    for (const Operation* fold : folds_)
      text += fmt::format("  typename Device::template Total<{}> total_{}_{{device_}};\n",
                          combination(fold->reduction), fold->name);
    return text;
  }

  static constexpr const char* part_ = "@part@";
  const Workload& workload_;
  const LoopOptions& options_;
  const LoopSurroundings& around_;
  std::vector<const Operation*> operations_ = {};
  TensorType space_ = {};
  std::size_t run_from_ = 0;
  std::vector<Parameter> parameters_ = {};
  std::map<std::string, std::string> values_ = {};  // by name of an operation: what it is called here
  std::map<std::string, std::string> types_ = {};
  std::map<std::string, std::string> inputs_ = {};  // name, parameter
  std::vector<std::pair<std::string, std::string>> outputs_ = {};
  std::map<std::string, std::string> walks_ = {};
  std::set<int> indices_ = {};  // dimensions along which the index is used
  std::vector<const Operation*> folds_ = {};
  std::string body_ = {};
};

}  // namespace

PrintedLoop printed_loop(const Workload& workload, const std::vector<int>& operations,
                         const LoopOptions& options, const LoopSurroundings& around) {
  return LoopPrinter(workload, operations, options, around).print();
}

}  // namespace chorale
