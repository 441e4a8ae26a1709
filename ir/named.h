// Enumerations whose values have names in files and in output: a table each, one row per value.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace chorale {

template <typename Value>
struct Named {
  Value value = {};
  std::string_view name = {};
};

// Requires a table with a row for the value.
template <typename Value>
std::string name_in(std::span<const Named<Value>> table, Value value) {
  return std::string(std::ranges::find(table, value, &Named<Value>::value)->name);
}

template <typename Value>
std::optional<Value> value_in(std::span<const Named<Value>> table, std::string_view name) {
  const auto row = std::ranges::find(table, name, &Named<Value>::name);
  return row == table.end() ? std::nullopt : std::optional(row->value);
}

}  // namespace chorale
