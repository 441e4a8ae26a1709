// Execution traces of Chakra. COMM_COLL_NODE of a device has comm_type, comm_size (bytes of a rank's input)
// and perhaps pg_name, a process group. PyTorch's groups are in a METADATA_NODE, as JSON in a list of Python.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "api/trace_readers.h"
#include "codegen/simulators/chakra_schema.h"
#include "codegen/simulators/protobuf.h"
#include "ir/error.h"
#include "ir/json_reader.h"

namespace chorale {
namespace {

constexpr int kMostRanks = 1 << 24;
constexpr const char* kGroupsOf = "process_group:init";  // in the name of the node that lists them

struct ChakraValue {
  std::int64_t number = 0;
  std::string_view text = {};
};
using ChakraValues = std::map<std::string_view, ChakraValue>;

// A field of a message that a file has at this place; throws InputError if the message is damaged.
std::vector<ProtoField> fields_at(std::string_view message, const std::string& place) {
  if (auto fields = proto_fields(message)) return std::move(*fields);
  throw InputError(place, "is not a message of a Chakra execution trace", "the file is damaged");
}

// Numbers of type sint are zigzag-encoded (protobuf: 0, -1, 1, -2, ...); all others are as they are.
void add_attribute(std::string_view message, const std::string& place, ChakraValues& to) {
  std::string_view name;
  ChakraValue value;
  for (const ProtoField& field : fields_at(message, place)) {
    if (field.number == ChakraAttribute::Name)
      name = field.bytes;
    else if (field.number == ChakraAttribute::Text)
      value.text = field.bytes;
    else if (field.number == ChakraAttribute::Sint32 || field.number == ChakraAttribute::Sint64)
      value.number = static_cast<std::int64_t>(field.value >> 1 ^ (0 - (field.value & 1)));
    else
      value.number = static_cast<std::int64_t>(field.value);
  }
  to[name] = value;
}

std::int64_t number_of(const ChakraValues& values, std::string_view name, std::int64_t otherwise = 0) {
  const auto at = values.find(name);
  return at == values.end() ? otherwise : at->second.number;
}

std::string text_of(const ChakraValues& values, std::string_view name) {
  const auto at = values.find(name);
  return at == values.end() ? "" : std::string(at->second.text);
}

struct TracedNode {
  std::string_view name = {}, inputs = {};
  std::uint64_t kind = 0;
  double start_us = 0, us = 0;
  ChakraValues values = {};
};

// Names and inputs are views into the text of the trace: a trace has millions of nodes.
TracedNode node_of(std::string_view message, const std::string& place) {
  TracedNode node;
  for (const ProtoField& field : fields_at(message, place)) {
    if (field.number == ChakraNode::Name) node.name = field.bytes;
    if (field.number == ChakraNode::Type) node.kind = field.value;
    if (field.number == ChakraNode::Start) node.start_us = static_cast<double>(field.value);
    if (field.number == ChakraNode::Duration) node.us = static_cast<double>(field.value);
    if (field.number == ChakraNode::Attribute) add_attribute(field.bytes, place, node.values);
    if (field.number == ChakraNode::Inputs)
      for (const ProtoField& part : fields_at(field.bytes, place))
        if (part.number == 1) node.inputs = part.bytes;
  }
  return node;
}

using ProcessGroups = std::map<std::string, std::vector<int>>;

// ['[{"pg_name": "0", "ranks": [0, 1]}, ...]']; without ranks a group has all.
void add_groups(const TracedNode& node, const std::string& place, ProcessGroups& to) {
  const std::size_t from = node.inputs.find("[{"), end = node.inputs.rfind("}]");
  if (from == std::string_view::npos || end == std::string_view::npos || end < from) return;
  const JsonReader groups = parse_json(node.inputs.substr(from, end + 2 - from), place);
  for (std::size_t i = 0; i < groups.size(kMostRanks); ++i) {
    const JsonReader group = groups.at(i);
    std::vector<int> ranks;
    for (std::size_t k = 0; group.has("ranks") && k < group["ranks"].size(kMostRanks); ++k)
      ranks.push_back(group["ranks"].at(k).integer(0, kMostRanks));
    if (ranks.empty() && group.has("pg_size"))
      for (int n = 0; n < group["pg_size"].integer(0, kMostRanks); ++n) ranks.push_back(n);
    to[group["pg_name"].text()] = std::move(ranks);
  }
}

// A group that is not listed has all ranks: as many as there are traces, if there are several. A single trace
// does not contain the number: it is then 0, not known.
TracedCall call_of(const TracedNode& node, const ProcessGroups& groups, int traces, const std::string& file) {
  const std::int64_t type = number_of(node.values, "comm_type");
  const bool is_known = type >= 0 && type < std::ssize(kChakraCollectives);
  TracedCall call{
      .operation = is_known ? std::string(kChakraCollectives[type]) : fmt::format("type {}", type),
      .group = text_of(node.values, "pg_name"),
      .us = node.us};
  const auto group = groups.find(call.group);
  if (group != groups.end()) call.members = group->second;
  // PyTorch calls its default group "0".
  const bool has_all = call.members.empty() && (call.group.empty() || call.group == "0");
  call.ranks = has_all ? (traces > 1 ? traces : 0) : static_cast<int>(call.members.size());
  if (has_all) call.group = call.ranks > 0 ? fmt::format("{} ranks", call.ranks) : "all";
  const std::int64_t bytes = std::clamp<std::int64_t>(number_of(node.values, "comm_size"), 0, 1LL << 50);
  const auto kind = kind_spelled(call.operation);
  // comm_size is of a rank's input; the message of these is all inputs together.
  const bool grows = kind && (*kind == CollectiveKind::Allgather || *kind == CollectiveKind::Gather);
  call.message_bytes = grows ? whole_bytes(static_cast<double>(bytes) * call.ranks, file) : bytes;
  return call;
}

// A trace of 'emit --target chakra': its messages are those of one collective.
std::optional<TracedCall> call_of_schedule(const ChakraValues& metadata) {
  const std::string collective = text_of(metadata, kChakraCollective);
  const std::int64_t bytes = number_of(metadata, kChakraMessageBytes);
  if (collective.empty() || bytes <= 0) return {};
  const auto ranks = std::clamp<std::int64_t>(number_of(metadata, kChakraRanks), 0, kMostRanks);
  return TracedCall{.operation = collective,
                    .group = fmt::format("{} ranks", ranks),
                    .ranks = static_cast<int>(ranks),
                    .message_bytes = bytes};
}

}  // namespace

// The first record is the metadata: a message with a version and attributes, and nothing else.
bool is_chakra(std::string_view text) {
  const auto first = take_sized(text);
  const auto fields = first ? proto_fields(*first) : std::nullopt;
  return fields && (!fields->empty() || !text.empty()) &&
         std::ranges::all_of(*fields, [](const ProtoField& field) {
           return field.number == ChakraMetadata::Version || field.number == ChakraMetadata::Attribute;
         });
}

// Two passes: a node that lists process groups may come after those that use them. What starts at 0 has no
// time.
void read_chakra(const TraceText& trace, int traces, TraceTally& tally) {
  std::string_view text = trace.text;
  ChakraValues metadata;
  for (const ProtoField& field : fields_at(*take_sized(text), trace.file + ": metadata"))
    if (field.number == ChakraMetadata::Attribute)
      add_attribute(field.bytes, trace.file + ": metadata", metadata);
  const std::optional<TracedCall> own = call_of_schedule(metadata);
  if (own) tally.add(trace.file, *own);
  ProcessGroups groups;
  std::vector<TracedNode> collectives;
  double from = 0, to = 0;
  for (std::int64_t number = 0; !text.empty(); ++number) {
    const std::string place = fmt::format("{}: node {}", trace.file, number);
    const auto message = take_sized(text);
    if (!message) throw InputError(place, "ends within a Chakra execution trace", "the file is cut short");
    TracedNode node = node_of(*message, place);
    if (node.start_us > 0) {
      from = from == 0 ? node.start_us : std::min(from, node.start_us);
      to = std::max(to, node.start_us + node.us);
    }
    if (node.name.find(kGroupsOf) != std::string_view::npos) add_groups(node, place, groups);
    // A host's node only launches the device's, which has the type and the time.
    if (node.kind == ChakraNode::Collective && node.values.contains("comm_type"))
      collectives.push_back(std::move(node));
    else if (!own && (node.kind == ChakraNode::Send || node.kind == ChakraNode::Receive))
      tally.add(trace.file, {.operation = node.kind == ChakraNode::Send ? "send" : "receive"});
  }
  for (const TracedNode& node : collectives) tally.add(trace.file, call_of(node, groups, traces, trace.file));
  tally.duration_us = std::max(tally.duration_us, to - from);
}

}  // namespace chorale
