// One collective after the other, each with an even share of the time that is left, so that a collective that
// ends early leaves more to the next. The class holds what the answers share: the machine, the sizes, what
// was measured. What is reported where a limit cuts the work is the same as at the end; after a
// limit or Ctrl-C pages draw little, and programs are made only if they are small.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "api/compile.h"
#include "api/inputs.h"
#include "api/report.h"
#include "api/work_folder.h"
#include "cli/option_kinds.h"
#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "jobs/optimize.h"
#include "jobs/ready_after.h"

namespace chorale {

struct OptimizeCommand {
  QuestionSettings question = {};  // without a collective: the usual ones
  OptimizeQuestion asked = {};     // sizes, baselines, searches side by side
  std::string log = {};            // what was measured
  // Of each collective; -1: until the search ends by itself, or by kUsualEffort or kLongestOptimize.
  std::chrono::milliseconds search_time{-1};
  std::string directory = {};  // where to write the result, the page and a program, if anywhere
  std::string ready = {};      // a library built with failures, for programs that switch
  std::optional<Target> target = Target::Mpi;  // none: the preload library
  std::string json = {}, svg = {};
};

namespace {

// What --target preload wrote is tried here. 'chorale bench COLLECTIVE mpi' calls MPI's collective and checks
// every element; with the preload library in front it calls Chorale's.
constexpr int kMostTried = 32;  // processes on this host

// Of this process, so that the trial runs the same build and not one that is installed.
std::filesystem::path program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

// Both streams of a command, and whether it ended with 0.
std::pair<std::string, bool> output_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"", false};
  std::string text;
  std::array<char, 4096> some{};
  for (std::size_t n; (n = std::fread(some.data(), 1, some.size(), pipe)) > 0;) text.append(some.data(), n);
  return {text, pclose(pipe) == 0};
}

// The number before "collectives by Chorale", which the preload library reports at its end (CHORALE_LOG=1).
std::optional<long long> calls_of(const std::string& text) {
  const std::size_t end = text.find(" collectives by Chorale");
  if (end == std::string::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  if (begin == end) return std::nullopt;
  return std::stoll(text.substr(begin, end - begin));
}

// What the preload library has a function of MPI for (preload/).
bool replaces(CollectiveKind kind) {
  using Kind = CollectiveKind;
  static constexpr std::array kReplaced = {Kind::AllReduce, Kind::Allgather, Kind::ReduceScatter,
                                           Kind::Alltoall,  Kind::Broadcast, Kind::Reduce};
  return std::ranges::find(kReplaced, kind) != kReplaced.end();
}

// Beside the program in a build tree and in a package; Debian's folders have the name of the processor.
std::string preload_folder() {
  for (const char* const folder : {"../lib", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu"}) {
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(program().parent_path() / folder, error);
    if (!error && std::filesystem::exists(path / "libchorale-mpi-preload.so", error)) return path.string();
  }
  return "";
}

// Reasons not to try, in words for the report. None of them is an error: the files are written in any case.
std::string why_not(int ranks, const std::vector<Collective>& collectives) {
  if (preload_folder().empty()) return "libchorale-mpi-preload.so is not beside this program: build all";
  if (ranks > kMostTried) return fmt::format("{} processes are many for one host", ranks);
  if (!output_of("command -v mpirun").second) return "there is no mpirun here";
  for (const Collective& collective : collectives)
    if (!replaces(collective.kind)) return "the preload library leaves " + name_of(collective) + " to MPI";
  return "";
}

// One line: "tried: 4 processes, every element right, 24 calls by Chorale's algorithms", or why it was not
// tried. `script` is the file that starts a program with the library. One iteration of each of three sizes
// (1K, 8K, 64K), killed after a minute: it shows that the library is taken and that its results are right,
// and not how fast it is.
std::string tried(const std::string& script, int ranks, const std::vector<Collective>& collectives) {
  if (const std::string reason = why_not(ranks, collectives); !reason.empty()) return "not tried: " + reason;
  long long calls = 0;
  for (const Collective& collective : collectives) {
    const std::string root = is_rooted(collective.kind) ? fmt::format(" -r {}", collective.root) : "";
    const auto [text, good] = output_of(fmt::format(
        "CHORALE_LOG=1 MPIRUN='mpirun --oversubscribe' timeout -s KILL 60 sh {} {} bench {} mpi{} -b 1K -e "
        "64K -f 8 -n 1 -w 0",
        quoted_for_shell(script), quoted_for_shell(program().string()), name_of(collective), root));
    const std::optional<long long> found = good ? calls_of(text) : std::nullopt;
    if (!found)
      return fmt::format("not tried: {} did not run under mpirun here: sh {} shows why", name_of(collective),
                         script);
    if (*found == 0)
      return fmt::format("tried: {} was passed on to MPI (CHORALE_LOG=1)", name_of(collective));
    calls += *found;
  }
  return fmt::format("tried: {}, every element right, {} by Chorale's algorithms",
                     counted(ranks, "process", "processes"), counted(calls, "call"));
}

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

// What is published is asked for by the watcher, maybe when the work is over: it keeps the work.
class Work : public std::enable_shared_from_this<Work> {
 public:
  Work(const OptimizeCommand& command, Supervisor& supervisor)
      : command_(command),
        supervisor_(supervisor),
        machine_(machine(command.question.machine, command.question.changes)),
        measured_(command.log.empty()
                      ? MeasuredSizes()
                      : read_measured(command.log, chorale::collective(command.question.collective, machine_,
                                                                       command.question))),
        sizes_(!command.asked.message_bytes.empty() ? command.asked.message_bytes
               : command.log.empty()                ? usual_sizes()
                                                    : measured_.message_bytes) {}

  Outcome run() {
    const std::vector<std::string> names = command_.question.collective.empty()
                                               ? usual_collectives()
                                               : std::vector<std::string>{command_.question.collective};
    // Known before a search of hours.
    if (names.size() == 1 && command_.target && !command_.directory.empty())
      if (const auto fault = without_programs(
              *command_.target, chorale::collective(names.front(), machine_, command_.question)))
        throw InputError("--target", *fault);
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
    const Collective collective = chorale::collective(name, machine_, command_.question);
    OptimizeQuestion asked = command_.asked;
    asked.message_bytes = sizes_;
    asked.measured = measured_;
    asked.search.time_limit = budget(left);
    asked.uses_all_time = command_.search_time.count() >= 0;
    asked.search.synthesis.limits.stop = supervisor_.stop();
    if (ProgressLine& line = supervisor_.progress(); line.wanted()) {
      line.log(fmt::format("{}, {}", machine_.topology().name, name_of(collective)));
      asked.search.progress = [&line](const Progress& progress) { line.show(progress.doing); };
      asked.improved = [this](const Optimized& now) {
        if (!now.rows.empty()) supervisor_.progress().log(log_line(now, supervisor_.seconds()));
      };
    }
    asked.publish = [this](const std::function<Optimized()>& found) { publish(found); };
    return optimize(machine_, collective, asked);
  }

  // An even share of what is left of the command's time; none if negative.
  std::chrono::milliseconds budget(int left) const {
    const std::chrono::milliseconds all = supervisor_.time_left(), most = command_.search_time;
    if (all.count() < 0) return most;
    // A tenth is left for the report and its files; the rest includes the timing of points.
    const std::chrono::milliseconds share = all * 9 / 10 / left;
    return most.count() < 0 ? share : std::min(most, share);
  }

  // What is reported where a limit ends the command: the answers so far, and what was found of the next.
  void publish(const std::function<Optimized()>& found = {}) {
    supervisor_.publish([work = shared_from_this(), answers = answers_, found](Stopped stopped) {
      std::vector<Optimized> all = answers;
      if (found) all.push_back(found());
      return work->outcome_of(all, stopped, false);
    });
  }

  // `by_work`: not by the watcher, while the work goes on.
  Outcome outcome_of(std::vector<Optimized> answers, Stopped stopped, bool by_work) const {
    Outcome outcome;
    for (Optimized& answer : answers) {
      if (stopped != Stopped::No && !answer.result.complete) {  // and unproven
        answer.result.stopped = stopped;
        // The supervisor's end of the search has no limit in the options of the search.
        if (stopped == Stopped::TimeLimit) answer.result.limits.time_ms = supervisor_.limits().time.count();
      }
      outcome.text +=
          (outcome.text.empty() ? "" : "\n") + heading(answer.result) + "\n" + text_of(report_of(answer));
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

  // One directory per collective if there are several. Where the target has a program for none of them there
  // is nothing that was asked for, and it is refused; what a limit left is kept.
  void write(const std::vector<Optimized>& answers, bool by_work, Outcome& outcome) const {
    std::vector<NamedText> all;
    std::vector<std::string> results;  // for the preload library
    std::vector<Collective> collectives;
    std::vector<InputError> refusals;
    for (const Optimized& answer : answers) {
      if (answer.rows.empty()) continue;
      const std::string folder =
          command_.directory + (answers.size() > 1 ? "/" + name_of(answer.result.collective) : "");
      const bool programs = supervisor_.stopped() == Stopped::No || sends_of(answer) <= kMaxSendsInHaste;
      ReadyAfter after;
      if (!command_.ready.empty())
        after = ready_after(command_.ready, command_.question.machine, answer.result.collective, sizes_);
      OptimizedFiles made =
          files_of(answer, programs ? command_.target : std::nullopt, supervisor_.stop(), after.points);
      if (!programs) {
        outcome.notes.push_back("no programs were written in haste; 'chorale emit " + folder +
                                "/result.json' writes them");
      }
      for (NamedText& file : made.files) all.push_back({folder + "/" + file.path, std::move(file.text)});
      std::ranges::move(made.notes, std::back_inserter(outcome.notes));
      results.push_back((answers.size() > 1 ? name_of(answer.result.collective) + "/" : "") + "result.json");
      collectives.push_back(answer.result.collective);
      outcome.text += "wrote " + shown(folder) + "/" +
                      (made.refusal ? "" : ": README.md has the commands to build and run it") + "\n";
      if (made.refusal) refusals.push_back(*made.refusal);
    }
    if (!refusals.empty() && refusals.size() == results.size() && supervisor_.stopped() == Stopped::No)
      throw refusals.front();
    // A program is run with one script for all collectives, by the preload library; it is tried at once,
    // unless a limit has come.
    const std::string script = command_.directory + "/run.sh";
    const bool preload = !command_.target && !results.empty();
    if (preload)
      all.push_back({script, preload_script(machine_.topology().ranks, results, preload_folder())});
    // At once, since the script is run; with the other files of the outcome, all or none.
    std::ranges::move(all, std::back_inserter(outcome.files));
    if (by_work) supervisor_.take_floor();
    write_files(std::exchange(outcome.files, {}));
    if (!preload) return;
    outcome.text += "run with: sh " + shown(script) + " YOUR_PROGRAM\n";
    if (supervisor_.stopped() == Stopped::No)
      outcome.text += tried(script, machine_.topology().ranks, collectives) + "\n";
  }

  const OptimizeCommand& command_;
  Supervisor& supervisor_;
  const Machine machine_;
  const MeasuredSizes measured_;
  const std::vector<std::int64_t> sizes_;
  std::vector<Optimized> answers_ = {};
};

}  // namespace

Outcome perform(const OptimizeCommand& command, Supervisor& supervisor) {
  return std::make_shared<Work>(command, supervisor)->run();
}

// Targets are those of 'emit' that choose by size or are loaded by it; json, dot and traces for simulators
// are of one schedule, and are left out.

namespace {

void destination(CLI::App* sub, OptimizeCommand& options) {
  const Heading heading(sub, "What is written");
  directory_to_write(
      sub, "-o,--output", options.directory,
      "Write there the result, a page with the figure, and a program for all sizes, with a README");
  std::vector<std::pair<Text, std::optional<Target>>> targets;
  for (const TargetEntry& entry : known_targets())
    if (entry.form == TargetForm::Program || entry.form == TargetForm::Plan)
      targets.emplace_back(entry.name, entry.target);
  targets.emplace_back("preload", std::nullopt);
  choice<std::optional<Target>>(sub, "--target", options.target, targets,
                                "What the program is for, or preload: programs as they are, whose MPI "
                                "collectives are replaced; tried where mpirun is (mpi)");
  text(sub, "--ready", options.ready, "DB",
       "Programs of targets mpi, nccl and cuda also have what this library, built with --failures 1, has for "
       "the machine after each failure, and switch to it when one is named (docs/libraries.md)");
}

}  // namespace

void optimize_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "optimize", "The fastest algorithm found for each message size: time, bound, speedup, program",
      "Sizes are those of messages, as nccl-tests counts them. Times are by the alpha-beta model,\n"
      "each link by its own numbers; baselines are timed by the same. A row of 100.0 % of the bound\n"
      "is proven to be the fastest; where one is not, the exit code is 3, with or without a limit.\n"
      "exit codes: 0 all rows proven, 3 some unproven, 20 impossible, 130 interrupted, 2 bad input\n"
      "examples:\n  chorale optimize dgx1 allreduce\n"
      "  chorale optimize examples/node.xml --nodes 2 AllReduce -o best\n"
      "  chorale optimize torus:4x4 --sizes 64K:64M:8 --search-time 5");
  auto options = std::make_shared<OptimizeCommand>();
  machine_and_collective(sub, parsed, options->question, false);
  rising_sizes(sub, options->asked.message_bytes,
               "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:4)");
  text(sub, "--log", options->log, "FILE",
       "Compare with what was measured: the output of nccl-tests (all_reduce_perf, ...) or of an OSU "
       "collective; its sizes are those of the table if --sizes is not given");
  baselines(sub, options->asked.baselines);
  duration(
      sub, "--search-time", options->search_time,
      "Search each collective for all of T (until the effort is spent, and 30s of processor time at most)");
  destination(sub, *options);
  file_to_write(sub, "--json", options->json, "Write the table there");
  file_to_write(sub, "--svg", options->svg, "Draw time and bus bandwidth over message size there");
  {
    const Heading heading(sub, "The machine");
    choice<TimeModel>(sub, "--time", options->asked.time, kTimeModels,
                      "Of programs that wait for steps, or that messages drive: each waits for its data and "
                      "its links alone (steps)");
  }
  {
    const Heading heading(sub, "Limits and progress");
    integer(sub, "--effort", options->asked.search.effort, 1, kMostEffort, "N",
            "Search each collective by N million steps of work, some 10 ms each, however busy the machine is "
            "(1000, or no limit with --search-time)");
    integer(sub, "--jobs", options->asked.search.jobs, 1, 256, "J", "Search J chunk counts side by side (1)");
  }
  limits(sub, parsed.limits, " and keep what was found");
  progress(sub, parsed.progress);
  sub->final_callback([sub, options, &parsed] {
    // A log and a figure are of one collective; without a name five are searched.
    if (options->question.collective.empty() && !(options->log.empty() && options->svg.empty()))
      throw InputError(options->log.empty() ? "--svg" : "--log", "is of one collective", "name it");
    if (options->asked.time == TimeModel::Events &&
        (!options->target || !driven_by_messages(*options->target)))
      throw InputError("--target", "its programs wait for steps, or are chosen by them (--time events)",
                       "use --target mpi, or --time steps");
    if (!options->ready.empty() && (options->directory.empty() || !options->target ||
                                    entry_of(*options->target).form != TargetForm::Program))
      throw InputError("--ready", "is for programs that switch", "use -o with --target mpi, nccl or cuda");
    accept(parsed, options);
  });
}

}  // namespace chorale
