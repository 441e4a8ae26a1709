// TACCL's profile of a node: microseconds for a chunk of a size that only the name gives. Its links are not
// in the file but in TACCL's code, by the number of rates: two are an NDv2 (a DGX-1's NVLinks, double and
// single), one is all GPUs on a switch; a file with matrices ("links") has them itself.
//   {"name": "DGX2_1MB", "gpus_per_node": 16, "alpha": 0.7, "node_betas_list": [8],
//    "nics_per_node": 8, "remote_alpha": 1.7, "remote_beta": 106}
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/json_reader.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr double kMegabyte = 1 << 20;

// "DGX2_1MB" has chunks of 2^20 bytes.
double bytes_in_name(const std::string& name) {
  const auto end = std::min(name.find("KB"), name.find("MB"));
  if (end == std::string::npos) return 0;
  // The digits right before the unit.
  std::size_t begin = end;
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  double number = 0;
  std::from_chars(name.data() + begin, name.data() + end, number);
  return number * (name[end] == 'K' ? 1024 : kMegabyte);
}

class TacclReader {
 public:
  TacclReader(std::string_view text, const std::string& file, int nodes, bool within_nodes)
      : json_(parse_json(text, file)), file_(file_name(file)), nodes_(nodes), within_nodes_(within_nodes) {}

  Wiring read() {
    gpus_ = json_["gpus_per_node"].integer(1, kMostRanks);
    if (static_cast<long long>(gpus_) * nodes_ > kMostRanks)
      json_.fail(fmt::format("makes more than {} GPUs", kMostRanks), "use fewer --nodes");
    alpha_ = json_["alpha"].number(0, 1e9);
    const std::string name = json_["name"].text();
    bytes_ = bytes_in_name(name);
    if (bytes_ == 0) {
      bytes_ = kMegabyte;
      wiring_.assumed.push_back("its times are taken for chunks of 1 MB; the name has no size");
    }
    wiring_.read.push_back(fmt::format("{}: TACCL's profile {}: {} a node, times for chunks of {}", file_,
                                       name, counted(gpus_, "GPU"), format_bytes(bytes_)));
    for (int node = 0; node < nodes_; ++node)
      for (int gpu = 0; gpu < gpus_; ++gpu)
        wiring_.add(WiringNode::Kind::Gpu, fmt::format("gpu {} of node {}", gpu, node));
    for (int node = 0; node < nodes_; ++node) join_node(node);
    if (nodes_ > 1) join_nodes();
    return std::move(wiring_);
  }

 private:
  // TACCL's beta is the time of a chunk in microseconds: bytes per microsecond are MB/s.
  double gbs(double us) const { return bytes_ / us * 1e-3; }
  int gpu(int node, int g) const { return node * gpus_ + g; }

  std::vector<double> rates() const {
    std::vector<double> result;
    const JsonReader betas = json_["node_betas_list"];
    for (std::size_t i = 0; i < betas.size(100); ++i) result.push_back(gbs(betas.at(i).number(1e-9, 1e9)));
    return result;
  }

  // A path through a switch has two ports, each with half of the latency.
  void join_node(int node) {
    if (json_.has("links")) return join_by_matrix(node);
    const std::vector<double> rate = rates();
    if (rate.size() == 2 && gpus_ == 8) {
      const auto [one, two] = std::minmax(rate[0], rate[1]);
      join_two_rings([&, one = one, two = two](int a, int b, int links) {
        wiring_.join(gpu(node, a), gpu(node, b), links == 2 ? two : one, alpha_);
      });
      if (node == 0)
        wiring_.assumed.push_back(
            "two rates of 8 GPUs are taken for the two rings of a DGX-1 (NDv2), which TACCL has in its code");
    } else if (rate.size() == 1) {
      const int hub = wiring_.add(WiringNode::Kind::NvSwitch, fmt::format("NVSwitch of node {}", node));
      for (int g = 0; g < gpus_; ++g) wiring_.join(gpu(node, g), hub, rate[0], alpha_ / 2);
      if (node == 0)
        wiring_.assumed.push_back(
            "one rate is taken for a switch that joins all GPUs of the node, each with a port of that rate");
    } else {
      json_["node_betas_list"].fail(fmt::format("has {} rates", rate.size()),
                                    "use one, or two for an NDv2 of 8 GPUs");
    }
  }

  // [dst][src]: how many links, and the time of a chunk over one of them.
  void join_by_matrix(int node) {
    const JsonReader links = json_["links"], betas = json_["betas"];
    const auto square = [&](const JsonReader& matrix, int row) {
      if (static_cast<int>(matrix.size(kMostRanks)) != gpus_ ||
          static_cast<int>(matrix.at(row).size(kMostRanks)) != gpus_)
        matrix.fail("is not a row and a column for each GPU", fmt::format("use {} of each", gpus_));
    };
    for (int dst = 0; dst < gpus_; ++dst) {
      square(links, dst);
      square(betas, dst);
      for (int src = 0; src < gpus_; ++src) {
        const int there = links.at(dst).at(src).integer(0, 1'000'000);
        if (there == 0) continue;
        if (src == dst) links.at(dst).at(src).fail("is a link from a GPU to itself", "use 0");
        wiring_.lines.push_back(
            {gpu(node, src), gpu(node, dst), there * gbs(betas.at(dst).at(src).number(1e-9, 1e9)), alpha_});
      }
    }
  }

  // GPUs share NICs evenly, and NICs meet in one switch.
  void join_nodes() {
    const int nics = json_["nics_per_node"].integer(1, kMostRanks);
    if (gpus_ % nics != 0 && nics < gpus_)
      json_["nics_per_node"].fail(
          fmt::format("{} do not share {} evenly", counted(gpus_, "GPU"), counted(nics, "NIC")),
          "use a divisor");
    const double rate = gbs(json_["remote_beta"].number(1e-9, 1e9)),
                 alpha = json_["remote_alpha"].number(0, 1e9);
    std::vector<NetworkPort> ports;
    for (int node = 0; node < nodes_; ++node)
      for (int n = 0; n < std::min(nics, gpus_); ++n) {
        const int each = std::max(1, gpus_ / nics);
        // A NIC of its own is a port of the GPU; a shared one has a node for each direction, so that no path
        // leads through it from GPU to GPU.
        if (each == 1) {
          ports.push_back({node, gpu(node, n), gpu(node, n), rate, alpha / 2});
          continue;
        }
        const int out = wiring_.add(WiringNode::Kind::Nic, fmt::format("nic {} of node {} out", n, node));
        const int in = wiring_.add(WiringNode::Kind::Nic, fmt::format("nic {} of node {} in", n, node));
        ports.push_back({node, out, in, rate, alpha / 2});
        for (int g = n * each; g < (n + 1) * each; ++g) {
          wiring_.lines.push_back({gpu(node, g), out, rate, 0});
          wiring_.lines.push_back({in, gpu(node, g), rate, 0});
        }
      }
    join_network(wiring_, ports, nodes_, within_nodes_);
    wiring_.assumed.push_back(
        fmt::format("{}: {} nodes; GPUs share their {} evenly", file_, nodes_, counted(nics, "NIC")));
  }

  const JsonReader json_;
  const std::string file_;
  const int nodes_;
  const bool within_nodes_;
  int gpus_ = 0;
  double alpha_ = 0, bytes_ = 0;
  Wiring wiring_ = {};
};

}  // namespace

Wiring read_taccl_json(std::string_view text, const std::string& file, int nodes, bool within_nodes) {
  return TacclReader(text, file, nodes, within_nodes).read();
}

}  // namespace chorale
