// SQLite and zlib, from their plugin: programs of others, whose preloads use this room, start without them.
#include "ir/plugin.h"
#include "library/plugins/tables.h"

namespace chorale {

std::unique_ptr<AnswerFile> open_answers(const std::string& path, bool make) {
  static const auto& plugin = loaded<SqlitePlugin>({.name = "SQLite",
                                                    .library = "libchorale-sqlite.so",
                                                    .function = "chorale_sqlite_plugin",
                                                    .remedy = kBuildAll});
  return plugin.open(path, make);
}

}  // namespace chorale
