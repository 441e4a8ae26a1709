// Half of the chunks go along their row first and then along a column, the other half in the opposite order;
// so rows and columns are busy in both phases, and each phase is an Alltoall in each row and in each column,
// with as many chunks per pair as half of the other side. Which half a chunk is in is the parity of the
// digits of both its ranks, which halves the chunks of each pair of positions in a row as well as those in a
// column.
//
// On a mesh n times n that is n^2 / 4 rounds for a chunk in a row, n / 2 times, twice: n^3 / 4, which is what
// crosses the middle, n^2 / 2 times as many, over n links. All along rows first and then all along columns
// takes twice as long. Packing every chunk takes minutes for 256 ranks.
//
// What lost: one chunk per pair of a row. A ring of 16 cannot send half a chunk to the opposite rank each
// way.
#include "construct/exact/product_alltoall.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "bounds/lower_bounds.h"
#include "construct/engine/solved_question.h"
#include "construct/engine/timed_packing.h"

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

bool have_equal_links(Parts& parts) {
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

// Ranks x * row to x * row + row - 1 are a row. A link that stays in neither a row nor a column ends it;
// links of all rows, and of all columns, are to be equal in order, so that one schedule serves all.
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
  if (!have_equal_links(rows) || !have_equal_links(columns)) return std::nullopt;
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

Schedule alltoall_on(const Product& product, int chunks, int each, const Schedule& on_column,
                     const Schedule& on_row) {
  const int a = product.column.ranks, b = product.row.ranks, ranks = a * b;
  Schedule schedule{.steps = std::vector<Step>(on_column.steps.size() + on_row.steps.size())};
  // A send of the row's schedule is of a chunk from position `here` to `here2`. It stands for the chunks
  // between these positions from each row to each: of those that have this number among `each`, the ones that
  // go along rows first do so in their own row, the others, after the columns, in the row of their
  // destination. Columns likewise.
  const auto along = [&](bool rows, std::size_t s, const Send& send) {
    const int side = rows ? b : a, other = rows ? a : b;
    const int here = send.chunk / each / side, here2 = send.chunk / each % side;
    const auto& links = rows ? product.row_links : product.column_links;
    const std::size_t before = (rows ? on_column : on_row).steps.size();
    for (int there = 0; there < other; ++there)
      for (int there2 = 0; there2 < other; ++there2) {
        const Rank src = rows ? there * b + here : here * b + there;
        const Rank dst = rows ? there2 * b + here2 : here2 * b + there2;
        for (int k = 0; k < chunks; ++k) {
          if ((there / 2 + there2 / 2 + k) % each != send.chunk % each) continue;
          const bool first = ((here + there + here2 + there2 + k) % 2 == 0) == rows;
          schedule.steps[first ? s : before + s].sends.push_back(
              {.chunk = (src * ranks + dst) * chunks + k, .link = links[first ? there : there2][send.link]});
        }
      }
  };
  for (const bool rows : {true, false})
    for (std::size_t s = 0; s < (rows ? on_row : on_column).steps.size(); ++s)
      for (const Send& send : (rows ? on_row : on_column).steps[s].sends) along(rows, s, send);
  return schedule;
}

std::vector<Schedule> product_alltoall(const Topology& topology, const Collective& collective,
                                       const std::atomic<bool>* stop) {
  if (collective.kind != CollectiveKind::Alltoall) return {};
  const std::optional<Product> product = as_product(topology);
  if (!product) return {};
  const int each = product->row.ranks % 4 == 0 && product->column.ranks % 4 == 0 ? 2 : 1;
  std::vector<Schedule> parts;
  for (const Topology* part : {&product->column, &product->row}) {
    const Collective all = make_collective(CollectiveKind::Alltoall, part->ranks, each);
    const auto bound = [&] { return fewest_rounds(*part, all).rounds; };
    std::vector<Schedule> schedules = timed_packing(*part, all, {}, bound, stop);
    if (schedules.empty()) return {};
    parts.push_back(std::move(*std::ranges::min_element(schedules, {}, total_rounds)));
  }
  return {tidy_sums(topology, collective,
                    alltoall_on(*product, collective.chunks_per_block, each, parts[0], parts[1]))};
}

}  // namespace chorale
