// What each generator brings to a search (pareto/search.h): which made the points that are the fastest at a
// size, of the best rate, or undominated in steps and rounds; and how much a search without it loses.
//
// The first table is of one search a question. A generator's points are taken out of its result: what is left
// shows the most that a search without it could lose. The second table has what it does lose: the same search
// with the generator left out, everywhere (FrontierOptions::without). Effort is counted in work, so neither
// depends on the computer's load.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/search.h"
#include "benchmarks/kit/command_line.h"
#include "benchmarks/measure.h"
#include "construct/incumbents.h"
#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/frontier.h"
#include "ir/machine.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {
namespace {

constexpr std::int64_t kSizes[] = {4 << 10, 64 << 10, 512 << 10, 4 << 20, 64 << 20};
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLoss = 1.005;  // less is none
constexpr int kColumns = std::size(kSizes) + 2;
constexpr const char* kHeads[kColumns] = {"4K", "64K", "512K", "4M", "64M", "rate", "steps"};

// What a point takes at each size, and its rounds per chunk; at the last place those of few steps.
using Values = std::array<double, kColumns>;

struct Found {
  std::set<std::string> made_by = {};
  int steps = 0;
  Values values = {};
};
using Answer = std::vector<Found>;

struct Question {
  std::string machine = {}, collective = {};
  Answer all = {};
  std::map<std::string, Answer> without = {};
};

// Those of the catalogue are one, as is what is composed of groups; phases stand in a composition of them.
std::set<std::string> generators_of(const Point& point) {
  std::set<std::string> names;
  if (point.method == Method::Composed) names.insert("phases");
  std::string rest = point.construction;
  while (!rest.empty()) {
    const std::size_t end = rest.find(" + ");
    std::string part = rest.substr(0, end);
    rest = end == std::string::npos ? "" : rest.substr(end + 3);
    if (const std::size_t slow = part.find(", slow links together"); slow != std::string::npos) {
      names.insert("slow_links");
      part = part.substr(0, slow);
    }
    names.insert(part == "sat"                                                  ? "solver"
                 : part.find_first_of(" (") != std::string::npos                ? "composition"
                 : std::ranges::count(generators(), part, &Generator::name) > 0 ? part
                                                                                : "classic");
  }
  return names;
}

Answer searched(const Machine& machine, const Collective& one, int effort, const std::string& without) {
  const std::vector<std::int64_t> blocks = blocks_of_sizes(one, {std::begin(kSizes), std::end(kSizes)});
  FrontierOptions options{.effort = effort, .sizes = {blocks.begin(), blocks.end()}, .without = without};
  Answer answer;
  for (const Point& point : frontier(machine, one, options).points) {
    Found& found = answer.emplace_back(Found{.made_by = generators_of(point), .steps = point.cost.steps});
    for (std::size_t i = 0; i < blocks.size(); ++i)
      found.values[i] = *point_us(machine, point, static_cast<double>(blocks[i]), nullptr);
    found.values[kColumns - 2] = found.values[kColumns - 1] =
        static_cast<double>(point.cost.rounds) / point.cost.chunks;
  }
  return answer;
}

// The most that `some` is over `all` in each column; of few steps, at any number of steps that `all` has.
Values losses(const Answer& all, const Answer& some) {
  const auto best = [](const Answer& answer, int column, int steps) {
    double least = kNever;
    for (const Found& each : answer)
      if (each.steps <= steps) least = std::min(least, each.values[column]);
    return least;
  };
  constexpr int kAny = std::numeric_limits<int>::max();
  Values loss;
  for (int i = 0; i < kColumns - 1; ++i) loss[i] = best(some, i, kAny) / best(all, i, kAny);
  loss[kColumns - 1] = 1;
  for (const Found& each : all)
    loss[kColumns - 1] = std::max(loss[kColumns - 1],
                                  best(some, kColumns - 1, each.steps) / best(all, kColumns - 1, each.steps));
  return loss;
}

Answer without_those_of(const Answer& answer, const std::string& generator) {
  Answer rest;
  std::ranges::copy_if(answer, std::back_inserter(rest),
                       [&](const Found& each) { return !each.made_by.contains(generator); });
  return rest;
}

// By generator: in each column the questions with a loss, the mean loss of all questions, and the most.
class Table {
 public:
  void add(const std::string& generator, const Question& question, const Values& loss) {
    Row& row = rows_[generator];
    for (int i = 0; i < kColumns; ++i) {
      row.hit[i] += loss[i] > kLoss;
      row.sum[i] += std::min(loss[i], 9.0) - 1;
      if (loss[i] > row.most[i]) {
        row.most[i] = std::min(loss[i], 9.0);
        row.where[i] = question.machine + " " + question.collective;
      }
    }
  }
  void print(const std::string& title, std::size_t questions) const {
    fmt::print("\n{}\n{:<17}", title, "generator");
    for (const char* head : kHeads) fmt::print("{:>18}", head);
    fmt::print("   worst; makes\n");
    for (const auto& [generator, row] : rows_) {
      fmt::print("{:<17}", generator);
      for (int i = 0; i < kColumns; ++i)
        fmt::print("{:>5}{:>7.4f}{:>6.2f}", row.hit[i], 1 + row.sum[i] / static_cast<double>(questions),
                   row.most[i]);
      const auto known = std::ranges::find(generators(), generator, &Generator::name);
      fmt::print("   {}; {}\n", row.where[std::ranges::max_element(row.most) - row.most.begin()],
                 known == generators().end() ? "" : known->makes);
    }
  }

 private:
  struct Row {
    std::array<int, kColumns> hit = {};
    Values sum = {}, most = {};
    std::array<std::string, kColumns> where = {};
  };
  std::map<std::string, Row> rows_ = {};
};

int run(int argc, char** argv) {
  CommandLine line{"What each generator brings to a search beside all others, on machines that are given"};
  std::vector<std::string> machines, left_out;
  std::vector<std::string> collectives = {"allreduce", "allgather", "broadcast", "alltoall", "reducescatter"};
  int effort = 100;
  line.arguments("machines", machines, "Names or files (benchmarks/any_machine machines DIR writes 200)");
  line.list("--collectives", collectives, "Collectives");
  line.positive("--effort", effort, "Of a search (frontier --effort)");
  bool prints_values = false;
  line.flag("--values", prints_values, "Also the best of each question, to compare two programs");
  line.list("--without", left_out, "Generators to search without");
  if (const std::optional<int> code = line.read(argc, argv)) return *code;
  std::vector<Question> questions;
  Table most, measured;
  for (const std::string& name : machines) {
    const Machine machine = machine_of(load_topology(name));
    for (const std::string& collective : collectives) {
      const Collective one = make_collective(collective, machine.topology().ranks, 1);
      Question& question = questions.emplace_back(Question{.machine = name, .collective = collective});
      question.all = searched(machine, one, effort, "");
      fmt::print(stderr, "{} {} {}\n", name, collective, cpu_seconds());
      if (prints_values) {
        fmt::print("D {} {}", name, collective);
        for (int i = 0; i < kColumns - 1; ++i) {
          double least = kNever;
          for (const Found& each : question.all) least = std::min(least, each.values[i]);
          fmt::print(" {:.6g}", least);
        }
        for (const Found& each : question.all)
          fmt::print(" {}:{:.6g}", each.steps, each.values[kColumns - 1]);
        fmt::print("\n");
      }
      std::set<std::string> generators;
      for (const Found& each : question.all) generators.insert(each.made_by.begin(), each.made_by.end());
      for (const std::string& each : generators)
        most.add(each, question, losses(question.all, without_those_of(question.all, each)));
      for (const std::string& each : left_out)
        measured.add(each, question, losses(question.all, searched(machine, one, effort, each)));
    }
  }
  fmt::print("{}{} machines, {} questions, effort {}\n", machine_line(), machines.size(), questions.size(),
             effort);
  fmt::print(
      "a column: questions with a loss, mean loss of all questions, worst (9: or more, or nothing is left)\n"
      "by time at a size, by rounds per chunk, and by rounds per chunk within as many steps as a point "
      "has\n");
  most.print("without a generator's points: the most that a search without it could lose", questions.size());
  if (!left_out.empty()) measured.print("searched without the generator", questions.size());
  return 0;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  return chorale::guarded("ablation", chorale::run, argc, argv);
}
