// CLI11 would parse numbers with strtoll of base 0, which reads "010" as 8 and "0x10" as 16: here it only
// passes texts. A value is set when its option is parsed; conditions between options wait for the command's
// final callback, since options come in any order.
#include "cli/option_kinds.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "cli/outcome.h"
#include "cli/supervisor.h"
#include "ir/collective.h"
#include "ir/files.h"

namespace chorale {

// The footer is the part of a help text below the options.
CLI::App* command(CLI::App& app, const Text& name, const Text& help, const Text& examples) {
  CLI::App* const sub = app.add_subcommand(name, help);
  sub->footer(examples);
  return sub;
}

void prints(CLI::App* sub, Invocation& parsed, Report (*report)()) {
  sub->final_callback(
      [&parsed, report] { parsed.perform = [report](Supervisor&) { return reported(report()); }; });
}

CLI::Option* value(CLI::App* app, const Text& name, const Text& what, const Text& help,
                   std::function<void(const Text&)> read) {
  return app->add_option_function<Text>(name, read, help)->option_text(what);
}

// That the file can be written is asked at once: a search of an hour should not end with an error about its
// folder. Only the process that speaks asks, since under mpirun all parse the same line.
void file_to_write(CLI::App* app, const Text& name, Text& target, const Text& help) {
  value(app, name, "FILE", help + "; - is standard output",
        [&target, where = name.substr(0, name.find(','))](const Text& t) {
          if (speaks()) require_writable_file(where, t);
          target = t;
        })
      ->type_name("FILE");  // marks it for require_one_document()
}

// The directory need not exist: the nearest one above it has to be writable.
void directory_to_write(CLI::App* app, const Text& name, Text& target, const Text& help) {
  value(app, name, "DIR", help, [&target, where = name.substr(0, name.find(','))](const Text& t) {
    require_makeable_directory(where, t);
    target = t;
  })->type_name("DIR");
}

// Options that take FILE and were given "-"; the second one is refused by its name.
void require_one_document(const CLI::App& command) {
  bool taken = false;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != "FILE" || option->results() != std::vector<Text>{kStandardOutput})
      continue;
    if (taken)
      throw InputError("--" + option->get_lnames().front(), "standard output cannot hold two files",
                       "give one of them a name");
    taken = true;
  }
}

void duration(CLI::App* app, const Text& name, std::chrono::milliseconds& target, const Text& help) {
  value(app, name, "T", help, [name, &target](const Text& t) { target = parse_duration(name, t); });
}

void size(CLI::App* app, const Text& name, std::int64_t& target, const Text& help) {
  value(app, name, "SIZE", help, [name, &target](const Text& t) { target = parse_size(name, t); });
}

void sizes(CLI::App* app, std::vector<std::int64_t>& target, const Text& help) {
  value(app, "--sizes,--bytes", "SIZES", help,
        [&target](const Text& t) { target = parse_sizes("--sizes", t); });
}

// For tables by size, and for ranges between sizes: each once, in order.
void rising_sizes(CLI::App* app, std::vector<std::int64_t>& target, const Text& help) {
  value(app, "--sizes,--bytes", "SIZES", help, [&target](const Text& t) {
    target = parse_sizes("--sizes", t);
    std::ranges::sort(target);
    target.erase(std::ranges::unique(target).begin(), target.end());
  });
}

// Few names stand in the help as NAME|NAME; many are listed after it.
void one_of(CLI::App* app, const Text& name, const std::vector<Text>& known, const Text& help,
            const std::function<void(std::size_t)>& set) {
  const bool few = joined(known, "|").size() <= kLongestValueName;
  value(app, name, few ? joined(known, "|") : "NAME", few ? help : help + ": " + joined(known),
        [=](const Text& t) {
          const auto at = std::ranges::find(known, t);
          if (at == known.end()) throw unknown_name(name, t, known);
          set(static_cast<std::size_t>(at - known.begin()));
        })
      ->type_name(joined(known, "|"));  // for completion: help texts do not show it
}

// A switch named --no-x sets x to false. Ranges are checked here for kinds whose parser knows none of a row.
void by_row(CLI::App* app, const OptionWords& words, const Text& help, const OptionTarget& target) {
  const Text name(words.option);
  if (words.kind == OptionKind::Switch) {
    const bool on = !name.starts_with("--no-");
    app->add_flag_callback(
        name, [set = target.set, on] { set(on); }, help);
    return;
  }
  if (words.kind == OptionKind::Choice) {
    std::vector<Text> known;
    for (const OptionChoice& each : words.choices) known.emplace_back(each.name);
    one_of(app, name, known, help,
           [set = target.set, choices = words.choices](std::size_t i) { set(choices[i].value); });
    return;
  }
  const auto parsed = [words, name, target](const Text& t) {
    if (words.kind == OptionKind::Text) {
      target.set_text(t);
    } else if (words.kind == OptionKind::Number) {
      const double number = parse_number(name, t);
      require_in_range(words, number, name);
      target.set_number(number);
    } else if (words.kind == OptionKind::Duration) {
      target.set(parse_duration(name, t).count());
    } else if (words.kind == OptionKind::Size) {
      const std::int64_t size = parse_size(name, t);
      require_in_range(words, size, name);
      target.set(size);
    } else {
      target.set(parse_integer(name, t, words.least, words.most));
    }
  };
  value(app, name, Text(words.value), help, parsed);
}

// The option of a search, for commands that only check: same name, range and help, another target.
void conflicts(CLI::App* app, std::int64_t& target) {
  const OptionRow<FrontierOptions>& row = row_of(search_rows(), "conflicts");
  by_row(app, row.words, help_of(row), {.set = [&target](std::int64_t value) { target = value; }});
}

// CLI11 counts options that were given, so a value that is the default is refused as well.
void only_for(const CLI::App* app, const std::vector<Text>& names, bool meant, const Text& what) {
  for (const Text& name : names)
    if (!meant && app->count(name) > 0)
      throw InputError(name, "means nothing here: it is for " + what, "leave it out, or ask for that");
}

void limits(CLI::App* app, Limits& limits, const Text& what_is_kept, std::int64_t memory) {
  app->preparse_callback([&limits, memory](std::size_t) { limits.memory = memory; });
  const Heading heading(app, "Limits and progress");
  duration(app, "--time-limit", limits.time,
           "Stop after T, in seconds or with a unit (30, 0.5, 500ms, 5m, 1h)" + what_is_kept);
  memory_limit(app, limits);
}

// By itself for searches, whose time limit is an option of the search (search_rows).
void memory_limit(CLI::App* app, Limits& limits) {
  const Heading heading(app, "Limits and progress");
  value(app, "--memory-limit", "SIZE",
        "Stop where more than SIZE (500M, 8G) would be needed, as at the time limit (nine tenths of what "
        "the machine has)",
        [&](const Text& t) {
          limits.memory = parse_size("--memory-limit", t);
          if (limits.memory == 0)
            throw InputError("--memory-limit", "0 leaves no memory", "use one such as 500M, 8G");
        });
}

void root(CLI::App* app, const Text& name, std::optional<int>& target) {
  integer(app, name, target, 0, kMostRank, "N", "Rank that broadcasts, scatters, gathers or reduces (0)");
}

// Each may be given several times, once per link or rank: expected(1) takes one value at a time, and take_all
// collects them, where CLI11 would refuse the second.
void machine_changes(CLI::App* app, Invocation& parsed, std::initializer_list<const Text*> machines,
                     MachineChanges& changes) {
  for (const Text* spec : machines) parsed.machines.push_back({.spec = spec, .changes = &changes});
  const Heading heading(app, "The machine");
  const auto repeated = [&](const Text& name, std::vector<Text>& target, const Text& what, const Text& help) {
    app->add_option_function<std::vector<Text>>(
           name, [&target](const std::vector<Text>& all) { target = all; }, help)
        ->option_text(what)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  };
  repeated("--without-link", changes.without_links, "A-B",
           "Without the links between A and B, named as by 'topology show' (3, switch0, gpu3); A>B: one "
           "direction; gpu5, switch0: all links of one; mlx5_3, nic3, nvswitch1: a part of an imported node");
  repeated("--without-rank", changes.without_ranks, "R",
           "Without rank R, by number or name (gpu5); those behind it move up");
  repeated("--degrade", changes.degraded, "A-B=PART",
           "With this fraction of a link's bandwidth left, such as 0-1=0.5; or of a shared limit's, named as "
           "by 'topology show' ('port out 0=0.5')");
  app->add_flag_callback(
      "--switches-multicast", [&changes] { changes.switches.multicast = true; },
      "Its switches make copies: one for several ranks comes in once");
  app->add_flag_callback(
      "--switches-reduce", [&changes] { changes.switches.reduce = true; },
      "Its switches add up: of values for one rank, their sum goes out");
  by_row(
      app, {.option = "--call-us", .value = "US", .kind = OptionKind::Number, .lowest = 0, .highest = 1e9},
      "Microseconds that a call costs beside its messages: a launch, the first flag (as the machine has it)",
      {.set_number = [&changes](double us) { changes.call_us = us; }});
  by_rows(app, import_rows(), changes.import);
}

void machine_and_collective(CLI::App* app, Invocation& parsed, QuestionSettings& question,
                            bool collective_required) {
  argument(app, "topology", question.machine, "TOPOLOGY",
           "A machine ('chorale topology list') or a file: JSON, or another tool's ('chorale topology "
           "import')");
  app->add_option("collective", question.collective,
                  "One of " + joined(collective_names()) + "; with --counts one of " +
                      joined(counted_names()) + "; or a JSON file")
      ->required(collective_required)
      ->option_text("COLLECTIVE")
      ->type_name(joined(collective_names(), "|") + "|" + joined(counted_names(), "|"));  // for completion
  machine_changes(app, parsed, {&question.machine}, question.changes);
  const Heading heading(app, "The collective");
  chorale::root(app, "--root", question.root);
  // An empty list means that the option was not given, so it cannot be given empty.
  const auto list = [&](const Text& name, Text& target, const Text& what, const Text& help) {
    value(app, name, what, help, [name, &target](const Text& t) {
      if (t.empty()) throw InputError(name, "names nothing", "leave it out, or give a list");
      target = t;
    });
  };
  list("--group", question.group, "RANKS",
       "Between these ranks only, such as 3,11,19, numbered as they come; the others may relay");
  list(
      "--groups", question.groups, "GROUPS",
      "In several groups at once, such as '0,1,2;3,4,5'; or those of a name: row or column of a grid, boxes, "
      "rails, or a level of the machine");
  list("--counts", question.counts, "COUNTS",
       "Chunks of each rank, such as 3,1,0,2, 0 for none; of alltoallv a row for each source, such as "
       "'0,2;1,0'; of several groups the same, or a row for each; or a JSON file with such lists");
  CLI::Option* const asked =
      text(app, "--order", question.order, "ORDER",
           "Of sums: agreed, all ranks get the same bits (the default); fixed, along one tree for all "
           "chunks, so that every point gives the same bits; by-index, along the tree of pairs, pairs of "
           "pairs, ..., so that 1, 2, 4, ... ranks do; or a tree, such as '((0 1) (2 3))'");
  app->add_flag_callback(
         "--allow-disagreement", [&question] { question.order = "free"; },
         "Ranks may add up in orders of their own and end with different bits")
      ->excludes(asked);
  sum_once(app, asked, question.order)->excludes("--allow-disagreement");
}

CLI::Option* sum_once(CLI::App* app, CLI::Option* order, Text& target) {
  return app
      ->add_option_function<Text>(
          "--sum", [&target](const Text& how) { target = how; },
          "once: no partial sum travels; each sum is formed in one place, of all inputs in the order of the "
          "ranks, and rounded once")
      ->check(CLI::IsMember({"once"}))
      ->type_name("once")
      ->excludes(order);
}

// Two numbers for all links, in place of those that each link has.
void size_model(CLI::App* app, SizeModel& model) {
  positive(app, "--alpha", model.alpha_us, "US",
           "Microseconds that a step costs (those of the machine's worst link)");
  positive(app, "--beta", model.beta_us_per_byte, "US_PER_BYTE",
           "Microseconds per byte over one unit of bandwidth (those of the machine's worst link)");
}

void baselines(CLI::App* app, BaselineSet& target) {
  choice<BaselineSet>(
      app, "--baselines", target, baseline_sets(),
      "Compare with the algorithms of NCCL or RCCL, or all of 'chorale classic list' (auto: NCCL's "
      "where the machine has the links for one)");
}

void result_file(CLI::App* app, Text& target) {
  file_to_write(app, "--json", target, "Write the result there, for check, show and run");
}

void progress(CLI::App* app, ShowProgress& target) {
  const Heading heading(app, "Limits and progress");
  app->add_flag_callback(
      "--progress", [&] { target = ShowProgress::Always; },
      "Show progress on standard error even if it is not a terminal");
}

void only_point(CLI::App* sub, std::optional<int>& point) {
  integer(sub, "--point", point, 0, INT_MAX, "N", "Only the point of this number (all of the frontier)");
}

void types_and_ops(CLI::App* sub, RunOptions& options, const Text& type_names, const Text& op_names) {
  using Type = ElementType;
  using Op = ReduceOp;
  choice<std::vector<Type>>(sub, type_names, options.types,
                            {{"float", {Type::Float32}},
                             {"double", {Type::Float64}},
                             {"half", {Type::Float16}},
                             {"bfloat16", {Type::Bfloat16}},
                             {"int8", {Type::Int8}},
                             {"uint8", {Type::Uint8}},
                             {"int", {Type::Int32}},
                             {"uint32", {Type::Uint32}},
                             {"long", {Type::Int64}},
                             {"uint64", {Type::Uint64}},
                             {"int32", {Type::Int32}},
                             {"int64", {Type::Int64}},
                             {"all",
                              {Type::Float32, Type::Float64, Type::Float16, Type::Bfloat16, Type::Int8,
                               Type::Uint8, Type::Int32, Type::Uint32, Type::Int64, Type::Uint64}}},
                            "Type of the elements (float)");
  std::vector<std::pair<Text, std::vector<Op>>> ops;
  std::vector<Op> all;
  for (int i = 0; i < kReduceOps; ++i) {
    all.push_back(static_cast<Op>(i));
    ops.push_back({to_string(all.back()), {all.back()}});
  }
  ops.push_back({"all", all});
  choice<std::vector<Op>>(sub, op_names, options.ops, ops, "How contributions are combined (sum)");
}

void search_settings(CLI::App* app, Invocation& parsed, SearchSettings& search) {
  machine_and_collective(app, parsed, search.question);
  result_file(app, search.json);
  {
    const Heading heading(app, "The search");
    by_rows(app, search_rows(), search.options);
  }
  memory_limit(app, parsed.limits);
  progress(app, parsed.progress);
}

Text flag_of(const OptionWords& words) {
  return Text(words.option);
}

void settle(const SearchSettings& search, Invocation& parsed) {
  require_consistent(search.options, flag_of);
  parsed.limits.time = search.options.time_limit;
}

// Numbers and times as people type them.

namespace {

std::string shortened(const std::string& text) {
  return "'" + (text.size() > 60 ? text.substr(0, 60) + "..." : text) + "'";
}

// Times are in milliseconds, and a number without a unit is of seconds.
struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// "ms" and "m" share a letter; a suffix has to be one of these as a whole.
constexpr Unit kTimes[] = {{"", 1000},    {"ms", 1},       {"s", 1000},
                           {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}};

}  // namespace

// from_chars reads a minus sign and decimal digits alone: no whitespace, no plus sign, no base by prefix, no
// locale.
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string remedy = fmt::format("use {} to {}", least, most);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    throw InputError(option, shortened(text) + " is not an integer", remedy);
  if (error != std::errc() || number < least || number > most)
    throw InputError(option, shortened(text) + " is out of range", remedy);
  return number;
}

// NaN and infinity are numbers to from_chars; the caller's range excludes the latter, and what
// is too large for a double.
double parse_number(const std::string& option, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size() || std::isnan(number))
    throw InputError(option, shortened(text) + " is not a number", "use one such as 0.7 or 4e-5");
  return error == std::errc() ? number : HUGE_VAL;
}

double parse_positive(const std::string& option, const std::string& text) {
  const double number = parse_number(option, text);
  if (!(number > 0) || number > 1e9)
    throw InputError(option, shortened(text) + " is out of range", "use more than 0 and at most 1e9");
  return number;
}

// A fraction is rounded to a millisecond. "inf" and "nan" are numbers to from_chars, and neither passes.
std::chrono::milliseconds parse_duration(const std::string& option, const std::string& text) {
  constexpr double kLongest = 3'600'000'000;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view suffix(end, text.data() + text.size() - end);
  const auto* const unit = std::ranges::find(kTimes, suffix, &Unit::name);
  const double time = error == std::errc() && unit != std::end(kTimes)
                          ? std::round(number * static_cast<double>(unit->factor))
                          : 0;
  if (!(time >= 1 && time <= kLongest))
    throw InputError(option, shortened(text) + " is not a time",
                     "use seconds or a unit, such as 30, 0.5, 500ms, 5m, 1h");
  return std::chrono::milliseconds(static_cast<std::int64_t>(time));
}

// Checks that come before long work: a search of an hour must not end in a file that cannot be written. They
// ask the system (access), and so may be outdated when the file is written; then the write reports its own
// error.

namespace fs = std::filesystem;

// Without a number and without `all` the points of the frontier, in their order in the file.
std::vector<int> chosen_points(const std::string& file, const Result& result, std::optional<int> point,
                               bool all) {
  const int count = static_cast<int>(result.points.size());
  if (point && *point >= count)
    throw InputError("--point", fmt::format("{} has no point {}", file, *point),
                     count == 0 ? "it has none at all" : fmt::format("use 0 to {}", count - 1));
  if (point) return {*point};
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    if (all || result.points[i].on_frontier) chosen.push_back(i);
  return chosen;
}

// An option that applies to results only.
void require_unset(bool unset, const char* option, const std::string& file) {
  if (!unset) throw InputError(option, "is for results, and " + file + " is a ranking", "leave it out");
}

// Errors in a script cite where it is from: the option, or its file.
Workload read_workload(const WorkloadInput& input) {
  const Workload workload = read_workload(input.file, input.settings);
  if (input.script_file.empty()) return transformed(workload, input.script, "--apply");
  return transformed(workload, read_file(input.script_file), input.script_file);
}

void require_writable_file(const std::string& option, const std::string& path) {
  if (path.empty() || path == kStandardOutput) return;
  const std::string why = why_not_writable(path);
  if (!why.empty()) throw InputError(option, path + ": " + why, "choose another file");
}

void make_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw InputError(option, "the directory " + path + " cannot be made: " + error.message(),
                     "choose another");
  require_writable_directory(option, path);
}

void require_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw InputError(option, "there is no directory " + path, "make it first, or choose another");
  // A file is made in a directory that can be written and searched.
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw InputError(option, "the directory " + path + " cannot be written to", "choose another");
}

// The nearest directory above that exists decides: those below it are made with the files.
void require_makeable_directory(const std::string& option, const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    throw InputError(option, there.string() + " is not a directory", "choose another");
  require_writable_directory(option, there.string());
}

}  // namespace chorale
