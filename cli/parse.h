// What people type for numbers and times; ir/byte_size.h has sizes. All throw InputError, which names the
// option.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace chorale {

// Decimal digits only, least .. most.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most);

// A plain decimal number, of any range: "0.7", "4e-5"; and one > 0.
double parse_number(const std::string& option, const std::string& text);
double parse_positive(const std::string& option, const std::string& text);

// "30", "30s", "0.5", "500ms", "5m", "1h": a millisecond or more, at most 1000 hours.
std::chrono::milliseconds parse_duration(const std::string& option, const std::string& text);

}  // namespace chorale
