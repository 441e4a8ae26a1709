// The adapter to any library with the functions of IPASIR, the interface of incremental SAT solvers (Balyo,
// Biere, Iser and Sinz: SAT Race 2015), loaded when it is asked for: a newer CaDiCaL, or what else there is.
//
// Nothing that such a library answers is taken on trust. A model is evaluated on all clauses; a refutation
// has no proof, so CaDiCaL is asked the same question, and its answer counts. Clauses are kept for both. What
// lost: to take a refutation where a proof is made of it later anyway, since whether one is depends on the
// caller, and one that forgets would turn a mistake of the library into a claim.
//
// IPASIR has no limit on conflicts: the clauses that it learns are counted, and the function by which it asks
// whether to go on refuses. How many more conflicts there are depends on how often a library asks: CaDiCaL,
// every few hundred.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "ir/error.h"
#include "solvers/deadline.h"
#include "solvers/sat_solver.h"

namespace chorale {
namespace {

class IpasirLibrary {
 public:
  explicit IpasirLibrary(const std::string& file) : file_(file) {
    if (file.empty()) throw InputError("--ipasir", "no library is given", "add --ipasir FILE.so");
    handle_.reset(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (handle_ == nullptr) throw InputError(file, dlerror(), "give the path of a shared library");
    find(init, "ipasir_init");
    find(release, "ipasir_release");
    find(add, "ipasir_add");
    find(assume, "ipasir_assume");
    find(solve, "ipasir_solve");
    find(val, "ipasir_val");
    find(set_terminate, "ipasir_set_terminate");
    find(set_learn, "ipasir_set_learn");
  }

  const std::string& file() const { return file_; }

  void* (*init)() = nullptr;
  void (*release)(void*) = nullptr;
  void (*add)(void*, int literal_or_zero) = nullptr;
  void (*assume)(void*, int literal) = nullptr;
  int (*solve)(void*) = nullptr;
  int (*val)(void*, int literal) = nullptr;
  void (*set_terminate)(void*, void* state, int (*terminate)(void* state)) = nullptr;
  void (*set_learn)(void*, void* state, int longest, void (*learn)(void* state, int* clause)) = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle_.get(), name));
    if (function == nullptr)
      throw InputError(file_, std::string("has no function ") + name,
                       "give a library with IPASIR's functions");
  }

  const std::string file_;
  std::unique_ptr<void, int (*)(void*)> handle_{nullptr, dlclose};
};

class Ipasir final : public SatSolver {
 public:
  Ipasir(const std::string& file, int seed) : library_(file), solver_(library_.init()), seed_(seed) {
    library_.set_terminate(solver_, this,
                           [](void* self) { return int{static_cast<Ipasir*>(self)->is_over()}; });
    library_.set_learn(solver_, this, INT_MAX,
                       [](void* self, int*) { ++static_cast<Ipasir*>(self)->conflicts_; });
  }
  ~Ipasir() override { library_.release(solver_); }
  Ipasir(const Ipasir&) = delete;
  Ipasir& operator=(const Ipasir&) = delete;

  std::string name() const override { return "ipasir"; }

  using SatSolver::add;
  void add(std::span<const Lit> clause) override {
    for (Lit lit : clause) {
      library_.add(solver_, lit);
      variables_ = std::max(variables_, std::abs(lit));
    }
    library_.add(solver_, 0);
    clauses_.add(clause);
  }

  Verdict solve(std::span<const Lit> assumptions, const SolveLimits& limits) override {
    deadline_ = Deadline(limits);
    most_conflicts_ = limits.conflicts < 0 ? -1 : conflicts_ + limits.conflicts;
    if (is_over()) return Verdict::Unknown;
    for (Lit lit : assumptions) {
      library_.assume(solver_, lit);
      variables_ = std::max(variables_, std::abs(lit));
    }
    switch (library_.solve(solver_)) {
      case 10:
        take_model(assumptions);
        return Verdict::Sat;
      case 20:
        return ask_cadical(assumptions, limits.conflicts);
      default:
        return Verdict::Unknown;
    }
  }

  bool value(Lit variable) const override {
    return static_cast<std::size_t>(variable) < model_.size() && model_[variable];
  }
  std::int64_t conflicts() const override {
    return conflicts_ + (cadical_ == nullptr ? 0 : cadical_->conflicts());
  }

 private:
  bool is_over() const { return deadline_.over() || (most_conflicts_ >= 0 && conflicts_ >= most_conflicts_); }

  // Throws where a clause or an assumption is false in it.
  void take_model(std::span<const Lit> assumptions) {
    model_.assign(variables_ + 1, false);
    for (Lit v = 1; v <= variables_; ++v) model_[v] = library_.val(solver_, v) > 0;
    const auto is_true = [this](Lit lit) { return model_[std::abs(lit)] == (lit > 0); };
    bool holds = std::ranges::all_of(assumptions, is_true), clause = false;
    for (Lit lit : clauses_.literals) {
      if (lit == 0)
        holds = holds && std::exchange(clause, false);
      else
        clause = clause || is_true(lit);
    }
    if (!holds)
      throw InputError(library_.file(), "its model does not satisfy the formula", "take another solver");
  }

  Verdict ask_cadical(std::span<const Lit> assumptions, std::int64_t conflicts) {
    const std::optional<SolveLimits> limits = deadline_.limits(conflicts);
    if (!limits) return Verdict::Unknown;
    if (cadical_ == nullptr) cadical_ = make_solver(Solver::Cadical, seed_);
    cadical_->add(clauses_, known_to_cadical_);
    known_to_cadical_ = clauses_.literals.size();
    const Verdict verdict = cadical_->solve(assumptions, *limits);
    if (verdict == Verdict::Sat) model_ = cadical_->model(variables_);
    return verdict;
  }

  const IpasirLibrary library_;
  void* const solver_;
  const int seed_;  // of CaDiCaL: IPASIR has none
  Formula clauses_ = {};
  Lit variables_ = 0;
  Assignment model_ = {};
  std::int64_t conflicts_ = 0, most_conflicts_ = -1;
  Deadline deadline_ = {};  // of the call that is solving
  std::unique_ptr<SatSolver> cadical_ = {};
  std::size_t known_to_cadical_ = 0;
};

}  // namespace

std::unique_ptr<SatSolver> make_ipasir(int seed, std::FILE*, const std::string& library) {
#ifdef CHORALE_IPASIR
  return std::make_unique<Ipasir>(library.empty() ? CHORALE_IPASIR : library, seed);
#else
  return std::make_unique<Ipasir>(library, seed);
#endif
}

}  // namespace chorale
