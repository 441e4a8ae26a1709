// One plan a row and rank, over threads or processes alike; runtime/rows.h has what is done with it.
#include "runtime/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "ir/error.h"
#include "runtime/rows.h"
#include "runtime/thread_transport.h"

namespace chorale {
namespace {

std::vector<RunRow> rows(const Program& program, const Collective& collective, const RunOptions& options,
                         Transport& transport) {
  const auto make_plan = [&](const BlockShape& shape) { return RankPlan(program, transport.rank(), shape); };
  return rows(make_plan, !reduces(program), collective, options, transport);
}

}  // namespace

std::vector<RunRow> run_on_threads(const Program& program, const Collective& collective,
                                   const RunOptions& options) {
  check(options);
  std::vector<RunRow> result;
  on_threads(program, options.timeout, [&](Transport& transport) {
    std::vector<RunRow> mine = rows(program, collective, options, transport);
    if (transport.rank() == 0) result = std::move(mine);
  });
  return result;
}

std::vector<RunRow> run_on_mpi(MpiSession& session, const Program& program, const Collective& collective,
                               const RunOptions& options) {
  check(options);
  require_ranks(session, program.name, static_cast<int>(program.ranks.size()));
  return rows(program, collective, options, *session.transport(options.timeout));
}

std::vector<std::vector<std::byte>> outputs_of(const Program& program, const BlockShape& shape, ReduceOp op,
                                               const std::vector<std::vector<std::byte>>& inputs,
                                               std::chrono::milliseconds timeout) {
  std::vector<std::vector<std::byte>> outputs(program.ranks.size());
  on_threads(program, timeout, [&](Transport& transport) {
    const Rank n = transport.rank();
    RankPlan plan(program, n, shape);
    if (plan.input().size() != inputs.at(n).size())
      throw std::invalid_argument(
          fmt::format("rank {}: {} bytes of input, not {}", n, inputs[n].size(), plan.input().size()));
    std::ranges::copy(inputs[n], plan.input().begin());
    plan.execute(op, transport);
    outputs[n].assign(plan.output().begin(), plan.output().end());
  });
  return outputs;
}

}  // namespace chorale
