// For messages of tests.
#include "ir/fault.h"

#include <ostream>

namespace chorale {

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.words;
}

}  // namespace chorale
