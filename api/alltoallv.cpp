// The command's side of runtime/alltoallv/: counts as a text table, nodes as equal runs of ranks. The planner
// and its bound are in runtime/alltoallv/plan.cpp. Planning is timed by the processor time of this thread, as
// libchorale-mpi plans within a call, and a busy machine should not make the number worse.
#include "api/alltoallv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "runtime/alltoallv/plan.h"
#include "runtime/alltoallv/read_rates.h"

namespace chorale {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;  // of a block; of 512 ranks' together below 2^63
// Ranks: a table has a number for each pair of them.
constexpr int kMaxRanksCounted = 512;

// Commas and whitespace separate, in any mixture: "1,2", "1 2" and "1, 2" are the same row. Empty lines have
// no numbers and are skipped by the caller.
std::vector<std::int64_t> numbers_of(std::string_view line, const std::string& where) {
  std::vector<std::int64_t> numbers;
  const auto separates = [](char c) { return c == ',' || c == ' ' || c == '\t' || c == '\r'; };
  for (std::size_t i = 0; i < line.size();) {
    if (separates(line[i])) {
      ++i;
      continue;
    }
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(line.data() + i, line.data() + line.size(), value);
    i = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || value < 0 || value > kMostBytes || (i < line.size() && !separates(line[i])))
      throw InputError(where,
                       fmt::format("number {} is not a number of bytes from 0 to 2^48", numbers.size() + 1));
    numbers.push_back(value);
  }
  return numbers;
}

double thread_ms() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace

// The first row determines the number of ranks. A row of another length is refused by its own line, and so is
// the first row beyond the last rank; what is missing is found at the end of the file.
ByteCounts read_byte_counts(std::string_view text, const std::string& file) {
  ByteCounts counts;
  int line_number = 0, rows = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string where = fmt::format("{}:{}", file, ++line_number);
    const std::vector<std::int64_t> numbers = numbers_of(line, where);
    if (numbers.empty()) continue;
    if (rows++ == 0)
      counts.ranks = static_cast<int>(std::min<std::size_t>(numbers.size(), kMaxRanksCounted + 1));
    if (counts.ranks > kMaxRanksCounted)
      throw InputError(where, fmt::format("has more than {} numbers", kMaxRanksCounted), "give fewer ranks");
    if (std::ssize(numbers) != counts.ranks || rows > counts.ranks)
      throw InputError(where,
                       fmt::format("has {} in row {}, the first row has {}",
                                   counted(numbers.size(), "number"), rows, counts.ranks),
                       "give as many rows as ranks, a number for each rank in each");
    counts.bytes.insert(counts.bytes.end(), numbers.begin(), numbers.end());
  }
  if (rows != counts.ranks || rows == 0)
    throw InputError(file, fmt::format("has {} rows of {} numbers", rows, counts.ranks),
                     "give as many rows as ranks, a number for each rank in each");
  return counts;
}

// Rank r is on node r / (ranks / nodes): launchers that fill one node after the other number ranks like this.
TwoTiers equal_nodes(int ranks, int nodes, std::string_view rates) {
  if (nodes < 1 || ranks % nodes != 0)
    throw InputError("--nodes", fmt::format("{} ranks are not {} equal nodes", ranks, nodes),
                     "give a divisor of the number of ranks");
  TwoTiers tiers{.rates = read_tier_rates(rates, "--rates")};
  for (int n = 0; n < ranks; ++n) tiers.node.push_back(n / (ranks / nodes));
  return tiers;
}

PlannedAlltoallv plan_by_counts(const TwoTiers& tiers, const ByteCounts& counts) {
  const double begin = thread_ms();
  PlannedAlltoallv planned{.plan = plan_alltoallv(tiers, counts)};
  planned.planning_ms = thread_ms() - begin;
  return planned;
}

// A piece is [src, dst, offset, bytes, out, in, step] (ir/alltoallv.h): one row per piece, since a plan of
// 512 ranks has hundreds of thousands.
std::string to_json(const TwoTiers& tiers, const PlannedAlltoallv& planned) {
  const AlltoallvPlan& plan = planned.plan;
  std::vector<std::vector<std::int64_t>> pieces;
  for (const AlltoallvPiece& piece : plan.pieces)
    pieces.push_back({piece.src, piece.dst, piece.offset, piece.bytes, piece.out, piece.in, piece.step});
  const auto load = [](const NicLoad& nics) {
    return json_object("bytes", nics.most_bytes, "over_mean", nics.most_over_mean);
  };
  return json_file(
      "chorale_alltoallv", 1, "ranks", plan.ranks, "nodes", 1 + *std::ranges::max_element(tiers.node), "nics",
      tiers.rates.nics, "nic_gbs", tiers.rates.nic_gbs, "node_gbs", tiers.rates.node_gbs, "latency_us",
      tiers.rates.latency_us, "us", plan.us, "direct_us", plan.direct_us, "bound_us", plan.bound_us,
      "planning_ms", planned.planning_ms, "direct", plan.direct, "steps", plan.steps, "busiest_nic",
      load(plan.nics), "busiest_nic_directly", load(plan.direct_nics), "pieces", pieces);
}

// A plan in which nothing moves has no bound, and no ratio. The bound has no NICs of its own: it is a time
// that no plan is below.
Report report_of(const PlannedAlltoallv& planned) {
  const AlltoallvPlan& plan = planned.plan;
  const auto row = [&](const std::string& of, double us, const NicLoad& load) -> std::vector<std::string> {
    return {of, format_us(us), plan.bound_us > 0 ? fmt::format("{:.3f}", us / plan.bound_us) : "-",
            format_bytes(static_cast<double>(load.most_bytes)), fmt::format("{:.4f}", load.most_over_mean)};
  };
  ReportTable table{.rows = {{"", "time", "x bound", "busiest NIC", "x mean of its node"},
                             row("plan", plan.us, plan.nics),
                             row("direct", plan.direct_us, plan.direct_nics),
                             row("bound", plan.bound_us, {})},
                    .kinds = "lrrrr"};
  std::fill(table.rows.back().begin() + 3, table.rows.back().end(), "-");
  return {.title = "Alltoallv of " + counted(plan.ranks, "rank"),
          .sentences = {plan.direct ? "direct sends are the plan"
                                    : fmt::format("{} and {}: {:.2f} times as fast as direct sends",
                                                  counted(plan.steps, "step"),
                                                  counted(std::ssize(plan.pieces), "piece"),
                                                  plan.direct_us / plan.us)},
          .tables = {std::move(table)}};
}

}  // namespace chorale
