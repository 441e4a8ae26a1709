// What a job would gain: its collectives (api/job_calls.h) on a machine, by the algorithms of a library, or
// by those that a short search finds, beside the baselines.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "api/job_calls.h"
#include "api/optimize.h"
#include "library/answers.h"

namespace chorale {

struct JobGainRow {
  JobCalls calls = {};
  std::string level = {};     // of the machine, whose groups do it: "all", "node"; "": none has so many ranks
  std::string baseline = {};  // the fastest, by name
  double baseline_us = 0;     // of one call
  double us = 0;              // of one call; 0: not known
};

struct JobGain {
  std::vector<JobGainRow> rows = {};  // as in the job
  double baseline_us = 0;             // of all calls of rows with times, one after the other
  double us = 0;
  double measured_us = 0;  // of the same calls, in the trace; 0: not all have times
  double duration_us = 0;  // of the trace
};

struct JobQuestion {
  std::string machine = {};       // as in a library, or as machine() takes it
  AnswerFile* library = nullptr;  // null: none; each collective is searched
  std::string library_name = {};  // what errors call it
  BaselineSet baselines = BaselineSet::Auto;
  std::chrono::milliseconds search_time{2'000};  // of each collective and level
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string& doing)> progress = {};
};

// Times are predicted, by the links' alpha and beta. A group is taken for a level of the machine with as many
// ranks, by its members if the trace has them. Throws InputError where the library lacks one of them.
JobGain job_gain(const TracedJob&, const JobQuestion&);

// "your job would gain up to 12.0 % by these: its collectives took 400 ms of 1 s, ..." where the trace has
// times and a duration; else "the collectives of your job would take 30.0 % less: ...", which is predicted.
std::string in_words(const JobGain&, const std::string& machine);

// The specification of a library for this job: all its collectives, levels and sizes.
std::string library_spec(const JobGain&, const std::string& machine);

// {"chorale_job": 1, "duration_us", "calls": [fields of JobCalls], "skipped": [{"operation", "calls"}],
// and of a gain "machine", "gain": the sentence, "rows": [...]}; docs/formats.md.
std::string to_json(const TracedJob&, const JobGain* gain = nullptr, const std::string& machine = "");

}  // namespace chorale
