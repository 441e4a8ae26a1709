// A cursor is a pointer to a value of the library's tree, which it keeps alive, and the path to it in words;
// the words grow as a value is entered, so that every error has its place.
//
// Refused here: a text that the library would not survive (nested deeply: it frees it recursively) or would
// accept silently (a repeated key: it keeps the last one). For a text that is not JSON, the error reports
// what it seems to be.
#include "ir/json_reader.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace chorale {

// Texts as ASCII, with broken UTF-8 replaced: the file can be read again, whatever a name contains.

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

namespace {

// Deeper nesting than any of our formats has; the library's parser recurses when it destroys.
constexpr int kDeepest = 32;

// Before the library sees the text. Brackets outside of strings are counted, in one pass; whether they match
// is left to the parser.
void check_depth(std::string_view text, const std::string& file) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest)
        throw InputError(file, "is nested deeper than any format of Chorale", "check the file");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

// The name of the first element, past declarations and comments: "" if there is none.
std::string first_element(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string_view::npos;) {
    if (text.substr(at).starts_with("<!--")) {
      at = text.find("-->", at);
      if (at == std::string_view::npos) return "";
    } else if (const char next = at + 1 < text.size() ? text[at + 1] : '?'; next == '?' || next == '!') {
      ++at;
    } else {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n/>", at), text.size());
      return std::string(text.substr(at + 1, std::min<std::size_t>(end - at - 1, 40)));
    }
  }
  return "";
}

// What a text that is not JSON seems to be, and the remedy; empty if it might have become JSON.
struct Guess {
  std::string words = {};
  std::string remedy = "give a JSON file (docs/formats.md)";
};

// By magic numbers, a byte 0 near the beginning (JSON has none), and for XML the name of the root element.
Guess guess(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {.words = "the file is empty"};
  if (text.starts_with("\x7f"
                       "ELF"))
    return {.words = "is a program or library, not JSON"};
  if (text.starts_with("\x1f\x8b"))
    return {.words = "is compressed (gzip), not JSON", .remedy = "unpack it first"};
  if (text.substr(0, 4096).find('\0') != std::string_view::npos) return {.words = "is binary, not JSON"};
  if (text[start] != '<') return {};
  const std::string root = first_element(text);
  if (root == "algo")
    return {.words = "is XML: an MSCCL algorithm, not JSON", .remedy = "'chorale program FILE' reads it"};
  constexpr const char* kImports = "'chorale topology import FILE' reads it";
  if (root == "system")
    return {.words = "is XML: NCCL's description of a machine, not JSON", .remedy = kImports};
  if (root == "graphs") return {.words = "is XML: NCCL's graphs, which nothing here reads"};
  if (root == "topology" && text.find("hwloc") != std::string_view::npos)
    return {.words = "is XML: hwloc's description of a machine, not JSON", .remedy = kImports};
  return {.words = "is XML, not JSON"};
}

// The header hides the library behind a pointer to void, so that only sources that adapt it compile it.
const nlohmann::json& json(const std::shared_ptr<const void>& value) {
  return *static_cast<const nlohmann::json*>(value.get());
}

// Builds the tree of a text. An object with two equal keys is refused: the library's own tree keeps the last
// of them.
class TreeOfText : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeOfText(const std::string& file) : file_(file) {}

  nlohmann::json root = {};
  std::size_t error_at = 0;  // where the text is not JSON: bytes, from 1

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return add(nlohmann::json::object(), true); }
  bool start_array(std::size_t) override { return add(nlohmann::json::array(), true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (open_.back()->contains(key))
      throw InputError(file_, fmt::format("the key '{}' is given twice", key.substr(0, 60)),
                       "keep one of them");
    key_ = std::move(key);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) override {
    if (dynamic_cast<const nlohmann::json::parse_error*>(&error) == nullptr)
      throw InputError(file_, "has a number that no machine number can hold", "check the file");
    error_at = byte;
    return false;
  }

 private:
  bool add(nlohmann::json value, bool opens = false) {
    nlohmann::json* at = &root;
    if (!open_.empty())
      at = open_.back()->is_array() ? &open_.back()->emplace_back() : &(*open_.back())[key_];
    *at = std::move(value);
    if (opens) open_.push_back(at);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  std::string key_ = {};
  std::vector<nlohmann::json*> open_ = {};  // from the outside in: only the last one grows
};

// position: words for a byte of the text.
template <typename Position>
nlohmann::json parsed(std::string_view text, const std::string& file, Position position) {
  if (const Guess seems = guess(text); !seems.words.empty())
    throw InputError(file, seems.words, seems.remedy);
  check_depth(text, file);
  // json::parse() and json::sax_parse() are compiled with the readers of all binary formats.
  auto input = nlohmann::detail::input_adapter(text.data(), text.data() + text.size());
  nlohmann::detail::parser<nlohmann::json, decltype(input)> parser(std::move(input));
  TreeOfText tree(file);
  if (!parser.sax_parse(&tree))
    throw InputError(position(std::min(tree.error_at > 0 ? tree.error_at - 1 : 0, text.size())),
                     "is not JSON, or ends too early", "check the file");
  return std::move(tree.root);
}

// The keys by which a reader recognizes a file of another kind. A result has a topology and a collective
// inside, so its own key comes first.
constexpr std::pair<const char*, const char*> kTellingKinds[] = {
    {"chorale_result", "a result"},     {"chorale_program", "a program"}, {"chorale_ranking", "a ranking"},
    {"topology", "a machine"},          {"hierarchy", "a hierarchy"},     {"job", "a job"},
    {"job_template", "a job template"}, {"collective", "a collective"}};

}  // namespace

// Line and column are counted only for an error; columns are bytes, from 1.
JsonReader parse_json(std::string_view text, const std::string& file) {
  const auto position = [&](std::size_t at) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::size_t start = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
    return fmt::format("{}:{}:{}", file, line, column);
  };
  return {std::make_shared<const nlohmann::json>(parsed(text, file, position)), file, ""};
}

JsonReader parse_json_line(std::string_view text, const std::string& file, int line) {
  const std::string where = fmt::format("{}:{}", file, line);
  const auto position = [&](std::size_t at) { return fmt::format("{}:{}", where, at + 1); };
  return {std::make_shared<const nlohmann::json>(parsed(text, where, position)), where, ""};
}

// False also where this is not an object; operator[] then reports that.
bool JsonReader::has(const char* key) const {
  return is_object() && json(value_).contains(key);
}
bool JsonReader::is_null() const {
  return json(value_).is_null();
}
bool JsonReader::is_number() const {
  return json(value_).is_number();
}

bool JsonReader::is_array() const {
  return json(value_).is_array();
}
bool JsonReader::is_object() const {
  return json(value_).is_object();
}

void JsonReader::require_object(std::span<const std::string_view> keys) const {
  if (!is_object()) fail("is not an object", "see docs/formats.md");
  // Before its keys: of a file of another kind, the first unknown key would be of little help.
  for (const auto& [tells, kind] : kTellingKinds)
    if (place_.empty() && json(value_).contains(tells) &&
        std::find(keys.begin(), keys.end(), std::string_view(tells)) == keys.end())
      fail(fmt::format("is {}, and something else is needed here", kind), "check the path");
  for (const auto& [key, unused] : json(value_).items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      std::string known;
      for (std::string_view k : keys) known += (known.empty() ? "" : ", ") + std::string(k);
      fail("unknown key '" + key.substr(0, 60) + "'", "known are " + known);
    }
}

// The value's pointer shares ownership of the whole tree (aliasing constructor), so a cursor outlives those
// that it came from.
JsonReader JsonReader::operator[](const char* key) const {
  if (!is_object()) fail("is not an object", "see docs/formats.md");
  const auto at = json(value_).find(key);
  if (at == json(value_).end()) fail(fmt::format("'{}' is missing", key), "see docs/formats.md");
  return {{value_, &*at}, file_, place_.empty() ? key : place_ + "." + key};
}

JsonReader JsonReader::at(std::size_t index) const {
  if (!is_array() || index >= json(value_).size()) fail(fmt::format("has no element {}", index));
  return {{value_, &json(value_)[index]}, file_, fmt::format("{}[{}]", place_, index)};
}

std::size_t JsonReader::size(std::size_t most) const {
  if (!is_array()) fail("is not an array", "see docs/formats.md");
  if (json(value_).size() > most)
    fail(fmt::format("has {} elements", json(value_).size()), fmt::format("at most {} are allowed", most));
  return json(value_).size();
}

long long JsonReader::long_integer(long long least, long long most) const {
  if (!json(value_).is_number_integer()) fail("is not an integer", fmt::format("use {} to {}", least, most));
  // An unsigned number beyond long long would come out negative.
  const bool huge = json(value_).is_number_unsigned() && json(value_).get<unsigned long long>() > LLONG_MAX;
  const long long number = huge ? LLONG_MAX : json(value_).get<long long>();
  if (number < least || number > most)
    fail(fmt::format("{} is out of range", json(value_).dump()), fmt::format("use {} to {}", least, most));
  return number;
}

double JsonReader::number(double least, double most) const {
  if (!json(value_).is_number()) fail("is not a number", fmt::format("use {} to {}", least, most));
  const double number = json(value_).get<double>();
  if (!std::isfinite(number) || number < least || number > most)
    fail(fmt::format("{} is out of range", json(value_).dump()), fmt::format("use {} to {}", least, most));
  return number;
}

bool JsonReader::boolean() const {
  if (!json(value_).is_boolean()) fail("is not true or false");
  return json(value_).get<bool>();
}

// Control characters are refused: texts end up in tables, messages and comments of emitted sources.
std::string JsonReader::text(std::size_t longest) const {
  if (!json(value_).is_string()) fail("is not a text in quotes");
  std::string text = json(value_).get<std::string>();
  if (text.size() > longest)
    fail(fmt::format("is {} bytes long", text.size()), fmt::format("use at most {}", longest));
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; }))
    fail("has control characters", "remove them");
  return text;
}

std::vector<int> JsonReader::integers(std::size_t count, int least, int most) const {
  std::vector<int> all;
  for (const JsonReader& each : elements(count)) all.push_back(each.integer(least, most));
  return all;
}

std::vector<std::string> JsonReader::texts(std::size_t count, std::size_t longest) const {
  std::vector<std::string> all;
  for (const JsonReader& each : elements(count)) all.push_back(each.text(longest));
  return all;
}

}  // namespace chorale
