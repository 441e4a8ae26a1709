// Two formats of lines: NCCL_DEBUG=INFO, one line per call with counts of elements, and a table with a
// header, whose columns are found by name. Numbers that are malformed are refused with their line, since a
// job that is half read would give a wrong total.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "api/trace_readers.h"
#include "ir/error.h"

namespace chorale {
namespace {

constexpr std::string_view kNcclCall = ": opCount ";

// What follows the word on the line, up to a blank, a comma or a bracket; "": the line lacks it.
std::string after(const std::string& line, const std::string& word) {
  const std::size_t at = line.find(word);
  if (at == std::string::npos) return "";
  const std::size_t from = at + word.size(), end = line.find_first_of(" ,]", from);
  return line.substr(from, end == std::string::npos ? end : end - from);
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && std::isfinite(static_cast<double>(number));
  if (!is_number || end != text.data() + text.size() || number < 0) return {};
  return number;
}

std::string at_line(const TraceText& trace, int line) {
  return trace.file + ": line " + std::to_string(line);
}

std::int64_t required(std::string_view text, const std::string& what, const TraceText& trace, int line,
                      std::int64_t most = kMostTracedBytes) {
  if (const auto number = number_in<std::int64_t>(text); number && *number <= most) return *number;
  throw InputError(at_line(trace, line), "'" + std::string(text.substr(0, 40)) + "' is not " + what);
}

// Bytes of ncclDataType_t, by number: signed and unsigned of 8, 32 and 64 bits, half, float, double,
// bfloat16, and two of 8 bits.
constexpr std::array<int, 12> kNcclTypes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

// The message of a block of this size; of an operation that is not known the block: it is skipped.
double message_of(const std::string& operation, int ranks, double block) {
  const std::optional<CollectiveKind> kind = kind_spelled(operation);
  return kind ? block * blocks_of(*kind, ranks) : block;
}

// Quotes are removed and mean nothing: a cell with a comma in it is two.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line + ",");  // so that an empty last cell is one
  for (std::string cell; std::getline(text, cell, ',');) {
    const std::size_t from = cell.find_first_not_of(" \t\r\""), to = cell.find_last_not_of(" \t\r\"");
    cells.push_back(from == std::string::npos ? "" : cell.substr(from, to + 1 - from));
  }
  return cells;
}

}  // namespace

bool is_nccl_log(std::string_view text) {
  return text.find(" NCCL INFO ") != std::string_view::npos;
}

// "host:pid:tid [0] NCCL INFO AllReduce: opCount 5 sendbuff 0x.. recvbuff 0x.. count 1024 datatype 7 op 0
// root 0 comm 0x.. [nranks=8] stream 0x..": the count is of a block where ranks have blocks.
void read_nccl_log(const TraceText& trace, TraceTally& tally) {
  std::istringstream lines(trace.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t info = line.find(" NCCL INFO "), call = line.find(kNcclCall);
    if (info == std::string::npos || call == std::string::npos || call < info) continue;
    const std::string operation = line.substr(info + 11, call - info - 11);
    const auto count = required(after(line, " count "), "a count", trace, number);
    const auto type = required(after(line, " datatype "), "the number of a type", trace, number);
    const auto ranks = static_cast<int>(
        required(after(line, "[nranks="), "a number of ranks", trace, number, kMostTracedRanks));
    // A type of a later NCCL: without its size the bytes are not known.
    if (type >= std::ssize(kNcclTypes))
      throw InputError(at_line(trace, number), "datatype " + std::to_string(type) + " is not known");
    // A communicator has an address in each process: by its ranks they are alike.
    tally.add(line.substr(0, info),
              {.operation = operation,
               .group = std::to_string(ranks) + " ranks",
               .ranks = ranks,
               .message_bytes =
                   whole_bytes(message_of(operation, ranks, static_cast<double>(count) * kNcclTypes[type]),
                               at_line(trace, number))});
  }
}

// "collective,ranks,bytes,calls,us" in any order; other columns, and lines that begin with '#', are ignored.
void read_table(const TraceText& trace, TraceTally& tally) {
  std::istringstream lines(trace.text);
  std::vector<std::string> header;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line);
    if (header.empty()) {
      header = cells;
      for (const char* const needed : {"collective", "ranks", "bytes"})
        if (std::ranges::find(header, needed) == header.end())
          throw InputError(at_line(trace, number),
                           std::string("is not a known trace, nor a table with a column '") + needed + "'",
                           kKnownTraces);
      continue;
    }
    if (cells.size() != header.size())
      throw InputError(at_line(trace, number), "has other columns than the header");
    const auto cell = [&](const char* name) -> std::string {
      const auto at = std::ranges::find(header, name);
      return at == header.end() ? "" : cells[at - header.begin()];
    };
    const std::string calls = cell("calls"), us = cell("us");
    const auto ranks =
        static_cast<int>(required(cell("ranks"), "a number of ranks", trace, number, kMostTracedRanks));
    const std::int64_t times = calls.empty() ? 1 : required(calls, "a number of calls", trace, number);
    const auto took = us.empty() ? std::optional(0.0) : number_in<double>(us);
    if (!took) throw InputError(at_line(trace, number), "'" + us.substr(0, 40) + "' is not a time");
    TracedCall call{.operation = cell("collective"),
                    .group = cell("group").empty() ? std::to_string(ranks) + " ranks" : cell("group"),
                    .ranks = ranks,
                    .message_bytes = required(cell("bytes"), "a number of bytes", trace, number)};
    call.calls = times;
    call.us = *took;
    tally.add(trace.file, std::move(call));
  }
}

}  // namespace chorale
