// The lexer of workloads, scripts and expressions: names, numbers, strings and symbols, with the line and
// column at which each begins. Comments run from # to the end of the line. Tokens are views of the text;
// nothing is copied. Bytes above 127 are in no name and no symbol: they may be in strings and comments only.
#include "ir/tokens.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "ir/error.h"

namespace chorale {
namespace {

constexpr std::size_t kLongestText = 1 << 20;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Within a name, which cannot begin with a digit: next() sees numbers first.
bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    std::vector<Token> result;
    for (skip(); at_ < text_.size(); skip()) result.push_back(next());
    result.push_back(begun());
    return result;
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  // Where the next token begins; without text it is the end of the file.
  Token begun() const {
    Token token;
    token.line = line_;
    token.column = static_cast<int>(at_ - line_begin_) + 1;
    return token;
  }
  // The token from `begin` to where the lexer is.
  Token ended(Token token, Token::Kind kind, std::size_t begin) const {
    token.kind = kind;
    token.text = text_.substr(begin, at_ - begin);
    return token;
  }
  [[noreturn]] void fail(const Token& token, const std::string& problem, const std::string& remedy) const {
    throw InputError(place(file_, token), problem, remedy);
  }

  // Whitespace, line ends ("\r\n" too) and comments.
  void skip() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#') {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (c == '\n') {
        ++at_;
        ++line_;
        line_begin_ = at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  // The longest symbol first: "<=" is one token.
  Token next() {
    const Token token = begun();
    const std::size_t begin = at_;
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number(token);
    if (in_name(c)) {
      while (in_name(peek())) ++at_;
      return ended(token, Token::Kind::Name, begin);
    }
    if (c == '"') return string(token);
    for (const std::string_view two : {"<=", ">=", "==", ".."})
      if (text_.substr(at_, 2) == two) {
        at_ += 2;
        return ended(token, Token::Kind::Symbol, begin);
      }
    if (std::string_view("()[]{},=+-*/<>^").find(c) == std::string_view::npos)
      fail(token, fmt::format("found '{}', which begins no word", c), "comments begin with #");
    ++at_;
    return ended(token, Token::Kind::Symbol, begin);
  }

  // No escapes: strings are names of files and texts to print. The quotes are not part of the token.
  Token string(const Token& token) {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') ++at_;
    if (peek() != '"') fail(token, "found a string that does not end", "close it with \" on the same line");
    const Token result = ended(token, Token::Kind::String, begin);
    ++at_;
    return result;
  }

  // "12", "0.5", "1e-8", "4K" (K, M, G: 2^10, 2^20, 2^30). The dots of "0..2" are not part of a number.
  Token number(Token token) {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && peek(1) != '.') {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    // An exponent only if digits follow: "2e" is a number with a letter behind it, which is refused below.
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    const char* const end = text_.data() + at_;
    if (std::from_chars(text_.data() + begin, end, token.value).ec != std::errc())
      fail(token,
           fmt::format("found the number {}, too large or too small", text_.substr(begin, at_ - begin)),
           "numbers are those of float64");
    std::int64_t whole = -1;
    // Also as an integer, if all of the text is one: doubles above 2^53 are not exact.
    const auto [rest, error] = std::from_chars(text_.data() + begin, end, whole);
    if (error != std::errc() || rest != end) whole = -1;
    // Without an exact integer of at most 2^62 `whole` stays -1; the double may be rounded.
    const int bits = peek() == 'K' ? 10 : peek() == 'M' ? 20 : peek() == 'G' ? 30 : 0;
    if (bits > 0) ++at_;
    token.value *= static_cast<double>(std::int64_t{1} << bits);
    if (whole >= 0 && whole <= (std::int64_t{1} << 62) >> bits) token.whole = whole << bits;
    if (in_name(peek()))
      fail(token, fmt::format("found a number that '{}' follows", peek()),
           "numbers may end with K, M or G; names begin with a letter");
    return ended(token, Token::Kind::Number, begin);
  }

  const std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
};

}  // namespace

std::string place(const std::string& file, const Token& token) {
  return fmt::format("{}:{}:{}", file, token.line, token.column);
}

std::string shown_token(const Token& token) {
  constexpr std::size_t kMostShown = 40;
  if (token.kind == Token::Kind::End) return "the end of the text";
  const std::string cut = token.text.size() > kMostShown ? "..." : "";
  return fmt::format("'{}{}'", token.text.substr(0, kMostShown), cut);
}

// The length is bounded before anything is read: a token takes more memory than its text.
std::vector<Token> tokens(std::string_view text, const std::string& file) {
  if (text.size() > kLongestText)
    throw InputError(file, fmt::format("the text has {} bytes", text.size()),
                     fmt::format("programs have {} at the most", kLongestText));
  return Lexer(text, file).run();
}

}  // namespace chorale
