// The words of workloads and expressions in texts (docs/workloads.md), each with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

struct Token {
  enum class Kind { Name, Number, String, Symbol, End };
  Kind kind = Kind::End;
  std::string_view text = {};  // of the source; of String: without the quotes
  double value = 0;            // of Number
  std::int64_t whole = -1;     // of Number: as an integer; -1: it is not one, or has more than 62 bits
  int line = 1, column = 1;    // from 1, in bytes
};

std::string place(const std::string& file, const Token&);  // "file:line:column"
std::string shown_token(const Token&);                     // "'kernel'", "the end of the text"

// The last one is End. They point into the text. Throws InputError: "file:line:column: ...".
std::vector<Token> tokens(std::string_view text, const std::string& file);

}  // namespace chorale
