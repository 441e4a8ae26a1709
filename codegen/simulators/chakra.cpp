// Chakra has protobuf messages, of which only a handful of fields matter here: they are written by
// protobuf.h, so that no generated code is needed. A node's dependencies come before it in the file.
#include "codegen/simulators/chakra.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "codegen/simulators/chakra_schema.h"
#include "codegen/simulators/messages.h"
#include "codegen/simulators/protobuf.h"
#include "ir/collective_kind.h"

namespace chorale {
namespace {

// Attributes are pairs of a name and one field, whose number says the type.
std::string attribute(std::string_view name, ChakraAttribute::Field field, std::int64_t value) {
  return ProtoMessage()
      .bytes(ChakraAttribute::Name, name)
      .number(field, static_cast<std::uint64_t>(value))
      .text();
}

std::string attribute(std::string_view name, std::string_view value) {
  return ProtoMessage().bytes(ChakraAttribute::Name, name).bytes(ChakraAttribute::Text, value).text();
}

// The collective is named, so that a list of a job's calls (python/chorale/traces.py) has it.
std::string metadata(const Collective& collective, std::int64_t block_bytes) {
  ProtoMessage message;
  message.bytes(ChakraMetadata::Version, "0.0.4");
  const CollectiveKind kind = row_of(collective.kind).result;
  if (!is_offered(kind)) return message.text();
  for (const std::string& each : {attribute(kChakraCollective, name_of(kind)),
                                  attribute(kChakraRanks, ChakraAttribute::Int64, collective.ranks),
                                  attribute(kChakraMessageBytes, ChakraAttribute::Int64,
                                            block_bytes * blocks_of(kind, collective.ranks))})
    message.bytes(ChakraMetadata::Attribute, each);
  return message.text();
}

// Operations of a rank are numbered from 0.
// `before`: the nodes of the rank's last step, all of which a send waits for; receives are posted from the
// start. Tags are numbers of messages, the same at both ends.
class RankTrace {
 public:
  RankTrace(const Messages& messages, const Topology& topology, const std::string& metadata, Rank rank)
      : messages_(messages), topology_(topology) {
    text_.sized(metadata);
    std::vector<std::uint64_t> before, now;
    for (const RankStep& step : messages.by_rank[rank]) {
      now.clear();
      for (const int i : step.sends) now.push_back(node(i, ChakraNode::Send, before));
      for (const int i : step.receives) now.push_back(node(i, ChakraNode::Receive, {}));
      before.swap(now);
    }
  }

  const std::string& text() const { return text_.text(); }

 private:
  // Dependencies are one packed field; an empty one is left out, as protobuf does.
  std::uint64_t node(int i, ChakraNode::Kind type, const std::vector<std::uint64_t>& after) {
    const ScheduleMessage& message = messages_.all[i];
    const Link& link = topology_.links[message.link];
    ProtoMessage node, list;
    const std::string name = type == ChakraNode::Send
                                 ? fmt::format("step {}, send to {}", message.step, link.dst)
                                 : fmt::format("step {}, receive from {}", message.step, link.src);
    node.number(ChakraNode::Id, nodes_).bytes(ChakraNode::Name, name).number(ChakraNode::Type, type);
    for (const std::uint64_t each : after) list.varint(each);
    if (!after.empty()) node.bytes(ChakraNode::DataDependencies, list.text());
    for (const std::string& each : {attribute("is_cpu_op", ChakraAttribute::Bool, 0),
                                    attribute("comm_size", ChakraAttribute::Int64, message.bytes),
                                    attribute("comm_src", ChakraAttribute::Int32, link.src),
                                    attribute("comm_dst", ChakraAttribute::Int32, link.dst),
                                    attribute("comm_tag", ChakraAttribute::Int32, i)})
      node.bytes(ChakraNode::Attribute, each);
    text_.sized(node.text());
    return nodes_++;
  }

  const Messages& messages_;
  const Topology& topology_;
  ProtoMessage text_ = {};
  std::uint64_t nodes_ = 0;
};

// ASTRA-sim appends ".N.et" to the path that its configuration has.
constexpr const char* kReadme =
    "# Execution traces of Chakra\n\n"
    "rank.N.et is what rank N sends and receives, for blocks of {} bytes. In the system file of "
    "ASTRA-sim:\n\n"
    "```\n\"all-reduce-implementation-custom\": [\"PATH/rank\"]\n```\n\n"
    "or likewise of another collective. ASTRA-sim has links of its own; its GB is 2^30 bytes, where "
    "Chorale's is 1e9.\n";

}  // namespace

// Metadata is the same in every file.
std::vector<NamedText> to_chakra(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  const Messages messages = messages_of(schedule, block_bytes);
  const std::string first = metadata(schedule.collective(), block_bytes);
  std::vector<NamedText> files;
  for (Rank n = 0; n < schedule.topology().ranks; ++n)
    files.push_back(
        {fmt::format("rank.{}.et", n), RankTrace(messages, schedule.topology(), first, n).text()});
  files.push_back({"README.md", fmt::format(kReadme, block_bytes)});
  return files;
}

}  // namespace chorale
