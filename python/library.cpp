// Libraries: the file of answers, and questions that are sent to other processes. What an executor does for
// one question is the package's (python/chorale/library.py).
#include <chorale/chorale.h>

#include <tuple>

#include "bindings.h"
#include "watched.h"

namespace chorale {
namespace {

// The path goes along for messages: an AnswerFile does not know its name.
struct OpenLibrary {
  std::string path = {};
  std::unique_ptr<AnswerFile> file = {};
};

// An entry of Library.places() (python/chorale/library.py).
py::dict dict_of(const AnswerPlace& place) {
  py::dict result;
  result["machine"] = place.machine;
  result["group"] = place.group;
  result["collective"] = place.collective;
  result["ranks"] = place.ranks;
  result["root"] = place.root;
  result["members"] = place.members;
  return result;
}

// What the question's answer depends on, as plain values: the arguments of frontier(), for a process
// somewhere else.
py::dict job_of(const LibraryQuestion& question) {
  py::dict job;
  // Names change nothing about an answer, and equal machines should give equal questions.
  job["machine"] = to_json(without_names(question.topology));
  job["collective"] = name_of(question.collective);
  job["root"] = is_rooted(question.collective.kind) ? py::object(py::int_(question.collective.root))
                                                    : py::object(py::none());
  add_options(job, question.options);
  return job;
}

// The answer of a Python function to a question: the text of a result, or why there is none. It may be called
// by several threads at once.
// Called by threads of the builder, which hold no GIL.
Searched searched(const py::object& search, const LibraryQuestion& question,
                  const std::function<bool()>& stopped) {
  using Told = std::pair<std::optional<std::string>, std::string>;
  const auto told = [&] {
    // The Python function waits for a worker in another process; meanwhile it lets other threads run.
    const py::gil_scoped_acquire python;
    return search(job_of(question), py::cpp_function(stopped)).cast<Told>();
  };
  const auto [text, why] = told();
  if (!text) return {.why = why};
  // Outside of the GIL: a large schedule takes long to verify.
  return {.result = sound_result(*text, "an answer")};
}

// Without a function the search is here, in one thread.
// With a function as many questions are asked at once as there may be workers; each thread only waits.
py::tuple built(OpenLibrary& library, const std::vector<LibraryQuestion>& questions, const py::object& search,
                const py::object& tell) {
  constexpr int kMostAsked = 256;  // at once: threads that wait for workers
  std::atomic<bool> stop = false;
  Latest<std::pair<int, int>> latest;
  LibraryBuildOptions options{.stop = &stop, .progress = [&](int answered, int of) {
                                latest.say({answered, of});
                              }};
  Search asked;
  if (!search.is_none()) {
    options.jobs = kMostAsked;
    asked = [&](const LibraryQuestion& question, const std::function<bool()>& stopped) {
      return searched(search, question, stopped);
    };
  }
  const auto done = watched([&] { return build_library(*library.file, questions, options, asked); }, stop,
                            [&] {
                              if (const auto news = latest.take(); news && !tell.is_none())
                                tell(news->first, news->second);
                            });
  if (done.raised) std::rethrow_exception(done.raised);
  return py::make_tuple(done.value.there, done.value.answered, done.value.failures);
}

// Answers one by one, so that a library of many is never in memory as a whole.
py::dict verified(OpenLibrary& library, std::optional<std::int64_t> conflicts) {
  std::atomic<bool> stop = false;
  LibraryReport all{.answers = 0};
  // After Ctrl-C the walk over the file goes on to its end, but checks nothing more.
  const auto work = [&] {
    library.file->each([&](const StoredAnswer& stored) {
      if (!stop) add(all, check_answer(stored, {.conflicts = conflicts.value_or(-1), .stop = &stop}));
    });
    return true;
  };
  if (const auto done = watched(work, stop, [] {}); done.raised) std::rethrow_exception(done.raised);
  py::dict result;
  result["answers"] = all.answers;
  result["schedules"] = all.check.schedules;
  result["bounds"] = all.check.bounds;
  result["refutations"] = all.check.refutations;
  result["undecided"] = all.check.undecided;
  result["places"] = all.places;
  result["predicted"] = all.predicted;
  result["measured"] = all.measured;
  result["away"] = all.away;
  std::vector<std::string> faults;
  for (const Fault& fault : all.check.faults) faults.push_back(fault.words);
  result["faults"] = faults;
  return result;
}

// [(path, text)] and what is left out.
py::tuple exported_texts(OpenLibrary& library, const std::string& machine,
                         const std::vector<std::string>& collectives, const std::string& form,
                         const std::string& group, const std::vector<std::int64_t>& message_bytes) {
  const ExportForm known = row_named(export_forms(), "form", form).value;
  if (collectives.empty()) throw InputError("collectives", "are missing", "name at least one");
  const Exported all = export_answers(*library.file, library.path,
                                      {.place = {.machine = machine, .group = group},
                                       .collectives = collectives,
                                       .bytes = message_bytes,
                                       .form = known});
  std::vector<std::pair<std::string, std::string>> files;
  for (const NamedText& file : all.files) files.emplace_back(file.path, file.text);
  return py::make_tuple(files, all.notes);
}

}  // namespace

void bind_library(py::module_& module) {
  const auto others = py::call_guard<py::gil_scoped_release>();
  py::class_<LibraryQuestion>(module, "LibraryQuestion").def_property_readonly("job", &job_of);
  py::class_<OpenLibrary>(module, "AnswerFile")
      .def(py::init([](const std::string& path, bool make) {
        return OpenLibrary{.path = path, .file = open_answers(path, make)};
      }))
      .def("places",
           [](OpenLibrary& library) {
             py::list places;
             library.file->each([&](const StoredAnswer& stored) {
               for (const AnswerPlace& place : stored.places) places.append(dict_of(place));
             });
             return places;
           })
      .def("build", &built)
      .def(
          "find",
          [](OpenLibrary& library, const LibraryQuestion& question) {
            std::optional<VerifiedAnswer> answer = find_answer(*library.file, question, library.path);
            return answer ? std::optional(std::move(answer->result)) : std::nullopt;
          },
          others)
      .def(
          "results_at",
          [](OpenLibrary& library, const std::string& machine, const std::string& collective,
             const std::string& group, int root, const std::string& members, const std::string& order) {
            if (!order.empty() && order != "agreed" && order != "fixed")
              throw InputError("order", "'" + order + "' is none of a library's", "use 'agreed' or 'fixed'");
            std::optional<SumOrder::Kind> kind;
            if (!order.empty()) kind = order == "fixed" ? SumOrder::Kind::Fixed : SumOrder::Kind::Agreed;
            std::vector<Result> results;
            for (VerifiedAnswer& answer : results_at(*library.file, library.path,
                                                     {.machine = machine,
                                                     .group = group,
                                                     .collective = collective,
                                                     .root = root,
                                                     .members = members},
                                                     kind))
              results.push_back(std::move(answer.result));
            return results;
          },
          others)
      .def("verify", &verified)
      .def("export", &exported_texts)
      .def("failures",
           [](OpenLibrary& library) { return to_json(failure_rows(*library.file, library.path)); });
  module.def("library_questions", &library_questions, others);
  module.def("library_question",
             [](const Topology& topology, const Collective& collective, const py::kwargs& asked) {
               // The flag would end with this call, so it is taken out of the options again.
               const std::atomic<bool> never = false;
               FrontierOptions options = frontier_options(asked, never);
               options.synthesis.limits.stop = nullptr;
               return library_question(topology, collective, options);
             });
  module.def("merge_libraries", [](const std::vector<std::string>& files, const std::string& into) {
    std::atomic<bool> stop = false;
    const auto done =
        watched([&] { return merge_answers(files, *open_answers(into, true), &stop); }, stop, [] {});
    if (done.raised) std::rethrow_exception(done.raised);
    const MergeReport& report = done.value;
    return std::tuple(report.answers, report.equal, report.taken, report.joined);
  });
}

}  // namespace chorale
