// Sizes in bytes as people write them: in options of the command line, in Python, and in programs that are
// emitted (codegen/cuda/options.h has the same rules in C).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace chorale {

// Returns the bytes of "4096", "64K", "1e6", "1.5M": a decimal number, and a unit of K, M, G or T with "i",
// "B", both or neither behind it, in capitals or not, which are powers of 1024 in every spelling, as
// nccl-tests has them. At most 1 TiB, and whole bytes. Throws InputError, which names `where`.
std::int64_t parse_size(const std::string& where, const std::string& text);

// Returns those of "1M", of a list "1K,3000,1M", or of a range from:to[:factor], which grows by the factor (2
// if there is none) up to `to`.
std::vector<std::int64_t> parse_sizes(const std::string& where, const std::string& text);

}  // namespace chorale
