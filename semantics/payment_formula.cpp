// Rule by rule, as linear_formula.cpp. A chunk pays for its x, or for its s where it has none, so that no
// send pays twice.
#include "semantics/payment_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace chorale {

std::string PaymentFormula::once(Chunk c, int limit, Rank n, bool leaving) {
  return fmt::format("{}_{}_{}_{}", leaving ? "o" : "i", c, limit, n);
}

std::string PaymentFormula::crossing(Chunk c, int j, LinkId l) {
  return fmt::format("x_{}_{}_{}", c, j, l);
}

std::string PaymentFormula::known(Chunk c, int group, int j, int of_group) {
  return fmt::format("h_{}_{}_{}_{}", c, group, j, of_group);
}

PaymentFormula::PaymentFormula(const Topology& topology, const Collective& collective, Prices prices)
    : topology_(topology),
      collective_(collective),
      prices_(std::move(prices)),
      weights_(prices_.links.begin(), prices_.links.end()),
      limits_(topology.links.size()),
      crosses_(collective.chunks.size()) {
  for (int z = 0; z < std::ssize(topology.limits); ++z) {
    const Abilities& able = topology.limits[z].abilities;
    const bool counts_once = able.multicast || (able.reduce && collective.combining);
    for (const LinkId l : topology.limits[z].links) {
      if (!counts_once) weights_[l] += prices_.limits[z];
      if (counts_once && prices_.limits[z] > 0) limits_[l].push_back(z);
    }
  }
}

std::vector<PaymentFormula::PaidSend> PaymentFormula::sends(Chunk c, LinkId l) const {
  PaidSend copy{.name = fmt::format("s_{}_{}", c, l)}, added{.name = fmt::format("a_{}_{}", c, l)};
  bool both = false;
  for (const int z : limits_[l]) {
    const Abilities& able = topology_.limits[z].abilities;
    const bool reduces = able.reduce && collective_.combining;
    both = both || (reduces && able.multicast);
    (able.multicast ? copy.leaving : copy.coming).push_back(z);
    (reduces ? added.coming : added.leaving).push_back(z);
  }
  return both ? std::vector{copy, added} : std::vector{copy};
}

long PaymentFormula::enter(Chunk c, const std::vector<bool>& inside) {
  const ChunkSpec& spec = collective_.chunks[c];
  const auto outside = [&](Rank n) { return !inside[n]; };
  const bool absent =
      collective_.combining ? std::ranges::any_of(spec.pre, outside) : std::ranges::all_of(spec.pre, outside);
  if (!absent || std::ranges::all_of(spec.post, outside)) return 0;
  for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
    if (inside[topology_.links[l].dst] && outside(topology_.links[l].src))
      for (const PaidSend& each : sends(c, l)) fmt::format_to(std::back_inserter(body_), "1 {} ", each.name);
  return end(1);
}

long PaymentFormula::cross(Chunk c, const std::vector<int>& group, int sends) {
  crosses_[c] = true;
  const auto out = std::back_inserter(body_);
  const int groups = 1 + *std::ranges::max_element(group);
  std::vector<bool> gives(groups), needs(groups);
  for (const Rank n : collective_.chunks[c].pre) gives[group[n]] = true;
  for (const Rank n : collective_.chunks[c].post) needs[group[n]] = true;
  std::vector<LinkId> between;
  for (LinkId l = 0; l < std::ssize(topology_.links); ++l)
    if (group[topology_.links[l].src] != group[topology_.links[l].dst]) between.push_back(l);
  const auto all = [&](int sign, int j) {
    for (const LinkId l : between) fmt::format_to(out, "{} {} ", sign, crossing(c, j, l));
  };
  const long single = rules_ + 1;
  for (int j = 1; j <= sends; ++j) {
    for (const LinkId l : between)
      if (weights_[l] > 0)
        fmt::format_to(std::back_inserter(payment_), "-{} {} ", weights_[l], crossing(c, j, l));
    all(-1, j);
    end(-1);
  }
  for (int j = 1; j < sends; ++j) {
    all(1, j);
    all(-1, j + 1);
    end(0);
  }
  variables_ += static_cast<long>(between.size()) * sends;
  for (int i = 0; i < groups; ++i) {
    if (!gives[i]) continue;
    variables_ += static_cast<long>(groups) * (sends + 1);
    for (int g = 0; g < groups; ++g) {
      if (g != i) {
        fmt::format_to(out, "1 ~{} ", known(c, g, 0, i));
        end(1);
      }
      for (int j = 1; j <= sends; ++j) {
        const std::string had = fmt::format("1 ~{} 1 {} ", known(c, g, j, i), known(c, g, j - 1, i));
        body_ += had;
        for (const LinkId l : between)
          if (group[topology_.links[l].dst] == g) fmt::format_to(out, "1 {} ", crossing(c, j, l));
        end(1);
        for (const LinkId l : between) {
          if (group[topology_.links[l].dst] != g) continue;
          fmt::format_to(out, "{}1 ~{} 1 {} ", had, crossing(c, j, l),
                         known(c, group[topology_.links[l].src], j - 1, i));
          end(1);
        }
      }
      if (!needs[g]) continue;
      fmt::format_to(out, "1 {} ", known(c, g, sends, i));
      all(1, sends);
      end(1);
    }
  }
  return single;
}

long PaymentFormula::pay(std::int64_t most) {
  std::set<std::string> counted;
  const auto pays = [&](std::int64_t price, const std::string& name) {
    ++variables_;
    if (price > 0) fmt::format_to(std::back_inserter(payment_), "-{} {} ", price, name);
  };
  for (Chunk c = 0; c < std::ssize(collective_.chunks); ++c)
    for (LinkId l = 0; l < std::ssize(topology_.links) && !crosses_[c]; ++l)
      for (const PaidSend& each : sends(c, l)) {
        pays(weights_[l], each.name);
        const auto count = [&](const std::vector<int>& limits, Rank n, bool leaving) {
          for (const int z : limits) {
            const std::string name = once(c, z, n, leaving);
            fmt::format_to(std::back_inserter(body_), "1 ~{} 1 {} ", each.name, name);
            end(1);
            if (counted.insert(name).second) pays(prices_.limits[z], name);
          }
        };
        count(each.leaving, topology_.links[l].src, true);
        count(each.coming, topology_.links[l].dst, false);
      }
  body_ += payment_;
  return end(-most);
}

long PaymentFormula::end(std::int64_t least) {
  fmt::format_to(std::back_inserter(body_), ">= {} ;\n", least);
  return ++rules_;
}

std::string PaymentFormula::text() const {
  return fmt::format("* #variable= {} #constraint= {}\n", variables_, rules_) + body_;
}

}  // namespace chorale
