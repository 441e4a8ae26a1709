// The programs of examples/, in small, and what they compute on made-up inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ir/files.h"
#include "tensor/language/text.h"
#include "tests/tensor/interpreter.h"

namespace chorale::test {

using Sizes = std::map<std::string, std::int64_t>;

inline Workload example(const std::string& name, const Sizes& sizes, int ranks = 0) {
  const std::string file = CHORALE_SOURCE "/examples/" + name + ".chorale";
  return parse_workload(read_file(file), file, {.sizes = sizes, .ranks = ranks});
}

inline Workload as_written(const std::string& name) {
  return example(name, {});
}

// Each of them with sizes that the ranks do not divide, where programs allow it.
inline std::map<std::string, Workload> small_examples() {
  const Sizes layer = {{"B", 2}, {"S", 3}, {"H", 7}};
  return {{"sgd", example("sgd", {{"N", 37}})},
          {"adam", example("adam", {{"N", 37}})},
          {"adam_mixed", example("adam_mixed", {{"N", 37}})},
          {"lamb", example("lamb", {{"N", 37}})},
          {"self_attention", example("self_attention", layer)},
          {"mlp", example("mlp", layer)},
          {"attention", example("attention", {{"B", 1}, {"S", 3}, {"h", 4}, {"D", 2}})},
          {"swiglu", example("swiglu", {{"B", 2}, {"S", 3}, {"H", 4}, {"F", 9}})},
          {"sequence_parallel", example("sequence_parallel", {{"B", 2}, {"S", 5}, {"H", 3}})},
          {"moe_top2", example("moe_top2", {{"T", 5}, {"H", 3}, {"F", 2}, {"E", 4}, {"C", 11}})},
          {"kv_cache", example("kv_cache", {{"B", 1}, {"h", 4}, {"D", 2}, {"R", 7}, {"T", 4}})},
          {"ring_attention", example("ring_attention", {{"S", 3}, {"h", 2}, {"D", 3}})},
          {"rms_norm", example("rms_norm", layer)},
          {"rms_norm_fp8", example("rms_norm_fp8", layer)},
          {"pipeline", example("pipeline", layer)},
          {"moe", example("moe", {{"T", 8}, {"H", 3}, {"F", 5}})}};
}

// integers from 1 to 4: their sums are exact in halves, in any order.
inline std::vector<std::vector<double>> made_up(const Workload& workload, const TensorType& type) {
  const bool local = type.layout.kind == LayoutKind::Local;
  const std::int64_t length = elements(type) * (local ? ranks_of(workload, type) : 1);
  const int tensors = type.scope == Scope::World ? 1 : type.last_group - type.first_group + 1;
  std::vector<std::vector<double>> result(tensors);
  for (int t = 0; t < tensors; ++t)
    for (std::int64_t i = 0; i < length; ++i)
      result[t].push_back(static_cast<double>(1 + (i * 7 + t + i / 5) % 4));
  return result;
}

using Inputs = std::map<std::string, std::vector<std::vector<double>>>;  // by name: of each group, composed

inline Inputs made_up_inputs(const Workload& workload) {
  Inputs inputs;
  for (const Operation& operation : workload.operations)
    if (operation.kind == OperationKind::Input) inputs[operation.name] = made_up(workload, operation.type);
  return inputs;
}

inline WorkloadRun run_with(const Workload& workload, const Inputs& inputs) {
  WorkloadState state;
  for (const auto& [name, values] : inputs)
    state.tensors[name] = laid_out(workload, operation(workload, name).type, values);
  return interpret(workload, state, {.seed = 11, .order = 5});
}

// The first difference between what two programs with the same inputs return and leave in them; empty if
// there is none. Two that are no numbers are the same.
inline std::string difference(const Workload& a, const WorkloadRun& of_a, const Workload& b,
                              const WorkloadRun& of_b, double tolerance = 0) {
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) names[a.outputs[i]] = b.outputs.at(i);
  for (const Operation& operation : a.operations)
    if (operation.kind == OperationKind::Input) names[operation.name] = operation.name;
  const auto same = [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) ||
           std::abs(x - y) <= tolerance * std::max(1.0, std::abs(x));
  };
  for (const auto& [in_a, in_b] : names) {
    const auto x = whole(a, operation(a, in_a).type, of_a.state.tensors.at(in_a));
    const auto y = whole(b, operation(b, in_b).type, of_b.state.tensors.at(in_b));
    if (x.size() != y.size()) return in_a + " is of other groups";
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t i = 0; i < x[t].size(); ++i)
        if (!same(x[t][i], y[t].at(i)))
          return in_a + "[" + std::to_string(i) + "]: " + std::to_string(x[t][i]) + " and " +
                 std::to_string(y[t][i]);
  }
  return "";
}

}  // namespace chorale::test
