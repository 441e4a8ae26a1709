// The entry point: one question, one answer, and every schedule that leaves is verified. Time is that of this
// thread, so that other load of the computer is not counted.
#include "pareto/synthesize.h"

#include <time.h>

#include <stdexcept>

#include "pareto/instance_solver.h"
#include "semantics/verify.h"
#include "solvers/deadline.h"

namespace chorale {
namespace {

double cpu_now() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

Answer synthesize(const Topology& topology, const Collective& collective, const Budget& budget,
                  const SynthesisOptions& options) {
  const double started = cpu_now();
  Answer answer = InstanceSolver(topology, collective, options).ask(budget, Deadline(options.limits));
  if (answer.point)
    if (const auto wrong = violations(topology, collective, answer.point->schedule); !wrong.empty())
      throw std::logic_error("a schedule of our own is wrong: " + wrong.front().words);
  answer.cpu_seconds = cpu_now() - started;
  if (answer.point) answer.point->seconds = answer.cpu_seconds;
  return answer;
}

}  // namespace chorale
