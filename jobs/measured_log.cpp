// nccl-tests prints the bus bandwidth beside size and time. Their quotient is the factor of a collective of
// so many ranks, 2(n-1)/n or (n-1)/n: it shows what a log does not name, and belies what was named wrongly.
#include "jobs/measured_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cost/busbw.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/words.h"
#include "topology/import/timing_log.h"

namespace chorale {
namespace {

// A bandwidth has two digits behind its point, so from 10 GB/s on a factor is right to a thousandth.
constexpr double kLeastBusbw = 10, kFactorError = 0.004;

// Busbw times time over size, at the row with the most bandwidth; 0: none is large enough.
double factor_in(const TimingTable& table) {
  if (table.rows.empty()) return 0;
  const TimingRow& row = *std::ranges::max_element(table.rows, {}, &TimingRow::busbw_gbs);
  return row.busbw_gbs < kLeastBusbw ? 0 : row.busbw_gbs * row.us * 1e3 / static_cast<double>(row.bytes);
}

// Ranks of a collective whose factor grows with them: 2(n-1)/n, (n-1)/n. 0: no number of ranks has it.
int ranks_by_factor(CollectiveKind kind, double factor) {
  const double scale = busbw_factor(kind, 2) * 2;
  const double ranks = scale > 0 && factor < scale ? std::round(scale / (scale - factor)) : 0;
  const bool grows = busbw_factor(kind, 3) > busbw_factor(kind, 2);
  if (!grows || ranks < 2 || ranks > 4096) return 0;
  return std::abs(busbw_factor(kind, static_cast<int>(ranks)) / factor - 1) <= kFactorError
             ? static_cast<int>(ranks)
             : 0;
}

// Why the table is not of the collective; "": it is, by all that it prints.
std::string difference(const TimingTable& table, const Collective& collective) {
  const MessageShape shape = message_shape(collective);
  const bool is_whole = !is_custom(collective);  // not of groups, which a log may have run one by one
  if (is_whole && table.ranks > 0 && table.ranks != collective.ranks)
    return fmt::format("is of {}, and the machine has {}", counted(table.ranks, "rank"), collective.ranks);
  const double factor = factor_in(table);
  if (factor == 0 || std::abs(factor / shape.bus_factor - 1) <= kFactorError) return "";
  const int ranks = ranks_by_factor(
      table.collective == CollectiveKind::Custom ? collective.kind : table.collective, factor);
  return fmt::format("has a bus bandwidth of {:.3f} times size over time{}, and {} of {} has {:.3f}", factor,
                     ranks > 0 ? ", as of " + counted(ranks, "rank") : "", name_of(collective),
                     counted(collective.ranks, "rank"), shape.bus_factor);
}

bool may_be(const TimingTable& table, const Collective& collective) {
  if (table.of == TimingOf::Messages) return false;
  if (is_custom(collective)) return true;  // of groups: of which kind is not known any more
  return !table.of || table.collective == collective.kind;
}

std::string named(const TimingTable& table) {
  return table.test.empty() ? "a test without a name" : table.test;
}

}  // namespace

MeasuredSizes read_measured(const std::string& file, const Collective& collective) {
  std::map<std::int64_t, double> least;
  const std::vector<TimingTable> tables = read_timing_log(read_file(file), file);
  const MessageShape shape = message_shape(collective);
  std::string why;
  int line = tables.front().line;
  for (const TimingTable& table : tables) {
    if (!may_be(table, collective)) continue;
    if (const std::string its = difference(table, collective); !its.empty()) {
      if (why.empty()) line = table.line;
      why = why.empty() ? its : why;
      continue;
    }
    for (const TimingRow& row : table.rows) {
      const std::int64_t bytes = table.counts_blocks ? row.bytes * shape.blocks : row.bytes;
      const auto [at, is_new] = least.try_emplace(bytes, row.us);
      if (!is_new) at->second = std::min(at->second, row.us);
    }
  }
  const std::string where = fmt::format("{}:{}", file, line);
  if (least.empty() && why.empty()) {
    std::vector<std::string> tests;
    for (const TimingTable& table : tables)
      if (std::ranges::find(tests, named(table)) == tests.end()) tests.push_back(named(table));
    if (tests.size() > 4) tests.resize(4);
    throw InputError(where, "is of another test: " + joined(tests), "give a log of " + name_of(collective));
  }
  if (least.empty()) throw InputError(where, why, "give a log of this collective and of as many ranks");
  MeasuredSizes measured;
  for (const auto& [bytes, us] : least) {
    measured.message_bytes.push_back(bytes);
    measured.us.push_back(us);
  }
  return measured;
}

std::vector<std::string> collectives_in_log(const std::string& file) {
  std::vector<std::string> names;
  for (const TimingTable& table : read_timing_log(read_file(file), file))
    if (table.of == TimingOf::Collective && table.collective != CollectiveKind::Custom)
      if (std::string name = name_of(table.collective); std::ranges::find(names, name) == names.end())
        names.push_back(std::move(name));
  return names;
}

}  // namespace chorale
