// Formats that are JSON, and which format a text has. Traces differ between versions of PyTorch and NCCL, so
// a field that is absent or of another type counts as not known; a text that is not a trace at all is
// refused.
#include "api/trace_readers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "ir/error.h"
#include "ir/json_reader.h"

namespace chorale {
namespace {

constexpr std::size_t kMostEvents = 100'000'000;
constexpr std::size_t kLongestName = 1 << 20;
constexpr double kMostNumber = 1e18;
constexpr double kMostTime = 9e18;  // ns since 1970: of 2026 it is 1.8e18

// Of an element, by the names that PyTorch gives types in traces; 0: not known.
int bytes_of_type(std::string type) {
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (type.starts_with("c10::")) type.erase(0, 5);
  if (type.starts_with("float8") || type.starts_with("f8")) return 1;
  struct Row {
    std::string_view name = {};
    int bytes = 0;
  };
  static constexpr std::array<Row, 18> rows = {{{"float", 4},
                                                {"double", 8},
                                                {"half", 2},
                                                {"bfloat16", 2},
                                                {"int", 4},
                                                {"long", 8},
                                                {"long int", 8},
                                                {"short", 2},
                                                {"short int", 2},
                                                {"char", 1},
                                                {"signed char", 1},
                                                {"byte", 1},
                                                {"unsigned char", 1},
                                                {"bool", 1},
                                                {"float32", 4},
                                                {"float64", 8},
                                                {"complexfloat", 8},
                                                {"int64", 8}}};
  const auto* const row = std::ranges::find(rows, type, &Row::name);
  return row == rows.end() ? 0 : row->bytes;
}

std::string text_at(const JsonReader& json, const char* key) {
  return json.is_object() && json.has(key) && !json[key].is_null() && !json[key].is_number() &&
                 !json[key].is_array() && !json[key].is_object()
             ? json[key].text(kLongestName)
             : "";
}

double number_at(const JsonReader& json, const char* key, double most = kMostNumber) {
  return json.has(key) && json[key].is_number() ? json[key].number(-most, most) : 0;
}

int ranks_at(const JsonReader& json, const char* key) {
  return static_cast<int>(number_at(json, key, kMostTracedRanks));
}

// "[0, 1, 2]", or the same as a list; empty if it is cut short ("[0, 1, ...]").
std::vector<int> listed_ranks(const JsonReader& json, const char* key) {
  std::vector<int> ranks;
  if (!json.has(key)) return ranks;
  if (json[key].is_array()) {
    for (std::size_t i = 0; i < json[key].size(1 << 24); ++i)
      ranks.push_back(json[key].at(i).integer(0, kMostTracedRanks));
    return ranks;
  }
  std::string text = text_at(json, key);
  if (text.find("...") != std::string::npos) return {};
  std::ranges::replace_if(
      text, [](char c) { return c < '0' || c > '9'; }, ' ');
  std::istringstream words(text);
  for (int rank = 0; words >> rank;) ranks.push_back(rank);
  return ranks;
}

// Elements of a list of sizes, which may be nested: [[3,4]], [[[3,4],[2]]]; one of no dimensions is none.
double elements_in(const JsonReader& dims) {
  if (!dims.is_array() || dims.size(kMostEvents) == 0) return 0;
  double product = 1, sum = 0;
  for (std::size_t i = 0; i < dims.size(kMostEvents); ++i) {
    if (dims.at(i).is_array())
      sum += elements_in(dims.at(i));
    else if (dims.at(i).is_number())
      product *= dims.at(i).number(0, kMostNumber);
  }
  return dims.at(0).is_number() ? product : sum;
}

// With "Collective name" and counts of elements: a kernel of NCCL, or record_param_comms, which only launches
// it.
TracedCall call_of_args(const JsonReader& args, double us) {
  // The larger buffer of the rank, as nccl-tests counts messages.
  const double elements = std::max(number_at(args, "In msg nelems"), number_at(args, "Out msg nelems"));
  return {.operation = text_at(args, "Collective name"),
          .group = text_at(args, "Process Group Name"),
          .members = listed_ranks(args, "Process Group Ranks"),
          .ranks = ranks_at(args, "Group size"),
          .message_bytes = whole_bytes(elements * bytes_of_type(text_at(args, "dtype")), args.where()),
          .us = us};
}

// "gloo:all_reduce", of all ranks, by the sizes of its tensors.
TracedCall call_of_shapes(const std::string& name, const JsonReader& args, int ranks, double us) {
  TracedCall call{.operation = name.substr(name.find(':') + 1), .group = "all", .ranks = ranks, .us = us};
  if (!args.has("Input Dims")) return call;
  int bytes = 4;  // of an element, if the trace does not say
  if (args.has("Input type") && args["Input type"].is_array() && args["Input type"].size(kMostEvents) > 0)
    if (const int known = bytes_of_type(args["Input type"].at(0).text(kLongestName)); known > 0)
      bytes = known;
  // Dims are of the rank's own tensor. With an unknown number of ranks there is no size, and the call is
  // skipped.
  const int tensors = call.operation.find("gather") != std::string::npos ? ranks : 1;
  call.message_bytes = whole_bytes(elements_in(args["Input Dims"]) * bytes * tensors, args.where());
  return call;
}

struct Span {
  double from = 0, to = 0;
  bool any = false;
  void add(double start, double length) {
    from = any ? std::min(from, start) : start;
    to = any ? std::max(to, start + length) : start + length;
    any = true;
  }
};

// Complete events ("ph": "X") alone have a duration. A collective may be there as a kernel, as what launches
// it, and as a backend's event: the first of these kinds that the trace has counts, so that none counts
// twice.
void read_profile(const JsonReader& events, int ranks, const std::string& file, TraceTally& tally) {
  std::vector<TracedCall> kernels, launches, shapes;
  Span span;
  for (std::size_t i = 0; i < events.size(kMostEvents); ++i) {
    const JsonReader event = events.at(i);
    if (!event.is_object() || text_at(event, "ph") != "X") continue;
    const std::string name = text_at(event, "name"), category = text_at(event, "cat");
    const double us = number_at(event, "dur");
    span.add(number_at(event, "ts"), us);
    if (!event.has("args") || !event["args"].is_object()) continue;
    const JsonReader args = event["args"];
    if (args.has("Collective name"))
      (category == "kernel" ? kernels : launches)
          .push_back(call_of_args(args, category == "kernel" ? us : 0));
    else if (name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:"))
      shapes.push_back(call_of_shapes(name, args, ranks, us));
  }
  for (TracedCall& call : !kernels.empty() ? kernels : !launches.empty() ? launches : shapes)
    tally.add(file, std::move(call));
  tally.duration_us = std::max(tally.duration_us, span.to - span.from);
}

// Sizes of all tensors of an entry, in bytes; types are given for each.
double bytes_in(const JsonReader& entry, const char* sizes, const char* types) {
  double bytes = 0;
  if (!entry.has(sizes) || !entry[sizes].is_array()) return 0;
  for (std::size_t i = 0; i < entry[sizes].size(kMostEvents); ++i) {
    int of_type = 4;
    if (entry.has(types) && entry[types].is_array() && i < entry[types].size(kMostEvents))
      of_type = bytes_of_type(entry[types].at(i).text(kLongestName));
    bytes += elements_in(entry[sizes].at(i)) * of_type;
  }
  return bytes;
}

// {"entries": [{"profiling_name": "nccl:all_reduce", "process_group": ["0", ..], "input_sizes": [[..]], ..}],
// "pg_config": {"0": {"ranks": "[0, 1]"}}}.
void read_flight_recorder(const JsonReader& json, const std::string& file, TraceTally& tally) {
  const JsonReader entries = json["entries"];
  Span span;
  for (std::size_t i = 0; i < entries.size(kMostEvents); ++i) {
    const JsonReader entry = entries.at(i);
    const std::string name = text_at(entry, "profiling_name");
    TracedCall call{.operation = name.substr(name.find(':') + 1),
                    .us = 1000 * number_at(entry, "duration_ms")};
    if (entry.has("process_group") && entry["process_group"].is_array() &&
        entry["process_group"].size(100) > 0)
      call.group = entry["process_group"].at(0).text(kLongestName);
    if (json.has("pg_config") && json["pg_config"].has(call.group.c_str()))
      call.members = listed_ranks(json["pg_config"][call.group.c_str()], "ranks");
    call.message_bytes = whole_bytes(std::max(bytes_in(entry, "input_sizes", "input_dtypes"),
                                              bytes_in(entry, "output_sizes", "output_dtypes")),
                                     entry.where());
    if (const double created = number_at(entry, "time_created_ns", kMostTime); created > 0)
      span.add(created / 1000, call.us);
    tally.add(file, std::move(call));
  }
  tally.duration_us = std::max(tally.duration_us, span.to - span.from);
}

// {"header": {"id", "rank", "n_ranks", ..}, "coll_perf": {"coll", "coll_msg_size_bytes",
// "coll_exec_time_us"}}: a rank is known by its number within its communicator.
void read_inspected(const JsonReader& json, TraceTally& tally) {
  if (!json.has("header") || !json.has("coll_perf")) return;  // a message between two ranks
  const JsonReader header = json["header"], perf = json["coll_perf"];
  const std::string name = text_at(header, "comm_name");
  tally.add(std::to_string(ranks_at(header, "rank")) + " of " + text_at(header, "id"),
            {.operation = text_at(perf, "coll"),
             .group = name.empty() || name == "unknown" ? text_at(header, "id") : name,
             .ranks = ranks_at(header, "n_ranks"),
             .message_bytes = whole_bytes(number_at(perf, "coll_msg_size_bytes"), perf.where()),
             .us = number_at(perf, "coll_exec_time_us")});
}

// The end of the JSON object that begins here; npos: it does not end. Braces in strings do not count.
std::size_t end_of_object(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_text = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Objects one after the other, with or without a line each.
void read_inspector(const TraceText& trace, TraceTally& tally) {
  const std::string_view text = trace.text;
  for (std::size_t at = text.find('{'); at != std::string_view::npos;) {
    const std::size_t end = end_of_object(text, at);
    if (end == std::string_view::npos) return;  // the last object of a run that was ended
    read_inspected(parse_json(text.substr(at, end - at), trace.file), tally);
    at = text.find('{', end);
  }
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

}  // namespace

// Binary formats are recognized by their first bytes: Chakra's metadata, gzip, a pickle, the archive that
// torch.save writes. The inspector comes before the parser, since its file is a sequence of objects.
void read_trace(const TraceText& trace, int traces, TraceTally& tally) {
  if (is_chakra(trace.text)) return read_chakra(trace, traces, tally);
  if (trace.text.starts_with("\x1f\x8b"))
    throw InputError(trace.file, "is compressed", "'gunzip -c' writes the trace in it");
  if (trace.text.starts_with('\x80') || trace.text.starts_with("PK"))
    throw InputError(trace.file, "is a pickle of Python",
                     "'python3 -m chorale.recorder FILE' writes a dump of the flight recorder as JSON, and "
                     "runs nothing in it");
  if (!is_json(trace.text))
    return is_nccl_log(trace.text) ? read_nccl_log(trace, tally) : read_table(trace, tally);
  if (trace.text.find("\"coll_perf\"") != std::string::npos) return read_inspector(trace, tally);
  const JsonReader json = parse_json(trace.text, trace.file);
  if (json.is_array()) return read_profile(json, 0, trace.file, tally);
  if (json.has("traceEvents")) {
    const bool is_told = json.has("distributedInfo") && json["distributedInfo"].is_object();
    const int ranks = is_told ? ranks_at(json["distributedInfo"], "world_size") : 0;
    return read_profile(json["traceEvents"], ranks, trace.file, tally);
  }
  if (json.has("entries")) return read_flight_recorder(json, trace.file, tally);
  json.fail("is not a known trace", kKnownTraces);
}

}  // namespace chorale
