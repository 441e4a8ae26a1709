// The expression is a text, so that people can write it; it is parsed after the operands, whose names it
// uses.
#include "ir/json_epilogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/json_fields.h"

namespace chorale {

template <>
struct Names<OperandLayout> {
  static std::span<const Named<OperandLayout>> all() {
    static constexpr Named<OperandLayout> kLayouts[] = {{OperandLayout::Replicated, "replicated"},
                                                        {OperandLayout::Sliced, "sliced"}};
    return kLayouts;
  }
};
template <>
struct Fields<EpilogueOperand> {
  using O = EpilogueOperand;
  static constexpr std::tuple all = {field<&O::name>(), field<&O::type>({.may_lack = true}),
                                     field<&O::layout>({.may_lack = true}),
                                     field<&O::period>({.most = 1 << 30, .may_lack = true})};
};

namespace {

// {"name": "bias", "type": "float32", "layout": "replicated", "period": 64}. Types are read by the words of
// element_type().
struct OperandFields : SpacedFields {
  using SpacedFields::read, SpacedFields::write;
  std::string write(ElementType type, const FieldWords&) const { return quoted(to_string(type)); }
  void read(const JsonReader& json, const FieldWords&, ElementType& type) const {
    type = element_type(json.text());
  }
};

}  // namespace

// Two members, "epilogue" and "operands", for an object that has others as well.
std::vector<std::string> write_epilogue_members(const Epilogue& epilogue, const std::string& indent) {
  return {fmt::format("\"epilogue\": {}", quoted(to_string(epilogue.expression, epilogue.operands))),
          fmt::format("\"operands\": {}", lines_of(epilogue.operands, indent, OperandFields()))};
}

std::string to_json(const Epilogue& epilogue) {
  return fmt::format("{{\n  {}\n}}\n", fmt::join(write_epilogue_members(epilogue, "  "), ",\n  "));
}

Epilogue epilogue_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"epilogue", "operands"});
  return read_epilogue_members(json, file);
}

Epilogue read_epilogue_members(const JsonReader& json, const std::string& file) {
  constexpr std::size_t kMostExpressionText = 1 << 16;
  Epilogue epilogue;
  const std::size_t operands = json.has("operands") ? json["operands"].size(kMostOperands) : 0;
  for (std::size_t k = 0; k < operands; ++k) {
    const JsonReader each = json["operands"].at(k);
    epilogue.operands.push_back(read_fields<EpilogueOperand>(each, OperandFields()));
    // After each operand, so that the error names the first that is wrong.
    if (const std::string what = flaw(epilogue); !what.empty())
      each.fail("is not an operand: the epilogue " + what, "see docs/formats.md");
  }
  epilogue.expression = parse_expression(json["epilogue"].text(kMostExpressionText), epilogue.operands, file);
  return epilogue;
}

}  // namespace chorale
