// What a library takes on a machine, by size. A machine is named, or is a GPU with the facts of its node:
// tables of measurements state no more than these.
#include <fmt/format.h>

#include "api/library_model.h"
#include "cli/inputs.h"
#include "cli/layout.h"
#include "cli/option_kinds.h"
#include "cli/report.h"
#include "ir/words.h"
#include "topology/hardware/facts.h"
#include "topology/switches.h"

namespace chorale {

struct BaselineCommand {
  std::string machine = {};  // or a GPU, which `facts` are of
  std::string collective = {};
  LibraryMachine facts = {};
  std::vector<std::int64_t> sizes = {};
  std::string json = {};
};
namespace {

LibraryCall known_call(const std::string& name) {
  std::vector<std::string> known;
  for (const Named<LibraryCall>& call : library_calls()) known.emplace_back(call.name);
  if (const std::optional<LibraryCall> call = value_in(library_calls(), name)) return *call;
  throw unknown_name("collective", name, known, "name");
}

// A name of a GPU takes the facts that are given; a machine has its own.
LibraryMachine machine_asked(const BaselineCommand& command) {
  LibraryMachine facts = command.facts;
  for (const GpuFacts& gpu : gpu_table())
    if (command.machine == gpu.name) {
      facts.gpu = gpu.name;
      return facts;
    }
  if (facts != LibraryMachine())
    throw InputError("'" + command.machine.substr(0, 60) + "'", "is not a GPU of the table of facts",
                     "leave the facts of a node out, or name a GPU such as H100");
  const Topology topology = flatten(machine(command.machine, {}));
  const std::optional<LibraryMachine> known = library_machine(topology);
  if (!known)
    throw InputError("machine '" + topology.name + "'", "does not name its GPU, or its nodes differ",
                     "give a GPU, and --gpus, --nodes and the others");
  return *known;
}

}  // namespace

Outcome perform(const BaselineCommand& command, Supervisor&) {
  const LibraryMachine asked = machine_asked(command);
  const LibraryCall call = known_call(command.collective);
  const std::vector<LibraryTime> times =
      library_times(asked, call, command.sizes.empty() ? usual_sizes() : command.sizes);
  TableRows rows = {{"message", "algorithm", "protocol", "time", "busbw"}};
  for (const LibraryTime& time : times)
    rows.push_back({format_bytes(static_cast<double>(time.message_bytes)), time.algorithm, time.protocol,
                    format_us(time.us), fmt::format("{:.2g}", time.busbw_gbs)});
  Outcome outcome{.text = fmt::format("{} on {} of {}: a model of what it takes\n", library_of(asked),
                                      counted(asked.nodes, "node"), counted(asked.gpus, asked.gpu)) +
                          table(rows, "rllrr")};
  if (!command.json.empty()) deliver(command.json, to_json(asked, call, times), outcome);
  return outcome;
}

void baseline_options(CLI::App& app, Invocation& parsed) {
  CLI::App* const sub = command(
      app, "baseline", "What NCCL or RCCL takes on a machine: algorithm, protocol and time, by a model",
      "MACHINE is a machine that names its GPU (dgx-h100:2), or a GPU with the facts of its node. Times are\n"
      "those of nccl-tests; docs/believable.md compares them with measured ones.\n" +
          kPlainExitCodes +
          "examples:\n  chorale baseline dgx-h100:2 allreduce\n"
          "  chorale baseline A100 allgather --gpus 8 --nodes 3 --nics 4 --nic-gbits 200");
  auto options = values_of<BaselineCommand>(sub, parsed);
  LibraryMachine& facts = options->facts;
  argument(sub, "machine", options->machine, "MACHINE", "A machine, or a GPU: H100, MI300X, ...");
  argument(sub, "collective", options->collective, "COLLECTIVE",
           "allreduce, allgather, reducescatter, alltoall, broadcast, reduce or sendrecv");
  rising_sizes(sub, options->sizes, "Bytes of messages: 64K, 1K,3000, or from:to:factor (1K:1G:4)");
  integer(sub, "--gpus", facts.gpus, 1, 1024, "G", "GPUs of a node (8)");
  integer(sub, "--nodes", facts.nodes, 1, 100'000, "N", "Nodes (1)");
  choice<std::optional<Joined>>(
      sub, "--joined", facts.joined,
      {{"switch", Joined::Switch}, {"mesh", Joined::Mesh}, {"pci", Joined::Pci}, {"host", Joined::Host}},
      "How GPUs of a node are joined (as the GPU is sold)");
  integer(sub, "--links", facts.links, 0, 1024, "L", "Links of a GPU to the others (as the GPU has)");
  integer(sub, "--pci", facts.pci, 1, 6, "P", "Generation of PCI (that of the GPU)");
  integer(sub, "--nics", facts.nics, 1, 1024, "K", "NICs of a node (one for each GPU)");
  positive(sub, "--nic-gbits", facts.nic_gbits, "RATE", "Gb/s of a NIC (as nodes of this GPU have)");
  text(sub, "--network", facts.network, "NAME", "InfiniBand, RoCE, EFA, EFA 2, Slingshot, TCPX (InfiniBand)");
  text(sub, "--algorithm", facts.algorithm, "NAME", "That is forced: Ring, Tree, NVLS or NVLSTree");
  text(sub, "--protocol", facts.protocol, "NAME", "That is forced: LL, LL128 or Simple");
  text(sub, "--library-version", facts.version, "V",
       "Algorithms and protocols of that version of NCCL, such as 2.18 (the newest)");
  sub->add_flag("--host-copies", facts.host_copies, "NICs do not reach the memory of GPUs");
  sub->add_flag("--far-nics", facts.far_nics, "NICs are not below the PCI switch of their GPU");
  sub->add_flag("--one-process", facts.one_process, "One process starts all GPUs");
  sub->add_flag("--no-nvls", facts.no_nvls, "Sums by switches are off (NCCL_NVLS_ENABLE=0)");
  file_to_write(sub, "--json", options->json, "Write the table there");
}

}  // namespace chorale
