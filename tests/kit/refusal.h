// What is reported of bad input.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/error.h"

namespace chorale::test {

// The words of the InputError that `f` throws, in one line; `otherwise` if it throws none.
template <typename F>
std::string refusal_of(const F& f, const std::string& otherwise = "") {
  try {
    f();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return otherwise;
}

}  // namespace chorale::test
