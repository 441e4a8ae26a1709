// nccl-tests: columns size, count, type, redop, root, time (us), ...; lines of # around them, of which newer
// ones name the test. OSU: a title "# OSU MPI Latency Test v7.2", then lines of size and number:
// microseconds, or MB/s. A row of each:
//   1048576  262144  float  sum  -1  45.30  23.15  43.40  0
//   65536    12.42
#include "topology/import/timing_log.h"

#include <fmt/format.h>

#include <sstream>

#include "ir/error.h"
#include "ir/shown.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr std::size_t kMostLines = 100'000;

enum class LogKind { Unknown, Nccl, Latency, Bandwidth };

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& file, TimingOf of)
      : text_(std::string(text)), file_(file), collective_(of == TimingOf::Collective) {}

  // Lines of numbers before a title are skipped: what their columns are is not known yet.
  TimingLog read() {
    for (std::string line; std::getline(text_, line);) {
      if (++line_ > kMostLines)
        throw InputError(file_, fmt::format("has over {} lines", kMostLines), "give the log of one run");
      const std::size_t at = line.find_first_not_of(" \t\r");
      if (at == line.npos) continue;
      if (line[at] == '#')
        title(line);
      else if (kind_ != LogKind::Unknown && line[at] >= '0' && line[at] <= '9')
        row(line);
    }
    if (kind_ == LogKind::Unknown)
      throw InputError(file_, "is not a known log",
                       collective_ ? "give one of nccl-tests or of OSU's collectives"
                                   : "give one of sendrecv_perf, osu_latency or osu_bw");
    if (log_.bytes.empty()) throw InputError(file_, "has no times in it", "give the log of a whole run");
    log_.kind = kind_ == LogKind::Nccl      ? "nccl-tests"
                : kind_ == LogKind::Latency ? "OSU's latency"
                                            : "OSU's bandwidth";
    log_.rates_only = kind_ == LogKind::Bandwidth;
    return std::move(log_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const {
    throw InputError(fmt::format("{}:{}", file_, line_), problem, remedy);
  }

  // The titles decide what the columns are; a log of another test is refused, since its times would be taken
  // for those of a link, or of another collective.
  void title(const std::string& line) {
    const auto has = [&](const char* words) { return line.find(words) != line.npos; };
    if (has("OSU") && has("Test")) {  // "# OSU MPI-CUDA Latency Test v7.2"
      std::istringstream words(line);
      std::string hash, osu, mpi, what, test;
      words >> hash >> osu >> mpi >> what >> test;
      const bool of_collective = test == "Latency";  // "# OSU MPI Allreduce Latency Test v7.2"
      if (of_collective) words >> test;
      if (osu != "OSU" || !mpi.starts_with("MPI") || test != "Test" || of_collective != collective_ ||
          (!of_collective && what != "Latency" && what != "Bandwidth"))
        fail("is of another test: " + shown(line).substr(0, 60),
             collective_ ? "give one of a collective, such as osu_allreduce"
                         : "give one of osu_latency or osu_bw");
      kind_ = what == "Bandwidth" ? LogKind::Bandwidth : LogKind::Latency;
    } else if (has("_perf") && has("sendrecv_perf") == collective_) {
      fail("is of another test: " + shown(line).substr(0, 60),
           collective_ ? "give a log of a collective, such as all_reduce_perf"
                       : "give a log of sendrecv_perf: collectives do not show single links");
    } else if (has("redop") && has("busbw")) {
      kind_ = LogKind::Nccl;
    }
  }

  double number(const std::string& word) const {
    const double value = number_in<double>(word).value_or(-1);
    if (value < 0)
      fail("'" + shown(word).substr(0, 40) + "' is not a number of the expected kind",
           "give the log as it was");
    return value;
  }

  // Of nccl-tests the time out of place, in column 5; the columns in place are behind it.
  void row(const std::string& line) {
    const std::vector<std::string> words = words_in(line);
    const std::size_t column = kind_ == LogKind::Nccl ? 5 : 1;
    if (words.size() <= column) fail("ends before its time", "give the log as it was");
    const double bytes = number(words[0]), value = number(words[column]);
    if (bytes > 1e15) fail("has a message of more than 10^15 bytes", "give the log as it was");
    if (bytes == 0) return;
    if (!(value > 0)) fail("has a time or rate of 0", "measure again, or leave the line out");
    log_.bytes.push_back(static_cast<std::int64_t>(bytes));
    log_.us.push_back(kind_ == LogKind::Bandwidth ? bytes / value : value);  // MB/s are bytes a microsecond
  }

  std::istringstream text_;
  const std::string file_;
  const bool collective_;
  std::size_t line_ = 0;
  LogKind kind_ = LogKind::Unknown;
  TimingLog log_ = {};
};

}  // namespace

TimingLog read_timing_log(std::string_view text, const std::string& file, TimingOf of) {
  return LogReader(text, file, of).read();
}

}  // namespace chorale
