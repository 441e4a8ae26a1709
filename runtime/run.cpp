// One plan a row and rank, over threads or processes alike; runtime/rows.h has what is done with it.
#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ir/error.h"
#include "ir/step_rows.h"
#include "runtime/exchange/threads.h"
#include "runtime/rows.h"

namespace chorale {
namespace {

// Which rows there are follows from the options alone, so all ranks come to each row's barriers.
std::vector<RunRow> rows(const Verified<Program>& program, const StepRows& steps, const RunOptions& options,
                         Transport& transport, const PlanCheck& check) {
  const auto make_plan = [&](const BlockShape& shape) {
    return RankPlan(program, steps, transport.rank(), shape, check);
  };
  return rows(make_plan, !reduces(*program), program.collective(), options, transport);
}

// A plan with buffers of its caller's. It copies in and out, as a program does whose buffers are not those of
// a plan.
class CopiedPlan {
 public:
  CopiedPlan(const Verified<Program>& program, const StepRows& steps, Rank n, const BlockShape& shape,
             const PlanCheck& check)
      : plan_(program, steps, n, shape, check),
        input_(plan_.input().size()),
        output_(plan_.output().size()) {}

  // The buffers of the caller, not those of the plan.
  std::span<std::byte> input() { return input_; }
  std::span<std::byte> output() { return output_; }
  bool in_place() const { return false; }

  void execute(ReduceOp op, Transport& transport) {
    std::ranges::copy(input_, plan_.input().begin());
    plan_.execute(op, transport);
    std::ranges::copy(plan_.output(), output_.begin());
  }

 private:
  RankPlan plan_;
  std::vector<std::byte> input_, output_;
};

}  // namespace

// Times of a row are the slowest rank's, which all learn: the first rank's rows are those of the run.
std::vector<RunRow> run_on_threads(const Verified<Program>& program, const RunOptions& options,
                                   const PlanCheck& plan_check) {
  check(options);
  std::vector<RunRow> result;
  const StepRows steps = step_rows(program);
  // Each thread has its plan; tables of steps are shared, since none writes them.
  on_thread_ranks(
      static_cast<int>(program->ranks.size()),
      [&](Transport& transport) {
        std::vector<RunRow> mine = rows(program, steps, options, transport, plan_check);
        if (transport.rank() == 0) result = std::move(mine);
      },
      options.timeout);
  return result;
}

// Each process returns all rows, with equal times.
std::vector<RunRow> run_on_mpi(MpiSession& session, const Verified<Program>& program,
                               const RunOptions& options, const PlanCheck& plan_check) {
  check(options);
  require_ranks(session, program->name, static_cast<int>(program->ranks.size()));
  return rows(program, step_rows(program), options, *session.transport(options.timeout), plan_check);
}

// What a caller pays that has buffers of its own, as MPI's have: both copies are inside the time.
std::vector<RunRow> run_copied_on_mpi(MpiSession& session, const Verified<Program>& program,
                                      const RunOptions& options, const PlanCheck& plan_check) {
  check(options);
  require_ranks(session, program->name, static_cast<int>(program->ranks.size()));
  const std::unique_ptr<Transport> transport = session.transport(options.timeout);
  const StepRows steps = step_rows(program);
  const auto make_plan = [&](const BlockShape& shape) {
    return CopiedPlan(program, steps, transport->rank(), shape, plan_check);
  };
  return rows(make_plan, !reduces(*program), program.collective(), options, *transport);
}

// A wrong size would be a copy beyond a buffer, hence the test of each input.
std::vector<std::vector<std::byte>> outputs_of(const Verified<Program>& program, const BlockShape& shape,
                                               ReduceOp op, const std::vector<std::vector<std::byte>>& inputs,
                                               std::chrono::milliseconds timeout,
                                               const PlanCheck& plan_check) {
  std::vector<std::vector<std::byte>> outputs(program->ranks.size());
  const StepRows steps = step_rows(program);
  on_thread_ranks(
      static_cast<int>(program->ranks.size()),
      [&](Transport& transport) {
        const Rank n = transport.rank();
        RankPlan plan(program, steps, n, shape, plan_check);
        if (plan.input().size() != inputs.at(n).size())
          throw std::invalid_argument(
              fmt::format("rank {}: {} bytes of input, not {}", n, inputs[n].size(), plan.input().size()));
        std::ranges::copy(inputs[n], plan.input().begin());
        plan.execute(op, transport);
        outputs[n].assign(plan.output().begin(), plan.output().end());
      },
      timeout);
  return outputs;
}

}  // namespace chorale
