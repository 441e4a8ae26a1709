// The idea: each chunk count of each family (an AllReduce has three) is a search of its own, told to Findings as it goes;
// composing, merging and marking are done on what is there whenever the result is asked for. The direct search of an
// AllReduce waits for both halves of its chunk count, since what they are composed to is what it has to beat.
//
// Invariants: no search looks at what larger chunk counts found, so that asking for more finds no less, and threads change
// nothing. Findings has an answer at any time and for any thread. What leaves has passed the referee: finish_result.
//
// What lost: with a k, parts searched with all of it and then split. Two parts share the k, and which share is best is
// known only when they are put together: hub:6 AllReduce --k 3 found less than --k 2.
#include "pareto/search.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "bounds/lower_bounds.h"
#include "ir/error.h"
#include "pareto/chunk_search.h"
#include "pareto/cubes.h"
#include "pareto/findings.h"
#include "pareto/side_by_side.h"

namespace chorale {
namespace {

// The most rounds with C chunks that beat all points of at most these steps. One that gathers everything
// first is beaten by its equal: a direct schedule needs no memory for what it gathers.
std::optional<int> rounds_to_beat(const std::vector<SharedPoint>& undominated, int steps, int chunks) {
  std::optional<int> most;
  for (const SharedPoint& point : undominated)
    if (const Cost& cost = point->cost; cost.steps <= steps) {
      const int equal = point->method == Method::Gathered ? 0 : 1;
      most = static_cast<int>((static_cast<long long>(cost.rounds) * chunks - equal) / cost.chunks);
    }
  return most;
}

class FrontierSearch {
 public:
  FrontierSearch(const Topology& topology, const Collective& asked, const FrontierOptions& options)
      : options_(options),
        found_(std::make_shared<Findings>(topology, asked, options)),
        clock_(options_),
        topology_(found_->question().topology),
        asked_(found_->question().collective),
        space_(found_->question().space),
        halves_done_(options.max_chunks - options.min_chunks + 1) {
    options_.synthesis.cube_jobs = std::max(1, options_.jobs / static_cast<int>(halves_done_.size()));
    for (std::promise<void>& done : halves_done_) halves_awaited_.push_back(done.get_future().share());
    if (options_.progress)
      options_.progress = [this, tell = options_.progress](const Progress& progress) {
        const std::lock_guard lock(mutex_);
        tell(progress);
      };
    if (options_.publish)
      options_.publish([found = found_, started = std::chrono::steady_clock::now()] {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
        return found->so_far(Stopped::TimeLimit, seconds.count());
      });
  }

  // Chunk counts from the smallest on, each with all its families.
  Result run() {
    // Beside what takes long, so that there is a bound for all chunk counts whatever ends the search.
    std::future<void> bounded;
    if (options_.synthesis.use_bounds) bounded = std::async(std::launch::async, [this] { bound_all(); });
    begin_all();
    if (options_.us && !clock_.over()) found_->time();
    std::vector<std::function<void()>> tasks;
    for (int chunks = space_.min_chunks; chunks <= space_.max_chunks; ++chunks) {
      if (!found_->is_allreduce()) {
        tasks.push_back([this, chunks] { search(asked_.kind, chunks); });
        continue;
      }
      tasks.push_back([this, chunks] { halves(chunks); });
      tasks.push_back([this, chunks] { direct(chunks); });
    }
    side_by_side(tasks, options_.jobs);
    if (bounded.valid()) bounded.get();
    return found_->result(clock_.why_stopped(), clock_.seconds());
  }

 private:
  ChunkQuestion question(int chunks, const Collective& collective) const {
    return {.topology = topology_,
            .collective = collective,
            .space = space_,
            .always = chunks == space_.min_chunks};
  }

  void bound_all() {
    std::vector<CollectiveKind> families = {asked_.kind};
    if (found_->is_allreduce())
      families = {CollectiveKind::AllReduce, CollectiveKind::Allgather, CollectiveKind::ReduceScatter};
    for (const CollectiveKind family : families) {
      if (clock_.over()) return;
      const Collective collective = of_kind(asked_, family, space_.min_chunks);
      LowerBounds bounds(topology_, collective, options_.synthesis.limits.stop);
      if (bounds.fewest_steps().steps == 0) return;
      if (const Claim& claim = bounds.fewest_rounds(); claim.certificate.kind != Certificate::Kind::None)
        found_->put_bound(claim);
    }
  }

  // What needs no search, before one question takes its time: what was constructed of 13 chunks is mostly better than
  // what a solver finds of 4. An AllReduce needs both halves to be put together; what takes seconds of one half
  // waits for what is quick of the other, so that there soon is a first answer.
  void begin_all() {
    for (int chunks = space_.min_chunks; chunks <= space_.max_chunks; ++chunks) {
      if (chunks > space_.min_chunks && clock_.over()) return;
      if (!found_->is_allreduce()) {
        begin({asked_.kind}, chunks);
        continue;
      }
      begin({CollectiveKind::ReduceScatter, CollectiveKind::Allgather}, chunks);
    }
    // Else a search that ends in the halves of a large machine would know no bound at all.
    for (int chunks = space_.min_chunks; found_->is_allreduce() && chunks <= space_.max_chunks; ++chunks) {
      if (clock_.over()) return;
      begin({CollectiveKind::AllReduce}, chunks);
    }
  }

  void begin(const std::vector<CollectiveKind>& kinds, int chunks) {
    for (const auto more : {begin_chunks, grow_chunks})
      for (const CollectiveKind kind : kinds) {
        const Collective collective = of_kind(asked_, kind, chunks);
        const Findings::Key key = {kind, chunks};
        ChunkQuestion question = this->question(chunks, collective);
        question.tell = [&](const ChunkFrontier& part) { found_->put(key, part); };
        if (const auto at = begun_.find(key); at != begun_.end()) question.begun = &at->second;
        ChunkFrontier known = more(question, options_, clock_);
        found_->put(key, known);
        begun_[key] = std::move(known);
      }
  }

  // Once the time is over, of what was begun nothing is left to be said, and the bound of all stands for the rest.
  bool too_late(int chunks) const { return chunks > space_.min_chunks && clock_.over(); }

  void search(CollectiveKind kind, int chunks, const MostRounds& most = {}) {
    if (too_late(chunks)) return;
    const Findings::Key key = {kind, chunks};
    const Collective collective = of_kind(asked_, kind, chunks);
    ChunkQuestion question = this->question(chunks, collective);
    question.most_rounds = most;
    question.tell = [&](const ChunkFrontier& part) { found_->put(key, part); };
    if (const auto at = begun_.find(key); at != begun_.end()) question.begun = &at->second;
    ChunkFrontier found = search_chunks(question, options_, clock_);
    found_->put(key, found);
    if (space_.extra_rounds != kAnyRounds) search_narrower(key, question, std::move(found));
  }

  // With a k, spaces of smaller ones are searched, too, where that may find more:
  // - for the parts of an AllReduce, since two parts share the k, and which share is best is known only together;
  // - where questions were left open, since limits or luck may have spared the answer in the smaller space, and who
  //   asks for a larger space never gets less. They are then asked anew, just as if the smaller space had been asked.
  void search_narrower(const Findings::Key& key, ChunkQuestion question, ChunkFrontier found) {
    question.tell = {};
    question.begun = nullptr;
    question.always = false;
    const bool shares = key.first != asked_.kind;
    const auto cut = [](const ChunkFrontier& part) {
      return part.given_up.contains(Stopped::ConflictLimit) ||
             part.given_up.contains(Stopped::NotExpressible);
    };
    bool again = cut(found);
    int extra = most_extra(found.points) - 1;
    while ((shares || again) && extra >= 0 && !clock_.over() && !clock_.left_to_others()) {
      question.space.extra_rounds = extra;
      question.claims = again ? std::vector<Claim>{} : found.claims;
      const ChunkFrontier narrower = search_chunks(question, options_, clock_);
      again = cut(narrower);
      extra = most_extra(narrower.points) - 1;
      join(found, narrower);
      found_->put(key, found);
      if (shares) found_->put_share(key, narrower.points);
    }
  }

  // By how much rounds exceed steps; -1 without points.
  static int most_extra(const std::vector<SharedPoint>& points) {
    int most = -1;
    for (const SharedPoint& point : points) most = std::max(most, point->cost.rounds - point->cost.steps);
    return most;
  }

  // ReduceScatter and Allgather.
  void halves(int chunks) {
    struct Done {
      std::promise<void>& promise;
      ~Done() { promise.set_value(); }  // also when something is thrown: nobody may wait for ever
    } const done{halves_done_[chunks - space_.min_chunks]};
    search(CollectiveKind::ReduceScatter, chunks);
    search(CollectiveKind::Allgather, chunks);
  }

  // What the halves of as many chunks and fewer are composed to is to be beaten: of more chunks nothing is
  // known yet, and what is found must not depend on who was faster.
  void direct(int chunks) {
    for (int c = space_.min_chunks; c <= chunks; ++c) halves_awaited_[c - space_.min_chunks].wait();
    if (clock_.left_to_others() || too_late(chunks)) return;  // what is to be beaten is not known
    const std::vector<SharedPoint> to_beat = found_->composed_points(space_.min_chunks, chunks);
    search(CollectiveKind::AllReduce, chunks,
           [&to_beat, chunks](int steps) { return rounds_to_beat(to_beat, steps, chunks); });
  }

  FrontierOptions options_;
  const std::shared_ptr<Findings> found_;
  SearchClock clock_;
  const Topology& topology_;
  const Collective& asked_;
  const Space& space_;
  std::map<Findings::Key, ChunkFrontier> begun_ = {};
  std::mutex mutex_;
  std::vector<std::promise<void>> halves_done_;  // by chunk count
  std::vector<std::shared_future<void>> halves_awaited_ = {};
};

}  // namespace

SynthesisResult search_synthesis(const Topology& topology, const Collective& one_chunk,
                                 const SynthesisQuestion& asked, const FrontierOptions& given) {
  FrontierOptions options = given;
  options.synthesis.cube_jobs = options.jobs;
  SearchClock clock(options);
  const Result empty{.kind = ResultKind::Synthesis,
                     .topology = topology,
                     .collective = one_chunk,
                     .space = {.min_chunks = asked.chunks,
                               .max_chunks = asked.chunks,
                               .max_steps = asked.steps.value_or(kAnySteps),
                               .max_rounds = asked.rounds.value_or(kAnyRounds)},
                     .limits = limits_of(options)};
  // The point of the fewest steps (or of those given) and the fewest rounds.
  const auto result_of = [](Result result, const ChunkFrontier& found, int steps, Stopped stopped,
                            double seconds) {
    if (result.space.max_steps == kAnySteps) result.space.max_steps = steps;
    for (const SharedPoint& point : found.points)
      if (point->cost.steps <= result.space.max_steps) result.points = {*point};
    result.claims = found.claims;
    result.stopped = stopped;
    finish_result(result);
    result.seconds = seconds;
    return result;
  };
  // What is known while the search goes on, for whoever asks.
  struct Known {
    std::mutex mutex;
    std::shared_ptr<const ChunkFrontier> found = std::make_shared<ChunkFrontier>();
  };
  const auto known = std::make_shared<Known>();
  if (options.publish)
    options.publish([known, empty, result_of, started = std::chrono::steady_clock::now()] {
      std::shared_ptr<const ChunkFrontier> found;
      {
        const std::lock_guard lock(known->mutex);
        found = known->found;
      }
      const int steps = found->points.empty() ? kAnySteps : found->points.back()->cost.steps;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
      return result_of(empty, *found, steps, Stopped::TimeLimit, seconds.count());
    });
  const auto tell = [&known](const ChunkFrontier& found) {
    auto fresh = std::make_shared<const ChunkFrontier>(found);
    const std::lock_guard lock(known->mutex);
    known->found.swap(fresh);
  };
  const Collective collective = with_chunks(one_chunk, asked.chunks);
  BudgetAnswer answer = search_budget(
      {.topology = topology, .collective = collective, .space = empty.space, .always = true, .tell = tell},
      asked.steps, asked.rounds, options, clock);
  Stopped stopped = Stopped::No;
  if (answer.verdict == Verdict::Unknown) {
    stopped = clock.why_stopped();
    if (stopped == Stopped::No) stopped = *answer.found.given_up.begin();
  }
  SynthesisResult whole{.verdict = answer.verdict,
                        .result = result_of(empty, answer.found, answer.steps, stopped, clock.seconds()),
                        .conflicts = answer.found.conflicts};
  // The limit came after all that was needed.
  if (whole.verdict == Verdict::Unknown && whole.result.complete)
    whole.verdict = whole.result.points.empty() ? Verdict::Unsat : Verdict::Sat;
  return whole;
}

Result search_frontier(const Topology& topology, const Collective& one_chunk,
                       const FrontierOptions& options) {
  if (options.min_chunks < 1 || options.max_chunks < options.min_chunks)
    throw InputError("--max-chunks", "there is no chunk count from " + std::to_string(options.min_chunks) +
                                         " to " + std::to_string(options.max_chunks));
  return FrontierSearch(topology, one_chunk, options).run();
}

}  // namespace chorale
