// The matrix of 'nvidia-smi topo -m'. A cell gives the farthest component that the path between two devices
// crosses: one PCI switch (PIX), several (PXB), a host bridge (PHB), a NUMA node (NODE), the link between
// CPUs (SYS); or the NVLinks between two GPUs (NV4), which hide their PCI path. The tree of PCI is composed
// of these by classes: devices that are joined at a level or below hang on one part.
//
//          GPU0  GPU1  NIC0  CPU Affinity
//   GPU0    X    NV4   PIX   0-31
//   GPU1   NV4    X    SYS   32-63
//   NIC0   PIX   SYS    X
//
// The format is meant for readers: columns by tabs or whitespace, drivers without the last of them, the last
// cell of a row glued to the CPUs after it ("NV120-31"). So a row is parsed from the left, by the forms that
// a cell can have.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "ir/words.h"
#include "topology/import/host.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

constexpr std::size_t kMostDevices = 512;
constexpr int kMostNvlinks = 18;  // of one GPU

enum class Way { Self, Nvlink, Pix, Pxb, Phb, Node, Sys };

struct Cell {
  Way way = Way::Self;
  int nvlinks = 0;
  bool operator==(const Cell&) const = default;
};

// A row of the matrix.
struct Device {
  std::string name = {};
  bool gpu = false;
  std::vector<Cell> cells = {};
  std::vector<std::string> after = {};  // CPUs, NUMA nodes
  int line = 0;
  std::string glued = {};  // the last cell, where something is glued to it
};

// Without what makes a terminal underline.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      result += text[i];
      continue;
    }
    while (i + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
  }
  return result;
}

class SmiReader {
 public:
  SmiReader(std::string_view text, const std::string& file, const ImportOptions& choices)
      : file_(file), choices_(choices) {
    host_.file = file;
    const std::string plain = without_escapes(text);
    model_ = gpu_of_model(plain);
    std::istringstream lines(plain + "\n");
    for (std::string line; std::getline(lines, line);) lines_.push_back(std::move(line));
  }

  Host read() {
    const std::size_t header = read_header();
    for (std::size_t i = 0; i < header; ++i)
      if (lines_[i].find("topo -mp") != std::string::npos)
        fail(i + 1, "is of 'nvidia-smi topo -mp', which leaves NVLinks out", "give 'nvidia-smi topo -m'");
    for (std::size_t i = header + 1; i < lines_.size() && devices_.size() < names_.size(); ++i) read_row(i);
    if (devices_.size() < names_.size())
      fail(lines_.size(), fmt::format("has rows for {} of {} devices", devices_.size(), names_.size()),
           "give all that nvidia-smi printed");
    unglue();
    require_symmetry();
    read_nic_legend(header);
    build();
    return with_nics_of(std::move(host_), choices_);
  }

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& problem, const std::string& remedy) const {
    throw InputError(fmt::format("{}:{}", file_, line), problem, remedy);
  }

  // Titles, where terminals joined some: NIC11NIC12 is two.
  static std::vector<std::string> apart(const std::vector<std::string>& titles) {
    std::vector<std::string> names;
    for (const std::string& title : titles)
      for (std::size_t begin = 0; begin < title.size();) {
        const std::size_t end = std::min(title.find("NIC", begin + 1), title.find("GPU", begin + 1));
        names.push_back(title.substr(begin, end - begin));
        begin = std::min(end, title.size());
      }
    return names;
  }

  // The first line whose first column is GPU0; "CPU Affinity" and what follows are columns of their own.
  std::size_t read_header() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string before = lines_[i].substr(0, lines_[i].find("CPU Affinity"));
      const std::vector<std::string> words = words_in(before);
      if (words.empty() || !words.front().starts_with("GPU0")) continue;
      names_ = apart(words);
      if (names_.front() != "GPU0") continue;
      if (names_.size() > kMostDevices)
        fail(i + 1, fmt::format("has {} devices", names_.size()),
             fmt::format("{} are the most", kMostDevices));
      if (std::set<std::string>(names_.begin(), names_.end()).size() != names_.size())
        fail(i + 1, "names a device twice", "give what nvidia-smi printed");
      return i;
    }
    fail(1, "has no header that begins with GPU0", "give all that 'nvidia-smi topo -m' prints");
  }

  // A cell that a word begins with, and where it ends there; none: no cell.
  static std::optional<std::pair<Cell, std::size_t>> cell_of(const std::string& word) {
    static const std::vector<std::pair<std::string, Way>> known = {
        {"X", Way::Self},    {"PIX", Way::Pix}, {"PXB", Way::Pxb}, {"PHB", Way::Phb},
        {"NODE", Way::Node}, {"SYS", Way::Sys}, {"SOC", Way::Sys}};
    for (const auto& [text, way] : known)
      if (word.starts_with(text)) return std::pair(Cell{.way = way}, text.size());
    if (!word.starts_with("NV")) return std::nullopt;
    Cell cell{.way = Way::Nvlink};
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), cell.nvlinks);
    if (error != std::errc()) return std::nullopt;
    return std::pair(cell, static_cast<std::size_t>(end - word.data()));
  }

  // Takes the cell that `rest` of a word begins with; returns what follows, cells that terminals joined.
  std::string take_cell(std::size_t i, const std::string& word, const std::string& rest, Device& device) {
    const auto cell = cell_of(rest);
    const bool last = device.cells.size() + 1 == names_.size();
    const std::string after = cell ? rest.substr(cell->second) : "";
    if (!cell || (!after.empty() && !last && !cell_of(after)))
      fail(i + 1, fmt::format("'{}' is not a cell of {}", word.substr(0, 40), names_[device.cells.size()]),
           "cells are X, NV1 and so on, PIX, PXB, PHB, NODE, SYS");
    device.cells.push_back(cell->first);
    const bool too_many = cell->first.way == Way::Nvlink && cell->first.nvlinks > kMostNvlinks;
    if (last && (!after.empty() || too_many)) device.glued = rest;
    if (!last && too_many)
      fail(i + 1,
           fmt::format("'{}' is not a cell: a GPU has at most {} NVLinks", word.substr(0, 40), kMostNvlinks),
           "give what nvidia-smi printed");
    return after;
  }

  // As many cells as there are columns, and then CPUs. Only the last cell may have something glued to it.
  void read_row(std::size_t i) {
    const std::vector<std::string> words = words_in(lines_[i]);
    if (words.empty()) return;
    if (words.front() != names_[devices_.size()])
      fail(i + 1,
           fmt::format("begins with '{}', where {} is due", words.front().substr(0, 40),
                       names_[devices_.size()]),
           "give rows in the order of columns");
    Device device{
        .name = words.front(), .gpu = words.front().starts_with("GPU"), .line = static_cast<int>(i + 1)};
    std::size_t w = 1;
    for (; w < words.size() && device.cells.size() < names_.size(); ++w)
      for (std::string rest = words[w]; !rest.empty() && device.cells.size() < names_.size();)
        rest = take_cell(i, words[w], rest, device);
    if (device.cells.size() < names_.size())
      fail(i + 1, fmt::format("has {} of {} cells", device.cells.size(), names_.size()),
           "give all that nvidia-smi printed");
    device.after.assign(words.begin() + static_cast<std::ptrdiff_t>(w), words.end());
    devices_.push_back(std::move(device));
  }

  // The other half of the matrix shows where a glued cell ends: "NV120-31" is NV12 and 0-31, or NV1 and
  // 20-31.
  void unglue() {
    const std::size_t last = names_.size() - 1;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      Device& device = devices_[d];
      if (device.glued.empty()) continue;
      if (d == last) {
        if (device.cells[last].way != Way::Self)
          fail(device.line, "has no X on the diagonal", "give what nvidia-smi printed");
        device.after.insert(device.after.begin(), device.glued.substr(1));
        continue;
      }
      const Cell& other = devices_[last].cells[d];
      const std::string prefix = other.way == Way::Nvlink ? fmt::format("NV{}", other.nvlinks) : "";
      if (!prefix.empty() && device.glued.starts_with(prefix)) {
        device.after.insert(device.after.begin(), device.glued.substr(prefix.size()));
        device.cells[last] = other;
      } else if (device.cells[last].way != Way::Nvlink) {
        device.after.insert(device.after.begin(), device.glued.substr(cell_of(device.glued)->second));
      } else {
        fail(device.line,
             fmt::format("'{}' is a cell and what follows it, in one", device.glued.substr(0, 40)),
             "put a blank between them");
      }
    }
    const auto glued = std::ranges::count_if(devices_, [](const Device& d) { return !d.glued.empty(); });
    if (glued > 0)
      host_.read.push_back(
          fmt::format("{} glued to the CPUs that follow, and read as the other half of the matrix has them",
                      counted(glued, "last cell is", "last cells are")));
  }

  // A text that was edited, or of which a column was cut, mostly fails here.
  void require_symmetry() const {
    for (std::size_t a = 0; a < devices_.size(); ++a)
      for (std::size_t b = 0; b < devices_.size(); ++b) {
        const Cell& cell = devices_[a].cells[b];
        if ((a == b) != (cell.way == Way::Self))
          fail(devices_[a].line, fmt::format("has {} X at {}", a == b ? "no" : "an", names_[b]),
               "X is for the diagonal");
        if (cell != devices_[b].cells[a])
          fail(devices_[a].line,
               fmt::format("lists another connection to {} than {} lists back", names_[b], names_[b]),
               "give what nvidia-smi printed");
        if (cell.way == Way::Nvlink && (!devices_[a].gpu || !devices_[b].gpu || cell.nvlinks < 1))
          fail(devices_[a].line, fmt::format("has NVLinks to {}, which is not for {}", names_[b], names_[a]),
               "NVLinks are between GPUs");
      }
  }

  // "  NIC0: mlx5_0"
  void read_nic_legend(std::size_t header) {
    for (std::size_t i = header; i < lines_.size(); ++i) {
      const std::vector<std::string> words = words_in(lines_[i]);
      if (words.size() == 2 && words[0].starts_with("NIC") && words[0].ends_with(":"))
        nic_names_[words[0].substr(0, words[0].size() - 1)] = words[1].substr(0, 100);
    }
  }

  int nvlinks_of(const Device& device) const {
    int sum = 0;
    for (const Cell& cell : device.cells) sum += cell.nvlinks;
    return sum;
  }

  // A GPU of the generation that has so many NVLinks, and what the report calls it.
  struct Guess {
    const char* gpu;  // topology/hardware/facts.h
    std::string name;
  };
  // The matrix has neither model nor rate; a text around it may name the model. Without a switch a GPU's
  // links are those to all others together (6 in a DGX-1); to a switch the same number is printed for each
  // other GPU (NV12 of an A100, NV18 of an H100). Four links of a GPU to one other are the bridge of two
  // cards of Ampere (RTX A6000, RTX 3090), where the four of Pascal lead to several. GPUs that are NUMA nodes
  // themselves are those beside Grace.
  Guess guess() const {
    int most = 0, sum = 0;
    bool pairs = true;
    for (const Device& device : devices_) {
      sum = std::max(sum, nvlinks_of(device));
      const auto partners = std::ranges::count(device.cells, Way::Nvlink, &Cell::way);
      pairs = pairs && partners <= 1;
      for (const Cell& cell : device.cells) most = std::max(most, cell.nvlinks);
    }
    const bool switched = sum > kMostNvlinks;
    const int links = switched ? most : sum;  // to a switch, or to all others together
    if (model_ != nullptr && model_->sm > 0 && (links == 0 || links <= model_->links))
      return {model_->name, std::string(model_->name) + ", which the text names"};
    if (std::ranges::any_of(devices_, is_numa_node))
      return switched ? Guess{"GB200", "Blackwell beside Grace"} : Guess{"GH200", "Hopper beside Grace"};
    if (links == 4 && pairs)
      return {"RTX A6000",
              fmt::format("Ampere cards with a bridge (two of four A100 have as many NVLinks, of "
                          "{} GB/s)",
                          link_gbs(gpu_facts("A100"), rates_of(choices_)))};
    if (links == 0) return {"L40S", "cards without NVLink"};
    const char* const gpu = links > 12 ? "H100" : links > 6 ? "A100" : links > 4 ? "V100" : "P100";
    if (links > 12)
      return {gpu, fmt::format("Hopper (Blackwell has as many NVLinks, of {} GB/s)",
                               link_gbs(gpu_facts("B200"), rates_of(choices_)))};
    return {gpu, links > 4 ? gpu_facts(gpu).family : "Pascal, or bridged GPUs"};
  }

  // Transitive closure by level: devices that are PIX to each other share a switch, PXB an upper one, and
  // so on; a part per class, each below the part of its class one level up.
  void build() {
    const auto [gpu_name, kind] = guess();
    const GpuFacts& gpu = gpu_facts(gpu_name);
    host_.take(gpu);
    const double up = pci_gbs(pci_facts(gpu.pci).gigatransfers, 16, rates_of(choices_));
    const double gbits = choices_.nic_gbits > 0 ? choices_.nic_gbits : gpu.nic_gbits;
    const double net = nic_gbs(network_facts(host_.network), gbits, rates_of(choices_));
    // Classes of devices, by level; a class lies in one of the level above.
    std::vector<std::vector<int>> group(4, std::vector<int>(devices_.size()));
    constexpr Way kLevels[] = {Way::Pix, Way::Pxb, Way::Phb, Way::Node};
    for (std::size_t level = 0; level < 4; ++level) {
      std::iota(group[level].begin(), group[level].end(), 0);
      for (std::size_t a = 0; a < devices_.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
          const Way way = devices_[a].cells[b].way;
          const bool near = way != Way::Nvlink && way <= kLevels[level];
          if (near || (level == 3 && same_cpus(devices_[a], devices_[b])))
            std::ranges::replace(group[level], group[level][a], group[level][b]);
        }
    }
    if (std::ranges::any_of(devices_, is_numa_node)) spread_nics(group[3]);
    std::map<std::pair<int, int>, int> part_of;  // by level and class
    // The part of a class is made when the first of its devices comes, after that of its class one level up,
    // so parents come before children.
    const auto part = [&](auto&& self, int level, std::size_t device) -> int {
      const auto [at, added] = part_of.try_emplace({level, group[level][device]}, -1);
      if (!added) return at->second;
      const int number = static_cast<int>(part_of.size()) - 1;
      int& made = part_of[{level, group[level][device]}];
      if (level == 3)
        return made = host_.add({.kind = PartKind::Cpu, .name = fmt::format("cpu of {}", names_[device])});
      const int above = self(self, level + 1, device);
      const char* const what = level == 2 ? "host bridge" : level == 1 ? "upper PCI switch" : "PCI switch";
      return made = host_.add({PartKind::PciSwitch, fmt::format("{} {}", what, number), above, 0, up});
    };
    std::vector<int> gpu_parts;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const int above = part(part, 0, d);
      const Device& device = devices_[d];
      if (device.gpu) {
        gpu_parts.push_back(host_.add({.kind = PartKind::Gpu,
                                       .name = device.name,
                                       .parent = above,
                                       .number = static_cast<int>(d),
                                       .up_gbs = up,
                                       .where = fmt::format("{}:{}", file_, device.line)},
                                      device.name));
      } else {
        const auto named = nic_names_.find(device.name);
        host_.parts.push_back(
            {.kind = PartKind::Nic,
             .name = named == nic_names_.end() ? device.name : device.name + " " + named->second,
             .parent = above,
             .up_gbs = up,
             .net_gbs = net,
             .where = fmt::format("{}:{}", file_, device.line),
             .ports = {
                 {named == nic_names_.end() ? device.name : named->second,
                  number_in<int>(
                      std::string_view(device.name).substr(std::min<std::size_t>(3, device.name.size())))
                      .value_or(static_cast<int>(d)),
                  net}}});
      }
    }
    const double nvlink = choices_.nvlink_gbs > 0 ? choices_.nvlink_gbs : link_gbs(gpu, rates_of(choices_));
    join_gpus(gpu_parts, nvlink);
    if (gpu.links > 0) host_.note_above_line(link_facts(gpu.link), nvlink);
    host_.socket_gbs = socket_facts(gpu.cpu).gbs;  // the text names no CPU
    host_.assumed.push_back(fmt::format(
        "the text has no rates: GPUs are taken for {}, {}PCI of {} GB/s{}; {} GB/s between CPUs ({})", kind,
        nvlink > 0 ? fmt::format("with NVLinks of {} GB/s{} and ", nvlink,
                                 choices_.nvlink_gbs > 0 ? ", as specified," : " (--nvlink-gbs sets another)")
                   : "with ",
        up, nvlink > 0 ? "" : " (the file that NCCL_TOPO_DUMP_FILE names has theirs)", host_.socket_gbs,
        gpu.cpu));
    if (gpu_parts.size() < devices_.size())
      host_.assumed.push_back(
          fmt::format("NICs are taken for {} Gb/s each{}", gbits,
                      choices_.nic_gbits > 0 ? ", as specified" : "; --nic-gbits sets another"));
    host_.read.emplace_back(rates_in_words(choices_));
  }

  // Beside Grace NICs are SYS to all GPUs of both CPUs: in their order they are divided among the CPUs.
  void spread_nics(std::vector<int>& cpu_of) {
    std::vector<int> cpus;
    std::vector<std::size_t> nics;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const bool alone =
          std::ranges::count(devices_[d].cells, Way::Sys, &Cell::way) + 1 == std::ssize(names_);
      if (devices_[d].gpu && std::ranges::find(cpus, cpu_of[d]) == cpus.end()) cpus.push_back(cpu_of[d]);
      if (!devices_[d].gpu && alone) nics.push_back(d);
    }
    for (std::size_t n = 0; n < nics.size() && !cpus.empty(); ++n)
      cpu_of[nics[n]] = cpus[n * cpus.size() / nics.size()];
    if (!nics.empty())
      host_.assumed.push_back(
          fmt::format("{} that the text has at no CPU {} at those of GPUs, in their order",
                      counted(std::ssize(nics), "NIC"), nics.size() == 1 ? "is" : "are"));
  }

  // GPU0 and GPU1 with CPUs 0-31: the first column after the matrix.
  static bool same_cpus(const Device& a, const Device& b) {
    return !a.after.empty() && a.after.front() != "N/A" && !b.after.empty() &&
           a.after.front() == b.after.front();
  }

  // CPUs, NUMA nodes, and the one that the memory of the GPU is: "0-71 0 2"; "N/A" beside other CPUs.
  static bool is_numa_node(const Device& device) {
    return device.gpu && device.after.size() >= 3 && number_in<int>(device.after.back()).has_value();
  }

  // More NVLinks than a GPU has are a switch's: each pair can have all of them, but not at once.
  void join_gpus(const std::vector<int>& parts, double gbs) {
    std::vector<const Device*> gpus;
    for (const Device& device : devices_)
      if (device.gpu) gpus.push_back(&device);
    const bool switched =
        std::ranges::any_of(gpus, [&](const Device* d) { return nvlinks_of(*d) > kMostNvlinks; });
    if (switched) {
      const int hub = host_.add({.kind = PartKind::NvSwitch, .name = "NVSwitch"});
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        int links = 0;
        for (const Cell& cell : gpus[g]->cells) links = std::max(links, cell.nvlinks);
        if (links == 0) continue;
        host_.join(parts[g], hub, links * gbs);
      }
      note_odd_pairs(gpus);
      host_.assumed.push_back("more NVLinks than a GPU has lead to a switch, not to each other GPU");
      return;
    }
    for (const Device* a : gpus)
      for (std::size_t b = 0; b < names_.size(); ++b)
        if (a->cells[b].nvlinks > 0)
          host_.cables.push_back({host_.find(a->name), host_.find(names_[b]), a->cells[b].nvlinks * gbs});
  }

  // Through a switch two GPUs have the links of the one that has fewer.
  void note_odd_pairs(const std::vector<const Device*>& gpus) {
    const auto most = [](const Device* d) { return std::ranges::max(d->cells, {}, &Cell::nvlinks).nvlinks; };
    for (const Device* a : gpus)
      for (const Device* b : gpus) {
        const Cell& cell = a->cells[static_cast<std::size_t>(b - devices_.data())];
        const int expected = std::min(most(a), most(b));
        if (a < b && cell.nvlinks < expected)
          host_.odd.push_back(fmt::format(
              "{}:{}: {} has {} to {}, where both have NV{} to others", file_, a->line, a->name,
              cell.nvlinks > 0 ? fmt::format("NV{}", cell.nvlinks) : "no NVLink", b->name, expected));
      }
  }

  const std::string file_;
  const ImportOptions& choices_;
  std::vector<std::string> lines_ = {};
  std::vector<std::string> names_ = {};
  std::vector<Device> devices_ = {};
  std::map<std::string, std::string> nic_names_ = {};
  const GpuFacts* model_ = nullptr;  // that the text names
  Host host_ = {};
};

}  // namespace

Host read_nvidia_smi(std::string_view text, const std::string& file, const ImportOptions& choices) {
  return SmiReader(text, file, choices).read();
}

}  // namespace chorale
