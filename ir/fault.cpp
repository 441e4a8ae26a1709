// A fault in a stream is its words alone: for messages of tests, which compare lists of faults.
#include "ir/fault.h"

#include <ostream>

namespace chorale {

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.words;
}

}  // namespace chorale
