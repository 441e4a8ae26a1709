// The algorithm as tables, for input and output in two buffers or in one.
#pragma once

#ifdef IN_PLACE
#include "in_place.h"
#else
#include "out_of_place.h"
#endif
