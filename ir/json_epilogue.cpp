// The expression is a text, so that people can write it; it is parsed after the operands, whose names it
// uses.
#include "ir/json_epilogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/json_writer.h"

namespace chorale {

std::vector<std::string> write_epilogue_members(const Epilogue& epilogue, const std::string& indent) {
  std::vector<std::string> operands;
  for (const EpilogueOperand& operand : epilogue.operands)
    operands.push_back(fmt::format(R"({{"name": {}, "type": "{}", "layout": "{}", "period": {}}})",
                                   quoted(operand.name), to_string(operand.type),
                                   operand.layout == OperandLayout::Sliced ? "sliced" : "replicated",
                                   operand.period));
  return {fmt::format("\"epilogue\": {}", quoted(to_string(epilogue.expression, epilogue.operands))),
          fmt::format("\"operands\": {}", lines(operands, indent))};
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
  constexpr int kMostPeriod = 1 << 30;
  Epilogue epilogue;
  const std::size_t operands = json.has("operands") ? json["operands"].size(kMostOperands) : 0;
  for (std::size_t k = 0; k < operands; ++k) {
    const JsonReader each = json["operands"].at(k);
    each.require_object({"name", "type", "layout", "period"});
    EpilogueOperand operand{.name = each["name"].text()};
    if (each.has("type")) operand.type = element_type(each["type"].text());
    if (each.has("layout")) {
      const std::string layout = each["layout"].text();
      if (layout != "replicated" && layout != "sliced")
        each["layout"].fail("is not a layout", "use replicated or sliced");
      if (layout == "sliced") operand.layout = OperandLayout::Sliced;
    }
    if (each.has("period")) operand.period = each["period"].integer(0, kMostPeriod);
    epilogue.operands.push_back(std::move(operand));
    if (const std::string what = flaw(epilogue); !what.empty())
      each.fail("is not an operand: the epilogue " + what, "see docs/formats.md");
  }
  epilogue.expression = parse_expression(json["epilogue"].text(kMostExpressionText), epilogue.operands, file);
  return epilogue;
}

}  // namespace chorale
