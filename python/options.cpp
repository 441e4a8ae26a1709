// Options by their rows (ir/option.h): keywords with their defaults and ranges.
#include <chorale/chorale.h>

#include "bindings.h"

namespace chorale {
namespace {

py::object python_of(const OptionWords& words, std::optional<std::int64_t> value) {
  if (!value) return py::none();
  if (words.kind == OptionKind::Switch) return py::bool_(*value != 0);
  if (words.kind == OptionKind::Duration) return py::float_(static_cast<double>(*value) / 1000);
  return py::int_(*value);
}

std::int64_t number_in(const py::dict& asked, const OptionWords& words) {
  const std::string name(words.name);
  if (words.kind == OptionKind::Switch) return keyword<bool>(asked, name.c_str());
  if (asked[name.c_str()].is_none() && words.unlimited) return *words.unlimited;
  if (words.kind == OptionKind::Duration)
    return milliseconds_in(words, keyword<double>(asked, name.c_str()), name);
  const auto value = keyword<std::int64_t>(asked, name.c_str());
  require_in_range(words, value, name);
  return value;
}

template <typename Owner>
void take(py::dict& asked, std::span<const OptionRow<Owner>> rows, Owner& options) {
  for (const OptionRow<Owner>& row : rows) {
    const std::string name(row.words.name);
    if (!asked.contains(name)) continue;
    if (row.member.text)
      row.member.text(options) = keyword<std::string>(asked, name.c_str());
    else
      row.member.set(options, number_in(asked, row.words));
    asked.attr("pop")(name);
  }
}

// What is left is of no option.
void take_search(py::dict& asked, FrontierOptions& options, const std::atomic<bool>& stop) {
  take(asked, search_rows(), options);
  for (const auto& [name, unused] : asked)
    throw py::type_error("unexpected keyword argument '" + py::cast<std::string>(name) + "'");
  require_consistent(options, [](const OptionWords& words) { return std::string(words.name); });
  options.synthesis.limits.stop = &stop;
}

template <typename Owner>
void add(py::list& told, std::span<const OptionRow<Owner>> rows) {
  for (const OptionRow<Owner>& row : rows)
    told.append(py::make_tuple(
        row.words.name, row.member.text ? py::object(py::str()) : python_of(row.words, given(row, Owner())),
        help_of(row)));
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
    job[py::str(row.words.name)] = python_of(row.words, given(row, options));
}

SolveLimits limits_of(const std::optional<std::int64_t>& conflicts, const std::optional<double>& time_limit,
                      const std::atomic<bool>& stop) {
  FrontierOptions options;
  py::dict asked;
  asked["conflicts"] = conflicts;
  asked["time_limit"] = time_limit;
  take(asked, search_rows(), options);
  return {.conflicts = options.synthesis.limits.conflicts, .time = options.time_limit, .stop = &stop};
}

void bind_options(py::module_& module) {
  module.def("options", [](const std::string& call) {
    py::list told;
    if (call == "synthesize")
      add(told, synthesis_rows());
    else
      add(told, frontier_rows());
    add(told, search_rows());
    return told;
  });
}

}  // namespace chorale
