// Libraries: the file of answers, and questions that are sent to other processes. What an executor does for
// one question is the package's (python/chorale/library.py).
#include <chorale/chorale.h>

#include <cstdlib>
#include <mutex>
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

Verdict verdict_of(const std::string& word) {
  if (const std::optional<Verdict> verdict = value_in(verdicts(), word)) return *verdict;
  throw InputError("the answer to a cube", "'" + word + "' is not a verdict", "use sat, unsat or unknown");
}

// Plain values, which any process can be sent: a decision is (chunk, link, step), with the step below zero
// where nothing is sent.
using PlainCube = std::vector<std::tuple<int, int, int>>;
using PlainAnswer =
    std::tuple<std::string, std::string, std::int64_t>;  // verdict, a result of one point, conflicts

// The inverse of what dict_of(CutQuestion) writes.
Cube cube_of(const PlainCube& plain) {
  Cube cube;
  for (const auto& [chunk, link, step] : plain)
    cube.decisions.push_back({.chunk = chunk, .link = link, .step = std::abs(step), .sent = step > 0});
  return cube;
}

// Without answers: question_of() reads them where the other process has added "answers".
py::dict dict_of(const CutQuestion& question) {
  std::vector<PlainCube> cubes;
  for (const Cube& cube : question.cubes) {
    PlainCube& plain = cubes.emplace_back();
    for (const Decision& decision : cube.decisions)
      plain.emplace_back(decision.chunk, decision.link, decision.sent ? decision.step : -decision.step);
  }
  py::dict result;
  result["collective"] = name_of(question.collective);
  result["chunks"] = question.chunks;
  result["steps"] = question.budget.steps;
  result["rounds"] = question.budget.rounds;
  result["cubes"] = cubes;
  return result;
}

// A question travels to another process and back as plain values; an answer with a schedule is a result in
// JSON, and is verified when it arrives.
CutQuestion question_of(const py::dict& plain, const Collective& asked) {
  const std::string name = plain["collective"].cast<std::string>();
  CutQuestion question{
      .collective = name == name_of(asked) ? asked.kind : known_kind(name),
      .chunks = plain["chunks"].cast<int>(),
      .budget = {.steps = plain["steps"].cast<int>(), .rounds = plain["rounds"].cast<int>()}};
  for (const PlainCube& cube : plain["cubes"].cast<std::vector<PlainCube>>())
    question.cubes.push_back(cube_of(cube));
  if (!plain.contains("answers")) return question;
  for (const auto& [verdict, text, conflicts] : plain["answers"].cast<std::vector<PlainAnswer>>()) {
    CubeAnswer& answer = question.answers.emplace_back();
    answer = {.verdict = verdict_of(verdict), .conflicts = conflicts};
    // Only a schedule can be verified here; the verdict "unsat" is taken as it is.
    if (answer.verdict != Verdict::Sat) continue;
    const Result result = sound_result(text, "the answer to a cube");
    if (result.points.size() != 1)
      throw InputError("the answer to a cube", "has no schedule", "search again");
    answer.point = result.points.front();
  }
  return question;
}

// A search whose hard questions other processes answer: its result, and the questions that it met and had no
// answer to. The result is that of a search by itself where there are none.
py::tuple search_with_others(const Topology& topology, const Collective& collective, const py::list& cut,
                             const py::kwargs& asked) {
  std::atomic<bool> stop = false;
  FrontierOptions options = frontier_options(asked, stop);
  for (const py::handle& each : cut)
    options.synthesis.cut.push_back(question_of(py::cast<py::dict>(each), collective));
  // Several chunk counts may be searched at once (--jobs), so questions come from several threads.
  std::mutex mutex;
  std::vector<CutQuestion> hard;
  options.synthesis.hard = [&](const CutQuestion& question) {
    const std::lock_guard lock(mutex);
    hard.push_back(question);
  };
  const auto done = watched([&] { return frontier(topology, collective, options); }, stop, [] {});
  if (done.raised) std::rethrow_exception(done.raised);
  py::list questions;
  for (const CutQuestion& question : hard) questions.append(dict_of(question));
  return py::make_tuple(to_json(done.value), questions);
}

// One cube of a question, solved in this process: the text of a result with its schedule where there is one,
// of the question's collective, which may be a phase of the one that was asked for.
PlainAnswer cube_answered(const Topology& topology, const Collective& collective, const py::dict& plain,
                          int number, const py::kwargs& asked) {
  std::atomic<bool> stop = false;
  const FrontierOptions options = frontier_options(asked, stop);
  const CutQuestion question = question_of(plain, collective);
  const Cube& cube = question.cubes.at(number);
  const auto done = watched(
      [&] { return solve_cube(topology, collective, question, cube, options.synthesis); }, stop, [] {});
  if (done.raised) std::rethrow_exception(done.raised);
  const CubeAnswer& answer = done.value;
  std::string text;
  if (answer.point)
    text = to_json(Result{.kind = ResultKind::Synthesis,
                          .topology = topology,  // which has no switches: it is a library's
                          .collective = question.collective == collective.kind
                                            ? collective
                                            : make_collective(question.collective, topology.ranks, 1),
                          .space = {.min_chunks = question.chunks, .max_chunks = question.chunks},
                          .points = {*answer.point}});
  return {name_in(verdicts(), answer.verdict), text, answer.conflicts};
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
    asked = [&](const LibraryQuestion& question, int, const std::function<bool()>& stopped) {
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
  const std::optional<ExportForm> known = value_in(export_forms(), form);
  if (!known)
    throw InputError("form", "'" + form.substr(0, 40) + "' is not one of them",
                     "see 'chorale library export --help'");
  if (collectives.empty()) throw InputError("collectives", "are missing", "name at least one");
  const Exported all = export_answers(*library.file, library.path,
                                      {.place = {.machine = machine, .group = group},
                                       .collectives = collectives,
                                       .bytes = message_bytes,
                                       .form = *known});
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
            std::optional<TakenAnswer> answer = find_answer(*library.file, question, library.path);
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
            for (TakenAnswer& answer : results_at(*library.file, library.path,
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
  module.def("search_with_others", &search_with_others);
  module.def("cube_answered", &cube_answered);
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
