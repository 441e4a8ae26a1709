// TE-CCL's input names a machine that its code builds: rates are in the code, in GB/s, and latencies there or
// in the file, in seconds. The rest of the input is about the search.
//   {"TopologyParams": {"name": "AMD", "chassis": 2, "alpha": [7e-7, 7.5e-7]}}
#include <fmt/format.h>

#include <utility>

#include "ir/json_reader.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

using NodeKind = WiringNode::Kind;

class TecclReader {
 public:
  TecclReader(std::string_view text, const std::string& file)
      : json_(parse_json(text, file)["TopologyParams"]), file_(file_name(file)) {}

  // By name; a file may only add the number of chassis, latencies, and the side of a mesh.
  Wiring read() {
    const std::string name = json_["name"].text();
    chassis_ = json_.has("chassis") ? json_["chassis"].integer(1, kMostRanks) : 1;
    if (json_.has("chunk_size"))
      json_["chunk_size"].number(1e-15, 1e9);  // of the search, but not to be nonsense
    if (name == "DGX1")
      dgx1();
    else if (name == "NDv2")
      ndv2();
    else if (name == "DGX2")
      dgx2();
    else if (name == "AMD")
      amd();
    else if (name == "Mesh")
      mesh();
    else
      json_["name"].fail("'" + name.substr(0, 60) + "' is none of TE-CCL's machines",
                         "use DGX1, NDv2, DGX2, AMD or Mesh");
    wiring_.read.push_back(
        fmt::format("{}: {} of TE-CCL, {}", file_, name, counted(chassis_, "chassis", "chassis")));
    wiring_.assumed.push_back("the file has a name only; links and rates are those of TE-CCL's code");
    return std::move(wiring_);
  }

 private:
  // Microseconds: entry `which` of the list; `otherwise` if the file has no such entry.
  double alpha(std::size_t which, double otherwise) const {
    if (!json_.has("alpha") || json_["alpha"].size(10) <= which) return otherwise;
    return json_["alpha"].at(which).number(0, 1e3) * 1e6;
  }

  void add_gpus(int in_chassis) {
    if (static_cast<long long>(in_chassis) * chassis_ > kMostRanks)
      json_.fail(fmt::format("makes more than {} GPUs", kMostRanks), "use fewer chassis");
    for (int c = 0; c < chassis_; ++c)
      for (int g = 0; g < in_chassis; ++g)
        wiring_.add(NodeKind::Gpu, fmt::format("gpu {} of chassis {}", g, c));
  }

  void join_as_dgx1(int first, double one_gbs, double alpha_us) {
    join_two_rings(
        [&](int a, int b, int links) { wiring_.join(first + a, first + b, links * one_gbs, alpha_us); });
  }

  void dgx1() {
    if (chassis_ != 1) json_["chassis"].fail("is 1 for DGX1", "use 1");
    add_gpus(8);
    join_as_dgx1(0, 25, alpha(0, 0.7));
  }

  // One NIC a chassis: two of them are linked GPU 0 to GPU 1 of the other, more over a switch into GPU 1 and
  // out of GPU 0.
  void ndv2() {
    add_gpus(8);
    for (int c = 0; c < chassis_; ++c) join_as_dgx1(8 * c, 25, 0.7);
    if (chassis_ == 1) return;
    if (chassis_ == 2) {
      wiring_.lines.push_back({1, 8, 12.5, 1.3});
      wiring_.lines.push_back({9, 0, 12.5, 1.3});
      return;
    }
    const int network = wiring_.add(NodeKind::Network, "network");
    for (int c = 0; c < chassis_; ++c) {
      wiring_.lines.push_back({8 * c + 1, network, 12.5, 1.3});
      wiring_.lines.push_back({network, 8 * c, 12.5, 1.3});
    }
  }

  // Odd GPUs send to the even ones of the other chassis.
  void dgx2() {
    if (chassis_ > 2) json_["chassis"].fail("is 1 or 2 for DGX2", "use 2");
    add_gpus(16);
    for (int c = 0; c < chassis_; ++c) {
      const int hub = wiring_.add(NodeKind::NvSwitch, fmt::format("NVSwitch of chassis {}", c));
      for (int g = 0; g < 16; ++g) wiring_.join(16 * c + g, hub, 125, 0.35);
    }
    if (chassis_ == 2)
      for (int g = 0; g < 16; g += 2) {
        wiring_.lines.push_back({g + 1, 16 + g, 12.5, 2.6});
        wiring_.lines.push_back({16 + g + 1, g, 12.5, 2.6});
      }
  }

  // Sixteen dies; each pair shares a NIC if there are several chassis.
  void amd() {
    add_gpus(16);
    constexpr int kLinks[][3] = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
                                 {2, 3, 4},   {2, 6, 1},   {2, 10, 1},  {2, 9, 1},   {3, 7, 2},   {3, 11, 1},
                                 {4, 6, 1},   {4, 5, 4},   {5, 7, 1},   {5, 6, 1},   {6, 7, 4},   {8, 9, 4},
                                 {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
                                 {12, 14, 1}, {13, 15, 1}, {13, 14, 1}, {14, 15, 4}};
    for (int c = 0; c < chassis_; ++c)
      for (const auto& [a, b, width] : kLinks)
        wiring_.join(16 * c + a, 16 * c + b, 50.0 * width, alpha(0, 0.7));
    if (chassis_ == 1) return;
    const int network = wiring_.add(NodeKind::Network, "network");
    for (int c = 0; c < chassis_; ++c)
      for (int n = 0; n < 8; ++n) {
        const int nic = wiring_.add(NodeKind::Nic, fmt::format("nic {} of chassis {}", n, c));
        wiring_.join(nic, network, 25, alpha(1, 2));
        for (int g : {2 * n, 2 * n + 1}) wiring_.join(16 * c + g, nic, 25, alpha(1, 2));
      }
  }

  // As TE-CCL builds it: ranks that follow each other are linked, also from the end of a row to the next.
  void mesh() {
    if (chassis_ != 1) json_["chassis"].fail("is 1 for Mesh", "use 1");
    const int side = json_["side_length"].integer(2, 64);
    add_gpus(side * side);
    for (int n = 0; n < side * side; ++n) {
      if (n + 1 < side * side) wiring_.join(n, n + 1, 100, alpha(0, 0.7));
      if (n + side < side * side && side > 1) wiring_.join(n, n + side, 100, alpha(0, 0.7));
    }
    wiring_.read.push_back("TE-CCL links the end of each row of a mesh with the beginning of the next");
  }

  const JsonReader json_;
  const std::string file_;
  int chassis_ = 1;
  Wiring wiring_ = {};
};

}  // namespace

Wiring read_teccl_json(std::string_view text, const std::string& file) {
  return TecclReader(text, file).read();
}

}  // namespace chorale
