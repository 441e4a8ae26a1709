// hwloc's objects: bridges are links of PCI with their speed in GB/s, GPUs and NICs are PCI devices by their
// class, and NVLinks are a matrix over GPUs and NVSwitches in MB/s. What has host bridges in it is a CPU.
//   <object type="Package" os_index="0">
//     <object type="Bridge" bridge_type="0-1">
//       <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:02.0" pci_link_speed="15.753846">
//         <object type="PCIDev" gp_index="12" pci_busid="0000:04:00.0" pci_type="0302 [10de:1db8] ..."/>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "ir/words.h"
#include "topology/import/host.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"
#include "topology/import/xml.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

constexpr int kMostObjects = 4096;      // of a matrix
constexpr double kMostMegabytes = 1e9;  // a second

// Reads the tree of objects, then the matrices, which name devices by numbers (gp_index) of their own.
class HwlocReader {
 public:
  HwlocReader(std::string_view text, const std::string& file, const ImportOptions& choices)
      : root_(parse_xml(text, file)), choices_(choices) {
    host_.file = file;
  }

  // Objects first: matrices name them by their numbers.
  Host read() {
    const std::string version = root_.text_or("version", "1");
    if (version.front() != '2' && version.front() != '3')
      root_.fail("is hwloc's format " + version, "write it again with hwloc 2 or later");
    newer_ = version.front() == '3';
    for (const XmlElement& child : root_.children("object")) read_object(child, -1);
    for (const XmlElement& child : root_.children("distances2hetero")) read_matrix(child);
    for (const XmlElement& child : root_.children("distances2")) read_matrix(child);
    join_nvswitches();
    host_.socket_gbs = socket_gbs(vendor_.starts_with("IBM") || vendor_.starts_with("POWER") ? "ppc64" : "",
                                  vendor_, family_, model_);
    host_.read.push_back(fmt::format("{}: hwloc has line rates", rates_in_words(choices_)));
    if (unknown_models_ > 0)
      host_.assumed.push_back(fmt::format("{} of an unknown model {} the line rates of {}",
                                          counted(unknown_models_, "GPU"),
                                          unknown_models_ == 1 ? "has" : "have", host_.cable_name));
    if (cpus_ > 1)
      host_.assumed.push_back(
          fmt::format("CPUs are joined by {} GB/s, by their vendor and model", host_.socket_gbs));
    if (unknown_pci_ > 0)
      host_.assumed.push_back(fmt::format("{} without a speed {} taken for {} GB/s",
                                          counted(unknown_pci_, "PCI link"), unknown_pci_ == 1 ? "is" : "are",
                                          unknown_pci_gbs()));
    if (nics_ > 0)
      host_.assumed.push_back(
          choices_.nic_gbits > 0
              ? fmt::format("NICs are taken for {} Gb/s, as specified", choices_.nic_gbits)
              : "hwloc does not report how fast NICs are: each is taken for its device's usual speed, or "
                "else its PCI link's");
    return std::move(host_);
  }

 private:
  // The tree is objects in objects. `above` is the innermost part so far, on which PCI below hangs; -1: none
  // yet.
  void read_object(const XmlElement& object, int above) {
    const std::string type = object.text("type");
    if (type == "Package") read_cpu_info(object);
    if (type == "Bridge" && object.text_or("bridge_type", "0-1").starts_with("0")) {
      if (above < 0) above = host_.add({.kind = PartKind::Cpu, .name = "cpu"});
    } else if (type == "Bridge") {
      above = host_.add(
          {PartKind::PciSwitch, "pci " + object.text("pci_busid"), above_or_cpu(above), 0, pci_rate(object)});
    } else if (type == "PCIDev") {
      return read_device(object, above);
    } else if (std::ranges::any_of(object.children("object"), [](const XmlElement& child) {
                 return child.text_or("type", "") == "Bridge";
               })) {
      above = host_.add(
          {.kind = PartKind::Cpu, .name = fmt::format("{} {}", type, object.text_or("os_index", "0"))});
      ++cpus_;
    }
    for (const XmlElement& child : object.children("object")) read_object(child, above);
  }

  int above_or_cpu(int above) {
    return above >= 0 ? above : host_.add({.kind = PartKind::Cpu, .name = "cpu"});
  }

  // POWER reports no vendor; its model ("POWER9 ...") says as much.
  void read_cpu_info(const XmlElement& package) {
    for (const XmlElement& info : package.children("info")) {
      const std::string name = info.text("name"), value = info.text_or("value", "");
      const auto number = [&] {
        int result = 0;
        std::from_chars(value.data(), value.data() + value.size(), result);
        return result;
      };
      if (name == "CPUVendor") vendor_ = value;
      if (name == "CPUModel" && vendor_.empty()) vendor_ = value;
      if (name == "CPUFamilyNumber") family_ = number();
      if (name == "CPUModelNumber") model_ = number();
    }
  }

  // 0 and no attribute mean that hwloc does not know it; these are counted, and reported as assumed.
  double pci_rate(const XmlElement& object) {
    const double gbs = object.has("pci_link_speed") ? object.number("pci_link_speed", 0, 1e6) : 0;
    if (gbs > 0) return gbs * pci_gbs(32, 16, rates_of(choices_)) / pci_gbs(32, 16, RateKind::Line);
    ++unknown_pci_;
    return unknown_pci_gbs();
  }

  double unknown_pci_gbs() const { return pci_gbs(kUnknownGigatransfers, kUnknownLanes, rates_of(choices_)); }

  // The part of the line rate that the links of a GPU reach, by the model that CUDA or ROCm report of it.
  double part_of_links(const XmlElement& device) {
    for (const XmlElement& child : device.children("object"))
      for (const XmlElement& info : child.children("info"))
        if (info.text_or("name", "") == "GPUModel")
          if (const GpuFacts* gpu = gpu_of_model(info.text_or("value", "")); gpu && gpu->links > 0) {
            host_.take(*gpu);
            return link_gbs(*gpu, rates_of(choices_)) / link_gbs(*gpu, RateKind::Line);
          }
    ++unknown_models_;
    return 1;
  }

  // "0302 [10de:1db8] [10de:131d] a1 00": class, vendor:device, subsystem, revision. NICs are InfiniBand
  // (0207), or Ethernet with verbs: the management port is none.
  void read_device(const XmlElement& device, int above) {
    const std::string type = device.text("pci_type"), bus = device.text("pci_busid");
    const std::string kind = type.substr(0, 4), id = type.size() >= 15 ? type.substr(6, 9) : "";
    const int number = device.has("gp_index") ? device.integer("gp_index", 0, 1 << 30) : -1;
    const bool nvidia = id.starts_with("10de"), amd = id.starts_with("1002");
    const bool computes = has_backend(device);
    int part = -1;
    if (!buses_.insert(bus).second) return;  // listed before
    if (device.text_or("subtype", "") == "NVSwitch") {
      part = host_.add({.kind = PartKind::NvSwitch, .name = fmt::format("NVSwitch ({})", bus)});
    } else if (((nvidia || amd) && (kind.starts_with("03") || kind.starts_with("12"))) || computes) {
      part = host_.add(part_below(above_or_cpu(above), PartKind::Gpu, fmt::format("gpu{} ({})", gpus_, bus),
                                  pci_rate(device), device.line()));
      host_.parts[part].number = gpus_;
      host_.parts[part].model = id;
      part_of_links_[part] = part_of_links(device);
      ++gpus_;
    } else if (kind == "0207" || (kind.starts_with("02") && !verbs_name(device).empty())) {
      const double up = pci_rate(device);
      HostPart nic = part_below(above_or_cpu(above), PartKind::Nic, "nic " + bus, up, device.line());
      nic.net_gbs = nic_gbs(id, up);
      nic.ports = {{verbs_name(device), nics_++, nic.net_gbs}};
      host_.add(std::move(nic));
    }
    if (part < 0) return;
    host_.known["PCIDev:" + std::to_string(number)] = part;
    for (const XmlElement& child : device.children("object"))
      if (child.has("gp_index")) host_.known["OSDev:" + child.text("gp_index")] = part;
  }

  // Of devices of the system: a number of its own in version 2, a bit each in version 3.
  // OpenFabrics is 3 in version 2 and the bit 32 in version 3, co-processors are 5 and 8.
  bool is_os_device(const XmlElement& child, int as_number, int as_bit) const {
    if (child.text_or("type", "") != "OSDev" || !child.has("osdev_type")) return false;
    const int type = child.integer("osdev_type", 0, 1 << 20);
    return newer_ ? (type & as_bit) != 0 : type == as_number;
  }

  bool has_backend(const XmlElement& device) const {  // of computing: CUDA, RSMI
    const auto children = device.children("object");
    return std::ranges::any_of(children, [&](const XmlElement& c) { return is_os_device(c, 5, 8); });
  }

  // "mlx5_0"; empty: it has no verbs.
  std::string verbs_name(const XmlElement& device) const {
    for (const XmlElement& child : device.children("object"))
      if (is_os_device(child, 3, 32)) return child.text_or("name", "verbs");
    return "";
  }

  // hwloc has no speed of ports: by the device, and never more than PCI carries.
  double nic_gbs(const std::string& id, double up) const {
    const auto carries = [&](double speed) {
      return chorale::nic_gbs(network_facts(host_.network), speed, rates_of(choices_));
    };
    if (choices_.nic_gbits > 0) return carries(choices_.nic_gbits);
    const double gbits = nic_gbits_of(id);
    return gbits == 0 ? up : std::min(up, carries(gbits));
  }

  // Switches carry what their GPUs do.
  double part_of_links_of(int part) const {
    const auto known = part_of_links_.find(part);
    return known == part_of_links_.end() ? 1 : known->second;
  }

  // "indexes" names n objects and "u64values" has n * n rates in rows, MB/s from the row's object to the
  // column's. A matrix of one type has numbers alone, "type" before them; of several, "PCIDev:12" each.
  void read_matrix(const XmlElement& matrix) {
    const std::string name = matrix.text_or("name", "");
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") return;
    if (name == "XGMIBandwidth") host_.cable_name = "xGMI";
    const int count = matrix.integer("nbobjs", 1, kMostObjects);
    std::vector<std::string> names, values;
    const std::string prefix = matrix.has("type") ? matrix.text("type") + ":" : "";
    for (const XmlElement& part : matrix.children("indexes"))
      for (const std::string& word : words_in(part.contents())) names.push_back(prefix + word);
    for (const XmlElement& part : matrix.children("u64values"))
      for (const std::string& word : words_in(part.contents())) values.push_back(word);
    const std::size_t n = static_cast<std::size_t>(count);
    if (names.size() != n || values.size() != n * n)
      matrix.fail(fmt::format("has {} objects and {} values for {}", names.size(), values.size(), count),
                  "write the file again");
    // Rates to objects that are no part (a CPU's) are left out, and counted.
    std::vector<int> parts;
    for (const std::string& each : names) parts.push_back(host_.find(each));
    int lost = 0;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        const std::string& value = values[a * n + b];
        const double megabytes = number_in<double>(value).value_or(-1);
        if (!(megabytes >= 0 && megabytes <= kMostMegabytes))
          matrix.fail(fmt::format("value '{}' is out of range", value.substr(0, 40)), "use MB/s, 0 or more");
        if (a == b || megabytes == 0) continue;
        if (parts[a] < 0 || parts[b] < 0)
          ++lost;
        else if (parts[a] != parts[b])
          host_.cables.push_back(
              {parts[a], parts[b],
               megabytes / 1000 * std::min(part_of_links_of(parts[a]), part_of_links_of(parts[b]))});
      }
    if (lost > 0)
      host_.assumed.push_back(
          fmt::format("{} of the matrix lead to objects that are neither GPU nor NVSwitch, and are left out",
                      counted(lost, "rate")));
  }

  // NVML lists no links between switches, but switches of one kind are one fabric: of two groups of switches
  // with their own GPUs (the two boards of a DGX-2), the switches are linked in pairs, as fast as all their
  // GPUs.
  void join_nvswitches() {
    std::map<int, std::map<int, double>> gpus_of;  // by switch, what each GPU sends to it
    for (const HostCable& cable : host_.cables) {
      const bool from = host_.parts[cable.src].kind == PartKind::NvSwitch,
                 to = host_.parts[cable.dst].kind == PartKind::NvSwitch;
      if (from && to) return;
      if (to) gpus_of[cable.dst][cable.src] += cable.gbs;
    }
    std::map<std::vector<int>, std::vector<int>> groups;  // switches by their GPUs
    for (const auto& [nvswitch, rates] : gpus_of) {
      std::vector<int> gpus;
      for (const auto& [gpu, gbs] : rates) gpus.push_back(gpu);
      groups[gpus].push_back(nvswitch);
    }
    if (groups.size() != 2) return;
    const std::vector<int>&a = groups.begin()->second, &b = groups.rbegin()->second;
    if (a.size() != b.size()) return;
    const auto all_of = [&](int nvswitch) {
      double sum = 0;
      for (const auto& [gpu, gbs] : gpus_of[nvswitch]) sum += gbs;
      return sum;
    };
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double gbs = std::min(all_of(a[i]), all_of(b[i]));
      host_.join(a[i], b[i], gbs);
    }
    host_.assumed.push_back(
        "the matrix has no links between the two groups of NVSwitches; they are taken to be joined in "
        "pairs, as in a DGX-2, as fast as their GPUs are");
  }

  const XmlElement root_;
  const ImportOptions& choices_;
  Host host_ = {};
  std::string vendor_ = {};
  int family_ = 0, model_ = 0;
  std::map<int, double> part_of_links_ = {};  // by GPU
  std::set<std::string> buses_ = {};          // of devices that were read
  int gpus_ = 0, nics_ = 0, cpus_ = 0, unknown_pci_ = 0, unknown_models_ = 0;
  bool newer_ = false;
};

}  // namespace

Host read_hwloc_xml(std::string_view text, const std::string& file, const ImportOptions& choices) {
  return HwlocReader(text, file, choices).read();
}

}  // namespace chorale
