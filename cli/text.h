// Numbers as people read them.
#pragma once

#include <string>
#include <vector>

namespace chorale {

// "0-3, 7".
std::string ranges(std::vector<int> sorted_numbers);

}  // namespace chorale
