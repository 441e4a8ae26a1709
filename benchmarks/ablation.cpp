// What each construction brings beside all others: every question is answered by all of them, at the same
// chunk counts, and then without one at a time. A loss is how much more rounds per chunk the best point of at
// most a given number of steps has, in the mean over 1, 1.5, 2, 3, 5, 10, 30 times the fewest steps and any
// number of them.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/composition.h"
#include "construct/engine.h"
#include "construct/engine/timed_packing.h"
#include "construct/exact/product_alltoall.h"
#include "construct/exact/regular_alltoall.h"
#include "construct/exact/tree_growth.h"
#include "construct/incumbents.h"
#include "ir/frontier.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr double kTimesFewest[] = {1, 1.5, 2, 3, 5, 10, 30, 1e9};
constexpr int kMostChunks = 64;  // of questions with one chunk count
constexpr double kHit = 1.0005;  // a loss below this is none

struct Found {
  std::string construction = {};
  int steps = 0;
  double rate = 0;
};

struct Question {
  std::string collective = {};
  int fewest_steps = 0;
  double bound = 0;
  std::vector<Found> found = {};
  std::map<std::string, double> seconds = {};  // CPU, by construction
};

// Those of the catalogue are one, and so is what is composed of groups.
std::string group_of(const std::string& construction) {
  if (construction.find(' ') != std::string::npos) return "composition";
  static const std::set<std::string> own = {
      "packing",     "tree_union",  "sums",          "spreading",        "in_network",
      "fixed_order", "tree_growth", "timed_packing", "regular_alltoall", "product_alltoall"};
  return own.contains(construction) ? construction : "classic";
}

class Asking {
 public:
  Asking(const Topology& topology, const std::string& collective, long long work)
      : topology_(topology), one_(make_collective(collective, topology.ranks, 1)) {
    LowerBounds bounds(topology_, one_);
    asked_.collective = collective;
    asked_.fewest_steps = bounds.fewest_steps().steps;
    const Rate bound = rate_shown(topology_, one_, bounds.fewest_rounds().certificate);
    asked_.bound = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks);
    timed("packing", [&] {
      construct({.topology = topology_, .one = one_, .bound = bound, .work = work},
                [&](const Point& point) { take(point.construction, point.cost); });
    });
    std::set<int> counts = {1, 2, 4};
    for (const int times : {1, 2, 4})
      if (times * bound.chunks <= kMostChunks) counts.insert(static_cast<int>(times * bound.chunks));
    const bool many = one_.chunks.size() > 1;  // blocks
    for (const int chunks : counts)
      if (!many || chunks <= kMostChunks / 4) ask(chunks);
  }

  Question answered() && { return std::move(asked_); }

 private:
  void timed(const std::string& construction, const std::function<void()>& make) {
    const std::clock_t begun = std::clock();
    make();
    asked_.seconds[construction] += static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  }

  void take(const std::string& construction, const Cost& cost) {
    asked_.found.push_back({.construction = group_of(construction),
                            .steps = cost.steps,
                            .rate = static_cast<double>(cost.rounds) / cost.chunks});
  }

  void ask(int chunks) {
    const Collective whole = with_chunks(one_, chunks);
    LowerBounds bounds(topology_, whole);
    const auto bound = [&] { return bounds.fewest_rounds().rounds; };
    std::vector<Schedule> known;
    timed("incumbents", [&] {
      for (const Point& point : incumbents(topology_, whole)) {
        take(point.construction, point.cost);
        known.push_back(point.schedule);
      }
    });
    const auto made = [&](const char* construction, const std::function<std::vector<Schedule>()>& make) {
      timed(construction, [&] {
        for (const Schedule& schedule : make()) take(construction, cost_of(schedule, chunks));
      });
    };
    if (!whole.combining) {
      made("tree_growth", [&] { return grow_trees(topology_, whole); });
      made("regular_alltoall", [&] { return regular_alltoall(topology_, whole); });
      made("product_alltoall", [&] { return product_alltoall(topology_, whole); });
    }
    made("timed_packing", [&] { return timed_packing(topology_, whole, known, bound); });
    timed("composition", [&] {
      for (const ComposedPoint& each :
           compose_on({.topology = topology_, .collective = whole}, nestings(topology_)))
        take("of groups", each.point.cost);
    });
  }

  const Topology& topology_;
  const Collective one_;
  Question asked_ = {};
};

double best_within(const Question& question, double steps, const std::string& without) {
  double best = std::numeric_limits<double>::infinity();
  for (const Found& each : question.found)
    if (each.steps <= steps && each.construction != without) best = std::min(best, each.rate);
  return best;
}

struct Loss {
  double mean = 1, rate = 1;  // over steps, and of the best rate
};

// Where nothing is left the loss is 9.
Loss loss_without(const Question& question, const std::string& construction) {
  double sum = 0, last = 1;
  int count = 0;
  for (const double times : kTimesFewest) {
    const double steps = std::max<double>(question.fewest_steps, times * question.fewest_steps);
    const double all = best_within(question, steps, "");
    if (all == std::numeric_limits<double>::infinity()) continue;
    last = std::min(9.0, best_within(question, steps, construction) / all);
    sum += last;
    ++count;
  }
  return {.mean = count == 0 ? 1 : sum / count, .rate = last};
}

void report(const std::vector<Question>& questions, const std::string& collective) {
  std::vector<const Question*> some;
  std::set<std::string> constructions;
  std::vector<double> over;
  for (const Question& question : questions) {
    if (question.collective != collective || question.found.empty()) continue;
    some.push_back(&question);
    over.push_back(best_within(question, 1e9, "") / question.bound);
    for (const Found& each : question.found) constructions.insert(each.construction);
  }
  if (some.empty()) return;
  fmt::print("\n{}: {} questions, best rate over the bound: median {:.4f}, worst {:.3f}\n", collective,
             some.size(), median(over), *std::ranges::max_element(over));
  fmt::print("{:<14}{:>10}{:>10}{:>16}{:>11}{:>6}{:>8}\n", "without", "mean loss", "worst", "of the rate",
             "worst", "hit", "CPU s");
  for (const std::string& construction : constructions) {
    double mean = 0, worst = 1, rate = 0, worst_rate = 1, seconds = 0;
    int hit = 0;
    for (const Question* question : some) {
      const Loss loss = loss_without(*question, construction);
      mean += loss.mean / static_cast<double>(some.size());
      rate += loss.rate / static_cast<double>(some.size());
      worst = std::max(worst, loss.mean);
      worst_rate = std::max(worst_rate, loss.rate);
      hit += loss.mean > kHit;
      const bool quick = construction == "classic" || construction == "sums" || construction == "spreading";
      const auto at = question->seconds.find(quick ? "incumbents" : construction);
      if (at != question->seconds.end()) seconds += at->second;
    }
    fmt::print("{:<14}{:>10.4f}{:>10.3f}{:>16.4f}{:>11.3f}{:>6}{:>8.1f}\n", construction, mean, worst, rate,
               worst_rate, hit, seconds);
  }
}

int run(int argc, char** argv) {
  CommandLine line{"What each construction brings beside all others, on machines that are given"};
  std::vector<std::string> machines;
  std::vector<std::string> collectives = {"allgather", "broadcast", "allreduce", "alltoall"};
  double work = 1.5e8;
  line.arguments("machines", machines, "Names or files (benchmarks/any_machine machines DIR writes 200)");
  line.list("--collectives", collectives, "Collectives");
  line.number("--work", work, "Of the engine (construct/engine.h)");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  std::vector<Question> questions;
  for (const std::string& name : machines) {
    const Topology topology = flatten(load_topology(name));
    for (const std::string& collective : collectives) {
      fmt::print(stderr, "{} {}\n", name, collective);
      questions.push_back(Asking(topology, collective, static_cast<long long>(work)).answered());
    }
  }
  fmt::print("{}{} machines, work {:.3g}\n", machine_line(), machines.size(), work);
  fmt::print(
      "loss: 1 is none; hit: questions with a loss; CPU s of incumbents for what they make together\n");
  for (const std::string& collective : collectives) report(questions, collective);
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("ablation", chorale::run, argc, argv);
}
