// ASTRA-sim's networks. The analytical ones are dimensions, the innermost first: ring, all pairs or a switch,
// with how many there are, GB/s of a link and nanoseconds. As YAML this is four keys with a list each, so
// that is all of YAML that is read:
//   topology: [ Ring, Switch ]
//   npus_count: [ 4, 2 ]
//   bandwidth: [ 100.0, 25.0 ]  # GB/s
//   latency: [ 500.0, 1000.0 ]  # ns
// Those for ns-3 are a list of links by the numbers of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/sizes.h"
#include "ir/words.h"
#include "topology/import/readers.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

using NodeKind = WiringNode::Kind;

constexpr std::size_t kMostDimensions = 16;
constexpr double kGigabyte = 1.073741824;  // ASTRA-sim's GB is 2^30 bytes, ours 1e9

struct Dimension {
  std::string shape = {};
  int count = 1;
  double gigabytes = 0;  // of 2^30 bytes, per second
  double latency_ns = 0;
};

// Without quotes, too: YAML may put words in them.
std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r'\""), last = text.find_last_not_of(" \t\r'\"");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "key: [ a, b ]  # words", or the key and then "- a" lines.
class YamlLists {
 public:
  YamlLists(std::string_view text, const std::string& file) : file_(file) {
    std::istringstream lines{std::string(text)};
    std::string key;
    int number = 0;
    for (std::string line; std::getline(lines, line);)
      read_line(line.substr(0, line.find('#')), ++number, key);
  }

  const std::vector<std::string>& list(const std::string& key) const {
    const auto found = lists_.find(key);
    if (found == lists_.end()) throw InputError(file_, "has no " + key, "list it for each dimension");
    return found->second;
  }

  // Values stay text until they are asked for: of a key that is not asked for, anything may be listed.
  double number(const std::string& key, std::size_t i, double least, double most) const {
    const std::string& text = list(key).at(i);
    const std::optional<double> result = number_in<double>(text);
    if (!result || *result < least || *result > most)
      throw InputError(file_ + ": " + key, "'" + text.substr(0, 40) + "' is out of range",
                       fmt::format("use {} to {}", least, most));
    return *result;
  }

 private:
  // "- value" adds to the last key; "key: value", "key: [a, b]" and "key:" begin one. Nothing is nested, and
  // indentation means nothing.
  void read_line(const std::string& line, int number, std::string& key) {
    const std::string words = trimmed(line);
    if (words.empty()) return;
    const auto refuse = [&] {
      throw InputError(fmt::format("{}:{}", file_, number), "is not 'key: [values]'",
                       "use the four lists that ASTRA-sim has");
    };
    if (words.starts_with("-")) {
      if (key.empty()) refuse();
      return add(key, trimmed(words.substr(1)));
    }
    const auto colon = words.find(':');
    if (colon == std::string::npos) refuse();
    key = trimmed(words.substr(0, colon));
    if (lists_.contains(key))
      throw InputError(fmt::format("{}:{}", file_, number), "has " + key.substr(0, 40) + " twice",
                       "give it once");
    lists_[key];
    const std::string values = trimmed(words.substr(colon + 1));
    if (values.empty()) return;
    if (!values.starts_with("[")) return add(key, values);
    if (!values.ends_with("]")) refuse();
    std::istringstream inside(values.substr(1, values.size() - 2));
    for (std::string value; std::getline(inside, value, ',');)
      if (!trimmed(value).empty()) add(key, trimmed(value));
  }

  void add(const std::string& key, const std::string& value) {
    std::vector<std::string>& all = lists_[key];
    all.push_back(value);
    if (all.size() > kMostDimensions)
      throw InputError(file_ + ": " + key.substr(0, 40), fmt::format("has over {} values", kMostDimensions),
                       "use one a dimension");
  }

  const std::string file_;
  std::map<std::string, std::vector<std::string>> lists_ = {};
};

// The same four lists, as JSON or as YAML.
std::vector<Dimension> dimensions_of(std::string_view text, const std::string& file) {
  std::vector<Dimension> result;
  const auto same_length = [&](std::size_t a, std::size_t b, const char* what) {
    if (a != b)
      throw InputError(
          file + ": " + what,
          fmt::format("has {} values for {}", b, counted(static_cast<long long>(a), "dimension")),
          "give one each");
  };
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos &&
      text[text.find_first_not_of(" \t\r\n")] == '{') {
    const JsonReader json = parse_json(text, file);
    const std::size_t count = json["topology"].size(kMostDimensions);
    for (const char* key : {"npus_count", "bandwidth", "latency"})
      same_length(count, json[key].size(kMostDimensions), key);
    for (std::size_t i = 0; i < count; ++i)
      result.push_back({json["topology"].at(i).text(), json["npus_count"].at(i).integer(1, kMostRanks),
                        json["bandwidth"].at(i).number(1e-6, 1e6), json["latency"].at(i).number(0, 1e12)});
    return result;
  }
  const YamlLists yaml(text, file);
  const std::size_t count = yaml.list("topology").size();
  for (const char* key : {"npus_count", "bandwidth", "latency"})
    same_length(count, yaml.list(key).size(), key);
  for (std::size_t i = 0; i < count; ++i) {
    const double npus = yaml.number("npus_count", i, 1, kMostRanks);
    if (npus != std::floor(npus))
      throw InputError(file + ": npus_count", "is not an integer", "use integers");
    result.push_back({yaml.list("topology")[i], static_cast<int>(npus),
                      yaml.number("bandwidth", i, 1e-6, 1e6), yaml.number("latency", i, 0, 1e12)});
  }
  return result;
}

// The ranks of each unit of a dimension: `stride` apart.
void join_unit(Wiring& wiring, const Dimension& dimension, const std::vector<int>& unit,
               const std::string& where) {
  const int n = static_cast<int>(unit.size());
  const double us = dimension.latency_ns / 1000, gbs = dimension.gigabytes * kGigabyte;
  // Two ranks in a ring have one link in each direction.
  if (dimension.shape == "Ring") {
    for (int i = 0; i < (n == 2 ? 1 : n); ++i) wiring.join(unit[i], unit[(i + 1) % n], gbs, us);
  } else if (dimension.shape == "FullyConnected") {
    for (int i = 0; i < n; ++i)
      for (int k = i + 1; k < n; ++k) wiring.join(unit[i], unit[k], gbs, us);
  } else if (dimension.shape == "Switch") {
    const int hub = wiring.add(NodeKind::Network, "switch of " + where);
    for (int rank : unit) wiring.join(rank, hub, gbs, us);
  }
}

// "400Gbps", "0.0005ms": the number, times what its unit stands for.
double with_unit(const std::string& text, const std::vector<std::pair<std::string, double>>& units,
                 const std::string& where) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // The unit is all that follows the number: "Gbps" is not found in "400GbpsX".
  if (error == std::errc() && std::isfinite(number) && number >= 0)
    for (const auto& [unit, factor] : units)
      if (std::string_view(end, text.data() + text.size()) == unit) return number * factor;
  std::vector<std::string> names;
  for (const auto& [unit, factor] : units) names.push_back(unit);
  throw InputError(where, "'" + text.substr(0, 40) + "' is out of range",
                   "use a number, 0 or more, and one of " + joined(names));
}

}  // namespace

Wiring read_astra_network(std::string_view text, const std::string& file) {
  const std::vector<Dimension> dimensions = dimensions_of(text, file);
  if (dimensions.empty()) throw InputError(file, "has no dimension", "list at least one");
  // Ranks and links are counted before any is made, since a short file can describe a machine of any size.
  long long ranks = 1, lines = 0;
  for (const Dimension& dimension : dimensions) {
    if (dimension.shape != "Ring" && dimension.shape != "FullyConnected" && dimension.shape != "Switch")
      throw InputError(file + ": topology", "'" + dimension.shape.substr(0, 40) + "' is not known",
                       "use Ring, FullyConnected or Switch");
    ranks *= dimension.count;
    if (ranks > kMostRanks)
      throw InputError(file + ": npus_count", fmt::format("makes more than {} ranks", kMostRanks),
                       "use fewer");
  }
  for (const Dimension& dimension : dimensions)
    lines += ranks * (dimension.shape == "FullyConnected" ? dimension.count : 2);
  if (lines > 1'000'000) throw InputError(file, "makes over a million links", "use fewer ranks");
  Wiring wiring;
  std::vector<std::string> words;
  for (Rank n = 0; n < ranks; ++n) wiring.add(NodeKind::Gpu, fmt::format("npu {}", n));
  // Ranks are numbered with the innermost dimension fastest: the units of dimension d are ranks that differ
  // by multiples of the product of the sizes before it.
  int stride = 1;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const Dimension& dimension = dimensions[d];
    // A unit begins at each rank whose coordinate in the dimension is 0.
    for (Rank first = 0; first < ranks && dimension.count > 1; ++first) {
      if (first / stride % dimension.count != 0) continue;
      std::vector<int> unit;
      for (int i = 0; i < dimension.count; ++i) unit.push_back(first + i * stride);
      join_unit(wiring, dimension, unit, fmt::format("dimension {}, from npu {}", d, first));
    }
    words.push_back(fmt::format("{} of {}", dimension.shape, dimension.count));
    stride *= dimension.count;
  }
  wiring.read.push_back(
      fmt::format("{}: ASTRA-sim's analytical network: {}, the innermost first", file, joined(words)));
  wiring.assumed.push_back(
      "each dimension's rate is that of one link, per direction, in GB of 2^30 bytes; a rank has links in "
      "every dimension");
  return wiring;
}

// "5 1 4", "4", then "0 4 400Gbps 0.0005ms 0": numbers of nodes, switches and links; the switches; a link
// a line, in both directions, with its error rate, which is ignored.
Wiring read_ns3_topology(std::string_view text, const std::string& file) {
  std::vector<std::vector<std::string>> rows;  // of words, by line
  // Blank lines are dropped, and errors name lines of the file, so each row keeps its line.
  std::vector<int> line_of;
  std::istringstream lines_of_text(std::string(text) + "\n");
  int line = 1;
  for (std::string whole; std::getline(lines_of_text, whole); ++line)
    if (std::vector<std::string> row = words_in(whole); !row.empty()) {
      rows.push_back(std::move(row));
      line_of.push_back(line);
    }
  const auto where = [&](std::size_t r) {
    return fmt::format("{}:{}", file, r < line_of.size() ? line_of[r] : line);
  };
  // A word that is missing is an empty one, and out of range.
  const auto number = [&](std::size_t r, std::size_t w, long long least, long long most) {
    const std::string text_of = r < rows.size() && w < rows[r].size() ? rows[r][w] : "";
    const std::optional<long long> result = number_in<long long>(text_of);
    if (!result || *result < least || *result > most)
      throw InputError(where(r), "'" + text_of.substr(0, 40) + "' is out of range",
                       fmt::format("use {} to {}", least, most));
    return static_cast<int>(*result);
  };
  if (rows.empty() || rows[0].size() != 3)
    throw InputError(where(0), "does not have three numbers",
                     "begin with the numbers of nodes, switches and links");
  const int nodes = number(0, 0, 1, 2 * kMostRanks), switches = number(0, 1, 0, nodes - 1),
            links = number(0, 2, 0, 1'000'000);
  std::vector<bool> is_switch(nodes, false);
  std::size_t r = 1;
  if (switches > 0) {
    if (rows.size() < 2 || static_cast<int>(rows[1].size()) != switches)
      throw InputError(where(1), "does not list the switches", fmt::format("give {} numbers", switches));
    for (int i = 0; i < switches; ++i) is_switch[number(1, i, 0, nodes - 1)] = true;
    r = 2;
  }
  Wiring wiring;
  for (int n = 0; n < nodes; ++n)
    wiring.add(is_switch[n] ? NodeKind::Network : NodeKind::Gpu,
               fmt::format("{} {}", is_switch[n] ? "switch" : "node", n));
  if (nodes - std::ranges::count(is_switch, true) > kMostRanks)
    throw InputError(where(0), fmt::format("makes more than {} ranks", kMostRanks), "use fewer");
  if (std::ranges::count(is_switch, true) == nodes)
    throw InputError(where(1), "has switches only", "leave nodes that are none");
  for (int i = 0; i < links; ++i, ++r) {
    if (r >= rows.size())
      throw InputError(where(r), fmt::format("has {} of {} links", i, links), "give the whole file");
    if (rows[r].size() < 4)
      throw InputError(where(r), "has no rate and latency", "use 'source destination 400Gbps 0.0005ms 0'");
    const int a = number(r, 0, 0, nodes - 1), b = number(r, 1, 0, nodes - 1);
    if (a == b) throw InputError(where(r), "goes from a node to itself", "remove it");
    const double gbs = with_unit(
        rows[r][2], {{"Gbps", 1.0 / 8}, {"Mbps", 1.0 / 8000}, {"Tbps", 125}, {"bps", 1.0 / 8e9}}, where(r));
    if (gbs <= 0) throw InputError(where(r), "has no rate", "use one above 0, or leave the link out");
    const double us = with_unit(rows[r][3], {{"ms", 1000}, {"us", 1}, {"ns", 1e-3}, {"s", 1e6}}, where(r));
    wiring.join(a, b, gbs, us);
  }
  wiring.read.push_back(fmt::format("{}: ASTRA-sim's topology for ns-3: {}, {}", file,
                                    counted(nodes - switches, "node"),
                                    counted(switches, "switch", "switches")));
  return wiring;
}

}  // namespace chorale
