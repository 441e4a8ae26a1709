// What people type for numbers, sizes and times. Everything throws InputError that names the option.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace chorale {

// Decimal digits only, least .. most.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most);

// A plain decimal number, of any range: "0.7", "4e-5"; and one > 0.
double parse_number(const std::string& option, const std::string& text);
double parse_positive(const std::string& option, const std::string& text);

// "30", "30s", "0.5", "500ms", "5m", "1h": a millisecond or more, at most 1000 hours.
std::chrono::milliseconds parse_duration(const std::string& option, const std::string& text);

// "4096", "4K", "64M", "1G" (powers of 1024; "KiB" and "KB" mean the same), at most 1 TiB.
std::int64_t parse_size(const std::string& option, const std::string& text);

// "1M"; "1K,3000,1M"; or from:to[:factor], growing by the factor (2 if not given) up to `to`.
std::vector<std::int64_t> parse_sizes(const std::string& option, const std::string& text);

}  // namespace chorale
