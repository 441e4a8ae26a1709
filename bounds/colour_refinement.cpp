// Rows and columns exchange hashes of what they meet, in rounds, until no colour splits. The hash of a
// multiset is the sum of its members' hashes, so no round sorts anything but to count the colours.
// Automorphisms are what one would need, but they have to be searched for; this is linear in the program a
// round, and for linear programs just as good.
//
// Invariant: a colour has the one before it hashed in, so a round can only split colours. Therefore equally
// many colours mean equal colours, and a round that splits none ends the loop: the colouring is stable. There
// are at most as many rounds as rows and columns, and one.
#include "bounds/colour_refinement.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace chorale {
namespace {

using Hashes = std::vector<std::uint64_t>;

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Of a pair, in this order.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return mixed(a ^ mixed(b));
}
// -0.0 is 0.0 here: they compare equal and have different bits.
std::uint64_t bits(double x) {
  return std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
}

std::size_t distinct(Hashes hashes) {
  std::sort(hashes.begin(), hashes.end());
  return static_cast<std::size_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
}

// Numbers the colours by first appearance.
int number(const Hashes& hashes, std::vector<int>& colours) {
  std::unordered_map<std::uint64_t, int> numbers;
  for (std::uint64_t h : hashes)
    colours.push_back(numbers.try_emplace(h, static_cast<int>(numbers.size())).first->second);
  return static_cast<int>(numbers.size());
}

// Over the colours as multisets: renaming rows and columns changes nothing.
std::uint64_t signature_of(Hashes rows, Hashes columns) {
  std::sort(rows.begin(), rows.end());
  std::sort(columns.begin(), columns.end());
  std::uint64_t h = 1;
  for (std::uint64_t r : rows) h = mixed(h, r);
  for (std::uint64_t c : columns) h = mixed(h, c);
  return h;
}

}  // namespace

Colouring refine_colours(const LinearProgram& program) {
  Hashes rows, columns, coefficient;
  for (std::size_t i = 0; i < program.low.size(); ++i)
    rows.push_back(mixed(bits(program.low[i]), bits(program.high[i])));
  for (double c : program.cost) columns.push_back(mixed(bits(c), 7));
  for (const LpEntry& entry : program.entries) coefficient.push_back(mixed(bits(entry.value)));
  // A multiset of neighbours is hashed as the sum of its members' hashes.
  for (std::size_t colours = 0;;) {
    Hashes of_rows(rows.size(), 0), of_columns(columns.size(), 0);
    for (std::size_t i = 0; i < program.entries.size(); ++i)
      of_rows[program.entries[i].row] += mixed(coefficient[i], columns[program.entries[i].column]);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = mixed(rows[r], of_rows[r]);
    for (std::size_t i = 0; i < program.entries.size(); ++i)
      of_columns[program.entries[i].column] += mixed(coefficient[i], rows[program.entries[i].row]);
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = mixed(columns[c], of_columns[c]);
    const std::size_t now = distinct(rows) + distinct(columns);
    if (now == colours) break;
    colours = now;
  }
  Colouring result;
  result.row_colours = number(rows, result.rows);
  result.column_colours = number(columns, result.columns);
  result.signature = signature_of(std::move(rows), std::move(columns));
  return result;
}

// One variable stands for its colour's all, so it costs their sum, and of equally coloured rows, which are
// then one and the same constraint, one is written. Duals go back by counting coefficients in both
// directions: if a row of colour i (m members) has a_ij in all with the columns of colour j (n members), a
// column has m a_ij / n with those rows. So y_i / m on each row charges a column an n-th of what the small
// program charges, and its cost is an n-th, too: feasible there, feasible here.
LpSolution solve_by_colours(const LinearProgram& program, const Colouring& colouring, int iterations) {
  LinearProgram small;
  small.cost.assign(colouring.column_colours, 0);
  small.low.assign(colouring.row_colours, 0);
  small.high.assign(colouring.row_colours, 0);
  for (std::size_t c = 0; c < program.cost.size(); ++c) small.cost[colouring.columns[c]] += program.cost[c];
  std::vector<int> example(colouring.row_colours, -1);
  std::vector<int> members(colouring.row_colours, 0);
  for (int r = 0; r < static_cast<int>(colouring.rows.size()); ++r) {
    const int colour = colouring.rows[r];
    ++members[colour];
    if (example[colour] >= 0) continue;
    example[colour] = r;
    small.low[colour] = program.low[r];
    small.high[colour] = program.high[r];
  }
  // A row of the example's, its coefficients summed over each colour of columns.
  for (const LpEntry& entry : program.entries)
    if (example[colouring.rows[entry.row]] == entry.row)
      small.entries.push_back({.row = colouring.rows[entry.row],
                               .column = colouring.columns[entry.column],
                               .value = entry.value});
  std::sort(small.entries.begin(), small.entries.end(), [](const LpEntry& a, const LpEntry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  std::vector<LpEntry> summed;
  for (const LpEntry& entry : small.entries)
    if (!summed.empty() && summed.back().row == entry.row && summed.back().column == entry.column)
      summed.back().value += entry.value;
    else
      summed.push_back(entry);
  small.entries = std::move(summed);

  LpSolution solution = solve(small, iterations);
  if (!solution.optimal) return solution;
  const std::vector<double> by_colour = std::move(solution.duals), value = std::move(solution.values);
  solution.values.clear();
  for (int colour : colouring.columns) solution.values.push_back(value[colour]);
  solution.duals.assign(program.low.size(), 0);
  for (std::size_t r = 0; r < program.low.size(); ++r)
    solution.duals[r] = by_colour[colouring.rows[r]] / members[colouring.rows[r]];
  return solution;
}

// Colour refinement is written for linear programs, and a machine is expressed as one: a column per link, a
// row per rank and a row per limit, an entry where they meet. Nothing is minimised; costs, sides of rows and
// coefficients are only names: of bandwidths, tags and kinds of incidence.
namespace {

int renumbered(std::vector<int>& colours) {
  std::unordered_map<int, int> numbers;
  for (int& colour : colours)
    colour = numbers.try_emplace(colour, static_cast<int>(numbers.size())).first->second;
  return static_cast<int>(numbers.size());
}

}  // namespace

// The machine as a program with a column per link and a row per rank and limit: refine_colours refines by
// which links meet which ranks and limits, and how.
MachineColours machine_colours(const Topology& topology, const std::vector<std::int64_t>& tags) {
  enum Meeting { Leaves = 1, Enters, Limited };
  LinearProgram incidences;
  for (std::int64_t tag : tags) incidences.add_row(0, static_cast<double>(tag));
  // Links meet both of their ends, which does not show that those of a limit leave one rank, or enter one.
  const Ports ports = ports_of(topology);
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z) {
    const std::vector<LinkId>& links = topology.limits[z].links;
    const bool leaving = ports.possible && !links.empty() && ports.out[links.front()] == z;
    incidences.add_row(leaving ? 2 : 1, topology.limits[z].bandwidth);  // a rank's begins with 0
  }
  for (const Link& link : topology.links) {
    const int column = incidences.add_column(link.bandwidth);
    incidences.entries.push_back({.row = link.src, .column = column, .value = Leaves});
    incidences.entries.push_back({.row = link.dst, .column = column, .value = Enters});
  }
  for (int z = 0; z < static_cast<int>(topology.limits.size()); ++z)
    for (LinkId l : topology.limits[z].links)
      incidences.entries.push_back({.row = topology.ranks + z, .column = l, .value = Limited});
  Colouring colouring = refine_colours(incidences);
  MachineColours colours{.link = std::move(colouring.columns), .links = colouring.column_colours};
  colours.rank.assign(colouring.rows.begin(), colouring.rows.begin() + topology.ranks);
  colours.limit.assign(colouring.rows.begin() + topology.ranks, colouring.rows.end());
  // Ranks and limits were rows of one program, and have their colours from one series of numbers.
  colours.ranks = renumbered(colours.rank);
  colours.limits = renumbered(colours.limit);
  return colours;
}

// Limit after limit takes the first side that fits: a limit over one link may be either, and takes the side
// of the tails. So a limit that comes later may find a side taken that another order would have left free;
// the machine is then bounded by other means (linear programs in place of cuts), which is weaker at worst.

Ports ports_of(const Topology& topology) {
  Ports ports{.out = std::vector<int>(topology.links.size(), -1),
              .in = std::vector<int>(topology.links.size(), -1)};
  for (std::size_t z = 0; z < topology.limits.size(); ++z) {
    const std::vector<LinkId>& links = topology.limits[z].links;
    if (links.empty()) continue;
    const Link& first = topology.links[links.front()];
    const auto free = [&](std::vector<int>& side, auto end) {
      return std::all_of(links.begin(), links.end(),
                         [&](LinkId l) { return side[l] < 0 && end(topology.links[l]) == end(first); });
    };
    std::vector<int>* side = nullptr;
    if (free(ports.out, [](const Link& l) { return l.src; }))
      side = &ports.out;
    else if (free(ports.in, [](const Link& l) { return l.dst; }))
      side = &ports.in;
    if (side == nullptr) return {.possible = false};
    for (LinkId l : links) (*side)[l] = static_cast<int>(z);
  }
  return ports;
}

bool limits_are_ports(const Topology& topology) {
  return ports_of(topology).possible;
}

}  // namespace chorale
