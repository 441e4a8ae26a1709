// What 'rocm-smi --showtopo' prints, as text or with --json: for each two GPUs a weight, the hops and the
// type of the link between them (XGMI or PCIE), and the NUMA node of each GPU. A weight of 15 or less is one
// hop of XGMI, a direct link; more is 15 for each hop over other GPUs, and no link. Where the output has no
// weights, hops decide; but drivers print 1 for all pairs of XGMI, near or far. The output has no rates
// and no NICs.
//
// As text: tables with a title line, a header of GPUs and a row for each.
//   ======== Hops between two GPUs ========
//          GPU0  GPU1
//   GPU0   0     1
//   GPU1   1     0
//   GPU[0]  : (Topology) Numa Node: 0       (or "GPU 0 :")
// As JSON: "system": {"(Topology) Link type between DRM devices 0 and 1": "XGMI", ...}, "card0": {...}.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/words.h"
#include "topology/import/host.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr int kMostRocmGpus = 64;
constexpr int kWeightOfHop = 15;  // of XGMI; of two dies of one package 13 (amdkfd, kfd_crat.h)

struct RocmLink {
  std::string type = {};                      // "XGMI", "PCIE"; "": not printed, as the others
  std::optional<int> hops = {}, weight = {};  // weight: not compared, since it may differ by a way back
  bool is_as(const RocmLink& other) const { return type == other.type && hops == other.hops; }
};

// What both forms have.
struct RocmTopology {
  int gpus = 0;
  std::map<std::pair<int, int>, RocmLink> links = {};
  std::map<int, int> numa = {};  // by GPU
};

std::string remedy() {
  return "give all that 'rocm-smi --showtopo' prints, as text or with --json";
}

class RocmText {
 public:
  RocmText(std::string_view text, const std::string& file) : file_(file) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) read_line(line);
    if (read_.gpus == 0) fail("has no table of GPUs");
  }
  RocmTopology read() && { return std::move(read_); }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(fmt::format("{}:{}", file_, number_), problem, remedy());
  }

  // "GPU3" -> 3
  int gpu_in(const std::string& word) const {
    const int number = number_in<int>(std::string_view(word).substr(3)).value_or(-1);
    if (number < 0 || number >= kMostRocmGpus) fail("'" + word.substr(0, 40) + "' is not a GPU");
    return number;
  }

  // A title chooses the table, the line after it has the columns, and rows follow until the next title.
  void read_line(const std::string& line) {
    ++number_;
    if (line.starts_with("=")) {
      columns_.clear();
      table_ = line.find("Hops between two GPUs") != line.npos        ? Table::Hops
               : line.find("Weight between two GPUs") != line.npos    ? Table::Weight
               : line.find("Link Type between two GPUs") != line.npos ? Table::Type
                                                                      : Table::Other;
      return;
    }
    const std::vector<std::string> words = words_in(line);
    if (line.starts_with("GPU") && line.find("Numa Node:") != line.npos) return read_numa(line, words.back());
    if (table_ == Table::Other || words.empty() || !words.front().starts_with("GPU")) return;
    if (columns_.empty()) {
      for (const std::string& word : words) {
        columns_.push_back(gpu_in(word));
        if (columns_.back() != std::ssize(columns_) - 1) fail("does not list all GPUs from GPU0 on");
      }
      if (read_.gpus != 0 && read_.gpus != std::ssize(columns_))
        fail("has another number of GPUs than before");
      read_.gpus = static_cast<int>(columns_.size());
      return;
    }
    const int row = gpu_in(words.front());
    if (row >= read_.gpus || std::ssize(words) != read_.gpus + 1)
      fail(fmt::format("has {} of {} cells", std::ssize(words) - 1, read_.gpus));
    for (int column = 0; column < read_.gpus; ++column)
      if (column != row) read_cell(row, column, words[column + 1]);
  }

  void read_cell(int row, int column, const std::string& word) {
    RocmLink& link = read_.links[{row, column}];
    if (table_ == Table::Type) {
      link.type = word;
      return;
    }
    const int number = number_in<int>(word).value_or(-1);
    if (number < 0 || number > 1'000'000)
      fail("'" + word.substr(0, 40) + "' is not a number of hops, and no weight");
    (table_ == Table::Hops ? link.hops : link.weight) = number;
  }

  // "GPU[3]		: (Topology) Numa Node: 1"
  void read_numa(const std::string& line, const std::string& last) {
    int gpu = -1, node = -1;
    std::from_chars(line.data() + 4, line.data() + line.size(), gpu);
    std::from_chars(last.data(), last.data() + last.size(), node);
    if (gpu < 0 || gpu >= kMostRocmGpus) fail("is not about a GPU");
    read_.numa[gpu] = std::max(node, 0);
  }

  enum class Table { Other, Hops, Weight, Type };
  const std::string file_;
  RocmTopology read_ = {};
  Table table_ = Table::Other;
  std::vector<int> columns_ = {};
  int number_ = 0;
};

// GPUs are counted by their cards, card0 on; each pair is there once, the lower number first.
RocmTopology read_rocm_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  if (!json.has("system")) json.fail("has no \"system\"", remedy());
  const JsonReader system = json["system"];
  RocmTopology read;
  while (read.gpus < kMostRocmGpus && json.has(fmt::format("card{}", read.gpus).c_str())) {
    const JsonReader card = json[fmt::format("card{}", read.gpus).c_str()];
    if (card.has("(Topology) Numa Node")) {
      const std::string node = card["(Topology) Numa Node"].text();
      int number = 0;
      std::from_chars(node.data(), node.data() + node.size(), number);
      read.numa[read.gpus] = std::max(number, 0);
    }
    ++read.gpus;
  }
  if (read.gpus == 0) json.fail("has no \"card0\"", remedy());
  const auto number = [&](const std::string& key) -> std::optional<int> {
    if (!system.has(key.c_str())) return std::nullopt;
    const JsonReader value = system[key.c_str()];
    const std::optional<int> its = number_in<int>(value.text());
    if (!its || *its < 0) value.fail("is not a number", remedy());
    return its;
  };
  for (int a = 0; a < read.gpus; ++a)
    for (int b = a + 1; b < read.gpus; ++b) {
      const std::string pair = fmt::format("between DRM devices {} and {}", a, b);
      read.links[{a, b}] =
          read.links[{b, a}] = {system[("(Topology) Link type " + pair).c_str()].text(),
                                number("(Topology) Hops " + pair), number("(Topology) Weight " + pair)};
    }
  return read;
}

// Holes show that the text was cut when it was copied. A link is the same from both of its ends, so the two
// halves of the matrix have to agree. Of PCI the hops are not asked for.
void require_whole(const RocmTopology& read, const std::string& file) {
  for (int a = 0; a < read.gpus; ++a)
    for (int b = 0; b < read.gpus; ++b) {
      if (a == b) continue;
      const auto at = read.links.find({a, b});
      const RocmLink link = at == read.links.end() ? RocmLink{} : at->second;
      if (link.type.empty() || (link.type == "XGMI" && !link.hops))
        throw InputError(file, fmt::format("lacks the hops or the link type between GPU{} and GPU{}", a, b),
                         remedy());
      if (link.type != "XGMI" && link.type != "PCIE")
        throw InputError(file, "has an unknown link type '" + link.type.substr(0, 40) + "'",
                         "known are XGMI and PCIE");
      if (const auto back = read.links.find({b, a}); back != read.links.end() && !link.is_as(back->second))
        throw InputError(file, fmt::format("lists another link from GPU{} to GPU{} than back", a, b),
                         remedy());
    }
}

// The GPUs that a text names, or those that are joined in this way. Each of eight linked with all others by
// one link: MI300X and later. Four linked so, each a NUMA node: the memory of MI300A is that of its CPU, and
// has two links to each other. Others are MI200 and before.
struct RocmGuess {
  const GpuFacts& gpu;
  std::string why = {};  // behind its name
};
RocmGuess guess(std::string_view text, const RocmTopology& read, bool all_linked) {
  if (const GpuFacts* const named = gpu_of_model(std::string(text)); named != nullptr && *named->gcn != '\0')
    return {*named, ", which the text names"};
  if (all_linked && read.gpus == 8) return {gpu_facts("MI300X")};
  std::set<int> nodes;
  for (const auto& [gpu, node] : read.numa) nodes.insert(node);
  if (all_linked && read.gpus == 4 && nodes.size() == 4)
    return {gpu_facts("MI300A"),
            fmt::format(" (four bridged MI210 have the same output, {} GB/s between two)",
                        link_gbs(gpu_facts("MI210"), RateKind::Effective))};
  return {gpu_facts("MI250X")};
}

}  // namespace

Host read_rocm_smi(std::string_view text, const std::string& file, const ImportOptions& options) {
  // Both forms become one topology, which is checked and wired once.
  const bool json = text[text.find_first_not_of(" \t\r\n\xef\xbb\xbf")] == '{';
  const RocmTopology read = json ? read_rocm_json(text, file) : RocmText(text, file).read();
  require_whole(read, file);
  const bool weighed = std::ranges::all_of(read.links, [](const auto& each) {
    return each.second.type != "XGMI" || each.second.weight.has_value();
  });
  std::vector<std::pair<int, int>> linked;
  for (const auto& [ends, link] : read.links)
    if (link.type == "XGMI" && (weighed ? *link.weight <= kWeightOfHop : link.hops == 1))
      linked.push_back(ends);
  const auto [gpu, why] =
      guess(text, read, std::ssize(linked) == static_cast<long>(read.gpus) * (read.gpus - 1));
  Host host{.file = file, .socket_gbs = socket_facts(gpu.cpu).gbs, .cable_name = "xGMI"};
  host.take(gpu);
  const double link = options.nvlink_gbs > 0 ? options.nvlink_gbs : link_gbs(gpu, rates_of(options));
  const double up = pci_gbs(pci_facts(gpu.pci).gigatransfers, 16, rates_of(options));
  if (!linked.empty()) host.note_above_line(link_facts(gpu.link), link);
  std::map<int, int> cpus;
  std::vector<int> gpus;
  for (int a = 0; a < read.gpus; ++a) {
    const int numa = read.numa.contains(a) ? read.numa.at(a) : 0;
    const auto [cpu, added] = cpus.try_emplace(numa, static_cast<int>(host.parts.size()));
    if (added) host.add({.kind = HostPart::Kind::Cpu, .name = fmt::format("cpu {}", numa)});
    gpus.push_back(host.add({HostPart::Kind::Gpu, fmt::format("GPU{}", a), cpu->second, a, up}));
  }
  // All links of an MI300A lead to its three partners; those of others are one to each.
  const int of_a_pair = gpu.name == gpu_facts("MI300A").name ? gpu.links / 3 : 1;
  for (const auto& [a, b] : linked) host.cables.push_back({gpus[a], gpus[b], of_a_pair * link});
  const std::string of_links =
      linked.empty()
          ? ""
          : fmt::format("{} of {} GB/s between two at one hop{}, ", counted(of_a_pair, "xGMI link"), link,
                        options.nvlink_gbs > 0 ? ", as specified" : " (--nvlink-gbs sets another)");
  host.assumed.push_back(
      fmt::format("the output has no rates: GPUs are taken for {}{}, {}PCI of {} GB/s, {} GB/s between CPUs",
                  gpu.name, why, of_links, up, host.socket_gbs));
  if (!linked.empty())
    host.read.emplace_back(
        weighed ? "two GPUs at a weight of 15 or less are at one hop; the number of hops is not read"
                : "two GPUs at one hop are linked: there are no weights");
  host.read.emplace_back(rates_in_words(options));
  return with_nics_of(std::move(host), options);
}

}  // namespace chorale
