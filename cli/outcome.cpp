// A document for standard output (--json -) displaces the text for people, which goes to standard error then.
// All of it passes shown() or shown_lines(): names from files cannot steer the terminal. Notes and errors are
// one line each.
#include "cli/outcome.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "api/report.h"
#include "ir/error.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

void print(const std::string& text, std::FILE* to) {
  std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace

int exit_code_of(Stopped stopped) {
  return stopped == Stopped::No ? kFound : stopped == Stopped::Interrupted ? kInterrupted : kUndecided;
}

void deliver(const std::string& path, std::string contents, Outcome& outcome) {
  if (path == kStandardOutput) {
    outcome.document = std::move(contents);
  } else {
    outcome.files.push_back({path, std::move(contents)});
    outcome.written.push_back(path);
  }
}

Outcome reported(const Report& report, const std::string& html) {
  Outcome outcome{.text = text_of(report), .notes = report.notes};
  if (!html.empty()) deliver(html, to_page(report), outcome);
  return outcome;
}

Outcome reported(Report report, Stopped stopped, const std::string& cut, const std::string& html) {
  if (stopped != Stopped::No) report.sentences.push_back(fmt::format("{} ({})", cut, name_of(stopped)));
  Outcome outcome = reported(report, html);
  outcome.exit_code = exit_code_of(stopped);
  return outcome;
}

void deliver(const std::string& folder, std::vector<NamedText> files, Outcome& outcome) {
  for (NamedText& file : in_folder(folder, std::move(files)))
    deliver(file.path, std::move(file.text), outcome);
}

// In this order: the document, the text, what was written, then notes and errors. What could not be written
// is an error, since a script would else take half a document for a whole one.
void say(const Outcome& outcome, bool quiet) {
  print(outcome.document, stdout);
  if (!quiet) {
    std::FILE* const people = outcome.document.empty() ? stdout : stderr;
    const std::string text = shown_lines(outcome.text);
    print(outcome.verbatim ? text : fitted(text), people);
    for (const std::string& path : outcome.written) print("wrote " + shown(path) + "\n", people);
  }
  if (!quiet)
    for (const std::string& note : outcome.notes) print("chorale: note: " + shown(note) + "\n", stderr);
  for (const std::string& error : outcome.errors) print("chorale: error: " + shown(error) + "\n", stderr);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw InputError("standard output", "cannot be written", "check the space on it");
}

// A table is laid out in the first of four forms that fits: as it is; without columns that may be left out (R
// and L), the last of them first; with its last column in lines of its own, where at least 40 characters are
// left for it; with its last columns under their rows.

// COLUMNS comes first, so that tests and pipes have a fixed width.

namespace {

constexpr long kUsual = 80;
constexpr long kLeast = 40;  // tables are illegible in less
constexpr long kMost = 1000;

long columns() {
  if (const char* const set = std::getenv("COLUMNS"))
    if (const long wanted = std::strtol(set, nullptr, 10); wanted > 0) return wanted;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUsual;
}

}  // namespace

// Asked once: a window that is resized during a command does not change the form of its tables.
std::size_t text_width() {
  static const auto width = static_cast<std::size_t>(std::clamp(columns(), kLeast, kMost));
  return width;
}

namespace {

using Row = TableRows::value_type;

constexpr std::size_t kGap = 2;            // between columns
constexpr std::size_t kFolded = 4;         // before what is folded under a row
constexpr std::size_t kLeastWrapped = 40;  // less is a tall column of few words

// Characters of UTF-8: bytes 10xxxxxx continue one. Each counts as one column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

// Cells are filled up to the width of their column, which no line needs at its end.
std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The text broken at whitespace: a first line of at most `first` characters, the others of at most `others`.
// Each line takes as many words as fit, and one at least; spaces at the beginning of the text are kept, as an
// indent.
std::vector<std::string> broken_after(std::size_t first, std::string text, std::size_t others) {
  std::vector<std::string> lines;
  for (std::size_t most = first; width_of(text) > most; most = others) {
    std::size_t end = text.find(' ', text.find_first_not_of(' '));
    for (std::size_t next = end; next != std::string::npos && width_of(text.substr(0, next)) <= most;
         next = text.find(' ', next + 1))
      end = next;
    const std::size_t rest = text.find_first_not_of(' ', end);
    if (rest == std::string::npos) break;  // one long word
    lines.push_back(trimmed(text.substr(0, end)));
    text = text.substr(rest);
  }
  lines.push_back(text);
  return lines;
}

std::string below_each_other(const std::vector<std::string>& lines, std::size_t indent) {
  return joined(lines, "\n" + blanks(indent));
}

// Where the lines that follow a broken one begin: under what comes after the first gap of two spaces, if that
// is within half the width ("steps:   at least 3" continues under "at"), else two spaces further in than the
// line.
std::size_t hanging(const std::string& line, std::size_t width) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), width / 2);
  const std::size_t gap = line.find("  ", indent);
  const std::size_t column = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return column < width / 2 ? column : indent + 2;
}

std::string fitted_line(const std::string& line, std::size_t width) {
  if (width_of(line) <= width) return line;
  const std::size_t indent = hanging(line, width);
  return below_each_other(broken_after(width, line, width - indent), indent);
}

std::vector<std::size_t> widths_of(const TableRows& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  return widths;
}

// How wide the first `count` columns are together.
std::size_t together(const std::vector<std::size_t>& widths, std::size_t count) {
  return std::accumulate(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(count),
                         count > 0 ? kGap * (count - 1) : 0);
}

// The last column that may be left out, if there is one.
bool leave_one_out(TableRows& rows, std::string& kinds) {
  const std::size_t column = kinds.find_last_of("RL");
  if (column == std::string::npos) return false;
  const auto at = static_cast<std::ptrdiff_t>(column);
  kinds.erase(column, 1);
  for (Row& row : rows)
    if (row.size() > column) row.erase(row.begin() + at);
  return true;
}

// The first `count` cells of a row, in their columns.
std::string cells(const Row& row, std::size_t count, const std::vector<std::size_t>& widths,
                  const std::string& kinds) {
  std::string line;
  for (std::size_t i = 0; i < std::min(count, row.size()); ++i) {
    if (i > 0) line += blanks(kGap);
    const std::string filling = blanks(widths[i] - width_of(row[i]));
    const bool numbers = kinds[i] == 'r' || kinds[i] == 'R';
    line += numbers ? filling + row[i] : row[i] + filling;
  }
  return line;
}

// The last column in lines of its own column.
std::string wrapped(const Row& row, std::size_t before, const std::vector<std::size_t>& widths,
                    const std::string& kinds, std::size_t width) {
  const std::size_t column = together(widths, before) + kGap;
  const std::string head = cells(row, before, widths, kinds);
  if (row.size() <= before) return trimmed(head) + "\n";
  return head + blanks(kGap) + below_each_other(broken(row[before], width - column), column) + "\n";
}

// The cells from `count` on under those before.
std::string folded(const Row& row, std::size_t count, const std::vector<std::size_t>& widths,
                   const std::string& kinds, std::size_t width) {
  std::string text = trimmed(cells(row, count, widths, kinds)) + "\n", below;
  for (std::size_t i = count; i < row.size(); ++i)
    if (!row[i].empty()) below += (below.empty() ? "" : "; ") + row[i];
  if (below.empty()) return text;
  return text + blanks(kFolded) + below_each_other(broken(below, width - kFolded), kFolded) + "\n";
}

}  // namespace

std::vector<std::string> broken(const std::string& text, std::size_t width) {
  return broken_after(width, text, width);
}

std::string fitted(const std::string& text, std::size_t width) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result += fitted_line(text.substr(begin, end - begin), width);
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return result;
}

std::string table(TableRows rows, std::string kinds, std::size_t width) {
  for (Row& row : rows)
    for (std::string& cell : row) cell = shown(cell);  // as wide as it will be
  std::vector<std::size_t> widths = widths_of(rows);
  kinds.resize(widths.size(), 'l');
  // Columns are left out first; then one form holds for all rows.
  while (together(widths, widths.size()) > width && leave_one_out(rows, kinds)) widths = widths_of(rows);
  const std::size_t columns = widths.size();
  const bool fits = together(widths, columns) <= width;
  const bool wraps = !fits && together(widths, columns - 1) + kGap + kLeastWrapped <= width;
  std::size_t kept = columns;
  while (!fits && kept > 1 && together(widths, kept) > width) --kept;
  std::string text;
  for (const Row& row : rows)
    text += fits    ? trimmed(cells(row, columns, widths, kinds)) + "\n"
            : wraps ? wrapped(row, columns - 1, widths, kinds, width)
                    : folded(row, kept, widths, kinds, width);
  return text;
}

std::string text_of(const Report& report) {
  std::string text;
  for (const ReportTable& each : report.tables) {
    if (!each.title.empty()) text += (text.empty() ? "" : "\n") + each.title + "\n";
    text += table(each.rows, each.kinds);
  }
  for (const std::string& sentence : report.sentences) text += sentence + "\n";
  return text;
}

}  // namespace chorale
