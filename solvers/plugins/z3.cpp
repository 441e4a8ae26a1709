// libchorale-z3: the adapter to Z3 (de Moura and Bjorner), by its C++ interface.
//
// Three interfaces: a session takes text after text and keeps its assertions (strategies, one instruction
// longer at a time), a single question is parsed into a solver of its own (SCCL's encoding), and clauses go
// to Z3's SAT solver. Z3 throws errors as its own exceptions or reports them as text; out of memory is
// distinguished, since it is a separate end of a search here.
#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include "ir/plugin.h"
#include "solvers/plugins/tables.h"

namespace chorale {
namespace {

// Interrupts the context when the stop flag becomes true or the time is over. Z3 has no callback for the
// first, and its own timers (4.8.12) can wait for each other forever.
class Watcher {
 public:
  Watcher(Z3_context context, const SolveLimits& limits) {
    if (limits.stop == nullptr && limits.time.count() < 0) return;
    const auto start = std::chrono::steady_clock::now();
    thread_ = std::jthread([context, limits, start](const std::stop_token& done) {
      while (!done.stop_requested()) {
        const bool late = limits.time.count() >= 0 && std::chrono::steady_clock::now() - start >= limits.time;
        if (late || (limits.stop != nullptr && *limits.stop)) Z3_interrupt(context);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }

 private:
  std::jthread thread_;
};

// z3::context checks its allocation only after using it.
void require_memory_for_a_context() {
  const Z3_config config = Z3_mk_config();
  const Z3_context context = config == nullptr ? nullptr : Z3_mk_context_rc(config);
  if (config != nullptr) Z3_del_config(config);
  if (context == nullptr) throw std::bad_alloc();
  Z3_del_context(context);
}

bool tells_of_memory(const std::string& said) {
  return said.find("out of memory") != std::string::npos;
}

long long value_of(const z3::model& model, const z3::func_decl& constant) {
  const z3::expr value = model.eval(constant(), true);
  if (value.is_bool()) return value.is_true() ? 1 : 0;
  return value.get_numeral_int64();
}

// Z3 names it "conflicts" or "sat conflicts", by the solver that it has chosen, and adds up over questions.
std::int64_t conflicts_in(const z3::stats& statistics) {
  std::int64_t conflicts = 0;
  for (unsigned i = 0; i < statistics.size(); ++i)
    if (statistics.is_uint(i) && statistics.key(i).ends_with("conflicts"))
      conflicts = std::max<std::int64_t>(conflicts, statistics.uint_value(i));
  return conflicts;
}

// The limits are of the search alone, and not of what was added before. Unknown, too, where it is interrupted
// while it simplifies.
Verdict checked(z3::context& context, z3::solver& solver, const z3::expr_vector& assumed,
                const SolveLimits& limits) {
  const Watcher watcher(context, limits);
  try {
    switch (solver.check(assumed)) {
      case z3::sat:
        return Verdict::Sat;
      case z3::unsat:
        return Verdict::Unsat;
      case z3::unknown:
        break;
    }
  } catch (const z3::exception& error) {
    if (tells_of_memory(error.msg())) throw std::bad_alloc();
  }
  return Verdict::Unknown;
}

// Its solver of finite domains is its incremental SAT solver where all is Boolean.
class Z3Sat final : public SatSolver {
 public:
  explicit Z3Sat(int seed) : solver_(context_, "QF_FD") {
    parameters_.set("random_seed", static_cast<unsigned>(seed));
    solver_.set(parameters_);
  }

  std::string name() const override { return "z3"; }

  using SatSolver::add;
  void add(std::span<const Lit> clause) override {
    z3::expr_vector literals(context_);
    for (Lit lit : clause) literals.push_back(literal(lit));
    solver_.add(z3::mk_or(literals));
  }

  Verdict solve(std::span<const Lit> assumptions, const SolveLimits& limits) override {
    z3::expr_vector assumed(context_);
    for (Lit lit : assumptions) assumed.push_back(literal(lit));
    parameters_.set("max_conflicts", limits.conflicts < 0 ? UINT_MAX
                                                          : static_cast<unsigned>(std::min<std::int64_t>(
                                                                limits.conflicts, UINT_MAX)));
    solver_.set(parameters_);
    model_.reset();
    const Verdict verdict = checked(context_, solver_, assumed, limits);
    if (verdict == Verdict::Sat) model_.emplace(solver_.get_model());
    return verdict;
  }

  bool value(Lit variable) const override {
    const std::size_t at = static_cast<std::size_t>(variable);
    return at < variables_.size() && model_->eval(variables_[at], true).is_true();
  }

  std::int64_t conflicts() const override { return conflicts_in(solver_.statistics()); }

 private:
  z3::expr literal(Lit lit) {
    const std::size_t variable = static_cast<std::size_t>(std::abs(lit));
    while (variables_.size() <= variable)
      variables_.push_back(context_.bool_const(("v" + std::to_string(variables_.size())).c_str()));
    return lit > 0 ? variables_[variable] : !variables_[variable];
  }

  z3::context context_;
  z3::solver solver_;
  z3::params parameters_{context_};
  std::vector<z3::expr> variables_ = {};
  std::optional<z3::model> model_ = {};  // after Sat
};

std::unique_ptr<SatSolver> make_sat(int seed) {
  require_memory_for_a_context();
  return std::make_unique<Z3Sat>(seed);
}

class Z3Session final : public SmtSession {
 public:
  explicit Z3Session(const SolveLimits& limits) : limits_(limits) {}

  void add(const std::string& commands) override { evaluate(commands); }

  Verdict ask(const std::string& term, const std::vector<std::string>& wanted,
              std::vector<long long>& values) override {
    std::string said;
    {
      const Watcher watcher(context_, limits_);
      // The term holds for this question only. Values are asked for before (pop), which forgets the model.
      said = evaluate("(push)\n(assert " + term + ")\n(check-sat)\n");
    }
    Verdict verdict = Verdict::Unknown;
    if (said.rfind("unsat", 0) == 0) verdict = Verdict::Unsat;
    if (said.rfind("sat", 0) == 0) verdict = Verdict::Sat;
    if (verdict == Verdict::Sat) {
      values.clear();
      for (const std::string& name : wanted) {
        // "((name 7))"
        const std::string answer = evaluate("(get-value (" + name + "))");
        const std::size_t at = answer.find(name + " ");
        if (at == std::string::npos) throw std::logic_error("no value: " + answer.substr(0, 100));
        values.push_back(std::stoll(answer.substr(at + name.size() + 1)));
      }
    }
    // "(:conflicts 12 ...": those of all questions. A session without any has no such entry.
    const std::string statistics = evaluate("(get-info :all-statistics)"), key = ":conflicts";
    if (const std::size_t at = statistics.find(key + " "); at != std::string::npos)
      conflicts_ = std::max<std::int64_t>(conflicts_, std::stoll(statistics.substr(at + key.size())));
    evaluate("(pop)");
    return verdict;
  }

  std::int64_t conflicts() const override { return conflicts_; }

 private:
  // Z3 prints errors where answers are. An interrupted question is among them ("canceled") and is no error:
  // its verdict is Unknown.
  std::string evaluate(const std::string& commands) {
    const std::string said = Z3_eval_smtlib2_string(context_, commands.c_str());
    if (tells_of_memory(said)) throw std::bad_alloc();
    if (said.find("(error") != std::string::npos && said.find("cancel") == std::string::npos)
      throw std::logic_error("SMT-LIB text refused: " + said.substr(0, 300));
    return said;
  }

  z3::context context_;
  SolveLimits limits_;
  std::int64_t conflicts_ = 0;
};

std::unique_ptr<SmtSession> make_session(const SolveLimits& limits) {
  require_memory_for_a_context();
  return std::make_unique<Z3Session>(limits);
}

// A solver of its own for each text: its statistics then have the conflicts of this question alone.
SmtAnswer solve_in_z3(const std::string& text, const std::vector<std::string>& wanted,
                      const SolveLimits& limits) {
  SmtAnswer answer;
  z3::context context;
  z3::solver solver(context);
  z3::params params(context);
  if (limits.conflicts >= 0)
    params.set("max_conflicts", static_cast<unsigned>(std::min<std::int64_t>(limits.conflicts, UINT_MAX)));
  solver.set(params);
  solver.from_string(text.c_str());
  answer.verdict = checked(context, solver, z3::expr_vector(context), limits);
  answer.conflicts = conflicts_in(solver.statistics());
  if (answer.verdict != Verdict::Sat) return answer;
  const z3::model model = solver.get_model();
  std::map<std::string, z3::func_decl> constants;
  for (unsigned i = 0; i < model.num_consts(); ++i)
    constants.emplace(model.get_const_decl(i).name().str(), model.get_const_decl(i));
  for (const std::string& name : wanted) {
    const auto at = constants.find(name);
    answer.values[name] =
        at == constants.end() ? 0 : value_of(model, at->second);  // not constrained: any value
  }
  return answer;
}

SmtAnswer solve_text(const std::string& text, const std::vector<std::string>& wanted,
                     const SolveLimits& limits) {
  require_memory_for_a_context();
  try {
    return solve_in_z3(text, wanted, limits);
  } catch (const z3::exception& error) {
    if (tells_of_memory(error.msg())) throw std::bad_alloc();
    throw;
  }
}

}  // namespace
}  // namespace chorale

CHORALE_PLUGIN chorale_z3_plugin() {
  static const chorale::Z3Plugin plugin = {.make_session = chorale::make_session,
                                           .make_sat = chorale::make_sat,
                                           .solve_text = chorale::solve_text};
  return &plugin;
}
