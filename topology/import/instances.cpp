// Numbers are the providers': https://learn.microsoft.com/azure/virtual-machines,
// https://aws.amazon.com/ec2/instance-types, OCI's compute shapes. NVLinks count as in dumps of NCCL on the
// same GPUs.
#include "topology/import/instances.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "ir/error.h"
#include "ir/words.h"
#include "topology/import/nccl_rates.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

// What joins GPUs beside PCI: one switch for all; the two rings of a DGX-1; bridges between neighbours (0 and
// 1, 2 and 3); a link for each two; nothing.
enum class Joint { NvSwitch, Dgx1, Pairs, Xgmi, None };

// A row is a cloud type with what its files do not show. p5 has two rows, since files name it "p5." and
// "p5-".
struct Instance {
  const char* name;
  const char* in_file;  // what its files are called
  int gpus, nics;       // nics: as the files list them; 0: any number
  const char* gpu_id;   // PCI; empty: not distinguished from others
  const char* gpu;
  int sm;
  int nvlinks;  // of a GPU
  Joint joint;
  double nic_gbits;
};

constexpr Instance kInstances[] = {
    {"azure-ndv2", "ndv2", 8, 1, "10de:1db5", "V100", 70, 6, Joint::Dgx1, 100},
    {"azure-ndv4", "ndv4", 8, 8, "10de:20b0", "A100", 80, 12, Joint::NvSwitch, 200},
    {"azure-ndv5", "ndv5", 8, 8, "10de:2330", "H100", 90, 18, Joint::NvSwitch, 400},
    {"azure-ncv4", "ncv4", 4, 1, "10de:20b5", "A100 PCIe", 80, 12, Joint::Pairs, 100},
    {"aws-p3dn", "p3dn", 8, 1, "10de:1db5", "V100", 70, 6, Joint::Dgx1, 100},
    {"aws-p4d", "p4d-", 8, 4, "10de:20b0", "A100", 80, 12, Joint::NvSwitch, 100},
    {"aws-p4de", "p4de", 8, 4, "10de:20b2", "A100", 80, 12, Joint::NvSwitch, 100},
    {"aws-p5", "p5.", 8, 32, "10de:2330", "H100", 90, 18, Joint::NvSwitch, 100},
    {"aws-p5", "p5-", 8, 32, "10de:2330", "H100", 90, 18, Joint::NvSwitch, 100},
    {"aws-p5en", "p5en", 8, 16, "10de:2335", "H200", 90, 18, Joint::NvSwitch, 200},
    {"aws-p6-b200", "p6-b200", 8, 8, "10de:2901", "B200", 100, 18, Joint::NvSwitch, 400},
    {"azure-nd-mi300x", "mi300x", 8, 8, "1002:74b5", "MI300X", 0, 7, Joint::Xgmi, 400},
    {"aws-g5", "g5", 8, 1, "10de:2237", "A10G", 86, 0, Joint::None, 100},
};

std::string names() {
  std::vector<std::string> all;
  for (const Instance& each : kInstances)
    if (all.empty() || all.back() != each.name) all.push_back(each.name);
  return joined(all);
}

const Instance& instance_named(const std::string& name) {
  for (const Instance& each : kInstances)
    if (name == each.name) return each;
  throw InputError("--instance", "'" + name.substr(0, 60) + "' is not known", "use one of " + names());
}

// The type, and why it is thought to be that: what the user says, then the file's name, then the counts of
// GPUs and NICs if they leave one type.
std::pair<const Instance*, std::string> instance_of(const PciSkeleton& skeleton, const std::string& named) {
  const Host& host = skeleton.host;
  const std::string file = lower_case(file_name(host.file));
  if (!named.empty()) return {&instance_named(named), "as specified"};
  for (const Instance& each : kInstances)
    if (file.find(each.in_file) != std::string::npos) return {&each, "by the file's name"};
  std::vector<const Instance*> fitting;
  for (const Instance& each : kInstances)
    if (each.gpus == host.count(PartKind::Gpu) && each.nics == host.count(PartKind::Nic) &&
        (skeleton.gpu_id.empty() || skeleton.gpu_id == each.gpu_id) &&
        (fitting.empty() || std::string(fitting.back()->name) != each.name))
      fitting.push_back(&each);
  if (fitting.size() == 1) return {fitting.front(), "by its GPUs and NICs"};
  throw InputError(host.file, "shows PCI only, and not what joins its GPUs",
                   "use --instance TYPE, one of " + names());
}

// A cable has the rate of all its NVLinks: those of a GPU to the switch, or to its one partner.
void join_gpus(Host& host, const Instance& instance, const std::vector<int>& gpus, double specified_gbs) {
  const double gbs = specified_gbs > 0               ? specified_gbs
                     : instance.joint == Joint::Xgmi ? xgmi_gbs("gfx942")
                                                     : nvlink_gbs(instance.sm);
  const auto cable = [&](int a, int b, int links) { host.join(a, b, gbs * links); };
  switch (instance.joint) {
    case Joint::NvSwitch: {
      const int hub = host.add({.kind = PartKind::NvSwitch, .name = "NVSwitch"});
      for (int gpu : gpus) cable(gpu, hub, instance.nvlinks);
      break;
    }
    case Joint::Dgx1:
      join_two_rings([&](int a, int b, int links) { cable(gpus[a], gpus[b], links); });
      break;
    case Joint::Pairs:
      for (std::size_t i = 0; i + 1 < gpus.size(); i += 2) cable(gpus[i], gpus[i + 1], instance.nvlinks);
      break;
    case Joint::Xgmi:
      host.cable_name = "xGMI";
      for (std::size_t i = 0; i < gpus.size(); ++i)
        for (std::size_t k = i + 1; k < gpus.size(); ++k) cable(gpus[i], gpus[k], 1);
      break;
    case Joint::None:
      break;
  }
}

// A file of another machine would be completed wrongly without a word.
void require_gpus(const Host& host, const Instance& instance) {
  const int gpus = host.count(PartKind::Gpu);
  if (gpus != instance.gpus)
    throw InputError(host.file,
                     fmt::format("has {}, and {} has {}", counted(gpus, "GPU"), instance.name, instance.gpus),
                     "use --instance TYPE, one of " + names());
}

}  // namespace

// NVLinks join GPUs in the order of the file; NICs get the type's speed.
Host completed(PciSkeleton skeleton, const ImportOptions& options) {
  const auto [instance, why] = instance_of(skeleton, options.instance);
  Host& host = skeleton.host;
  std::vector<int> gpus;
  for (std::size_t p = 0; p < host.parts.size(); ++p) {
    if (host.parts[p].kind == PartKind::Gpu) gpus.push_back(static_cast<int>(p));
    if (host.parts[p].kind == PartKind::Nic) host.parts[p].net_gbs = instance->nic_gbits / 8;
  }
  require_gpus(host, *instance);
  join_gpus(host, *instance, gpus, options.nvlink_gbs);
  const std::string joint =
      instance->joint == Joint::NvSwitch ? fmt::format("{} NVLinks to one NVSwitch each", instance->nvlinks)
      : instance->joint == Joint::Dgx1   ? "NVLinks wired as in a DGX-1"
      : instance->joint == Joint::Xgmi   ? "an xGMI link between each two"
      : instance->joint == Joint::Pairs  ? fmt::format("{} NVLinks between each two", instance->nvlinks)
                                         : "no NVLinks";
  host.assumed.push_back(
      fmt::format("the file shows PCI only; it is taken for {} ({}): {} GPUs of type {}, {}, NICs of {} Gb/s",
                  instance->name, why, instance->gpus, instance->gpu, joint, instance->nic_gbits));
  return std::move(skeleton.host);
}

// GPUs that share a NIC, or a GPU and its NICs, hang on a PCI switch of their own.
Host with_nics_of(Host host, const ImportOptions& options) {
  if (options.instance.empty()) return host;
  const Instance& instance = instance_named(options.instance);
  require_gpus(host, instance);
  if (host.count(PartKind::Nic) > 0) {
    host.read.push_back(fmt::format("nothing of {} is added: the file has NICs", instance.name));
    return host;
  }
  const std::vector<int> gpus = host.gpus();
  // Eight GPUs and four NICs: each for two neighbours. Eight and 32: four beside each GPU.
  const int sharing = std::max(1, instance.gpus / instance.nics),
            each = std::max(1, instance.nics / instance.gpus);
  const double net_gbs = (options.nic_gbits > 0 ? options.nic_gbits : instance.nic_gbits) / 8;
  for (std::size_t first = 0; first < gpus.size(); first += static_cast<std::size_t>(sharing)) {
    const int own_switch = static_cast<int>(host.parts.size());
    const double up = host.parts[gpus[first]].up_gbs;
    for (std::size_t g = first; g < std::min(gpus.size(), first + static_cast<std::size_t>(sharing)); ++g) {
      // What leads to the GPU from its CPU is hung on the new switch; GPUs that share it already have moved
      // with the first of them.
      int top = gpus[g];  // below a CPU, or below a switch that is new
      while (host.parts[top].parent >= 0 && host.parts[host.parts[top].parent].kind != PartKind::Cpu)
        top = host.parts[top].parent;
      if (g == first)
        host.parts.push_back(
            {PartKind::PciSwitch, fmt::format("PCI switch of GPU {}", g), host.parts[top].parent, 0, up});
      if (top < own_switch) host.parts[top].parent = own_switch;
    }
    for (int n = 0; n < each; ++n)
      host.parts.push_back({.kind = PartKind::Nic,
                            .name = fmt::format("NIC {}", first * static_cast<std::size_t>(each) + n),
                            .parent = own_switch,
                            .up_gbs = up,
                            .net_gbs = net_gbs});
  }
  host.assumed.push_back(
      fmt::format("the file lists no NICs; they are those of {}, as specified: {} of {} Gb/s, {}",
                  instance.name, instance.nics, net_gbs * 8,
                  sharing > 1 ? fmt::format("one for {} neighbouring GPUs", sharing)
                              : fmt::format("{} beside each GPU", each)));
  return host;
}

}  // namespace chorale
