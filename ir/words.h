// Numbers and unknown names as people are told of them.
#pragma once

#include <string>
#include <vector>

namespace chorale {

// "1 step", "2 steps"; where an s is not enough, the plural: "2 matrices".
std::string counted(long long number, const std::string& singular, const std::string& plural = "");

// "a, b, c"
std::string joined(const std::vector<std::string>& names, const std::string& separator = ", ");

// The remedy for a name that is not known: "did you mean 'ring'?" if one of the known names is near, else
// `otherwise`.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& known,
                         const std::string& otherwise);

}  // namespace chorale
