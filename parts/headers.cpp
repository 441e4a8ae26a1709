// Compiled into the program and into each part: the two were built from the same headers if the hashes agree.
// CHORALE_HEADERS comes from CMakeLists.txt.
#include "parts/headers.h"

const char* chorale_headers() {
  return CHORALE_HEADERS;
}
