// Prints the schemas of fields and options by their rows, for described.py: of a noun, by key in files,
// [schema, whether files have it always]; null where its form is more than its row says. Then the collectives
// by their names, all, and those that can be asked for. As JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "ir/enum_names.h"
#include "ir/fields.h"
#include "ir/noun_fields.h"
#include "ir/search_options.h"

namespace chorale {
namespace {

std::string number(double value) {
  const bool is_short = value == 0 || (value >= 1 && value < 9e18);
  return is_short ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

std::string range(const char* type, double least, double most) {
  return fmt::format(R"({{"type":"{}","minimum":{}{}}})", type, number(least),
                     most >= static_cast<double>(LLONG_MAX) ? "" : ",\"maximum\":" + number(most));
}

std::string or_null(const std::string& schema) {
  return schema == "null" ? schema : R"({"anyOf":[)" + schema + R"(,{"type":"null"}]})";
}

template <typename Value>
std::string schema_of(const FieldWords& words) {
  if constexpr (std::is_same_v<Value, bool>) return R"({"type":"boolean"})";
  if constexpr (std::is_integral_v<Value>) {
    const std::string whole = range("integer", words.least, words.most);
    return words.or_any ? or_null(whole) : whole;
  }
  if constexpr (std::is_same_v<Value, double>) return range("number", words.least, words.most);
  if constexpr (std::is_same_v<Value, std::string>)
    return words.longest == FieldWords().longest ? R"({"type":"string"})" : "null";
  if constexpr (requires { Names<Value>::all(); }) {
    std::vector<std::string> names;
    for (const auto& row : Names<Value>::all()) names.push_back(fmt::format("\"{}\"", row.name));
    return fmt::format(R"({{"enum":[{}]}})", fmt::join(names, ","));
  }
  if constexpr (std::is_same_v<Value, Rate>) return R"({"$ref":"#/$defs/rate"})";
  if constexpr (requires(Value value) { value.has_value(); })
    return or_null(schema_of<typename Value::value_type>(words));
  return "null";
}

template <typename Type>
std::string noun(const char* name) {
  std::vector<std::string> rows;
  fields<Type>([&](const auto& field) {
    using Member = decltype(field.of(std::declval<Type&>()));
    std::string schema = "null";
    if constexpr (requires { field.is_by_name; })
      schema = schema_of<std::string>(field.words);
    else if constexpr (requires { field.is_whole; })
      schema = range("integer", field.words.least, field.words.most);
    else if constexpr (std::is_lvalue_reference_v<Member>)
      schema = schema_of<std::remove_cvref_t<Member>>(field.words);
    rows.push_back(fmt::format(R"("{}":[{},{}])", key_of(field.words), schema, !field.words.may_lack));
  });
  return fmt::format("\"{}\":{{{}}}", name, fmt::join(rows, ","));
}

std::string names_of_collectives() {
  std::vector<std::string> all;
  for (int kind = 0; kind < static_cast<int>(CollectiveKind::Custom); ++kind)
    all.push_back(name_of(static_cast<CollectiveKind>(kind)));
  return fmt::format(R"("collectives":["{}"],"offered":["{}"])", fmt::join(all, R"(",")"),
                     fmt::join(collective_names(), R"(",")"));
}

// Keys of a library's specification.
std::string keys() {
  std::vector<std::string> rows;
  for (const OptionRow<FrontierOptions>& row : question_rows()) {
    const OptionWords& words = row.words;
    const std::string schema =
        words.kind == OptionKind::Switch     ? R"({"type":"boolean"})"
        : words.kind == OptionKind::Duration ? range("number", 0, static_cast<double>(words.most) / 1000)
        : words.kind == OptionKind::Integer
            ? range("integer", static_cast<double>(words.least), static_cast<double>(words.most))
            : "null";
    rows.push_back(fmt::format(R"("{}":[{},false])", key_of(words), schema));
  }
  return fmt::format("\"Specification\":{{{}}}", fmt::join(rows, ","));
}

}  // namespace
}  // namespace chorale

int main() {
  using namespace chorale;
  const auto print = [](const auto& first, const auto&... rest) {
    std::cout << "{" << first;
    ((std::cout << ",\n" << rest), ...);
    std::cout << "}\n";
  };
  print(noun<Link>("Link"), noun<SharedLimit>("SharedLimit"), noun<NodeLabel>("NodeLabel"),
        noun<Topology>("Topology"), noun<Result>("Result"), noun<Space>("Space"),
        noun<SearchLimits>("SearchLimits"), noun<Opening>("Opening"), noun<Claim>("Claim"),
        noun<TimeClaim>("TimeClaim"), noun<Point>("Point"), noun<Level>("Level"),
        noun<SharedPath>("SharedPath"), noun<HostPath>("HostPath"), noun<Axis>("Axis"),
        noun<Reduction>("Reduction"), noun<Job>("Job"), noun<Conditions::Memory>("Memory"),
        noun<ListedInstruction>("Instruction"), noun<PricedInstruction>("Exchange"),
        noun<RankedStrategy>("RankedStrategy"), noun<ReductionRanking>("ReductionRanking"),
        noun<RankedMatrix>("RankedMatrix"), noun<RankedSizes>("RankedSizes"),
        noun<SolverReport>("SolverReport"), noun<Ranking>("Ranking"), noun<Block>("Block"),
        noun<BlockRank>("BlockRank"), noun<ChunkSpec>("ChunkSpec"), noun<FaultPlace>("FaultPlace"),
        noun<Fault>("Fault"), noun<CheckedRefutations>("CheckedRefutations"),
        noun<CheckReport>("CheckReport"), noun<RankingReport>("RankingReport"), keys(),
        names_of_collectives());
}
