// Messages of protocol buffers (its "Encoding"): a field is its number with a type, then a varint, a fixed
// number, or a length and bytes. In a file of traces each message comes after its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace chorale
