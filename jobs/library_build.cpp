// Threads take the next open question, search it, and store the result; only one at a time accesses the file
// and the report.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "api/search.h"
#include "ir/json.h"
#include "jobs/library.h"

namespace chorale {
namespace {

// Puts what the answer does not have yet: places, and times of sizes. Places are stored with hosts by ranks
// of the answer (seen_by), so they are compared in that form. Times need a result whose schedules are
// verified, which is read only if a size is missing.
void complete(AnswerFile& file, const LibraryQuestion& question, const StoredAnswer& stored) {
  std::vector<AnswerPlace> places;
  for (const AnswerPlace& place : question.places)
    if (AnswerPlace there = seen_by(stored, place);
        std::ranges::find(stored.places, there) == stored.places.end())
      places.push_back(std::move(there));
  std::vector<std::int64_t> bytes;
  for (const std::int64_t size : question.bytes)
    if (std::ranges::find(stored.predicted, size, &PredictedTime::bytes) == stored.predicted.end())
      bytes.push_back(size);
  if (places.empty() && bytes.empty()) return;
  std::vector<PredictedTime> times;
  if (!bytes.empty()) times = predicted_times(verified_answer(stored, "the library").result, bytes);
  for (const AnswerPlace& place : places) file.put_place(stored.question, place);
  for (const PredictedTime& time : times) file.put_predicted(stored.question, time);
}

// Is there an answer? Then it has the question's places and predicted times afterwards.
bool has_answer(AnswerFile& file, const LibraryQuestion& question) {
  const std::optional<StoredAnswer> stored = file.answer(question.text);
  if (stored) file.together([&] { complete(file, question, *stored); });
  return stored.has_value();
}

std::string in_words(const LibraryQuestion& question, const std::string& what) {
  const AnswerPlace& place = question.places.front();
  return fmt::format("{}, {}, {}: {}", place.machine, place.group, place.collective, what);
}

// A pool of threads over one queue: open_ has the positions of the questions without an answer, next_ is the
// first that no thread has taken. A search that finds nothing is a line of the report; an exception ends the
// build.
class Build {
 public:
  Build(AnswerFile& file, const std::vector<LibraryQuestion>& questions, const Search& search,
        const LibraryBuildOptions& options)
      : file_(file), questions_(questions), search_(search), options_(options) {
    for (std::size_t i = 0; i < questions.size(); ++i) {
      // Before any thread starts. A question that has an answer gets its new places and sizes here.
      if (has_answer(file, questions[i]))
        ++report_.there;
      else
        open_.push_back(i);
    }
  }

  BuildReport done() {
    const std::size_t threads = std::min<std::size_t>(static_cast<std::size_t>(options_.jobs), open_.size());
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no memory for a thread: those that there are do its work
    }
    work();
    others.clear();
    if (thrown_) std::rethrow_exception(thrown_);
    return report_;
  }

 private:
  bool stopped() const { return failed_ || (options_.stop != nullptr && *options_.stop); }

  // One lock guards what is shared and is given up for the search itself. What a search throws ends the
  // build, and is thrown again by the thread that called it.
  void work() {
    std::unique_lock lock(mutex_);
    try {
      while (!stopped() && next_ < open_.size()) {
        const LibraryQuestion& question = questions_[open_[next_++]];
        lock.unlock();
        Searched searched = search_(question, [this] { return stopped(); });
        lock.lock();
        // A search returns early when it is stopped, so what it returns then is not an answer.
        if (!stopped()) take(question, std::move(searched));
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!thrown_) thrown_ = std::current_exception();
      failed_ = true;
    }
  }

  void take(const LibraryQuestion& question, Searched searched) {
    if (!searched.why.empty())
      report_.failures.push_back(in_words(question, searched.why));
    else if (!searched.result || !keep_answer(file_, question, std::move(*searched.result)))
      report_.failures.push_back(in_words(question, "not answered within the limits"));
    else
      ++report_.answered;
    if (options_.progress)
      options_.progress(report_.there + report_.answered, static_cast<int>(questions_.size()));
  }

  AnswerFile& file_;
  const std::vector<LibraryQuestion>& questions_;
  const Search& search_;
  const LibraryBuildOptions& options_;
  std::vector<std::size_t> open_ = {};
  std::mutex mutex_;  // of the rest
  std::size_t next_ = 0;
  std::exception_ptr thrown_ = {};
  std::atomic<bool> failed_ = false;
  BuildReport report_ = {};
};

}  // namespace

// What was interrupted, or cut by the memory of this process, is not an answer; a limit of time is part of
// the question.
bool keep_answer(AnswerFile& file, const LibraryQuestion& question, Result result) {
  if (result.stopped == Stopped::Interrupted || result.stopped == Stopped::MemoryLimit) return false;
  // As the question has it: the answer is for every machine that is equal but for its names.
  result.topology = without_names(result.topology);
  result.limits.memory_bytes = {};  // of the process, which had enough
  StoredAnswer stored{
      .question = question.text, .answer = to_json(result), .numbering = to_json(question.numbering)};
  file.together([&] {
    file.put(stored);
    if (const auto there = file.answer(question.text))
      complete(file, question, *there);  // another process's, maybe
  });
  return true;
}

BuildReport build_library(AnswerFile& file, const std::vector<LibraryQuestion>& questions,
                          const LibraryBuildOptions& options, const Search& search) {
  const Search here = [&options](const LibraryQuestion& question, const std::function<bool()>&) -> Searched {
    FrontierOptions asked = question.options;
    asked.synthesis.limits.stop = options.stop;
    return {.result = frontier(question.topology, question.collective, asked)};
  };
  return Build(file, questions, search ? search : here, options).done();
}

}  // namespace chorale
