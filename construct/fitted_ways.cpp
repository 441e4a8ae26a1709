// Ways are negotiated (congestion.h): all are laid, each as cheap as can be among the others, with no regard to what fits; then,
// turn after turn, those that meet in what is overfull are laid anew at higher prices, until everything fits. The rounds
// of all steps together are given: a few too many first, so that there is an answer; then the bound itself, which is mostly
// met; then what lies between.
//
// An Alltoall on a machine whose digits turn is that of one rank, all others doing the same turned: links are then orbits of
// links, and whole numbers stay whole since the group fixes no rank. Where that has no schedule at the bound (on a ring the rank
// opposite wants both ways), and ranks are few, each rank goes its own ways.
//
// On tori, rings and hypercubes of any size nothing needs to be negotiated: steps are an edge colouring (edge_colours.h).
//
// On meshes that are too large for all of this, rows and columns are done by themselves, and put together (product_ways.h).
//
// What lost: routes first and steps afterwards (spreading.h), which on torus:8x8 needs a quarter more rounds than the bound;
// a formula, which has no answer in a minute; rounding the flows of the linear program.
#include "construct/fitted_ways.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "bounds/lower_bounds.h"
#include "construct/congestion.h"
#include "construct/edge_colours.h"
#include "construct/effort.h"
#include "construct/link_orbits.h"
#include "construct/product_ways.h"
#include "construct/spreading.h"
#include "symmetry/digit_shifts.h"

namespace chorale {
namespace {

// Links looked at by all tries together: about two seconds. And by one try.
constexpr long long kMostLooks = 200'000'000;
constexpr long long kMostLooksOfTry = kMostLooks / 8;
constexpr int kTurns = 60;  // of one try; seeds that do not get there in so many mostly never do
constexpr unsigned kSeeds = 3;
constexpr int kMoveEvery = 6;  // turns
constexpr int kMoreSteps = 4;  // than hops need
constexpr std::size_t kMostJourneys = 40'000;

using Group = std::vector<std::vector<Rank>>;

// Of its ranks `post`, those that have to get it.
std::vector<Rank> wanting(const ChunkSpec& spec) {
  std::vector<Rank> ranks;
  for (Rank n : spec.post)
    if (!starts_at(spec, n)) ranks.push_back(n);
  return ranks;
}

struct Journey {
  struct Hop {
    int step = 0;
    LinkId link = 0;
  };
  Chunk chunk = 0;
  Rank to = 0;
  std::vector<Hop> hops = {};
};

class Ways {
 public:
  // `group`: more than the identity only for an Alltoall.
  Ways(const Topology& topology, const Collective& collective, const Group& group)
      : topology_(topology),
        collective_(collective),
        group_(group),
        orbits_(topology, group),
        out_of_(topology.ranks) {
    for (LinkId l = 0; l < static_cast<int>(topology.links.size()); ++l)
      out_of_[topology.links[l].src].push_back(l);
    const Topology turned = reversed(topology);
    for (Chunk c = 0; c < static_cast<int>(collective.chunks.size()); ++c) {
      const ChunkSpec& spec = collective.chunks[c];
      if (group.size() > 1 && orbits_.representative(spec.pre.front()) != spec.pre.front()) continue;
      for (Rank n : wanting(spec)) {
        journeys_.push_back({.chunk = c, .to = n});
        std::vector<int>& far = far_[n];
        if (far.empty()) {
          far = hops(turned, {n});
          for (int& distance : far)
            if (distance < 0) distance = kFar;
        }
        int nearest = kFar;
        for (Rank m : spec.pre) nearest = std::min(nearest, far[m]);
        farthest_ = std::max(farthest_, nearest);
      }
    }
  }

  std::size_t journeys() const { return journeys_.size(); }
  int fewest_steps() const { return farthest_; }
  bool all_in_reach() const { return farthest_ < kFar; }

  // Where the group carries each rank to each and links have no shared limits, a way is a multiset of links out of one rank, in any
  // order, since turns commute: which step has which is an edge colouring, and no search. In so many rounds or as many as
  // its paths need. Nothing elsewhere.
  std::optional<Schedule> coloured(int rounds) {
    if (static_cast<int>(group_.size()) != topology_.ranks || !topology_.limits.empty()) return std::nullopt;
    steps_ = farthest_;
    const std::vector<LinkId>& kinds = out_of_[0];
    std::vector<int> widths;
    for (LinkId l : kinds) widths.push_back(topology_.links[l].bandwidth);
    std::vector<const std::vector<Rank>*> carry(topology_.ranks);  // rank 0 there
    for (const std::vector<Rank>& g : group_) carry[g[0]] = &g;
    const auto behind = [&](Rank n, LinkId l) { return (*carry[n])[topology_.links[l].dst]; };
    // Shortest ways; of links that come nearer, the one that has least to carry. Who has a choice chooses again when all are known.
    std::vector<std::vector<int>> uses(journeys_.size(), std::vector<int>(kinds.size(), 0));
    std::vector<long long> load(kinds.size(), 0);
    for (int pass = 0; pass < 3; ++pass)
      for (std::size_t x = 0; x < journeys_.size(); ++x) {
        const std::vector<int>& far = far_.at(journeys_[x].to);
        for (std::size_t k = 0; k < kinds.size(); ++k) load[k] -= std::exchange(uses[x][k], 0);
        for (Rank n = 0; n != journeys_[x].to;) {
          int best = -1;
          for (int k = 0; k < std::ssize(kinds); ++k)
            if (far[behind(n, kinds[k])] == far[n] - 1 &&
                (best < 0 || (load[k] + 1) * widths[best] < (load[best] + 1) * widths[k]))
              best = k;
          ++uses[x][best];
          ++load[best];
          n = behind(n, kinds[best]);
        }
      }
    for (std::size_t k = 0; k < kinds.size(); ++k)
      rounds = std::max(rounds, static_cast<int>((load[k] + widths[k] - 1) / widths[k]));
    const auto colours = edge_colours(std::move(uses), widths, steps_, rounds);
    if (!colours) return std::nullopt;
    for (std::size_t x = 0; x < journeys_.size(); ++x) {
      journeys_[x].hops.clear();
      Rank n = 0;
      for (int s = 0; s < steps_; ++s)
        if (const int k = (*colours)[x][s]; k >= 0) {
          const int element = static_cast<int>(carry[n] - group_.data());
          journeys_[x].hops.push_back({.step = s, .link = orbits_.image(kinds[k], element)});
          n = behind(n, kinds[k]);
        }
    }
    return carried_over();
  }

  // Of at most so many steps and rounds. Nothing where none is found, or when stopped.
  std::optional<Schedule> fit(int steps, int rounds, unsigned seed, Effort& effort) {
    steps_ = steps;
    looks_ = 0;
    cost_.assign(static_cast<std::size_t>(steps + 1) * topology_.ranks, kNever);
    by_.assign(cost_.size(), -1);
    reached_.assign(steps + 1, {});
    random_.seed(seed);
    for (double& noise : noise_) noise = 0.1 * (random_() >> 8) / (1 << 24);
    const bool fits = negotiate(rounds, effort);
    effort.spend(looks_);
    if (!fits) return std::nullopt;
    return carried_over();
  }

 private:
  static constexpr int kFar = std::numeric_limits<int>::max() / 2;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  bool negotiate(int rounds, const Effort& effort) {
    Congestion congestion(orbits_, steps_, rounds);
    std::vector<Journey*> order;
    for (Journey& journey : journeys_) {
      journey.hops.clear();
      order.push_back(&journey);
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_() % i]);
      for (Journey* journey : order) {
        if (turn > 0 && !meets_too_many(*journey, congestion) && random_() % 10 != 0) continue;
        if (looks_ > kMostLooksOfTry || !effort.affords(looks_)) return false;
        for (const Journey::Hop& hop : journey->hops) congestion.add(hop.link, hop.step, -1);
        lay(*journey, congestion);
        for (const Journey::Hop& hop : journey->hops) congestion.add(hop.link, hop.step, 1);
      }
      if (congestion.fits()) return true;
      congestion.raise();
      if (turn % kMoveEvery == kMoveEvery - 1) congestion.move_round();
    }
    return false;
  }

  static bool meets_too_many(const Journey& journey, const Congestion& congestion) {
    return std::ranges::any_of(
        journey.hops, [&](const Journey::Hop& hop) { return congestion.overfull(hop.link, hop.step); });
  }

  std::size_t at(int step, Rank n) const { return static_cast<std::size_t>(step) * topology_.ranks + n; }

  // The cheapest way in time, over ranks from which the rest can be gone in the steps that are left. By steps: cost_ and by_
  // say how a rank has the chunk after so many, over a link or (-1) since before.
  void lay(Journey& journey, const Congestion& congestion) {
    const std::vector<int>& far = far_.at(journey.to);
    const auto salt = static_cast<std::size_t>(random_());
    double cheapest = kNever;
    const auto reach = [&](int step, Rank n, double cost, LinkId by) {
      if (far[n] > steps_ - step || cost >= cost_[at(step, n)] || cost > cheapest) return;
      if (cost_[at(step, n)] == kNever) reached_[step].push_back(n);
      cost_[at(step, n)] = cost;
      by_[at(step, n)] = by;
      if (n == journey.to) cheapest = cost;
    };
    for (Rank n : collective_.chunks[journey.chunk].pre) reach(0, n, 0, -1);
    for (int s = 0; s < steps_; ++s)
      for (const Rank u : reached_[s]) {
        const double cost = cost_[at(s, u)];
        reach(s + 1, u, cost, -1);
        if (u == journey.to || cost >= cheapest) continue;
        for (LinkId l : out_of_[u]) {
          ++looks_;
          const Rank v = topology_.links[l].dst;
          if (far[v] > steps_ - s - 1) continue;
          const double noise = noise_[(salt + static_cast<std::size_t>(l) * 7 + s * 131U) % kNoises];
          reach(s + 1, v, cost + congestion.price(l, s) * (1 + noise), l);
        }
      }
    journey.hops.clear();
    Rank n = journey.to;
    for (int s = steps_; s > 0; --s)
      if (const LinkId l = by_[at(s, n)]; l >= 0) {
        journey.hops.push_back({.step = s - 1, .link = l});
        n = topology_.links[l].src;
      }
    for (int s = 0; s <= steps_; ++s) {
      for (Rank m : reached_[s]) cost_[at(s, m)] = kNever;
      reached_[s].clear();
    }
  }

  // The chunk of an Alltoall from and to where the element carries its ranks.
  Chunk carried(Chunk c, const std::vector<Rank>& element) const {
    if (group_.size() == 1) return c;
    const int copies = collective_.chunks_per_block, pair = c / copies;
    const Rank from = element[pair / topology_.ranks], to = element[pair % topology_.ranks];
    return (from * topology_.ranks + to) * copies + c % copies;
  }

  Schedule carried_over() const {
    Schedule schedule{.steps = std::vector<Step>(steps_)};
    for (const Journey& journey : journeys_)
      for (int g = 0; g < static_cast<int>(group_.size()); ++g)
        for (const Journey::Hop& hop : journey.hops)
          schedule.steps[hop.step].sends.push_back(
              {.chunk = carried(journey.chunk, group_[g]),
               .link = group_.size() == 1 ? hop.link : orbits_.image(hop.link, g)});
    std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
    for (Step& step : schedule.steps) {
      std::ranges::sort(step.sends);
      step.rounds = needed_rounds(topology_, step);
    }
    return schedule;
  }

  static constexpr std::size_t kNoises = 4096;
  const Topology& topology_;
  const Collective& collective_;
  const Group& group_;
  const LinkOrbits orbits_;
  std::vector<std::vector<LinkId>> out_of_;
  std::vector<Journey> journeys_ = {};
  std::map<Rank, std::vector<int>> far_ = {};  // hops to a destination, by rank
  int farthest_ = 0;

  // Of a try.
  int steps_ = 0;
  long long looks_ = 0;
  std::mt19937 random_{};
  std::vector<double> noise_ = std::vector<double>(kNoises);  // so that equal ways are not all taken at once
  std::vector<double> cost_ = {};                             // by step and rank
  std::vector<LinkId> by_ = {};                               // by step and rank
  std::vector<std::vector<Rank>> reached_ = {};               // by step
};

// The fewest rounds that are known of at most so many steps.
int known_rounds(const std::vector<Schedule>& best, int steps) {
  int rounds = std::numeric_limits<int>::max();
  for (const Schedule& schedule : best)
    if (static_cast<int>(schedule.steps.size()) <= steps) rounds = std::min(rounds, total_rounds(schedule));
  return rounds;
}

bool try_rounds(Ways& ways, int steps, int rounds, unsigned seeds, Effort& effort,
                std::vector<Schedule>& best) {
  for (unsigned seed = 1; seed <= seeds; ++seed)
    if (std::optional<Schedule> schedule = ways.fit(steps, rounds, seed, effort)) {
      keep_undominated(best, std::move(*schedule));
      return true;
    }
  return false;
}

void fit_steps(Ways& ways, int steps, int bound, Effort& effort, std::vector<Schedule>& best) {
  int low = std::max(bound, steps);
  if (known_rounds(best, steps) == std::numeric_limits<int>::max())
    for (int more = low / 8 + 1; !try_rounds(ways, steps, low + more, 1, effort, best); more *= 2)
      if (!effort.affords(1) || more > 8 * low) return;
  for (int rounds = low;; rounds = low + (known_rounds(best, steps) - 1 - low) / 2) {
    if (known_rounds(best, steps) <= low || !effort.affords(1)) return;
    if (!try_rounds(ways, steps, rounds, rounds == bound ? kSeeds : 1, effort, best)) low = rounds + 1;
  }
}

// The largest first.
std::vector<Group> groups_for(const Topology& topology, const Collective& collective) {
  Group identity(1, std::vector<Rank>(topology.ranks));
  std::iota(identity.front().begin(), identity.front().end(), 0);
  if (collective.kind != CollectiveKind::Alltoall) return {identity};
  Group turns = digit_shifts(topology);
  return turns.size() > 1 ? std::vector<Group>{std::move(turns), identity} : std::vector<Group>{identity};
}

// Of rows and columns.
std::optional<Schedule> on_product(const Topology& topology, const Collective& collective,
                                   const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::Alltoall) return std::nullopt;
  const std::optional<Product> product = as_product(topology);
  if (!product) return std::nullopt;
  std::vector<Schedule> parts;
  for (const Topology* part : {&product->column, &product->row}) {
    const Collective all = make_collective(CollectiveKind::Alltoall, part->ranks, 1);
    std::vector<Schedule> schedules = fit_ways(
        *part, all, [&] { return fewest_rounds(*part, all).rounds; }, stop);
    if (schedules.empty()) return std::nullopt;
    parts.push_back(std::move(schedules.back()));
  }
  Schedule schedule = alltoall_on(*product, collective.chunks_per_block, parts[0], parts[1]);
  std::erase_if(schedule.steps, [](const Step& step) { return step.sends.empty(); });
  for (Step& step : schedule.steps) {
    std::ranges::sort(step.sends);
    step.rounds = needed_rounds(topology, step);
  }
  return schedule;
}

bool one_wants_each(const Collective& collective) {
  return !collective.combining && !collective.chunks.empty() &&
         std::ranges::all_of(collective.chunks, [](const ChunkSpec& spec) {
           return !spec.pre.empty() && wanting(spec).size() <= 1;
         });
}

}  // namespace

std::vector<Schedule> coloured_ways(const Topology& topology, const Collective& collective,
                                    const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::Alltoall || (stop != nullptr && *stop)) return {};
  const Group turns = digit_shifts(topology);
  if (std::ssize(turns) != topology.ranks || topology.ranks < 2) return {};
  Ways ways(topology, collective, turns);
  std::optional<Schedule> schedule = ways.all_in_reach() ? ways.coloured(ways.fewest_steps()) : std::nullopt;
  return schedule ? std::vector<Schedule>{std::move(*schedule)} : std::vector<Schedule>{};
}

std::vector<Schedule> fit_ways(const Topology& topology, const Collective& collective,
                               const std::function<int()>& bound, const std::atomic<bool>* stop) {
  if (!one_wants_each(collective)) return {};
  Effort effort(kMostLooks, stop);
  std::vector<Schedule> best;
  for (const Group& group : groups_for(topology, collective)) {
    if (effort.stopped()) return {};
    if (collective.chunks.size() / group.size() > kMostJourneys) continue;
    Ways ways(topology, collective, group);
    if (ways.journeys() == 0 || !ways.all_in_reach()) return {};
    const int low = bound();
    if (std::optional<Schedule> schedule = ways.coloured(std::max(low, ways.fewest_steps())))
      keep_undominated(best, std::move(*schedule));
    if (known_rounds(best, ways.fewest_steps()) <= low) return best;
    for (int more = 0; more <= kMoreSteps && effort.affords(1); ++more) {
      const int steps = ways.fewest_steps() + more;
      fit_steps(ways, steps, low, effort, best);
      if (known_rounds(best, steps) <= low) return best;
    }
  }
  // Too large for all of this.
  if (best.empty() && !effort.stopped())
    if (std::optional<Schedule> schedule = on_product(topology, collective, stop))
      best.push_back(std::move(*schedule));
  return effort.stopped() ? std::vector<Schedule>{} : best;
}

}  // namespace chorale
