// How a plan is checked and timed, over any transport. For the files of this room that run plans.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "ir/collective.h"
#include "ir/error.h"
#include "ir/run_options.h"
#include "ir/words.h"
#include "runtime/exchange/transport.h"
#include "runtime/test_data.h"

namespace chorale {

inline void check(const RunOptions& options) {
  for (std::int64_t bytes : options.bytes)
    if (bytes < 0 || bytes > std::int64_t{1} << 40)
      throw InputError("run", fmt::format("a block of {} bytes", bytes), "use 0 to 1T");
  if (options.iterations < 1)
    throw InputError("run", fmt::format("{} iterations", options.iterations), "use at least 1");
  if (options.warm_up < 0)
    throw InputError("run", fmt::format("{} iterations of warm-up", options.warm_up), "use at least 0");
}

// Of an MpiSession, or of a Transport over its ranks.
template <typename Started>
void require_ranks(const Started& started, const std::string& name, int ranks) {
  if (started.ranks() != ranks)
    throw InputError(name,
                     fmt::format("needs {}, mpirun started {}", counted(ranks, "rank"), started.ranks()),
                     fmt::format("use mpirun -n {}", ranks));
}

// A plan has buffers input() and output(), a predicate in_place(), and execute(op, transport). One that works
// elsewhere, on a GPU, has upload() and download() as well, of both buffers.

// Elements that are wrong after one run over spoilt outputs, in this rank.
template <typename Plan>
std::int64_t wrong_in_one_run(Plan& plan, const TestData& data, ReduceOp op, Transport& transport) {
  TestData::spoil_output(plan.output());
  if (plan.in_place()) data.fill_input(transport.rank(), plan.input());
  if constexpr (requires { plan.upload(); }) plan.upload();
  plan.execute(op, transport);
  if constexpr (requires { plan.download(); }) plan.download();
  EpilogueFunction epilogue;
  if constexpr (requires { plan.epilogue(); }) epilogue = plan.epilogue().reference();
  return data.wrong_elements(transport.rank(), plan.output(), epilogue) +
         (plan.in_place() ? 0 : data.changed_elements(transport.rank(), plan.input()));
}

// Whether all ranks have the same bits of the data that they all receive, after a run on data whose sums are
// rounded.
inline bool balanced(double sum_of_imbalances) {
  return std::fmod(sum_of_imbalances, std::exp2(40)) == 0;
}
template <typename Plan>
bool agrees_in_one_run(Plan& plan, const Collective& collective, const BlockShape& shape, ReduceOp op,
                       std::uint64_t seed, Transport& transport) {
  const TestData data(collective, shape, op, seed, Sums::Rounded);
  TestData::spoil_output(plan.output());
  data.fill_input(transport.rank(), plan.input());
  if constexpr (requires { plan.upload(); }) plan.upload();
  plan.execute(op, transport);
  if constexpr (requires { plan.download(); }) plan.download();
  const std::int64_t mine = data.imbalance(transport.rank(), plan.output());
  return balanced(transport.sum(static_cast<double>(mine)));
}

// Of each timed run, of its slowest rank.
template <typename Plan>
std::vector<double> times_us(Plan& plan, ReduceOp op, const RunOptions& options, Transport& transport) {
  std::vector<double> times;
  for (int i = -options.warm_up; i < options.iterations; ++i) {
    transport.barrier();
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    plan.execute(op, transport);
    const double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    if (i >= 0) times.push_back(us);
  }
  for (double& us : times) us = transport.most(us);
  return times;
}

// The times of a row, from those of its runs; requires buffer_bytes.
inline void put_times(RunRow& row, std::vector<double> times) {
  std::ranges::sort(times);
  row.median_us = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  row.min_us = times.front();
  row.max_us = times.back();
  row.algbw = row.median_us > 0 ? static_cast<double>(row.buffer_bytes) / row.median_us / 1e3 : 0;
}

template <typename Plan>
RunRow run_row(Plan& plan, const Collective& collective, const BlockShape& shape, ReduceOp op,
               const RunOptions& options, Transport& transport) {
  const bool agrees =
      !options.check || agrees_in_one_run(plan, collective, shape, op, options.seed, transport);
  const TestData data(collective, shape, op, options.seed);
  data.fill_input(transport.rank(), plan.input());
  std::int64_t wrong = options.check ? wrong_in_one_run(plan, data, op, transport) : 0;
  const std::vector<double> times = times_us(plan, op, options, transport);
  if (options.check) wrong += wrong_in_one_run(plan, data, op, transport);

  const WireUnit unit = unit_on_wire(shape.type, shape.wire);
  const std::int64_t block = (shape.elements + unit.elements - 1) / unit.elements * unit.bytes;
  const double largest = shape.elements == 0
                             ? 0
                             : static_cast<double>(std::max(plan.input().size(), plan.output().size())) /
                                   static_cast<double>(size_of(shape.type)) /
                                   static_cast<double>(shape.elements) * static_cast<double>(block);
  RunRow row{.bytes = block,
             .buffer_bytes = static_cast<std::int64_t>(transport.most(largest)),
             .type = shape.type,
             .op = op,
             .agrees = agrees};
  put_times(row, times);
  row.wrong = static_cast<std::int64_t>(transport.sum(static_cast<double>(wrong)));
  return row;
}

// A plan of all ranks at once, in this process, has ranks(), in_place(), input_bytes(rank), write_input(rank,
// bytes), spoil_output(rank), copies input(rank) and output(rank) of what is there after a run, and
// run(times, before): the microseconds of each time, where before(i) is called while all ranks rest.

// Inputs are written between runs, untimed: in place a run leaves none for the next one.
template <typename Plan>
RunRow run_row_of_all(Plan& plan, const Collective& collective, const BlockShape& shape, ReduceOp op,
                      const RunOptions& options, const EpilogueFunction& epilogue = {}) {
  const TestData data(collective, shape, op, options.seed);
  RunRow row{
      .bytes = shape.elements * static_cast<std::int64_t>(size_of(shape.type)), .type = shape.type, .op = op};
  std::vector<std::vector<std::byte>> inputs(plan.ranks());
  for (Rank n = 0; n < plan.ranks(); ++n) {
    inputs[n].resize(plan.input_bytes(n));
    data.fill_input(n, inputs[n]);
  }
  const auto prepare = [&](int) {
    for (Rank n = 0; n < plan.ranks(); ++n) {
      plan.spoil_output(n);
      plan.write_input(n, inputs[n]);
    }
  };
  const auto count_wrong = [&] {
    for (Rank n = 0; n < plan.ranks(); ++n) {
      const std::vector<std::byte> output = plan.output(n);
      row.wrong += data.wrong_elements(n, output, epilogue);
      if (!plan.in_place()) row.wrong += data.changed_elements(n, plan.input(n));
      row.buffer_bytes = std::max<std::int64_t>({row.buffer_bytes, static_cast<std::int64_t>(output.size()),
                                                 static_cast<std::int64_t>(inputs[n].size())});
    }
  };
  plan.run(1, prepare);
  count_wrong();
  const TestData rounded(collective, shape, op, options.seed, Sums::Rounded);
  double imbalances = 0;
  plan.run(1, [&](int) {
    for (Rank n = 0; n < plan.ranks(); ++n) {
      std::vector<std::byte> input(plan.input_bytes(n));
      rounded.fill_input(n, input);
      plan.spoil_output(n);
      plan.write_input(n, input);
    }
  });
  for (Rank n = 0; n < plan.ranks(); ++n)
    imbalances += static_cast<double>(rounded.imbalance(n, plan.output(n)));
  row.agrees = balanced(imbalances);
  std::vector<double> times = plan.run(options.warm_up + options.iterations, prepare);
  count_wrong();
  times.erase(times.begin(), times.begin() + options.warm_up);
  put_times(row, std::move(times));
  return row;
}

// row(shape, op) by types, then ops, then bytes.
template <typename Row>
std::vector<RunRow> for_all_rows(const RunOptions& options, Row row) {
  std::vector<RunRow> result;
  for (ElementType type : options.types)
    for (ReduceOp op : options.ops)
      for (std::int64_t bytes : options.bytes)
        result.push_back(row(BlockShape{.type = type,
                                        .elements = elements_in(bytes, unit_on_wire(type, options.wire)),
                                        .accumulation = options.accumulation,
                                        .wire = options.wire},
                             op));
  return result;
}

// make_plan(shape) for each row; only the first op if all do the same.
template <typename MakePlan>
std::vector<RunRow> rows(MakePlan make_plan, bool one_op, const Collective& collective, RunOptions options,
                         Transport& transport) {
  if (one_op && !options.ops.empty()) options.ops = {options.ops.front()};
  return for_all_rows(options, [&](const BlockShape& shape, ReduceOp op) {
    auto plan = make_plan(shape);
    return run_row(plan, collective, shape, op, options, transport);
  });
}

}  // namespace chorale
