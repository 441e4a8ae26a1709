// One collective after the other, each with an even share of the time that is left, so that a collective that
// ends early leaves more to the next. The class holds what the answers share: the machine, the sizes, what
// was measured. What is reported where a limit cuts the work is the same as at the end; after a
// limit or Ctrl-C pages draw little, and programs are made only if they are small.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "api/inputs.h"
#include "api/report.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/optimize_trial.h"
#include "cli/report.h"
#include "cli/supervisor.h"
#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "jobs/optimize.h"

namespace chorale {
namespace {

// A line of the log: the smallest and the largest size.
std::string log_line(const Optimized& answer, double seconds) {
  std::string text = fmt::format("{:6.1f} s  {:<10}", seconds,
                                 counted(static_cast<long long>(answer.result.points.size()), "point"));
  const auto add = [&](const OptimizedRow& row) {
    text += fmt::format("  {} {}", format_bytes(static_cast<double>(row.message_bytes)), format_us(row.us));
    if (row.bound_us > 0) text += fmt::format(" ({} of bound)", share_of_bound(row));
  };
  add(answer.rows.front());
  if (answer.rows.size() > 1) add(answer.rows.back());
  return text;
}

// Sends of the algorithms in the table. After a limit or Ctrl-C programs are made of at most this many, in a
// fifth of a second or so.
constexpr long long kMaxSendsInHaste = 20'000;

long long sends_of(const Optimized& answer) {
  std::set<int> points;
  for (const OptimizedRow& row : answer.rows) points.insert(row.point);
  long long sends = 0;
  for (const int i : points)
    for (const Step& step : answer.result.points[i].schedule.steps) sends += std::ssize(step.sends);
  return sends;
}

class Work {
 public:
  Work(const OptimizeCommand& command, Supervisor& supervisor)
      : command_(command),
        supervisor_(supervisor),
        machine_(machine(command.question.machine, command.question.changes)),
        measured_(command.log.empty() ? MeasuredSizes() : read_measured(command.log)),
        sizes_(!command.asked.message_bytes.empty() ? command.asked.message_bytes
               : command.log.empty()                ? usual_sizes()
                                                    : measured_.message_bytes) {}

  Outcome run() {
    const std::vector<std::string> names = command_.question.collective.empty()
                                               ? usual_collectives()
                                               : std::vector<std::string>{command_.question.collective};
    supervisor_.await_first_answer();
    for (std::size_t i = 0; i < names.size(); ++i) {
      // The first collective is always begun: it may have a result within the grace.
      if (i > 0 && supervisor_.stopped() != Stopped::No) break;
      answers_.push_back(answer(names[i], static_cast<int>(names.size() - i)));
      publish();
    }
    return outcome_of(answers_, supervisor_.stopped(), true);
  }

 private:
  // The search polls the supervisor's flag; a log of improvements is printed above the progress line.
  Optimized answer(const std::string& name, int left) {
    const Collective collective = communication(name, machine_, command_.question);
    OptimizeQuestion asked = command_.asked;
    asked.message_bytes = sizes_;
    asked.measured = measured_;
    asked.search.time_limit = budget(left);
    asked.uses_all_time = command_.search_time.count() >= 0;
    asked.search.synthesis.limits.stop = supervisor_.stop();
    if (ProgressLine& line = supervisor_.progress(); line.wanted()) {
      line.log(fmt::format("{}, {}", machine_.name, name_of(collective)));
      asked.search.progress = [&line](const Progress& progress) { line.show(progress.doing); };
      asked.improved = [this](const Optimized& now) {
        if (!now.rows.empty()) supervisor_.progress().log(log_line(now, supervisor_.seconds()));
      };
    }
    asked.publish = [this](const std::function<Optimized()>& found) { publish(found); };
    return optimize(machine_, collective, asked);
  }

  // An even share of what is left of the command's time.
  std::chrono::milliseconds budget(int left) const {
    const std::chrono::milliseconds all = supervisor_.time_left();
    const std::chrono::milliseconds most =
        command_.search_time.count() < 0 ? kLongestOptimize : command_.search_time;
    // A tenth is left for the report and its files; the rest includes the timing of points.
    return all.count() < 0 ? most : std::min(most, all * 9 / 10 / left);
  }

  // What is reported where a limit ends the command: the answers so far, and what was found of the next.
  void publish(const std::function<Optimized()>& found = {}) {
    supervisor_.publish([this, answers = answers_, found](Stopped stopped) {
      std::vector<Optimized> all = answers;
      if (found) all.push_back(found());
      return outcome_of(all, stopped, false);
    });
  }

  // `by_work`: not by the watcher, while the work goes on.
  Outcome outcome_of(std::vector<Optimized> answers, Stopped stopped, bool by_work) const {
    Outcome outcome;
    for (Optimized& answer : answers) {
      if (stopped != Stopped::No && !answer.result.complete) answer.result.stopped = stopped;  // and unproven
      outcome.text += (outcome.text.empty() ? "" : "\n") + heading(answer.result) + text_of(report_of(answer));
      // Without a schedule: impossible only if the search was complete. Of several what is undecided counts.
      const bool impossible = answer.rows.empty() && answer.result.complete;
      if (impossible && outcome.exit_code == kFound)
        outcome.exit_code = kImpossible;
      else if (!impossible && !is_proven(answer))
        outcome.exit_code = kUndecided;
    }
    if (stopped != Stopped::No) outcome.exit_code = exit_code_of(stopped);
    if (!command_.json.empty() && !answers.empty()) deliver(command_.json, document(answers), outcome);
    if (!command_.svg.empty() && !answers.empty() && !answers.front().rows.empty())
      deliver(command_.svg, report_of(answers.front()).figures.front(), outcome);
    if (command_.directory.empty()) return outcome;
    const bool found = std::ranges::any_of(answers, [](const Optimized& each) { return !each.rows.empty(); });
    if (by_work || found)
      write(answers, by_work, outcome);
    else
      outcome.errors.push_back("-o: not written (" + name_of(stopped) + ")");
    return outcome;
  }

  // One answer is an object, several are an array of such objects.
  static std::string document(const std::vector<Optimized>& answers) {
    if (answers.size() == 1) return to_json(answers.front());
    std::vector<std::string> each;
    for (const Optimized& answer : answers) each.push_back(to_json(answer));
    return "[" + joined(each, ",\n") + "]\n";
  }

  // One directory per collective if there are several.
  void write(const std::vector<Optimized>& answers, bool by_work, Outcome& outcome) const {
    std::vector<NamedText> all;
    std::vector<std::string> results;  // for the preload library
    std::vector<Collective> collectives;
    for (const Optimized& answer : answers) {
      if (answer.rows.empty()) continue;
      const std::string folder =
          command_.directory + (answers.size() > 1 ? "/" + name_of(answer.result.collective) : "");
      const bool programs = supervisor_.stopped() == Stopped::No || sends_of(answer) <= kMaxSendsInHaste;
      OptimizedFiles made = files_of(answer, programs ? command_.target : std::nullopt, supervisor_.stop());
      if (!programs)
        outcome.notes.push_back("no programs were written in haste; 'chorale emit " + folder +
                                "/result.json' writes them");
      for (NamedText& file : made.files) all.push_back({folder + "/" + file.path, std::move(file.text)});
      std::ranges::move(made.notes, std::back_inserter(outcome.notes));
      results.push_back((answers.size() > 1 ? name_of(answer.result.collective) + "/" : "") + "result.json");
      collectives.push_back(answer.result.collective);
      outcome.text += "wrote " + shown(folder) + "/: README.md has the commands to build and run it\n";
    }
    // A program is run with one script for all collectives, by the preload library; it is tried at once,
    // unless a limit has come.
    const std::string script = command_.directory + "/run.sh";
    const bool preload = !command_.target && !results.empty();
    if (preload) all.push_back({script, preload_script(machine_.ranks, results, preload_folder())});
    // At once, since the script is run; with the other files of the outcome, all or none.
    std::ranges::move(all, std::back_inserter(outcome.files));
    if (by_work) supervisor_.take_floor();
    write_files(std::exchange(outcome.files, {}));
    if (!preload) return;
    outcome.text += "run with: sh " + shown(script) + " YOUR_PROGRAM\n";
    if (supervisor_.stopped() == Stopped::No)
      outcome.text += tried(script, machine_.ranks, collectives) + "\n";
  }

  const OptimizeCommand& command_;
  Supervisor& supervisor_;
  const Topology machine_;
  const MeasuredSizes measured_;
  const std::vector<std::int64_t> sizes_;
  std::vector<Optimized> answers_ = {};
};

}  // namespace

Outcome perform(const OptimizeCommand& command, Supervisor& supervisor) {
  supervisor.want_progress(command.progress);
  return Work(command, supervisor).run();
}

}  // namespace chorale
