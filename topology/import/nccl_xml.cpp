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
#include <tuple>

#include "ir/words.h"
#include "topology/import/host.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"
#include "topology/import/xml.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

constexpr int kMostCount = 10'000;     // NVLinks between two
constexpr double kMostMegabits = 1e8;  // 100 Tb/s

// Counts what it ignores or assumes while it reads, and reports the counts in the end.
class NcclReader {
  struct ListedLink {  // an NVLink, to be read when all GPUs are known
    XmlElement element;
    int gpu = 0;     // that lists it
    double gbs = 0;  // of one of them
  };

 public:
  NcclReader(std::string_view text, const std::string& file, const ImportOptions& choices)
      : root_(parse_xml(text, file)), choices_(choices) {
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
    const bool skeleton = gpus_described_ == 0 && gpus_ > 0;
    for (const ListedLink& link : links_) read_link(link);
    bridge_pairs();
    report_what_was_left_out();
    if (!skeleton) return with_nics_of(std::move(host_), choices_);
    const std::string id = gpu_ids_.size() == 1 ? *gpu_ids_.begin() : "";
    return completed({.host = std::move(host_), .gpu_id = id}, choices_);
  }

 private:
  void read_cpu(const XmlElement& cpu) {
    const std::string number = cpu.text("numaid");
    const int box =
        hosts_.try_emplace(cpu.text_or("host_hash", ""), static_cast<int>(hosts_.size())).first->second;
    const int at = host_.add({.kind = PartKind::Cpu, .name = "cpu " + number, .box = box});
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
    if (!known) {
      const std::vector<XmlElement> gpus = pci.children("gpu");
      gigatransfers =
          gpus.empty() ? kUnknownGigatransfers : pci_facts(gpu_kind(gpus.front()).pci).gigatransfers;
      ++assumed_speeds_[gigatransfers];
    }
    return pci_gbs(gigatransfers, width > 0 ? width : kUnknownLanes, rates_of(choices_));
  }

  // By the architecture: gcn of AMD, the compute capability of NVIDIA.
  static const GpuFacts& gpu_kind(const XmlElement& gpu) {
    return gpu.has("gcn") ? gpu_of_gcn(gpu.text("gcn")) : gpu_of_sm(gpu.integer("sm", 1, 10'000));
  }

  // Dumps nest a switch, a bridge and a device as <pci> alike; what is inside tells them apart, and for
  // files of cloud providers, which list no <gpu>, the PCI class: 0x03 display, 0x12 accelerators, 0x02
  // network.
  void read_pci(const XmlElement& pci, int parent) {
    const std::string kind = lower_case(pci.text("class")), bus = lower_case(pci.text("busid"));
    const double up = link_gbs(pci);
    const std::vector<XmlElement> gpus = pci.children("gpu"), nics = pci.children("nic");
    const bool holds_more = !pci.children("pci").empty();
    if (!gpus.empty()) {
      const int above =
          gpus.size() == 1 ? parent : host_.add({PartKind::PciSwitch, "pci " + bus, parent, 0, up});
      const int links = std::ssize(links_);
      for (const XmlElement& gpu : gpus) read_gpu(gpu, bus, above, up);
      if (gpus.size() > 1) share_links(bus, static_cast<int>(gpus.size()), links);
      for (const XmlElement& nic : nics) read_nic(nic, parent, up, bus);
    } else if (!nics.empty()) {
      for (const XmlElement& nic : nics) read_nic(nic, parent, up, bus);
    } else if (!holds_more && (kind.starts_with("0x03") || kind.starts_with("0x12"))) {
      gpu_at_[bus] = host_.add({PartKind::Gpu, fmt::format("gpu {} ({})", gpus_, bus), parent, gpus_, up});
      ++gpus_;
      if (pci.has("vendor") && pci.has("device"))
        gpu_ids_.insert(lower_case(without_0x(pci.text("vendor")) + ":" + without_0x(pci.text("device"))));
    } else if (!holds_more && kind.starts_with("0x02")) {
      host_.add({.kind = PartKind::Nic,
                 .name = "nic " + bus,
                 .parent = parent,
                 .up_gbs = up,
                 .net_gbs = default_nic_gbs(up)});
      ++nics_without_speed_;
    } else if (holds_more) {
      const int at = host_.add({PartKind::PciSwitch, "pci " + bus, parent, 0, up});
      read_children(pci, at);
    }  // else something that neither computes nor sends
  }

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
    const int at =
        host_.add({PartKind::Gpu, fmt::format("gpu {} ({})", dev, bus), parent, rank >= 0 ? rank : dev, up});
    gpu_at_[bus] = at;
    ++gpus_;
    ++gpus_described_;
    const GpuFacts& kind = gpu_kind(gpu);
    host_.take(kind);
    const LinkFacts& its_link =
        gpu.has("gcn") ? link_facts(kind.link) : nvlink_of_sm(gpu.integer("sm", 1, 10'000));
    const double per_link =
        choices_.nvlink_gbs > 0 ? choices_.nvlink_gbs : rate_of(its_link, rates_of(choices_));
    if (choices_.nvlink_gbs > 0 && gpus_described_ == 1) host_.note_above_line(its_link, per_link);
    if (gpu.has("gcn")) host_.cable_name = "xGMI";
    for (const XmlElement& link : gpu.children()) {
      const std::string name = link.name();
      if (name == "nvlink" || name == "xgmi") {
        links_.push_back({link, at, per_link});
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

  // Ranks of one GPU (partitions of it) list the same NVLinks, each all of them. Those of the first count,
  // and are the device's, which joins its ranks. `first`: of links_, the first that these ranks listed.
  void share_links(const std::string& bus, int ranks, int first) {
    const int device = host_.add({.kind = PartKind::NvSwitch, .name = "GPU " + bus});
    const int of_each = (static_cast<int>(links_.size()) - first) / ranks;
    links_.erase(links_.begin() + first + of_each, links_.end());
    for (std::size_t l = first; l < links_.size(); ++l) links_[l].gpu = device;
    for (int p = device - ranks; p < device; ++p)
      host_.join(p, device, link_facts("partitions of a GPU").gbs);
    gpu_at_[bus] = device;
    shared_gpus_ += ranks;
  }

  int cpu_of(int part) const {
    while (host_.parts[part].parent >= 0) part = host_.parts[part].parent;
    return part;
  }

  // All ports of a NIC together.
  void read_nic(const XmlElement& nic, int parent, double up, const std::string& bus) {
    HostPart part{.kind = PartKind::Nic, .parent = parent, .up_gbs = up};
    int ports = 0;
    for (const XmlElement& net : nic.children()) {
      if (net.name() != "net") net.fail("is not known in <nic>", "only <net> is");
      // A NIC that is near several CPUs is listed under each.
      if (!nets_.insert({net.text("name"), net.text_or("guid", ""), net.text_or("port", "")}).second) {
        ++nets_again_;
        continue;
      }
      const double megabits = net.number("speed", 0, kMostMegabits);
      part.net_gbs += net_gbs(megabits > 0 ? megabits / 1000 : kUnknownNicGbits);
      if (megabits == 0)
        host_.assumed.push_back(
            fmt::format("{} has speed 0, and is taken for {} Gb/s", net.text("name"), kUnknownNicGbits));
      if (net.has("latency")) part.net_alpha_us = std::max(part.net_alpha_us, net.number("latency", 0, 1e6));
      part.name += (ports++ > 0 ? " and " : "") + net.text("name");
    }
    if (ports == 0 && !nic.children().empty()) return;  // all of it was there before
    if (ports == 0) {
      part.name = "nic " + bus;
      part.net_gbs =
          default_nic_gbs(up > 0 ? up : pci_gbs(kUnknownGigatransfers, kUnknownLanes, rates_of(choices_)));
      ++nics_without_speed_;
    }
    if (ports > 1) ++several_ports_;
    if (part.up_gbs <= 0) part.up_gbs = part.net_gbs;  // beside PCI: its own speed is all there is
    host_.add(std::move(part));
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
      const auto [at, added] = switch_at_.try_emplace(target, -1);
      if (added) at->second = host_.add({.kind = PartKind::NvSwitch, .name = "NVSwitch " + target});
      return host_.join(gpu, at->second, gbs);
    }
    const auto other = gpu_at_.find(target);
    if (other == gpu_at_.end())
      ++to_nobody_;
    else if (other->second == gpu)
      to_itself_[gpu] += gbs;
    else
      host_.cables.push_back({gpu, other->second, gbs});
  }

  // Azure's file of NC A100 v4 lists the bridge of two GPUs at each of them, with itself as the target.
  void bridge_pairs() {
    const std::string instance = bridged_instance(host_.file, choices_);
    const std::vector<int> gpus = host_.gpus();
    if (instance.empty() || !host_.cables.empty() || to_itself_.size() != gpus.size() || gpus.size() % 2 != 0)
      return;
    for (std::size_t a = 0; a < gpus.size(); a += 2)
      host_.join(gpus[a], gpus[a + 1], std::min(to_itself_[gpus[a]], to_itself_[gpus[a + 1]]));
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
    if (to_nobody_ > 0)
      host_.assumed.push_back(
          fmt::format("{} to GPUs that the file does not have are left out", counted(to_nobody_, cable)));
    // Rates by ordered pair: a link that has another rate than its reverse is reported.
    std::map<std::pair<int, int>, double> there;
    for (const HostCable& each : host_.cables) there[{each.src, each.dst}] += each.gbs;
    const auto one_way = std::ranges::count_if(there, [&](const auto& each) {
      const auto back = there.find({each.first.second, each.first.first});
      return back == there.end() || back->second != each.second;
    });
    if (one_way > 0)
      host_.assumed.push_back(
          fmt::format("{} between GPUs are not the same in both directions, and are kept as they are listed",
                      counted(one_way, "link")));
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
    if (nics_without_speed_ > 0 && gpus_described_ > 0)
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
  Host host_ = {};
  std::map<std::string, int> gpu_at_ = {}, switch_at_ = {};  // by bus
  std::vector<ListedLink> links_ = {};
  std::set<std::string> gpu_ids_ = {};
  std::map<std::string, int> hosts_ = {};                                  // by hash: from 0
  std::set<std::tuple<std::string, std::string, std::string>> nets_ = {};  // name, guid, port
  int nets_again_ = 0, shared_gpus_ = 0;
  std::map<std::string, int> ignored_ = {};
  int gpus_ = 0, gpus_described_ = 0;
  std::map<int, double> to_itself_ = {};       // by GPU: GB/s
  std::map<double, int> assumed_speeds_ = {};  // by GT/s
  int to_nobody_ = 0, assumed_widths_ = 0, several_ports_ = 0, nics_without_speed_ = 0;
};

}  // namespace

Host read_nccl_xml(std::string_view text, const std::string& file, const ImportOptions& choices) {
  return NcclReader(text, file, choices).read();
}

}  // namespace chorale
