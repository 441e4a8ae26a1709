// Lines are appended as results come, so the log of a run that was killed is complete but for its last
// line, which has no line end and is dropped. The heading has the program and the machine: times of others
// would be taken for this one's. Sizes are part of the program's text.
#include "tensor/tuner/tune_log.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "ir/json_reader.h"
#include "tensor/language/text.h"

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

// Line by line, so that an error names its line.
TuneLog::TuneLog(const Workload& workload, std::string machine, const NamedText& log)
    : program_(on_one_line(workload)), machine_(std::move(machine)) {
  std::string_view lines = log.text;
  for (int number = 1; !lines.empty(); ++number) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) return;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    const JsonReader json = parse_json_line(line, log.path, number);
    if (number == 1) {
      json.require_object({"chorale_tuning_log", "program", "machine"});
      json["chorale_tuning_log"].integer(2, 2);
      if (json["program"].text(kLongestLogText) != program_)
        json.fail("it is the log of another program, or of other sizes", "start a new one");
      if (json["machine"].text(kLongestLogText) != machine_)
        json.fail("it is the log of another machine", "start a new one");
      continue;
    }
    // Prices are validated and dropped, and so are failures: both are found again.
    json.require_object({"script", "price_us", "measured_us", "with", "execution", "failed"});
    const double most = std::numeric_limits<double>::max();
    const std::string script = json["script"].text(kLongestLogText);
    Execution execution = execution_from_json(json["execution"]);
    if (json.has("price_us")) json["price_us"].number(0, most);
    if (json.has("measured_us"))
      measured_[script].push_back({.with = json["with"].text(),
                                   .execution = std::move(execution),
                                   .us = json["measured_us"].number(0, most)});
  }
}

std::string TuneLog::heading() const {
  return fmt::format(R"({{"chorale_tuning_log":2,"program":{},"machine":{}}})", quoted(program_),
                     quoted(machine_));
}

std::vector<Measurement> TuneLog::measured(const std::string& script) const {
  const auto it = measured_.find(script);
  return it == measured_.end() ? std::vector<Measurement>() : it->second;
}

std::string priced_line(const Candidate& candidate) {
  return fmt::format(R"({{"script":{},"price_us":{},"execution":{}}})", quoted(candidate.script),
                     candidate.price.us, to_json(candidate.price.execution));
}

std::string measured_line(const Candidate& candidate, const Measurement& measurement) {
  return fmt::format(R"({{"script":{},"measured_us":{},"with":{},"execution":{}}})", quoted(candidate.script),
                     measurement.us, quoted(measurement.with), to_json(measurement.execution));
}

std::string failed_line(const Candidate& candidate, const std::string& with, const Execution& execution) {
  return fmt::format(R"({{"script":{},"failed":{},"with":{},"execution":{}}})", quoted(candidate.script),
                     quoted(candidate.failure), quoted(with), to_json(execution));
}

}  // namespace chorale
