// All ranks process the same answers in the order of the file, and decide equally: by predictions, and never
// by times.
#include "jobs/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "api/compose.h"
#include "api/inputs.h"
#include "api/run.h"
#include "codegen/passes/lower.h"
#include "cost/cost.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/words.h"
#include "library/question.h"
#include "runtime/nccl_run.h"
#include "runtime/run.h"
#include "semantics/verified.h"

namespace chorale {
namespace {

// The group of each rank; -1: in none that is measured. A group that is not a level is measured by itself, at
// its members.
std::vector<int> groups_of(const AnswerPlace& place, int ranks) {
  std::vector<int> numbers(ranks, place.group == "all" ? 0 : -1);
  if (place.group == "all") return numbers;
  const Nesting nested = nesting(place.machine);
  if (const auto level = std::ranges::find(nested.names, place.group); level != nested.names.end()) {
    int number = 0;
    for (const auto& group : groups_at(nested, {static_cast<int>(level - nested.names.begin())})) {
      for (const Rank n : group) numbers.at(n) = number;
      ++number;
    }
    return numbers;
  }
  std::istringstream members(place.members);
  for (Rank n = 0; members >> n;) numbers.at(n) = 0;
  return numbers;
}

// As the preload libraries lower it for blocks of this size.
Verified<Program> on_processes(const Topology& topology, const Point& point, MeasuredOver over,
                               double block_bytes) {
  const double chunk_bytes = block_bytes / point.collective.chunks_per_block;
  return lower(accepted(topology, point.collective, point.schedule),
               {.serialize_ports = over == MeasuredOver::Mpi && chunk_bytes > serialized_above(topology)});
}

// The points with the least predicted time, as programs. Not by a first measurement: ranks
// that measure different times would choose different points, and wait for each other for ever.
std::vector<std::pair<int, Verified<Program>>> contestants(const Result& result, MeasuredOver over,
                                                           double bytes, int most) {
  std::vector<std::pair<double, int>> points;
  for (int p = 0; p < std::ssize(result.points); ++p)
    points.emplace_back(point_us(result.topology, result.points[p], bytes), p);
  std::ranges::sort(points);
  if (std::ssize(points) > most) points.resize(most);
  std::vector<std::pair<int, Verified<Program>>> programs;
  for (const auto& [us, p] : points)
    programs.emplace_back(p, on_processes(result.topology, result.points[p], over, bytes));
  return programs;
}

// The median of the medians of the rounds: a round that another process disturbed does not count.
MeasuredTime timed_as(const std::string& over, int point, std::int64_t bytes, std::vector<double> medians,
                      int times) {
  std::ranges::sort(medians);
  return {.over = over,
          .point = point,
          .bytes = bytes,
          .median_us = (medians[(medians.size() - 1) / 2] + medians[medians.size() / 2]) / 2,
          .least_us = medians.front(),
          .most_us = medians.back(),
          .times = times};
}

// One of those that alternate: the library's own collective, by an algorithm that is forced or as it chooses,
// or a program, which the preload library would run likewise.
struct Contestant {
  const Verified<Program>* program = nullptr;  // null: the library's own
  int forced = 0;                              // 0: as it chooses
};

RunRow timed(MpiSession& session, MeasuredOver over, const Collective& own, const Contestant& contestant,
             const RunOptions& options) {
  const bool gpus = over == MeasuredOver::Nccl;
  if (contestant.program != nullptr)
    return (gpus ? run_on_nccl(session, *contestant.program, options)
                 : run_copied_on_mpi(session, *contestant.program, options, plan_check(*contestant.program)))
        .at(0);
  if (contestant.forced != 0)
    return run_mpi_library(*session.forced(own.kind, contestant.forced), own, options).at(0);
  return (gpus ? run_nccl_library(session, own, options) : run_mpi_library(session, own, options)).at(0);
}

// Those of the MPI library that the exports know, too, and that are for so many ranks.
OwnAlgorithms known_algorithms(MpiSession& session, CollectiveKind kind, int ranks) {
  OwnAlgorithms own = session.own_algorithms(kind);
  std::erase_if(own.algorithms, [&](const OwnAlgorithms::Algorithm& each) {
    return !is_own_algorithm(own.library, kind, each.name) || !suits(own.library, kind, each.name, ranks);
  });
  return own;
}

// What was measured of one contestant. A forced algorithm may fail: MPI refuses it, or its data is wrong.
struct Taken {
  std::vector<double> medians = {};
  bool failed = false;
};

// One run of one contestant. Every rank takes part in the barrier and in the sums, also one without a
// session: so the slowest group counts, and a failure on one rank ends the contestant on all.
void take(Taken& taken, MpiSession* session, Transport& all, MeasuredOver over, const Collective& own,
          const Contestant& contestant, const RunOptions& options, const std::string& name) {
  if (taken.failed) return;
  all.barrier();
  RunRow row;
  bool refused = false;
  try {
    if (session != nullptr) row = timed(*session, over, own, contestant, options);
  } catch (const InputError&) {
    if (contestant.forced == 0) throw;
    refused = true;
  }
  taken.failed = all.sum(refused || row.wrong > 0 ? 1 : 0) > 0;
  if (taken.failed && contestant.forced == 0) throw std::logic_error(name + " gives wrong data");
  taken.medians.push_back(all.most(row.median_us));
}

}  // namespace

std::string name_of(MeasuredOver over) {
  return over == MeasuredOver::Mpi ? "mpi" : "nccl";
}

std::vector<MeasuredRow> measure(AnswerFile& file, const std::string& machine, MpiSession& session,
                                 const MeasureOptions& options) {
  // Read as a whole first, since the file is written to while they are measured.
  std::vector<StoredAnswer> answers;
  file.each([&](const StoredAnswer& stored) {
    std::set<std::string> groups;  // of the answer: equivalent roots are measured once
    for (const AnswerPlace& place : stored.places)
      if (place.machine == machine && groups.insert(place.group).second) {
        answers.push_back(stored);
        answers.back().places = {place};
      }
  });
  if (answers.empty()) throw InputError(machine, "is not in the library", "see 'chorale library show'");
  const int ranks = session.ranks(), needed = chorale::machine(machine).topology().ranks;
  if (ranks != needed)
    throw InputError(machine,
                     fmt::format("has {}, and there are {}", counted(needed, "rank"),
                                 counted(ranks, "process", "processes")),
                     fmt::format("use mpirun -n {} chorale library measure ...", needed));
  const std::unique_ptr<Transport> all = session.transport(options.timeout);
  struct Part {
    bool takes_part = false;
    std::unique_ptr<MpiSession> session = {};
  };
  std::map<std::pair<std::string, std::string>, Part> parts;  // by group and members
  std::vector<MeasuredRow> rows;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const AnswerPlace& place = answers[i].places.front();
    // A session for each group, made once: making one is a call of all ranks, in the order of the answers.
    Part& part = parts[{place.group, place.members}];
    if (!part.session) {
      const int number = groups_of(place, ranks)[session.rank()];
      // All ranks call part(); those outside of the groups are together in one that stays idle.
      part = {.takes_part = number >= 0, .session = session.part(number >= 0 ? number : ranks)};
    }
    const Result result = answer_for(answers[i], place, "the library").result;
    const MessageShape message = message_shape(result.collective);
    const auto element = static_cast<std::int64_t>(size_of(RunOptions().types.front()));
    for (const std::int64_t asked : options.bytes) {
      // Whole elements, rounded up; `size` is the message that such a block makes.
      const std::int64_t bytes = (block_of_size(message, asked) + element - 1) / element * element;
      const std::int64_t size = size_of_block(message, bytes);
      if (options.progress && session.rank() == 0)
        options.progress(fmt::format("{} of {} answers, {} bytes", i + 1, answers.size(), size));
      const auto programs = contestants(result, options.over, static_cast<double>(bytes), options.points);
      if (programs.empty()) break;
      // The library's own collective knows no chunks.
      const Collective own = with_chunks(result.collective, 1);
      std::vector<Contestant> contestants;
      if (options.over == MeasuredOver::Mpi || nccl_library_has(own.kind)) contestants.push_back({});
      const OwnAlgorithms forced =
          options.all_own ? known_algorithms(session, own.kind, own.ranks) : OwnAlgorithms{};
      for (const OwnAlgorithms::Algorithm& each : forced.algorithms)
        contestants.push_back({.forced = each.number});
      for (const auto& [point, program] : programs) contestants.push_back({.program = &program});
      std::vector<Taken> taken(contestants.size());
      // Round-robin: a drift of the machine reaches all contestants. Data are checked in the first round.
      for (int round = 0; round < options.rounds; ++round)
        for (std::size_t c = 0; c < contestants.size(); ++c)
          take(taken[c], part.takes_part ? part.session.get() : nullptr, *all, options.over, own,
               contestants[c],
               {.bytes = {bytes},
                .iterations = options.times,
                .warm_up = 1,
                .timeout = options.timeout,
                .check = round == 0},
               fmt::format("{} of {}", place.collective, machine));
      MeasuredRow row{.place = place, .message_bytes = size, .bus_factor = message.bus_factor};
      // Contestants are in order: the library as it chooses, its algorithms one by one, programs.
      std::size_t next_forced = 0, next_program = 0;
      for (std::size_t c = 0; c < contestants.size(); ++c) {
        const bool is_program = contestants[c].program != nullptr, is_forced = contestants[c].forced != 0;
        const std::string name = is_forced ? forced.algorithms[next_forced++].name : "";
        if (taken[c].failed) {
          row.failed.push_back(name);
          continue;
        }
        const MeasuredTime time =
            timed_as(name_of(options.over), is_program ? programs[next_program++].first : MeasuredTime::kOwn,
                     bytes, taken[c].medians, options.rounds * options.times);
        if (is_forced) {
          row.forced.push_back({.library = forced.library, .algorithm = name, .time = time});
          if (session.rank() == 0) file.put_own(answers[i].question, row.forced.back());
          continue;
        }
        if (session.rank() == 0) file.put_measured(answers[i].question, time);
        if (!is_program)
          row.own = time;
        else if (row.ours.times == 0 || time.median_us < row.ours.median_us)
          row.ours = time;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

namespace {

// Of the medians of the rounds, in parts of their median.
std::string spread(const MeasuredTime& time) {
  return fmt::format("{:.0f} %", 100 * (time.most_us - time.least_us) / time.median_us);
}

std::string message_of(const MeasuredRow& row) {
  return format_bytes(static_cast<double>(row.message_bytes));
}

// MPI's own algorithms, a row each; those that failed are listed below.
void add_forced(const std::vector<MeasuredRow>& rows, Report& report) {
  ReportTable table{.title = "MPI's own algorithms",
                    .rows = {{"group", "collective", "message", "MPI by", "time", "chosen"}},
                    .kinds = "llrlrr"};
  for (const MeasuredRow& row : rows) {
    for (const OwnTime& own : row.forced)
      table.rows.push_back({row.place.group, row.place.collective, message_of(row), own.algorithm,
                            format_us(own.time.median_us), row.own ? format_us(row.own->median_us) : "-"});
    if (!row.failed.empty())
      report.sentences.push_back(fmt::format("{} of {}, {}: MPI refuses {}, or its data is wrong",
                                             row.place.collective, row.place.group, message_of(row),
                                             joined(row.failed)));
  }
  if (table.rows.size() == 1)
    report.sentences.emplace_back("none of MPI's own algorithms can be forced");
  else
    report.tables.push_back(std::move(table));
}

}  // namespace

Report report_of(const std::vector<MeasuredRow>& rows, const MeasureOptions& options) {
  const std::string theirs = options.over == MeasuredOver::Mpi ? "MPI's" : "NCCL's";
  ReportTable table{.rows = {{"group", "collective", "message", theirs + " own", "spread", "Chorale",
                              "spread", "GB/s", "busbw", "point", "taken"}},
                    .kinds = "llrrrrrrrrl"};
  for (const MeasuredRow& row : rows) {
    const bool own_is_faster = row.own && row.own->median_us < row.ours.median_us;
    const double rate = algbw_gbs(static_cast<double>(row.message_bytes),
                                  own_is_faster ? row.own->median_us : row.ours.median_us);
    table.rows.push_back({row.place.group, row.place.collective, message_of(row),
                          row.own ? format_us(row.own->median_us) : "none", row.own ? spread(*row.own) : "",
                          format_us(row.ours.median_us), spread(row.ours), fmt::format("{:.3g}", rate),
                          fmt::format("{:.3g}", rate * row.bus_factor), std::to_string(row.ours.point),
                          own_is_faster ? theirs : "Chorale"});
  }
  Report report{.title = "measured times", .tables = {std::move(table)}};
  if (options.all_own) add_forced(rows, report);
  return report;
}

}  // namespace chorale
