// All ranks process the same answers in the order of the file, and decide equally: by predictions, and never
// by times.
#include "api/measure.h"

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
#include "api/library.h"
#include "codegen/passes/lower.h"
#include "cost/port_serialization.h"
#include "cost/program_time.h"
#include "ir/error.h"
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

// The points of this collective with the least predicted time, as programs.
std::vector<std::pair<int, Verified<Program>>> contestants(const Result& result, MeasuredOver over,
                                                           double bytes, int most) {
  std::vector<std::pair<double, int>> points;
  for (int p = 0; p < std::ssize(result.points); ++p)
    if (const Point& point = result.points[p]; point.collective.kind == result.collective.kind)
      points.emplace_back(point_us(result.topology, point, bytes), p);
  std::ranges::sort(points);
  if (std::ssize(points) > most) points.resize(most);
  std::vector<std::pair<int, Verified<Program>>> programs;
  for (const auto& [us, p] : points)
    programs.emplace_back(p, on_processes(result.topology, result.points[p], over, bytes));
  return programs;
}

MeasuredTime told(const std::string& over, int point, std::int64_t bytes, std::vector<double> medians,
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

// One measurement of the round-robin: the library's own collective if there is no program, or that program,
// which the preload library would run likewise.
RunRow timed(MpiSession& session, MeasuredOver over, const Collective& own, const Verified<Program>* program,
             const RunOptions& options) {
  const bool gpus = over == MeasuredOver::Nccl;
  if (program == nullptr)
    return (gpus ? run_nccl_library(session, own, options) : run_mpi_library(session, own, options)).at(0);
  return (gpus ? run_on_nccl(session, *program, options) : run_copied_on_mpi(session, *program, options))
      .at(0);
}

}  // namespace

std::string name_of(MeasuredOver over) {
  return over == MeasuredOver::Mpi ? "mpi" : "nccl";
}

std::vector<MeasuredRow> measure(AnswerFile& file, const std::string& machine, MpiSession& session,
                                 const MeasureOptions& options) {
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
  const int ranks = session.ranks(), needed = chorale::machine(machine).ranks;
  if (ranks != needed)
    throw InputError(machine, fmt::format("has {} ranks, and there are {} processes", needed, ranks),
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
    Part& part = parts[{place.group, place.members}];
    if (!part.session) {
      const int number = groups_of(place, ranks)[session.rank()];
      part = {.takes_part = number >= 0, .session = session.part(number >= 0 ? number : ranks)};
    }
    const Result result = taken_at(answers[i], place, "the library").result;
    const MessageShape message = message_shape(result.collective);
    for (const std::int64_t size : options.bytes) {
      const std::int64_t bytes = block_of_size(message, size);
      if (options.progress && session.rank() == 0)
        options.progress(fmt::format("{} of {} answers, {} bytes", i + 1, answers.size(), size));
      const auto programs = contestants(result, options.over, static_cast<double>(bytes), options.points);
      if (programs.empty()) break;
      const Collective own = with_chunks(result.collective, 1);
      const bool has_own = options.over == MeasuredOver::Mpi || nccl_library_has(own.kind);
      std::vector<std::vector<double>> medians(programs.size() + 1);  // the first: its own
      for (int round = 0; round < options.rounds; ++round)
        for (std::size_t c = has_own ? 0 : 1; c < medians.size(); ++c) {
          const RunOptions run{.bytes = {bytes},
                               .iterations = options.times,
                               .warm_up = 1,
                               .timeout = options.timeout,
                               .check = round == 0};
          all->barrier();
          RunRow row;
          if (part.takes_part)
            row = timed(*part.session, options.over, own, c == 0 ? nullptr : &programs[c - 1].second, run);
          if (all->sum(static_cast<double>(row.wrong)) > 0)
            throw std::logic_error(fmt::format("{} of {} gives wrong data", place.collective, machine));
          medians[c].push_back(all->most(row.median_us));
        }
      MeasuredRow row{.place = place, .message_bytes = size, .bus_factor = message.bus_factor};
      for (std::size_t c = has_own ? 0 : 1; c < medians.size(); ++c) {
        const MeasuredTime time =
            told(name_of(options.over), c == 0 ? MeasuredTime::kOwn : programs[c - 1].first, bytes,
                 medians[c], options.rounds * options.times);
        if (session.rank() == 0) file.put_measured(answers[i].question, time);
        if (c == 0)
          row.own = time;
        else if (c == 1 || time.median_us < row.ours.median_us)
          row.ours = time;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace chorale
