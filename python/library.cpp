// Libraries: the file of answers, and questions that are sent to whoever answers them. What is done with them, and by whom, is
// the package's (python/chorale/library.py).
#include <chorale/chorale.h>

#include "bindings.h"
#include "watched.h"

namespace chorale {
namespace {

struct OpenLibrary {
  std::string path = {};
  std::unique_ptr<AnswerFile> file = {};
};

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

// What the question's answer depends on, as plain values: the arguments of frontier(), for a process somewhere else.
py::dict job_of(const LibraryQuestion& question) {
  const FrontierOptions& asked = question.options;
  py::dict job;
  job["machine"] = to_json(without_names(question.topology));
  job["collective"] = name_of(question.collective);
  job["root"] = is_rooted(question.collective.kind) ? py::object(py::int_(question.collective.root))
                                                    : py::object(py::none());
  job["min_chunks"] = asked.min_chunks;
  job["max_chunks"] = asked.max_chunks;
  job["k"] = if_any(asked.extra_rounds);
  job["max_steps"] = if_any(asked.max_steps);
  job["conflicts"] = asked.synthesis.limits.conflicts >= 0
                         ? py::object(py::int_(asked.synthesis.limits.conflicts))
                         : py::object(py::none());
  job["time_limit"] = asked.time_limit.count() >= 0
                          ? py::object(py::float_(static_cast<double>(asked.time_limit.count()) / 1000))
                          : py::object(py::none());
  return job;
}

std::string words_of(const LibraryQuestion& question) {
  if (question.places.empty()) return name_of(question.collective);
  const AnswerPlace& place = question.places.front();
  return place.machine + ", " + place.group + ", " + place.collective;
}

py::dict verified(OpenLibrary& library, std::optional<std::int64_t> conflicts) {
  std::atomic<bool> stop = false;
  CheckReport all;
  int answers = 0;
  std::vector<std::string> faults;
  const auto work = [&] {
    library.file->each([&](const StoredAnswer& stored) {
      if (stop) return;
      const CheckReport report =
          check_answer(stored, library.path, {.conflicts = conflicts.value_or(-1), .stop = &stop});
      ++answers;
      all.schedules += report.schedules;
      all.bounds += report.bounds;
      all.refutations += report.refutations;
      all.undecided += report.undecided;
      for (const Fault& fault : report.faults) faults.push_back(fault.words);
    });
    return true;
  };
  if (const auto done = watched(work, stop, [] {}); done.raised) std::rethrow_exception(done.raised);
  py::dict result;
  result["answers"] = answers;
  result["schedules"] = all.schedules;
  result["bounds"] = all.bounds;
  result["refutations"] = all.refutations;
  result["undecided"] = all.undecided;
  result["faults"] = faults;
  return result;
}

}  // namespace

void bind_library(py::module_& module) {
  const auto others = py::call_guard<py::gil_scoped_release>();
  py::class_<LibraryQuestion>(module, "LibraryQuestion")
      .def_property_readonly("job", &job_of)
      .def_property_readonly("words", &words_of)
      .def_property_readonly("places", [](const LibraryQuestion& question) {
        py::list places;
        for (const AnswerPlace& place : question.places) places.append(dict_of(place));
        return places;
      });
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
      .def(
          "has",
          [](OpenLibrary& library, const LibraryQuestion& question) {
            return has_answer(*library.file, question);
          },
          others)
      .def(
          "keep",
          [](OpenLibrary& library, const LibraryQuestion& question, const std::string& answer) {
            return keep_answer(*library.file, question, sound_result(answer, "an answer"));
          },
          others)
      .def(
          "find",
          [](OpenLibrary& library, const LibraryQuestion& question) {
            return find_answer(*library.file, question);
          },
          others)
      .def(
          "results_at",
          [](OpenLibrary& library, const std::string& machine, const std::string& collective,
             const std::string& group, int root, const std::string& members) {
            return results_at(*library.file, library.path,
                              {.machine = machine,
                               .group = group,
                               .collective = collective,
                               .root = root,
                               .members = members});
          },
          others)
      .def("verify", &verified);
  module.def("library_questions", &library_questions, others);
  module.def("library_question",
             [](const Topology& topology, const Collective& collective, const py::kwargs& asked) {
               const std::atomic<bool> never = false;
               FrontierOptions options = frontier_options(asked, never);
               options.synthesis.limits.stop = nullptr;
               return library_question(topology, collective, options);
             });
  module.def(
      "merge_libraries",
      [](const std::vector<std::string>& files, const std::string& into) {
        const MergeReport report = merge_answers(files, *open_answers(into, true));
        return std::tuple(report.answers, report.alike, report.taken);
      },
      others);
}

}  // namespace chorale
