// Block programs, and epilogues. An operation that MSCCL has a name for is written by it, with src and dst;
// others with their operands and results. A program that is too large is refused before anything is made of
// it.
#include <algorithm>

#include "ir/block_program.h"
#include "ir/epilogue.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/noun_fields.h"
#include "ir/sizes.h"
#include "ir/slot.h"

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

// Two members, "epilogue" and "operands", for an object that has others as well.
std::vector<std::string> write_epilogue_members(const Epilogue& epilogue, const std::string& indent) {
  return {fmt::format("\"epilogue\": {}", quoted(to_string(epilogue.expression, epilogue.operands))),
          fmt::format("\"operands\": {}", lines_of(epilogue.operands, indent, OperandFields()))};
}

// The expression is a text, so that people can write it; it is parsed after the operands, whose names it
// uses.
Epilogue read_epilogue_members(const JsonReader& json, const std::string& file) {
  constexpr std::size_t kMostExpressionText = 1 << 16;
  Epilogue epilogue;
  if (json.has("operands"))
    for (const JsonReader& each : json["operands"].elements(kMostOperands)) {
      epilogue.operands.push_back(read_fields<EpilogueOperand>(each, OperandFields()));
      // After each operand, so that the error names the first that is wrong.
      if (const std::string what = flaw(epilogue); !what.empty())
        each.fail("is not an operand: the epilogue " + what, "see docs/formats.md");
    }
  epilogue.expression = parse_expression(json["epilogue"].text(kMostExpressionText), epilogue.operands, file);
  return epilogue;
}

}  // namespace

std::string to_json(const Epilogue& epilogue) {
  return fmt::format("{{\n  {}\n}}\n", fmt::join(write_epilogue_members(epilogue, "  "), ",\n  "));
}

Epilogue epilogue_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"epilogue", "operands"});
  return read_epilogue_members(json, file);
}

namespace {

// The most of any number in a program's file; 2^24 of each could still be too many together (excess,
// ir/sizes.h).
constexpr int kMostInBlocks = 1 << 24;
constexpr std::size_t kMostInstructions = 1 << 24, kMostPlaces = 4096;
// ["i",3]: chunk 3 of the input; "o" is the output and "s" scratch.
std::string write_slot(const Slot& slot) {
  return fmt::format("[\"{}\",{}]", letter_of(slot.buffer), slot.index);
}

// Block programs name slots of their own rank alone, so the rank of a place is not written.
std::string write_places(const std::vector<DataPlace>& places) {
  std::vector<std::string> slots;
  for (const DataPlace& place : places) slots.push_back(write_slot(place.slot));
  return fmt::format("[{}]", fmt::join(slots, ","));
}

// {"op":"rrc","src":["i",0],"dst":["o",0],"after":[[0,2]]}: what a shape does not use is left out, and so are
// a count of 1, piece 0, and a list of dependencies that is empty. A dependency is [block, instruction].
std::string write_instruction(const BlockInstruction& i) {
  const std::string name = name_of(i);
  std::string text = fmt::format(R"({{"op":"{}")", name);
  if (const OperationShape* const shape = shape_of(i.does); shape != nullptr) {
    if (shape->reads && name != "epi") text += ",\"src\":" + write_slot(src_of(i.does));
    if (shape->stores) text += ",\"dst\":" + write_slot(dst_of(i.does));
  } else {
    text += fmt::format(",\"takes\":{},\"from\":{},\"to\":{},\"sends\":{}", i.does.takes,
                        write_places(i.does.from), write_places(i.does.to), i.does.sends);
  }
  if (i.barrier >= 0) text += fmt::format(",\"barrier\":{}", i.barrier);
  if (applies(i.does)) text += fmt::format(",\"position\":{}", i.does.position);
  if (i.does.count != 1) text += fmt::format(",\"count\":{}", i.does.count);
  if (i.does.piece != 0) text += fmt::format(",\"piece\":{}", i.does.piece);
  std::vector<std::string> after;
  for (const BlockReference& before : i.after)
    after.push_back(fmt::format("[{},{}]", before.block, before.instruction));
  if (!after.empty()) text += fmt::format(",\"after\":[{}]", fmt::join(after, ","));
  return text + "}";
}

Slot read_slot(const JsonReader& json) {
  if (json.size(2) != 2) json.fail("is not a slot", "use [\"i\", 0]; i, o or s");
  const std::optional<Buffer> buffer = buffer_of(json.at(0).text());
  if (!buffer) json.at(0).fail("is not a buffer", "use i, o or s");
  return {*buffer, json.at(1).integer(0, kMostInBlocks)};
}

BlockReference read_reference(const JsonReader& json) {
  if (json.size(2) != 2) json.fail("is not a dependency", "use [block, instruction]");
  return {json.at(0).integer(0, kMostInBlocks), json.at(1).integer(0, kMostInBlocks)};
}

std::vector<DataPlace> read_places(const JsonReader& json) {
  std::vector<DataPlace> places;
  for (const JsonReader& slot : json.elements(kMostPlaces)) places.push_back({read_slot(slot)});
  return places;
}

// "bar" is a barrier and moves nothing; "epi" applies the epilogue in place; "move" is the form of all
// operations that have no name.
DataOperation read_operation(const JsonReader& json, const std::string& name) {
  if (name == "bar") return {};
  if (name == "epi") return copying(read_slot(json["dst"]), read_slot(json["dst"]));
  if (name == "move")
    return {.takes = json["takes"].boolean(),
            .from = read_places(json["from"]),
            .to = read_places(json["to"]),
            .sends = json["sends"].boolean()};
  const OperationShape* const shape = shape_named(name);
  if (shape == nullptr) json["op"].fail("unknown operation '" + name + "'");
  return shaped(*shape, shape->reads ? read_slot(json["src"]) : Slot(),
                shape->stores ? read_slot(json["dst"]) : Slot());
}

BlockInstruction read_instruction(const JsonReader& json) {
  json.require_object(
      {"op", "src", "dst", "count", "piece", "after", "barrier", "position", "takes", "from", "to", "sends"});
  const std::string name = json["op"].text();
  BlockInstruction i{.does = read_operation(json, name)};
  if (name == "bar") i.barrier = json["barrier"].integer(0, kMostInBlocks);
  // A position means that the function is applied; "epi" does nothing else, so it must have one.
  if (name == "epi" || json.has("position")) i.does.position = json["position"].integer(0, kMostInBlocks);
  if (json.has("count")) i.does.count = json["count"].integer(1, kMostInBlocks);
  if (json.has("piece")) i.does.piece = json["piece"].integer(0, kMostInBlocks);
  if (json.has("after"))
    for (const JsonReader& before : json["after"].elements(kMostInstructions))
      i.after.push_back(read_reference(before));
  return i;
}

// Lists have an element a line. Members of ranks and blocks are those of ir/noun_fields.h; only
// instructions have a form of their own.
struct ProgramFields {
  static std::string_view between(const FieldWords&) { return ","; }
  static std::string_view colon() { return ":"; }

  static std::string write(const std::vector<BlockInstruction>& instructions, const FieldWords&) {
    std::vector<std::string> texts;
    for (const BlockInstruction& i : instructions) texts.push_back(write_instruction(i));
    return lines(texts, "      ");
  }
  static std::string write(const std::vector<Block>& blocks, const FieldWords&) {
    return lines_of(blocks, "    ", ProgramFields());
  }
  static void read(const JsonReader& json, const FieldWords&, BlockInstruction& i) {
    i = read_instruction(json);
  }
};

}  // namespace

// The epilogue's members lie beside the others, not in an object of their own, and are left out without one.
std::string to_json(const Collective& collective, const BlockProgram& program) {
  return fmt::format(
      "{{\n  \"chorale_program\": 1,\n  \"name\": {},\n  {},\n  \"in_place\": {},\n  \"queue_depth\": {},\n{}"
      "  \"ranks\": {}\n}}\n",
      quoted(program.name), write_collective_members(collective, "  "), program.in_place, program.queue_depth,
      program.epilogue.expression.empty()
          ? ""
          : fmt::format("  {},\n", fmt::join(write_epilogue_members(program.epilogue, "  "), ",\n  ")),
      lines_of(program.ranks, "  ", ProgramFields()));
}

BlockProgramFile block_program_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"chorale_program", "name", "collective", "chunks_per_block", "root", "combining",
                       "chunks", "in_place", "queue_depth", "ranks", "epilogue", "operands"});
  if (json["chorale_program"].integer(0, kMostInBlocks) != 1)
    json["chorale_program"].fail("is of another version", "use version 1");
  const JsonReader ranks = json["ranks"];
  if (ranks.size(kMostRanks) == 0) ranks.fail("is empty", "a program has at least one rank");
  BlockProgram program{.name = json["name"].text(),
                       .in_place = json["in_place"].boolean(),
                       .queue_depth = json["queue_depth"].integer(1, 1024)};
  if (json.has("epilogue")) program.epilogue = read_epilogue_members(json, file);
  for (const JsonReader& rank : ranks.elements(kMostRanks))
    program.ranks.push_back(read_fields<BlockRank>(rank, ProgramFields()));
  // The program is verified by others; here only its size is, before a verifier makes tables of it.
  if (const std::string words = excess(program); !words.empty()) json.fail(words, "use a smaller program");
  // Last, since a short text may name a large program. Of a named collective, each block lies whole in some
  // buffer.
  int largest = 1;
  for (const BlockRank& rank : program.ranks)
    largest = std::max({largest, rank.input_chunks, rank.output_chunks});
  if (!json.has("chunks") && json["chunks_per_block"].integer(1, kMostInBlocks) > largest)
    json["chunks_per_block"].fail(fmt::format("is more than the {} chunks of the largest buffer", largest),
                                  "check the file");
  Collective collective = read_collective_members(json, static_cast<int>(ranks.size(kMostRanks)));
  program.collective = collective.kind;
  program.chunks_per_block = collective.chunks_per_block;
  return {.collective = std::move(collective), .program = std::move(program)};
}

}  // namespace chorale
