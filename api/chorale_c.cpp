// The C API over the C++ one: texts in, texts out. Every function that can fail runs inside reported(), the
// only place where errors become return values. The last error is per thread, so that threads do not see each
// other's.
#include "api/chorale_c.h"

#include <stdlib.h>
#include <string.h>

#include <new>
#include <type_traits>

#include "api/compile.h"
#include "api/inputs.h"
#include "api/report.h"
#include "api/search.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"

namespace chorale {
namespace {

thread_local std::string last_error;

// By malloc, since the caller may free it from C.
char* text_of(const std::string& text) {
  char* const copy = static_cast<char*>(malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

// Errors of the caller, and a lack of memory, are reported. Any other exception is a bug of Chorale's, and
// is not caught.
template <typename Value, typename Call>
Value reported(Value failed, const Call& call) {
  try {
    return call();
  } catch (const InputError& error) {
    last_error = error.what();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory: give the process more";
  }
  return failed;
}

// NULL is bad input, not a crash: callers from other languages pass it for an absent value.
const char* required(const char* given, const char* what) {
  if (given == nullptr) throw InputError(what, "is NULL", "give a text");
  return given;
}

std::string optional(const char* given) {
  return given == nullptr ? "" : given;
}

// A field of 0 is left out. Each number is checked and set by the row of its option, so its range is that of
// the command line, under the name that the field has.
FrontierOptions options_of(const chorale_question& question) {
  FrontierOptions options;
  const auto set = [&](const auto& rows, const char* option, auto number, const char* field) {
    const OptionRow<FrontierOptions>& row = row_of(rows, option);
    // NaN alone differs from itself.
    if (number != number || number < 0)
      throw InputError(field, number < 0 ? "is negative" : "is not a number", "use 0 for the default");
    if (number == 0) return;
    if constexpr (std::is_floating_point_v<decltype(number)>)
      row.member.set(options, milliseconds_in(row.words, number, field));
    else
      require_in_range(row.words, std::int64_t{number}, field), row.member.set(options, number);
  };
  set(frontier_rows(), "min_chunks", question.min_chunks, "min_chunks");
  set(frontier_rows(), "max_chunks", question.max_chunks, "max_chunks");
  set(frontier_rows(), "max_steps", question.max_steps, "max_steps");
  set(search_rows(), "conflicts", question.conflicts, "conflicts");
  set(search_rows(), "time_limit", question.seconds, "seconds");
  return options;
}

Result sound(const char* result) {
  return sound_result(required(result, "result"), "result");
}

// Numbers of points are those of the file, which 'chorale show' prints.
const Point& nth_point(const Result& result, int point) {
  if (point < 0 || point >= static_cast<int>(result.points.size()))
    throw InputError("point", "the result has no point " + std::to_string(point),
                     "it has " + counted(static_cast<long long>(result.points.size()), "point"));
  return result.points[point];
}

}  // namespace
}  // namespace chorale

using namespace chorale;

const char* chorale_version() {
  return CHORALE_VERSION;
}

char* chorale_frontier(const char* machine_name, const char* collective, const chorale_question* question) {
  return reported<char*>(nullptr, [&] {
    const chorale_question asked = question == nullptr ? chorale_question() : *question;
    const FrontierOptions options = options_of(asked);
    const Topology here = machine(required(machine_name, "machine"));
    // Root 0 is the default of every kind that has one, and a kind without a root accepts the 0 of an empty
    // question.
    const std::optional<Rank> root = asked.root == 0 ? std::nullopt : std::optional<Rank>(asked.root);
    return text_of(to_json(frontier(here,
                                    chorale::collective(required(collective, "collective"), here,
                                                        {.root = root,
                                                         .order = optional(asked.order),
                                                         .group = optional(asked.group),
                                                         .groups = optional(asked.groups),
                                                         .counts = optional(asked.counts),
                                                         .machine = machine_name}),
                                    options)));
  });
}

char* chorale_check(const char* result) {
  return reported<char*>(nullptr, [&] {
    std::string faults;
    for (const Fault& fault : check(result_from_json(required(result, "result"), "result")).faults)
      faults += fault.words + "\n";
    return text_of(faults);
  });
}

int chorale_best(const char* result, double message_bytes) {
  return reported(-1, [&] {
    // NaN fails both comparisons.
    if (!(message_bytes >= 1 && message_bytes <= 1e15))
      throw InputError("message_bytes", "is out of range", "use 1 to 10^15");
    const std::vector<SizeRow> rows = best_by_size(sound(result), {static_cast<std::int64_t>(message_bytes)});
    if (rows.empty()) throw InputError("result", "has no points", "search for longer");
    return rows.front().point;
  });
}

char* chorale_page(const char* result) {
  return reported<char*>(nullptr, [&] { return text_of(to_page(sound(result))); });
}

char* chorale_compile(const char* result, int point, const char* target, const char* directory) {
  return reported<char*>(nullptr, [&] {
    const Result read = sound(result);
    Compiled compiled =
        compile(read.topology, nth_point(read, point), target_named(required(target, "target")));
    const std::string where = required(directory, "directory");
    if (where.empty()) throw InputError("directory", "is empty", "name one: . is the current one");
    // All texts exist before the first file is written: a refusal leaves no part of a directory.
    const std::vector<NamedText> files = in_folder(where, std::move(compiled.files));
    write_files(files);
    std::string written;
    for (const NamedText& file : files) written += file.path + "\n";
    return text_of(written);
  });
}

const char* chorale_last_error() {
  return last_error.c_str();
}

void chorale_free(char* text) {
  free(text);
}
