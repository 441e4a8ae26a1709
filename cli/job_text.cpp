// A job is given by options or by a file, never by both: an option that differs from its default beside --job
// is refused. Names of axes go into files, tables and programs, so characters that cannot be shown are
// refused here.
#include "cli/job_text.h"

#include <algorithm>

#include "cli/parse.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {

int axis_named(const std::string& option, const std::vector<Axis>& axes, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int>(i);
    known += (i > 0 ? ", " : "") + axes[i].name;
  }
  throw InputError(option, "'" + name.substr(0, 60) + "' is not an axis", "use one of " + known);
}

std::vector<int> axes_named(const std::string& option, const std::vector<Axis>& axes,
                            const std::string& names) {
  std::vector<int> result;
  for (const std::string& name : split(names, ',')) result.push_back(axis_named(option, axes, name));
  // The order of names has no meaning: reductions and conditions are over sets of axes.
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    throw InputError(option, "names an axis twice", "name each once");
  return result;
}

// Of a job template ("open") an axis may lack its size: "tensor=8,data".
std::vector<Axis> parse_axes(const std::string& text, bool open) {
  std::vector<Axis> axes;
  for (const std::string& part : split(text, ',')) {
    std::vector<std::string> sides = split(part, '=');
    if (sides.size() == 1 && open) sides.push_back("0");
    if (sides.size() == 1 && !sides[0].empty())
      throw InputError(
          "--axes", "'" + part.substr(0, 60) + "' has no size",
          "use name=size, such as data=4, or --job with a template, which defines what sizes are for");
    if (sides.size() != 2 || sides[0].empty() || sides[0].size() > 40)
      throw InputError("--axes", "'" + part.substr(0, 60) + "' is not an axis",
                       "use name=size, such as data=4,tensor=8");
    if (shown(sides[0]) != sides[0])
      throw InputError("--axes", "'" + sides[0] + "' has characters that cannot be shown",
                       "choose another name");
    for (const Axis& axis : axes)
      if (axis.name == sides[0])
        throw InputError("--axes", "names '" + sides[0] + "' twice", "choose another name");
    axes.push_back({sides[0], static_cast<int>(parse_integer("--axes", sides[1], open ? 0 : 1, 1 << 24))});
    if (axes.size() > 8) throw InputError("--axes", "has more than 8 axes", "use fewer");
  }
  return axes;
}

// One communication is a job with one reduction, named as its axes.
Job job_of(const JobText& text) {
  // Values that are the defaults do not show whether the option was given, and do no harm.
  const bool by_options = !text.axes.empty() || !text.reduce.empty() || text.bytes > 0 || text.element != 4 ||
                          text.goal != Goal::AllReduce;
  if (!text.job.empty()) {
    if (by_options)
      throw InputError("--job", "excludes --axes, --reduce, --bytes, --goal and --element",
                       "drop one or the others");
    return job_from_json(read_file(text.job), text.job);
  }
  if (text.axes.empty())
    throw InputError("--axes", "is missing", "give axes, such as data=4,tensor=8, or --job FILE");
  Job job{.axes = parse_axes(text.axes, false)};
  if (text.reduce.empty()) throw InputError("--reduce", "is missing", "name the axes to sum over");
  if (!(text.bytes > 0))
    throw InputError("--bytes", "is missing or zero", "give the size of the data on a device, such as 4G");
  job.reductions = {{.name = text.reduce,
                     .goal = text.goal,
                     .axes = axes_named("--reduce", job.axes, text.reduce),
                     .bytes = text.bytes,
                     .element_bytes = static_cast<double>(text.element)}};
  return job;
}

// Sizes of data are binary, as elsewhere on the command line, and bandwidths decimal.
void one_communication(CLI::App* sub, JobText& job) {
  text(sub, "--reduce", job.reduce, "NAME,...", "The axes that are summed over");
  value(
      sub, "--bytes", "SIZE",
      "What every device contributes; of an allgather what it has in the end, all parts together (4G is 4 * "
      "2^30; bandwidths are decimal)",
      [&job](const Text& t) { job.bytes = static_cast<double>(parse_size("--bytes", t)); });
  choice<Goal>(sub, "--goal", job.goal, kGoalNames,
               "What is done over these axes; shift: each sends to the next along them (allreduce)");
  integer(sub, "--element", job.element, 1, 64, "BYTES", "Of an element: nothing is scattered finer (4)");
}

}  // namespace chorale
