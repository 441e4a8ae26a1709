// UTF-8 is decoded strictly (RFC 3629), so that no byte sequence that a terminal might decode in another
// manner passes. What is not UTF-8 is printed byte by byte.
#include "ir/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace chorale {
namespace {

struct Range {
  std::uint32_t first = 0, last = 0;
};

// By Unicode's names: control, soft hyphen, Arabic letter mark, vowel separator, zero-width and directional
// marks, separators, embeddings and overrides, invisible operators and isolates, byte order mark,
// annotations, tags.
constexpr Range kSteering[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                               {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                               {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with one
};

// The first character: the shortest form only, no surrogates, nothing above the last one (RFC 3629).
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = byte(0) & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

std::string escape(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  // As two surrogates, which is how JSON has it: 0xd7c0 is 0xd800 less the 0x10000 that they do not count.
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

// Backslashes are not escaped, so what is shown is shown again as it is.
std::string escaped(std::string_view text, bool keeps_newlines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (controls_terminal(c.code) && !(keeps_newlines && c.code == '\n'))
      result += escape(c.code);
    else
      result += text.substr(0, c.bytes);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return result;
}

}  // namespace

bool controls_terminal(std::uint32_t code) {
  return std::any_of(std::begin(kSteering), std::end(kSteering),
                     [&](const Range& range) { return range.first <= code && code <= range.last; });
}

std::string shown(std::string_view text) {
  return escaped(text, false);
}

std::string shown_lines(std::string_view text) {
  return escaped(text, true);
}

}  // namespace chorale
