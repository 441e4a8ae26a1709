// nccl-tests: since 2.4 columns size, count, type and, by test and version, redop and root; then time (us),
// algbw, busbw, and errors out of place, and the same in place. Before it bytes, N, and time in ms. Lines of
// # around them; newer versions name the test. OSU: a title "# OSU MPI Latency Test v7.2", titles of columns,
// rows of size and number: microseconds, or MB/s. JSON is that of nccl-tests' option -J. A row of each:
//   1048576  262144  float  sum  -1  45.30  23.15  43.40  0
//   65536    12.42
#include "topology/import/timing_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <utility>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/shown.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr std::size_t kMostLogLines = 100'000;
constexpr const char* kWholeLog = "give the log as it was";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A pattern in which 0 is a digit, and every other character itself.
bool begins_like(std::string_view text, std::string_view pattern) {
  return text.size() >= pattern.size() && std::ranges::equal(pattern, text.substr(0, pattern.size()), {}, {},
                                                             [](char c) { return is_digit(c) ? '0' : c; });
}

// How much of a line is one prefix: "[1,0]<stdout>:" of mpirun, "[0]", "3: " of srun, "node-1: ", a date, a
// time with fractions and zone. 0: none.
std::size_t prefix_length(std::string_view line) {
  const auto to_end_of = [&](std::size_t at, std::string_view more) {
    while (at < line.size() && (is_digit(line[at]) || more.find(line[at]) != more.npos)) ++at;
    return at;
  };
  if (line.starts_with("[")) {
    std::size_t end = line.find(']');
    if (end == line.npos) return 0;
    ++end;
    for (const std::string_view stream : {"<stdout>", "<stderr>"})
      if (line.substr(end).starts_with(stream)) end += stream.size();
    return end + (line.substr(end).starts_with(":") ? 1 : 0);
  }
  if (begins_like(line, "0000-00-00"))
    return line.size() > 10 && line[10] == 'T' ? to_end_of(11, ":.,Z+-") : 10;
  if (begins_like(line, "00:00:00")) return to_end_of(8, ".,Z+-:");
  // A rank, or a host; not the title of a column or a word of a sentence behind a #.
  const std::size_t colon = line.find(": ");
  if (colon == 0 || colon == line.npos || colon > 64) return 0;
  const auto is_of_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
  };
  return std::ranges::all_of(line.substr(0, colon), is_of_a_name) ? colon + 1 : 0;
}

std::string_view without_blanks(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  return begin == line.npos ? std::string_view()
                            : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

std::string_view without_prefixes(std::string_view line) {
  line = without_blanks(line);
  for (std::size_t length; (length = prefix_length(line)) > 0;) line = without_blanks(line.substr(length));
  return line;
}

// What a test of nccl-tests measures, by the name of its program.
struct NcclTest {
  const char* program;
  TimingOf of;
  CollectiveKind collective;
};
constexpr NcclTest kNcclTests[] = {
    {"sendrecv_perf", TimingOf::Messages, CollectiveKind::Custom},
    {"all_reduce_perf", TimingOf::Collective, CollectiveKind::AllReduce},
    {"all_gather_perf", TimingOf::Collective, CollectiveKind::Allgather},
    {"reduce_scatter_perf", TimingOf::Collective, CollectiveKind::ReduceScatter},
    {"alltoall_perf", TimingOf::Collective, CollectiveKind::Alltoall},
    {"broadcast_perf", TimingOf::Collective, CollectiveKind::Broadcast},
    {"reduce_perf", TimingOf::Collective, CollectiveKind::Reduce},
    {"gather_perf", TimingOf::Collective, CollectiveKind::Gather},
    {"scatter_perf", TimingOf::Collective, CollectiveKind::Scatter},
};

// Is the program named in the line? "all_reduce_perf" is in "/x/all_reduce_perf -b 8", and "reduce_perf" is
// not.
bool is_named(const std::string& line, const std::string& program) {
  const std::size_t at = line.find(program);
  return at != line.npos &&
         (at == 0 || (std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0 && line[at - 1] != '_'));
}

// The test that a line names; one without a name and a collective if it names another program; none.
std::optional<NcclTest> test_in(const std::string& line) {
  for (const NcclTest& each : kNcclTests)
    if (is_named(line, each.program)) return each;
  if (line.find("_perf") == line.npos) return std::nullopt;
  return NcclTest{"", TimingOf::Collective, CollectiveKind::Custom};
}

// By the words of OSU's titles, between "MPI" and "Latency". Blocks: sizes are of what a rank contributes, or
// of what it sends to one other.
struct OsuTest {
  const char* words;
  CollectiveKind collective;
  bool counts_blocks;
};
constexpr OsuTest kOsuTests[] = {
    {"Allreduce", CollectiveKind::AllReduce, false},
    {"Allgather", CollectiveKind::Allgather, true},
    {"Reduce_scatter", CollectiveKind::ReduceScatter, false},
    {"All-to-All Personalized Exchange", CollectiveKind::Alltoall, true},
    {"Alltoall", CollectiveKind::Alltoall, true},
    {"Broadcast", CollectiveKind::Broadcast, false},
    {"Bcast", CollectiveKind::Broadcast, false},
    {"Reduce", CollectiveKind::Reduce, false},
    {"Gather", CollectiveKind::Gather, true},
    {"Scatter", CollectiveKind::Scatter, true},
};

void set_test(TimingTable& table, const NcclTest& test, const std::string& line) {
  table.test = *test.program != '\0' ? test.program : shown(line).substr(0, 60);
  table.of = test.of;
  table.collective = test.collective;
}

// The options, of which the first is the program; a device for each process; and a result for each size, out
// of place as in text, or in place where that is all.
TimingTable read_nccl_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  if (!json.has("results")) json.fail("is not a known log", "give what nccl-tests writes with -J");
  TimingTable table{.kind = "nccl-tests", .line = 1};
  if (json.has("args"))
    if (const JsonReader args = json["args"]; args.size(kMostLogLines) > 0)
      if (const std::string program = args.at(0).text(4096); const auto test = test_in(program))
        set_test(table, *test, program);
  if (json.has("config") && json["config"].has("devices")) {
    const JsonReader config = json["config"];
    table.ranks = static_cast<int>(config["devices"].size(kMostLogLines)) *
                  config["nthreads"].integer(1, 4096) * config["ngpus"].integer(1, 4096);
  }
  for (const JsonReader& result : json["results"].elements(kMostLogLines)) {
    const std::int64_t bytes = result["size"].long_integer(0, 1'000'000'000'000'000);
    const bool in_place = !result.has("out_of_place") || result["out_of_place"].is_null();
    const JsonReader times = result[in_place ? "in_place" : "out_of_place"];
    const double us = times[times.has("cpu_time") ? "cpu_time" : "time"].number(0, 1e15);
    if (bytes > 0 && us <= 0) times.fail("has a time of 0", "measure again, or leave it out");
    if (bytes > 0)
      table.rows.push_back({.bytes = bytes, .us = us, .busbw_gbs = times["bus_bw"].number(0, 1e9)});
  }
  return table;
}

// Where a row has what; -1: nowhere.
struct LogColumns {
  int size = 0, time = -1, algbw = -1, busbw = -1;
  double us = 1;  // of a unit of the time
};

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& file) : text_(std::string(text)), file_(file) {}

  // Rows before titles are skipped: what their columns are is not known yet.
  std::vector<TimingTable> read() {
    if (without_blanks(text_.view()).starts_with("{"))
      tables_ = {read_nccl_json(text_.view(), file_)};
    else
      read_lines();
    if (tables_.empty())
      throw InputError(file_, "is not a known log", "give one of nccl-tests, rccl-tests or OSU's benchmarks");
    std::erase_if(tables_, [](const TimingTable& each) { return each.rows.empty(); });
    if (tables_.empty()) throw InputError(file_, "has no times in it", "give the log of a whole run");
    return std::move(tables_);
  }

 private:
  void read_lines() {
    for (std::string line; std::getline(text_, line);) {
      if (++line_ > static_cast<int>(kMostLogLines))
        throw InputError(file_, fmt::format("has over {} lines", kMostLogLines), "give the log of one run");
      const std::string_view text = without_prefixes(line);
      if (text.starts_with("#"))
        title(std::string(without_blanks(text.substr(1))));
      else if (is_bare_title(text))
        title(std::string(text));
      else if (columns_.time >= 0 && !text.empty() && is_digit(text.front()))
        row(std::string(text));
    }
  }

  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const {
    throw InputError(fmt::format("{}:{}", file_, line_), problem, remedy);
  }

  // Web pages lose the # of lines.
  static bool is_bare_title(std::string_view text) {
    const bool titles =
        (text.starts_with("size ") || text.starts_with("bytes ")) && text.find("busbw") != text.npos;
    return titles || text.starts_with("nThread ") || text.starts_with("Rank ");
  }

  TimingTable& begin_table() {
    columns_ = {};
    tables_.push_back({.line = line_});
    return tables_.back();
  }

  // A test begins with its name or with its options ("nThread ..."), whichever comes first; of older versions
  // it may begin with its titles.
  void title(const std::string& line) {
    const auto has = [&](const char* words) { return line.find(words) != line.npos; };
    if (line.starts_with("OSU ") && has(" Test")) return osu_title(line);
    if (const std::optional<NcclTest> test = test_in(line)) {
      if (!has("concluded")) set_test(begin_table(), *test, line);
      return;
    }
    if (line.starts_with("nThread ")) {
      if (tables_.empty() || columns_.time >= 0 || is_osu()) begin_table();
      return;
    }
    const std::vector<std::string> words = words_in(line);
    if (words.size() >= 2 && words[0] == "Rank" && !tables_.empty()) {
      tables_.back().ranks = std::max(tables_.back().ranks, number_in<int>(words[1]).value_or(-1) + 1);
      return;
    }
    if (is_osu() && !words.empty() && words[0] == "Size") return osu_columns(line);
    if (!words.empty() && (words[0] == "size" || words[0] == "bytes") && has("busbw")) nccl_columns(words);
  }

  bool is_osu() const { return !tables_.empty() && tables_.back().kind.starts_with("OSU"); }

  void nccl_columns(const std::vector<std::string>& words) {
    if (tables_.empty() || columns_.time >= 0 || is_osu()) begin_table();
    const auto column = [&](const char* name) {
      const auto at = std::ranges::find(words, name);
      return at == words.end() ? -1 : static_cast<int>(at - words.begin());
    };
    columns_.time = std::max(column("time"), column("cputime"));
    columns_.algbw = column("algbw");
    columns_.busbw = column("busbw");
    columns_.us = words[0] == "bytes" ? 1000 : 1;
    if (columns_.time < 0 || columns_.algbw < columns_.time)
      fail("has no column of times before that of algbw", kWholeLog);
    tables_.back().kind = "nccl-tests";
  }

  // "OSU MPI-CUDA Allreduce Latency Test v7.2"; without titles of columns the second one is meant.
  void osu_title(const std::string& line) {
    TimingTable& table = begin_table();
    table.test = shown(line).substr(0, 60);
    table.kind = "OSU's latency";
    table.of = TimingOf::Collective;
    columns_.time = 1;
    const std::string words = line.substr(0, line.find(" Test"));
    std::size_t begin = words.find(' ', 4);  // after "OSU MPI"
    begin = begin == words.npos ? words.size() : begin + 1;
    std::string what = words.substr(begin);
    if (what == "Latency" || what == "Bandwidth") {
      table.of = TimingOf::Messages;
      table.rates_only = what == "Bandwidth";
      if (table.rates_only) table.kind = "OSU's bandwidth";
      return;
    }
    for (const OsuTest& each : kOsuTests)
      if (what == std::string(each.words) + " Latency") {
        table.collective = each.collective;
        table.counts_blocks = each.counts_blocks;
      }
  }

  // Titles are more than one blank apart: "Size          Avg Latency(us)   Min Latency(us)".
  void osu_columns(const std::string& line) {
    int column = 0;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min({line.find("  ", at), line.find('\t', at), line.size()});
      const std::string_view name = std::string_view(line).substr(at, end - at);
      const char* const wanted = tables_.back().rates_only ? "Bandwidth" : "Latency";
      if (name.starts_with(wanted) || name.starts_with(std::string("Avg ") + wanted)) {
        columns_.time = column;
        return;
      }
      ++column;
      at = std::min(line.find_first_not_of(" \t", end), line.size());
    }
    const TimingTable& table = tables_.back();  // what is not one of ours may have columns of its own
    if (table.of == TimingOf::Messages || table.collective != CollectiveKind::Custom)
      fail(table.rates_only ? "has no column of bandwidths" : "has no column of latencies", kWholeLog);
  }

  double number(const std::string& word) const {
    const double value = number_in<double>(word).value_or(-1);
    if (value < 0)
      fail("'" + shown(word).substr(0, 40) + "' is not a number of the expected kind", kWholeLog);
    return value;
  }

  // Of nccl-tests the time out of place: the columns in place are behind it.
  void row(const std::string& line) {
    const std::vector<std::string> words = words_in(line);
    const int last = std::max({columns_.time, columns_.algbw, columns_.busbw});
    if (std::ssize(words) <= last) fail("ends before its time", kWholeLog);
    const double bytes = number(words[columns_.size]), value = number(words[columns_.time]) * columns_.us;
    if (bytes > 1e15) fail("has a message of more than 10^15 bytes", kWholeLog);
    if (bytes < 1) return;
    if (!(value > 0)) fail("has a time or rate of 0", "measure again, or leave the line out");
    TimingTable& table = tables_.back();
    TimingRow read = {.bytes = static_cast<std::int64_t>(bytes),
                      .us = table.rates_only ? bytes / value : value};
    if (columns_.algbw >= 0) require_rate(read, number(words[columns_.algbw]));
    if (columns_.busbw >= 0) read.busbw_gbs = number(words[columns_.busbw]);
    table.rows.push_back(read);
  }

  // Of two ranks older versions count half the size of an Allgather; more is another column, or a line that
  // was edited. Rates are printed with two digits behind the point.
  void require_rate(const TimingRow& read, double algbw) const {
    const double rate = static_cast<double>(read.bytes) / read.us / 1e3;
    if (algbw >= 1 && (algbw > 1.03 * rate || algbw < 0.47 * rate))
      fail(fmt::format("has an algbw of {:g} GB/s, and {} bytes in {:g} us are {:.4g}", algbw, read.bytes,
                       read.us, rate),
           kWholeLog);
  }

  std::istringstream text_;
  const std::string file_;
  int line_ = 0;
  LogColumns columns_ = {};
  std::vector<TimingTable> tables_ = {};
};

}  // namespace

std::vector<TimingTable> read_timing_log(std::string_view text, const std::string& file) {
  return LogReader(text, file).read();
}

TimingTable read_message_log(std::string_view text, const std::string& file) {
  std::vector<TimingTable> tables = read_timing_log(text, file);
  for (TimingTable& each : tables)
    if (each.of.value_or(TimingOf::Messages) == TimingOf::Messages) return std::move(each);
  throw InputError(fmt::format("{}:{}", file, tables.front().line),
                   "is of another test: " + tables.front().test,
                   "give one of sendrecv_perf, osu_latency or osu_bw");
}

}  // namespace chorale
