// Messages of protocol buffers (its "Encoding"): a field is its number with a type, then a varint, a fixed
// number, or a length and bytes. In a file of traces each message comes after its length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

class ProtoMessage {
 public:
  ProtoMessage& number(int field, std::uint64_t value);
  ProtoMessage& bytes(int field, std::string_view value);
  ProtoMessage& sized(std::string_view value);  // a length and the bytes, without a field
  ProtoMessage& varint(std::uint64_t value);
  const std::string& text() const { return text_; }

 private:
  std::string text_ = {};
};

struct ProtoField {
  int number = 0;
  std::uint64_t value = 0;      // of a varint, or the bits of a fixed number
  std::string_view bytes = {};  // in the message
};

// Of a whole message; none if it is damaged.
std::optional<std::vector<ProtoField>> proto_fields(std::string_view message);
// The next message after its length, which is taken off the text; none if the text ends before.
std::optional<std::string_view> take_sized(std::string_view& text);

}  // namespace chorale
