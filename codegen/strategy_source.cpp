// A strategy is a schedule as any other, emitted as `emit --target mpi` does. The other files are one list of
// numbers, in the form of each framework.
#include "codegen/strategy_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "codegen/mpi_source.h"
#include "codegen/passes/lower.h"
#include "codegen/strategy_schedule.h"
#include "ir/json_reader.h"

namespace chorale {
namespace {

using Communication = PlacedJob::Communication;
std::string title_of(const Communication& each) {
  return each.reduction.name.empty() ? "reduction" : each.reduction.name;
}

// By communication: a program that performs it and checks itself, none where nothing is split or too much is
// sent.
std::vector<NamedText> mpi_programs(const PlacedJob& job) {
  std::vector<NamedText> programs;
  for (std::size_t i = 0; i < job.communications.size(); ++i) {
    const Communication& each = job.communications[i];
    if (each.steps.empty()) continue;
    const auto schedule =
        strategy_schedule(each.reduction, each.groups, each.steps, static_cast<int>(job.devices.size()));
    if (!schedule) continue;
    const std::string name = fmt::format("{} {}, {}", job.machine, job.matrix, title_of(each));
    programs.push_back(
        {fmt::format("strategy_{}_mpi.cpp", i),
         to_mpi_source(std::vector{SizedProgram{.program = lower(*schedule, {.name = name})}}, name)});
  }
  return programs;
}

// JSON and no spaces: a machine may have thousands of devices.
std::string listed(const DeviceGroups& groups) {
  std::vector<std::string> rows;
  for (const std::vector<int>& group : groups) rows.push_back(fmt::format("[{}]", fmt::join(group, ",")));
  return fmt::format("[{}]", fmt::join(rows, ","));
}

// Devices of groups are as they are numbered in the machine, and not in the mesh.
std::string groups_json(const PlacedJob& job) {
  std::vector<std::string> axes, communications;
  for (const Axis& axis : job.axes)
    axes.push_back(fmt::format(R"({{"name":{},"size":{}}})", quoted(axis.name), axis.size));
  for (const Communication& each : job.communications) {
    std::vector<std::string> steps;
    for (const LoweredInstruction& step : each.steps)
      steps.push_back(
          fmt::format(R"({{"operation":"{}","groups":{}}})", name(step.operation), listed(step.groups)));
    communications.push_back(
        fmt::format("{{\"name\":{},\"goal\":\"{}\",\"bytes\":{},\"groups\":{},\n    \"steps\":[{}]}}",
                    quoted(title_of(each)), name(each.reduction.goal), each.reduction.bytes,
                    listed(each.groups), fmt::join(steps, ",\n      ")));
  }
  return fmt::format(
      "{{\n\"machine\": {},\n\"matrix\": {},\n\"axes\": [{}],\n\"devices\": [{}],\n\"communications\": [\n  "
      "{}]\n}}\n",
      quoted(job.machine), quoted(job.matrix), fmt::join(axes, ","), fmt::join(job.devices, ","),
      fmt::join(communications, ",\n  "));
}

// Both frameworks take an array of devices by position in the mesh; JAX's numbers of devices are not those of
// the machine, so they are sorted by process first.
std::string python_mesh(const PlacedJob& job, bool torch) {
  std::vector<int> sizes;
  std::vector<std::string> names;
  for (const Axis& axis : job.axes) {
    sizes.push_back(axis.size);
    names.push_back(quoted(axis.name));
  }
  const std::string lists =
      fmt::format("ORDER = [{}]\nSHAPE = ({},)\nAXES = ({},)\n\n\n", fmt::join(job.devices, ", "),
                  fmt::join(sizes, ", "), fmt::join(names, ", "));
  if (torch)
    return "\"\"\"Made by chorale: torch.distributed's mesh of this placement. Rank r is device r, as "
           "torchrun has it.\"\"\"\n" +
           lists +
           "def mesh(device_type=\"cuda\"):\n"
           "    import torch\n"
           "    from torch.distributed.device_mesh import DeviceMesh\n"
           "    return DeviceMesh(device_type, torch.tensor(ORDER).reshape(SHAPE), mesh_dim_names=AXES)\n";
  return "\"\"\"Made by chorale: jax.sharding's mesh of this placement. Devices are sorted by process, then "
         "by number.\"\"\"\n" +
         lists +
         "def mesh():\n"
         "    import jax\n"
         "    import numpy\n"
         "    devices = sorted(jax.devices(), key=lambda d: (d.process_index, d.id))\n"
         "    return jax.sharding.Mesh(numpy.array(devices)[ORDER].reshape(SHAPE), AXES)\n";
}

// Open MPI's: rank r, counted along the axes with the last varying fastest, is on this device's slot. Nodes
// are +n0, +n1: those that mpirun was given, in their order.
std::string rank_file(const PlacedJob& job) {
  std::string text;
  for (int rank = 0; rank < std::ssize(job.devices); ++rank)
    text += fmt::format("rank {}=+n{} slot={}\n", rank, job.devices[rank] / job.node_devices,
                        job.devices[rank] % job.node_devices);
  return text;
}

// Megatron's dimensions by what people call axes.
std::string megatron_name(const std::string& axis) {
  static constexpr std::array<std::pair<const char*, const char*>, 10> kNames = {{{"tensor", "tp"},
                                                                                  {"tp", "tp"},
                                                                                  {"context", "cp"},
                                                                                  {"cp", "cp"},
                                                                                  {"expert", "ep"},
                                                                                  {"ep", "ep"},
                                                                                  {"data", "dp"},
                                                                                  {"dp", "dp"},
                                                                                  {"pipeline", "pp"},
                                                                                  {"pp", "pp"}}};
  for (const auto& [ours, theirs] : kNames)
    if (axis == ours) return theirs;
  return "";
}

// Megatron has five dimensions with names of its own, and needs each in --order; sizes of data parallelism
// follow from the others. An axis that is none of them ends the text with the reason. The order is from the
// fastest axis to the slowest, the reverse of a mesh.
std::string megatron_text(const PlacedJob& job) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kSizes = {
      {{"tp", "--tensor-model-parallel-size"},
       {"cp", "--context-parallel-size"},
       {"ep", "--expert-model-parallel-size"},
       {"pp", "--pipeline-model-parallel-size"}}};
  std::vector<std::string> order, sizes, missing;
  for (auto axis = job.axes.rbegin(); axis != job.axes.rend(); ++axis) {  // the fastest first
    const std::string name = megatron_name(axis->name);
    if (name.empty() || std::ranges::find(order, name) != order.end())
      return fmt::format(
          "Megatron has no dimension of its own for the axis '{}': call axes tensor, context, expert, data, "
          "pipeline.\n",
          axis->name);
    order.push_back(name);
    for (const auto& [known, option] : kSizes)
      if (name == known) sizes.push_back(fmt::format("{} {}", option, axis->size));
  }
  for (const char* name :
       {"tp", "cp", "ep", "dp", "pp"})  // all have to be named; of size 1 they change nothing
    if (std::ranges::find(order, name) == order.end()) order.push_back(name);
  return fmt::format(
      "{} --order {}\n\nMegatron counts ranks in this order, the first dimension fastest. Its rank r has to "
      "be on the device of 'rankfile':\n  mpirun --rankfile rankfile -n {} ...\nor, by torchrun, whose rank "
      "r is device r, hand it this permutation: {}\n",
      fmt::join(sizes, " "), fmt::join(order, "-"), job.devices.size(), fmt::join(job.devices, ","));
}

// For readers that have the directory and not this program.
std::string read_me(const PlacedJob& job) {
  std::vector<std::string> axes;
  for (const Axis& axis : job.axes) axes.push_back(fmt::format("{} {}", axis.name, axis.size));
  return fmt::format(
      "{}: {} devices, {} a node; axes {}; matrix {}.\n\n"
      "Devices are numbered node by node. In the mesh of the axes, the last axis fastest, position i is "
      "device devices[i].\n\n"
      "strategy_N_mpi.cpp  runs the chosen strategy of communication N (counted from 0) with device r as "
      "process r, and\n                    checks every element; left out beyond {} messages:\n"
      "                    mpicxx -O2 -std=c++17 strategy_N_mpi.cpp -o x && mpirun -n {} ./x\n"
      "groups.json         the mesh, and the groups of every step\n"
      "jax_mesh.py         mesh(): a jax.sharding.Mesh\n"
      "torch_mesh.py       mesh(): a torch.distributed DeviceMesh\n"
      "megatron.txt        sizes and --order for Megatron\n"
      "rankfile            for mpirun --rankfile: process i at position i of the mesh\n",
      job.machine, job.devices.size(), job.node_devices, fmt::join(axes, ", "), job.matrix,
      kMostStrategySends, job.devices.size());
}

}  // namespace

// Programs last: a strategy with too many messages has none, and all other files are there all the same.
std::vector<NamedText> handed_on(const PlacedJob& job) {
  std::vector<NamedText> files = {{"groups.json", groups_json(job)},
                                  {"jax_mesh.py", python_mesh(job, false)},
                                  {"torch_mesh.py", python_mesh(job, true)},
                                  {"megatron.txt", megatron_text(job)},
                                  {"rankfile", rank_file(job)},
                                  {"README.txt", read_me(job)}};
  for (NamedText& program : mpi_programs(job)) files.push_back(std::move(program));
  return files;
}

}  // namespace chorale
