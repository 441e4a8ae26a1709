#include "codegen/simulators/chakra.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "codegen/simulators/messages.h"

namespace chorale {
namespace {

// Protocol buffers (its "Encoding"): a field is its number with a type, then a varint, or a length and bytes.
class ProtoMessage {
 public:
  ProtoMessage& number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& bytes(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    return sized(value);
  }
  // A length and the bytes, without a field.
  ProtoMessage& sized(std::string_view value) {
    varint(value.size());
    text_ += value;
    return *this;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = {};
};

// Numbers of fields and of kinds in Chakra's schema (0.0.4).
enum NodeField { kId = 1, kName = 2, kType = 3, kDataDependencies = 5, kAttribute = 10 };
enum AttributeField { kAttributeName = 1, kInt32 = 7, kInt64 = 9, kBool = 27 };
enum NodeType { kSend = 5, kReceive = 6 };
constexpr int kVersion = 1;  // of GlobalMetadata

std::string attribute(const char* name, AttributeField field, std::int64_t value) {
  return ProtoMessage().bytes(kAttributeName, name).number(field, static_cast<std::uint64_t>(value)).text();
}

// Operations of a rank are numbered from 0.
class RankTrace {
 public:
  RankTrace(const Messages& messages, const Topology& topology, Rank rank)
      : messages_(messages), topology_(topology) {
    text_.sized(ProtoMessage().bytes(kVersion, "0.0.4").text());
    std::vector<std::uint64_t> before, now;
    for (const RankStep& step : messages.by_rank[rank]) {
      now.clear();
      for (const int i : step.sends) now.push_back(node(i, kSend, before));
      for (const int i : step.receives) now.push_back(node(i, kReceive, {}));
      before.swap(now);
    }
  }

  const std::string& text() const { return text_.text(); }

 private:
  std::uint64_t node(int i, NodeType type, const std::vector<std::uint64_t>& after) {
    const ScheduleMessage& message = messages_.all[i];
    const Link& link = topology_.links[message.link];
    ProtoMessage node, list;
    const std::string name = type == kSend ? fmt::format("step {}, send to {}", message.step, link.dst)
                                           : fmt::format("step {}, receive from {}", message.step, link.src);
    node.number(kId, nodes_).bytes(kName, name).number(kType, type);
    for (const std::uint64_t each : after) list.varint(each);
    if (!after.empty()) node.bytes(kDataDependencies, list.text());
    for (const std::string& each :
         {attribute("is_cpu_op", kBool, 0), attribute("comm_size", kInt64, message.bytes),
          attribute("comm_src", kInt32, link.src), attribute("comm_dst", kInt32, link.dst),
          attribute("comm_tag", kInt32, i)})
      node.bytes(kAttribute, each);
    text_.sized(node.text());
    return nodes_++;
  }

  const Messages& messages_;
  const Topology& topology_;
  ProtoMessage text_ = {};
  std::uint64_t nodes_ = 0;
};

constexpr const char* kReadme =
    "# Execution traces of Chakra\n\n"
    "rank.N.et is what rank N sends and receives, for blocks of {} bytes. In the system file of "
    "ASTRA-sim:\n\n"
    "```\n\"all-reduce-implementation-custom\": [\"PATH/rank\"]\n```\n\n"
    "or likewise of another collective. ASTRA-sim has links of its own; its GB is 2^30 bytes, where "
    "Chorale's "
    "is 1e9.\n";

}  // namespace

std::vector<NamedText> to_chakra(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  const Messages messages = messages_of(schedule, block_bytes);
  std::vector<NamedText> files;
  for (Rank n = 0; n < schedule.topology().ranks; ++n)
    files.push_back({fmt::format("rank.{}.et", n), RankTrace(messages, schedule.topology(), n).text()});
  files.push_back({"README.md", fmt::format(kReadme, block_bytes)});
  return files;
}

}  // namespace chorale
