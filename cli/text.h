// Numbers as people read them.
#pragma once

#include <string>
#include <vector>

namespace chorale {

// "7/6 = 1.167", "2".
std::string fraction(long long numerator, long long denominator);

// "7/6 = 1.167 rounds a chunk", "1 round a chunk".
std::string rounds_a_chunk(long long rounds, long long chunks);

// "0-3, 7".
std::string ranges(std::vector<int> sorted_numbers);

}  // namespace chorale
