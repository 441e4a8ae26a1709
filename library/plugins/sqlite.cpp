// libchorale-sqlite: a library in a file of SQLite, texts compressed by zlib.
//
//   about(what, value)                         'chorale_library' -> the version of this form
//   answers(key, question, answer, numbering)  key: a hash of the question, so that the index is small; the
//                                              question itself is compared
//   places(machine, grp, collective, ranks, root, key, hosts, members, numbering)
//                                              hosts: by rank a number, separated by blanks
//   predicted(key, bytes, point, us, least_us)
//   measured(key, over, point, bytes, median_us, least_us, most_us, times)
//                                              over: "mpi", "nccl"; of a forced algorithm of MPI's own
//                                              "mpi/LIBRARY/ALGORITHM"
//
// A text is stored as its length, in eight bytes, the lowest first, and what zlib made of it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "ir/error.h"
#include "ir/fnv.h"
#include "ir/number_in.h"
#include "ir/plugin.h"
#include "library/plugins/tables.h"

namespace chorale {
namespace {

constexpr int kVersion = 3;
constexpr const char* kRemedy = "build another";
constexpr int kMostWaitMs = 60'000;                          // for another process that writes
constexpr std::uint64_t kMostText = std::uint64_t{1} << 30;  // as files have at most
constexpr std::uint64_t kMostRatio = 1032;                   // that zlib makes of a text

// The length of a text (kMostText) takes four of its eight bytes, so what is packed always has a byte of 0,
// by which rows() distinguishes it from plain text.
std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string result(8 + size, '\0');
  for (int i = 0; i < 8; ++i) result[i] = static_cast<char>(text.size() >> (8 * i));
  if (compress2(reinterpret_cast<Bytef*>(result.data() + 8), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), 6) != Z_OK)
    throw std::bad_alloc();
  result.resize(8 + size);
  return result;
}

// Nullopt: the text was not made by packed().
std::optional<std::string> unpacked(const std::string& bytes) {
  if (bytes.size() < 8) return {};
  std::uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (size > kMostText || size > kMostRatio * bytes.size()) return {};
  std::string text(size, '\0');
  uLongf length = size;
  if (uncompress(reinterpret_cast<Bytef*>(text.data()), &length,
                 reinterpret_cast<const Bytef*>(bytes.data() + 8), bytes.size() - 8) != Z_OK ||
      length != size)
    return {};
  return text;
}

// Two hashes of 64 bits. A reader that finds a key still compares the question.
std::string key_of(const std::string& text) {
  std::uint64_t other = 0x84222325cbf29ce4u;
  for (const char c : text) other = fnv_with(other, static_cast<unsigned char>(c)) + 1;
  return fmt::format("{:016x}{:016x}", fnv_of(text), other);
}

std::string in_words(const std::vector<int>& numbers) {
  return fmt::format("{}", fmt::join(numbers, " "));
}

// Nullopt: the text does not have this form.
std::optional<std::vector<int>> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<int> numbers{std::istream_iterator<int>(words), {}};
  return in_words(numbers) == text ? std::optional(std::move(numbers)) : std::nullopt;
}

// The tables that begin() makes. A file with other tables, or with views, triggers and columns that compute,
// is not a library: what SQLite would do to read it is beyond our control.
constexpr const char* kTables[] = {
    "TABLE about(what TEXT PRIMARY KEY, value TEXT)",
    "TABLE answers(key TEXT PRIMARY KEY, question BLOB, answer BLOB, numbering BLOB)",
    "TABLE places(machine TEXT, grp TEXT, collective TEXT, ranks INTEGER, root INTEGER, key TEXT, hosts "
    "TEXT, members TEXT, numbering BLOB, PRIMARY KEY(machine, grp, collective, root, key, members))",
    "INDEX places_of ON places(key)",
    "TABLE predicted(key TEXT, bytes INTEGER, point INTEGER, us REAL, least_us REAL, PRIMARY KEY(key, "
    "bytes))",
    "TABLE measured(key TEXT, over TEXT, point INTEGER, bytes INTEGER, median_us REAL, least_us REAL, "
    "most_us REAL, times INTEGER, PRIMARY KEY(key, over, point, bytes))"};

class SqliteFile : public AnswerFile {
 public:
  SqliteFile(const std::string& path, bool make) : path_(path) {
    std::error_code error;
    if (!make && !std::filesystem::exists(path, error))
      throw InputError(path, "there is no such library", "make it by 'chorale library build'");
    sqlite3* file = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &file,
                                       SQLITE_OPEN_READWRITE | (make ? SQLITE_OPEN_CREATE : 0), nullptr);
    file_.reset(file);
    require(opened == SQLITE_OK);
    sqlite3_busy_timeout(file_.get(), kMostWaitMs);
    // An existing file is not changed before its kind is known.
    if (make && rows("SELECT name FROM sqlite_master", {}).empty()) begin();
    const Rows made = rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL", {});
    const auto is_made = [&](const std::string& sql) {
      return std::ranges::find(made, Row{"CREATE " + sql}) != made.end();
    };
    // First whether it is a library at all, then of this form, then exactly of its tables: the error names
    // the first that is wrong.
    const bool told = is_made(kTables[0]);
    const Rows version = told ? rows("SELECT value FROM about WHERE what = 'chorale_library'", {}) : Rows();
    if (version.size() != 1) throw InputError(path, "is not a library of chorale", "build another");
    if (version[0][0] != std::to_string(kVersion))
      throw InputError(
          path, fmt::format("is a library of form {}, and this chorale has form {}", version[0][0], kVersion),
          "build it again");
    if (made.size() != std::size(kTables) || !std::ranges::all_of(kTables, is_made))
      throw InputError(path, "has other tables than a library of chorale", "build another");
  }

  std::optional<StoredAnswer> answer(const std::string& question) override {
    std::optional<StoredAnswer> stored = stored_at(key_of(question));
    if (stored && stored->question != question) stored.reset();
    return stored;
  }

  void together(const std::function<void()>& puts) override {
    rows("BEGIN IMMEDIATE", {});
    try {
      puts();
      rows("COMMIT", {});
    } catch (...) {
      sqlite3_exec(file_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
      throw;
    }
  }

  // An answer, a place and a prediction that are there stay; a measurement is replaced by a later one.
  void put(const StoredAnswer& stored) override {
    rows("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
         {key_of(stored.question), packed(stored.question), packed(stored.answer), packed(stored.numbering)});
  }

  void put_place(const std::string& question, const AnswerPlace& place) override {
    rows("INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
         {place.machine, place.group, place.collective, std::to_string(place.ranks),
          std::to_string(place.root), key_of(question), in_words(place.hosts), place.members,
          packed(place.numbering)});
  }

  void put_predicted(const std::string& question, const PredictedTime& time) override {
    rows("INSERT OR IGNORE INTO predicted VALUES (?, ?, ?, ?, ?)",
         {key_of(question), std::to_string(time.bytes), std::to_string(time.point),
          fmt::format("{}", time.us), fmt::format("{}", time.least_us)});
  }

  void put_measured(const std::string& question, const MeasuredTime& time) override {
    rows("INSERT OR REPLACE INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
         {key_of(question), time.over, std::to_string(time.point), std::to_string(time.bytes),
          fmt::format("{}", time.median_us), fmt::format("{}", time.least_us),
          fmt::format("{}", time.most_us), std::to_string(time.times)});
  }

  void put_own(const std::string& question, const OwnTime& own) override {
    MeasuredTime time = own.time;
    time.over = fmt::format("{}/{}/{}", time.over, own.library, own.algorithm);
    put_measured(question, time);
  }

  void each(const std::function<void(const StoredAnswer&)>& tell) override {
    // Rows that no answer has would never be seen otherwise, and never verified.
    for (const char* const table : {"places", "predicted", "measured"})
      if (!rows(fmt::format("SELECT key FROM {} WHERE key NOT IN (SELECT key FROM answers) LIMIT 1", table),
                {})
               .empty())
        throw InputError(path_, fmt::format("has rows of no answer in '{}'", table), kRemedy);
    // Keys first, then an answer at a time: a library may be larger than the memory.
    for (const Row& key : rows("SELECT key FROM answers ORDER BY key", {}))
      if (const std::optional<StoredAnswer> stored = stored_at(key[0])) tell(*stored);
  }

 private:
  using Row = std::vector<std::string>;
  using Rows = std::vector<Row>;

  // Rows are sorted by what they contain, so that two files with the same contents read the same, in
  // whichever order they were written.
  std::optional<StoredAnswer> stored_at(const std::string& key) {
    const Rows found = rows("SELECT question, answer, numbering FROM answers WHERE key = ?", {key});
    if (found.empty()) return {};
    StoredAnswer stored{
        .question = text_of(found[0][0]), .answer = text_of(found[0][1]), .numbering = text_of(found[0][2])};
    if (key_of(stored.question) != key) damaged("is stored under another key than its question's");
    for (const Row& row : rows("SELECT machine, grp, collective, ranks, root, hosts, members, numbering "
                               "FROM places WHERE key = ? ORDER BY 1, 2, 3, 4, 5, 7",
                               {key})) {
      const std::optional<std::vector<int>> hosts = numbers_in(row[5]);
      if (!hosts) damaged("has an entry whose hosts are not numbers");
      stored.places.push_back({.machine = row[0],
                               .group = row[1],
                               .collective = row[2],
                               .ranks = number<int>(row[3]),
                               .root = number<int>(row[4]),
                               .hosts = *hosts,
                               .members = row[6],
                               .numbering = text_of(row[7])});
    }
    for (const Row& row :
         rows("SELECT over, point, bytes, median_us, least_us, most_us, times FROM measured WHERE key = ? "
              "ORDER BY 1, 2, 3",
              {key}))
      put_time(stored, {.over = row[0],
                        .point = number<int>(row[1]),
                        .bytes = number<std::int64_t>(row[2]),
                        .median_us = number<double>(row[3]),
                        .least_us = number<double>(row[4]),
                        .most_us = number<double>(row[5]),
                        .times = number<int>(row[6])});
    for (const Row& row :
         rows("SELECT bytes, point, us, least_us FROM predicted WHERE key = ? ORDER BY 1", {key}))
      stored.predicted.push_back({.bytes = number<std::int64_t>(row[0]),
                                  .point = number<int>(row[1]),
                                  .us = number<double>(row[2]),
                                  .least_us = number<double>(row[3])});
    return stored;
  }

  // "mpi" is a time of a point or of MPI's own choice; "mpi/ompi/ring" one of an algorithm that was forced.
  static void put_time(StoredAnswer& stored, MeasuredTime time) {
    const std::size_t library = time.over.find('/'), algorithm = time.over.find('/', library + 1);
    if (library == std::string::npos || algorithm == std::string::npos) {
      stored.measured.push_back(std::move(time));
      return;
    }
    OwnTime own{.library = time.over.substr(library + 1, algorithm - library - 1),
                .algorithm = time.over.substr(algorithm + 1)};
    time.over.resize(library);
    own.time = std::move(time);
    stored.own.push_back(std::move(own));
  }

  [[noreturn]] void damaged(const std::string& how) const {
    throw InputError(path_, "an answer " + how, kRemedy);
  }

  template <typename Number>
  Number number(const std::string& text) const {
    const std::optional<Number> number = number_in<Number>(text);
    if (!number) damaged("has '" + text.substr(0, 40) + "' where a number is needed");
    return *number;
  }

  void require(bool well) const {
    if (!well)
      throw InputError(path_, fmt::format("SQLite: {}", sqlite3_errmsg(file_.get())),
                       "check the path, and the space there");
  }

  // All or nothing: a process that is killed here leaves an empty file, which is begun again.
  void begin() {
    rows("BEGIN IMMEDIATE", {});
    for (const std::string table : kTables) {
      const std::size_t name = table.find(' ') + 1;
      rows("CREATE " + table.substr(0, name) + "IF NOT EXISTS " + table.substr(name), {});
    }
    rows(fmt::format("INSERT OR IGNORE INTO about VALUES ('chorale_library', '{}')", kVersion), {});
    rows("COMMIT", {});
  }

  // Outside of together() each statement is a transaction of its own. Parameters are bytes.
  Rows rows(const std::string& sql, const std::vector<std::string>& parameters) {
    sqlite3_stmt* made = nullptr;
    require(sqlite3_prepare_v2(file_.get(), sql.c_str(), -1, &made, nullptr) == SQLITE_OK);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement(made, &sqlite3_finalize);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      // Compressed texts are blobs, all else is text, which SQLite compares with texts only.
      const bool text = parameters[i].find('\0') == std::string::npos;
      const auto bind = text ? sqlite3_bind_text(made, static_cast<int>(i) + 1, parameters[i].data(),
                                                 static_cast<int>(parameters[i].size()), SQLITE_TRANSIENT)
                             : sqlite3_bind_blob(made, static_cast<int>(i) + 1, parameters[i].data(),
                                                 static_cast<int>(parameters[i].size()), SQLITE_TRANSIENT);
      require(bind == SQLITE_OK);
    }
    Rows result;
    int state = SQLITE_ROW;
    while ((state = sqlite3_step(made)) == SQLITE_ROW) {
      result.emplace_back();
      for (int i = 0; i < sqlite3_column_count(made); ++i) {
        if (sqlite3_column_type(made, i) == SQLITE_FLOAT) {  // as a text it would lose its last digits
          result.back().push_back(fmt::format("{}", sqlite3_column_double(made, i)));
          continue;
        }
        const void* const bytes = sqlite3_column_blob(made, i);
        const int size = sqlite3_column_bytes(made, i);
        result.back().push_back(bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), size));
      }
    }
    require(state == SQLITE_DONE);
    return result;
  }

  std::string text_of(const std::string& bytes) const {
    if (const std::optional<std::string> text = unpacked(bytes)) return *text;
    throw InputError(path_, "has an answer that is damaged", kRemedy);
  }

  std::string path_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> file_{nullptr, &sqlite3_close};
};

std::unique_ptr<AnswerFile> open_sqlite(const std::string& path, bool make) {
  return std::make_unique<SqliteFile>(path, make);
}

}  // namespace
}  // namespace chorale

CHORALE_PLUGIN chorale_sqlite_plugin() {
  static const chorale::SqlitePlugin plugin = {.open = chorale::open_sqlite};
  return &plugin;
}
