// The log of the tuner, a JSON object a line, so that a run that was ended can be taken up: what was measured is not
// measured again. Prices are computed anew, since they take no time and the numbers may be others.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/files.h"
#include "ir/workload.h"
#include "workload/tune.h"

namespace chorale {

class TuneLog {
 public:
  // Of a program, from the lines of an earlier run. A last line without an end was cut off, and does not count. Throws
  // InputError ("FILE:LINE: ...") for lines that are none, or of another program.
  TuneLog(const Workload&, const NamedText& lines);

  std::string heading() const;  // {"chorale_tuning_log":1,"program":"..."}
  std::optional<double> measured(const std::string& script) const;

 private:
  std::string program_;
  std::map<std::string, double> measured_;  // by script
};

std::string priced_line(const Candidate&);    // {"script":"...","price_us":12.5}
std::string measured_line(const Candidate&);  // {"script":"...","measured_us":13.25}

}  // namespace chorale
