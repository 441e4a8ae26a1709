// The headers that a side was built from: a hash of those whose types cross between the program and its
// parts. Both sides have headers.cpp.
#pragma once

extern "C" __attribute__((visibility("default"))) const char* chorale_headers();
