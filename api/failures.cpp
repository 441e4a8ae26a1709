// A library built with failures has entries named "M without link 0-1". They are grouped by answer: failures
// that leave equal machines, but for the numbers of ranks, share one, and so become one row that counts them.
#include "api/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "api/library.h"
#include "ir/json_fields.h"
#include "topology/changes.h"

namespace chorale {
namespace {

double value_of(long long rounds, long long chunks) {
  return static_cast<double>(rounds) / static_cast<double>(chunks);
}

// Rounds per chunk of the best point, and that no schedule has fewer than; 0 where there is none.
struct BestRate {
  double found = 0, bound = 0;
};

BestRate rate_of(const Result& result) {
  BestRate rate;
  const Rate bound = rate_bound(result);
  rate.bound = value_of(bound.rounds, bound.chunks);
  for (const Point& point : result.points) {
    const double rounds = value_of(point.cost.rounds, point.cost.chunks);
    if (rate.found == 0 || rounds < rate.found) rate.found = rounds;
  }
  return rate;
}

// 0 where the whole is not known.
double share(double of, double by) {
  return by > 0 ? of / by : 0;
}

}  // namespace

// Two passes: whole machines are needed as the denominator, and the file may have them after their failures.
// Of equivalent failures the shortest name represents the row, then the first in the alphabet.
std::vector<FailureRow> failure_rows(AnswerFile& file, const std::string& name) {
  std::map<std::pair<std::string, std::string>, BestRate> whole;  // by machine and collective
  std::vector<std::pair<FailureRow, BestRate>> found;
  file.each([&](const StoredAnswer& stored) {
    std::optional<BestRate> rate;
    std::map<std::pair<std::string, std::string>, FailureRow> rows;
    for (const AnswerPlace& place : stored.places) {
      // The table is of whole machines: their groups are machines of their own in a library.
      if (place.group != "all") continue;
      // An answer is verified as it is taken: once, and only where it has such a place.
      if (!rate) rate = rate_of(taken(stored, name).result);
      const NamedChanges named = split_failure(place.machine);
      const std::pair at{named.machine, place.collective};
      if (named.failure.empty()) {
        whole[at] = *rate;
        continue;
      }
      FailureRow& row = rows[at];
      if (row.alike++ == 0 ||
          std::pair(named.failure.size(), named.failure) < std::pair(row.failure.size(), row.failure))
        row.failure = named.failure;
      row.machine = named.machine;
      row.collective = place.collective;
      row.rounds_per_chunk = rate->found;
      row.of_bound = share(rate->bound, rate->found);
    }
    for (const auto& [at, row] : rows) found.emplace_back(row, *rate);
  });
  std::vector<FailureRow> rows;
  for (auto& [row, rate] : found) {
    if (const auto before = whole.find({row.machine, row.collective}); before != whole.end()) {
      row.of_whole = share(before->second.found, rate.found);
      row.most_of_whole = share(before->second.bound, rate.bound);
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, [](const FailureRow& row) {
    return std::tuple(row.machine, row.collective, -row.alike, row.failure);
  });
  return rows;
}

std::string to_json(const std::vector<FailureRow>& rows) {
  return json_file("chorale_failures", 1, "rows", rows);
}

}  // namespace chorale
