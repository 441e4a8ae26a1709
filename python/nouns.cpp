// Values: what a machine, a collective and a result are, to be read and not to be changed. A value that
// Python makes is written as text and read again, so that what the readers of files refuse is refused here,
// in their words.
#include <chorale/chorale.h>

#include "bindings.h"

namespace chorale {
namespace {

// A Python Fraction if it is one; None where nothing is known or there is no schedule at all.
py::object fraction(long long rounds, long long chunks) {
  if (chunks == 0 || rounds == kNoSchedule) return py::none();
  return py::module_::import("fractions").attr("Fraction")(rounds, chunks);
}

py::object fraction(const Rate& rate) {
  return fraction(rate.rounds, rate.chunks);
}

std::string kind_of(const Certificate& certificate) {
  return name_in(certificate_kinds(), certificate.kind);
}

// A value as Python has it: by kind of value, not by field, so that a field of a new noun needs nothing here
// unless its type is new. INT_MAX is None where the field allows any number; a number that an older file did
// not state is 0; enumerations are their names; an optional without a value is None.
template <typename Value>
py::object python_of(const Value& value, const FieldWords& words) {
  if constexpr (std::is_same_v<Value, int>)
    return words.or_any && value == INT_MAX ? py::object(py::none())
                                            : py::object(py::int_(value == words.unstated ? 0 : value));
  else if constexpr (std::is_same_v<Value, Rate>)
    return fraction(value);
  else if constexpr (std::is_same_v<Value, Certificate>)
    return py::str(kind_of(value));
  else if constexpr (std::is_same_v<Value, RankSet>)
    return py::cast(std::vector<int>(value.begin(), value.end()));
  else if constexpr (requires { name_of(value); })
    return py::str(name_of(value));
  else if constexpr (requires { to_string(value); })
    return py::str(to_string(value));
  else if constexpr (std::is_same_v<Value, std::vector<Cable>>) {
    py::list ends;
    for (const Cable& each : value) ends.append(py::make_tuple(each.src, each.dst));
    return ends;
  } else if constexpr (requires { value.has_value(); })
    return value ? python_of(*value, words) : py::none();
  else
    return py::cast(value);
}

// A value with a class of its own, or a list of such.
template <typename Value>
constexpr bool is_noun = false;
template <typename Value>
requires requires {
  Fields<Value>::all;
}
constexpr bool is_noun<Value> = !std::is_same_v<Value, Certificate>;  // in Python, its kind
template <typename Value>
constexpr bool is_nouns = false;
template <typename Value>
constexpr bool is_nouns<std::vector<Value>> = is_noun<Value>;

template <typename Value>
std::string class_of() {
  return py::type::of<Value>().attr("__name__").template cast<std::string>();
}

// Its annotation in the stub, for what python_of() makes of it. The test of documents compares the two
// (tests/docs/described.py).
template <typename Value>
std::string annotation(const FieldWords& words) {
  if constexpr (is_noun<Value>) return class_of<Value>();
  if constexpr (is_nouns<Value>) return "List[" + class_of<typename Value::value_type>() + "]";
  if constexpr (std::is_same_v<Value, bool>) return "bool";
  if constexpr (std::is_integral_v<Value>) return words.or_any ? "Optional[int]" : "int";
  if constexpr (std::is_same_v<Value, double>) return "float";
  if constexpr (std::is_same_v<Value, Rate>) return "Optional[Fraction]";
  if constexpr (std::is_same_v<Value, std::vector<int>> || std::is_same_v<Value, RankSet>) return "List[int]";
  if constexpr (std::is_same_v<Value, std::vector<double>>) return "List[float]";
  if constexpr (std::is_same_v<Value, std::vector<Cable>>) return "List[Tuple[int, int]]";
  if constexpr (requires(Value value) { value.has_value(); }) {
    const std::string value = annotation<typename Value::value_type>(words);
    return value.starts_with("Optional") ? value : "Optional[" + value + "]";
  }
  return "str";
}

py::dict& known_fields() {
  static auto* const known = new py::dict();  // never freed: Python may end first
  return *known;
}

// A property for each field (ir/fields.h); _fields of the module has their annotations, for the test of the
// stub.
template <typename Type>
void bind_fields(py::class_<Type>& type) {
  py::dict annotations;
  fields<Type>([&](const auto& field) {
    using Value = std::remove_cvref_t<decltype(field.of(std::declval<const Type&>()))>;
    annotations[py::str(field.words.name)] = annotation<Value>(field.words);
    // Nouns are returned by reference into their owner, which pybind11 keeps alive: the points of a result
    // are not copied. A list of nouns is a new list of references.
    if constexpr (is_noun<Value> || is_nouns<Value>)
      type.def_property_readonly(
          field.words.name.data(), [&field](const Type& value) -> const Value& { return field.of(value); },
          field.words.help.data());
    else
      type.def_property_readonly(
          field.words.name.data(),
          [&field](const Type& value) { return python_of(field.of(value), field.words); },
          field.words.help.data());
  });
  known_fields()[type.attr("__name__")] = annotations;
}

// By number among the switches, from 0, as files have them.
void require_switches(const Topology& topology, const std::vector<int>& which) {
  for (const int number : which)
    if (number < 0 || number >= topology.switches)
      throw InputError("Topology", "there is no switch " + std::to_string(number),
                       "count switches from 0; they are nodes after the ranks");
}

// Links and limits are made as they are given; the constructor of a machine writes it and reads it again, so
// that it obeys the rules of files, with the same words for what is wrong.
void bind_machines(py::module_& module) {
  py::class_<Link> link(module, "Link", "A directed link, and what a step and a byte cost over it.");
  bind_fields(link);
  link.def(py::init([](Node src, Node dst, int bandwidth, double alpha_us, double beta_us_per_byte) {
             return Link{src, dst, bandwidth, alpha_us, beta_us_per_byte};
           }),
           py::arg("src"), py::arg("dst"), py::arg("bandwidth") = 1, py::arg("alpha_us") = Link{}.alpha_us,
           py::arg("beta_us_per_byte") = Link{}.beta_us_per_byte)
      .def(
          "__eq__", [](const Link& a, const Link& b) { return a == b; }, py::is_operator());
  py::class_<SharedLimit> limit(
      module, "SharedLimit",
      "Links, by their numbers, that together move at most 'bandwidth' chunks per round.");
  bind_fields(limit);
  limit
      .def(py::init(
               [](std::string name, std::vector<LinkId> links, int bandwidth, bool multicast, bool reduce) {
                 return SharedLimit{std::move(name), std::move(links), bandwidth, {multicast, reduce}};
               }),
           py::arg("name"), py::arg("links"), py::arg("bandwidth"), py::arg("multicast") = false,
           py::arg("reduce") = false)
      .def(
          "__eq__", [](const SharedLimit& a, const SharedLimit& b) { return a == b; }, py::is_operator());
  py::class_<NodeLabel> label(module, "NodeLabel", "What files of other tools call a rank or a switch.");
  bind_fields(label);
  py::class_<Topology> topology(
      module, "Topology",
      "A machine: ranks 0 .. ranks-1, switches after them, directed links, shared limits.");
  bind_fields(topology);
  topology
      .def(py::init([](std::string name, int ranks, std::vector<Link> links, std::vector<SharedLimit> limits,
                       int switches, const std::vector<int>& multicast, const std::vector<int>& reduce) {
             Topology made{std::move(name), ranks, switches, std::move(links), std::move(limits)};
             for (const std::vector<int>& able : {multicast, reduce}) require_switches(made, able);
             enable<&Abilities::multicast>(made, multicast);
             enable<&Abilities::reduce>(made, reduce);
             return topology_from_json(to_json(made), "Topology");
           }),
           py::arg("name"), py::arg("ranks"), py::arg("links"),
           py::arg("limits") = std::vector<SharedLimit>(), py::arg("switches") = 0,
           py::arg("multicast") = std::vector<int>(), py::arg("reduce") = std::vector<int>())
      .def_static(
          "from_json",
          [](const std::string& text, const std::string& name) { return topology_from_json(text, name); },
          py::arg("text"), py::arg("name") = "machine", "Reads a machine as files have it (docs/formats.md).")
      .def(
          "to_json", [](const Topology& topology) { return to_json(topology); }, "The text of its file.")
      .def(
          "to_page", [](const Topology& topology) { return to_page(topology); },
          "A page with the machine drawn.")
      .def(
          "with_switches", [](const Topology& topology) { return with_switches(topology); },
          "The machine with its switches, if the links are routes through them; otherwise the machine "
          "itself.")
      .def(
          "__eq__", [](const Topology& a, const Topology& b) { return a == b; }, py::is_operator());
  py::class_<Hierarchy>(module, "Hierarchy", "A machine with levels, on which parallel axes are placed.")
      .def_static(
          "from_json",
          [](const std::string& text, const std::string& name) { return hierarchy_from_json(text, name); },
          py::arg("text"), py::arg("name") = "hierarchy")
      .def("to_json", [](const Hierarchy& hierarchy) { return to_json(hierarchy); })
      .def_readonly("name", &Hierarchy::name)
      .def_property_readonly("levels",
                             [](const Hierarchy& hierarchy) {
                               std::vector<std::pair<std::string, int>> levels;
                               for (const Level& level : hierarchy.levels)
                                 levels.emplace_back(level.name, level.fan_out);
                               return levels;
                             })
      .def_property_readonly("devices", [](const Hierarchy& hierarchy) { return devices(hierarchy); });
}

// Made from JSON only, or by name (collective() in python/calls.cpp). The number of ranks is not a field
// of files, which name a machine beside the collective.
void bind_collectives(py::module_& module) {
  py::class_<ChunkSpec> chunk(
      module, "Chunk", "Sources (pre) and destinations (post) of a chunk, and its slots in their buffers.");
  bind_fields(chunk);
  py::class_<Collective> collective(module, "Collective",
                                    "The chunks of a collective, with the sources and destinations of each.");
  bind_fields(collective);
  collective.def_readonly("ranks", &Collective::ranks)
      .def_static(
          "from_json",
          [](const std::string& text, int ranks, const std::string& name) {
            return collective_from_json(text, name, ranks);
          },
          py::arg("text"), py::arg("ranks"), py::arg("name") = "collective")
      .def("to_json", [](const Collective& collective) { return to_json(collective); })
      .def(
          "input_chunks",
          [](const Collective& collective, Rank rank) { return input_chunks(collective, rank); },
          py::arg("rank"), "Chunks of the rank's input buffer.")
      .def(
          "output_chunks",
          [](const Collective& collective, Rank rank) { return output_chunks(collective, rank); },
          py::arg("rank"), "Chunks of the rank's output buffer.")
      .def(
          "__eq__", [](const Collective& a, const Collective& b) { return a == b; }, py::is_operator());
}

// Points and claims cannot be made in Python: they come with a result. A schedule is copied at each
// access, and may have millions of sends.
void bind_points(py::module_& module) {
  py::class_<Send>(module, "Send", "A chunk over a link; with 'reduce' the receiver adds it to its own.")
      .def_readonly("chunk", &Send::chunk)
      .def_readonly("link", &Send::link)
      .def_readonly("reduce", &Send::reduce);
  py::class_<Step>(module, "Step", "Sends that are in transit together, and the rounds that they take.")
      .def_readonly("rounds", &Step::rounds)
      .def_readonly("sends", &Step::sends);
  py::class_<Point> point(module, "Point",
                          "One algorithm: its cost, its schedule, and whether it is proven best.");
  bind_fields(point);
  point
      .def_property_readonly(
          "rate", [](const Point& point) { return fraction(point.cost.rounds, point.cost.chunks); },
          "Rounds per chunk.")
      .def_readonly("collective", &Point::collective)
      .def_property_readonly("schedule", [](const Point& point) { return point.schedule.steps; });
  py::class_<Claim> claim(module, "Claim",
                          "Every schedule of at most 'steps' steps takes at least 'rounds' rounds.");
  bind_fields(claim);
  py::class_<TimeClaim> time_claim(module, "TimeClaim",
                                   "No schedule for blocks of that size ends sooner after the call.");
  bind_fields(time_claim);
}

// Results cannot be made in Python but from JSON: their schedules are verified as they are read.
void bind_results(py::module_& module) {
  py::class_<Space> space(module, "Space", "All schedules that a result is about.");
  bind_fields(space);
  py::class_<SearchLimits> limits(module, "SearchLimits", "What a search was not to exceed; None: no limit.");
  bind_fields(limits);
  py::class_<Opening> opening(module, "Opening",
                              "Rounds per chunk that are not decided, with at most 'steps' steps.");
  bind_fields(opening);
  py::class_<Result> result(module, "Result",
                            "Algorithms for a machine and a collective, with the claims that prove them.");
  bind_fields(result);
  const auto others = py::call_guard<py::gil_scoped_release>();
  result
      .def_static("from_json", &sound_result, others, py::arg("text"), py::arg("name") = "result",
                  "Reads a result. Every schedule is verified; claims are believed: check() them.")
      .def(
          "to_json", [](const Result& result) { return to_json(result); }, others,
          "What 'chorale frontier --json' writes.")
      .def(
          "to_page", [](const Result& result) { return to_page(result); }, others,
          "What 'chorale show --html' writes.")
      .def_property_readonly("_report",
                             [](const Result& result) {
                               py::gil_scoped_release others;
                               Listed listed{.best = best_sizes(result)};
                               for (int i = 0; i < std::ssize(result.points); ++i)
                                 if (result.points[i].on_frontier) listed.points.push_back(i);
                               return to_json(report_of(result, listed));
                             })
      .def_property_readonly(
          "rate_bound",
          [](const Result& result) {
            const Rate rate = rate_bound(result);
            return rate.rounds == 0 ? py::none() : fraction(rate);
          },
          "Lower bound on rounds per chunk, for any number of chunks.")
      .def_property_readonly(
          "best_sizes", [](const Result& result) { return best_sizes_in_words(result); },
          "By point, the sizes of messages at which it is the best, in words.")
      .def_property_readonly(
          "proofs",
          [](const Result& result) {
            std::vector<std::string> words;
            for (const Point& point : result.points) words.push_back(proven_by(result, point));
            return words;
          },
          "By point, its certificate in words.")
      .def(
          "__eq__", [](const Result& a, const Result& b) { return a == b; }, py::is_operator());
  py::class_<SizeRow> size(module, "SizeRow", "What is fastest for messages of that size.");
  bind_fields(size);
  py::class_<SimulatedRow> simulated(module, "SimulatedRow", "A time by SimGrid beside what is predicted.");
  bind_fields(simulated);
  py::class_<Bounds> known(module, "Bounds", "What no schedule can beat.", py::dynamic_attr());
  bind_fields(known);
  py::class_<CheckReport>(module, "CheckReport", "What a check accepted, and every fault.")
      .def_property_readonly("faults",
                             [](const CheckReport& report) {
                               std::vector<std::string> words;
                               for (const Fault& fault : report.faults) words.push_back(fault.words);
                               return words;
                             })
      .def_property_readonly(
          "ok", [](const CheckReport& report) { return report.faults.empty(); },
          "True if there is no fault; 'undecided' has what was left open.")
      .def_readonly("schedules", &CheckReport::schedules)
      .def_readonly("bounds", &CheckReport::bounds)
      .def_readonly("refutations", &CheckReport::refutations)
      .def_readonly("plain", &CheckReport::plain)
      .def_readonly("undecided", &CheckReport::undecided);
  py::class_<RunRow> run(module, "RunRow",
                         "Times of a size, type and operation, and how many elements were wrong.");
  bind_fields(run);
  py::class_<SolverReport>(module, "SolverReport",
                           "What a solver was asked for a ranking, and what it has shown.")
      .def_readonly("strategies", &SolverReport::strategies)
      .def_readonly("calls", &SolverReport::calls)
      .def_readonly("conflicts", &SolverReport::conflicts)
      .def_readonly("seconds", &SolverReport::seconds)
      .def_readonly("complete", &SolverReport::complete)
      .def_readonly("nothing_longer", &SolverReport::nothing_longer);
  py::class_<Ranking>(module, "Ranking", "Placements of a job's axes, best first, with their strategies.")
      .def(
          "to_json", [](const Ranking& ranking) { return to_json(ranking); },
          "What 'chorale place --json' writes.")
      .def(
          "to_page", [](const Ranking& ranking) { return to_page(ranking); },
          "What 'chorale place --html' writes.")
      .def_readonly("hierarchy", &Ranking::hierarchy)
      .def_readonly("matrices", &Ranking::matrices)
      .def_readonly("priced", &Ranking::priced)
      .def_readonly("seconds", &Ranking::seconds)
      .def_readonly("engine", &Ranking::engine)
      .def_readonly("solver", &Ranking::solver)
      .def_property_readonly("sentences", [](const Ranking& ranking) { return sentences(ranking); })
      .def_property_readonly("_report", [](const Ranking& ranking) { return to_json(report_of(ranking)); });
  py::class_<Progress> progress(module, "Progress", "What a search is doing.");
  bind_fields(progress);
}

}  // namespace

// Links before machines, chunks before collectives: a class has to be known before a signature or an
// annotation names it.
void bind_nouns(py::module_& module) {
  module.attr("_fields") = known_fields();
  bind_machines(module);
  bind_collectives(module);
  bind_points(module);
  bind_results(module);
}

}  // namespace chorale
