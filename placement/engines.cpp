// Engines share the names of instructions and nothing else. A solver searches length by length for a sequence
// that ends at the goal, what it finds is blocked, and its last Unsat shows that there is no other; one more
// question, for any legal sequence that is longer, ends the list.
//
// All levels are of size 2, as in the space. The exploration has the meaning of instructions from the
// verifier (semantics/reduction.h), the encodings define their own. Solvers ignore detours (Rules::Paper):
// their strategies are run again by the verifier, and one that breaks a rule there stops the program.
#include "placement/engines.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "encoder/strategy_encoding.h"
#include "encoder/strategy_smt_encoding.h"
#include "placement/synthesis_hierarchy.h"
#include "semantics/reduction.h"
#include "solvers/smt_solver.h"

namespace chorale {
namespace {

using Operation = StrategyInstruction::Operation;

// A solver that knows what instructions do, and is asked for sequences of them.
class SequenceFinder {
 public:
  virtual ~SequenceFinder() = default;
  virtual void extend() = 0;  // one more instruction
  // A sequence of exactly this length that ends at the goal, or any legal one; not one that was blocked.
  virtual Verdict find(int length, bool at_goal, std::vector<int>& found) = 0;
  virtual void block(const std::vector<int>& beginning) = 0;
};

class SatFinder : public SequenceFinder {
 public:
  SatFinder(StrategyEncoding encoding, const SolveLimits& limits)
      : encoding_(std::move(encoding)), solver_(make_solver()), limits_(limits) {}

  void extend() override { encoding_.extend(); }

  Verdict find(int length, bool at_goal, std::vector<int>& found) override {
    solver_->add(encoding_.formula(), told_);
    told_ = encoding_.formula().literals.size();
    std::vector<Lit> assumptions;
    if (at_goal) assumptions.push_back(encoding_.at_goal(length));
    const Verdict verdict = solver_->solve(assumptions, limits_);
    if (verdict == Verdict::Sat) found = encoding_.decode([&](Lit v) { return solver_->value(v); }, length);
    return verdict;
  }

  void block(const std::vector<int>& beginning) override {
    std::vector<Lit> clause;
    for (std::size_t t = 0; t < beginning.size(); ++t)
      clause.push_back(-encoding_.chosen(static_cast<int>(t), beginning[t]));
    solver_->add(clause);
  }

 private:
  StrategyEncoding encoding_;
  std::unique_ptr<SatSolver> solver_;
  SolveLimits limits_;
  std::size_t told_ = 0;  // literals of the formula that the solver has; only new ones are added
};

class SmtFinder : public SequenceFinder {
 public:
  SmtFinder(StrategySmtEncoding encoding, const SolveLimits& limits)
      : encoding_(std::move(encoding)), session_(make_z3(limits)) {
    session_->add(encoding_.start());
  }

  void extend() override { session_->add(encoding_.extend(length_++)); }

  Verdict find(int length, bool at_goal, std::vector<int>& found) override {
    std::vector<std::string> selectors;
    for (int t = 0; t < length; ++t) selectors.push_back(StrategySmtEncoding::selector(t));
    std::vector<long long> values;
    const Verdict verdict = session_->ask(at_goal ? encoding_.at_goal(length) : "true", selectors, values);
    if (verdict == Verdict::Sat) found.assign(values.begin(), values.end());
    return verdict;
  }

  void block(const std::vector<int>& beginning) override {
    std::string clause = "(assert (or false";
    for (std::size_t t = 0; t < beginning.size(); ++t)
      clause += " (not " + encoding_.chosen(static_cast<int>(t), beginning[t]) + ")";
    session_->add(clause + "))");
  }

 private:
  StrategySmtEncoding encoding_;
  std::unique_ptr<SmtSession> session_;
  int length_ = 0;  // instructions that it knows of
};

// What a solver may choose from: each grouping with each operation. names[i] is
// instructions[i] as strategies are written.
struct Model {
  std::vector<StrategyInstruction> names = {};
  std::vector<LoweredInstruction> instructions = {};
  int devices = 1;
  DeviceGroups reduced = {};
};

// A machine of 2^levels devices, all of which are to hold the sum over all.
Model model_of(int levels) {
  Model model{.devices = 1 << levels};
  std::vector<int> sizes(levels + 1, 2), all(model.devices);
  sizes[0] = 1;
  for (int d = 0; d < model.devices; ++d) all[d] = d;
  model.reduced = {all};
  for (const Grouping& grouping : all_groupings(sizes))
    for (Operation operation : kAllOperations) {
      model.names.push_back(grouping.name);
      model.names.back().operation = operation;
      model.instructions.push_back({operation, grouping.groups});
    }
  return model;
}

// The length of the shortest beginning that ends in a detour (see Rules::Paper); 0: there is none. Every
// sequence that begins so has that detour too, so blocking the beginning blocks them all; a state that is the
// goal is none, however it was reached.
int detour(const Model& model, const std::vector<int>& sequence) {
  const ReductionState goal = ReductionState::reduced(model.devices, model.reduced);
  std::vector<ReductionState> states = {ReductionState(model.devices)};
  for (int i : sequence) {
    ReductionState next = states.back();
    if (next.apply(model.instructions[i].operation, model.instructions[i].groups))
      throw std::logic_error("an engine found an invalid strategy");
    if (next == goal) return 0;
    for (std::size_t earlier = 0; earlier + 1 < states.size(); ++earlier)
      for (const LoweredInstruction& instruction : model.instructions) {
        ReductionState reached = states[earlier];
        if (!reached.apply(instruction.operation, instruction.groups) && reached == next)
          return static_cast<int>(states.size());
      }
    states.push_back(std::move(next));
  }
  return 0;
}

StrategySet by_solver(const Model& model, Rules rules, int most, SequenceFinder& finder) {
  StrategySet result;
  for (int length = 1; length <= most; ++length) {
    finder.extend();
    std::vector<int> found;
    Verdict verdict;
    // What is found is blocked, as it is or by its detour, so this ends: there are finitely many sequences.
    while ((verdict = finder.find(length, true, found)) == Verdict::Sat) {
      const int end = rules == Rules::Paper ? detour(model, found) : 0;
      if (end > 0) found.resize(end);
      finder.block(found);
      if (end > 0) continue;
      result.strategies.emplace_back();
      for (int i : found) result.strategies.back().push_back(model.names[i]);
    }
    if (verdict == Verdict::Unknown) return result;
  }
  // Is there any longer sequence? At the goal nothing is legal any more, so one has not reached it before its
  // end.
  finder.extend();
  std::vector<int> found;
  Verdict verdict;
  // Under Rules::Paper a sequence with a detour proves nothing, and is skipped; one without ends the search.
  while ((verdict = finder.find(most + 1, false, found)) == Verdict::Sat) {
    const int end = rules == Rules::Paper ? detour(model, found) : 0;
    if (end == 0) break;
    found.resize(end);
    finder.block(found);
  }
  result.complete = verdict != Verdict::Unknown;
  result.nothing_longer = verdict == Verdict::Unsat;
  return result;
}

}  // namespace

StrategySet find_strategies(int levels, Rules rules, int most, StrategyEngine engine,
                            const SolveLimits& limits) {
  StrategySet result;
  if (engine == StrategyEngine::Enumeration) {
    const auto space = StrategySpace::of(levels);
    result.strategies = all_strategies(*space, rules, most);
    result.complete = true;
    // Paths in the space that do not lead to the goal are not in it, so the longest one decides.
    const int longest = space->longest();
    result.nothing_longer = longest <= most;
    // Without detours the longest may be shorter. That is seen by counting all, which is done up to three
    // levels.
    if (!result.nothing_longer && rules == Rules::Paper && levels <= 3) {
      const std::vector<long long> counts = count_strategies(*space, rules, longest);
      result.nothing_longer =
          std::all_of(counts.begin() + most + 1, counts.end(), [](long long n) { return n == 0; });
    }
  } else {
    const Model model = model_of(levels);
    std::unique_ptr<SequenceFinder> finder;
    if (engine == StrategyEngine::Sat)
      finder = std::make_unique<SatFinder>(StrategyEncoding(model.devices, model.instructions, model.reduced),
                                           limits);
    else
      finder = std::make_unique<SmtFinder>(
          StrategySmtEncoding(model.devices, model.instructions, model.reduced), limits);
    result = by_solver(model, rules, most, *finder);
  }
  sort_by_length(result.strategies);
  return result;
}

}  // namespace chorale
