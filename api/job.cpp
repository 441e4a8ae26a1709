// Each group of the job is matched with a level of the machine, by its members if the trace has them, else by
// the number of ranks. Rows of one collective on one level are one question, so a search is made once for all
// of their sizes. Gains are sums over calls, as if none overlapped another or computation: an upper bound on
// what is saved.
#include "api/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/inputs.h"
#include "api/levels.h"
#include "api/library.h"
#include "cost/busbw.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/json_writer.h"
#include "ir/words.h"
#include "library/groups.h"
#include "library/select.h"

namespace chorale {
namespace {

// The groups of a machine by the names that libraries have for them: "all", and its levels.
std::vector<std::pair<std::string, std::vector<RankGroup>>> levels_of(const std::string& machine, int ranks) {
  RankGroup whole(ranks);
  for (Rank n = 0; n < ranks; ++n) whole[n] = n;
  std::vector<std::pair<std::string, std::vector<RankGroup>>> levels = {{"all", {whole}}};
  if (const std::optional<Nesting> nested = nesting_if_any(machine))
    for (int level = 0; level < std::ssize(nested->names); ++level)
      levels.emplace_back(nested->names[level], groups_at(*nested, {level}));
  return levels;
}

// A level of the machine, and one of its groups: all groups of a level are taken for equal.
struct JobLevel {
  std::string name = {};
  RankGroup group = {};
};

// By the members if they are known, else by the number of ranks: then the first level with a group of that
// size, "all" before all others. Members that are not a group of the machine have no level.
std::optional<JobLevel> level_of(const JobCalls& calls,
                                 const std::vector<std::pair<std::string, std::vector<RankGroup>>>& levels) {
  const RankGroup* of_size = nullptr;
  std::string name;
  for (const auto& [level, groups] : levels)
    for (const RankGroup& group : groups) {
      if (std::ssize(group) != calls.ranks) continue;
      if (!calls.members.empty() && in_words(group) == calls.members) return JobLevel{level, group};
      if (of_size == nullptr) {
        of_size = &group;
        name = level;
      }
    }
  if (of_size == nullptr || !calls.members.empty()) return {};
  return JobLevel{name, *of_size};
}

// What all rows of one collective on one level ask.
struct AskedOfJob {
  Topology topology = {};
  std::vector<JobGainRow*> rows = {};
};

// Of all answers at the level the fastest point at each size. A missing answer is an error: a total without
// it would not be that of the job.
void time_by_library(const JobQuestion& question, const std::string& level, const std::string& collective,
                     const AskedOfJob& asked) {
  std::vector<Result> results;
  for (TakenAnswer& taken :
       results_at(*question.library, question.library_name,
                  {.machine = question.machine, .group = level, .collective = collective}))
    results.push_back(std::move(taken.result));
  for (JobGainRow* const row : asked.rows) {
    const Collective& of = results.front().collective;
    const auto block = static_cast<double>(block_of_size(message_shape(of), row->calls.message_bytes));
    const auto best = select(results, call_of(of, block));
    if (!best)
      throw InputError(question.library_name, "has no schedule for " + collective,
                       "build it with other limits");
    row->us = best->us;
  }
}

// The baselines are timed in any case; the search ends at once where a library has the answers.
void time_by_search(const JobQuestion& question, const std::string& collective, const AskedOfJob& asked) {
  OptimizeQuestion sizes{.baselines = question.baselines};
  std::set<std::int64_t> known;
  for (const JobGainRow* const row : asked.rows) known.insert(row->calls.message_bytes);
  sizes.message_bytes.assign(known.begin(), known.end());
  sizes.search.time_limit =
      question.library != nullptr ? std::chrono::milliseconds(200) : question.search_time;
  sizes.search.synthesis.limits.stop = question.stop;
  const Optimized found = optimize(asked.topology, communication(collective, asked.topology, {}), sizes);
  for (JobGainRow* const row : asked.rows) {
    const auto at = std::ranges::find(found.rows, row->calls.message_bytes, &OptimizedRow::message_bytes);
    if (at == found.rows.end()) continue;
    row->baseline = at->baseline;
    row->baseline_us = at->baseline_us;
    if (question.library == nullptr) row->us = at->us;
  }
}

std::string percent(double part) {
  return fmt::format("{:.1f} %", 100 * part);
}

}  // namespace

// Totals count only rows with both times; the measured total counts only if all of these were measured.
JobGain job_gain(const TracedJob& job, const JobQuestion& question) {
  const Topology whole = machine(question.machine);
  const auto levels = levels_of(question.machine, whole.ranks);
  JobGain gain{.duration_us = job.duration_us};
  for (const JobCalls& calls : job.calls) gain.rows.push_back({.calls = calls});
  std::map<std::pair<std::string, std::string>, AskedOfJob> all;  // by level and collective
  for (JobGainRow& row : gain.rows) {
    const std::optional<JobLevel> level = level_of(row.calls, levels);
    // The row stays in the table, without times.
    if (!level) continue;
    row.level = level->name;
    AskedOfJob& asked = all[{level->name, row.calls.collective}];
    if (asked.rows.empty())
      asked.topology = level->name == "all" ? whole : group_of(whole, level->name, level->group);
    asked.rows.push_back(&row);
  }
  for (const auto& [key, asked] : all) {
    if (question.progress) question.progress(fmt::format("{} of {}", key.second, key.first));
    time_by_search(question, key.second, asked);
    if (question.library != nullptr) time_by_library(question, key.first, key.second, asked);
  }
  bool all_measured = true;
  for (const JobGainRow& row : gain.rows) {
    if (row.us == 0 || row.baseline_us == 0) continue;
    const auto calls = static_cast<double>(row.calls.calls);
    gain.us += calls * row.us;
    gain.baseline_us += calls * row.baseline_us;
    gain.measured_us += row.calls.us;
    all_measured = all_measured && row.calls.us > 0;
  }
  if (!all_measured) gain.measured_us = 0;
  return gain;
}

// With measured times the gain is the measured share of the job times the share of it that is predicted to be
// saved; without a duration only the latter is known.
std::string in_words(const JobGain& gain, const std::string& machine) {
  if (gain.baseline_us == 0)
    return fmt::format("nothing to compare: no collective of the job has both a level of {} and a baseline",
                       machine);
  const auto timed = std::ranges::count_if(
      gain.rows, [](const JobGainRow& row) { return row.us > 0 && row.baseline_us > 0; });
  const double saved = 1 - gain.us / gain.baseline_us;
  const std::string predicted =
      fmt::format("{} in place of {} on {}, predicted for {} of {}", format_us(gain.us),
                  format_us(gain.baseline_us), machine, timed, counted(std::ssize(gain.rows), "row"));
  if (gain.measured_us > 0 && gain.duration_us > gain.measured_us)
    return fmt::format(
        "your job would gain up to {} by these: its collectives took {} of {}, and would take {} less ({})",
        percent(saved * gain.measured_us / gain.duration_us), format_us(gain.measured_us),
        format_us(gain.duration_us), percent(saved), predicted);
  return fmt::format("the collectives of your job would take {} less: {}", percent(saved), predicted);
}

// The specification that 'chorale library build' takes, for what the job calls: its levels, collectives and
// sizes.
std::string library_spec(const JobGain& gain, const std::string& machine) {
  std::set<std::string> collectives, levels;
  std::set<std::int64_t> sizes;
  for (const JobGainRow& row : gain.rows) {
    if (row.level.empty()) continue;
    collectives.insert(quoted(row.calls.collective));
    levels.insert(quoted(row.level));
    sizes.insert(row.calls.message_bytes);
  }
  if (levels.empty())
    throw InputError(machine, "has no level with as many ranks as the groups of the job",
                     "name another machine");
  return fmt::format(
      "{{\n  \"machines\": [{}],\n  \"collectives\": [{}],\n  \"groups\": [{}],\n  \"bytes\": [{}],\n"
      "  \"max_chunks\": 4,\n  \"seconds\": 60\n}}\n",
      quoted(machine), fmt::join(collectives, ", "), fmt::join(levels, ", "), fmt::join(sizes, ", "));
}

// Without a machine there is no gain, and the file ends after the operations that were skipped.
std::string to_json(const TracedJob& job, const JobGain* gain, const std::string& machine) {
  std::vector<std::string> skipped, rows;
  for (const auto& [operation, times] : job.skipped)
    skipped.push_back(fmt::format("{{\"operation\":{},\"calls\":{}}}", quoted(operation), times));
  std::string text =
      fmt::format("{{\n\"chorale_job\": 1,\n\"duration_us\": {},\n\"calls\": {},\n\"skipped\": {}",
                  job.duration_us, lines_of(job.calls, ""), lines(skipped, ""));
  if (gain != nullptr) {
    for (const JobGainRow& row : gain->rows)
      rows.push_back(
          fmt::format("{{\"collective\":{},\"level\":{},\"message_bytes\":{},\"baseline\":{},\"baseline_us\":"
                      "{},\"us\":{}}}",
                      quoted(row.calls.collective), quoted(row.level), row.calls.message_bytes,
                      quoted(row.baseline), row.baseline_us, row.us));
    text += fmt::format(",\n\"machine\": {},\n\"gain\": {},\n\"baseline_us\": {},\n\"us\": {},\n\"rows\": {}",
                        quoted(machine), quoted(in_words(*gain, machine)), gain->baseline_us, gain->us,
                        lines(rows, ""));
  }
  return text + "\n}\n";
}

}  // namespace chorale
