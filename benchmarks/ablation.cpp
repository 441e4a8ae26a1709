// What each construction brings to the engine (construct/engine.h): every question is answered with all of
// them, and again without one at a time, which the engine leaves out of its attempts, of what it composes of
// groups, and of what others begin with. Constructions without a point that was better than all before it are
// not asked. A loss is how much more rounds per chunk the best point of at most a given number of steps has,
// in the mean over 1, 1.5, 2, 3, 5, 10, 30 times the fewest steps and any number of them.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "bounds/check.h"
#include "bounds/lower_bounds.h"
#include "construct/engine.h"
#include "ir/frontier.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr double kTimesFewest[] = {1, 1.5, 2, 3, 5, 10, 30, 1e9};
constexpr double kHit = 1.0005;  // a loss below this is none

struct Found {
  int steps = 0;
  double rate = 0;
};

struct Answer {
  std::vector<Found> found = {};
  double seconds = 0;  // CPU
};

struct Question {
  std::string collective = {};
  int fewest_steps = 0;
  double bound = 0;
  Answer all = {};
  std::map<std::string, Answer> without = {};  // by construction
};

// Those of the catalogue are one, and so is what is composed of groups.
std::string group_of(const std::string& construction) {
  if (construction.find(' ') != std::string::npos) return "composition";
  static const std::set<std::string> own = {"packing",          "tree_union",    "sums",
                                            "spreading",        "in_network",    "fixed_order",
                                            "tree_growth",      "timed_packing", "regular_alltoall",
                                            "product_alltoall", "disjoint_trees"};
  return own.contains(construction) ? construction : "classic";
}

Question asked(const Topology& topology, const std::string& collective, long long work) {
  const Collective one = make_collective(collective, topology.ranks, 1);
  LowerBounds bounds(topology, one);
  const Rate bound = rate_shown(topology, one, bounds.fewest_rounds().certificate);
  Question question{.collective = collective,
                    .fewest_steps = bounds.fewest_steps().steps,
                    .bound = static_cast<double>(bound.rounds) / static_cast<double>(bound.chunks)};
  std::set<std::string> constructions;
  const auto answer = [&](const std::string& without) {
    Answer made;
    const std::clock_t begun = std::clock();
    construct({.topology = topology, .one = one, .bound = bound, .work = work, .without = without},
              [&](const Point& point) {
                if (without.empty()) constructions.insert(group_of(point.construction));
                made.found.push_back({.steps = point.cost.steps,
                                      .rate = static_cast<double>(point.cost.rounds) / point.cost.chunks});
              });
    made.seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    return made;
  };
  question.all = answer("");
  for (const std::string& each : constructions) question.without[each] = answer(each);
  return question;
}

double best_within(const Answer& answer, double steps) {
  double best = std::numeric_limits<double>::infinity();
  for (const Found& each : answer.found)
    if (each.steps <= steps) best = std::min(best, each.rate);
  return best;
}

struct Loss {
  double mean = 1, rate = 1;  // over steps, and of the best rate
};

// Where nothing is left the loss is 9.
Loss loss_without(const Question& question, const Answer& without) {
  double sum = 0, last = 1;
  int count = 0;
  for (const double times : kTimesFewest) {
    const double steps = std::max<double>(question.fewest_steps, times * question.fewest_steps);
    const double all = best_within(question.all, steps);
    if (all == std::numeric_limits<double>::infinity()) continue;
    last = std::min(9.0, best_within(without, steps) / all);
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
    if (question.collective != collective || question.all.found.empty()) continue;
    some.push_back(&question);
    over.push_back(best_within(question.all, 1e9) / question.bound);
    for (const auto& [construction, answer] : question.without) constructions.insert(construction);
  }
  if (some.empty()) return;
  fmt::print("\n{}: {} questions, best rate over the bound: median {:.4f}, worst {:.3f}\n", collective,
             some.size(), median(over), *std::ranges::max_element(over));
  fmt::print("{:<17}{:>7}{:>11}{:>8}{:>14}{:>8}{:>6}{:>14}\n", "without", "asked", "mean loss", "worst",
             "of the rate", "worst", "hit", "CPU s saved");
  for (const std::string& construction : constructions) {
    double mean = 0, worst = 1, rate = 0, worst_rate = 1, saved = 0;
    int hit = 0, times = 0;
    for (const Question* question : some) {
      const auto without = question->without.find(construction);
      const bool is_asked = without != question->without.end();
      const Loss loss = is_asked ? loss_without(*question, without->second) : Loss();
      mean += loss.mean / static_cast<double>(some.size());
      rate += loss.rate / static_cast<double>(some.size());
      worst = std::max(worst, loss.mean);
      worst_rate = std::max(worst_rate, loss.rate);
      hit += loss.mean > kHit;
      times += is_asked;
      if (is_asked) saved += question->all.seconds - without->second.seconds;
    }
    fmt::print("{:<17}{:>7}{:>11.4f}{:>8.3f}{:>14.4f}{:>8.3f}{:>6}{:>14.1f}\n", construction, times, mean,
               worst, rate, worst_rate, hit, saved);
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
      questions.push_back(asked(topology, collective, static_cast<long long>(work)));
    }
  }
  fmt::print("{}{} machines, work {:.3g}\n", machine_line(), machines.size(), work);
  fmt::print(
      "loss: 1 is none, and may be less, as one's absence leaves work to others; asked: questions with a\n"
      "point of it; hit: questions with a loss\n");
  for (const std::string& collective : collectives) report(questions, collective);
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("ablation", chorale::run, argc, argv);
}
