#include "parts/headers.h"

const char* chorale_headers() {
  return CHORALE_HEADERS;
}
