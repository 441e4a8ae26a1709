// What tests expect of faults: the kind, and where; the words only where it is the words that matter.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "ir/error.h"

namespace chorale::test {

using Kind = Fault::Kind;

inline auto is(Kind kind) {
  return testing::Field("kind", &Fault::kind, kind);
}

inline auto is(Kind kind, const FaultPlace& place) {
  return testing::AllOf(is(kind), testing::Field("place", &Fault::place, place));
}

inline auto says(Kind kind, const std::string& words) {
  return testing::AllOf(is(kind), testing::Field("words", &Fault::words, testing::HasSubstr(words)));
}

}  // namespace chorale::test
