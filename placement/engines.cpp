// A solver searches length by length for a sequence that ends at the goal, what it finds is blocked, and its
// last Unsat shows that there is no other; one more question, for any legal sequence that is longer, ends the
// list.
//
// All levels are of size 2, as in the space. The exploration has the meaning of instructions from the
// verifier (semantics/reduction.h), the encodings define their own. Solvers ignore detours (Rules::Paper):
// their strategies are run again by the verifier, and one that breaks a rule there stops the program.
#include "placement/engines.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "encoder/strategy_encoding.h"
#include "placement/matrices.h"
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
  virtual std::int64_t conflicts() const = 0;  // so far
};

class SatFinder : public SequenceFinder {
 public:
  SatFinder(StrategyEncoding encoding, const SolveLimits& limits, std::unique_ptr<SatSolver> solver)
      : encoding_(std::move(encoding)), solver_(std::move(solver)), limits_(limits) {}

  void extend() override { encoding_.extend(); }

  Verdict find(int length, bool at_goal, std::vector<int>& found) override {
    solver_->add(encoding_.formula(), literals_given_);
    literals_given_ = encoding_.formula().literals.size();
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

  std::int64_t conflicts() const override { return solver_->conflicts(); }

 private:
  StrategyEncoding encoding_;
  std::unique_ptr<SatSolver> solver_;
  SolveLimits limits_;
  std::size_t literals_given_ = 0;  // literals of the formula that the solver has; only new ones are added
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

  std::int64_t conflicts() const override { return session_->conflicts(); }

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

// A machine of 2^levels devices, all of which are to hold the sum over all; by these groupings, or by all.
Model model_of(int levels, const std::vector<StrategyInstruction>& groupings) {
  Model model{.devices = 1 << levels};
  std::vector<int> sizes(levels + 1, 2), all(model.devices);
  sizes[0] = 1;
  for (int d = 0; d < model.devices; ++d) all[d] = d;
  model.reduced = {all};
  for (const Grouping& grouping : all_groupings(sizes)) {
    if (!groupings.empty() && std::ranges::find(groupings, grouping.name) == groupings.end()) continue;
    for (Operation operation : kAllOperations) {
      model.names.push_back(grouping.name);
      model.names.back().operation = operation;
      model.instructions.push_back({operation, grouping.groups});
    }
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
  std::vector<int> found;
  const auto find = [&](int length, bool at_goal) {
    ++result.calls;
    const Verdict verdict = finder.find(length, at_goal, found);
    result.conflicts = finder.conflicts();
    return verdict;
  };
  for (int length = 1; length <= most; ++length) {
    finder.extend();
    Verdict verdict;
    // What is found is blocked, as it is or by its detour, so this ends: there are finitely many sequences.
    while ((verdict = find(length, true)) == Verdict::Sat) {
      const int end = rules == Rules::Paper ? detour(model, found) : 0;
      if (end > 0) found.resize(end);
      finder.block(found);
      if (end > 0) continue;
      result.strategies.emplace_back();
      for (int i : found) result.strategies.back().push_back(model.names[i]);
    }
    if (verdict == Verdict::Unknown) return result;
  }
  result.complete = true;
  // Is there any longer sequence? At the goal nothing is legal any more, so one has not reached it before its
  // end.
  finder.extend();
  Verdict verdict;
  // Under Rules::Paper a sequence with a detour proves nothing, and is skipped; one without ends the search.
  while ((verdict = find(most + 1, false)) == Verdict::Sat) {
    const int end = rules == Rules::Paper ? detour(model, found) : 0;
    if (end == 0) break;
    found.resize(end);
    finder.block(found);
  }
  result.nothing_longer = verdict == Verdict::Unsat;
  return result;
}

// Along the edges of the space; its charges are what a machine prices.
PricedStrategy along(const StrategySpace& space, const Strategy& strategy) {
  PricedStrategy result{.instructions = strategy};
  int state = space.start();
  for (const StrategyInstruction& instruction : strategy) {
    const auto edge = std::ranges::find(space.edges(state), instruction, &StrategySpace::Edge::instruction);
    if (edge == space.edges(state).end())
      throw std::logic_error("a solver found a strategy that the space does not have");
    result.charges.push_back(edge->charge);
    state = edge->to;
  }
  return result;
}

}  // namespace

StrategySet find_strategies(int levels, Rules rules, int most, PlaceEngine engine, const SolveLimits& limits,
                            const std::vector<StrategyInstruction>& groupings, Solver solver,
                            const std::string& ipasir) {
  const Model model = model_of(levels, groupings);
  std::unique_ptr<SequenceFinder> finder;
  if (engine == PlaceEngine::Sat)
    finder = std::make_unique<SatFinder>(StrategyEncoding(model.devices, model.instructions, model.reduced),
                                         limits, make_solver(solver, 0, nullptr, ipasir));
  else
    finder = std::make_unique<SmtFinder>(
        StrategySmtEncoding(model.devices, model.instructions, model.reduced), limits);
  StrategySet result = by_solver(model, rules, most, *finder);
  sort_by_length(result.strategies);
  return result;
}

namespace {

double seconds_since(std::chrono::steady_clock::time_point started) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

}  // namespace

const std::vector<PricedStrategy>& StrategySolver::strategies(
    const StrategySpace& space, const std::vector<StrategyInstruction>& groupings) {
  const auto [at, added] = found_.try_emplace({space.levels(), groupings});
  if (!added) return at->second;
  const auto started = std::chrono::steady_clock::now();
  const StrategySet set = find_strategies(space.levels(), options_.rules, kMostCounted, options_.engine,
                                          options_.limits, groupings, options_.solver, options_.ipasir);
  for (const Strategy& strategy : set.strategies) at->second.push_back(along(space, strategy));
  report_.strategies += std::ssize(set.strategies);
  report_.calls += set.calls;
  report_.conflicts += set.conflicts;
  report_.seconds += seconds_since(started);
  report_.complete = report_.complete && set.complete;
  report_.nothing_longer = set.nothing_longer && (report_.nothing_longer || found_.size() == 1);
  return at->second;
}

// Formulas of matrices are the same for both; with Smt they go to Z3's SAT solver.
std::vector<ParallelismMatrix> StrategySolver::matrices(const Hierarchy& hierarchy,
                                                        const std::vector<Axis>& axes,
                                                        const Conditions& conditions) {
  const auto started = std::chrono::steady_clock::now();
  const auto solver = make_solver(options_.engine == PlaceEngine::Sat ? options_.solver : Solver::Z3, 0,
                                  nullptr, options_.ipasir);
  const SolvedMatrices solved = solve_matrices(hierarchy, axes, conditions, *solver, options_.limits);
  report_.calls += solved.calls;
  report_.conflicts += solver->conflicts();
  report_.seconds += seconds_since(started);
  report_.complete = report_.complete && solved.complete;
  return solved.matrices;
}

}  // namespace chorale
