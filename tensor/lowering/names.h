// How names, sizes and shapes of a workload are expressed in C++.
#pragma once

#include <string>

#include "codegen/source_tables.h"
#include "tensor/language/workload.h"

namespace chorale {

// Of the sizes `s`.
std::string printed_extent(const Extent&);
std::string printed_sides(const TensorShape&);  // "chorale::Sides{s.of_B, s.of_H}"
std::string printed_combination(ReduceOp);
// Is the rank, which has this name there, of one of these groups?
std::string printed_groups(const std::string& rank, int first, int last);

// Does the text contain `word` as a whole identifier?
bool mentions(const std::string& text, const std::string& word);

}  // namespace chorale
