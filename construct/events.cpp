// Three parts. A plan is a list of sends in the order in which links and limits carry them; the list is made
// by one of two means, and steps are made of the list.
//
//   spread   of chunks that all ranks need: of all sends that are possible, the one that ends first is made.
//            Ends are known before, since a link and its limits are busy until then. Keys have noise, and a
//            weight on how many ranks have a chunk already (as in BitTorrent, the rarest goes first: a root
//            then sends each chunk once before it sends one twice)
//   insert   of one chunk: the path that arrives first, through the gaps that links and limits have; from
//            what it has reached the next destination. Used for chunks of few destinations; and to improve a
//            plan: the chunks that are last, and some others, are taken out and put in again
//
// Sums with one destination are copies on the reversed machine, reversed. A sum for several is brought to one
// of them, and from there to all; its copies begin when it is complete, chunk by chunk.
#include "construct/events.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "ir/error.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

constexpr double kLate = std::numeric_limits<double>::infinity();

// The machine as chunks of one size see it.
struct ChunkMachine {
  struct Use {
    int resource = 0;  // a link, or number of links + a limit
    double us = 0;     // that a chunk keeps it busy
  };
  int ranks = 0, resources = 0;
  std::vector<Link> links = {};
  std::vector<std::vector<Use>> uses = {};    // by link
  std::vector<std::vector<LinkId>> out = {};  // by rank

  ChunkMachine(const Topology& t, double chunk_bytes)
      : ranks(t.ranks),
        resources(static_cast<int>(t.links.size() + t.limits.size())),
        links(t.links),
        uses(t.links.size()),
        out(t.ranks) {
    const int first_limit = static_cast<int>(links.size());
    for (LinkId l = 0; l < first_limit; ++l) {
      out[links[l].src].push_back(l);
      uses[l].push_back({l, chunk_bytes * links[l].beta_us_per_byte / links[l].bandwidth});
    }
    for (int i = 0; i < std::ssize(t.limits); ++i)
      for (const LinkId l : t.limits[i].links)
        uses[l].push_back({first_limit + i, chunk_bytes * links[l].beta_us_per_byte / t.limits[i].bandwidth});
  }
};

// A chunk that is at some ranks from a time on, and is to be copied to others.
struct Copied {
  Chunk chunk = 0;
  RankSet from = {}, to = {};
  double since_us = 0;
};

struct PlannedSend {
  Chunk chunk = 0;
  LinkId link = 0;
  double begin_us = 0, there_us = 0;
  bool reduce = false;
};
using EventPlan = std::vector<PlannedSend>;  // what brings data comes before what sends them on

// How `spread` chooses: noise in microseconds, and what a chunk that many ranks have is put back by.
struct Taste {
  double noise_us = 0, common_us = 0;
  unsigned seed = 0;
};

class EarliestFirst {
 public:
  EarliestFirst(const ChunkMachine& machine, const std::vector<Copied>& copied, const Taste& taste,
                long long& work)
      : machine_(machine),
        copied_(copied),
        taste_(taste),
        work_(work),
        random_(taste.seed),
        free_(machine.resources),
        offers_(machine.links.size()),
        holders_(copied.size()) {}

  // Nothing if some rank is not reached, or the work is done.
  std::optional<EventPlan> run() {
    has_.assign(copied_.size() * machine_.ranks, false);
    std::size_t missing = 0;
    for (int i = 0; i < std::ssize(copied_); ++i) {
      for (const Rank n : copied_[i].from) has(i, n) = true;
      missing += machine_.ranks - copied_[i].from.size();
      holders_[i] = static_cast<int>(copied_[i].from.size());
    }
    for (int i = 0; i < std::ssize(copied_); ++i)
      for (const Rank n : copied_[i].from) offer_all(i, n, copied_[i].since_us);
    EventPlan plan;
    for (; missing > 0; --missing)
      if (!send_first(plan)) return {};
    return plan;
  }

 private:
  struct Offer {
    double key = 0, ready_us = 0;
    int number = 0;  // of `copied`
    int holders = 0;
    bool operator>(const Offer& other) const { return key > other.key; }
  };
  using Offers = std::priority_queue<Offer, std::vector<Offer>, std::greater<>>;

  std::vector<bool>::reference has(int i, Rank n) {
    return has_[static_cast<std::size_t>(i) * machine_.ranks + n];
  }
  double random_us(double most) { return most * static_cast<double>(random_()) / 4294967296.0; }
  double common_us(int i) const { return taste_.common_us * holders_[i]; }

  void offer_all(int i, Rank n, double ready_us) {
    for (const LinkId l : machine_.out[n]) {
      --work_;
      if (has(i, machine_.links[l].dst)) continue;
      // A little noise in any case: equal offers in the order of chunks would all take the same.
      const double key = ready_us + common_us(i) + random_us(taste_.noise_us + 1e-6);
      Offers& offers = offers_[l];
      const bool is_first = offers.empty() || key < offers.top().key;
      offers.push({.key = key, .ready_us = ready_us, .number = i, .holders = holders_[i]});
      if (is_first) queue_.push({left_us(l, ready_us), l});
    }
  }
  double left_us(LinkId l, double ready_us) const {
    double left = 0;
    for (const auto& [resource, us] : machine_.uses[l])
      left = std::max(left, std::max(ready_us, free_[resource]) + us);
    return left + machine_.links[l].alpha_us;
  }

  // The best of what a link is offered and its end does not have; offers of chunks that have become common
  // are put back first.
  const Offer* best_offer(LinkId l) {
    Offers& offers = offers_[l];
    for (; !offers.empty(); --work_) {
      Offer best = offers.top();
      const bool is_done = has(best.number, machine_.links[l].dst);
      if (!is_done && best.holders == holders_[best.number]) return &offers_[l].top();
      offers.pop();
      if (is_done) continue;
      best.key += taste_.common_us * (holders_[best.number] - best.holders);
      best.holders = holders_[best.number];
      offers.push(best);
    }
    return nullptr;
  }

  // Links in the order in which their best offers would be there. A link's offers and its limits may have
  // changed since it was put into the queue, so it is asked again.
  bool send_first(EventPlan& plan) {
    while (!queue_.empty() && work_ > 0) {
      const auto [key, l] = queue_.top();
      queue_.pop();
      --work_;
      const Offer* const best = best_offer(l);
      if (best == nullptr) continue;
      const double there = left_us(l, best->ready_us);
      if (!queue_.empty() && there > queue_.top().first) {
        queue_.push({there, l});
        continue;
      }
      const int i = best->number;
      const double ready = best->ready_us;
      offers_[l].pop();
      double begin = kLate;
      for (const auto& [resource, us] : machine_.uses[l]) {
        const double start = std::max(ready, free_[resource]);
        free_[resource] = start + us;
        begin = std::min(begin, start);
      }
      const Rank to = machine_.links[l].dst;
      has(i, to) = true;
      ++holders_[i];
      plan.push_back({.chunk = copied_[i].chunk, .link = l, .begin_us = begin, .there_us = there});
      offer_all(i, to, there);
      if (!offers_[l].empty()) queue_.push({there, l});
      return true;
    }
    return false;
  }

  const ChunkMachine& machine_;
  const std::vector<Copied>& copied_;
  const Taste taste_;
  long long& work_;
  std::mt19937 random_;
  std::vector<double> free_ = {};    // from when on, by resource
  std::vector<Offers> offers_ = {};  // by link
  std::vector<int> holders_ = {};    // ranks, by chunk
  std::vector<bool> has_ = {};       // chunk and rank
  std::priority_queue<std::pair<double, LinkId>, std::vector<std::pair<double, LinkId>>, std::greater<>>
      queue_ = {};  // when the best offer would be there
};

// When a resource is busy.
class Timeline {
 public:
  // Returns when it is first free for so long, from then on.
  double first_gap(double from, double us) const {
    auto next = std::ranges::upper_bound(busy_, from, {}, &Interval::end);
    for (; next != busy_.end() && next->begin < from + us - kRounding; ++next)
      from = std::max(from, next->end);
    return from;
  }
  void take(double begin, double us) {
    if (us > 0)
      busy_.insert(std::ranges::upper_bound(busy_, begin, {}, &Interval::begin), {begin, begin + us});
  }
  void give_back(double begin, double us) {
    if (us > 0) busy_.erase(std::ranges::lower_bound(busy_, begin - kRounding, {}, &Interval::begin));
  }

 private:
  static constexpr double kRounding = 1e-9;
  struct Interval {
    double begin = 0, end = 0;
  };
  std::vector<Interval> busy_ = {};  // apart, rising
};

// Chunks in the gaps of links and limits, which can be taken out again.
class GapPlan {
 public:
  GapPlan(const ChunkMachine& machine, const std::vector<Copied>& copied, long long& work)
      : machine_(machine), copied_(copied), work_(work), lines_(machine.resources), placed_(copied.size()) {}

  // Puts the chunk in, along the paths that arrive first. False if a destination cannot be reached.
  bool insert(int i) {
    const Copied& copied = copied_[i];
    std::vector<Reached> reached(machine_.ranks);
    std::vector<bool> wanted(machine_.ranks, false);
    int missing = 0;
    for (const Rank n : copied.from) reached[n] = {.us = copied.since_us, .is_placed = true};
    for (const Rank n : copied.to) {
      wanted[n] = !reached[n].is_placed;
      missing += wanted[n] ? 1 : 0;
    }
    std::priority_queue<std::pair<double, Rank>, std::vector<std::pair<double, Rank>>, std::greater<>> queue;
    for (const Rank n : copied.from) queue.push({copied.since_us, n});
    while (missing > 0 && !queue.empty()) {
      const auto [us, n] = queue.top();
      queue.pop();
      if (us != reached[n].us) continue;
      if (!reached[n].is_placed) {
        // Since it was reached, other sends of the chunk may have taken a gap.
        const double now = there_us(reached[n].by, reached[machine_.links[reached[n].by].src].us);
        if (now > us) {
          reached[n].us = now;
          queue.push({now, n});
          continue;
        }
      }
      if (wanted[n]) {
        place_path(i, n, reached);
        wanted[n] = false;
        --missing;
      }
      for (const LinkId l : machine_.out[n]) {
        --work_;
        Reached& next = reached[machine_.links[l].dst];
        if (next.is_placed) continue;
        const double there = there_us(l, reached[n].us);
        if (there >= next.us) continue;
        next = {.us = there, .by = l};
        queue.push({there, machine_.links[l].dst});
      }
    }
    return missing == 0;
  }

  // Puts in what another plan has, where it has it.
  void insert(const EventPlan& plan) {
    std::map<std::pair<Chunk, Rank>, double> since;
    std::map<Chunk, int> number;
    for (int i = 0; i < std::ssize(copied_); ++i) {
      number[copied_[i].chunk] = i;
      for (const Rank n : copied_[i].from) since[{copied_[i].chunk, n}] = copied_[i].since_us;
    }
    for (const PlannedSend& send : plan)
      since[{send.chunk, machine_.links[send.link].dst}] =
          place(number[send.chunk], send.link, since[{send.chunk, machine_.links[send.link].src}]);
  }

  // The chunk that comes last, or any, and another one are taken out and put in again, until so much work is
  // left. What makes the last arrival later is undone, and what makes arrivals later on the whole.
  void improve(std::mt19937& random, long long work_left) {
    const int count = static_cast<int>(copied_.size());
    std::vector<double> ends(count);
    for (int i = 0; i < count; ++i) ends[i] = end_of(i);
    const auto any = [&] { return static_cast<int>(random() % static_cast<unsigned>(count)); };
    while (count > 0 && work_ > work_left) {
      const auto last = std::ranges::max_element(ends);
      const double last_us = *last;
      const int first = random() % 2 == 0 ? static_cast<int>(last - ends.begin()) : any();
      const int second = any();
      const std::array<double, 2> before = {ends[first], ends[second]};
      const std::array<Placement, 2> placed = {remove(first), remove(second)};
      const bool found = insert(first) && (second == first || insert(second));
      ends[first] = end_of(first);
      ends[second] = end_of(second);
      const double now = *std::ranges::max_element(ends);
      const double more = ends[first] - before[0] + (second == first ? 0 : ends[second] - before[1]);
      work_ -= 1 + count / 8;
      if (found && (now < last_us - kRoundingOfGaps || (now < last_us + kRoundingOfGaps && more <= 0)))
        continue;
      for (const int i : {first, second}) remove(i);
      restore(first, placed[0]);
      if (second != first) restore(second, placed[1]);
      ends[first] = before[0];
      ends[second] = second == first ? before[0] : before[1];
    }
  }

  double end_of(int i) const {
    double end = 0;
    for (const Placed& each : placed_[i]) end = std::max(end, each.send.there_us);
    return end;
  }
  // By when they leave: a resource that carries first what has to leave first carries all in time.
  EventPlan plan() const {
    EventPlan all;
    for (const Placement& placement : placed_)
      for (const Placed& each : placement) all.push_back(each.send);
    std::ranges::stable_sort(
        all, {}, [&](const PlannedSend& send) { return send.there_us - machine_.links[send.link].alpha_us; });
    return all;
  }

 private:
  struct Placed {
    PlannedSend send = {};
    std::vector<double> starts = {};  // by use of the link
  };
  using Placement = std::vector<Placed>;
  static constexpr double kRoundingOfGaps = 1e-9;

  Placement remove(int i) {
    for (const Placed& each : placed_[i])
      for (std::size_t u = 0; u < each.starts.size(); ++u) {
        const ChunkMachine::Use& use = machine_.uses[each.send.link][u];
        lines_[use.resource].give_back(each.starts[u], use.us);
      }
    return std::exchange(placed_[i], {});
  }
  void restore(int i, const Placement& placement) {
    for (const Placed& each : placement)
      for (std::size_t u = 0; u < each.starts.size(); ++u) {
        const ChunkMachine::Use& use = machine_.uses[each.send.link][u];
        lines_[use.resource].take(each.starts[u], use.us);
      }
    placed_[i] = placement;
  }

  struct Reached {
    double us = kLate;
    LinkId by = -1;
    bool is_placed = false;
  };

  // Each of its resources carries it in the first gap that is long enough.
  double there_us(LinkId l, double ready_us) const {
    double left = 0;
    for (const auto& [resource, us] : machine_.uses[l])
      left = std::max(left, lines_[resource].first_gap(ready_us, us) + us);
    return left + machine_.links[l].alpha_us;
  }

  double place(int i, LinkId l, double ready_us) {
    Placed placed{
        .send = {.chunk = copied_[i].chunk, .link = l, .begin_us = kLate, .there_us = there_us(l, ready_us)}};
    for (const auto& [resource, us] : machine_.uses[l]) {
      placed.starts.push_back(lines_[resource].first_gap(ready_us, us));
      lines_[resource].take(placed.starts.back(), us);
      placed.send.begin_us = std::min(placed.send.begin_us, placed.starts.back());
    }
    placed_[i].push_back(placed);
    return placed.send.there_us;
  }
  void place_path(int i, Rank to, std::vector<Reached>& reached) {
    std::vector<Rank> path;
    for (Rank n = to; !reached[n].is_placed; n = machine_.links[reached[n].by].src) path.push_back(n);
    for (auto n = path.rbegin(); n != path.rend(); ++n) {
      const LinkId l = reached[*n].by;
      reached[*n].us = place(i, l, reached[machine_.links[l].src].us);
      reached[*n].is_placed = true;
    }
  }

  const ChunkMachine& machine_;
  const std::vector<Copied>& copied_;
  long long& work_;
  std::vector<Timeline> lines_ = {};    // by resource
  std::vector<Placement> placed_ = {};  // by chunk
};

// Steps of a plan: the fewest such that a send comes after what brings its data, and that each resource
// carries its sends in the order of the plan. It carries those of one step as their data come (ir/
// event_times.h), so a send may be in the step of the one before it on a resource if its data come later.
Schedule steps_of(const Topology& topology, const ChunkMachine& machine, const EventPlan& plan) {
  struct Data {
    double us = 0;
    int step = -1;
  };
  struct Served {
    int step = -1;
    std::tuple<double, Chunk, LinkId> order = {};
    double free_us = 0;
  };
  Chunk most = -1;
  for (const PlannedSend& send : plan) most = std::max(most, send.chunk);
  std::vector<Data> data(static_cast<std::size_t>(most + 1) * topology.ranks);
  std::vector<Served> served(machine.resources);
  Schedule schedule;
  for (const PlannedSend& send : plan) {
    const Link& link = machine.links[send.link];
    const std::size_t row = static_cast<std::size_t>(send.chunk) * topology.ranks;
    const Data from = data[row + link.src];
    const std::tuple order(from.us, send.chunk, send.link);
    int step = from.step + 1;
    double left = 0;
    for (const auto& [resource, us] : machine.uses[send.link]) {
      Served& at = served[resource];
      step = std::max(step, at.order <= order ? at.step : at.step + 1);
      at.free_us = std::max(at.free_us, from.us) + us;
      left = std::max(left, at.free_us);
    }
    for (const auto& [resource, us] : machine.uses[send.link]) {
      served[resource].step = step;
      served[resource].order = order;
    }
    Data& to = data[row + link.dst];
    to.us = std::max(to.us, left + link.alpha_us);
    to.step = std::max(to.step, step);
    if (step >= std::ssize(schedule.steps)) schedule.steps.resize(step + 1);
    schedule.steps[step].sends.push_back({.chunk = send.chunk, .link = send.link, .reduce = send.reduce});
  }
  for (Step& step : schedule.steps) {
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology, step);
  }
  return schedule;
}

// The last of what a plan brings comes first: copies of the reversed machine as sums of the machine.
EventPlan reversed_plan(EventPlan plan) {
  std::ranges::reverse(plan);
  std::ranges::stable_sort(plan, std::ranges::greater(), &PlannedSend::there_us);
  const double end = plan.empty() ? 0 : plan.front().there_us;
  for (PlannedSend& send : plan) {
    const double begin = end - send.there_us;
    send.there_us = end - send.begin_us;
    send.begin_us = begin;
    send.reduce = true;
  }
  return plan;
}

class EventSearch {
 public:
  explicit EventSearch(const EventQuestion& question)
      : question_(question), mirror_(reversed(question.topology)), work_(question.work) {}

  // Chunk counts by factors of four, each once, until two bring nothing; then with restarts the best one and
  // those beside it.
  std::optional<Point> run() {
    const int most = std::min(question_.max_chunks, kMaxEventChunks);
    int best = question_.min_chunks, worse = 0;
    double before = kLate;
    for (int chunks = best; chunks <= most && worse < 2 && !stopped(); chunks *= 4) {
      const double us = search(chunks, 1);
      const bool is_better = us < kWorthwhile * before;
      worse = is_better ? 0 : worse + 1;
      if (!is_better) continue;
      before = us;
      best = chunks;
    }
    for (const int chunks : {best, best * 2, best / 2})
      if (chunks >= question_.min_chunks && chunks <= most) search(chunks, kRestarts);
    if (least_ < kLate) search(best_chunks_, kRestarts + kImproved, kRestarts);
    return verified_best();
  }

 private:
  static constexpr int kMaxEventChunks = 256;
  static constexpr unsigned kRestarts = 8, kImproved = 2;  // plans that are improved besides
  static constexpr int kPartOfImproving = 16;              // of the work, for each of these
  static constexpr long long kWorkPerTimedSend = 4;        // offers that take as long
  static constexpr double kWorthwhile = 0.99;              // of the time: more chunks have to bring that

  bool stopped() const { return work_ <= 0 || (question_.stop != nullptr && *question_.stop); }

  // Returns the least time of a schedule of so many chunks per block, with the restarts from `from` on.
  double search(int chunks, unsigned end, unsigned from = 0) {
    const auto [at, is_new] = tried_.try_emplace(chunks, kLate);
    unsigned first = std::max(from, is_new ? 0U : 1U);
    const double entries = 1.0 * chunks * static_cast<double>(question_.one.chunks.size()) * mirror_.ranks;
    if (first >= end || entries > static_cast<double>(question_.work)) return at->second;
    const Collective whole = with_chunks(question_.one, chunks);
    const double chunk_bytes = question_.block_bytes / chunks;
    const ChunkMachine machine(question_.topology, chunk_bytes), mirror(mirror_, chunk_bytes);
    for (; first < end && !stopped(); ++first) {
      const std::optional<EventPlan> plan = plan_of(whole, machine, mirror, first);
      if (!plan) break;
      at->second = std::min(at->second, take(steps_of(question_.topology, machine, *plan), chunks));
      work_ -= kWorkPerTimedSend * std::ssize(*plan);
    }
    return at->second;
  }

  std::optional<EventPlan> plan_of(const Collective& whole, const ChunkMachine& machine,
                                   const ChunkMachine& mirror, unsigned restart) {
    if (!whole.combining) return copies(machine, demands(whole), restart);
    std::vector<Copied> gathered, spread;
    for (Chunk c = 0; c < std::ssize(whole.chunks); ++c) {
      const ChunkSpec& spec = whole.chunks[c];
      if (spec.post.empty()) continue;
      const Rank root = spec.post[(c + restart / kTastes) % spec.post.size()];
      gathered.push_back({.chunk = c, .from = {root}, .to = spec.pre});
      if (spec.post.size() > 1) spread.push_back({.chunk = c, .from = {root}, .to = spec.post});
    }
    std::optional<EventPlan> sums = copies(mirror, gathered, restart);
    if (!sums) return {};
    EventPlan plan = reversed_plan(*std::move(sums));
    take_complete(whole, plan, spread);
    const std::optional<EventPlan> rest = copies(machine, spread, restart);
    if (!rest) return {};
    plan.insert(plan.end(), rest->begin(), rest->end());
    std::ranges::stable_sort(plan, {}, &PlannedSend::begin_us);
    return plan;
  }

  // A rank that a whole sum passes on its path to the root has it, too, and needs no copy.
  void take_complete(const Collective& whole, const EventPlan& sums, std::vector<Copied>& spread) const {
    const auto ranks = static_cast<std::size_t>(question_.topology.ranks);
    std::vector<std::size_t> added(whole.chunks.size() * ranks);
    std::vector<double> there_us(whole.chunks.size());
    for (std::size_t c = 0; c < whole.chunks.size(); ++c)
      for (const Rank n : whole.chunks[c].pre) added[c * ranks + n] = 1;
    for (const PlannedSend& send : sums) {
      const Link& link = question_.topology.links[send.link];
      added[send.chunk * ranks + link.dst] += added[send.chunk * ranks + link.src];
      there_us[send.chunk] = std::max(there_us[send.chunk], send.there_us);
    }
    for (Copied& each : spread) {
      std::vector<Rank> complete;
      for (Rank n = 0; n < question_.topology.ranks; ++n)
        if (added[each.chunk * ranks + n] == whole.chunks[each.chunk].pre.size()) complete.push_back(n);
      each.from = RankSet(complete);
      each.since_us = there_us[each.chunk];
    }
    std::erase_if(spread, [](const Copied& each) { return std::ranges::includes(each.from, each.to); });
  }

  static std::vector<Copied> demands(const Collective& whole) {
    std::vector<Copied> all;
    for (Chunk c = 0; c < std::ssize(whole.chunks); ++c)
      if (!std::ranges::includes(whole.chunks[c].pre, whole.chunks[c].post))
        all.push_back({.chunk = c, .from = whole.chunks[c].pre, .to = whole.chunks[c].post});
    return all;
  }

  static constexpr unsigned kTastes = 4;
  Taste taste_of(const ChunkMachine& machine, unsigned restart) const {
    double us = 0;
    for (const auto& uses : machine.uses)
      for (const auto& use : uses) us = std::max(us, use.us);
    static constexpr double kNoise[kTastes] = {0, 0.2, 0, 1}, kCommon[kTastes] = {0, 0, 1, 0.3};
    return {.noise_us = us * kNoise[restart % kTastes],
            .common_us = us * kCommon[restart % kTastes],
            .seed = restart};
  }

  std::optional<EventPlan> copies(const ChunkMachine& machine, const std::vector<Copied>& copied,
                                  unsigned restart) {
    const bool for_all = std::ranges::all_of(copied, [&](const Copied& each) {
      const auto more = std::ranges::count_if(each.to, [&](Rank n) { return !each.from.contains(n); });
      return static_cast<int>(each.from.size()) + more == machine.ranks;
    });
    GapPlan gaps(machine, copied, work_);
    if (for_all) {
      std::optional<EventPlan> plan =
          EarliestFirst(machine, copied, taste_of(machine, restart % kRestarts), work_).run();
      if (!plan || restart < kRestarts) return plan;
      gaps.insert(*plan);
      std::mt19937 random(restart);
      gaps.improve(random, work_ - question_.work / kPartOfImproving);
      return gaps.plan();
    }
    std::vector<int> order(copied.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(restart);
    for (int i = static_cast<int>(order.size()); i > 1; --i)
      std::swap(order[i - 1], order[random() % static_cast<unsigned>(i)]);
    for (const int i : order)
      if (stopped() || !gaps.insert(i)) return {};
    if (restart >= kRestarts) gaps.improve(random, work_ - question_.work / kPartOfImproving);
    return gaps.plan();
  }
  double take(Schedule schedule, int chunks) {
    const double us = question_.us(schedule, chunks);
    if (us >= least_) return us;
    least_ = us;
    best_ = std::move(schedule);
    best_chunks_ = chunks;
    return us;
  }

  // Trees may add in another order than is asked for; nothing else may be wrong.
  std::optional<Point> verified_best() {
    if (least_ == kLate) return {};
    Point point{.cost = cost_of(best_, best_chunks_),
                .construction = "events",
                .collective = with_chunks(question_.one, best_chunks_),
                .schedule = std::move(best_)};
    const std::vector<Fault> faults = violations(question_.topology, point.collective, point.schedule, 1);
    if (faults.empty()) return point;
    if (faults.front().kind != Fault::Kind::Order) throw std::logic_error("events: " + faults.front().words);
    return {};
  }

  const EventQuestion& question_;
  const Topology mirror_;
  long long work_;
  double least_ = kLate;
  Schedule best_ = {};
  int best_chunks_ = 1;
  std::map<int, double> tried_ = {};  // the least time, by chunks per block
};

}  // namespace

std::optional<Point> event_schedule(const EventQuestion& question) {
  return EventSearch(question).run();
}

}  // namespace chorale
