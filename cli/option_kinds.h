// Kinds of options, for all commands, and checks of arguments before long work. CLI11 would take "010" for 8,
// so numbers are parsed here. All bad input throws InputError.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/report.h"
#include "cli/options.h"
#include "ir/byte_size.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/option.h"
#include "ir/run_options.h"
#include "ir/words.h"
#include "jobs/optimize.h"

namespace chorale {

using Text = std::string;

inline constexpr int kMostRank = 1'000'000;
inline constexpr std::size_t kLongestValueName = 24;

// Of commands that make no choice between more.
inline const Text kPlainExitCodes =
    "exit codes: 0 done, 2 bad input, 3 out of time or memory, 130 interrupted\n";

// What people type for numbers and times; ir/byte_size.h has sizes. All throw InputError, which names the
// option.

// Decimal digits only, least .. most.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most);

// A plain decimal number, of any range: "0.7", "4e-5"; and one > 0.
double parse_number(const std::string& option, const std::string& text);
double parse_positive(const std::string& option, const std::string& text);

// "30", "30s", "0.5", "500ms", "5m", "1h": a millisecond or more, at most 1000 hours.
std::chrono::milliseconds parse_duration(const std::string& option, const std::string& text);

CLI::App* command(CLI::App&, const Text& name, const Text& help, const Text& examples);

// While it lives, options that are added stand under this heading of the help.
class Heading {
 public:
  Heading(CLI::App* app, const Text& heading) : app_(app), before_(app->option_defaults()->get_group()) {
    app_->option_defaults()->group(heading);
  }
  ~Heading() { app_->option_defaults()->group(before_); }
  Heading(const Heading&) = delete;
  Heading& operator=(const Heading&) = delete;

 private:
  CLI::App* app_;
  Text before_;
};

// To be called when all options of a command are read. Its function is perform(), beside its options: it does
// the work and returns the requested files, the text and the exit code; errors of the user throw InputError
// before anything is written.
template <typename Values>
void accept(Invocation& parsed, const std::shared_ptr<Values>& values) {
  parsed.perform = [values](Supervisor& supervisor) { return perform(*values, supervisor); };
}

// A command without options, which prints a report.
void prints(CLI::App* sub, Invocation& parsed, Report (*report)());

// What a command is parsed into.
template <typename Values>
std::shared_ptr<Values> values_of(CLI::App* sub, Invocation& parsed) {
  auto values = std::make_shared<Values>();
  sub->final_callback([values, &parsed] { accept(parsed, values); });
  return values;
}

// A required word, or several. `what` stands for the value in the help.
template <typename Target>
void argument(CLI::App* app, const Text& name, Target& target, const Text& what, const Text& help) {
  app->add_option(name, target, help)->required()->option_text(what);
}

// One that may be left out.
template <typename Target>
CLI::Option* text(CLI::App* app, const Text& name, Target& target, const Text& what, const Text& help) {
  return app->add_option(name, target, help)->type_name(what)->option_text(what);
}

// A value that is read by a function, which throws InputError for what it refuses.
CLI::Option* value(CLI::App*, const Text& name, const Text& what, const Text& help,
                   std::function<void(const Text&)> read);

// A file or a directory that the command writes; whether it can is checked when the option is read, before
// long work. "-" is standard output, of one file of a command (require_one_document).
// Of --html, where the page is the report that is printed.
inline constexpr const char* kReportPage = "Write the report there, as a self-contained page";
void file_to_write(CLI::App*, const Text& name, Text& target, const Text& help);
void directory_to_write(CLI::App*, const Text& name, Text& target, const Text& help);
void require_one_document(const CLI::App&);
void duration(CLI::App*, const Text& name, std::chrono::milliseconds& target, const Text& help);
void size(CLI::App*, const Text& name, std::int64_t& target, const Text& help);  // "64K"
// --sizes, or --bytes, which means the same in every command: "1K:1M:32"; rising ones are there once, in
// order.
void sizes(CLI::App*, std::vector<std::int64_t>& target, const Text& help);
void rising_sizes(CLI::App*, std::vector<std::int64_t>& target, const Text& help);

template <typename Target>
void integer(CLI::App* app, const Text& name, Target& target, std::int64_t least, std::int64_t most,
             const Text& what, const Text& help) {
  value(app, name, what, help,
        [=, &target](const Text& t) { target = static_cast<int>(parse_integer(name, t, least, most)); });
}

template <typename Target>
void positive(CLI::App* app, const Text& name, Target& target, const Text& what, const Text& help) {
  value(app, name, what, help, [name, &target](const Text& t) { target = parse_positive(name, t); });
}

// One of the names, whose number is passed on. The help lists them as the value, or, if they are too many,
// after the description.
void one_of(CLI::App*, const Text& name, const std::vector<Text>& known, const Text& help,
            const std::function<void(std::size_t)>& set);

template <typename Value>
void choice(CLI::App* app, const Text& name, Value& target, const std::vector<std::pair<Text, Value>>& values,
            const Text& help) {
  std::vector<Text> known;
  for (const auto& [n, unused] : values) known.push_back(n);
  one_of(app, name, known, help, [=, &target](std::size_t i) { target = values[i].second; });
}

template <typename Value>
void choice(CLI::App* app, const Text& name, Value& target, std::span<const Named<Value>> values,
            const Text& help) {
  std::vector<Text> known;
  for (const Named<Value>& each : values) known.emplace_back(each.name);
  one_of(app, name, known, help, [=, &target](std::size_t i) { target = values[i].value; });
}

// Where an option by its row is kept: each of its kind.
struct OptionTarget {
  std::function<void(std::int64_t)> set = {};
  std::function<void(double)> set_number = {};
  std::function<void(const Text&)> set_text = {};
};

// An option by its row (ir/option.h).
void by_row(CLI::App*, const OptionWords&, const Text& help, const OptionTarget&);

// Its default is that of the target; what has no option on the command line is left out.
template <typename Owner>
void by_row(CLI::App* app, const OptionRow<Owner>& row, Owner& target) {
  if (row.words.option.empty()) return;
  by_row(app, row.words, help_of(row, target),
         {.set = [set = row.member.set, &target](std::int64_t value) { set(target, value); },
          .set_number = [number = row.member.number, &target](double value) { number(target) = value; },
          .set_text = [text = row.member.text, &target](const Text& value) { text(target) = value; }});
}

template <typename Owner>
void by_rows(CLI::App* app, std::span<const OptionRow<Owner>> rows, Owner& target) {
  for (const OptionRow<Owner>& row : rows) by_row(app, row, target);
}

// Options that mean something only in some uses of a command: one that is given in another is refused.
void only_for(const CLI::App*, const std::vector<Text>& names, bool meant, const Text& what);

// Options that several commands have.
void conflicts(CLI::App*, std::int64_t& target);
// Of time and memory, which is `memory` (Limits::memory) where the option is not given.
void limits(CLI::App*, Limits&, const Text& what_is_kept, std::int64_t memory = -1);
void memory_limit(CLI::App*, Limits&);
void root(CLI::App*, const Text& name, std::optional<int>& target);
void machine_and_collective(CLI::App*, Invocation& parsed, QuestionSettings&,
                            bool collective_required = true);
// --sum once, an order of sums that excludes the option of the others.
CLI::Option* sum_once(CLI::App*, CLI::Option* order, Text& target);
// --without-link, --without-rank, --degrade, --switches-multicast, --switches-reduce,
// --switches-forward-only,
// --call-us
void machine_changes(CLI::App*, Invocation& parsed, std::initializer_list<const Text*> machines,
                     MachineChanges&);
void size_model(CLI::App*, SizeModel&);
void baselines(CLI::App*, BaselineSet& target);
void result_file(CLI::App*, Text& target);  // --json
void progress(CLI::App*, ShowProgress& target);

// A function per command, which registers it; each is in the table of cli/command_line.cpp.
void optimize_options(CLI::App&, Invocation& parsed);
void job_options(CLI::App&, Invocation& parsed);
void synthesize_options(CLI::App&, Invocation& parsed);
void frontier_options(CLI::App&, Invocation& parsed);
void compose_options(CLI::App&, Invocation& parsed);
void classic_options(CLI::App&, Invocation& parsed);
void baseline_options(CLI::App&, Invocation& parsed);
void bounds_options(CLI::App&, Invocation& parsed);
void alltoallv_options(CLI::App&, Invocation& parsed);
void check_options(CLI::App&, Invocation& parsed);
void show_options(CLI::App&, Invocation& parsed);
void compare_options(CLI::App&, Invocation& parsed);
void topology_options(CLI::App&, Invocation& parsed);
void design_options(CLI::App&, Invocation& parsed);
void calibrate_options(CLI::App&, Invocation& parsed);
void run_options(CLI::App&, Invocation& parsed);
void emit_options(CLI::App&, Invocation& parsed);
void simulate_options(CLI::App&, Invocation& parsed);
void program_options(CLI::App&, Invocation& parsed);
void bench_options(CLI::App&, Invocation& parsed);
void library_options(CLI::App&, Invocation& parsed);
void hierarchy_options(CLI::App&, Invocation& parsed);
void place_options(CLI::App&, Invocation& parsed);
void order_options(CLI::App&, Invocation& parsed);
void reshard_options(CLI::App&, Invocation& parsed);
void transform_options(CLI::App&, Invocation& parsed);
void compile_options(CLI::App&, Invocation& parsed);
void tune_options(CLI::App&, Invocation& parsed);
void completion_options(CLI::App&, Invocation& parsed);

// Returns what fits in the place of the last word, a line each: "word<TAB>description" of commands and
// options, "word" of values that are known by name; "<files>" and "<directories>" ask the shell for names.
// The words are those after the name of the program.
std::string completions(const CLI::App& program, const std::vector<std::string>& words);

// Only one point of a result file.
void only_point(CLI::App*, std::optional<int>& point);

// Types and operations that are run. Names are those of nccl-tests and, for integers, those of Chorale's
// files as well. "all" measures one after the other. `bench` spells the options as nccl-tests does, so their
// names are the caller's.
void types_and_ops(CLI::App*, RunOptions&, const Text& type_names = "--type", const Text& op_names = "--op");

// What synthesize and frontier share.
inline constexpr const char* kSearchExitCodes =
    "exit codes: 0 found and verified, 20 proven impossible, 3 undecided within the limits, 130 interrupted, "
    "2 bad input";
void search_settings(CLI::App*, Invocation& parsed, SearchSettings&);

// The name of an option in an error: "--max-chunks" here, the keyword max_chunks in Python.
Text flag_of(const OptionWords&);

// When all options are read. Conditions between options of a search are stated in ir/search_options.h, for
// the command line, Python and library specifications alike. The time limit of the search is that of the
// command.
void settle(const SearchSettings&, Invocation& parsed);

// Checks and reads arguments of commands before long work.

// The point of that number, or all on the frontier. Throws InputError where there is none.
std::vector<int> chosen_points(const std::string& file, const Result&, std::optional<int> point, bool all);

// For 'check' and 'show' of a ranking: refuses an option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file);

// The file, with the requested transformations applied.
Workload read_workload(const WorkloadInput&);

// To be called before long work: `path` names a file that can be made, or replaced. "" and "-" are fine.
void require_writable_file(const std::string& option, const std::string& path);
void make_writable_directory(const std::string& option, const std::string& path);  // if it is not there
void require_writable_directory(const std::string& option, const std::string& path);

// The same for a directory that may have to be made when files are written to it, with those above it.
void require_makeable_directory(const std::string& option, const std::string& path);

}  // namespace chorale
