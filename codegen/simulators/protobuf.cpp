// The wire format: a key is field number * 8 + type; varints have 7 bits a byte, the lowest first, the
// highest bit set on all but the last.
#include "codegen/simulators/protobuf.h"

namespace chorale {
namespace {

enum WireType { kVarint = 0, kSized = 2 };

}  // namespace

// Writers chain: message.number(1, 5).bytes(2, "x").
ProtoMessage& ProtoMessage::number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | kVarint).varint(value);
}

ProtoMessage& ProtoMessage::bytes(int field, std::string_view value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | kSized).sized(value);
}

ProtoMessage& ProtoMessage::sized(std::string_view value) {
  varint(value.size());
  text_ += value;
  return *this;
}

ProtoMessage& ProtoMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
  return *this;
}

}  // namespace chorale
