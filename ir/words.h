// Numbers, lists and unknown names as they are written and printed.
#pragma once

#include <string>
#include <vector>

#include "ir/error.h"

namespace chorale {

// Returns "1 step", "2 steps"; where an s is not enough, the plural: "2 matrices".
std::string counted(long long number, const std::string& singular, const std::string& plural = "");

// Returns "a, b, c"
std::string joined(const std::vector<std::string>& names, const std::string& separator = ", ");

// Returns the texts between separators: of "a:b:" at ':' these are "a", "b" and "".
std::vector<std::string> split(const std::string& text, char separator);

// Returns "7/6 = 1.167", "2".
std::string fraction(long long numerator, long long denominator);

// Returns "7/6 = 1.167 rounds per chunk", "1 round per chunk".
std::string rounds_a_chunk(long long rounds, long long chunks);

// Returns binary units (1 KiB = 1024 bytes), three significant digits.
std::string format_bytes(double bytes);      // "96 B", "1.5 KiB", "3 MiB", "117 GiB"
std::string format_us(double microseconds);  // "2.5 us", "1.34 ms", "12 s"

// Returns the remedy for a name that is not known: "did you mean 'ring'?" if one of the known names is near,
// else `otherwise`.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& known,
                         const std::string& otherwise);

// Returns the error for a name of which none is known; `what` it names.
InputError unknown_name(const std::string& where, const std::string& name,
                        const std::vector<std::string>& known, const std::string& what = "value");

}  // namespace chorale
