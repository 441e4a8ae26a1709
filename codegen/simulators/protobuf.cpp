// The wire format: a key is field number * 8 + type; varints have 7 bits a byte, the lowest first, the
// highest bit set on all but the last. Reading takes bytes off the front of a view and returns nothing where
// they end too early, so a damaged file costs no memory; groups (types 3 and 4) are not read.
#include "codegen/simulators/protobuf.h"

namespace chorale {
namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kSized = 2, kFixed32 = 5 };

// At most ten bytes; bits beyond 64 are dropped, as protobuf does.
std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return {};
}

// A view into the text: nothing is copied.
std::optional<std::string_view> take_bytes(std::string_view& text, std::uint64_t size) {
  if (size > text.size()) return {};
  const std::string_view bytes = text.substr(0, size);
  text.remove_prefix(size);
  return bytes;
}

// Little-endian.
std::uint64_t fixed(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Field numbers have 29 bits, and 0 is none.
std::optional<ProtoField> take_field(std::string_view& text) {
  const auto key = take_varint(text);
  if (!key || *key >> 3 == 0 || *key >> 3 > 0x1fffffff) return {};
  ProtoField field{.number = static_cast<int>(*key >> 3)};
  const auto type = static_cast<WireType>(*key & 7);
  if (type == kVarint) {
    const auto value = take_varint(text);
    if (!value) return {};
    field.value = *value;
    return field;
  }
  if (type != kSized && type != kFixed64 && type != kFixed32) return {};
  const auto bytes = type == kSized ? take_sized(text) : take_bytes(text, type == kFixed64 ? 8 : 4);
  if (!bytes) return {};
  if (type == kSized)
    field.bytes = *bytes;
  else
    field.value = fixed(*bytes);
  return field;
}

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

// All or nothing: a message with a damaged end is damaged.
std::optional<std::vector<ProtoField>> proto_fields(std::string_view message) {
  std::vector<ProtoField> fields;
  while (!message.empty()) {
    const auto field = take_field(message);
    if (!field) return {};
    fields.push_back(*field);
  }
  return fields;
}

std::optional<std::string_view> take_sized(std::string_view& text) {
  const auto size = take_varint(text);
  return size ? take_bytes(text, *size) : std::nullopt;
}

}  // namespace chorale
