#include "workload/tune_log.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "workload/text.h"

namespace chorale {
namespace {

constexpr std::size_t kLongestLogText = 1 << 20;

// Texts of a JSON string are without control characters, so the lines of a program are joined by bars.
std::string on_one_line(const Workload& workload) {
  std::string text = to_text(workload);
  for (char& c : text)
    if (c == '\n') c = '|';
  return text;
}

}  // namespace

TuneLog::TuneLog(const Workload& workload, const NamedText& log) : program_(on_one_line(workload)) {
  std::string_view lines = log.text;
  for (int number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) return;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const JsonReader json = parse_json_line(line, log.path, number);
    if (number == 1) {
      json.require_object({"chorale_tuning_log", "program"});
      json["chorale_tuning_log"].integer(1, 1);
      if (json["program"].text(kLongestLogText) != program_)
        json.fail("it is the log of another program, or of other sizes", "start a new one");
      continue;
    }
    json.require_object({"script", "price_us", "measured_us"});
    const double most = std::numeric_limits<double>::max();
    const std::string script = json["script"].text(kLongestLogText);
    if (json.has("price_us")) json["price_us"].number(0, most);
    if (json.has("measured_us")) measured_[script] = json["measured_us"].number(0, most);
  }
}

std::string TuneLog::heading() const {
  return fmt::format(R"({{"chorale_tuning_log":1,"program":{}}})", quoted(program_));
}

std::optional<double> TuneLog::measured(const std::string& script) const {
  const auto it = measured_.find(script);
  return it == measured_.end() ? std::optional<double>() : it->second;
}

std::string priced_line(const Candidate& candidate) {
  return fmt::format(R"({{"script":{},"price_us":{}}})", quoted(candidate.script), candidate.price.us);
}

std::string measured_line(const Candidate& candidate) {
  return fmt::format(R"({{"script":{},"measured_us":{}}})", quoted(candidate.script),
                     candidate.measured_us.value_or(0));
}

}  // namespace chorale
