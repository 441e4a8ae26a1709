// The text form, read by recursive descent; docs/workloads.md has the grammar, of which each function is a rule. Types are
// inferred as operations come, since what is short for several may depend on them (Norm). Nothing separates statements: each
// begins with a name or a word of its own, which nothing else goes on with.
//
// A call of an operation inside an expression becomes an operation with a name of its own. Where it is all of the
// statement, it is given the statement's name.
//
// An operator of the user is parsed once, with its parameters as operands "%0", "%1", and random numbers of streams that
// are counted down from -1; where it is applied, both are replaced. So however operators are nested, each costs no more than
// what it stands for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/named.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "workload/draft.h"
#include "workload/infer.h"
#include "workload/names.h"
#include "workload/text.h"
#include "workload/tokens.h"
#include "workload/typing.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;
using Kind = OperationKind;

constexpr int kDeepestNesting = 64;
constexpr std::size_t kMostOperators = 256, kMostParameters = 16;
constexpr double kMostStream = 4294967295.0;

constexpr Named<ElementType> kElements[] = {{ElementType::Float64, "fp64"},
                                            {ElementType::Float32, "fp32"},
                                            {ElementType::Float16, "fp16"},
                                            {ElementType::Bfloat16, "bf16"},
                                            {ElementType::Int32, "int32"}};
constexpr Named<ReduceOp> kReductions[] = {
    {ReduceOp::Sum, "+"}, {ReduceOp::Min, "min"}, {ReduceOp::Max, "max"}};
constexpr Named<Op> kFunctions[] = {{Op::Sqrt, "Sqrt"}, {Op::Exp, "Exp"}, {Op::Log, "Log"},
                                    {Op::Tanh, "Tanh"}, {Op::Abs, "Abs"}, {Op::Min, "Min"},
                                    {Op::Max, "Max"},   {Op::Pow, "Pow"}, {Op::Select, "Select"}};
constexpr Named<Kind> kConstants[] = {{Kind::Rank, "RANK"}, {Kind::Group, "GROUP"}, {Kind::Ranks, "WORLD"}};
constexpr Named<Kind> kCalls[] = {{Kind::MatMul, "MatMul"},
                                  {Kind::Convolution, "Convolution"},
                                  {Kind::ReduceTensor, "ReduceTensor"},
                                  {Kind::Slice, "Slice"},
                                  {Kind::AllReduce, "AllReduce"},
                                  {Kind::ReduceScatter, "ReduceScatter"},
                                  {Kind::AllGather, "AllGather"},
                                  {Kind::Reduce, "Reduce"},
                                  {Kind::Broadcast, "Broadcast"},
                                  {Kind::AllToAll, "AllToAll"},
                                  {Kind::Send, "Send"}};

// Something like `value`, with where the table has it.
template <typename Value, std::size_t n>
std::optional<Value> named_in(const Named<Value> (&table)[n], std::string_view name) {
  return value_in(std::span<const Named<Value>>(table), name);
}

constexpr std::string_view kComparisons[] = {"<", "<=", "==", ">", ">="};

class WorkloadParser {
 public:
  WorkloadParser(std::string_view text, const std::string& file, const WorkloadSettings& settings)
      : file_(file), settings_(settings), tokens_(tokens(text, file)) {
    look_at_all_words();
  }

  Workload parse() {
    heading();
    while (!is_at("return") && !is_at_end()) statement();
    if (takes("return")) outputs();
    if (!is_at_end()) fail("the end of the text after what is returned");
    for (const auto& [name, value] : settings_.sizes)
      if (std::ranges::find(draft_.workload.sizes, name, &WorkloadSize::name) == draft_.workload.sizes.end())
        throw InputError(file_, fmt::format("there is no size '{}' that could be {}", name, value),
                         did_you_mean(name, size_names(), "the program declares none"));
    return inferred(std::move(draft_.workload), [&](const std::string& name) {
      const auto it = draft_.places.find(name);
      return it == draft_.places.end() ? file_ : it->second;
    });
  }

 private:
  struct Value {
    Term term = {};
    bool made = false;  // the result of the operation that was added last, for this
  };
  struct Operator {
    std::string name = {};
    int parameters = 0;
    Term term = {};
    int streams = 0;
  };

  // ---- Words ----

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  static bool is(const Token& token, std::string_view text) {
    return token.kind != Token::Kind::String && token.kind != Token::Kind::End && token.text == text;
  }
  bool is_at(std::string_view text) const { return is(now(), text); }
  bool is_at_end() const { return now().kind == Token::Kind::End; }
  Token take() {
    const Token token = now();
    if (!is_at_end()) ++at_;
    return token;
  }
  bool takes(std::string_view text) {
    if (!is_at(text)) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail_at(const Token& token, const std::string& problem, const std::string& remedy) const {
    throw InputError(place(file_, token), problem, remedy);
  }
  // Found is what is there now.
  [[noreturn]] void fail(const std::string& expected,
                         const std::string& remedy = "see docs/workloads.md, 'Grammar'") const {
    fail_at(now(), fmt::format("found {}, expected {}", shown_token(now()), expected), remedy);
  }
  void expect(std::string_view text, const std::string& after) {
    if (!takes(text)) fail(fmt::format("'{}' {}", text, after));
  }

  std::string new_name(const std::string& what) {
    const Token token = now();
    const std::string name = private_name(what);
    draft_.places[name] = place(file_, token);
    return name;
  }
  // One that no error of the whole program is about.
  std::string private_name(const std::string& what) {
    if (now().kind != Token::Kind::Name) fail(fmt::format("a name for {}", what));
    const Token token = take();
    const std::string name(token.text);
    if (const std::string flaw = name_flaw(name); !flaw.empty())
      fail_at(token, fmt::format("the name {} {}", shown_token(token), flaw), "choose another one");
    return name;
  }
  std::int64_t whole(const std::string& what, std::int64_t least, std::int64_t most) {
    if (now().kind != Token::Kind::Number || now().whole < least || now().whole > most)
      fail(fmt::format("{}, a whole number from {} to {}", what, least, most));
    return take().whole;
  }

  // Names that temporary operations may not take, and streams of random numbers that dropouts may not.
  void look_at_all_words() {
    for (std::size_t k = 0; k < tokens_.size(); ++k) {
      if (tokens_[k].kind == Token::Kind::Name) draft_.taken.emplace(tokens_[k].text);
      if (is(tokens_[k], "Random") && k + 2 < tokens_.size() && tokens_[k + 2].whole >= next_stream_ &&
          static_cast<double>(tokens_[k + 2].whole) < kMostStream)
        next_stream_ = tokens_[k + 2].whole + 1;
    }
  }

  // ---- Heading, sizes, declarations ----

  void heading() {
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

  std::vector<std::string> size_names() const {
    std::vector<std::string> names;
    for (const WorkloadSize& size : draft_.workload.sizes) names.push_back(size.name);
    return names;
  }

  // size NAME = product {"," NAME = product}
  void sizes() {
    take();
    do size();
    while (takes(","));
  }
  void size() {
    const Token token = now();
    const std::string name = new_name("the size");
    expect("=", "and a number");
    if (draft_.workload.sizes.size() >= kMostSizes)
      fail_at(token, "one size too many", fmt::format("{} are the most", kMostSizes));
    WorkloadSize size{.name = name, .value = product().value};
    if (const auto given = settings_.sizes.find(name); given != settings_.sizes.end())
      size.value = given->second;
    if (size.value < 1 || size.value > kMostElements)
      fail_at(token, fmt::format("the size {} is {}", name, size.value),
              fmt::format("sizes are 1 to {}", kMostElements));
    draft_.workload.sizes.push_back(std::move(size));
  }

  // factor {"*" factor}; a factor is a number, a power of one, or a size.
  Extent product() {
    Extent extent;
    do {
      const Token token = now();
      std::int64_t value = 0;
      if (token.kind == Token::Kind::Name) {
        value = size_value(take());
        extent.sizes.emplace_back(token.text);
      } else {
        value = power();
        extent.factor = multiplied(token, extent.factor, value);
      }
      extent.value = multiplied(token, extent.value, value);
    } while (takes("*"));
    std::ranges::sort(extent.sizes);
    return extent;
  }
  std::int64_t power() {
    const Token token = now();
    const std::int64_t base = whole("a number or a size", 1, kMostWhole);
    if (!takes("^")) return base;
    std::int64_t result = 1;
    for (std::int64_t left = whole("the exponent", 0, 62); left > 0; --left)
      result = multiplied(token, result, base);
    return result;
  }
  std::int64_t multiplied(const Token& token, std::int64_t a, std::int64_t b) const {
    if (a < 1 || b < 1 || a > kMostWhole / b)
      fail_at(token, "the product is too large", fmt::format("{} is the most", kMostWhole));
    return a * b;
  }
  std::int64_t size_value(const Token& token) const {
    const auto size = std::ranges::find(draft_.workload.sizes, token.text, &WorkloadSize::name);
    if (size == draft_.workload.sizes.end())
      fail_at(token, fmt::format("there is no size {}", shown_token(token)),
              did_you_mean(std::string(token.text), size_names(), "write \"size NAME = NUMBER\" before"));
    return size->value;
  }

  // Tensor NAME(element, [sides], layout) and Scalar NAME(element) or (element, layout)
  void declaration() {
    const bool scalar = take().text == "Scalar";
    Operation input{.kind = Kind::Input, .name = new_name("the tensor")};
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

  ElementType element() {
    const std::optional<ElementType> type = named_in(kElements, now().text);
    if (!type || now().kind != Token::Kind::Name) fail("an element type: fp64, fp32, fp16, bf16 or int32");
    take();
    return *type;
  }

  TensorShape shape() {
    constexpr std::size_t kMostSides = 8;
    TensorShape shape;
    expect("[", "and the sides");
    while (!is_at("]")) {
      if (!shape.empty()) expect(",", "or ']' after a side");
      if (shape.size() >= kMostSides) fail("']'", fmt::format("{} sides are the most", kMostSides));
      shape.push_back(product());
    }
    take();
    return shape;
  }

  void layout(TensorType& type) {
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
      type.layout = {.kind = LayoutKind::Rooted,
                     .root = static_cast<int>(whole("a rank", 0, kMostRanks - 1))};
      expect(")", "after the rank");
    } else {
      fail("a layout: Replicated, Local, Sliced(dimension), Sliced(flat) or Rooted(rank)");
    }
    if (takes("GROUP")) groups(type);
  }
  void groups(TensorType& type) {
    const int last = draft_.workload.groups - 1;
    type.scope = Scope::Group;
    type.last_group = last;
    if (now().kind != Token::Kind::Number) return;
    type.first_group = type.last_group = static_cast<int>(whole("a group", 0, last));
    if (takes("..")) type.last_group = static_cast<int>(whole("the last group", type.first_group, last));
  }
  TensorLayout sliced() {
    constexpr int kMostSides = 8;
    if (takes("flat")) return {.kind = LayoutKind::Sliced, .dim = kFlat};
    return {.kind = LayoutKind::Sliced,
            .dim = static_cast<int>(whole("flat, or a dimension", 0, kMostSides - 1))};
  }

  // ---- Statements ----

  void statement() {
    if (is_at("ranks") || is_at("groups"))
      fail("a statement", "ranks and groups stand right after the program's name");
    if (is_at("size")) return sizes();
    if (is_at("op")) return operator_definition();
    if (is_at("Tensor") || is_at("Scalar")) return declaration();
    if (is_at("kernel") || is_at("overlap")) return block();
    assignment();
  }

  void block() {
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

  // NAME = expression
  void assignment() {
    if (now().kind != Token::Kind::Name || is_reserved(now().text))
      fail(draft_.kernel.empty() && draft_.overlap.empty() ? "a statement: a declaration, or NAME = ..."
                                                           : "an operation, NAME = ..., or '}'");
    const Token token = now();
    name_ = private_name("the result");
    expect("=", fmt::format("after '{}'", name_));
    if (find(draft_.workload, name_) != nullptr)
      fail_at(token, fmt::format("'{}' is there already, from {}", name_, draft_.places[name_]),
              "give the result a name of its own");
    draft_.places[name_] = place(file_, token);
    draft_.statement = name_;
    const Value value = expression();
    if (value.made)
      rename_last();
    else
      add(pointwise(name_, value.term), token);
    draft_.statement.clear();
  }

  void rename_last() {
    Operation& last = draft_.workload.operations.back();
    draft_.places[name_] = draft_.places[last.name];
    last.name = name_;
  }

  void outputs() {
    std::vector<std::string>& outputs = draft_.workload.outputs;
    do {
      if (now().kind != Token::Kind::Name) fail("a name of what is returned");
      if (outputs.size() >= kMostOperations) fail("an end of what is returned");
      outputs.push_back(operand(take()));
    } while (takes(","));
  }

  // op NAME(parameters) = expression
  void operator_definition() {
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
  const Operator* find_operator(std::string_view name) const {
    const auto it = std::ranges::find(operators_, name, &Operator::name);
    return it == operators_.end() ? nullptr : &*it;
  }

  // ---- Expressions ----

  // sum [("<" | "<=" | "==" | ">" | ">=") sum]
  Value expression() {
    if (++depth_ > kDeepestNesting)
      fail("less nesting", fmt::format("the deepest is {}: make several statements of it", kDeepestNesting));
    Value left = sum();
    const Token token = now();
    for (const std::string_view comparison : kComparisons)
      if (takes(comparison)) {
        const Value right = sum();
        const bool swapped = comparison[0] == '>';
        const Op op = comparison == "==" ? Op::Equal : comparison.size() == 2 ? Op::LessEqual : Op::Less;
        left =
            swapped ? apply(token, op, {right.term, left.term}) : apply(token, op, {left.term, right.term});
        if (std::ranges::any_of(kComparisons, [&](std::string_view each) { return is_at(each); }))
          fail("no second comparison", "put one of them in parentheses");
        break;
      }
    --depth_;
    return left;
  }
  // product {("+" | "-") product}
  Value sum() {
    Value left = multiplication();
    while (is_at("+") || is_at("-")) {
      const Token token = take();
      const Value right = multiplication();
      left = apply(token, token.text == "+" ? Op::Add : Op::Subtract, {left.term, right.term});
    }
    return left;
  }
  // unary {("*" | "/") unary}
  Value multiplication() {
    Value left = unary();
    while (is_at("*") || is_at("/")) {
      const Token token = take();
      const Value right = unary();
      left = apply(token, token.text == "*" ? Op::Multiply : Op::Divide, {left.term, right.term});
    }
    return left;
  }
  // {"-"} value
  Value unary() {
    std::vector<Token> signs;
    while (is_at("-")) {
      if (signs.size() >= kMostExpressionNodes) fail("a value", "that is too long");
      signs.push_back(take());
    }
    Value result = value();
    for (; !signs.empty(); signs.pop_back()) result = apply(signs.back(), Op::Negate, {result.term});
    return result;
  }

  Value value() {
    const Token token = now();
    if (takes("(")) {
      Value result = expression();
      expect(")", "or an operator");
      return result;
    }
    if (token.kind == Token::Kind::Number) return {number_term(take().value)};
    if (token.kind != Token::Kind::Name) fail("a value: a number, a name, a call or '('");
    if (!is(ahead(1), "(")) return {name()};
    take();
    take();
    Value result = call(token);
    expect(")", fmt::format("or ',' in the call of {}", shown_token(token)));
    return result;
  }

  Value apply(const Token& token, Op op, const std::vector<Term>& values) const {
    std::size_t nodes = 1;
    for (const Term& each : values) nodes += each.expression.size();
    require_room(token, nodes);
    return {applied(op, values)};
  }
  void require_room(const Token& token, std::size_t nodes) const {
    if (nodes > kMostExpressionNodes)
      fail_at(token, "the expression is too long",
              fmt::format("{} operators and values are the most: make several statements of it",
                          kMostExpressionNodes));
  }

  Term name() {
    const Token token = take();
    const std::optional<Kind> constant = named_in(kConstants, token.text);
    if (constant) return in_operator_ ? operand_term(std::string(token.text)) : draft_.constant(*constant);
    if (!in_operator_) return operand_term(operand(token));
    const auto parameter = std::ranges::find(parameters_, token.text);
    if (parameter == parameters_.end())
      fail_at(token, fmt::format("{} is no parameter of the operator", shown_token(token)),
              "operators see their parameters only: give it one more");
    return operand_term(fmt::format("%{}", parameter - parameters_.begin()));
  }

  // The name of an operation that is there.
  std::string operand(const Token& token) const {
    const std::string name(token.text);
    if (find(draft_.workload, name) != nullptr) return name;
    std::vector<std::string> known;
    for (const Operation& each : draft_.workload.operations) known.push_back(each.name);
    if (is_reserved(name))
      fail_at(token, fmt::format("found {}, expected a value", shown_token(token)),
              "it is a word of the language");
    if (std::ranges::find(draft_.workload.sizes, name, &WorkloadSize::name) != draft_.workload.sizes.end())
      fail_at(token, fmt::format("'{}' is a size", name),
              "sizes are for shapes; declare a Scalar for computing");
    fail_at(token, fmt::format("there is no {}", shown_token(token)),
            did_you_mean(name, known, "declare it as a Tensor or Scalar, or compute it before"));
  }

  // After "NAME("; up to the ")".
  Value call(const Token& token) {
    if (const std::optional<Op> function = named_in(kFunctions, token.text))
      return apply(token, *function, arguments(token, arity(*function)));
    if (token.text == "ReLU") return apply_room(token, relu_term(arguments(token, 1)[0]));
    if (token.text == "Cast") return cast(token);
    if (token.text == "Dropout") return dropout(token);
    if (token.text == "Random")
      return {random_term(static_cast<double>(whole("the number of a stream", 0, 4294967295)))};
    if (const Operator* const user = find_operator(token.text)) return apply_operator(token, *user);
    const std::optional<Kind> kind = named_in(kCalls, token.text);
    if (in_operator_ && (kind || token.text == "Norm" || token.text == "Update"))
      fail_at(token, fmt::format("{} is not pointwise", shown_token(token)),
              "operators of one's own have arithmetic and functions of elements only");
    if (token.text == "Norm") {
      const Term argument = expression_argument();
      return {draft_.norm(argument, name_, place(file_, token))};
    }
    if (token.text == "Update") return update(token);
    if (kind) return operation_call(token, *kind);
    fail_at(token, fmt::format("there is no operation {}", shown_token(token)),
            did_you_mean(std::string(token.text), call_names(), "docs/workloads.md lists them"));
  }
  std::vector<std::string> call_names() const {
    std::vector<std::string> names = {"ReLU", "Cast", "Dropout", "Random", "Norm", "Update"};
    for (const auto& row : kFunctions) names.emplace_back(row.name);
    for (const auto& row : kCalls) names.emplace_back(row.name);
    for (const Operator& each : operators_) names.push_back(each.name);
    return names;
  }

  std::vector<Term> arguments(const Token& token, int count) {
    std::vector<Term> result;
    while (!is_at(")") || !result.empty()) {
      result.push_back(expression().term);
      if (static_cast<int>(result.size()) > count || !takes(",")) break;
    }
    if (static_cast<int>(result.size()) != count || !is_at(")"))
      fail_at(token, fmt::format("{} takes {}", shown_token(token), counted(count, "value")),
              fmt::format("give it {}, with ',' between them", count));
    return result;
  }

  Value apply_room(const Token& token, Term term) const {
    require_room(token, term.expression.size());
    return {std::move(term)};
  }

  Value cast(const Token& token) {
    const ElementType type = element();
    expect(",", "and what is cast");
    return apply_room(token, converted(type, expression().term));
  }

  Value dropout(const Token& token) {
    const Term term = expression().term;
    expect(",", "and the probability");
    if (now().kind != Token::Kind::Number || now().value >= 1)
      fail("the probability, a number from 0 to less than 1");
    const double probability = take().value;
    const double stream = in_operator_ ? -++streams_ : next_stream_++;
    return apply_room(token, dropout_term(term, probability, stream));
  }

  Value apply_operator(const Token& token, const Operator& user) {
    const std::vector<Term> values = arguments(token, user.parameters);
    std::size_t nodes = 0;
    Term term = user.term;
    for (ExpressionNode& node : term.expression) {
      if (node.op == Op::Operand && term.operands[node.operand][0] == '%')
        nodes += values[std::stoi(term.operands[node.operand].substr(1))].expression.size();
      else
        ++nodes;
      if (node.op == Op::Random && node.constant < 0)
        node.constant = in_operator_ ? node.constant - streams_ : next_stream_ - node.constant - 1;
    }
    require_room(token, nodes);
    if (in_operator_)
      streams_ += user.streams;
    else
      next_stream_ += user.streams;
    for (const std::string& name : term.operands)
      if (const std::optional<Kind> constant = named_in(kConstants, name); constant && !in_operator_)
        draft_.constant(*constant);
    std::vector<std::string> names;
    for (int k = 0; k < user.parameters; ++k) names.push_back(fmt::format("%{}", k));
    return {substituted(term, names, values)};
  }

  // ---- Operations ----

  Term expression_argument() { return expression().term; }

  void add(Operation operation, const Token& token) { draft_.add(std::move(operation), place(file_, token)); }

  std::string tensor_argument(const Token& token) {
    const Term term = expression().term;
    return draft_.named(term, name_, place(file_, token));
  }

  Value update(const Token& token) {
    if (now().kind != Token::Kind::Name) fail("the name of a tensor that is updated");
    const std::string input = operand(take());
    expect(",", "and its new value");
    const Value value = expression();
    Operation* const last = draft_.workload.operations.empty() ? nullptr : &draft_.workload.operations.back();
    if (value.made && last->updates.empty()) {
      last->updates = input;
      draft_.places[last->name] = place(file_, token);
      return value;
    }
    Operation operation = pointwise(draft_.fresh(name_), value.term);
    operation.updates = input;
    return made(std::move(operation), token);
  }

  Value made(Operation operation, const Token& token) {
    const std::string name = operation.name;
    add(std::move(operation), token);
    return {operand_term(name), true};
  }

  Value operation_call(const Token& token, Kind kind) {
    Operation operation{.kind = kind};
    if (kind == Kind::ReduceTensor || kind == Kind::AllReduce || kind == Kind::ReduceScatter ||
        kind == Kind::Reduce) {
      operation.reduction = reduction();
      expect(",", "and what is reduced");
    }
    operation.operands.push_back(tensor_argument(token));
    if (kind == Kind::MatMul || kind == Kind::Convolution) {
      expect(",", "and the second tensor");
      operation.operands.push_back(tensor_argument(token));
    }
    if (kind == Kind::Convolution) windows(operation);
    if (kind == Kind::Slice || kind == Kind::ReduceScatter) {
      operation.layout = {.kind = LayoutKind::Sliced, .dim = kFlat};
      if (takes(",")) operation.layout = sliced();
    }
    if (kind == Kind::Reduce) {
      expect(",", "and the root");
      operation.layout = {.kind = LayoutKind::Rooted,
                          .root = static_cast<int>(whole("the root", 0, kMostRanks - 1))};
    }
    if (kind == Kind::Send) {
      expect(",", "and GROUP + 1 or GROUP - 1");
      operation.shift = shift();
    }
    operation.name = draft_.fresh(name_);
    return made(std::move(operation), token);
  }

  ReduceOp reduction() {
    const std::optional<ReduceOp> op = named_in(kReductions, now().text);
    if (!op || now().kind != Token::Kind::String) fail("\"+\", \"min\" or \"max\"");
    take();
    return *op;
  }
  // {"," ("stride" | "padding") "=" number}
  void windows(Operation& operation) {
    constexpr std::int64_t kMostWindow = 1 << 20;
    while (takes(",")) {
      const bool stride = is_at("stride");
      if (!stride && !is_at("padding")) fail("stride or padding");
      take();
      expect("=", "and a number");
      (stride ? operation.stride : operation.padding) =
          static_cast<int>(whole(stride ? "the stride" : "the padding", stride ? 1 : 0, kMostWindow));
    }
  }
  int shift() {
    const bool fits = is_at("GROUP") && (is(ahead(1), "+") || is(ahead(1), "-")) && ahead(2).whole == 1;
    if (!fits)
      fail("GROUP + 1 or GROUP - 1",
           "tensors are sent to the same rank of the next group, or the one before");
    const bool further = is(ahead(1), "+");
    at_ += 3;
    return further ? 1 : -1;
  }

  static constexpr std::int64_t kMostWhole = std::int64_t{1} << 62;

  const std::string& file_;
  const WorkloadSettings& settings_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Draft draft_ = {};
  std::string name_ = {};  // of the statement
  std::vector<Operator> operators_ = {};
  std::vector<std::string> parameters_ = {};  // of the operator that is defined
  bool in_operator_ = false;
  int streams_ = 0;               // of the operator that is defined
  std::int64_t next_stream_ = 0;  // of random numbers
};

}  // namespace

Workload parse_workload(std::string_view text, const std::string& file, const WorkloadSettings& settings) {
  return WorkloadParser(text, file, settings).parse();
}

}  // namespace chorale
