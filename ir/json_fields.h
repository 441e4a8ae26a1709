// Values written and read by their fields (ir/fields.h), for the writers and readers of our JSON.
//
// A codec writes and reads single values; one of a file has what needs to know more, such as the machine
// whose links a value names. Values without a form of their own in it are written by write_value() and read
// by read_value(): a list by its elements, a noun by its fields, others as PlainFields has them. Its
// has(owner, words), if there is one, states which members an owner has: true, it must; false, it must not;
// nothing: as the words have it.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/enum_names.h"
#include "ir/fields.h"
#include "ir/json_reader.h"

namespace chorale {

std::string write_rate(const Rate&);  // [rounds, chunks]; rounds are null if there is no schedule
Rate read_rate(const JsonReader&);

struct PlainFields;
template <typename Type, typename Codec = PlainFields>
std::string write_fields(const Type&, const Codec& = {});
template <typename Type, typename Codec = PlainFields>
Type read_fields(const JsonReader&, const Codec& = {});  // refuses other members

// Returns the value of an enumeration with names (ir/enum_names.h).
template <typename Value>
Value read_named(const JsonReader& json) {
  const std::string text = json.text();
  if (const std::optional<Value> value = value_in(Names<Value>::all(), text)) return *value;
  std::string known;
  for (const Named<Value>& row : Names<Value>::all())
    known.append(known.empty() ? "" : ", ").append(row.name);
  json.fail("'" + text + "' is not known here", "use one of " + known);
}

struct PlainFields {
  static std::string_view between(const FieldWords&) { return ","; }
  static std::string_view colon() { return ":"; }

  template <typename Value>
  std::string write(const Value& value, const FieldWords& words) const {
    if constexpr (std::is_same_v<Value, int>)
      return words.or_any && value == INT_MAX ? "null" : std::to_string(value);
    else if constexpr (std::is_convertible_v<const Value&, std::string_view>)
      return quoted(std::string(value));
    else if constexpr (std::is_same_v<Value, Rate>)
      return write_rate(value);
    else if constexpr (std::is_same_v<Value, std::vector<int>>)
      return list(value);
    else if constexpr (requires { value.has_value(); })
      return value ? write(*value, words) : "null";
    else if constexpr (requires { Fields<Value>::all; })
      return write_fields(value, PlainFields());
    else if constexpr (requires { Names<Value>::all(); })
      return quoted(name_in(Names<Value>::all(), value));
    else
      return fmt::format("{}", value);
  }

  template <typename Value>
  void read(const JsonReader& json, const FieldWords& words, Value& value) const {
    const auto whole = [](double bound) {
      return bound >= static_cast<double>(LLONG_MAX) ? LLONG_MAX : static_cast<long long>(bound);
    };
    if constexpr (requires { value.has_value(); }) {
      if (json.is_null() && !words.unless_default)
        value.reset();
      else
        read(json, words, value.emplace());
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = json.boolean();
    } else if constexpr (std::is_integral_v<Value>) {
      value = words.or_any && json.is_null()
                  ? static_cast<Value>(INT_MAX)
                  : static_cast<Value>(json.long_integer(whole(words.least), whole(words.most)));
    } else if constexpr (std::is_same_v<Value, double>) {
      value = json.number(words.least, words.most);
    } else if constexpr (std::is_same_v<Value, Rate>) {
      value = read_rate(json);
    } else if constexpr (requires { Fields<Value>::all; }) {
      value = read_fields<Value>(json, PlainFields());
    } else if constexpr (requires { Names<Value>::all(); }) {
      value = read_named<Value>(json);
    } else {
      value = json.text(words.longest);
    }
  }
};

// With a blank after each comma and colon.
struct SpacedFields : PlainFields {
  static std::string_view between(const FieldWords&) { return ", "; }
  static std::string_view colon() { return ": "; }
};

// A member a line, and an element a line of what is a list: for the outermost of a file. A codec derives from
// it, and has the elements.
template <typename Codec>
struct LineFields : SpacedFields {
  std::string indent = {};
  std::string between(const FieldWords&) const { return ",\n" + indent; }

  using SpacedFields::read, SpacedFields::write;
  template <typename Value>
  std::string write(const std::vector<Value>& values, const FieldWords& words) const {
    std::vector<std::string> texts;
    for (const Value& each : values) texts.push_back(static_cast<const Codec*>(this)->write(each, words));
    return lines(texts, indent);
  }
  template <typename Value>
  void read(const JsonReader& json, const FieldWords& words, std::vector<Value>& values) const {
    for (const JsonReader& each : json.elements(words.longest))
      static_cast<const Codec*>(this)->read(each, words, values.emplace_back());
  }
};

template <typename Value>
constexpr bool is_list = false;
template <typename Value>
constexpr bool is_list<std::vector<Value>> = true;

// A value that is JSON already.
struct JsonText {
  std::string text = {};
};

template <typename Value, typename Codec>
std::string write_value(const Value& value, const FieldWords& words, const Codec& codec) {
  if constexpr (std::is_same_v<Value, JsonText>) {
    return value.text;
  } else if constexpr (requires { codec.write(value, words); }) {
    return codec.write(value, words);
  } else if constexpr (is_list<Value>) {
    std::vector<std::string> texts;
    for (const auto& each : value) texts.push_back(write_value(each, words, codec));
    return fmt::format("[{}]", fmt::join(texts, ","));
  } else if constexpr (requires { value.has_value(); }) {
    return value ? write_value(*value, words, codec) : "null";
  } else if constexpr (requires { Fields<Value>::all; }) {
    return write_fields(value, codec);
  } else {
    return PlainFields().write(value, words);
  }
}

template <typename Value, typename Codec>
void read_value(const JsonReader& json, const FieldWords& words, Value& value, const Codec& codec) {
  if constexpr (requires { codec.read(json, words, value); }) {
    codec.read(json, words, value);
  } else if constexpr (is_list<Value>) {
    for (const JsonReader& each : json.elements(words.longest))
      read_value(each, words, value.emplace_back(), codec);
  } else if constexpr (requires { value.has_value(); }) {
    read_value(json, words, value.emplace(), codec);
  } else if constexpr (requires { Fields<Value>::all; }) {
    value = read_fields<Value>(json, codec);
  } else {
    PlainFields().read(json, words, value);
  }
}

// Whether the owner has the member, as far as that depends on the owner.
template <typename Type, typename Codec>
std::optional<bool> has_member(const Type& owner, const FieldWords& words, const Codec& codec) {
  if constexpr (requires { codec.has(owner, words); })
    return codec.has(owner, words);
  else
    return {};
}

// Begins a member of an object: what stands between it and the one before it, if there is one, and its name.
void begin_member(std::string& text, std::string_view between, std::string_view name, std::string_view colon);

// Whether the object has the member, which it must, must not or may. Refuses one that it must not have.
bool reads_member(const JsonReader&, const FieldWords&, std::optional<bool> has);

// Returns the members of an object, without its braces.
template <typename Type, typename Codec = PlainFields>
std::string write_members(const Type& value, const Codec& codec = {}) {
  static const Type usual;
  std::string text;
  fields<Type>([&](const auto& field) {
    if (has_member(value, field.words, codec) == false) return;
    if (field.words.unless_default && field.of(value) == field.of(usual)) return;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field.of(value))>, int>)
      if (field.words.unstated == field.of(value)) return;
    begin_member(text, codec.between(field.words), key_of(field.words), codec.colon());
    text += write_value(field.of(value), field.words, codec);
  });
  return text;
}

template <typename Type, typename Codec>
std::string write_fields(const Type& value, const Codec& codec) {
  return "{" + write_members(value, codec) + "}";
}

// All by the defaults of write_value(), on one line.
struct CompactFields {
  static std::string_view between(const FieldWords&) { return ","; }
  static std::string_view colon() { return ":"; }
};

// A member a line, and an element a line of what is a list; the rest on one line.
struct FileFields {
  static std::string_view between(const FieldWords&) { return ",\n"; }
  static std::string_view colon() { return ": "; }
  template <typename Value>
  static std::string write(const Value& value, const FieldWords& words) {
    if constexpr (!is_list<Value>) return write_value(value, words, CompactFields());
    if constexpr (is_list<Value>) {
      std::vector<std::string> texts;
      for (const auto& each : value) texts.push_back(write_value(each, words, CompactFields()));
      return lines(texts, "");
    }
  }
};

template <typename Codec, typename Value, typename... Rest>
void add_members(std::string& text, const Codec& codec, std::string_view name, const Value& value,
                 const Rest&... rest) {
  begin_member(text, codec.between({}), name, codec.colon());
  text += write_value(value, FieldWords(), codec);
  if constexpr (sizeof...(rest) > 0) add_members(text, codec, rest...);
}

// Returns an object that is not the value of a type, by names and values in turn: json_object("ranks", 4).
template <typename... Members>
JsonText json_object(const Members&... members) {
  std::string text;
  add_members(text, CompactFields(), members...);
  return {"{" + text + "}"};
}

// Returns the same as a file, a member a line.
template <typename... Members>
std::string json_file(const Members&... members) {
  std::string text;
  add_members(text, FileFields(), members...);
  return "{\n" + text + "\n}\n";
}

// Values by their fields, a line each.
template <typename Values, typename Codec = PlainFields>
std::string lines_of(const Values& values, const std::string& indent, const Codec& codec = {}) {
  std::vector<std::string> texts;
  for (const auto& each : values) texts.push_back(write_fields(each, codec));
  return lines(texts, indent);
}

// Refuses an object with other members than the fields and these.
template <typename Type>
void require_fields(const JsonReader& json, std::initializer_list<std::string_view> others = {}) {
  std::vector<std::string_view> names(others);
  fields<Type>([&](const auto& field) { names.push_back(key_of(field.words)); });
  json.require_object(names);
}

template <typename Type, typename Codec = PlainFields>
void read_members(const JsonReader& json, Type& value, const Codec& codec = {}) {
  fields<Type>([&](const auto& field) {
    if (!reads_member(json, field.words, has_member(value, field.words, codec))) {
      if constexpr (std::is_same_v<decltype(field.of(value)), int&>)
        field.of(value) = field.words.unstated.value_or(field.of(value));
      return;
    }
    const char* const name = key_of(field.words).data();
    if constexpr (std::is_lvalue_reference_v<decltype(field.of(value))>) {
      read_value(json[name], field.words, field.of(value), codec);
    } else if constexpr (requires { field.take(value, field.of(value)); }) {
      auto shown = field.of(value);
      read_value(json[name], field.words, shown, codec);
      field.take(value, shown);
    } else {
      codec.require(json[name], field.of(value));
    }
  });
}

template <typename Type, typename Codec>
Type read_fields(const JsonReader& json, const Codec& codec) {
  require_fields<Type>(json);
  Type value;
  read_members(json, value, codec);
  return value;
}

}  // namespace chorale
