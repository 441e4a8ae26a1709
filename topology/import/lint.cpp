// Each check takes one property of like things (GPUs, pairs of them, NICs, hosts), as it is printed, asks
// which value is usual, and names what has another. A healed twin has the usual value in one record, so that
// its bound beside that of the node is what the record costs. Cables are compared after they are the same
// both ways: a GPU whose own record lacks its links is one oddity and not two.
#include "topology/import/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "ir/words.h"

namespace chorale {
namespace {

using PartKind = HostPart::Kind;

// Rates are sums, which differ in their last bits.
std::string rate_in_words(double gbs) {
  return fmt::format("{:.4g} GB/s", std::round(gbs * 1e6) / 1e6);
}

struct Usual {
  std::size_t like = 0;  // the first that has the usual value
  int count = 0;
};

// The value that three quarters of at least four have.
std::optional<Usual> usual(const std::vector<std::string>& values) {
  Usual most;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const int count = static_cast<int>(std::ranges::count(values, values[i])); count > most.count)
      most = {i, count};
  return values.size() >= 4 && 4 * static_cast<std::size_t>(most.count) >= 3 * values.size()
             ? std::optional(most)
             : std::nullopt;
}

class Linter {
 public:
  explicit Linter(const Host& host) : host_(host), even_(host), gpus_(host.gpus()) {}

  std::vector<Oddity> result() && {
    for (const std::string& each : host_.odd) found_.push_back({.text = each});
    if (!gpus_.empty()) {
      if (!check_models()) check_cables();
      check_pci(gpus_, "GPUs");
      check_pci(fast_nics(), "NICs");
      check_nic_rates();
      check_nic_places();
      check_numbers();
      check_hosts();
    }
    for (int p = 0; p < std::ssize(host_.parts); ++p)
      if (!part(p).odd.empty()) add(p, "", {});
    return std::move(found_);
  }

 private:
  using Pair = std::pair<int, int>;

  const HostPart& part(int p) const { return host_.parts[p]; }

  std::vector<int> parts_of(PartKind kind) const {
    std::vector<int> result;
    for (int p = 0; p < std::ssize(host_.parts); ++p)
      if (part(p).kind == kind) result.push_back(p);
    return result;
  }

  // A part is named once, and what its reader found odd goes before what differs from others.
  void add(int p, const std::string& text, std::optional<Host> healed) {
    if (!named_.insert(p).second) return;
    const std::string where = part(p).where.empty() ? host_.file : part(p).where;
    found_.push_back(
        {where + ": " + part(p).name + (part(p).odd.empty() ? text : " " + part(p).odd), std::move(healed)});
  }

  // Names those with another value than the usual one. heal(host, odd, like) gives the odd one the value of
  // the other, and returns its part with what is put behind its name; a part of -1 is as it should be.
  // `kind` is of all of them, in the plural. Returns whether one differs.
  template <typename Item, typename Value, typename Heal>
  bool compare(const std::vector<Item>& items, const std::string& kind, const Value& value, const Heal& heal,
               std::ptrdiff_t at_most = std::numeric_limits<std::ptrdiff_t>::max()) {
    std::vector<std::string> values;
    for (const Item& each : items) values.push_back(value(each));
    const std::optional<Usual> most = usual(values);
    const auto odd = std::ssize(values) - (most ? most->count : 0);
    if (!most || odd == 0 || odd > at_most) return false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (values[i] == values[most->like]) continue;
      Host healed = even_;
      const auto [p, beside] = heal(healed, items[i], items[most->like]);
      if (p >= 0)
        add(p,
            fmt::format("{} has {}, where {} of {} {} have {}", beside, values[i], most->count, values.size(),
                        kind, values[most->like]),
            std::move(healed));
    }
    return true;
  }

  // One direction, all cables of the two together.
  static double between(const Host& host, int a, int b) {
    double sum = 0;
    for (const HostCable& cable : host.cables)
      if (cable.src == a && cable.dst == b) sum += cable.gbs;
    return sum;
  }
  static void set_between(Host& host, int a, int b, double gbs) {
    std::erase_if(host.cables, [&](const HostCable& c) {
      return (c.src == a && c.dst == b) || (c.src == b && c.dst == a);
    });
    if (gbs > 0) host.join(a, b, gbs);
  }

  // "no xGMI", "48 GB/s of xGMI".
  std::string cables_in_words(double gbs) const {
    return gbs <= 0 ? "no " + host_.cable_name : rate_in_words(gbs) + " of " + host_.cable_name;
  }

  // Of two rates of one cable the one that more cables of the node have, or else the higher.
  double right_rate(double a, double b) const {
    const auto times = [&](double rate) {
      return std::ranges::count_if(
          host_.cables, [&](const HostCable& c) { return rate_in_words(c.gbs) == rate_in_words(rate); });
    };
    const auto [low, high] = std::minmax({a, b});
    return low > 0 && times(low) > times(high) ? low : high;
  }

  // A cable has one rate. A GPU that lists none of what others list to it is one record.
  void check_directions() {
    std::map<int, std::vector<int>> uneven;  // by either end
    std::vector<Pair> pairs;
    for (const HostCable& cable : host_.cables) {
      const auto [a, b] = std::minmax(cable.src, cable.dst);
      const double there = between(even_, a, b), back = between(even_, b, a);
      if (rate_in_words(there) == rate_in_words(back)) continue;
      pairs.emplace_back(a, b);
      uneven[a].push_back(b);
      uneven[b].push_back(a);
      set_between(even_, a, b, right_rate(there, back));
    }
    if (pairs.empty()) return;
    const auto& [hub, ends] =
        *std::ranges::max_element(uneven, {}, [](const auto& each) { return each.second.size(); });
    if (ends.size() > 1 && ends.size() == pairs.size()) return add_uneven(hub, ends);
    for (const auto& [a, b] : pairs) add_uneven(a, {b});
  }

  void add_uneven(int a, const std::vector<int>& ends) {
    Host healed = host_;
    double there = 0, back = 0;
    for (const int b : ends) {
      there += between(host_, a, b);
      back += between(host_, b, a);
      set_between(healed, a, b, between(even_, a, b));
    }
    add(a,
        fmt::format(" has {} to {}, which {} {} back", cables_in_words(there),
                    ends.size() == 1 ? part(ends.front()).name : counted(std::ssize(ends), "GPU"),
                    ends.size() == 1 ? "has" : "have", cables_in_words(back)),
        std::move(healed));
  }

  double cables_of(int gpu) const {
    double sum = 0;
    for (const HostCable& cable : even_.cables)
      if (cable.src == gpu && part(cable.dst).kind != PartKind::Cpu) sum += cable.gbs;
    return sum;
  }

  // Gives a GPU the cables of another one: to the same switches, or in a mesh to all others. Of GPUs that are
  // joined in another way the right cables are not known, and the node stays as it is.
  void heal_cables(Host& host, int odd, int like) const {
    double to_each = 0;  // of a mesh
    const bool mesh = host_.count(PartKind::NvSwitch) == 0;
    for (const int gpu : gpus_)
      if (mesh && gpu != odd && gpu != like && (to_each = between(host, like, gpu)) <= 0) return;
    std::erase_if(host.cables, [&](const HostCable& c) { return c.src == odd || c.dst == odd; });
    for (const HostCable& cable : even_.cables)
      if (cable.src == like && cable.dst != odd && part(cable.dst).kind != PartKind::Cpu)
        host.join(odd, cable.dst, cable.gbs);
    if (mesh) set_between(host, odd, like, to_each);
  }

  // A GPU of another generation has other links, which are no second oddity.
  bool check_models() {
    return compare(
        gpus_, "GPUs", [&](int gpu) { return part(gpu).model; },
        [&](Host& host, int odd, int like) {
          heal_cables(host, odd, like);
          return std::pair(odd, std::string());
        });
  }

  void check_cables() {
    check_directions();
    if (check_one_pair() || check_one_cable()) return;
    const auto heal = [&](Host& host, int odd, int like) {
      heal_cables(host, odd, like);
      return std::pair(cables_of(like) > 0 ? odd : -1, std::string());
    };
    if (compare(
            gpus_, "GPUs", [&](int gpu) { return cables_in_words(cables_of(gpu)); }, heal))
      return;
    // As much as the others have may lead to other switches.
    compare(
        gpus_, "GPUs", [&](int gpu) { return "links to " + joined(switches_of(gpu)); }, heal);
  }

  std::vector<std::string> switches_of(int gpu) const {
    std::set<std::string> names;
    for (const HostCable& to : even_.cables)
      if (to.src == gpu && part(to.dst).kind == PartKind::NvSwitch) names.insert(part(to.dst).name);
    return {names.begin(), names.end()};
  }

  // One pair of a mesh.
  bool check_one_pair() {
    std::vector<std::pair<int, int>> pairs;
    for (std::size_t a = 0; a < gpus_.size(); ++a)
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) pairs.emplace_back(gpus_[a], gpus_[b]);
    return compare(
        pairs, "pairs of GPUs",
        [&](const auto& pair) { return cables_in_words(between(even_, pair.first, pair.second)); },
        [&](Host& host, const auto& odd, const auto& like) {
          const double right = between(even_, like.first, like.second);
          set_between(host, odd.first, odd.second, right);
          return std::pair(right > 0 ? odd.first : -1, " with " + part(odd.second).name);
        },
        1);
  }

  // Two GPUs that have the same too few, or too many, in any graph: the cable between them.
  bool check_one_cable() {
    std::vector<int> odd;
    std::vector<std::string> sums;
    for (const int gpu : gpus_) sums.push_back(cables_in_words(cables_of(gpu)));
    const std::optional<Usual> most = usual(sums);
    for (std::size_t g = 0; most && g < gpus_.size(); ++g)
      if (sums[g] != sums[most->like]) odd.push_back(gpus_[g]);
    if (odd.size() != 2 || host_.count(PartKind::NvSwitch) > 0 ||
        cables_in_words(cables_of(odd[0])) != cables_in_words(cables_of(odd[1])))
      return false;
    const double has = between(even_, odd[0], odd[1]);
    const double right = has + cables_of(gpus_[most->like]) - cables_of(odd[0]);
    if (right < 0) return false;
    Host healed = even_;
    set_between(healed, odd[0], odd[1], right);
    add(odd[0],
        fmt::format(" with {} has {}, where {} of {} GPUs have {} in all", part(odd[1]).name,
                    cables_in_words(has), most->count, gpus_.size(), sums[most->like]),
        std::move(healed));
    return true;
  }

  // The slowest link of PCI from a part to its CPU, by what has it.
  int narrowest(int p) const {
    int least = p;
    for (; p >= 0 && part(p).parent >= 0; p = part(p).parent)
      if (part(p).up_gbs < part(least).up_gbs) least = p;
    return least;
  }

  // The link of the device itself, and then the slowest above it. A faster one is not odd.
  void check_pci(const std::vector<int>& devices, const std::string& kind) {
    for (const bool own : {true, false}) {
      const auto link = [&](int p) { return own ? p : narrowest(p); };
      compare(
          devices, kind, [&](int p) { return "a PCI link of " + rate_in_words(part(link(p)).up_gbs); },
          [&](Host& host, int odd, int like) {
            const double right = part(link(like)).up_gbs;
            for (int p = odd; p >= 0; p = part(p).parent)
              host.parts[p].up_gbs = std::max(host.parts[p].up_gbs, right);
            return std::pair(part(link(odd)).up_gbs < right && !named_.contains(odd) ? link(odd) : -1,
                             std::string());
          });
    }
  }

  // NICs of at least half of the fastest: others are for storage and management.
  std::vector<int> fast_nics() const {
    std::vector<int> nics = parts_of(PartKind::Nic);
    double fastest = 0;
    for (const int nic : nics) fastest = std::max(fastest, part(nic).net_gbs);
    std::erase_if(nics, [&](int nic) { return part(nic).net_gbs < 0.5 * fastest; });
    return nics;
  }

  // As many NICs as GPUs, or a multiple, are of one kind.
  void check_nic_rates() {
    const std::vector<int> nics = parts_of(PartKind::Nic);
    if (nics.size() % gpus_.size() != 0) return;
    compare(
        nics, "NICs", [&](int nic) { return rate_in_words(part(nic).net_gbs) + " into the network"; },
        [&](Host& host, int odd, int like) {
          host.parts[odd].net_gbs = part(like).net_gbs;
          return std::pair(odd, std::string());
        },
        1);
  }

  int above(int p, int height) const {
    for (; p >= 0 && height > 0; --height) p = part(p).parent;
    return p;
  }

  bool is_below(int p, int other) const {
    while (p >= 0 && p != other) p = part(p).parent;
    return p >= 0 && other >= 0;
  }

  // GPUs and NICs below one part.
  struct Group {
    int above = -1;
    std::vector<int> gpus = {}, nics = {};
  };

  // By the part that is so high above GPUs that the first of them have NICs beside them.
  std::vector<Group> groups() const {
    const std::vector<int> nics = fast_nics();
    std::map<int, Group> by_part;
    for (int height = 1; height <= std::ssize(host_.parts); ++height) {
      for (const int gpu : gpus_) by_part[above(gpu, height)].gpus.push_back(gpu);
      bool some = false;
      for (auto& [p, group] : by_part)
        for (const int nic : nics)
          if (is_below(nic, p)) {
            group.nics.push_back(nic);
            some = true;
          }
      if (some) break;
      by_part.clear();
    }
    std::vector<Group> result;
    for (auto& [p, group] : by_part) result.push_back({p, std::move(group.gpus), std::move(group.nics)});
    std::ranges::stable_sort(result, {}, [](const Group& each) { return each.nics.size(); });
    return result;
  }

  // One group of GPUs has a NIC less beside it than all others, and one a NIC more, or none has.
  void check_nic_places() {
    const std::vector<Group> all = groups();
    const std::size_t count = all.size();
    if (count < 3) return;
    const Group &few = all.front(), &many = all.back();
    const std::size_t most = all[count / 2].nics.size();
    const bool more = many.nics.size() == most + 1 && all[count - 2].nics.size() == most;
    if (few.nics.size() + 1 != most || all[1].nics.size() != most || few.gpus.size() != all[1].gpus.size() ||
        (!more && (many.nics.size() != most || count < 4)))
      return;
    Host healed = host_;
    const int nic = many.nics.back(), gpu = few.gpus.front();
    const std::string lacks =
        fmt::format(" has {} beside it, where {} of {} have {}",
                    few.nics.empty() ? "no NIC" : counted(std::ssize(few.nics), "NIC"),
                    count - 1 - (more ? 1 : 0), counted(static_cast<int>(count), "group"), most);
    if (more) {
      healed.parts[nic].parent = few.above;
      add(nic,
          fmt::format(" is nearest to {} with {}, and {}{}", part(many.gpus.front()).name,
                      counted(static_cast<int>(most), "other"), part(gpu).name, lacks),
          std::move(healed));
    } else {
      HostPart another = part(nic);
      another.parent = few.above;
      healed.add(std::move(another));
      add(gpu, lacks, std::move(healed));
    }
  }

  int host_of(int p) const {
    while (part(p).parent >= 0) p = part(p).parent;
    return part(p).box;
  }

  // Ranks or devices are numbered without holes, and each once; one far behind all others is odd itself.
  void check_numbers() {
    std::set<std::pair<int, int>> numbers;  // by host
    std::map<int, int> with;                // GPUs by number
    for (const int gpu : gpus_) {
      with[part(gpu).number] = gpu;
      if (!numbers.insert({host_of(gpu), part(gpu).number}).second)
        add(gpu, fmt::format(" has the number {} of another GPU", part(gpu).number), {});
    }
    if (with.size() < gpus_.size() || with.size() < 2) return;
    const int least = with.begin()->first, most = with.rbegin()->first,
              next = std::next(with.rbegin())->first;
    if (gpus_.size() >= 4 && most - next > std::ssize(gpus_))
      return add(with.at(most),
                 fmt::format(" has the number {}, where others have {} to {}", most, least, next), {});
    std::vector<std::string> absent;
    for (int number = least; number <= most && 4 * absent.size() <= gpus_.size(); ++number)
      if (!with.contains(number)) absent.push_back(std::to_string(number));
    if (!absent.empty() && 4 * absent.size() <= gpus_.size())
      found_.push_back({.text = fmt::format("{}: no GPU has the number{} {}, of {} to {}", host_.file,
                                            absent.size() > 1 ? "s" : "", joined(absent), least, most)});
  }

  void check_hosts() {
    std::map<int, int> count;
    for (const int gpu : gpus_) ++count[host_of(gpu)];
    std::vector<int> first;  // GPUs, one of each host
    for (const int gpu : gpus_)
      if (first.empty() || host_of(first.back()) != host_of(gpu)) first.push_back(gpu);
    compare(
        first, "hosts", [&](int gpu) { return counted(count.at(host_of(gpu)), "GPU"); },
        [&](Host&, int odd, int) { return std::pair(odd, std::string()); });
  }

  const Host& host_;
  Host even_;  // with cables that are the same both ways
  const std::vector<int> gpus_;
  std::set<int> named_ = {};
  std::vector<Oddity> found_ = {};
};

}  // namespace

std::vector<Oddity> oddities(const Host& host) {
  return Linter(host).result();
}

}  // namespace chorale
