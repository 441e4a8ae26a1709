// A library with the functions of IPASIR, made of CaDiCaL, as someone else's solver would come; and, with
// ANSWER, one that gives this answer to every question, with a model in which all variables are false.
#include <cadical.hpp>
#include <vector>

namespace {

struct Solver final : CaDiCaL::Terminator, CaDiCaL::Learner {
  bool terminate() override { return stop != nullptr && stop(stop_state) != 0; }
  bool learning(int size) override { return learned != nullptr && size <= longest; }
  void learn(int literal) override {
    clause.push_back(literal);
    if (literal != 0) return;
    learned(learned_state, clause.data());
    clause.clear();
  }

  CaDiCaL::Solver cadical;
  std::vector<int> clause;
  int longest = 0;
  void* stop_state = nullptr;
  void* learned_state = nullptr;
  int (*stop)(void*) = nullptr;
  void (*learned)(void*, int*) = nullptr;
};

Solver& of(void* solver) {
  return *static_cast<Solver*>(solver);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char* ipasir_signature() {
  return "test";
}
EXPORTED void* ipasir_init() {
  auto* solver = new Solver;
  solver->cadical.set("quiet", 1);
  solver->cadical.connect_terminator(solver);
  solver->cadical.connect_learner(solver);
  return solver;
}
EXPORTED void ipasir_release(void* solver) {
  of(solver).cadical.disconnect_learner();
  of(solver).cadical.disconnect_terminator();
  delete &of(solver);
}
EXPORTED void ipasir_add(void* solver, int literal) {
  of(solver).cadical.add(literal);
}
EXPORTED void ipasir_assume(void* solver, int literal) {
  of(solver).cadical.assume(literal);
}
EXPORTED void ipasir_set_terminate(void* solver, void* state, int (*stop)(void*)) {
  of(solver).stop_state = state;
  of(solver).stop = stop;
}
EXPORTED void ipasir_set_learn(void* solver, void* state, int longest, void (*learned)(void*, int*)) {
  of(solver).learned_state = state;
  of(solver).longest = longest;
  of(solver).learned = learned;
}
#ifdef ANSWER
EXPORTED int ipasir_solve(void*) {
  return ANSWER;
}
EXPORTED int ipasir_val(void*, int literal) {
  return -literal;
}
#else
EXPORTED int ipasir_solve(void* solver) {
  return of(solver).cadical.solve();
}
EXPORTED int ipasir_val(void* solver, int literal) {
  return of(solver).cadical.val(literal);
}
#endif
