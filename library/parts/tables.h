// What the room's part does (parts/part.h): keeps answers by SQLite and zlib.
#pragma once

#include "library/answers.h"

namespace chorale {

struct SqlitePart {
  decltype(&open_answers) open = nullptr;
};

}  // namespace chorale
