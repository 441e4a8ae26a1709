// An option, defined once. From its row come the option of the command line with its help, completion and
// manual page, the keyword of the Python package, the field of the C interface, the key in a library's
// specification with its JSON Schema, and the error for a value out of range.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "ir/named.h"

namespace chorale {

enum class OptionKind {
  Integer,
  Size,      // bytes; on the command line also 64K
  Number,    // any number
  Duration,  // milliseconds in the member and on the command line (0.5, 500ms, 5m); seconds elsewhere
  Switch,    // on or off; on the command line a flag that inverts the default
  Choice,    // a value of an enumeration, by its name
  Text,
};

using OptionChoice = Named<std::int64_t>;

// Returns the values of an enumeration that can be chosen, as a static table for a row.
template <typename Value, std::size_t n>
constexpr std::array<OptionChoice, n> choices_of(const Named<Value> (&values)[n]) {
  std::array<OptionChoice, n> choices;
  for (std::size_t i = 0; i < n; ++i)
    choices[i] = {static_cast<std::int64_t>(values[i].value), values[i].name};
  return choices;
}

struct OptionWords {
  std::string_view name = {};    // "max_steps": the keyword in Python
  std::string_view option = {};  // "--max-steps"
  std::string_view value = {};   // "S", which stands for the value in the help; empty for a switch
  std::string_view help = {};    // {} stands for the default
  OptionKind kind = OptionKind::Integer;
  std::int64_t least = 0, most = 0;  // of integers, sizes, and of durations in milliseconds
  double lowest = 0, highest = 0;    // of numbers
  std::span<const OptionChoice> choices = {};
  std::optional<std::int64_t> unlimited =
      {};  // the member's value where the option is not given, if no given value can be it
  std::string_view by_default = {};  // what the help has for {} then
  std::string_view key = {};         // in files, where it is not the name
  // An answer depends on it, so that it is part of the question under which a library keeps one.
  bool asked = true;
};

// Where an option is kept: what counts (integers, durations, switches, choices); a number; or a text.
template <typename Owner>
struct OptionMember {
  std::int64_t (*get)(const Owner&) = nullptr;
  void (*set)(Owner&, std::int64_t) = nullptr;
  double& (*number)(Owner&) = nullptr;     // of numbers, instead of the two above
  std::string& (*text)(Owner&) = nullptr;  // of texts, instead of them
};

template <typename Owner>
struct OptionRow {
  OptionWords words = {};
  OptionMember<Owner> member = {};
};

// Returns the member at the end of a path of members: member<A, &A::b, &B::c>() is a.b.c. An optional number
// without a value is -1.
template <typename Owner, auto... Path>
constexpr OptionMember<Owner> member() {
  using Value = std::remove_cvref_t<decltype((std::declval<Owner&>().*....*Path))>;
  if constexpr (std::is_same_v<Value, std::string>)
    return {.text = [](Owner& owner) -> std::string& { return (owner.*....*Path); }};
  else if constexpr (std::is_same_v<Value, double>)
    return {.number = [](Owner& owner) -> double& { return (owner.*....*Path); }};
  else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>)
    return {.get = [](const Owner& owner) -> std::int64_t { return (owner.*....*Path).count(); },
            .set = [](Owner& owner, std::int64_t value) { (owner.*....*Path) = Value(value); }};
  else if constexpr (std::is_same_v<Value, std::optional<int>>)
    return {.get = [](const Owner& owner) -> std::int64_t { return (owner.*....*Path).value_or(-1); },
            .set =
                [](Owner& owner, std::int64_t value) {
                  (owner.*....*Path) = value < 0 ? std::nullopt : std::optional(static_cast<int>(value));
                }};
  else
    return {.get = [](const Owner& owner) { return static_cast<std::int64_t>((owner.*....*Path)); },
            .set = [](Owner& owner, std::int64_t value) { (owner.*....*Path) = static_cast<Value>(value); }};
}

// Returns the value of an option that counts; none if the option is not given and does not have a default.
template <typename Owner>
std::optional<std::int64_t> given(const OptionRow<Owner>& row, const Owner& owner) {
  const std::int64_t value = row.member.get(owner);
  return value == row.words.unlimited ? std::nullopt : std::optional(value);
}

template <typename Owner>
bool is_default(const OptionRow<Owner>& row, const Owner& owner) {
  Owner usual, mine = owner;
  if (row.member.text) return row.member.text(usual) == row.member.text(mine);
  if (row.member.number) return row.member.number(usual) == row.member.number(mine);
  return row.member.get(usual) == row.member.get(owner);
}

// Throws std::logic_error if there is none.
template <typename Owner>
const OptionRow<Owner>& row_of(std::span<const OptionRow<Owner>> rows, std::string_view name) {
  for (const OptionRow<Owner>& row : rows)
    if (row.words.name == name) return row;
  throw std::logic_error("no option is named " + std::string(name));
}

std::string_view key_of(const OptionWords&);

// Returns the help with its default, which is `usual` if the row does not describe it.
std::string help_of(const OptionWords&, double usual);
template <typename Owner>
std::string help_of(const OptionRow<Owner>& row, Owner usual = {}) {
  return help_of(row.words, row.member.get      ? static_cast<double>(row.member.get(usual))
                            : row.member.number ? row.member.number(usual)
                                                : 0);
}

// Each throws InputError, which cites the option by `name`.
void require_in_range(const OptionWords&, std::int64_t value, std::string_view name);
void require_in_range(const OptionWords&, double number, std::string_view name);
std::int64_t choice_named(const OptionWords&, const std::string& value, std::string_view name);
std::int64_t milliseconds_in(const OptionWords&, double seconds, std::string_view name);

}  // namespace chorale
