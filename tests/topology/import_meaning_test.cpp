// Descriptions of nodes changed by meaning: a record is dropped, doubled, exchanged with another one, or of
// another generation. What is read has the GPUs, ports and links that a slow judge counts by the rules of
// identity, or one line refuses it. The judge shares no code with the readers: it has tags by a pattern and
// rates of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "ir/files.h"
#include "tests/kit/refusal.h"
#include "tests/kit/seeds.h"
#include "topology/import/host.h"
#include "topology/import/import.h"

namespace chorale {
namespace {

struct Tag {
  std::string name = {};
  std::map<std::string, std::string> has = {};
  std::size_t begin = 0, head = 0, end = 0;  // of the record, and of its first tag
  int above = -1;                            // the record that it is in
  std::string get(const std::string& key) const { return has.contains(key) ? has.at(key) : ""; }
};

std::vector<Tag> tags_of(const std::string& text) {
  static const std::regex tag(R"(<(/?)(\w+)((?:\s+[\w:]+="[^"]*")*)\s*(/?)>)"),
      pair(R"(([\w:]+)="([^"]*)\")");
  std::vector<Tag> all;
  std::vector<int> open = {-1};
  for (std::sregex_iterator at(text.begin(), text.end(), tag), end; at != end; ++at) {
    const std::size_t after = static_cast<std::size_t>(at->position() + at->length());
    if (at->length(1) > 0) {
      all[open.back()].end = after;
      open.pop_back();
      continue;
    }
    Tag one{
        .name = at->str(2), .begin = static_cast<std::size_t>(at->position()), .head = after, .end = after};
    const std::string more = at->str(3);
    for (std::sregex_iterator each(more.begin(), more.end(), pair); each != end; ++each)
      one.has.try_emplace(each->str(1), each->str(2));
    one.above = open.back();
    all.push_back(one);
    if (at->length(4) == 0) open.push_back(static_cast<int>(all.size()) - 1);
  }
  return all;
}

// What a description has: GPUs, ports of NICs, and GB/s that leave each GPU over its links, added up.
struct Judged {
  int gpus = 0, ports = 0;
  double gbs = 0;
};

double gbs_of_a_link(const Tag& gpu) {
  if (gpu.has.contains("gcn")) {
    const std::string gcn = gpu.get("gcn");
    return gcn == "910" || gcn == "gfx90a" ? 36 : gcn == "942" || gcn == "940" || gcn == "gfx942" ? 48 : 24;
  }
  const int sm = std::stoi(gpu.get("sm"));
  return sm >= 107   ? 38
         : sm >= 100 ? 40.1
         : sm >= 90  ? 20.6
         : sm >= 86  ? 12
         : sm >= 80  ? 20
         : sm >= 70  ? 22
                     : 18;
}

Judged judged(const std::string& text) {
  const std::vector<Tag> tags = tags_of(text);
  const auto above = [&](int t, const std::string& name) {
    while (t >= 0 && tags[t].name != name) t = tags[t].above;
    return t;
  };
  const auto bus_of = [&](int t) { return tags[above(t, "pci")].get("busid"); };
  std::map<std::string, std::set<std::string>> ranks;  // by bus: a rank that is listed twice is one
  std::map<std::string, int> lists;                    // by bus: the record whose links count
  std::set<std::string> ports;
  for (int t = 0; t < std::ssize(tags); ++t) {
    const Tag& tag = tags[t];
    if (tag.name == "gpu") {
      ranks[bus_of(t)].insert(tag.get("rank").empty() ? tag.get("dev") : tag.get("rank"));
      lists.try_emplace(bus_of(t), t);
    }
    if (tag.name == "net") ports.insert(tag.get("name") + " " + tag.get("guid") + " " + tag.get("port"));
  }
  Judged result{.ports = static_cast<int>(ports.size())};
  for (const auto& [bus, its] : ranks) {
    result.gpus += static_cast<int>(its.size());
    if (its.size() > 1) result.gbs += 2618 * static_cast<double>(its.size());  // to the GPU that they are of
  }
  std::set<std::pair<std::string, std::string>> seen;  // links of a GPU to one target are one record
  for (int t = 0; t < std::ssize(tags); ++t) {
    const Tag& tag = tags[t];
    if ((tag.name != "nvlink" && tag.name != "xgmi") || tag.above != lists[bus_of(t)] ||
        ranks[bus_of(t)].size() > 1)
      continue;
    const std::string to = tag.get("target");
    const bool to_gpu = !tag.get("tclass").starts_with("0x0680");
    if (!seen.insert({bus_of(t), to}).second || (to_gpu && (!ranks.contains(to) || to == bus_of(t))))
      continue;
    result.gbs += std::stoi(tag.get("count")) * gbs_of_a_link(tags[tag.above]);
  }
  return result;
}

Judged as_read(const std::string& text, const std::string& path) {
  const Host host = hosts_in({{path, text}}).front();
  Judged result{.gpus = host.count(HostPart::Kind::Gpu)};
  for (const HostPart& part : host.parts) result.ports += static_cast<int>(part.ports.size());
  for (const HostCable& cable : host.cables)
    if (host.parts[cable.src].kind == HostPart::Kind::Gpu) result.gbs += cable.gbs;
  return result;
}

std::string with(const std::string& text, const Tag& tag, const std::string& key, const std::string& value) {
  std::string head = text.substr(tag.begin, tag.head - tag.begin);
  const std::size_t at = head.find(" " + key + "=\"") + key.size() + 3;
  head.replace(at, head.find('"', at) - at, value);
  return text.substr(0, tag.begin) + head + text.substr(tag.head);
}

// One change to a record of the kinds that count, or to two of one kind.
std::string changed(const std::string& text, std::mt19937& random) {
  std::vector<Tag> some = tags_of(text);
  const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> kinds = {"gpu", "net", "nvlink", "xgmi", "pci", "nic"};
  std::erase_if(some, [&](const Tag& tag) { return std::ranges::find(kinds, tag.name) == kinds.end(); });
  if (some.empty()) return text;
  const Tag tag = some[any(some.size())];
  switch (any(4)) {
    case 0:
      return text.substr(0, tag.begin) + text.substr(tag.end);
    case 1:
      return text.substr(0, tag.end) + text.substr(tag.begin, tag.end - tag.begin) + text.substr(tag.end);
    case 2: {
      const std::string key = tag.name == "pci"   ? "busid"
                              : tag.name == "net" ? "name"
                              : tag.name == "gpu" ? "rank"
                                                  : "target";
      std::erase_if(some, [&](const Tag& each) { return each.name != tag.name || !each.has.contains(key); });
      if (some.empty()) return text;
      const Tag &a = some[any(some.size())], &b = some[any(some.size())];
      const Tag &first = a.begin < b.begin ? a : b, &last = a.begin < b.begin ? b : a;
      return with(with(text, last, key, first.get(key)), first, key, last.get(key));
    }
    default: {
      static const std::vector<std::string> kSm = {"60", "70", "80", "86", "90", "100", "107"},
                                            kGcn = {"906", "910", "942"};
      std::erase_if(some, [&](const Tag& each) { return each.name != "gpu"; });
      if (some.empty()) return text;
      const Tag& gpu = some[any(some.size())];
      const bool amd = gpu.has.contains("gcn");
      return with(text, gpu, amd ? "gcn" : "sm", amd ? kGcn[any(kGcn.size())] : kSm[any(kSm.size())]);
    }
  }
}

TEST(ImportMeaning, CountsWhatIsThereOnce) {
  std::mt19937 random = test::seeded(2026);
  int read = 0;
  for (const char* file : {"h100.xml", "topo_16p1h.xml", "topo_4p1h.xml", "topo_8p6l.xml", "topo_8p_940.xml",
                           "topo_8p_pcie.xml", "topo_8p_rome.xml"}) {
    const std::string path = CHORALE_SOURCE "/tests/data/topology/" + std::string(file),
                      whole = read_file(path);
    for (int round = 0; round < 40; ++round) {
      std::string text = whole;
      for (int changes = 0; changes <= round % 3; ++changes) text = changed(text, random);
      SCOPED_TRACE(fmt::format("{}, round {}", file, round));
      Judged its;
      const std::string refusal = test::refusal_of([&] { its = as_read(text, path); });
      EXPECT_EQ(refusal.find('\n'), refusal.npos) << refusal;
      if (!refusal.empty()) continue;
      const Judged right = judged(text);
      EXPECT_EQ(its.gpus, right.gpus);
      EXPECT_EQ(its.ports, right.ports);
      EXPECT_NEAR(its.gbs, right.gbs, 1e-6 * right.gbs);
      if (testing::Test::HasFailure()) return write_file(testing::TempDir() + "chorale_meaning.xml", text);
      ++read;
    }
  }
  EXPECT_GE(read, 200);  // of 280
}

// The rows of a matrix by words, the titles first; what comes before and after it is left out.
using Rows = std::vector<std::vector<std::string>>;
Rows rows_of(const std::string& text) {
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, rows.empty() ? line.find("CPU Affinity") : line.npos));
    const std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
    const bool is_title = row.size() > 1 && row[0] == "GPU0" && row[1] == "GPU1";
    if (is_title || (!rows.empty() && rows.size() <= rows[0].size())) rows.push_back(row);
  }
  return rows;
}

// NVLinks of a cell: "NV12".
int links_in(const std::string& cell) {
  return cell.starts_with("NV") ? std::stoi(cell.substr(2)) : 0;
}

// By the links of a GPU: to a switch those of any cell, if all together are more than a GPU has.
Judged judged(const Rows& rows) {
  Judged result;
  int links = 0, most = 0, all = 0, partners = 0;
  std::vector<std::pair<int, int>> of_gpus;  // in its largest cell, in all
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (!rows[r][0].starts_with("GPU")) {
      ++result.ports;
      continue;
    }
    ++result.gpus;
    int cell = 0, sum = 0, others = 0;
    for (std::size_t c = 1; c <= rows[0].size(); ++c) {
      cell = std::max(cell, links_in(rows[r][c]));
      sum += links_in(rows[r][c]);
      others += links_in(rows[r][c]) > 0 ? 1 : 0;
    }
    of_gpus.emplace_back(cell, sum);
    most = std::max(most, cell);
    all = std::max(all, sum);
    partners = std::max(partners, others);
  }
  for (const auto& [cell, sum] : of_gpus) links += all > 18 ? cell : sum;
  const int of_one = all > 18 ? most : all;
  const double gbs = of_one == 4 && partners == 1 ? 12
                     : of_one > 12                ? 20.6
                     : of_one > 6                 ? 20
                     : of_one > 4                 ? 22
                                                  : 18;
  result.gbs = links * gbs;
  return result;
}

TEST(ImportMeaning, CellsOfAMatrixAreLinks) {
  std::mt19937 random = test::seeded(47);
  const auto any = [&](std::size_t n) { return 1 + static_cast<std::size_t>(random() % n); };
  static const std::vector<std::string> kCells = {"NV1", "NV2", "NV4", "NV6", "NV12", "NV18", "SYS", "PIX"};
  int read = 0;
  for (const char* file : {"h100.txt", "dgx_a100_4nics.txt"}) {
    const std::string path = CHORALE_SOURCE "/examples/" + std::string(file);
    for (int round = 0; round < 60; ++round) {
      Rows rows = rows_of(read_file(path));
      const std::size_t gpus = static_cast<std::size_t>(judged(rows).gpus);
      for (int changes = 0; changes <= round % 3; ++changes) {  // of cells, which are the same from both ends
        const std::size_t a = any(gpus), b = any(gpus), c = any(gpus), d = any(gpus);
        if (a == b || c == d) continue;
        const std::string one = rows[a][b],
                          other = round % 2 == 0 ? rows[c][d] : kCells[any(kCells.size()) - 1];
        rows[a][b] = rows[b][a] = other;
        if (round % 2 == 0) rows[c][d] = rows[d][c] = one;
      }
      if (round % 10 == 3) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(any(gpus)));
      if (round % 10 == 5) rows.insert(rows.begin() + 1, rows[any(gpus)]);
      std::string text;
      for (const std::vector<std::string>& row : rows) text += fmt::format("{}\n", fmt::join(row, "\t"));
      Judged its;
      const std::string refusal = test::refusal_of([&] { its = as_read("\t" + text, path); });
      if (round % 10 == 3 || round % 10 == 5) {
        EXPECT_NE(refusal, "") << text;
      }
      if (!refusal.empty()) continue;
      const Judged right = judged(rows);
      EXPECT_EQ(its.gpus, right.gpus);
      EXPECT_EQ(its.ports, right.ports);
      EXPECT_NEAR(its.gbs, right.gbs, 1e-6 * right.gbs) << text;
      ++read;
    }
  }
  EXPECT_GE(read, 80);  // of 120, of which 24 lack a row or have one twice
}

}  // namespace
}  // namespace chorale
