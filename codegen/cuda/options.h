// The options of the programs in this directory, those of nccl-tests where they mean the same; and what they
// are compiled with: -DELEMENT=chorale::Float16 (Bfloat16, double, std::int32_t, ...), -DREDUCTION=Max (Min,
// Prod).
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef REDUCTION
#define REDUCTION Sum
#endif

struct Options {
  long from = 1024, to = 1 << 22, factor = 4;
  int iterations = 20, slices = 0, threads = 0;
  long segment = 4 << 20;  // bytes of a block of the collective at a time
  double patience = 10;    // seconds of one wait; 0: no limit
};

// "4096", "64K", "1e6", "2MiB": units are powers of 1024 in every spelling.
inline long number(const char* text) {
  char* end = nullptr;
  double value = std::strtod(text, &end);
  const char* const units = "KMG";
  const char* rest = end;
  const char* const unit = *end == '\0' ? nullptr : std::strchr(units, std::toupper(*end));
  if (unit != nullptr) {
    for (long k = 0; k <= unit - units; ++k) value *= 1024;
    rest += rest[1] == 'i' ? 2 : 1;
  }
  if (*rest == 'B' || *rest == 'b') ++rest;
  if (end == text || *rest != '\0' || !(value >= 0 && value < 9e15 && value == std::floor(value))) {
    std::fprintf(stderr, "'%s' is not a number: use 4096, 64K, 1M\n", text);
    std::exit(2);
  }
  return static_cast<long>(value);
}

inline double seconds(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0 && value <= 1e9)) {
    std::fprintf(stderr, "'%s' is not a number of seconds: use 10, 0.5, or 0 for no limit\n", text);
    std::exit(2);
  }
  return value;
}

[[noreturn]] inline void print_usage(std::FILE* out, const char* program, int code) {
  std::fprintf(out,
               "usage: %s [-b from bytes] [-e to bytes] [-f factor] [-n iterations] [-s slices] [-t threads] "
               "[-g bytes of a segment] [-p seconds of patience, 0: no limit]\n",
               program);
  std::exit(code);
}

inline Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const bool named = argv[i][0] == '-' && argv[i][1] != '\0' && argv[i][2] == '\0';
    if (named && argv[i][1] == 'h') print_usage(stdout, argv[0], 0);
    if (!named || i + 1 == argc) print_usage(stderr, argv[0], 2);
    const char* const value = argv[i + 1];
    switch (argv[i][1]) {
      case 'b':
        options.from = number(value);
        break;
      case 'e':
        options.to = number(value);
        break;
      case 'f':
        options.factor = std::max(2l, number(value));
        break;
      case 'n':
        options.iterations = static_cast<int>(std::max(1l, number(value)));
        break;
      case 's':
        options.slices = static_cast<int>(number(value));
        break;
      case 't':
        options.threads = static_cast<int>(number(value));
        break;
      case 'g':
        options.segment = number(value);
        break;
      case 'p':
        options.patience = seconds(value);
        break;
      default:
        print_usage(stderr, argv[0], 2);
    }
  }
  return options;
}
