// The idea: one portfolio of attempts, from the immediate ones to those that take long. Engine: schedules of
// whatever chunk count pays (construct/engine.h). Bounds: what no chunk count beats. Solver: what is left of
// single chunk counts. For an AllReduce each attempt is also made on its phases. All is put into one object
// (Findings), which composes, merges and marks; after each attempt the search ends if nothing is open.
//
// Invariants: an attempt uses only what the attempts before it have found, whatever the threads, so that the
// same question has the same answer; a later attempt takes nothing away; what an attempt may do is counted in
// work or conflicts. So more chunks, more work or a later stop find no less. Findings has an answer at any
// time and for any thread. What leaves has passed the verifier.
//
// What lost: a search for each chunk count from the smallest on. 64 ranks had nothing but one chunk at the
// time limit, and more chunks to try meant less found.
#include "pareto/search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/baselines/classic.h"
#include "construct/composition.h"
#include "construct/engine.h"
#include "construct/engine/solved_question.h"
#include "construct/incumbents.h"
#include "construct/retiming.h"
#include "graph/fewer_links.h"
#include "ir/error.h"
#include "ir/frontier.h"
#include "ir/links_alone.h"
#include "ir/undominated.h"
#include "ir/work.h"
#include "pareto/chunk_search.h"
#include "pareto/findings.h"
#include "pareto/instance_solver.h"
#include "pareto/optimality.h"
#include "pareto/strongest_bounds.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

// What is there within a tenth of a second on 16 ranks, and within a second on 64.
constexpr long long kQuickWork = kEngineWork / 100;
// Engine work before bounds of few steps are searched with more work: a thirtieth of what the engine takes in
// the end.
constexpr long long kMoreWork = kEngineWork / 30;
// Of the baselines that a search begins with, sends times contributions: of those that are there whatever the
// limits, half a second; of the others.
constexpr double kFirstWork = 1e8, kMaxCatalogueWork = 1e9;
// Most chunks of a composition that is made only since it may be fast at some size: a composition of many
// takes seconds. And most deliveries of a baseline: one that has more is the fastest at no small size.
constexpr long long kMostRetimed = 200'000;  // sends
constexpr int kMostFast = 8;
constexpr double kMostFastSends = 20'000;
// Chunk counts that a solver searches where all are allowed, and conflicts of a question before each has been
// tried. The least count is then searched without that limit.
constexpr int kSolved = 4;
constexpr std::int64_t kSomeConflicts = 1'000;
// Limit on links times chunks times contributions (or ranks, if that is more) of machines on which a solver
// runs before the engine's main work: mesh:4x4 AllReduce is one, and takes half a second.
constexpr double kLittle = 800;
constexpr int kLittleSolved = 4;  // or as many as ranks, which an Alltoall or AllReduce is often cut into
constexpr std::int64_t kLittleConflicts = 500;
// Sends whose times are found out before the rest: a tenth of a second and one, about.
constexpr double kQuickTimed = 2'000, kMoreTimed = 20'000;
constexpr double kAnyTimed = std::numeric_limits<double>::infinity();
constexpr double kWorkOfTimedSend = 100;
// Chunks times ranks times links of a machine whose trees are weighed: half a second or so.
constexpr double kMostOfTrees = 3e8;
// Blocks times ranks of machines on which no solver and no prices of few steps come to anything.
constexpr double kMostSolved = 1 << 18;
// Prices of steps are searched with `kPriced` chunks per block, fewer where there are many blocks, and for a
// limited number of step counts.
constexpr long long kPriced = 32;
constexpr long long kMostPriced = 1 << 18;
constexpr int kMostStepsPriced = 8;
// Links times ranks: a bound of few steps of dgx-a100:64, 18 million, takes ten seconds.
constexpr double kMostExaminedEarly = 5e6;
// Arcs of flows to pack cuts for a number of steps: two tenths of a second, and two seconds.
constexpr long long kQuickCutWork = 50'000'000;
constexpr long long kCutWork = 500'000'000;
// Of all numbers of steps together: before the engine's main work they took 31 of 58 s on random:1024.
constexpr int kCutWorksOfAll = 4;
// What is made for links alone has at most this part of the effort. Programs are made of it: the kernel of a
// pipeline of 9,548 chunks takes minutes to lower.
constexpr int kPartByLinks = 4;
constexpr int kMaxChunksByLinks = 512;

// Puts those that a result lacks among its points, which are of the same question.
void add_points(const std::vector<Point>& more, Result& result) {
  const std::size_t before = result.points.size();
  for (const Point& point : more)
    if (std::ranges::none_of(result.points, [&](const Point& other) {
          return other.cost == point.cost && other.construction == point.construction;
        }))
      result.points.push_back(point);
  if (result.points.size() > before) mark_verified(result);
}

class FrontierSearch {
 public:
  FrontierSearch(const Machine& machine, const Collective& asked, const FrontierOptions& options,
                 bool is_whole = true)
      : options_(options),
        is_whole_(is_whole),
        found_(std::make_shared<Findings>(machine, asked, options)),
        clock_(options_),
        machine_(machine),
        topology_(machine_.topology()),
        asked_(found_->question().collective),
        space_(found_->question().space),
        kinds_({asked_.kind}) {
    if (found_->is_allreduce() && options.without != "phases") {
      std::ranges::copy(first_phases(asked_), std::back_inserter(kinds_));
      kinds_.push_back(CollectiveKind::Allgather);
    }
    if ((found_->is_allreduce() || asked_.kind == CollectiveKind::ReduceScatter) &&
        has_copying_dual(of_kind(asked_, CollectiveKind::ReduceScatter, 1)))
      mirror_ = mirror_of(topology_);
    if (options_.progress)
      options_.progress = [this, tell = options_.progress](const Progress& progress) {
        const std::lock_guard lock(mutex_);
        tell(progress);
      };
  }

  Result run() {
    static constexpr std::array kAttempts = {&FrontierSearch::begin,
                                             &FrontierSearch::construct_by_links,
                                             &FrontierSearch::bound_by_packings,
                                             &FrontierSearch::close_little,
                                             &FrontierSearch::construct_more,
                                             &FrontierSearch::bound_steps_early,
                                             &FrontierSearch::construct_fully,
                                             &FrontierSearch::bound_steps,
                                             &FrontierSearch::solve_some,
                                             &FrontierSearch::solve_rest};
    begin_at_once();
    for (const auto attempt : kAttempts) make(attempt);
    end();
    Result result = found_->result(clock_.why_stopped(), clock_.seconds());
    add_points(by_links_, result);
    return result;
  }

 private:
  using Attempt = void (FrontierSearch::*)();

  // The search on a machine without the slowest links, and what was taken from it.
  struct WithFewerLinks {
    FewerLinks fewer;
    std::unique_ptr<FrontierSearch> search;
    std::set<std::tuple<int, int, int, std::string>> taken = {};
  };

  bool is_done() const { return clock_.over() || found_->complete(); }
  // Others have their own effort.
  bool is_closed() const { return clock_.is_cut() || found_->complete(); }

  // What a machine of fewer links finds by so much work is known before this one does as much: with more
  // links no answer is worse. Only where times are steps and rounds is nothing faster than what is complete
  // in these.
  void make(Attempt attempt) {
    const bool own_first = !options_.us;
    if (own_first) make_own(attempt);
    for (WithFewerLinks& each : others_) {
      if (own_first && is_closed()) return;
      each.search->make_own(attempt);
      const ParetoSet frontier = each.search->found_->frontier();
      for (const SharedPoint& point : frontier.points()) take_from(each, *point);
    }
    if (!own_first) make_own(attempt);
  }
  void make_own(Attempt attempt) {
    const bool is_always =
        attempt == &FrontierSearch::begin || attempt == &FrontierSearch::construct_by_links;
    if (is_always || !is_done()) (this->*attempt)();
  }

  // What is the fastest at a size alone is taken at the end: before, it depends on what has been timed.
  void end() {
    for (WithFewerLinks& each : others_) {
      each.search->end();
      each.search->found_->time(kAnyTimed);
      each.taken.clear();
      for (const Point& point : each.search->found_->so_far(Stopped::No, 0).points) take_from(each, point);
    }
    // What is complete in steps and rounds may have faster schedules of as many.
    if (ours() && options_.us && !are_composed_ && !clock_.over()) take_fast(true);
    await_bounds();
  }

  void begin_with_fewer_links() {
    if (!is_whole_ || !ours() || topology_.underlay || options_.without == "fewer_links" ||
        (options_.us ? !is_soon_examined() : is_closed()))
      return;
    for (const FewerLinks& fewer : machine_.once(machines_of_fewer_links)) {
      FrontierOptions options = options_;
      options.known = options_.known_on ? options_.known_on(fewer.machine) : std::vector<Point>();
      options.publish = {};
      if (options_.us)
        options.us = [this, fewer](const Point& point, double bytes) {
          return options_.us(on_whole(point, fewer, topology_, found_->question().collective, false), bytes);
        };
      auto search = std::make_unique<FrontierSearch>(fewer.machine, asked_, options, false);
      search->begin_at_once();
      others_.push_back({fewer, std::move(search)});
    }
  }

  // Where a time is steps and rounds, a chunk of a machine of fewer links is as many as a unit there has.
  void take_from(WithFewerLinks& other, const Point& point) {
    const Cost& cost = point.cost;
    if (!other.taken.insert({cost.steps, cost.rounds, cost.chunks, point.construction}).second) return;
    const bool finer = !options_.us;
    if (finer && total_sends(point.schedule) * other.fewer.unit > kMostRetimed) return;
    put_inside(on_whole(point, other.fewer, topology_, asked_, finer));
  }

  // What is there at any limit.
  void begin_at_once() {
    take_known();
    take_catalogue();
    if (options_.us) begin_with_fewer_links();
    if (options_.publish)
      options_.publish([found = found_, started = started_] {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
        return found->so_far(Stopped::TimeLimit, seconds.count());
      });
  }

  void begin() {
    take_rest_of_catalogue();
    // Beside what takes long, so that there is a bound for all chunk counts whatever ends the search.
    const auto begin_bounds = [this](bool mirrored) {
      if (options_.synthesis.use_bounds)
        bounds_ = std::async(std::launch::async,
                             [this, mirrored] { return count_work([&] { bound_all(mirrored); }); });
    };
    begin_bounds(false);
    construct_quickly();
    await_bounds();
    begin_bounds(true);
    if (is_soon_examined()) await_bounds();
    if (!options_.us) begin_with_fewer_links();
  }

  // What switches that copy and add are not asked for: others dominate it, and executors that cannot ask them
  // have nothing else. Bounds and solvers have no part in it; baselines are there in any case.
  void construct_by_links() {
    const bool is_left_to_switches = std::ranges::any_of(
        asked_.chunks, [](const ChunkSpec& chunk) { return chunk.pre.size() > 1 || chunk.post.size() > 1; });
    if (!is_whole_ || !ours() || !abilities_of(topology_).any() || !is_left_to_switches) return;
    const long long most = std::min(kMoreWork, clock_.left().value_or(kEngineWork) / kPartByLinks);
    const Machine alone = by_links_alone(topology_);
    Construction construction(
        {.topology = alone,
         .one = asked_,
         .min_chunks = space_.min_chunks,
         .max_chunks = std::max(space_.min_chunks, std::min(space_.max_chunks, kMaxChunksByLinks)),
         .max_steps = space_.max_steps,
         .extra_rounds = space_.extra_rounds,
         .stop = options_.synthesis.limits.stop,
         .work = kMoreWork});
    const auto take = [&](Point point) {
      keep_undominated(by_links_, std::move(point),
                       [](const Point& a, const Point& b) { return is_as_good(a.cost, b.cost); });
    };
    long long work = 0;
    for (bool more = true; more && work <= most && !clock_.is_cut();)
      work += count_work([&] { more = construction.advance(take); });
    clock_.spend(work);
  }

  // Before what depends on them.
  void await_bounds() {
    if (bounds_.valid()) clock_.spend(bounds_.get());
  }

  // Another engine than ours is asked for comparison: it is not helped.
  bool ours() const { return options_.synthesis.engine == Engine::Sat; }

  void put(CollectiveKind kind, Point point, bool verified = false) {
    if (kind == asked_.kind &&
        (point.cost.steps > space_.max_steps || point.cost.rounds > most_rounds(space_, point.cost.steps)))
      return;
    clock_.found_point();
    const double rate = static_cast<double>(point.cost.rounds) / point.cost.chunks;
    const auto [best, first] = best_rates_.try_emplace(kind, rate);
    if (!first) best->second = std::min(best->second, rate);
    found_->put(kind, std::make_shared<const Point>(std::move(point)), verified);
  }

  void take_known() {
    for (const Point& point : options_.known)
      for (const CollectiveKind kind : kinds_)
        if (point.cost.chunks >= space_.min_chunks && point.cost.chunks <= space_.max_chunks &&
            point.collective.kind == kind && point.collective == of_kind(asked_, kind, point.cost.chunks))
          begin_with(kind, point, false);
  }

  // Of rates to beat it is none: what the engine finds is the same without.
  void begin_with(CollectiveKind kind, Point point, bool verified = true) {
    if (kind == asked_.kind && !lies_within(found_->question(), point)) return;
    clock_.found_point();
    found_->put(kind, std::make_shared<const Point>(std::move(point)), verified);
  }

  // What a user has without a search is there before anything is searched, at any limit: the baselines,
  // each with its own chunk count, those of the fewest sends first: rings of 128 ranks would take the work
  // of all others. What does not fit is made with the least chunk count that is asked for, and with its own
  // while there is time.
  void take_catalogue() {
    if (!ours() || options_.without == "classic") return;
    std::vector<Baseline> made;
    for (const ClassicEntry& entry : classic_catalogue()) {
      const bool is_known = std::ranges::any_of(
          options_.known, [&](const Point& point) { return point.method == entry.method; });
      if (entry.collective == asked_.kind && !is_known)
        made.push_back({.entry = &entry, .point = baseline(entry.method, 0, kFirstWork)});
    }
    double left = kFirstWork;
    const double most = most_work_of_each(made, left);
    for (Baseline& each : made) {
      const Method method = each.entry->method;
      if (each.point && work_of(*each.point) <= most) {
        if (take_baseline(*std::move(each.point)) && each.entry->is_pipelined) take_pipelines(method, left);
      } else {
        later_.push_back(method);
        left -= take_baseline(method, space_.min_chunks, left);
      }
    }
    if (found_->is_empty()) take_quickest();
  }
  void take_rest_of_catalogue() {
    double left = kMaxCatalogueWork;
    for (const Method method : later_)
      if (!clock_.over()) left -= take_baseline(method, 0, left);
    for (const ClassicEntry& entry : classic_catalogue()) {
      if (entry.collective != asked_.kind || !entry.is_sliced) continue;
      for (int slices = 2; !clock_.over(); slices *= 2) {
        const double work = take_baseline(entry.method, 0, left, slices);
        if (work == 0) break;
        left -= work;
      }
    }
  }

  // One of the catalogue, and its point where it suits.
  struct Baseline {
    const ClassicEntry* entry = nullptr;
    std::optional<Point> point = {};
  };

  // Returns the work up to which all fit into what is left, which it takes.
  double most_work_of_each(const std::vector<Baseline>& made, double& left) const {
    std::vector<double> works;
    for (const Baseline& each : made)
      if (each.point) works.push_back(work_of(*each.point));
    std::ranges::sort(works);
    double most = 0;
    for (const double work : works) {
      if (work > left) break;
      left -= work;
      most = work;
    }
    return most;
  }

  // A value that combines is verified by its contributions, many at once; the rest of a send's work is as
  // much as 40.
  double contributions() const { return asked_.combining ? std::max(topology_.ranks / 10, 40) : 40; }

  double work_of(const Point& point) const {
    return static_cast<double>(total_sends(point.schedule)) * contributions();
  }

  // More chunks, which take more steps and fewer rounds per chunk.
  void take_pipelines(Method method, double& left) {
    const int height = std::bit_width(static_cast<unsigned>(topology_.ranks - 1));
    for (const int chunks : {height * height, height * height * height})
      left -= take_baseline(method, chunks, left);
  }

  // Nothing where it does not suit the machine or the question, or is more work.
  std::optional<Point> baseline(Method method, int chunks, double most_work, int slices = 1) const {
    std::optional<Point> point = classic_if_possible(
        method, machine_,
        {.chunks = chunks, .root = asked_.root, .slices = slices, .most_sends = most_work / contributions()});
    if (!point) return {};
    point->collective.order = asked_.order;
    if (point->collective != of_kind(asked_, asked_.kind, point->cost.chunks) ||
        !lies_within(found_->question(), *point))
      return {};
    return point;
  }

  // Not where it adds in an order of its own.
  bool is_sound(const Point& point) const {
    return violations(topology_, point.collective, point.schedule, 1).empty();
  }
  bool take_baseline(Point point) {
    if (!is_sound(point)) return false;
    begin_with(asked_.kind, std::move(point));
    return true;
  }

  // Returns its work; 0 where it does not suit.
  double take_baseline(Method method, int chunks, double most_work, int slices = 1) {
    std::optional<Point> point = baseline(method, chunks, most_work, slices);
    if (!point || work_of(*point) > most_work) return 0;
    const double work = work_of(*point);
    take_baseline(*std::move(point));
    return work;
  }

  // Over shortest paths, in a tenth of a second, or not at all.
  void take_quickest() {
    for (const CollectiveKind kind : kinds_)
      for (Point& point :
           quick_incumbents(topology_, of_kind(asked_, kind, space_.min_chunks), space_.extra_rounds))
        begin_with(kind, std::move(point));
  }

  // On its own mirror a machine has the schedules of sums from those of copies.
  bool is_mirrored(CollectiveKind kind) const { return mirror_ && kind == CollectiveKind::ReduceScatter; }
  bool is_mirrored_phase(CollectiveKind kind) const { return is_mirrored(kind) && kind != asked_.kind; }

  // What holds for any chunk count: the least distance, and the rate. Of an AllReduce its own bounds come
  // first. Of what is constructed, or of what is not.
  void bound_all(bool mirrored) {
    for (const CollectiveKind kind : kinds_) {
      if (clock_.is_cut()) return;
      if (is_mirrored_phase(kind) != mirrored) continue;
      const Collective one = of_kind(asked_, kind, 1);
      const std::vector<Claim> claims =
          StrongestBounds(topology_, one, options_.synthesis.limits.stop).claims(1);
      if (claims.empty()) return;
      for (const Claim& claim : claims) put_bound(one, claim);
    }
  }

  // Of `of`, whatever its chunk count.
  void put_bound(const Collective& of, const Claim& claim) {
    if (claim.certificate.kind == Certificate::Kind::None) return;
    if (const Claim any = of_any_chunks(topology_, of, claim); any.rounds > 0) found_->put(any);
  }

  // Any prices show a bound, and those of a packing of trees one that no packing of trees can beat.
  void bound_by_trees(const Collective& one, const Prices& prices) {
    if (!options_.synthesis.use_bounds || topology_.underlay || abilities_of(topology_).any()) return;
    const double looks = static_cast<double>(one.chunks.size()) * topology_.ranks *
                         static_cast<double>(topology_.links.size());
    if (looks > kMostOfTrees) return;
    put_bound(
        one, {.collective = one.kind, .certificate = {.kind = Certificate::Kind::Trees, .prices = {prices}}});
  }

  // The rate of as few steps as points have, up to the first number of steps that has the rate of any; of an
  // AllReduce of vectors that are gathered, too. Of one chunk whole rounds would hide most of it.
  void bound_steps_quickly() { bound_steps_of(kQuickCutWork); }

  void bound_steps() { bound_steps_of(kCutWork); }

  void bound_steps_of(long long cut_work) {
    if (!options_.synthesis.use_bounds || is_too_large()) return;
    bound_steps_of(asked_.kind, cut_work);
    if (found_->is_allreduce()) bound_steps_of(CollectiveKind::Allgather, cut_work);
  }

  void bound_steps_of(CollectiveKind kind, long long cut_work) {
    const ParetoSet frontier = found_->frontier();
    if (frontier.empty()) return;
    const long long blocks = std::ssize(of_kind(asked_, kind, 1).chunks);
    const Collective of =
        of_kind(asked_, kind, static_cast<int>(std::clamp(kMostPriced / blocks, 1LL, kPriced)));
    std::optional<LowerBounds> bounds;
    const int first = frontier.points().front()->cost.steps, last = frontier.points().back()->cost.steps;
    long long left = cut_work < kCutWork ? kCutWorksOfAll * cut_work : std::numeric_limits<long long>::max();
    for (int steps = first; steps <= std::min(last, first + kMostStepsPriced) && left > 0 && !clock_.over();
         ++steps) {
      const Cost& cost = frontier.best_within(steps)->cost;
      const Rate found = {.rounds = cost.rounds, .chunks = cost.chunks};
      if (!less(found_->rate_bound(asked_.kind), found) || !less(found_->rate_bound(kind), found)) return;
      if (!priced_.insert({kind, steps, cut_work}).second) continue;
      if (!bounds) bounds.emplace(topology_, of, options_.synthesis.limits.stop);
      Claim claim;
      const long long work = count_work([&] { claim = bounds->highest_rate_in(steps, found, cut_work); });
      clock_.spend(work);
      left -= work;
      if (claim.steps == kAnySteps && cut_work == kCutWork) return;
      found_->put(claim);
    }
  }

  void construct_quickly() {
    if (!ours()) return;
    construct_all(kQuickWork);
    if (options_.us && is_soon_examined() && !clock_.over()) {
      take_fast(false);
      found_->time(kQuickTimed);
    }
  }

  // Where baselines or a bound of few steps take many seconds, the engine's main work comes first.
  bool is_soon_examined() const {
    return static_cast<double>(topology_.links.size()) * topology_.ranks <= kMostExaminedEarly;
  }
  void bound_steps_early() {
    if (is_soon_examined()) bound_steps_quickly();
  }

  void construct_more() {
    await_bounds();
    if (!ours()) return;
    construct_all(kMoreWork);
    if (!options_.us || clock_.over()) return;
    if (!is_soon_examined()) take_fast(false);
    found_->time(kMoreTimed);
  }

  void construct_fully() {
    if (!ours()) return;
    construct_all(kEngineWork);
    if (options_.us) take_fast(true);
  }

  // Of what was asked for, or of a phase.
  struct Constructing {
    CollectiveKind kind = CollectiveKind::Custom;
    CollectiveKind bounded = kind;  // has the same bounds, and is what is asked for or one of its phases
    Collective one = {};
    std::unique_ptr<Construction> construction = {};
  };

  // Asked with a k, phases are constructed for smaller ones, too: two phases share it.
  void begin_constructing() {
    for (const CollectiveKind kind : kinds_) {
      if (is_mirrored_phase(kind)) continue;
      const bool shares = kind != asked_.kind && space_.extra_rounds != kAnyRounds;
      for (int extra = space_.extra_rounds; extra >= 0; --extra) {
        Constructing& each = *constructing_.emplace_back(std::make_unique<Constructing>());
        const CollectiveKind made = is_mirrored(kind) ? CollectiveKind::Allgather : kind;
        each = {.kind = made, .bounded = kind, .one = of_kind(asked_, made, 1)};
        each.construction = std::make_unique<Construction>(
            EngineQuestion{.topology = machine_,
                           .one = each.one,
                           .min_chunks = space_.min_chunks,
                           .max_chunks = space_.max_chunks == kAnyChunks ? 0 : space_.max_chunks,
                           .max_steps = space_.max_steps,
                           .extra_rounds = extra,
                           .stop = options_.synthesis.limits.stop,
                           .is_timed = options_.us != nullptr,
                           .without = options_.without});
        if (!shares) break;
      }
    }
  }

  // What quick packings show, before solvers take their time.
  void bound_by_packings() {
    for (const auto& each : constructing_) bound_by_packing(*each);
  }

  void bound_by_packing(const Constructing& each) {
    if (each.kind != each.bounded) return;
    const std::optional<Prices> prices = each.construction->take_prices();
    if (!prices) return;
    bound_by_trees(each.one, *prices);
    each.construction->know(found_->rate_bound(each.kind));
  }

  // Phases are served round-robin, so that no phase waits for all of another; goes on where it was with less
  // work.
  void construct_all(long long work) {
    if (constructing_.empty()) begin_constructing();
    // Bounds are searched in parallel with the quick constructions; these do not use them, so that the result
    // does not depend on which ends first.
    const bool has_bounds = work > kQuickWork;
    for (const auto& each : constructing_) {
      each->construction->allow(work, work < kEngineWork);
      if (has_bounds) each->construction->know(found_->rate_bound(each->bounded));
    }
    const auto begun = std::chrono::steady_clock::now();
    std::vector<bool> done(constructing_.size(), false);
    // What is asked for is quick first; later it is to beat its phases, if these are better.
    const bool phases_first = has_bounds && rate_to_beat(asked_.kind).value_or(0) <= best_rate(asked_.kind);
    for (std::size_t left = done.size(); left > 0;)
      for (std::size_t turn = 0; turn < done.size(); ++turn) {
        const std::size_t i = phases_first ? done.size() - 1 - turn : turn;
        if (done[i]) continue;
        const Constructing& each = *constructing_[i];
        if (const auto rate = rate_to_beat(each.kind)) each.construction->know_found(*rate);
        clock_.report(name_of(each.one) + ": constructing schedules");
        found_->assemble_if_due();
        const bool is_own = each.kind == each.bounded;
        if (has_bounds) bound_by_packing(each);
        const bool over = clock_.over() && !found_->frontier().empty();
        const auto take = [&](Point point) {
          point.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
          if (mirror_ && each.kind == CollectiveKind::Allgather) {
            constexpr CollectiveKind kSums = CollectiveKind::ReduceScatter;
            put(kSums, mirrored(point, of_kind(asked_, kSums, point.cost.chunks), *mirror_), true);
          }
          if (is_own) put(each.kind, std::move(point), true);
        };
        clock_.spend(count_work([&] { done[i] = over || !each.construction->advance(take); }));
        if (done[i]) --left;
      }
  }

  // Of the points so far; infinite if there are none.
  double best_rate(CollectiveKind kind) const {
    const auto at = best_rates_.find(kind);
    return at == best_rates_.end() ? std::numeric_limits<double>::infinity() : at->second;
  }

  // Rounds per chunk that points of many chunks have to beat. Of an AllReduce those of its best phases in
  // sequence, where nothing keeps them from being composed; of a phase those that make such a sequence nearly
  // as good as the best AllReduce, beside the least of the other phase: a sequence often has fewer steps.
  std::optional<double> rate_to_beat(CollectiveKind kind) const {
    constexpr CollectiveKind kCopies = CollectiveKind::Allgather;
    const bool free =
        space_.max_steps == kAnySteps && space_.extra_rounds == kAnyRounds && space_.max_chunks == kAnyChunks;
    if (!found_->is_allreduce() || !free) return std::nullopt;
    const auto blocks = static_cast<double>(of_kind(asked_, kCopies, 1).chunks.size());
    const std::vector<CollectiveKind> firsts = first_phases(asked_);
    if (kind == asked_.kind) {
      const auto rate = [&](CollectiveKind first) { return best_rate(first); };
      return (rate(*std::ranges::min_element(firsts, {}, rate)) + best_rate(kCopies)) / blocks;
    }
    const auto bound = [&](CollectiveKind first) { return found_->rate_bound(first); };
    const Rate other =
        kind == kCopies ? bound(*std::ranges::min_element(firsts, less, bound)) : bound(kCopies);
    constexpr double kNearly = 1.05;
    return kNearly * best_rate(asked_.kind) * blocks -
           static_cast<double>(other.rounds) / static_cast<double>(other.chunks);
  }

  // Where links are not alike, other schedules may be the fastest at some size although schedules of fewer
  // steps or rounds are known, and the engine does not report them: compositions and baselines, of the chunk
  // counts that are known to be good.
  void take_fast(bool composed) {
    clock_.spend_on_times(count_work([&] { make_fast(composed); }));
  }

  void make_fast(bool composed) {
    are_composed_ |= composed;
    take_fewer_slow_steps();
    std::set<int> counts = {space_.min_chunks, std::min(space_.min_chunks + 1, space_.max_chunks)};
    const ParetoSet frontier = found_->frontier();
    for (const SharedPoint& point : frontier.points()) counts.insert(point->cost.chunks);
    const double entries =
        static_cast<double>(of_kind(asked_, asked_.kind, 1).chunks.size()) * topology_.ranks;
    std::erase_if(counts, [&](int chunks) { return chunks * entries > kMostSolved; });
    for (const int chunks : counts) {
      if (clock_.over() || clock_.left_for_times() == 0) return;
      const Collective whole = of_kind(asked_, asked_.kind, chunks);
      const ComposeQuestion question{.topology = topology_,
                                     .collective = whole,
                                     .extra_rounds = space_.extra_rounds,
                                     .stop = options_.synthesis.limits.stop};
      if (composed && chunks <= kMostFast && options_.without != "composition")
        for (ComposedPoint& each : compose_on(question, machine_.once(nestings)))
          put_inside(std::move(each.point));
      double sends = 0;
      for (const ChunkSpec& chunk : whole.chunks) sends += static_cast<double>(chunk.post.size());
      if (sends > kMostFastSends || options_.without == "classic") continue;
      for (const ClassicEntry& entry : classic_catalogue())
        if (entry.collective == asked_.kind && !clock_.over())
          if (std::optional<Point> point = baseline(entry.method, chunks, kMaxCatalogueWork);
              point && is_sound(*point))
            put_inside(*std::move(point));
    }
  }

  // Variants of what is on the frontier that wait for slow links in fewer steps.
  void take_fewer_slow_steps() {
    if (options_.without == "slow_links") return;
    const ParetoSet frontier = found_->frontier();
    for (const SharedPoint& point : frontier.points()) {
      if (clock_.over()) return;
      if (total_sends(point->schedule) > kMostRetimed) continue;
      const Collective whole = of_kind(asked_, asked_.kind, point->cost.chunks);
      if (point->collective != whole) continue;
      std::optional<Schedule> schedule = slow_links_together(topology_, whole, point->schedule);
      if (!schedule || !violations(topology_, whole, *schedule, 1).empty()) continue;
      Point faster = *point;
      faster.method = Method::Direct;
      faster.construction += ", slow links together";
      faster.cost = cost_of(*schedule, point->cost.chunks);
      faster.proven = false;
      faster.schedule = *std::move(schedule);
      put_inside(std::move(faster));
    }
  }

  void put_inside(Point point) {
    if (!lies_within(found_->question(), point)) return;
    const double sizes = options_.us ? static_cast<double>(options_.sizes.size()) : 0;
    clock_.spend_on_times(static_cast<long long>(static_cast<double>(total_sends(point.schedule)) *
                                                 (contributions() + kWorkOfTimedSend * sizes)));
    put(asked_.kind, std::move(point));
  }

  // Of any chunk count, the least one; where limits of the caller end it, more: as time allows.
  int most_solved() const {
    if (space_.max_chunks != kAnyChunks) return space_.max_chunks;
    const int more = options_.synthesis.limits.conflicts >= 0 ? kSolved
                     : options_.time_limit.count() >= 0       ? kMostComplete
                                                              : 1;
    return space_.min_chunks + more - 1;
  }

  bool is_too_large() const {
    return static_cast<double>(of_kind(asked_, asked_.kind, 1).chunks.size()) * topology_.ranks > kMostSolved;
  }

  // A second's worth, of small machines: there solvers find the fewest rounds of few steps, which nothing
  // constructs.
  void close_little() {
    const Collective one = of_kind(asked_, asked_.kind, 1);
    const double sent = static_cast<double>(one.chunks.size()) * (one.combining ? topology_.ranks : 1);
    const double size = static_cast<double>(topology_.links.size()) * std::max(sent, 1.0 * topology_.ranks);
    if (size > kLittle) return;
    bound_steps_quickly();
    solve_all(space_.min_chunks + std::max(kLittleSolved, topology_.ranks) - 1, kLittleConflicts, false);
  }

  void solve_some() { solve_all(space_.min_chunks + kSolved - 1, kSomeConflicts, false); }

  void solve_rest() { solve_all(most_solved(), -1, true); }

  // Solves chunk counts up to `most`, with `conflicts` conflicts per question.
  void solve_all(int most, std::int64_t conflicts, bool last) {
    const std::int64_t limit = options_.synthesis.limits.conflicts;
    if (!last && limit >= 0 && limit <= conflicts) return;  // the last attempt asks as much
    if (options_.without == "solver") return;
    if (is_too_large()) {
      if (last) found_->give_up({Stopped::SizeLimit});
      return;
    }
    search_counts(most, conflicts, last, *found_, options_, clock_);
  }

  FrontierOptions options_;
  const bool is_whole_;  // not of fewer links than another
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const std::shared_ptr<Findings> found_;
  SearchClock clock_;
  const Machine machine_;
  const Topology& topology_;
  const Collective& asked_;
  const Space& space_;
  std::vector<CollectiveKind> kinds_ = {};  // what was asked for, then its phases
  std::vector<std::unique_ptr<Constructing>> constructing_ = {};
  std::map<CollectiveKind, double> best_rates_ = {};                  // rounds per chunk
  bool are_composed_ = false;                                         // compositions that may be fast
  std::vector<Method> later_ = {};                                    // of the catalogue
  std::set<std::tuple<CollectiveKind, int, long long>> priced_ = {};  // steps, work of cuts
  // Of an AllReduce that may be made of an Allgather and the same backwards.
  std::optional<std::vector<LinkId>> mirror_ = {};
  std::future<long long> bounds_ = {};  // their work
  std::vector<WithFewerLinks> others_ = {};
  std::vector<Point> by_links_ = {};
  std::mutex mutex_;
};

}  // namespace

Result search_frontier(const Machine& machine, const Collective& one_chunk, const FrontierOptions& options) {
  if (options.min_chunks < 1 || options.max_chunks < options.min_chunks)
    throw InputError("--max-chunks", "there is no chunk count from " + std::to_string(options.min_chunks) +
                                         " to " + std::to_string(options.max_chunks));
  require_solver(options.synthesis);
  return FrontierSearch(machine, one_chunk, options).run();
}

}  // namespace chorale
