// SQLite and zlib, from their part: programs of others, whose preloads use this room, start without them.
#include "library/parts/tables.h"
#include "parts/part.h"

namespace chorale {

std::unique_ptr<AnswerFile> open_answers(const std::string& path, bool make) {
  static const auto& part = loaded<SqlitePart>({.name = "SQLite",
                                                .library = "libchorale-sqlite.so",
                                                .function = "chorale_sqlite_part",
                                                .remedy = kBuildAll});
  return part.open(path, make);
}

}  // namespace chorale
