// Calls. Names, defaults and what may be left out are the package's (python/chorale/calls.py), which passes
// what every call has by position, in the order of the parameters here, and options of rows (ir/option.h) by
// keyword. Ranges that the command line keeps by its options are kept here.
//
// Long work runs in a thread of its own (python/watched.h) with a flag that ends it. Ctrl-C, or a callback
// that raises, sets the flag; what was found until then goes along with the exception (raise_again).
#include <chorale/chorale.h>

#include <chrono>
#include <optional>
#include <string>

#include "bindings.h"
#include "watched.h"

namespace chorale {
namespace {

// Of arguments that are not options of a row; None is in range.
template <typename Number>
void require_between(const char* name, std::optional<Number> value, Number least, Number most) {
  if (value && (*value < least || *value > most))
    throw InputError(name, std::to_string(*value) + " is out of range",
                     "use " + std::to_string(least) + " to " + std::to_string(most));
}

// What a call costs, taken out of the keywords; none where that is not said.
std::optional<double> call_in(py::dict& keywords) {
  const auto us = keyword<std::optional<double>>(keywords, "call_us");
  keywords.attr("pop")("call_us");
  require_between("call_us", us, 0.0, 1e9);
  return us;
}

// Lists are taken out of the keywords; what is left are options of imports, by their rows
// (python/options.cpp).
MachineChanges changes(const py::kwargs& asked) {
  py::dict left = asked.attr("copy")();
  const auto list = [&](const char* name) {
    const std::vector<std::string> all = keyword<std::vector<std::string>>(left, name);
    left.attr("pop")(name);
    return all;
  };
  MachineChanges given{list("without_links"), list("without_ranks"), list("degraded")};
  given.call_us = call_in(left);
  given.import = import_question(py::kwargs(left));
  return given;
}

// Raises what was raised meanwhile. Of Ctrl-C it is chorale.Interrupted, which has what was found.
template <typename Value>
void raise_again(const Watched<Value>& done, const py::object& found) {
  if (!done.raised) return;
  try {
    std::rethrow_exception(done.raised);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) throw;
  }
  // An exception made by hand: its argument is an object, which pybind11's translators cannot carry.
  const py::object type = exception_type("Interrupted");
  PyErr_SetObject(type.ptr(), type(found).ptr());
  throw py::error_already_set();
}

// A function that passes the last report of a search to Python, and in a long question one report per second;
// without effect if `listener` is None.
std::function<void()> telling(Latest<Progress>& latest, const py::object& listener) {
  if (listener.is_none()) return [] {};
  using Clock = std::chrono::steady_clock;
  return [&latest, &listener, last = std::optional<Progress>(), told = Clock::now()]() mutable {
    constexpr std::chrono::seconds kLongestSilence{1};
    const Clock::time_point now = Clock::now();
    if (std::optional<Progress> news = latest.take()) {
      last = std::move(news);
    } else if (last && now - told >= kLongestSilence) {
      last->seconds += std::chrono::duration<double>(now - told).count();
    } else {
      return;
    }
    told = now;
    listener(*last);
  };
}

// The result; of an interruption the result of what was found so far. `latest` is declared before the search
// so that it outlives the thread that reports to it.
py::object frontier_of(const Topology& topology, const Collective& collective, const py::object& listener,
                       const py::kwargs& asked) {
  std::atomic<bool> stop = false;
  Latest<Progress> latest;
  FrontierOptions options = frontier_options(asked, stop);
  if (!listener.is_none()) options.progress = [&](const Progress& progress) { latest.say(progress); };
  const auto done =
      watched([&] { return frontier(topology, collective, options); }, stop, telling(latest, listener));
  const py::object result = py::cast(done.value);
  raise_again(done, result);
  return result;
}

// The result, the answer and its report as JSON; an interruption carries the result alone. Without a time to
// search the work ends by itself, at kUsualEffort or kLongestOptimize at the latest.
py::object optimized(const Topology& topology, const Collective& collective, const py::object& listener,
                     const std::vector<std::int64_t>& sizes, std::optional<double> search_time,
                     std::optional<std::int64_t> effort, const std::string& baselines,
                     const std::string& time) {
  std::atomic<bool> stop = false;
  Latest<Progress> latest;
  OptimizeQuestion question{.message_bytes = sizes,
                            .baselines = row_named(baseline_sets(), "baselines", baselines).value,
                            .time = row_named(kTimeModels, "time", time).value,
                            .uses_all_time = search_time.has_value()};
  const SolveLimits limits = limits_of({}, search_time, stop);
  question.search.synthesis.limits.stop = &stop;
  question.search.time_limit = limits.time;
  if (effort) {
    if (*effort < 1 || *effort > kMostEffort)
      throw InputError("effort", "is not a number from 1 to 1000000000", "give millions of steps of work");
    question.search.effort = *effort;
  }
  if (!listener.is_none()) question.search.progress = [&](const Progress& progress) { latest.say(progress); };
  const auto done = watched([&] { return optimize(machine(topology), collective, question); }, stop,
                            telling(latest, listener));
  const Optimized& answer = done.value;
  const py::object found = py::make_tuple(answer.result, to_json(answer), to_json(report_of(answer)));
  raise_again(done, py::cast(answer.result));
  return found;
}

// The comparison and its report as JSON.
py::object compared(const std::string& first, const std::string& second,
                    const std::vector<std::string>& collectives, const std::vector<std::int64_t>& sizes,
                    double search_time, const py::kwargs& asked) {
  std::atomic<bool> stop = false;
  CompareQuestion question{.collectives = collectives,
                           .message_bytes = sizes,
                           .changes = changes(asked),
                           .search_time = limits_of({}, search_time, stop).time,
                           .stop = &stop};
  const auto done = watched([&] { return compare(first, second, question); }, stop, [] {});
  raise_again(done, py::none());
  return py::make_tuple(to_json(done.value), to_json(report_of(done.value)));
}

// The plan of an Alltoallv as JSON; rows of bytes by source.
py::tuple planned_alltoallv(const std::vector<std::vector<std::int64_t>>& rows, int nodes,
                            const std::string& rates) {
  std::string text;
  for (const auto& row : rows) {
    for (const std::int64_t bytes : row) text += std::to_string(bytes) + ",";
    text += "\n";
  }
  // By way of the text of a file of counts, whose reader checks them.
  const ByteCounts counts = read_byte_counts(text, "counts");
  const TwoTiers tiers = equal_nodes(counts.ranks, nodes, rates);
  const PlannedAlltoallv planned = plan_by_counts(tiers, counts);
  return py::make_tuple(to_json(tiers, planned), to_json(report_of(planned)));
}

// The order as JSON.
std::string ordered(const std::string& topology, const std::string& hosts, const std::string& job,
                    int node_ranks, double node_gbs, const std::vector<double>& tapers) {
  require_between("node_ranks", std::optional(node_ranks), 1, kMostRanks);
  if (!(node_gbs > 0) || tapers.empty() || std::ranges::any_of(tapers, [](double t) { return !(t >= 1); }))
    throw InputError("node_gbs, tapers", "are not rates", "use a rate above 0, and ratios of 1 and more");
  const OrderQuestion question{.job = job_from_json(job, "job"),
                               .node_ranks = node_ranks,
                               .rates = {.node_gbs = node_gbs, .tapers = tapers}};
  // Rates are checked here: on the command line their options have ranges.
  return to_json(order(allocation(topology, hosts), question));
}

// The design and its report as JSON, the machine, and a result for each collective of the job.
py::tuple designed(int ranks, int degree, const std::string& job, std::int64_t bytes, double alpha_us,
                   double link_gbs, double search_time) {
  std::atomic<bool> stop = false;
  require_between("bytes", std::optional(bytes), std::int64_t{0}, std::int64_t{1} << 40);
  if (!(alpha_us > 0) || !(link_gbs > 0))
    throw InputError("alpha_us, link_gbs", "are not above 0", "use numbers above 0");
  const DesignQuestion question{.ranks = ranks,
                                .degree = degree,
                                .job = design_job(job),
                                .message_bytes = bytes,
                                .alpha_us = alpha_us,
                                .link_gbs = link_gbs,
                                .search_time = limits_of({}, search_time, stop).time,
                                .stop = &stop};
  const auto done = watched([&] { return design(question); }, stop, [] {});
  const py::tuple found = py::make_tuple(to_json(done.value), to_json(report_of(done.value)),
                                         done.value.machine, done.value.results);
  raise_again(done, found);
  return found;
}

// What was found, as JSON, and the result.
py::tuple resharded(const Topology& topology, const std::string& demand, const std::vector<int>& host,
                    double search_time) {
  std::atomic<bool> stop = false;
  // The range of a time is that of the option --time-limit: limits_of() reads it by that row.
  FrontierOptions options{.time_limit = limits_of({}, search_time, stop).time};
  options.synthesis.limits.stop = &stop;
  const ReshardDemand asked = reshard_demand_from_json(demand, topology.ranks);
  const auto done = watched([&] { return reshard(topology, asked, host, options); }, stop, [] {});
  raise_again(done, py::none());
  return py::make_tuple(to_json(done.value), done.value.result);
}

// The verdict by name, the result, and the conflicts that the solver took.
py::object synthesis_of(const Topology& topology, const Collective& collective, const py::object& listener,
                        const py::kwargs& asked) {
  std::atomic<bool> stop = false;
  Latest<Progress> latest;
  auto [question, options] = synthesis_options(asked, stop);
  if (!listener.is_none()) options.progress = [&](const Progress& progress) { latest.say(progress); };
  const auto done =
      watched([&, &question = question,
               &options = options] { return synthesize(topology, collective, question, options); },
              stop, telling(latest, listener));
  raise_again(done, py::cast(done.value.result));
  return py::make_tuple(name_in(verdicts(), done.value.verdict), done.value.result, done.value.conflicts);
}

// With the GIL held at the beginning: watched() releases it for the work.
CheckReport checked(const Result& result, const std::string& proofs, const std::string& lrat,
                    const std::string& pb, std::optional<std::int64_t> conflicts,
                    std::optional<double> time_limit) {
  std::atomic<bool> stop = false;
  const CheckOptions options{
      .proof_dir = proofs, .pb_dir = pb, .lrat_dir = lrat, .limits = limits_of(conflicts, time_limit, stop)};
  const auto done = watched([&] { return check(result, options); }, stop, [] {});
  raise_again(done, py::cast(done.value));
  return done.value;
}

// A job whose sizes are open is a template, recognized by its key; conditions come as numbers of axes and
// levels, which the package has looked up by name.
Ranking placed(const Hierarchy& hierarchy, const std::string& job, const py::dict& conditions,
               const std::string& present, const py::kwargs& further) {
  const std::optional<JobTemplate> open =
      is_job_template(job) ? std::optional(job_template_from_json(job, "job")) : std::nullopt;
  // A template cannot have a present placement: its axes have no sizes yet.
  const Job asked = open ? Job() : job_from_json(job, "job");
  PlaceOptions options = place_options(further);
  for (const auto& [axis, level] : conditions["inside"].cast<std::vector<std::pair<int, int>>>())
    options.conditions.inside.push_back({.axis = axis, .level = level});
  for (const auto& [inner, outer] : conditions["order"].cast<std::vector<std::pair<int, int>>>())
    options.conditions.order.push_back({.inner = inner, .outer = outer});
  using Memory = std::tuple<int, std::vector<int>, double, double>;
  for (const auto& [level, axes, bytes, room] : conditions["memory"].cast<std::vector<Memory>>())
    options.conditions.memory.push_back(
        {.level = level, .axes = axes, .shard_bytes = bytes, .capacity_bytes = room});
  if (!present.empty() && open)
    throw InputError("present", "is for a job whose sizes are given", "give a job, or leave it out");
  if (!present.empty()) options.present = present_placement(hierarchy, asked.axes, present, "present");
  std::atomic<bool> stop = false;
  // Enumeration has no flag to stop it; its progress function ends it by its answer.
  options.limits.stop = &stop;
  options.progress = [&](int, int) { return !stop.load(); };
  const auto done =
      watched([&] { return open ? place(hierarchy, *open, options) : place(hierarchy, asked, options); },
              stop, [] {});
  raise_again(done, py::cast(done.value));
  return done.value;
}

// The point of that number, counted from 0, as in Result.points.
const Point& point_of(const Result& result, int number) {
  if (result.points.empty())
    throw InputError("point", "the result has no point", "search again with more limits");
  require_between("point", std::optional(number), 0, static_cast<int>(result.points.size()) - 1);
  return result.points[number];
}

// Buffers in, buffers out: what numpy makes of them is the package's.
// Buffers are contiguous, which the package sees to (python/chorale/arrays.py). They are copied in and out:
// Python may change its arrays while other threads run.
std::vector<py::bytearray> ran(const Result& result, int number, const std::string& type,
                               const std::string& op, const std::vector<py::buffer>& inputs) {
  RankData data;
  for (const py::buffer& input : inputs) {
    const py::buffer_info info = input.request();
    const auto* const begin = static_cast<const std::byte*>(info.ptr);
    data.emplace_back(begin, begin + info.size * info.itemsize);
  }
  const Point& point = point_of(result, number);
  const ElementType element = element_type(type);
  const ReduceOp sum = reduce_op(op);
  {
    const py::gil_scoped_release others;
    data = run_on(result.topology, point, element, sum, data);
  }
  std::vector<py::bytearray> outputs;
  for (const std::vector<std::byte>& each : data)
    outputs.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
  return outputs;
}

// Sizes are those of messages, as nccl-tests counts them; by_messages() makes the sizes of blocks of them.
std::vector<RunRow> measured(const Result& result, int number, const std::vector<std::int64_t>& bytes,
                             const std::string& type, const std::string& op, const py::kwargs& asked) {
  RunOptions options = run_options(asked);
  const Point& point = point_of(result, number);
  options.bytes = bytes, options.types = {element_type(type)}, options.ops = {reduce_op(op)};
  options = by_messages(std::move(options), point.collective);
  const py::gil_scoped_release others;
  return run(result.topology, point, {}, options);
}

using PathsAndTexts = std::vector<std::pair<std::string, std::string>>;

std::vector<NamedText> named(const PathsAndTexts& texts) {
  std::vector<NamedText> files;
  for (const auto& [path, text] : texts) files.push_back({path, text});
  return files;
}

// Called without the interpreter.
std::vector<NamedText> written_for_simgrid(const std::vector<NamedText>& messages) {
  const py::gil_scoped_acquire interpreter;
  const py::object written = py::module_::import("chorale.simulators").attr("written");
  PathsAndTexts all;
  for (const NamedText& each : messages) {
    const auto files =
        py::list(written("simgrid", each.path, each.text).attr("items")()).cast<PathsAndTexts>();
    all.insert(all.end(), files.begin(), files.end());
  }
  return named(all);
}

// Without a list of points: those of the frontier.
std::vector<SimulatedRow> simulated(const Result& result, const std::vector<std::int64_t>& bytes,
                                    const std::optional<std::vector<int>>& points) {
  std::atomic<bool> stop = false;
  SimulateQuestion asked{.message_bytes = bytes, .written = written_for_simgrid, .stop = &stop};
  for (int i = 0; i < std::ssize(result.points); ++i)
    if (!points && result.points[i].on_frontier) asked.points.push_back(i);
  if (points) asked.points = *points;
  const auto done = watched([&] { return simulate(result, asked); }, stop, [] {});
  raise_again(done, py::cast(done.value.rows));
  return done.value.rows;
}

// The path of the main file, and all files by path: text, or bytes where a format is binary. The GIL is held
// again before any Python object is made.
py::object compiled(const Result& result, int number, const std::string& target, const py::kwargs& asked) {
  const CompileOptions options = compile_options(asked);
  const Target to = target_named(target);
  const Point& point = point_of(result, number);
  Compiled text;
  {
    const py::gil_scoped_release others;
    text = compile(result.topology, point, to, options);
  }
  py::dict files;
  for (const NamedText& file : text.files) files[py::str(file.path)] = file.text;
  return py::make_tuple(text.path, files);
}

}  // namespace

// The GIL is released wherever C++ works without Python's objects: by `others` where all arguments are
// converted before the call, by hand where keywords have to be read first. Calls with a listener take it
// again for each report (python/watched.h).
void bind_calls(py::module_& module) {
  const auto others = py::call_guard<py::gil_scoped_release>();
  // Keywords are read with the GIL, the file without it.
  module.def("machine", [](const std::string& name, const py::kwargs& asked) {
    const MachineChanges changed = changes(asked);
    const py::gil_scoped_release free;
    return machine(name, changed).topology();
  });
  module.def("hierarchy", [](const std::string& name, const py::kwargs& asked) {
    return hierarchy(name, changes(asked));
  });
  module.def(
      "collective",
      [](const std::string& name, const Topology& topology, std::optional<Rank> root,
         const std::string& order, const std::string& group, const std::string& groups,
         const std::string& counts) {
        return chorale::collective(
            name, topology,
            {.root = root, .order = order, .group = group, .groups = groups, .counts = counts});
      },
      others, "name"_a, "machine"_a, "root"_a, "order"_a, "group"_a, "groups"_a, "counts"_a);
  module.def("catalogue", [] {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const CatalogueEntry& entry : known_machines()) rows.emplace_back(entry.pattern, entry.description);
    return rows;
  });
  module.def("collectives", [] { return collective_names(); });
  module.def("classics", [] {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const ClassicEntry& entry : known_classics())
      rows.emplace_back(name_of(entry.method), entry.description);
    return rows;
  });
  module.def("sizes", &parse_sizes);
  module.def("targets", [] {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const TargetEntry& entry : known_targets()) rows.emplace_back(entry.name, entry.description);
    return rows;
  });
  module.def("import_machine",
             [](const std::vector<std::pair<std::string, std::string>>& files, const py::kwargs& asked) {
               const ImportOptions question = import_question(asked);
               const py::gil_scoped_release free;
               const ImportedMachine read = import_machine(named(files), question);
               return std::tuple(read.machine, read.report, read.json);
             });
  module.def("discover_machine", [](const std::vector<std::string>& nccl_files, const py::kwargs& asked) {
    const ImportOptions question = import_question(asked);
    const py::gil_scoped_release free;
    const ImportedMachine found = discover_machine(nccl_files, question).machine;
    return std::tuple(found.machine, found.report, found.json);
  });
  module.def(
      "verify_program",
      [](const std::string& text, const std::string& name) {
        const std::unique_ptr<LoweredProgram> program = lowered_program(text, name);
        const ProgramShape& shape = program->shape();
        // By mode that the program has: its first fault ("": none), and the queue depth that it needs.
        std::map<std::string, std::tuple<std::string, int>> modes;
        for (const bool in_place : {false, true}) {
          if (in_place ? !shape.in_place : !shape.out_of_place) continue;
          const ProgramVerdict verdict = program->verdict(in_place);
          modes[in_place ? "in place" : "out of place"] = {verdict.fault, verdict.depth};
        }
        return std::tuple(shape.name, name_of(shape.collective), shape.ranks, shape.instructions, modes);
      },
      others, "text"_a, "name"_a);
  module.def("frontier", &frontier_of);
  module.def("synthesize", &synthesis_of);
  module.def("optimize", &optimized);
  module.def("compare", &compared);
  module.def("alltoallv", &planned_alltoallv, "counts"_a, "nodes"_a, "rates"_a);
  module.def("order", &ordered);
  module.def("design", &designed);
  module.def("reshard", &resharded);
  module.def("hosts_of", &hosts_of);
  module.def(
      "classic",
      [](const std::string& name, const Topology& topology, int chunks, std::optional<Rank> root) {
        require_between("chunks", std::optional(chunks), 0, kMostChunks);
        return classic(topology, {.name = name, .chunks = chunks, .root = root});
      },
      others, "name"_a, "machine"_a, "chunks"_a, "root"_a);
  module.def(
      "bounds",
      [](const Topology& topology, const Collective& collective, int chunks, std::optional<int> steps) {
        require_between("chunks", std::optional(chunks), 1, kMostChunks);
        require_between("steps", steps, 1, kMostSteps);
        const BoundsQuestion question{.chunks = chunks, .steps = steps};
        const Bounds known = bounds(topology, collective, question);
        return std::pair(known, to_json(report_of(topology, collective, question, known)));
      },
      others, "machine"_a, "collective"_a, "chunks"_a, "steps"_a);
  module.def("check", &checked, "result"_a, "proofs"_a, "lrat"_a, "pb"_a, "conflicts"_a, "time_limit"_a);
  module.def(
      "check_file",
      [](const std::string& file, const std::string& proofs, const std::string& lrat, const std::string& pb,
         std::optional<std::int64_t> conflicts, std::optional<double> time_limit) {
        return checked(read_result(file), proofs, lrat, pb, conflicts, time_limit);
      },
      "file"_a, "proofs"_a, "lrat"_a, "pb"_a, "conflicts"_a, "time_limit"_a);
  module.def(
      "read_result", [](const std::string& file) { return read_sound_result(file); }, others);
  module.def(
      "best_by_size",
      [](const Result& result, const std::vector<std::int64_t>& bytes) {
        return best_by_size(result, bytes);
      },
      others, "result"_a, "bytes"_a);
  module.def("place", &placed);
  module.def("emit_placement", [](const Ranking& ranking) {
    py::dict files;
    for (const NamedText& file : emit_placement(ranking)) files[py::str(file.path)] = file.text;
    return files;
  });
  module.def("run", &ran);
  module.def("measure", &measured);
  module.def("compile", &compiled);
  module.def("simulate", &simulated, "result"_a, "message_bytes"_a, "points"_a);
}

}  // namespace chorale
