// The recipe: fractional packing -> whole chunks -> steps, in levels of growing effort. A level goes on where
// the one before ended: its fractions are nearer to the optimum, its chunk counts are larger. Each schedule
// is kept only if it is better by more than a trifle, so that a frontier stays readable.
#include "construct/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "construct/composition.h"
#include "construct/engine/jobs.h"
#include "construct/engine/network.h"
#include "construct/engine/order.h"
#include "construct/engine/packer.h"
#include "construct/engine/packing.h"
#include "construct/engine/solved_question.h"
#include "construct/engine/work_budget.h"
#include "construct/incumbents.h"
#include "construct/more_steps.h"
#include "ir/undominated.h"
#include "semantics/verify.h"

namespace chorale {
namespace {

constexpr double kBoundTolerance = 0.002;  // over the bound: nothing is left to be found
constexpr double kMaxSendsComposed = 1e5;  // sends: composing examines each of them tens of times
// Chunks of what all want, for few steps: as many as ranks where each adds up a part, and of a copy about.
constexpr int kChunksOfFewSteps = 32;
constexpr double kMaxSendsFewSteps = 2e4;
constexpr long long kWorkFactorOfFewSteps = 4;  // of the level's: 5 % over what six times as much finds
constexpr double kHopedPartOfFractions =
    0.99;  // of the rounds of fractions: these are not the best that there are
constexpr double kMaxRoundsRatioRepeated =
    1.5;                                // times the rounds of fractions: a packing that is not repeated
constexpr double kMinRateGain = 0.002;  // a rate that is better by less does not justify one more point
// Nor is one that leaves more than this part of what another of fewer steps is over the bound.
constexpr double kMaxGapRatio = 0.85;
constexpr int kMaxChunksSmall = 16;            // trifles count
constexpr std::size_t kMaxSendsSmall = 5'000;  // sends
constexpr int kMaxChunksPerBlock = 1 << 14;
constexpr long long kWorkPerSend = 100;  // work for each send
constexpr long long kWorkPerCopiedSend = 8;
constexpr int kMaxSteps = 4000;
constexpr long long kFirstLevelWork = 4'000'000;
constexpr int kWorkFactorPerLevel = 6;  // times, from level to level
// Of the first level, about: fewer leave a packing of a thousand classes far from its optimum.
constexpr long long kSweepsOfFirstLevel = 30;
constexpr double kMaxSendsQuick = 1e6;      // of what is made for its few steps
constexpr double kMaxSendsInNetwork = 2e5;  // each is examined for a dozen numbers of waves
constexpr long long kMaxChunksOfWave = 256;
constexpr double kMaxSendsRegular = 5e6, kMaxSendsDisjoint = 2.5e6;
constexpr int kMaxCopiesOfUnion = 128;
constexpr long long kDisjointWork = 100'000'000;
constexpr double kSendsFactorOfOneClass = 2;  // times the sends
// And times the chunks, which are all the trees that there are, at the first levels: 76 trees drawn from
// 2,000 fractions take 10 % more rounds than these, 181 take 6 %. Later more are slower to repeat.
constexpr int kChunksFactorOfOneClass = 2;

// Chunks per block up to which a level packs, and how much of the rounds may be left unused: with some slack
// few chunks fit at once.
struct Count {
  int most = 1;
  double slack = 0;
};
constexpr int kMaxChunksPackedSingly = 32, kLastLevelPackedSingly = 1;  // chunks, level
constexpr int kQuickLevelCount = 2;
constexpr int kLevelOfFewSteps = 1;
constexpr int kFirstLevelWithoutWaiting =
    3;  // the first level at which exact constructions wait for no packing
struct Level {
  std::vector<int> exact = {}, times = {};  // counts of what is exact, the latter times those of the bound
  double most_exact = 0;                    // sends of it
  std::vector<int> composed = {}, times_composed = {};  // counts of what is composed of groups, likewise
  double most_sends = 3e5;                              // of what is packed
  int small = 0;                                        // counts that are packed, from 1 on
  std::vector<Count> good = {};
};
const std::vector<Level>& levels() {
  static const std::vector<Level> all = {
      {.small = 2, .good = {{6, 0}, {16, 0.04}}},
      {.times = {1}, .most_exact = 2e4, .small = 4, .good = {{12, 0}, {32, 0.02}, {96, 0.012}}},
      {.exact = {4},
       .times = {2, 4},
       .most_exact = 4e4,
       .most_sends = 6e5,
       .small = 8,
       .good = {{16, 0}, {32, 0}, {128, 0.008}, {384, 0.006}}},
      {.exact = {8, 16},
       .times = {8},
       .most_exact = 1e5,
       .composed = {1, 2, 4},
       .times_composed = {1},
       .most_sends = 1.2e6,
       .good = {{96, 0.004}, {512, 0.004}, {1024, 0.003}}},
      {.exact = {32, 64},
       .times = {16},
       .most_exact = 3e5,
       .composed = {8, 16},
       .times_composed = {2, 4},
       .most_sends = 1.2e6,
       .good = {{192, 0.002}, {1024, 0.002}, {4096, 0.002}}}};
  return all;
}

bool is_fixed(const Collective& collective) {
  return collective.combining && collective.order.kind == SumOrder::Kind::Fixed;
}

}  // namespace

class Construction::Engine {
 public:
  explicit Engine(const EngineQuestion& question)
      : question_(question),
        solved_(question.topology, question.one),
        one_(solved_.collective),
        each_(each_class(solved_.topology, one_)),
        symmetric_(up_to_symmetry(each_)) {
    if (!symmetric_ || symmetric_->classes.unit > 1) packers_.emplace_back(each_, one_.combining);
    if (symmetric_) packers_.emplace_back(*symmetric_, one_.combining);
    for (const ChunkClass& chunks : classes())
      sends_ += static_cast<double>(chunks.count()) *
                (static_cast<double>(chunks.post.size()) +
                 (one_.combining ? static_cast<double>(chunks.pre.size()) : 0));
    know(question.bound);
    if (classes().empty() || !starts_somewhere(question.one)) return;
    // What less effort than a level has could not do, on so large a machine.
    for (; budget_ < kSweepsOfFirstLevel * packers_.back().sweep() / 2; budget_ *= kWorkFactorPerLevel)
      ++first_level_;
    level_ = first_level_;
    first_budget_ = budget_;
    const int least = question.min_chunks;
    // Where one class stands for many, packing is quicker.
    const bool many = packers_.back().commodities().network.order() > 1 && !is_fixed(one_);
    std::vector<Attempt>& quick = is_large() && many ? late_ : attempts_;
    quick.push_back({.how = How::Quick, .chunks = least});
    add_composed_quickly();
    if (least + 1 <= most_asked(kMaxChunksPerBlock) && (least + 1) * sends_ <= kMaxSendsQuick)
      quick.push_back({.how = How::Quick, .chunks = least + 1});
    // Before constructions that examine each send, where that takes long; after the baselines.
    attempts_.insert(is_large() ? attempts_.begin() : attempts_.end(),
                     {.how = How::Regular, .chunks = least});
  }

  // The first bound, if levels have begun before it, changes what low trees aim at, so levels begin again;
  // attempts whose key is as before are skipped. A weaker bound than the known one changes nothing.
  void know(const Rate& bound) {
    const double rate = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
    if (rate <= bound_) return;
    if (bound_ == 0 && begun_) {  // low trees may come near to it; what stays as it was is not done again
      begun_ = false;
      level_ = first_level_;
      budget_ = first_budget_;
      next_ = attempts_.size();
      for (Packer& each : packers_) each.forget();
    }
    bound_ = rate;
    question_.bound = bound;
  }

  void know_found(double rate) { found_rate_ = std::min(found_rate_, rate); }

  std::optional<Prices> take_prices() { return packers_.back().take_prices(); }

  void allow(long long work, bool more_later) {
    question_.work = work;
    more_later_ = more_later;
  }

  // Skips attempts that would repeat one, or that cannot beat what was found elsewhere; where all are done
  // the next level begins.
  bool advance(const std::function<void(Point)>& found) {
    do {
      while (next_ < attempts_.size() &&
             (is_beaten(attempts_[next_]) || !done_.insert(key(attempts_[next_])).second))
        ++next_;
    } while (next_ == attempts_.size() && !stopped() && begin_level());
    if (stopped() || next_ == attempts_.size()) return false;
    found_ = &found;
    run(attempts_[next_++]);
    return true;
  }

 private:
  enum class How {
    Quick,
    Regular,
    InNetwork,
    Disjoint,
    United,
    Packed,
    FewSteps,
    Exact,
    ComposedQuickly,
    Composed
  };
  // One construction of one chunk count: the unit of advance().
  struct Attempt {
    How how = How::Quick;
    int chunks = 1;
    double slack = 0;
    int packer = 0;
  };

  // All that the outcome of an attempt depends on. Fractions are represented by their rounds and their price
  // of depth. With more work (a later level) the same count may be packed better, and is packed again.
  using Key = std::tuple<How, int, int, long long, double, double, long long>;
  Key key(const Attempt& attempt) const {
    if (attempt.how == How::FewSteps) return {attempt.how, attempt.chunks, 0, 0, 0, 0, budget_};
    if (attempt.how != How::Packed) return {attempt.how, attempt.chunks, 0, 0, 0, 0, 0};
    const Packer& packer = packers_[attempt.packer];
    return {attempt.how,     attempt.chunks, attempt.packer, fewest_rounds(attempt.chunks, attempt.slack),
            packer.rounds(), packer.hop(),   budget_};
  }

  // The first levels take little time, and some of their packings have few steps.
  bool is_beaten(const Attempt& attempt) const {
    return level_ >= kQuickLevelCount && attempt.how == How::Packed &&
           attempt.chunks > question_.min_chunks + level().small &&
           static_cast<double>(fewest_rounds(attempt.chunks, attempt.slack)) >= found_rate_ * attempt.chunks;
  }

  bool is_large() const { return sends_ * packers_.back().unit() > kMaxSendsQuick / 20; }
  const std::vector<ChunkClass>& classes() const { return each_.classes.representatives; }
  bool is_one_class() const { return classes().size() == 1; }

  bool stopped() const { return question_.stop != nullptr && *question_.stop; }
  int most_steps() const { return std::min(kMaxSteps, question_.max_steps); }
  // Rounds per chunk of the nearest fractions; 0: there are none.
  double fraction() const {
    double least = 0;
    for (const Packer& each : packers_)
      if (each.rounds() > 0) least = least > 0 ? std::min(least, each.rounds()) : each.rounds();
    return least;
  }
  // Rounds per chunk that may be hoped for: the bound, or, if that is more, a little less than fractions
  // have.
  double rate() const { return std::max(bound_, kHopedPartOfFractions * fraction()); }
  bool met() const { return bound_ > 0 && best_rate_ <= bound_ * (1 + kBoundTolerance); }

  // The fewest rounds that `chunks` chunks per block may fit into.
  long long fewest_rounds(int chunks, double slack) const {
    const Rate& bound = question_.bound;
    const long long least = bound.rounds > 0 ? (chunks * bound.rounds + bound.chunks - 1) / bound.chunks : 1;
    return std::max(least, static_cast<long long>(std::ceil(rate() * chunks * (1 + slack) - 1e-6)));
  }

  // Of the multiples of the unit up to `most`, or the unit, the least that whole rounds serve best. With 5/3
  // rounds per chunk, 3 chunks take 5 rounds and lose nothing, 4 take 7 and lose 5 %. A count that is more
  // than twice the best so far is taken unless it loses 0.002 more.
  int good_chunks(const Count& count, const Level& level, int unit) const {
    int best = unit;
    double lost = std::numeric_limits<double>::infinity();
    for (int c = unit; c <= std::min(count.most, most_of_all(level)); c += unit) {
      const double rounded = static_cast<double>(fewest_rounds(c, count.slack)) / (c * rate());
      if (rounded >= lost - 1e-9 && !(c > 2 * best && rounded < lost + 0.002)) continue;
      lost = std::min(lost, rounded);
      best = c;
    }
    return best;
  }

  // Those of a level are the same whatever is asked for, so that a larger space has all of a smaller one.
  // Where symmetries make many chunks of one, few are packed each by itself.
  std::map<int, double> counts(const Level& level, const Packer& packer) const {
    const int unit = packer.unit();
    const bool few = &packer != &packers_.back();
    std::map<int, double> slack_of;
    for (const Count& count : level.good) slack_of.try_emplace(good_chunks(count, level, unit), count.slack);
    if (is_one_class() && &level < &levels()[kQuickLevelCount]) {
      const Count& most = level.good.back();
      slack_of.try_emplace(good_chunks({kChunksFactorOfOneClass * most.most, most.slack}, level, unit),
                           most.slack);
    }
    if (few) std::erase_if(slack_of, [&](const auto& count) { return count.first > most_by_themselves(); });
    for (int c = 0; c < level.small; ++c)
      slack_of.try_emplace(unit > 1 ? unit * (c + 1) : question_.min_chunks + c, 0.0);
    std::erase_if(slack_of, [&](const auto& count) {
      return count.first > most_chunks(level) || count.first < (unit > 1 ? question_.min_chunks : 0);
    });
    if (slack_of.empty() && level_ == first_level_ && unit == 1)
      slack_of.try_emplace(most_chunks(level), 0.0);
    return slack_of;
  }
  int most_by_themselves() const {
    const int unit = packers_.back().unit();
    if (is_large() && most_asked(kMaxChunksPerBlock) >= unit) return level().small;
    return most_asked(kMaxChunksPerBlock) < unit ? kMaxChunksPerBlock
                                                 : std::max(kMaxChunksPackedSingly, unit);
  }

  // A level's schedules have no more sends than so. What has one root has the time of its trees to make up
  // for.
  int most_of_all(const Level& level) const {
    return fitting(level.most_sends * (is_one_class() ? kSendsFactorOfOneClass : 1));
  }
  int most_chunks(const Level& level) const { return most_asked(most_of_all(level)); }
  // The most chunks that have at most `sends` sends in all; at least 1.
  int fitting(double sends) const {
    return std::clamp(static_cast<int>(sends / std::max(1.0, sends_)), 1, kMaxChunksPerBlock);
  }
  int most_asked(int chunks) const {
    return question_.max_chunks > 0 ? std::min(question_.max_chunks, chunks) : chunks;
  }

  // False where there is none left.
  // A level's attempts in order: tree unions; packings of many chunks, the largest first, for the rate; few
  // chunks, for few steps; what waited for this level; exact and composed constructions, which wait for the
  // next level as long as packing more comes first.
  bool begin_level() {
    if (classes().empty() || attempts_.empty() || is_fixed(one_)) return false;
    const long long budget = begun_ ? budget_ * kWorkFactorPerLevel : budget_;
    const int next = begun_ ? level_ + 1 : level_;
    if (next >= std::ssize(levels()) || budget > question_.work) return !more_later_ && begin_late();
    budget_ = budget;
    level_ = next;
    begun_ = true;
    // The first levels also search for fewer steps, where a smaller space would. With its additional chunks
    // one class meets the bound before them: a group of 3 in a tree then took 1.27 times the rounds in 10
    // steps.
    const int first_levels = kQuickLevelCount + (is_one_class() ? kChunksFactorOfOneClass : 0);
    if (met() && (level_ >= first_levels || is_large())) return begin_late();
    const std::vector<Attempt> late = std::exchange(late_, {});
    attempts_.clear();
    next_ = 0;
    if (level_ == first_level_) {
      add(How::Regular, {}, {1}, kMaxSendsRegular);
      if (!one_.combining && is_one_class() && bound_ > 0) add(How::Disjoint, {}, {1}, kMaxSendsRegular);
    }
    for (Packer& each : packers_)
      if (!each.is_settled() &&
          (&each == &packers_.back() || level_ <= std::max(first_level_, kLastLevelPackedSingly)))
        each.improve(bound_, level_ == first_level_, budget_, question_.stop);
    for (int i = 0; i < std::ssize(packers_); ++i)
      if (packers_[i].has_trees())  // with more effort, perhaps
        for (const auto& [chunks, slack] : counts(level(), packers_[i]))
          attempts_.push_back({.how = How::Packed, .chunks = chunks, .slack = slack, .packer = i});
    // Many chunks give the rate; the largest number goes first, and fewer are put into steps only where that
    // pays. Few chunks give few steps.
    const auto few = std::ranges::stable_partition(
        attempts_, [&](const Attempt& a) { return a.chunks > question_.min_chunks + level().small; });
    std::ranges::reverse(attempts_.begin(), few.begin());
    attempts_.insert(attempts_.end(), late.begin(), late.end());
    add_waves();
    // As fine as the bound asks for: what packing takes many seconds to come near to on a large mesh.
    if (one_.kind == CollectiveKind::AllReduce) {
      const std::ptrdiff_t others = std::ssize(attempts_);
      add(How::United, {}, level().times, level().most_exact);
      std::ranges::rotate(attempts_, attempts_.begin() + others);
    }
    const bool is_late = level_ == std::max(first_level_, kLevelOfFewSteps);
    if (is_one_class() && (level_ == first_level_ || is_late)) {
      const int divided = std::max(one_.combining ? one_.ranks : kChunksOfFewSteps, question_.min_chunks);
      if (divided <= most_asked(kMaxChunksPerBlock) && divided * sends_ <= kMaxSendsFewSteps)
        attempts_.push_back({.how = How::FewSteps, .chunks = divided});
    }
    if (is_late) {
      add(How::Exact, {1, 2}, {}, kMaxSendsFewSteps);
      add(How::Composed, counts_of_ranks({1, 2, 4}), {}, kMaxSendsComposed);
    }
    const std::size_t packed = attempts_.size();
    add(How::Exact, level().exact, level().times, level().most_exact);
    add(How::Composed, level().composed, level().times_composed, kMaxSendsComposed);
    if (!packers_.back().is_settled() && level_ < kFirstLevelWithoutWaiting) {  // packing more comes first
      late_.assign(attempts_.begin() + static_cast<std::ptrdiff_t>(packed), attempts_.end());
      attempts_.resize(packed);
    }
    if (attempts_.empty()) attempts_.push_back({.how = How::Quick, .chunks = 1});
    return true;
  }

  // What waited for more packing, where there is none.
  bool begin_late() {
    if (late_.empty()) return false;
    attempts_ = std::exchange(late_, {});
    next_ = 0;
    return true;
  }

  // An AllReduce or Broadcast in switches (construct/in_network.h) needs equally many chunks of each owner in
  // each wave, and nearly whole rounds at the bound's rate; more waves leave less of the first and the last
  // ones, in which not all directions are used. It comes before packings, since it takes less time.
  void add_waves() {
    if ((one_.kind != CollectiveKind::AllReduce && one_.kind != CollectiveKind::Broadcast) ||
        !abilities_of(question_.topology).any())
      return;
    const long long exact = std::lcm<long long>(one_.ranks, std::max(1LL, question_.bound.chunks));
    const long long wave =
        exact <= kMaxChunksOfWave ? exact : (kMaxChunksOfWave + one_.ranks - 1) / one_.ranks * one_.ranks;
    const std::ptrdiff_t others = std::ssize(attempts_);
    add(How::InNetwork, {2 * one_.ranks, static_cast<int>(wave) << (2 * (level_ - first_level_ + 1))}, {},
        kMaxSendsInNetwork);
    std::ranges::rotate(attempts_, attempts_.begin() + others);
  }

  // Compositions of few steps divide what all want by the ranks, of which each then has a part.
  void add_composed_quickly() {
    for (const int chunks : counts_of_ranks({1}))
      if (chunks <= most_asked(kMaxChunksPerBlock) && chunks * sends_ <= kMaxSendsComposed)
        attempts_.push_back({.how = How::ComposedQuickly, .chunks = chunks});
  }

  // So many chunks for each rank, and, of what one rank has, for each other.
  std::vector<int> counts_of_ranks(const std::vector<int>& times) const {
    if (!is_one_class()) return {question_.min_chunks};
    std::vector<int> counts;
    for (const int factor : times) {
      counts.push_back(factor * one_.ranks);
      if (is_rooted(one_.kind)) counts.push_back(factor * (one_.ranks - 1));
    }
    std::erase_if(counts, [&](int chunks) { return chunks < question_.min_chunks; });
    return counts;
  }

  // Counts as they are, and multiples of the bound's own count, at which the bound has whole rounds.
  void add(How how, const std::vector<int>& counts, const std::vector<int>& times, double most_sends) {
    std::set<int> all(counts.begin(), counts.end());
    if (!all.empty()) all.insert(question_.min_chunks);
    for (const int factor : times)
      all.insert(static_cast<int>(std::min<long long>(factor * question_.bound.chunks, kMaxChunksPerBlock)));
    const int most = how == How::Regular ? most_asked(kMaxChunksPerBlock) : most_chunks(level());
    for (const int chunks : all)
      if (chunks >= 1 && chunks <= most && chunks * sends_ <= most_sends)
        attempts_.push_back({.how = how, .chunks = chunks});
  }

  const Level& level() const { return levels()[level_]; }

  // By How: the generator of attempts that have one alone.
  static constexpr const char* kGenerators[] = {"",
                                                "",
                                                "in_network",
                                                "disjoint_trees",
                                                "tree_union",
                                                "packing",
                                                "timed_packing",
                                                "",
                                                "composition",
                                                "composition"};

  void run(const Attempt& attempt) {
    const std::string generator = kGenerators[static_cast<int>(attempt.how)];
    if (!generator.empty() && question_.without == generator) return;
    const Collective whole = with_chunks(question_.one, attempt.chunks);
    const auto& [topology, stop, extra, without] =
        std::tie(question_.topology, question_.stop, question_.extra_rounds, question_.without);
    switch (attempt.how) {
      case How::Quick:
        return take(incumbents(topology, whole, stop, extra, without));
      case How::Regular: {
        std::vector<Point> points = regular_incumbents(topology, whole, stop, extra, without);
        if (is_large() && !points.empty()) {  // in the fewest steps: the quick ones would look at each send
          next_ = attempts_.size();
          done_.insert(key({.how = How::Quick, .chunks = attempt.chunks}));
        }
        return take(std::move(points));
      }
      case How::InNetwork:
        return take(switch_incumbents(topology, whole, stop, extra));
      case How::Disjoint:
      case How::United:
        return pack_by(generator_named(generator), attempt.chunks);
      case How::Packed:
        return pack(packers_[attempt.packer], attempt.chunks, attempt.slack);
      case How::FewSteps:
        return take(grown_incumbents(topology, whole, stop, extra, without, kWorkFactorOfFewSteps * budget_));
      case How::Exact:
        take(incumbents(topology, whole, stop, extra, without));
        take(grown_incumbents(topology, whole, stop, extra, without));
        return run({.how = How::United, .chunks = attempt.chunks});
      case How::ComposedQuickly:
      case How::Composed:
        return take(composed(whole, attempt.how == How::ComposedQuickly), question_.is_timed);
    }
  }

  std::vector<Point> composed(const Collective& whole, bool quick) const {
    std::vector<Point> points;
    for (ComposedPoint& each : compose_on({.topology = question_.topology,
                               .collective = whole,
                               .extra_rounds = question_.extra_rounds,
                               .stop = question_.stop,
                               .quick = quick,
                               .without = question_.without},
                                          nestings_))
      points.push_back(std::move(each.point));
    return points;
  }

  // Each chunk count once a level: different counts may be made of the same trees. With the work of the next
  // level they have more in few steps: AllReduce of torus:4x4 without a link, in up to 600 steps 0.6 % over
  // its bound, and 1.6 % by the first level alone. Trees are high where they fill all links; so many copies
  // make up for the rounds that they take to fill.
  void pack_by(const Generator& generator, int chunks) {
    const bool sums = generator.needs == Needs::Sums;
    if (stopped() || (sums && one_.kind != CollectiveKind::AllReduce)) return;
    WorkBudget effort(kDisjointWork, question_.stop);
    const std::optional<ChunkPacking> packing =
        generator.pack({.network = each_.network,
                        .classes = classes(),
                        .chunks = chunks,
                        .rounds = std::llround(std::ceil(bound_ * chunks - 1e-6)),
                        .effort = effort});
    if (!packing || !packed_.insert({generator.name, packing->chunks, level_}).second) return;
    const int most = fitting(kMaxSendsDisjoint), copies = kMaxCopiesOfUnion * packing->chunks;
    put_in_steps(each_, *packing, generator.name,
                 std::max(most_chunks(level()), most_asked(sums ? std::min(most, copies) : most)));
  }

  void pack(const Packer& packer, int chunks, double slack) {
    WorkBudget whole(budget_ / 8, question_.stop);
    const ChunkPacking packing = packer.round(chunks, fewest_rounds(chunks, slack), whole);
    if (!stopped()) put_in_steps(packer.commodities(), packing, "packing", most_chunks(level()));
  }

  // Two ways into steps: the packing once, in steps of several widths (order.h), and repeated as a pipeline
  // (order.h), unless its rounds are far from those of fractions, which more chunks then come nearer to.
  void put_in_steps(const Commodities& of, const ChunkPacking& packing, const char* construction, int most) {
    const int chunks = packing.chunks * of.classes.unit;
    const Jobs jobs(of.network, of.classes, packing);
    const int most_steps = this->most_steps();
    const auto keep = [&](int copies, const StepAssignment& plan) {
      this->keep(construction, jobs, chunks * copies, copies, plan);
    };
    // Large packings are few, and each is worth being put into steps.
    WorkBudget ordering(budget_ / 12 + kWorkPerSend * jobs.count(), question_.stop);
    order(jobs, 1, most_steps, ordering, keep);
    if (static_cast<double>(needed_rounds(of.network, packing)) >
        kMaxRoundsRatioRepeated * fraction() * chunks)
      return;
    if (is_large() && most < 2 * chunks) return;
    WorkBudget repeating(
        budget_ / 6 + kWorkPerSend * jobs.count() + kWorkPerCopiedSend * jobs.count() * (most / chunks),
        question_.stop);
    const auto worth = [&](int copies, int steps, double total) {
      return is_better(steps, total / (chunks * copies), is_large(chunks * copies, sends_of(jobs) * copies));
    };
    pipeline(jobs, needed_rounds(of.network, packing), most / chunks, most_steps, 1 + kBoundTolerance,
             repeating, worth, keep);
  }

  struct KeptCost {
    int steps = 0;
    double rate = 0;
  };

  static bool is_large(int chunks, std::size_t sends) {
    return chunks > kMaxChunksSmall || sends > kMaxSendsSmall;
  }

  static std::size_t sends_of(const Jobs& jobs) {
    return static_cast<std::size_t>(jobs.count()) * jobs.network().order();
  }

  // Is it better than what there is, and, if it is large, by more than a trifle? To meet the bound is none.
  bool is_better(int steps, double rate, bool large) const {
    return std::ranges::none_of(kept_, [&](const KeptCost& other) {
      if (other.steps > steps) return false;
      const bool meets = rate <= bound_ * (1 + 1e-12);
      if (!large || meets || other.steps == steps) return other.rate <= rate * (1 + 1e-12);
      return other.rate <= rate * (1 + kMinRateGain) || over(rate) > kMaxGapRatio * over(other.rate);
    });
  }
  // What it has more than the least that there can be, as far as is known.
  double over(double rate) const { return std::max(0.0, rate - this->rate()); }

  // Most plans are refused by their cost alone: the schedule is made, and verified, only for those that are
  // of use. A reversed question was packed as its dual.
  void keep(const char* construction, const Jobs& jobs, int chunks, int copies, const StepAssignment& plan) {
    const auto steps = static_cast<int>(plan.rounds.size());
    const double rate = static_cast<double>(plan.total_rounds()) / chunks;
    const bool large = is_large(chunks, sends_of(jobs) * copies);
    // Of rounds <= steps + k.
    const long long least_steps = std::max<long long>(steps, plan.total_rounds() - question_.extra_rounds);
    if (chunks < question_.min_chunks || least_steps > most_steps() || !is_better(steps, rate, large)) return;
    const Collective whole = with_chunks(question_.one, chunks);
    Point point = solved_.point(jobs.schedule(solved_.is_reversed ? dual(whole) : whole, copies, plan), whole,
                                construction);
    if (!fit_in_more_steps(question_.topology, point, question_.extra_rounds)) return;
    if (point.cost.steps > most_steps()) return;
    const std::vector<Fault> wrong = violations(question_.topology, whole, point.schedule, 1);
    if (!wrong.empty())
      throw std::logic_error("a schedule of the engine (" + point.construction +
                             ") is wrong: " + wrong.front().words);
    take(std::move(point), large);
  }

  void take(std::vector<Point> points, bool although_beaten = false) {
    for (Point& point : points)
      if (point.cost.chunks >= question_.min_chunks) take(std::move(point), false, although_beaten);
  }

  // Does it cost as much as what is kept, by a construction that had none of that cost?
  bool is_another(const KeptCost& cost, const Point& point) {
    const auto costs_as_much = [&](const KeptCost& other) {
      return other.steps == cost.steps && other.rate == cost.rate;
    };
    return question_.is_timed && std::ranges::any_of(kept_, costs_as_much) &&
           made_.insert({cost.steps, cost.rate, name_of(point.method) + point.construction}).second;
  }

  // Verified points.
  void take(Point point, bool large, bool although_beaten = false) {
    const KeptCost cost{.steps = point.cost.steps,
                        .rate = static_cast<double>(point.cost.rounds) / point.cost.chunks};
    if (cost.steps > question_.max_steps) return;
    if (!although_beaten && !is_better(cost.steps, cost.rate, large) && !is_another(cost, point)) return;
    keep_undominated(kept_, cost, [](const KeptCost& a, const KeptCost& b) {
      return a.steps <= b.steps && a.rate <= b.rate;
    });
    made_.insert({cost.steps, cost.rate, name_of(point.method) + point.construction});
    best_rate_ = std::min(best_rate_, cost.rate);
    (*found_)(std::move(point));
  }

  EngineQuestion question_;
  const std::function<void(Point)>* found_ = nullptr;
  const SolvedQuestion solved_;  // what is packed
  const Collective& one_;
  const Commodities each_;
  const std::optional<Commodities> symmetric_;
  std::vector<Packer> packers_ = {};  // the last has all counts of its unit
  const std::vector<Nesting> nestings_ = question_.topology.once(nestings);
  double sends_ = 0;  // of one chunk per block
  double bound_ = 0;
  double best_rate_ = std::numeric_limits<double>::infinity();
  double found_rate_ = std::numeric_limits<double>::infinity();  // of others
  std::vector<KeptCost> kept_ = {};
  std::set<std::tuple<int, double, std::string>> made_ = {};  // steps, rate, by what
  std::set<std::tuple<std::string, int, int>> packed_ = {};   // by generators: chunk counts, at a level
  int level_ = 0, first_level_ = 0;
  bool begun_ = false;
  long long budget_ = kFirstLevelWork, first_budget_ = 0;  // of the level
  bool more_later_ = false;                                // more work will be allowed
  std::vector<Attempt> attempts_ = {};
  std::vector<Attempt> late_ = {};  // wait for the packing of the next level
  std::set<Key> done_ = {};
  std::size_t next_ = 0;
};

Construction::Construction(const EngineQuestion& question) : engine_(std::make_unique<Engine>(question)) {}
Construction::~Construction() = default;

void Construction::allow(long long work, bool more_later) {
  engine_->allow(work, more_later);
}

bool Construction::advance(const std::function<void(Point)>& found) {
  return engine_->advance(found);
}

void Construction::know_found(double rate) {
  engine_->know_found(rate);
}

std::optional<Prices> Construction::take_prices() {
  return engine_->take_prices();
}

void Construction::know(const Rate& bound) {
  engine_->know(bound);
}

void construct(const EngineQuestion& question, const std::function<void(Point)>& found) {
  Construction construction(question);
  while (construction.advance(found)) {
  }
}

}  // namespace chorale
