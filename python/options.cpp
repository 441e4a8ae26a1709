// Options by their rows (ir/option.h): keywords with their defaults and ranges.
#include <chorale/chorale.h>

#include "bindings.h"

namespace chorale {
namespace {

// The value that the owner has, as Python has it: durations in seconds (milliseconds in C++), choices by
// name, None where the option is not given and does not have a default.
template <typename Owner>
py::object python_of(const OptionRow<Owner>& row, Owner owner) {
  const OptionWords& words = row.words;
  if (row.member.text) return py::str(row.member.text(owner));
  if (row.member.number) return py::float_(row.member.number(owner));
  const std::optional<std::int64_t> value = given(row, owner);
  if (!value) return py::none();
  if (words.kind == OptionKind::Switch) return py::bool_(*value != 0);
  if (words.kind == OptionKind::Duration) return py::float_(static_cast<double>(*value) / 1000);
  if (words.kind == OptionKind::Choice) return py::str(name_in(words.choices, *value));
  return py::int_(*value);
}

// The inverse of python_of() for everything that counts. None is refused where the option has no value that
// stands for "not given".
std::int64_t counted_in(const py::dict& asked, const OptionWords& words) {
  const std::string name(words.name);
  if (words.kind == OptionKind::Switch) return keyword<bool>(asked, name.c_str());
  if (words.kind == OptionKind::Choice)
    return choice_named(words, keyword<std::string>(asked, name.c_str()), name);
  if (asked[name.c_str()].is_none() && words.unlimited) return *words.unlimited;
  if (words.kind == OptionKind::Duration)
    return milliseconds_in(words, keyword<double>(asked, name.c_str()), name);
  const auto value = words.kind == OptionKind::Size && py::isinstance<py::str>(asked[name.c_str()])
                         ? parse_size(name, keyword<std::string>(asked, name.c_str()))
                         : keyword<std::int64_t>(asked, name.c_str());
  require_in_range(words, value, name);
  return value;
}

// The default of a number may be out of its range (0: by the file, of a rate above 0), and may be given all
// the same.
template <typename Owner>
void take_number(const py::dict& asked, const OptionRow<Owner>& row, Owner& options) {
  const std::string name(row.words.name);
  const auto number = keyword<double>(asked, name.c_str());
  Owner usual;
  if (number != row.member.number(usual)) require_in_range(row.words, number, name);
  row.member.number(options) = number;
}

// Takes what it knows and leaves the rest, so that several tables can be asked one after the other; what is
// left in the end is an unknown keyword.
template <typename Owner>
void take(py::dict& asked, std::span<const OptionRow<Owner>> rows, Owner& options) {
  for (const OptionRow<Owner>& row : rows) {
    const std::string name(row.words.name);
    if (!asked.contains(name)) continue;
    if (row.member.text)
      row.member.text(options) = keyword<std::string>(asked, name.c_str());
    else if (row.member.number)
      take_number(asked, row, options);
    else
      row.member.set(options, counted_in(asked, row.words));
    asked.attr("pop")(name);
  }
}

// TypeError with Python's own words, as of a function that has no such parameter.
void require_all_taken(const py::dict& asked) {
  for (const auto& [name, unused] : asked)
    throw py::type_error("unexpected keyword argument '" + py::cast<std::string>(name) + "'");
}

template <typename Owner>
Owner options_in(const py::kwargs& asked, std::span<const OptionRow<Owner>> rows) {
  py::dict left = asked.attr("copy")();
  Owner options;
  take(left, rows, options);
  require_all_taken(left);
  return options;
}

// The last table of both kinds of search, after which nothing may be left; then the conditions between
// options, by their names in Python.
void take_search(py::dict& asked, FrontierOptions& options, const std::atomic<bool>& stop) {
  take(asked, search_rows(), options);
  require_all_taken(asked);
  require_consistent(options, [](const OptionWords& words) { return std::string(words.name); });
  options.synthesis.limits.stop = &stop;
}

// [(name, default, help)], from which the package makes signatures and docstrings.
template <typename Owner>
void add(py::list& told, std::span<const OptionRow<Owner>> rows) {
  for (const OptionRow<Owner>& row : rows)
    told.append(py::make_tuple(row.words.name, python_of(row, Owner()), help_of(row)));
}

}  // namespace

FrontierOptions frontier_options(const py::kwargs& asked, const std::atomic<bool>& stop) {
  py::dict left = asked.attr("copy")();
  FrontierOptions options;
  take(left, frontier_rows(), options);
  take_search(left, options, stop);
  return options;
}

std::pair<SynthesisQuestion, FrontierOptions> synthesis_options(const py::kwargs& asked,
                                                                const std::atomic<bool>& stop) {
  py::dict left = asked.attr("copy")();
  SynthesisQuestion question;
  FrontierOptions options;
  take(left, synthesis_rows(), question);
  take_search(left, options, stop);
  return {question, options};
}

void add_options(py::dict& job, const FrontierOptions& options) {
  for (const OptionRow<FrontierOptions>& row : question_rows())
    job[py::str(row.words.name)] = python_of(row, options);
}

PlaceOptions place_options(const py::kwargs& asked) {
  return options_in(asked, place_rows());
}
RunOptions run_options(const py::kwargs& asked) {
  return options_in(asked, run_rows());
}
CompileOptions compile_options(const py::kwargs& asked) {
  return options_in(asked, compile_rows());
}
ImportOptions import_question(const py::kwargs& asked) {
  return options_in(asked, import_rows());
}

// Through the rows of a search, so that ranges and words are those of its options.
SolveLimits limits_of(const std::optional<std::int64_t>& conflicts, const std::optional<double>& time_limit,
                      const std::atomic<bool>& stop) {
  FrontierOptions options;
  py::dict asked;
  asked["conflicts"] = conflicts;
  asked["time_limit"] = time_limit;
  take(asked, search_rows(), options);
  return {.conflicts = options.synthesis.limits.conflicts, .time = options.time_limit, .stop = &stop};
}

// The options of a call of the package, by its name; [] of a call without rows.
void bind_options(py::module_& module) {
  module.def("options", [](const std::string& call) {
    py::list told;
    if (call == "place") add(told, place_rows());
    if (call == "measure") add(told, run_rows());
    if (call == "compile") add(told, compile_rows());
    if (call == "import_topology" || call == "discover" || call == "machine") add(told, import_rows());
    if (call == "synthesize") add(told, synthesis_rows());
    if (call == "frontier") add(told, frontier_rows());
    if (call == "synthesize" || call == "frontier") add(told, search_rows());
    return told;
  });
}

}  // namespace chorale
