// Statements of the text form, from top to bottom; each function reads one rule of the grammar
// (docs/workloads.md) and begins at its first token.
//   workload sgd
//   ranks 4
//   size N = 2^20
//   Tensor g(fp16, [N], Local)
//   Tensor p(fp32, [N], Replicated) state
//   avg = AllReduce("+", g) / WORLD
//   p_ = Update(p, p - 0.01 * avg)
//   return p_
//
// Declarations and operations are typed as they come (Draft::add), with errors at their own places. When
// all is read, inferred() checks what concerns several operations; it knows operations by name only, so
// the places of names are kept in the draft.
#include "tensor/language/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>

#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "tensor/language/infer.h"
#include "tensor/language/names.h"
#include "tensor/language/operation_forms.h"
#include "tensor/language/typing.h"

namespace chorale {

// Typed before it is kept. Its error names the statement that is read, not a temporary operation's name,
// which the user never wrote.
void Draft::add(Operation operation, const std::string& where) {
  if (workload.operations.size() >= kMostOperations)
    throw InputError(where, "one operation too many", fmt::format("{} are the most", kMostOperations));
  if (!is_given(operation.kind)) {
    operation.kernel = kernel;
    operation.overlap = overlap;
  }
  const std::string name = operation.name;
  if (!statement.empty() && !is_given(operation.kind)) operation.name = statement;
  operation.type = inferred_type(workload, operation, where).or_throw();
  operation.name = name;
  places[operation.name] = where;
  taken.insert(operation.name);
  workload.operations.push_back(std::move(operation));
}

// Cut to leave room for the number, since names have a longest length.
std::string Draft::fresh(const std::string& base) {
  const std::string begin = base.substr(0, kLongestName - 10) + (base.ends_with('_') ? "" : "_");
  for (int number = 1;; ++number)
    if (const std::string name = fmt::format("{}{}", begin, number); taken.insert(name).second) return name;
}

// An operand by itself has a name already; only what computes something becomes an operation.
std::string Draft::named(const Term& term, const std::string& base, const std::string& where) {
  if (term.expression.size() == 1 && term.operands.size() == 1) return term.operands.front();
  const std::string name = fresh(base);
  add(pointwise(name, term), where);
  return name;
}

// Added when it is first read, and once: all readers share it.
Term Draft::constant(OperationKind kind) {
  const std::string name = to_string(kind);
  if (find(workload, name) == nullptr) add({.kind = kind, .name = name}, name);
  return operand_term(name);
}

Term Draft::size(const std::string& name) {
  if (find(workload, name) == nullptr) add({.kind = OperationKind::Size, .name = name}, name);
  return operand_term(name);
}

// In float32 at least: the squares of fp16 above 255 are beyond its range, and sums lose digits.
Term Draft::norm(const Term& term, const std::string& base, const std::string& where) {
  const std::string name = named(term, base, where);
  const TensorType type = operation(workload, name).type;
  Operation squares =
      pointwise(fresh(base), applied(ExpressionOperator::Multiply, {operand_term(name), operand_term(name)}));
  if (type.element != ElementType::Float64) {
    squares.casts = true;
    squares.type.element = ElementType::Float32;
  }
  add(squares, where);
  Operation sum{.kind = OperationKind::ReduceTensor, .name = fresh(base), .operands = {squares.name}};
  add(sum, where);
  // Each rank has the sum of its slice; scalars of all ranks are added up.
  if (type.layout.kind == LayoutKind::Sliced) {
    sum = {.kind = OperationKind::AllReduce, .name = fresh(base), .operands = {sum.name}};
    add(sum, where);
  }
  return applied(ExpressionOperator::Sqrt, {operand_term(sum.name)});
}

Operation pointwise(const std::string& name, const Term& term) {
  return {.kind = OperationKind::Pointwise,
          .name = name,
          .operands = term.operands,
          .expression = term.expression};
}

// Functions of rows that are composed of reductions along a dimension and pointwise operations: means,
// softmax, norms. Sums and what they are of are in float32 for 16-bit floats and integers. Fusing what they
// are composed of makes one pass of it (kernels.h).

namespace {

using Op = ExpressionOperator;

// The last dimension; of a scalar 0, which reductions refuse.
int last_of(const TensorType& type) {
  return std::max(0, static_cast<int>(type.shape.size()) - 1);
}

ElementType summed_in(ElementType type) {
  return type == ElementType::Float64 ? type : ElementType::Float32;
}
// A norm of integers is real.
Term as_given(ElementType type, const Term& term) {
  return converted(type == ElementType::Int32 ? ElementType::Float32 : type, term);
}
Term root_of(const Term& mean_of_squares, double epsilon) {
  return applied(Op::Sqrt, {applied(Op::Add, {mean_of_squares, number_term(epsilon)})});
}

}  // namespace

Term Draft::rounded(ElementType type, const Term& term, const std::string& base, const std::string& where) {
  Operation operation = pointwise(fresh(base), term);
  operation.casts = true;
  operation.type.element = type;
  const std::string name = operation.name;
  add(std::move(operation), where);
  return operand_term(name);
}

// Cut along the dimension, ranks have summands after the first reduction (or the largest of a part, for
// Max).
Term Draft::reduced(ReduceOp op, const Term& term, int dim, const std::string& base,
                    const std::string& where) {
  const std::string name = named(term, base, where);
  Operation along{.kind = OperationKind::ReduceAlong,
                  .name = fresh(base),
                  .operands = {name},
                  .reduction = op,
                  .dims = {dim}};
  std::string result = along.name;
  add(std::move(along), where);
  const TensorLayout layout = operation(workload, name).type.layout;
  if (layout.kind == LayoutKind::Sliced && layout.dim == dim) {
    Operation all{
        .kind = OperationKind::AllReduce, .name = fresh(base), .operands = {result}, .reduction = op};
    result = all.name;
    add(std::move(all), where);
  }
  return operand_term(result);
}

// Summands are converted before they are added up, the sum is divided in the wider type.
Term Draft::mean(const Term& term, int dim, const std::string& base, const std::string& where) {
  const std::string name = named(term, base, where);
  const TensorType type = operation(workload, name).type;
  const ElementType sums = summed_in(type.element);
  const Term summands =
      sums == type.element ? operand_term(name) : rounded(sums, operand_term(name), base, where);
  const Term sum = reduced(ReduceOp::Sum, summands, dim, base, where);
  return applied(Op::Divide, {sum, side(type.shape[dim])});
}

// As a product of size operands, and not as a number: emitted programs take other sizes when they run.
Term Draft::side(const Extent& extent) {
  std::vector<Term> factors;
  if (extent.factor != 1 || extent.sizes.empty())
    factors.push_back(number_term(static_cast<double>(extent.factor)));
  for (const std::string& name : extent.sizes) factors.push_back(size(name));
  Term product = factors[0];
  for (std::size_t k = 1; k < factors.size(); ++k) product = applied(Op::Multiply, {product, factors[k]});
  if (extent.divisor == 1) return product;
  return applied(Op::Divide, {product, number_term(static_cast<double>(extent.divisor))});
}

// Shifted by the largest element, so that no power overflows; the shift cancels in the quotient.
Term Draft::softmax(const Term& term, int dim, const std::string& base, const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const ElementType type = operation(workload, x.operands[0]).type.element;
  const Term most = reduced(ReduceOp::Max, x, dim, base, where);
  const Term powers =
      rounded(summed_in(type), applied(Op::Exp, {applied(Op::Subtract, {x, most})}), base, where);
  const Term sum = reduced(ReduceOp::Sum, powers, dim, base, where);
  return as_given(type, applied(Op::Divide, {powers, sum}));
}

// Zhang and Sennrich 2019: no mean is subtracted, so one reduction is enough.
Term Draft::rms_norm(const Term& term, const Term& weight, double epsilon, const std::string& base,
                     const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const TensorType type = operation(workload, x.operands[0]).type;
  const Term squares = rounded(summed_in(type.element), applied(Op::Multiply, {x, x}), base, where);
  const Term mean_of_squares = mean(squares, last_of(type), base, where);
  return as_given(
      type.element,
      applied(Op::Multiply, {applied(Op::Divide, {x, root_of(mean_of_squares, epsilon)}), weight}));
}

// The variance is of centered elements, in two passes: E[x^2] - E[x]^2 cancels badly in float32.
Term Draft::layer_norm(const Term& term, const Term& weight, const Term& bias, double epsilon,
                       const std::string& base, const std::string& where) {
  const Term x = operand_term(named(term, base, where));
  const TensorType type = operation(workload, x.operands[0]).type;
  const int last = last_of(type);
  const ElementType sums = summed_in(type.element);
  const Term centered = rounded(sums, applied(Op::Subtract, {x, mean(x, last, base, where)}), base, where);
  const Term squares = rounded(sums, applied(Op::Multiply, {centered, centered}), base, where);
  const Term variance = mean(squares, last, base, where);
  const Term unit = applied(Op::Divide, {centered, root_of(variance, epsilon)});
  return as_given(type.element, applied(Op::Add, {applied(Op::Multiply, {unit, weight}), bias}));
}

namespace {

// Texts are untrusted: these bound the memory that a short text can ask for.
constexpr std::size_t kMostOperators = 256, kMostParameters = 16;
constexpr double kMostStream = 4294967295.0;
constexpr std::int64_t kMostWhole = std::int64_t{1} << 62;

}  // namespace

// A setting for a size that the program does not declare is an error, since it would change nothing.
Workload WorkloadParser::parse() {
  heading();
  while (!is_at("return") && !is_at_end()) statement();
  if (takes("return")) outputs();
  if (!is_at_end()) fail("the end of the text after what is returned");
  drop_unread();
  for (const auto& [name, value] : settings_.sizes)
    if (std::ranges::find(draft_.workload.sizes, name, &WorkloadSize::name) == draft_.workload.sizes.end())
      throw InputError(file_, fmt::format("there is no size '{}' that could be {}", name, value),
                       did_you_mean(name, size_names(), "the program declares none"));
  return inferred(std::move(draft_.workload),
                  [&](const std::string& name) {
                    const auto it = draft_.places.find(name);
                    return it == draft_.places.end() ? file_ : it->second;
                  })
      .or_throw();
}

// A kernel, an overlap and a size are named in errors of the whole program too (inferred), an operator is
// not.
std::string WorkloadParser::new_name(const std::string& what) {
  const Token token = now();
  const std::string name = private_name(what);
  draft_.places[name] = place(file_, token);
  return name;
}

std::string WorkloadParser::private_name(const std::string& what) {
  if (now().kind != Token::Kind::Name) fail(fmt::format("a name for {}", what));
  const Token token = take();
  const std::string name(token.text);
  if (const std::string flaw = name_flaw(name); !flaw.empty())
    fail_at(token, fmt::format("the name {} {}", shown_token(token), flaw), "choose another one");
  return name;
}

// Before the first statement is read: temporary operations are called avg_1, avg_2, which a later
// statement may be called, too.
void WorkloadParser::check_all_words() {
  for (std::size_t k = 0; k < tokens_.size(); ++k) {
    if (tokens_[k].kind == Token::Kind::Name) draft_.taken.emplace(tokens_[k].text);
    if (is(tokens_[k], "Random") && k + 2 < tokens_.size() && tokens_[k + 2].whole >= next_stream_ &&
        static_cast<double>(tokens_[k + 2].whole) < kMostStream)
      next_stream_ = tokens_[k + 2].whole + 1;
  }
}

// Ranks and groups of the settings win over those of the text, as sizes do; the text's are still checked.
void WorkloadParser::heading() {
  expect("workload", "and the program's name first");
  draft_.workload.name = private_name("the program");
  draft_.places[""] = place(file_, tokens_[0]);
  draft_.workload.ranks = settings_.ranks > 0 ? settings_.ranks : 2;
  draft_.workload.groups = settings_.groups > 0 ? settings_.groups : 1;
  while (is_at("ranks") || is_at("groups")) {
    const bool ranks = take().text == "ranks";
    const int number = static_cast<int>(whole(ranks ? "how many ranks" : "how many groups", 1, kMostRanks));
    if (ranks && settings_.ranks <= 0) draft_.workload.ranks = number;
    if (!ranks && settings_.groups <= 0) draft_.workload.groups = number;
  }
  const Workload& all = draft_.workload;
  if (std::int64_t{all.ranks} * all.groups > std::int64_t{kMostRanks})
    fail_at(tokens_[0],
            fmt::format("{} in each of {}", counted(all.ranks, "rank"), counted(all.groups, "group")),
            fmt::format("there are 1 to {} in all", kMostRanks));
}

std::vector<std::string> WorkloadParser::size_names() const {
  std::vector<std::string> names;
  for (const WorkloadSize& size : draft_.workload.sizes) names.push_back(size.name);
  return names;
}

void WorkloadParser::sizes() {
  take();
  do size();
  while (takes(","));
}

// A setting wins over the text's value, which is read all the same.
void WorkloadParser::size() {
  const Token token = now();
  const std::string name = new_name("the size");
  expect("=", "and a number");
  if (draft_.workload.sizes.size() >= kMostSizes)
    fail_at(token, "one size too many", fmt::format("{} are the most", kMostSizes));
  WorkloadSize size{.name = name, .value = product().value, .fixed = takes("fixed")};
  if (const auto given = settings_.sizes.find(name); given != settings_.sizes.end())
    size.value = given->second;
  if (size.value < 1 || size.value > kMostElements)
    fail_at(token, fmt::format("the size {} is {}", name, size.value),
            fmt::format("sizes are 1 to {}", kMostElements));
  draft_.workload.sizes.push_back(std::move(size));
}

// 4*H*S/2: the factor 4, the sizes H and S, the divisor 2, and the value of all of it, in normal form (sizes
// sorted, lowest terms).
Extent WorkloadParser::product(bool may_be_zero) {
  Extent extent;
  const Token first = now();
  do {
    const Token token = now();
    const std::optional<std::int64_t> number = number_named(token.text);
    std::int64_t value = 0;
    if (token.kind == Token::Kind::Name && !number) {
      value = size_value(take());
      extent.sizes.emplace_back(token.text);
    } else {
      value = number ? (take(), *number) : power(may_be_zero ? 0 : 1);
      extent.factor = multiplied(token, extent.factor, value);
    }
    extent.value = multiplied(token, extent.value, value);
    while (takes("/")) extent.divisor = multiplied(now(), extent.divisor, power());
  } while (takes("*"));
  if (extent.value == 0 && may_be_zero) return {.factor = 0, .value = 0};
  if (extent.value == 0) fail_at(first, "a side of 0", "sides are at least 1");
  if (extent.value % extent.divisor != 0)
    fail_at(first, fmt::format("{} is not a multiple of {}", extent.value, extent.divisor),
            "sides are integers: give sizes that can be divided so");
  extent.value /= extent.divisor;
  const std::int64_t common = extent.sizes.empty() ? extent.divisor : std::gcd(extent.factor, extent.divisor);
  extent.factor /= common, extent.divisor /= common;
  std::ranges::sort(extent.sizes);
  return extent;
}

// 2^20. Multiplied step by step, so that the product stops at the limit and does not wrap.
std::int64_t WorkloadParser::power(std::int64_t least) {
  const Token token = now();
  const std::int64_t base = whole("a number or a size", least, kMostWhole);
  if (!takes("^")) return base;
  std::int64_t result = 1;
  for (std::int64_t left = whole("the exponent", 0, 62); left > 0; --left)
    result = multiplied(token, result, base);
  return result;
}

std::int64_t WorkloadParser::multiplied(const Token& token, std::int64_t a, std::int64_t b) const {
  if (b > 0 && a > kMostWhole / b)
    fail_at(token, "the product is too large", fmt::format("{} is the most", kMostWhole));
  return a * b;
}

std::optional<std::int64_t> WorkloadParser::number_named(std::string_view name) const {
  if (name == "RANKS") return draft_.workload.ranks;
  if (name == "WORLD") return std::int64_t{draft_.workload.ranks} * draft_.workload.groups;
  const auto loop = std::ranges::find(loops_, name, &Loop::name);
  return loop == loops_.end() ? std::nullopt : std::optional(loop->at);
}

bool WorkloadParser::is_there(const std::string& name) const {
  return find(draft_.workload, name) != nullptr || number_named(name) ||
         std::ranges::count(draft_.workload.sizes, name, &WorkloadSize::name) > 0;
}

std::int64_t WorkloadParser::size_value(const Token& token) const {
  const auto size = std::ranges::find(draft_.workload.sizes, token.text, &WorkloadSize::name);
  if (size == draft_.workload.sizes.end())
    fail_at(token, fmt::format("there is no size {}", shown_token(token)),
            did_you_mean(std::string(token.text), size_names(), "write \"size NAME = NUMBER\" before"));
  return size->value;
}

// Tensor m(fp32, [N, 4*H], Replicated) state; a Scalar may leave its layout out.
void WorkloadParser::declaration() {
  const bool scalar = take().text == "Scalar";
  Operation input{.kind = OperationKind::Input, .name = new_name("the tensor")};
  const std::string where = draft_.places[input.name];
  expect("(", "and an element type");
  input.type.element = element();
  if (!scalar) {
    expect(",", "and the shape");
    input.type.shape = shape();
  }
  if (!scalar || is_at(",")) {
    expect(",", "and the layout");
    layout(input.type);
  }
  expect(")", "after the layout");
  while (is_at("state") || is_at("scattered"))
    (take().text == "state" ? input.state : input.scattered) = true;
  draft_.add(std::move(input), where);
}

ElementType WorkloadParser::element() {
  const auto words = std::span<const Named<ElementType>>(kElementWords).first(kWorkloadElementWords);
  const std::optional<ElementType> type = value_in(words, now().text);
  if (!type || now().kind != Token::Kind::Name)
    fail("an element type: fp64, fp32, fp16, bf16, e4m3, e5m2 or int32");
  take();
  return *type;
}

// [N, 4*H]; [] is a scalar.
TensorShape WorkloadParser::shape() {
  TensorShape shape;
  expect("[", "and the sides");
  while (!is_at("]")) {
    if (!shape.empty()) expect(",", "or ']' after a side");
    if (shape.size() >= kMostDimensions) fail("']'", fmt::format("{} sides are the most", kMostDimensions));
    shape.push_back(product());
  }
  take();
  return shape;
}

// Replicated, Local, Sliced(1), Sliced(flat), Rooted(0); and of groups, with what they have the same of:
// "Replicated EACH GROUP", "Local GROUP 1..3".
void WorkloadParser::layout(TensorType& type) {
  if (takes("Replicated")) {
    type.layout = {};
  } else if (takes("Local")) {
    type.layout = {.kind = LayoutKind::Local};
  } else if (takes("Sliced")) {
    expect("(", "and a dimension, or flat");
    type.layout = sliced();
    expect(")", "after the dimension");
  } else if (takes("Rooted")) {
    expect("(", "and a rank");
    type.layout = {.kind = LayoutKind::Rooted, .root = static_cast<int>(whole("a rank", 0, kMostRanks - 1))};
    expect(")", "after the rank");
  } else {
    fail("a layout: Replicated, Local, Sliced(dimension), Sliced(flat) or Rooted(rank)");
  }
  const bool each = takes("EACH");
  if (each && !is_at("GROUP")) fail("GROUP");
  if (takes("GROUP")) groups(type);
  type.each = each;
}

// GROUP: all groups; GROUP 2: one; GROUP 1..3: these.
void WorkloadParser::groups(TensorType& type) {
  const int last = draft_.workload.groups - 1;
  type.scope = Scope::Group;
  type.last_group = last;
  if (now().kind != Token::Kind::Number) return;
  type.first_group = type.last_group = static_cast<int>(whole("a group", 0, last));
  if (takes("..")) type.last_group = static_cast<int>(whole("the last group", type.first_group, last));
}

TensorLayout WorkloadParser::sliced() {
  if (takes("flat")) return {.kind = LayoutKind::Sliced, .dim = kFlat};
  return {.kind = LayoutKind::Sliced,
          .dim = static_cast<int>(whole("flat, or a dimension", 0, kMostDimensions - 1))};
}

// By the first token. Words that begin a statement are reserved, so no name can be taken for one.
void WorkloadParser::statement() {
  if (is_at("ranks") || is_at("groups"))
    fail("a statement", "ranks and groups stand right after the program's name");
  if (is_at("size")) return sizes();
  if (is_at("op")) return operator_definition();
  if (is_at("Tensor") || is_at("Scalar")) return declaration();
  if (is_at("kernel") || is_at("overlap")) return block();
  if (is_at("loop")) return loop();
  assignment();
}

// Statements of a loop are read again for each number that it counts, as if the text had them once more. What
// a name is given in the last iteration of all loops keeps it; before, it is x_0, x_1, .., by the numbers.
// So what a program returns is called the same, whatever the number of iterations, as a rule that of ranks.
void WorkloadParser::loop() {
  take();
  const Token token = now();
  Loop loop{.name = new_name("what the loop counts")};
  if (is_there(loop.name))
    fail_at(token, fmt::format("'{}' is there already", loop.name), "count by another name");
  expect("=", "and the first number");
  loop.at = bound();
  expect("..", "and the last number");
  loop.last = bound();
  if (loop.at < 0) fail_at(token, fmt::format("{} is {} first", loop.name, loop.at), "count from 0 or more");
  const std::map<std::string, std::string> before = called_;
  std::vector<std::string> carried;
  while (takes(",")) {
    const Token carries = now();
    carried.push_back(private_name("what the loop carries"));
    if (is_there(carried.back()) || carried.back() == loop.name)
      fail_at(carries, fmt::format("'{}' is there already", carried.back()),
              "carry it by a name that the loop alone gives");
    expect("=", "and what it is before the first iteration");
    called_[carried.back()] = operand(take());
  }
  expect("{", "and statements");
  const std::size_t begin = at_, first = draft_.workload.operations.size();
  loops_.push_back(loop);
  for (; loops_.back().at <= loop.last; ++loops_.back().at) iterate(begin);
  loops_.pop_back();
  if (at_ == begin)  // no iteration
    for (int open = 1; open > 0 && !is_at_end(); take()) open += is_at("{") - is_at("}");
  // Of an outer loop the next iteration, and the text behind the outermost, see what was carried.
  std::map<std::string, std::string> after = before;
  for (const std::string& name : carried) {
    after.erase(name);
    if (const auto meant = called_.find(name); meant != called_.end()) after.insert(*meant);
  }
  called_ = std::move(after);
  if (!loops_.empty()) return;
  for (const auto& [name, meant] : called_) add(pointwise(name, operand_term(meant)), token);
  called_.clear();
  unrolled_.emplace_back(first, draft_.workload.operations.size());
}

// Sizes that a loop goes by are fixed: a program that is emitted has its iterations.
std::int64_t WorkloadParser::bound() {
  const Extent extent = product(true);
  for (WorkloadSize& size : draft_.workload.sizes)
    size.fixed = size.fixed || std::ranges::count(extent.sizes, size.name) > 0;
  if (takes("+")) return extent.value + whole("a number", 0, kMostWhole);
  return takes("-") ? extent.value - whole("a number", 0, kMostWhole) : extent.value;
}

void WorkloadParser::iterate(std::size_t begin) {
  if (++iterations_ > kMostOperations)
    fail_at(tokens_[begin - 1], "one iteration too many", fmt::format("{} are the most", kMostOperations));
  at_ = begin;
  while (!takes("}")) {
    if (is_at_end()) fail("'}' after the statements of the loop");
    is_at("loop") ? loop() : assignment();
  }
}

std::string WorkloadParser::unrolled(const std::string& name) {
  if (std::ranges::all_of(loops_, [](const Loop& each) { return each.at == each.last; })) return name;
  std::string result = name;
  for (const Loop& each : loops_) result += fmt::format("_{}", each.at);
  return draft_.taken.insert(result).second ? result : draft_.fresh(result);
}

// A loop may begin what only another iteration would read (a last Send): nothing is done for that.
void WorkloadParser::drop_unread() {
  std::vector<Operation>& all = draft_.workload.operations;
  for (const auto& [first, end] : unrolled_ | std::views::reverse)
    for (std::size_t i = end; i-- > first;) {
      const auto reads = [&](const Operation& by) {
        return std::ranges::count(by.operands, all[i].name) > 0;
      };
      if (all[i].updates.empty() && std::ranges::count(draft_.workload.outputs, all[i].name) == 0 &&
          std::ranges::none_of(all, reads))
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

// kernel NAME { ... } and overlap NAME { ... }. An overlap may hold kernels; nothing else nests.
void WorkloadParser::block() {
  const bool kernel = take().text == "kernel";
  std::string& mine = kernel ? draft_.kernel : draft_.overlap;
  mine = new_name(kernel ? "the kernel" : "the overlap");
  expect("{", "and operations");
  if (is_at("}")) fail("an operation of " + mine);
  while (!takes("}")) {
    if (is_at_end()) fail(fmt::format("'}}' after the operations of {}", mine));
    if (is_at("kernel") && !kernel)
      block();
    else
      assignment();
  }
  mine.clear();
}

// An expression that is one call takes the statement's name (rename_last); of any other a pointwise
// operation is made, and calls inside of it keep their temporary names.
void WorkloadParser::assignment() {
  if (now().kind != Token::Kind::Name || is_reserved(now().text))
    fail(draft_.kernel.empty() && draft_.overlap.empty() && loops_.empty()
             ? "a statement: a declaration, or NAME = ..."
             : "an operation, NAME = ..., or '}'");
  const Token token = now();
  const std::string said = private_name("the result");
  name_ = unrolled(said);
  expect("=", fmt::format("after '{}'", said));
  if (find(draft_.workload, name_) != nullptr || number_named(said))
    fail_at(token, fmt::format("'{}' is there already, from {}", said, draft_.places[said]),
            "give the result a name of its own");
  draft_.places[name_] = place(file_, token);
  // Errors of what the statement is made of name the statement.
  draft_.statement = said;
  const Value value = expression();
  draft_.statement.clear();
  if (value.made)
    rename_last();
  else if (!loops_.empty() && value.term.expression.size() == 1 && value.term.operands.size() == 1)
    name_ = value.term.operands[0];  // another name of it
  else
    draft_.statement = said, add(pointwise(name_, value.term), token), draft_.statement.clear();
  called_.erase(said);
  if (name_ != said) called_[said] = name_;
}

// The operation was added under a temporary name, before it was known that it is all of the statement.
void WorkloadParser::rename_last() {
  Operation& last = draft_.workload.operations.back();
  draft_.places[name_] = draft_.places[last.name];
  last.name = name_;
}

// As many as there can be operations; inferred() refuses one that is there twice.
void WorkloadParser::outputs() {
  std::vector<std::string>& outputs = draft_.workload.outputs;
  do {
    if (now().kind != Token::Kind::Name) fail("a name of what is returned");
    if (outputs.size() >= kMostOperations) fail("an end of what is returned");
    outputs.push_back(operand(take()));
  } while (takes(","));
}

// op NAME(a, b) = expression. Parsed once, with the parameters as operands; operators see neither tensors
// nor sizes, so what they mean does not depend on where they are applied.
void WorkloadParser::operator_definition() {
  take();
  const Token token = now();
  Operator defined{.name = private_name("the operator")};
  if (find_operator(defined.name) != nullptr)
    fail_at(token, fmt::format("there is an operator '{}' already", defined.name), "choose another name");
  if (operators_.size() >= kMostOperators)
    fail_at(token, "one operator too many", fmt::format("{} are the most", kMostOperators));
  expect("(", "and parameters");
  while (!is_at(")")) {
    if (!parameters_.empty()) expect(",", "or ')' after a parameter");
    if (parameters_.size() >= kMostParameters)
      fail("')'", fmt::format("{} parameters are the most", kMostParameters));
    const Token parameter = now();
    const std::string name = private_name("a parameter");
    if (std::ranges::count(parameters_, name) > 0)
      fail_at(parameter, fmt::format("'{}' is a parameter already", name), "choose another name");
    parameters_.push_back(name);
  }
  take();
  expect("=", "and an expression of the parameters");
  in_operator_ = true;
  streams_ = 0;
  defined.parameters = static_cast<int>(parameters_.size());
  defined.term = expression().term;
  defined.streams = streams_;
  in_operator_ = false;
  parameters_.clear();
  operators_.push_back(std::move(defined));
}

const WorkloadParser::Operator* WorkloadParser::find_operator(std::string_view name) const {
  const auto it = std::ranges::find(operators_, name, &Operator::name);
  return it == operators_.end() ? nullptr : &*it;
}

Workload parse_workload(std::string_view text, const std::string& file, const WorkloadSettings& settings) {
  return WorkloadParser(text, file, settings).parse();
}

}  // namespace chorale
