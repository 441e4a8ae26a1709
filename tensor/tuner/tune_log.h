// The log of the tuner, a JSON object a line, so that a run that was ended can be taken up: what was measured
// is not measured again. Prices are computed anew, since they take no time and the numbers may be others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/files.h"
#include "tensor/language/workload.h"
#include "tensor/tuner/candidate.h"

namespace chorale {

class TuneLog {
 public:
  // Of a program on a machine, from the lines of an earlier run. A last line without an end was cut off, and
  // does not count. Throws InputError ("FILE:LINE: ...") for lines that are not measurements, or are of
  // another program or machine.
  TuneLog(const Workload&, std::string machine, const NamedText& lines);

  std::string heading() const;  // {"chorale_tuning_log":2,"program":"...","machine":"ring:4"}
  std::vector<Measurement> measured(const std::string& script) const;

 private:
  std::string program_, machine_;
  std::map<std::string, std::vector<Measurement>> measured_;  // by script
};

// {"script":"...","price_us":12.5,"execution":{..}},
// {"script":"...","measured_us":13.25,"with":"threads","execution":{..}},
// {"script":"...","failed":"...","with":"threads","execution":{..}}: that one is for people, and tried again.
std::string priced_line(const Candidate&);
std::string measured_line(const Candidate&, const Measurement&);
std::string failed_line(const Candidate&, const std::string& with, const Execution&);

}  // namespace chorale
