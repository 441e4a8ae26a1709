// Do transformations keep what programs mean? Random programs (tests/tensor/random_workload.h) go through
// random transformations; program and result are interpreted (tests/tensor/interpreter.h) in several orders
// and with several seeds, and outputs and state, composed, have to be the same to the bit. The result has to
// survive its text form, too.
//
// Usage: preserve PROGRAMS [SEED [FIRST]] Prints one line on what was done, and before it each difference
// with the programs around the transformation that makes it. A program follows from seed and number alone:
// "preserve 1 SEED NUMBER" does one again. Exit code 1: something differs, or there is a kind of
// transformation or kernel that never was.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "tensor/language/kernels.h"
#include "tensor/language/text.h"
#include "tensor/transformations/transform.h"
#include "tests/tensor/random_move.h"
#include "tests/tensor/random_workload.h"

namespace chorale::test {
namespace {

using Inputs = std::map<std::string, std::vector<std::vector<double>>>;

// --- Comparison ---

WorkloadRun run(const Workload& workload, const Inputs& inputs, const WorkloadRunOptions& options) {
  WorkloadState state;
  for (const auto& [name, values] : inputs)
    state.tensors[name] = laid_out(workload, operation(workload, name).type, values);
  return interpret(workload, state, options);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return (x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y));
  });
}

// In words; empty if there is none.
std::string difference(const Workload& before, const WorkloadRun& first, const Workload& after,
                       const WorkloadRun& second) {
  const auto differ = [&](const std::string& a, const std::string& b) -> std::string {
    const auto x = whole(before, operation(before, a).type, first.state.tensors.at(a));
    const auto y = whole(after, operation(after, b).type, second.state.tensors.at(b));
    if (x.size() != y.size()) return fmt::format("{} is of {} groups, {} of {}", a, x.size(), b, y.size());
    for (std::size_t g = 0; g < x.size(); ++g)
      if (!same_bits(x[g], y[g])) return fmt::format("{} is {} and {} is {}", a, x[g], b, y[g]);
    return "";
  };
  if (before.outputs.size() != after.outputs.size()) return "another number of outputs";
  for (std::size_t i = 0; i < before.outputs.size(); ++i)
    if (const std::string words = differ(before.outputs[i], after.outputs[i]); !words.empty()) return words;
  for (const Operation& op : before.operations)
    if (op.kind == OperationKind::Input)
      if (const std::string words = differ(op.name, op.name); !words.empty()) return words;
  return "";
}

struct Tally {
  std::map<std::string, long long> moves = {}, kernels = {};
  long long programs = 0, transformed = 0, comparisons = 0, texts = 0, overlaps = 0, draws = 0,
            differences = 0;
};

class Preservation {
 public:
  Preservation(std::uint64_t seed, std::uint64_t number, Tally& tally)
      : dice_(seed * 1'000'003 + number), tally_(tally), number_(number) {}

  void look() {
    before_ = RandomWorkload(dice_).make();
    const Inputs inputs = random_inputs(before_, dice_);
    ++tally_.programs;
    std::vector<RandomStep> steps;
    const Workload* now = &before_;
    for (int i = dice_.from_to(4, 40); i > 0; --i)
      if (std::optional<RandomStep> step =
              RandomMove(*now, dice_, static_cast<int>(steps.size()) + 1).step()) {
        ++tally_.moves[step->kind];
        steps.push_back(std::move(*step));
        now = &steps.back().result;
      }
    tally_.transformed += steps.empty() ? 0 : 1;
    count(*now);
    std::string words = compare(*now, inputs);
    if (words.empty()) words = compare_text(*now);
    if (!words.empty()) tell(steps, inputs, words);
  }

 private:
  void count(const Workload& workload) {
    for (const Unit& unit : units(workload)) {
      if (unit.kind != KernelKind::Single) ++tally_.kernels[name_of(unit.kind)];
      tally_.overlaps += unit.overlap.empty() ? 0 : 1;
    }
    for (const Operation& op : workload.operations)
      for (const ExpressionNode& node : op.expression) tally_.draws += node.op == ExpressionOperator::Random;
  }

  std::string compare(const Workload& after, const Inputs& inputs) {
    try {
      for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t seed = number_ + (i << 40);  // both words of the key
        const WorkloadRun first = run(before_, inputs, {.seed = seed, .order = 2 * i});
        const WorkloadRun second = run(after, inputs, {.seed = seed, .order = 2 * i + 1});
        ++tally_.comparisons;
        if (std::string words = difference(before_, first, after, second); !words.empty()) return words;
      }
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  }

  std::string compare_text(const Workload& workload) {
    ++tally_.texts;
    try {
      if (!(parse_workload(to_text(workload), "text") == workload))
        return "its text is that of another program";
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  // Around the first step that is to blame.
  void tell(const std::vector<RandomStep>& steps, const Inputs& inputs, const std::string& words) {
    ++tally_.differences;
    fmt::print("program {}: {}\n", number_, words);
    std::string last = to_text(before_);
    if (const std::string alone = compare(before_, inputs) + compare_text(before_); !alone.empty()) {
      fmt::print("as it is: {}\n{}\n", alone, last);
      return;
    }
    for (const RandomStep& step : steps) {
      const std::string now = compare(step.result, inputs) + compare_text(step.result);
      if (!now.empty()) {
        fmt::print("{}\n--- {} ---\n{}\n{}\n\n", last, step.words, to_text(step.result), now);
        return;
      }
      last = to_text(step.result);
    }
  }

  Dice dice_;
  Tally& tally_;
  const std::uint64_t number_;
  Workload before_ = {};
};

std::string listed(const std::map<std::string, long long>& counts) {
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) words.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(words, ", "));
}

int main_of(int programs, std::uint64_t seed, std::uint64_t first) {
  const auto start = std::chrono::steady_clock::now();
  Tally tally;
  for (std::uint64_t number = first; number < first + static_cast<std::uint64_t>(programs); ++number)
    Preservation(seed, number, tally).look();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print(
      "seed {}: {} programs, {} transformed by {}; {} comparisons, {} differences; compared were {}, {} "
      "overlapped units, {} random numbers, {} texts; {:.0f} s\n",
      seed, tally.programs, tally.transformed, listed(tally.moves), tally.comparisons, tally.differences,
      listed(tally.kernels), tally.overlaps, tally.draws, tally.texts, seconds.count());
  constexpr int kEnoughForAllKinds = 1000;
  constexpr std::size_t kKinds = static_cast<std::size_t>(KernelKind::Scalars);  // all but Single
  const bool all_kinds =
      tally.moves.size() == 9 && tally.kernels.size() == kKinds && tally.overlaps > 0 && tally.draws > 0;
  return tally.differences > 0 || (programs >= kEnoughForAllKinds && !all_kinds) ? 1 : 0;
}

}  // namespace
}  // namespace chorale::test

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fputs("usage: preserve PROGRAMS [SEED [FIRST]]\n", stderr);
    return 2;
  }
  const auto argument = [&](int i) { return i < argc ? std::strtoull(argv[i], nullptr, 10) : 1; };
  return chorale::test::main_of(static_cast<int>(argument(1)), argument(2), argument(3));
}
