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

}  // namespace chorale
