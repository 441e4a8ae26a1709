// Rows of tables by the names that people type.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/words.h"

namespace chorale {

// Returns the row of that name, of rows that have one. Throws InputError with the names where there is none;
// `what` they name.
template <typename Rows>
const auto& row_named(const Rows& rows, const std::string& where, const std::string& name,
                      const std::string& what = "value") {
  const auto row = std::ranges::find_if(rows, [&](const auto& each) { return each.name == name; });
  if (row != std::ranges::end(rows)) return *row;
  std::vector<std::string> known;
  for (const auto& each : rows) known.emplace_back(each.name);
  throw unknown_name(where, name, known, what);
}

}  // namespace chorale
