// Half of the chunks go along their row first and then along a column, the other half in the opposite order;
// so rows and columns are busy in both phases, and each phase is an Alltoall in each row and in each column,
// with as many chunks per pair as half of the other side. Which half a chunk is in is the parity of the
// digits of both its ranks, which halves the chunks of each pair of positions in a row as well as those in a
// column.
//
// On a mesh n times n that is n^2 / 4 rounds for a chunk in a row, n / 2 times, twice: n^3 / 4, which is what
// crosses the middle, n^2 / 2 times as many, over n links. All along rows first and then all along columns
// takes twice as long. Packing every chunk takes minutes for 256 ranks.
#include "construct/product_alltoall.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <tuple>
#include <utility>

#include "bounds/lower_bounds.h"
#include "construct/jobs.h"
#include "construct/regular_alltoall.h"
#include "construct/timed_packing.h"

namespace chorale {
namespace {

struct PartLink {
  Link link = {};  // between positions in the sub-machine
  LinkId whole = 0;
  auto key() const {
    return std::tuple(link.src, link.dst, link.bandwidth, link.alpha_us, link.beta_us_per_byte);
  }
};
using Parts = std::vector<std::vector<PartLink>>;  // by row, or by column

bool are_alike(Parts& parts) {
  for (std::vector<PartLink>& part : parts) {
    std::ranges::stable_sort(part, {}, &PartLink::key);
    if (!std::ranges::equal(part, parts.front(), {}, &PartLink::key, &PartLink::key)) return false;
  }
  return true;
}

Topology part_of(const std::vector<PartLink>& links, int ranks) {
  Topology part{.name = "part", .ranks = ranks};
  for (const PartLink& l : links) part.links.push_back(l.link);
  return part;
}

std::vector<std::vector<LinkId>> numbers_of(const Parts& parts) {
  std::vector<std::vector<LinkId>> numbers;
  for (const std::vector<PartLink>& part : parts) {
    std::vector<LinkId>& of = numbers.emplace_back();
    for (const PartLink& l : part) of.push_back(l.whole);
  }
  return numbers;
}

std::optional<Product> with_rows_of(int row, const Topology& topology) {
  Parts rows(topology.ranks / row), columns(row);
  for (LinkId l = 0; l < std::ssize(topology.links); ++l) {
    PartLink part{.link = topology.links[l], .whole = l};
    const Rank src = part.link.src, dst = part.link.dst;
    if (src / row == dst / row) {
      part.link.src = src % row;
      part.link.dst = dst % row;
      rows[src / row].push_back(part);
    } else if (src % row == dst % row) {
      part.link.src = src / row;
      part.link.dst = dst / row;
      columns[src % row].push_back(part);
    } else {
      return std::nullopt;
    }
  }
  if (!are_alike(rows) || !are_alike(columns)) return std::nullopt;
  return Product{.column = part_of(columns.front(), topology.ranks / row),
                 .row = part_of(rows.front(), row),
                 .column_links = numbers_of(columns),
                 .row_links = numbers_of(rows)};
}

}  // namespace

std::optional<Product> as_product(const Topology& topology) {
  if (!topology.limits.empty() || topology.switches > 0) return std::nullopt;
  std::vector<int> sides;  // of rows
  for (int row = 2; row < topology.ranks; ++row)
    if (topology.ranks % row == 0) sides.push_back(row);
  std::ranges::stable_sort(sides, {}, [&](int row) { return std::max(row, topology.ranks / row); });
  for (int row : sides)
    if (std::optional<Product> product = with_rows_of(row, topology)) return product;
  return std::nullopt;
}

Schedule alltoall_on(const Product& product, int chunks, const Schedule& on_column, const Schedule& on_row) {
  const int a = product.column.ranks, b = product.row.ranks, ranks = a * b;
  const std::size_t phase = std::max(on_column.steps.size(), on_row.steps.size());
  Schedule schedule{.steps = std::vector<Step>(2 * phase)};
  // From (x, y) to (x2, y2).
  const auto chunk = [&](int x, int y, int x2, int y2, int k) {
    return ((x * b + y) * ranks + x2 * b + y2) * chunks + k;
  };
  const auto row_first = [](int x, int y, int x2, int y2, int k) { return (x + y + x2 + y2 + k) % 2 == 0; };
  for (std::size_t s = 0; s < on_row.steps.size(); ++s)
    for (const Send& send : on_row.steps[s].sends) {
      const int y = send.chunk / b, y2 = send.chunk % b;
      for (int x = 0; x < a; ++x)
        for (int x2 = 0; x2 < a; ++x2)
          for (int k = 0; k < chunks; ++k) {
            const bool first = row_first(x, y, x2, y2, k);
            schedule.steps[first ? s : phase + s].sends.push_back(
                {.chunk = chunk(x, y, x2, y2, k), .link = product.row_links[first ? x : x2][send.link]});
          }
    }
  for (std::size_t s = 0; s < on_column.steps.size(); ++s)
    for (const Send& send : on_column.steps[s].sends) {
      const int x = send.chunk / a, x2 = send.chunk % a;
      for (int y = 0; y < b; ++y)
        for (int y2 = 0; y2 < b; ++y2)
          for (int k = 0; k < chunks; ++k) {
            const bool first = !row_first(x, y, x2, y2, k);
            schedule.steps[first ? s : phase + s].sends.push_back(
                {.chunk = chunk(x, y, x2, y2, k), .link = product.column_links[first ? y : y2][send.link]});
          }
    }
  return schedule;
}

std::vector<Schedule> product_alltoall(const Topology& topology, const Collective& collective,
                                       const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::Alltoall) return {};
  const std::optional<Product> product = as_product(topology);
  if (!product) return {};
  std::vector<Schedule> parts;
  for (const Topology* part : {&product->column, &product->row}) {
    const Collective all = make_collective(CollectiveKind::Alltoall, part->ranks, 1);
    const auto bound = [&] { return fewest_rounds(*part, all).rounds; };
    std::vector<Schedule> schedules = regular_alltoall(*part, all, stop);
    for (Schedule& better : timed_packing(*part, all, schedules, bound, stop))
      schedules.push_back(std::move(better));
    if (schedules.empty()) return {};
    parts.push_back(std::move(*std::ranges::min_element(schedules, {}, total_rounds)));
  }
  return {tidy_sums(topology, collective,
                    alltoall_on(*product, collective.chunks_per_block, parts[0], parts[1]))};
}

}  // namespace chorale
