// Numbers and tables as people read them.
#pragma once

#include <string>
#include <vector>

#include "ir/frontier.h"

namespace chorale {

// "7/6 = 1.167", "2".
std::string fraction(long long numerator, long long denominator);

// "0-3, 7".
std::string ranges(std::vector<int> sorted_numbers);

// Columns as wide as their widest cell, two blanks between them. `right` has an 'r' for each column of
// numbers.
std::string table(std::vector<std::vector<std::string>> rows, const std::string& right);

// "1 step", "2 steps".
std::string counted(long long number, const std::string& singular);

}  // namespace chorale
