// Declares what the room's plugin does (ir/plugin.h): keeps answers by SQLite and zlib.
#pragma once

#include "library/answers.h"

namespace chorale {

struct SqlitePlugin {
  decltype(&open_answers) open = nullptr;
};

}  // namespace chorale
