// system > cpu > pci > pci > gpu > nvlink, as NCCL and RCCL write it. A <pci> is a link to its parent, and
// the device at its end: a GPU, a NIC, a switch. NVLinks are listed by GPUs only, so those to a switch are
// bidirectional, and those between GPUs are as each side lists them.
//   <system><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
//     <pci busid="0000:06:00.0" class="0x030200" link_speed="8 GT/s" link_width="16">
//       <gpu dev="0" sm="70" rank="0"><nvlink target="0000:07:00.0" count="1" tclass="0x030200"/></gpu>
//     </pci></cpu></system>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "ir/words.h"
#include "topology/import/host.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"
#include "topology/import/xml.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

constexpr int kMostCount = 10'000;                          // NVLinks between two
constexpr double kMostMegabits = 1e9;                       // 1000 Tb/s: some plugins write kilobits
constexpr double kFastestPort = 3.2e6, kSlowestPort = 1e3;  // megabits, of any generation

// Counts what it ignores or assumes while it reads, and reports the counts in the end.
class NcclReader {
  struct ListedLink {  // an NVLink, to be read when all GPUs are known
    XmlElement element;
    int gpu = 0;     // that lists it
    int box = 0;     // of the GPU, and of one that it names by its bus
    double gbs = 0;  // of one of them
  };

 public:
  NcclReader(std::string_view text, const std::string& file, const ImportOptions& choices)
      : root_(parse_xml(text, file)), choices_(choices), describes_gpus_(text.find("<gpu") != text.npos) {
    host_.file = file;
  }

  // Links last, when all GPUs are known by their bus. A file with GPUs of which none is described (<gpu>)
  // shows PCI only, and is completed from the table of instances.
  Host read() {
    if (root_.name() != "system")
      root_.fail("is not a topology of NCCL", "give a file that NCCL_TOPO_DUMP_FILE names");
    for (const XmlElement& child : root_.children()) {
      if (child.name() == "cpu")
        read_cpu(child);
      else if (child.name() == "graphs")
        host_.read.emplace_back(
            "<graphs> is ignored: rings and trees that NCCL chose are not part of the machine");
      else
        child.fail("is not known in <system>", "only <cpu> is");
    }
    const bool skeleton = !describes_gpus_ && gpus_ > 0;
    share_links();
    for (const ListedLink& link : links_) read_link(link);
    bridge_pairs();
    name_hosts();
    report_what_was_left_out();
    if (!skeleton) return with_nics_of(std::move(host_), choices_);
    const std::string id = gpu_ids_.size() == 1 ? *gpu_ids_.begin() : "";
    return completed({.host = std::move(host_), .gpu_id = id}, choices_);
  }

 private:
  void read_cpu(const XmlElement& cpu) {
    const std::string number = cpu.text("numaid");
    box_ = hosts_.try_emplace(cpu.text_or("host_hash", ""), static_cast<int>(hosts_.size())).first->second;
    const int at =
        host_.add({.kind = PartKind::Cpu, .name = "cpu " + number, .box = box_, .where = cpu.line()});
    const auto optional = [&](const char* key) { return cpu.has(key) ? cpu.integer(key, -1, 1 << 20) : 0; };
    host_.socket_gbs = socket_gbs(cpu.text_or("arch", ""), cpu.text_or("vendor", ""), optional("familyid"),
                                  optional("modelid"));
    read_children(cpu, at);
  }

  // PCI links beside the tree ("pcilink") and links to CPUs ("c2c") of others than GPUs are ignored and
  // counted.
  void read_children(const XmlElement& element, int parent) {
    for (const XmlElement& child : element.children()) {
      const std::string name = child.name();
      if (name == "pci")
        read_pci(child, parent);
      else if (name == "nic")
        read_nic(child, parent, 0, "");
      else if (name == "pcilink" || name == "c2c" || name == "graphs")
        ++ignored_[name];
      else
        child.fail(fmt::format("is not known in <{}>", element.name()), "only <pci> and <nic> are");
    }
  }

  // GB/s to what holds it. "16 GT/s" or "16.0 GT/s PCIe". What is none of the known rates, such as "Unknown",
  // is taken for that of its GPU's generation, or of anything else for what NCCL takes, and counted.
  double link_gbs(const XmlElement& pci) {
    const std::string speed = pci.text_or("link_speed", "");
    double gigatransfers = 0;
    const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
    if (error != std::errc() && !speed.empty() && speed.front() == '-')
      pci.fail("link_speed=\"" + speed + "\" is out of range", "use one such as \"16 GT/s\"");
    static constexpr double kGenerations[] = {2.5, 5, 8, 16, 32, 64};
    if (error == std::errc() && gigatransfers < 0)
      pci.fail("link_speed=\"" + speed.substr(0, 40) + "\" is out of range", "use one such as \"16 GT/s\"");
    const bool known =
        error == std::errc() && std::ranges::find(kGenerations, gigatransfers) != std::end(kGenerations);
    const int width = pci.has("link_width") ? pci.integer("link_width", 0, 64) : 0;
    if (width == 0) ++assumed_widths_;
    if (!known && error == std::errc() && gigatransfers > 0)
      odd_ = fmt::format("has {:g} GT/s, which no generation of PCI has", gigatransfers);
    static constexpr int kWidths[] = {0, 1, 2, 4, 8, 12, 16, 32};
    if (std::ranges::find(kWidths, width) == std::end(kWidths))
      odd_ = fmt::format("has {} lanes, which no link of PCI has", width);
    if (!known) {
      const std::vector<XmlElement> gpus = pci.children("gpu");
      gigatransfers =
          gpus.empty() ? kUnknownGigatransfers : pci_facts(gpu_kind(gpus.front()).pci).gigatransfers;
      ++assumed_speeds_[gigatransfers];
    }
    return pci_gbs(gigatransfers, width > 0 ? width : kUnknownLanes, rates_of(choices_));
  }

  void odd(const XmlElement& element, const std::string& what) {
    host_.odd.push_back(fmt::format("{} {}", element.where(), what));
  }

  // By the architecture: gcn of AMD, the compute capability of NVIDIA.
  static const GpuFacts& gpu_kind(const XmlElement& gpu) {
    return gpu.has("gcn") ? gpu_of_gcn(gpu.text("gcn")) : gpu_of_sm(gpu.integer("sm", 1, 10'000));
  }

  // Dumps nest a switch, a bridge and a device as <pci> alike; what is inside tells them apart, and for
  // files of cloud providers, which list no <gpu>, the PCI class: 0x03 display, 0x12 accelerators, 0x02
  // network.
  void read_pci(const XmlElement& pci, int parent) {
    const std::string kind = lower_case(pci.text_or("class", "")), bus = lower_case(pci.text("busid"));
    const double up = link_gbs(pci);
    const std::vector<XmlElement> gpus = pci.children("gpu"), nics = pci.children("nic");
    const bool holds_more = !pci.children("pci").empty();
    const bool is_gpu = !holds_more && (kind.starts_with("0x03") || kind.starts_with("0x12"));
    if (!gpus.empty() || !nics.empty()) {
      for (const XmlElement& gpu : gpus) read_gpu(gpu, bus, parent, up);
      for (const XmlElement& nic : nics) read_nic(nic, parent, up, bus);
    } else if (is_gpu && describes_gpus_) {
      odd(pci, "is a GPU by its class and has no <gpu>, and is left out");
    } else if (is_gpu) {
      HostPart gpu = listed(parent, PartKind::Gpu, fmt::format("gpu{} ({})", gpus_, bus), up, pci);
      gpu.number = gpus_;
      gpus_ += host_.find(device(box_, bus)) < 0 ? 1 : 0;
      host_.add(std::move(gpu), device(box_, bus));
      if (pci.has("vendor") && pci.has("device"))
        gpu_ids_.insert(lower_case(without_0x(pci.text("vendor")) + ":" + without_0x(pci.text("device"))));
    } else if (!holds_more && kind.starts_with("0x02")) {
      HostPart nic = listed(parent, PartKind::Nic, "nic " + bus, up, pci);
      nic.net_gbs = default_nic_gbs(up);
      host_.add(std::move(nic), device(box_, bus));
      ++nics_without_speed_;
    } else if (holds_more) {
      read_children(pci,
                    host_.add(listed(parent, PartKind::PciSwitch, "pci " + bus, up, pci), device(box_, bus)));
    } else if (!pci.children("nvlink").empty() || !pci.children("xgmi").empty()) {
      odd(pci, "has links of a GPU and no <gpu> that lists them, and they are left out");
    }  // else something that neither computes nor sends
    odd_.clear();
  }

  HostPart listed(int parent, PartKind kind, const std::string& name, double up, const XmlElement& where) {
    HostPart part = part_below(parent, kind, name, up, where.line());
    part.odd = std::exchange(odd_, "");
    return part;
  }

  // Identifies a device of a host by its bus: hosts have the same buses.
  static std::string device(int box, const std::string& bus) { return fmt::format("{} {}", box, bus); }

  static std::string without_0x(const std::string& text) {
    return text.starts_with("0x") ? text.substr(2) : text;
  }

  double net_gbs(double gbits) const {
    return chorale::nic_gbs(network_facts(host_.network), gbits, rates_of(choices_));
  }
  double default_nic_gbs(double up) const {
    return choices_.nic_gbits > 0 ? net_gbs(choices_.nic_gbits) : up;
  }

  // Ranks of the job that wrote the dump number the GPUs, or else their devices.
  void read_gpu(const XmlElement& gpu, const std::string& bus, int parent, double up) {
    const int dev = gpu.integer("dev", 0, 1 << 20);
    const int rank = gpu.has("rank") ? gpu.integer("rank", -1, 1 << 30) : -1;
    const int number = rank >= 0 ? rank : dev;
    std::vector<int>& ranks = ranks_of_[device(box_, bus)];
    if (std::ranges::any_of(ranks, [&](int p) { return host_.parts[p].number == number; }))
      return odd(gpu, fmt::format("lists rank {} of GPU {} again, and is left out", number, bus));
    HostPart part = listed(parent, PartKind::Gpu, fmt::format("gpu{} ({})", number, bus), up, gpu);
    part.number = number;
    part.model = gpu.has("sm") ? "sm " + gpu.text("sm") : "";
    if (gpu.has("gcn")) part.model = gpu.text("gcn") + (part.model.empty() ? "" : " and " + part.model);
    const int at = host_.add(std::move(part));
    host_.known.try_emplace(device(box_, bus), at);
    ranks.push_back(at);
    ++gpus_;
    const GpuFacts& kind = gpu_kind(gpu);
    host_.take(kind);
    const LinkFacts& its_link =
        gpu.has("gcn") ? link_facts(kind.link) : nvlink_of_sm(gpu.integer("sm", 1, 10'000));
    const double per_link =
        choices_.nvlink_gbs > 0 ? choices_.nvlink_gbs : rate_of(its_link, rates_of(choices_));
    if (choices_.nvlink_gbs > 0 && gpus_ == 1) host_.note_above_line(its_link, per_link);
    if (gpu.has("gcn")) host_.cable_name = "xGMI";
    std::set<std::string> targets;
    for (const XmlElement& link : gpu.children()) {
      const std::string name = link.name();
      if (name == "nvlink" || name == "xgmi") {
        // NCCL adds up the links to one target, so a second record of it is the first again.
        if (const std::string to = lower_case(link.text("target")); targets.insert(to).second)
          links_.push_back({link, at, box_, per_link});
        else
          odd(link, "lists the links to " + to + " again, and is left out");
      } else if (name == "c2c") {
        // A path to the CPU beside PCI, for the host and its NICs. It joins no GPUs: those are on NVLink.
        const double gbs = link.number("bw", 0, 1e9) * link.integer("count", 1, kMostCount) / 1000;
        if (gbs <= host_.parts[at].up_gbs) continue;
        host_.parts[at].parent = cpu_of(at);
        host_.parts[at].up_gbs = gbs;
      } else {
        link.fail("is not known in <gpu>", "only <nvlink>, <xgmi> and <c2c> are");
      }
    }
  }

  // Several ranks of one GPU (its partitions), which is what its bus id says, list the same NVLinks, each all
  // of them. Those of the first count, and are the device's, which joins its ranks and is their link to PCI.
  void share_links() {
    for (const auto& [bus, ranks] : ranks_of_) {
      if (ranks.size() == 1) continue;
      const HostPart first = host_.parts[ranks.front()];
      const int above = host_.add({PartKind::PciSwitch, "pci " + bus, first.parent, 0, first.up_gbs});
      const int device = host_.add({.kind = PartKind::NvSwitch, .name = fmt::format("device ({})", bus)});
      std::erase_if(links_, [&](const ListedLink& link) {
        return link.gpu != ranks.front() && std::ranges::find(ranks, link.gpu) != ranks.end();
      });
      for (ListedLink& link : links_)
        if (link.gpu == ranks.front()) link.gpu = device;
      for (const int rank : ranks) {
        host_.parts[rank].parent = above;
        host_.join(rank, device, link_facts("partitions of a GPU").gbs);
      }
      host_.known[bus] = device;
      shared_gpus_ += static_cast<int>(ranks.size());
    }
  }

  // Hosts have the same devices, which are told apart by what the file calls a host.
  void name_hosts() {
    if (hosts_.size() < 2) return;
    std::vector<std::string> names(hosts_.size());
    for (const auto& [hash, box] : hosts_) names[box] = "host " + hash;
    for (int p = 0; p < std::ssize(host_.parts); ++p)
      if (HostPart& part = host_.parts[p]; part.kind != PartKind::NvSwitch)
        part.name += fmt::format(" ({})", names[host_.parts[cpu_of(p)].box]);
  }

  int cpu_of(int part) const {
    while (host_.parts[part].parent >= 0) part = host_.parts[part].parent;
    return part;
  }

  // All ports of a NIC together.
  void read_nic(const XmlElement& nic, int parent, double up, const std::string& bus) {
    HostPart part = part_below(parent, PartKind::Nic, "", up, nic.line());
    for (const XmlElement& net : nic.children()) {
      if (net.name() != "net") net.fail("is not known in <nic>", "only <net> is");
      const std::string name = net.text("name");
      // A NIC that is near several CPUs is listed under each.
      if (!host_.known
               .try_emplace(fmt::format("{} net {} {} {}", box_, name, net.text_or("guid", ""),
                                        net.text_or("port", "")),
                            static_cast<int>(host_.parts.size()))
               .second) {
        ++nets_again_;
        continue;
      }
      const double gbs = net_gbs(gigabits_of(net));
      part.net_gbs += gbs;
      if (net.has("latency")) part.net_alpha_us = std::max(part.net_alpha_us, net.number("latency", 0, 1e6));
      part.name += (part.ports.empty() ? "" : " and ") + name;
      part.ports.push_back({name, net.has("dev") ? net.integer("dev", 0, 1 << 20) : nets_, gbs});
      ++nets_;
    }
    if (part.ports.empty() && !nic.children().empty()) return;  // all of it was there before
    if (part.ports.empty()) {
      part.name = "nic " + bus;
      part.net_gbs =
          default_nic_gbs(up > 0 ? up : pci_gbs(kUnknownGigatransfers, kUnknownLanes, rates_of(choices_)));
      ++nics_without_speed_;
    }
    if (part.ports.size() > 1) ++several_ports_;
    if (part.up_gbs <= 0) part.up_gbs = part.net_gbs;  // beside PCI: its own speed is all there is
    part.odd = std::exchange(odd_, "");
    host_.add(std::move(part));
  }

  // The speed is in megabits; of some plugins in kilobits, which no port has as megabits.
  double gigabits_of(const XmlElement& net) {
    const double speed = net.number("speed", 0, kMostMegabits);
    const bool kilobits = speed > 10 * kFastestPort;
    const double megabits = kilobits ? speed / 1000 : speed;
    const std::string name = net.text("name");
    if (kilobits) host_.assumed.push_back(fmt::format("the speed of {} is taken for kilobits", name));
    if (speed == 0)
      host_.assumed.push_back(
          fmt::format("{} has speed 0, and is taken for {} Gb/s", name, kUnknownNicGbits));
    if (speed > 0 && (megabits > kFastestPort || megabits < kSlowestPort))
      odd_ = fmt::format("has {:g} Gb/s, which no generation of NICs has", megabits / 1000);
    return speed > 0 ? megabits / 1000 : kUnknownNicGbits;
  }

  // tclass is the PCI class of the other end: 0x068001 an NPU of POWER (the CPU), 0x0680 a bridge (an
  // NVSwitch), else a GPU. A switch lists nothing itself, so its cables go both ways; GPUs list each their
  // own.
  void read_link(const ListedLink& link) {
    const int gpu = link.gpu;
    const std::string target = lower_case(link.element.text("target"));
    const std::string to = lower_case(link.element.text_or("tclass", ""));
    const double gbs = link.element.integer("count", 1, kMostCount) * link.gbs;
    if (to.starts_with("0x068001")) return host_.join(gpu, cpu_of(gpu), gbs);
    if (to.starts_with("0x0680")) {
      const int at = host_.add({.kind = PartKind::NvSwitch, .name = fmt::format("NVSwitch ({})", target)},
                               "switch " + target);
      return host_.join(gpu, at, gbs);
    }
    const int other = host_.find(device(link.box, target));
    const PartKind kind = other < 0 ? PartKind::Cpu : host_.parts[other].kind;
    if (kind != PartKind::Gpu && kind != PartKind::NvSwitch)  // nothing, or a bridge
      to_nobody_[target].push_back(link.element);
    else if (other == gpu)
      to_itself_[gpu] += gbs;
    else
      host_.cables.push_back({gpu, other, gbs});
  }

  // Azure's file of NC A100 v4 lists the bridge of two GPUs at each of them, with itself as the target.
  void bridge_pairs() {
    const std::string instance = bridged_instance(host_.file, choices_);
    const std::vector<int> gpus = host_.gpus();
    if (instance.empty() || !host_.cables.empty() || to_itself_.empty() || gpus.size() % 2 != 0) return;
    const auto listed_by = [&](int gpu) { return to_itself_.contains(gpu) ? to_itself_.at(gpu) : 0; };
    for (std::size_t a = 0; a < gpus.size(); a += 2) {
      const double one = listed_by(gpus[a]), other = listed_by(gpus[a + 1]), less = std::min(one, other);
      if (less > 0) host_.join(gpus[a], gpus[a + 1], less);
      if (one != other)
        host_.parts[gpus[one < other ? a : a + 1]].odd =
            fmt::format("has {:g} GB/s of NVLink, and its neighbour {} {:g}", less,
                        host_.parts[gpus[one < other ? a + 1 : a]].name, std::max(one, other));
    }
    host_.assumed.push_back(
        fmt::format("{} of GPUs to themselves are taken for bridges between neighbours, as {} has them",
                    counted(std::ssize(to_itself_), host_.cable_name), instance));
    to_itself_.clear();
  }

  // Everything that was assumed or ignored is a sentence in the report: a wrong guess shall be seen.
  void report_what_was_left_out() {
    const auto& cable = host_.cable_name;
    if (!to_itself_.empty())
      host_.assumed.push_back(
          fmt::format("{} of GPUs to themselves are left out", counted(std::ssize(to_itself_), cable)));
    for (const auto& [target, links] : to_nobody_)
      odd(links.front(),
          fmt::format("is one of {} to {}, which the file does not have, and {} left out",
                      counted(std::ssize(links), cable), target, links.size() == 1 ? "is" : "are"));
    const auto taken_for = [&](int links, const char* lacking, const std::string& value) {
      if (links > 0)
        host_.assumed.push_back(fmt::format("{} without a {} {} taken for {}", counted(links, "PCI link"),
                                            lacking, links == 1 ? "is" : "are", value));
    };
    for (const auto& [gigatransfers, links] : assumed_speeds_)
      taken_for(links, "speed", fmt::format("{} GT/s", gigatransfers));
    taken_for(assumed_widths_, "width", fmt::format("x{}", kUnknownLanes));
    if (several_ports_ > 0)
      host_.read.push_back(fmt::format("{} with several ports {} shown as one port of their sum",
                                       counted(several_ports_, "NIC"), several_ports_ == 1 ? "is" : "are"));
    if (nics_without_speed_ > 0 && describes_gpus_)
      host_.assumed.push_back(fmt::format(
          "{} without a speed {} taken for {}", counted(nics_without_speed_, "NIC"),
          nics_without_speed_ == 1 ? "is" : "are",
          choices_.nic_gbits > 0 ? fmt::format("{} Gb/s", choices_.nic_gbits) : "as fast as its PCI link"));
    for (const auto& [name, count] : ignored_)
      host_.read.push_back(fmt::format("{} <{}> ignored", count, name));
    if (hosts_.size() > 1)
      host_.assumed.push_back(fmt::format(
          "the file has {} hosts, which are taken for one node: no link joins CPUs of different hosts",
          hosts_.size()));
    if (nets_again_ > 0)
      host_.read.push_back(fmt::format("{} of NICs that are listed several times {} left out",
                                       counted(nets_again_, "further entry", "further entries"),
                                       nets_again_ == 1 ? "is" : "are"));
    if (shared_gpus_ > 0)
      host_.read.push_back(
          fmt::format("{} share GPUs, whose links are counted once", counted(shared_gpus_, "rank")));
    host_.read.emplace_back(rates_in_words(choices_));
  }

  const XmlElement root_;
  const ImportOptions& choices_;
  const bool describes_gpus_;  // or PCI alone
  Host host_ = {};
  std::map<std::string, std::vector<int>> ranks_of_ = {};  // by the bus of their GPU: parts
  std::vector<ListedLink> links_ = {};
  std::set<std::string> gpu_ids_ = {};
  std::map<std::string, int> hosts_ = {};  // by hash: from 0
  int box_ = 0;                            // the host of the CPU that is read
  std::string odd_ = {};                   // of the PCI link, or NIC, that is read
  int nets_ = 0, nets_again_ = 0, shared_gpus_ = 0;
  std::map<std::string, int> ignored_ = {};
  int gpus_ = 0;
  std::map<int, double> to_itself_ = {};                           // by GPU: GB/s
  std::map<double, int> assumed_speeds_ = {};                      // by GT/s
  std::map<std::string, std::vector<XmlElement>> to_nobody_ = {};  // by target
  int assumed_widths_ = 0, several_ports_ = 0, nics_without_speed_ = 0;
};

}  // namespace

Host read_nccl_xml(std::string_view text, const std::string& file, const ImportOptions& choices) {
  return NcclReader(text, file, choices).read();
}

}  // namespace chorale
