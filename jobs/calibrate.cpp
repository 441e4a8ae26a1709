// Each class of links is measured at three sizes by ping-pong: 8 bytes, which give the latency, and two
// longer messages, whose difference gives the rate. Then crowds, many links at once, show by how much
// links slow each other down. How these numbers become alphas and betas is cost/calibration.cpp.
#include "jobs/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json_fields.h"
#include "ir/words.h"
#include "jobs/measured_log.h"
#include "jobs/optimize.h"
#include "runtime/message_times.h"
#include "runtime/mpi_session.h"
#include "topology/import/timing_log.h"
#include "topology/machines.h"
#include "topology/switches.h"

namespace chorale {

template <>
struct Fields<Spread> {
  static constexpr auto all = plain_fields<&Spread::least, &Spread::median, &Spread::most>();
};
template <>
struct Fields<CalibratedClass> {
  using C = CalibratedClass;
  static constexpr std::tuple all = {field<&C::links, &LinkClass::links>(), field<&C::alpha_us>(),
                                     field<&C::beta_us_per_byte>(), field<&C::shared>(),
                                     field<&C::line_gbs>()};
};
template <>
struct Fields<CalibratedCrowd> {
  using C = CalibratedCrowd;
  static constexpr std::tuple all = {field<&C::name>(), field<&C::us_per_byte>(),
                                     field<&C::alone>({.name = "alone_us_per_byte"})};
};

template <>
struct Fields<CalibratedCollective> {
  using C = CalibratedCollective;
  static constexpr auto all = plain_fields<&C::name, &C::file, &C::algorithm, &C::off_before, &C::off>();
};

namespace {

// Of the whole link: beta is of one unit of its bandwidth.
double gbs(const Link& link, double beta_us_per_byte) {
  return 1e-3 * link.bandwidth / beta_us_per_byte;
}

constexpr std::int64_t kShort = 8;  // bytes: what is left is latency

// By crowd, microseconds per byte of unit. A message of a crowd is stated for one byte of unit (a link's
// bandwidth, or 1) and scaled to both sizes; the slope between these leaves the latency out.
std::vector<double> measured(const std::vector<Crowd>& crowds, Transport& transport,
                             const CalibrateOptions& options, const std::function<void()>& one_more) {
  std::vector<double> result;
  for (const Crowd& crowd : crowds) {
    const auto us = [&](std::int64_t bytes) {
      std::vector<RankMessage> messages = crowd.messages;
      for (RankMessage& message : messages) message.bytes *= bytes;
      return all_at_once(transport, messages, options.times).median;
    };
    const double less = us(options.from), more = us(options.to);
    result.push_back(std::max(0.0, more - less) / static_cast<double>(options.to - options.from));
    one_more();
  }
  return result;
}

// The rate is the difference of two sizes, both above the one that gives the latency.
void require(const Topology& machine, const CalibrateOptions& options, int processes) {
  if (processes != machine.ranks)
    throw InputError(machine.name,
                     fmt::format("has {}, and there are {}", counted(machine.ranks, "rank"),
                                 counted(processes, "process", "processes")),
                     fmt::format("use mpirun -n {} chorale calibrate ...", machine.ranks));
  if (options.from <= kShort || options.to <= options.from)
    throw InputError("calibrate", fmt::format("{} and {} bytes give no rate", options.from, options.to),
                     fmt::format("use two sizes over {}, the smaller one first", kShort));
}

}  // namespace

Topology described_machine(const std::string& spec_or_file, const MachineChanges& changes) {
  return load_topology(spec_or_file, changes);
}

// All ranks process pairs and crowds in one order, so that both ends of a message are there at the same time.
Calibration calibrate(const Topology& machine, MpiSession& session, const CalibrateOptions& options) {
  require(machine, options, session.ranks());
  const auto transport = session.transport(options.timeout);
  const auto pairs = pairs_to_measure(machine, options.pairs);
  const std::vector<Crowd> crowds = options.crowds ? crowds_to_measure(machine) : std::vector<Crowd>();
  std::size_t done = 0;
  const auto one_more = [&] {
    if (options.progress)
      options.progress(fmt::format("{} of {} measured", ++done, pairs.size() + crowds.size()));
  };
  std::vector<MessageTime> times;
  for (const auto& [src, dst] : pairs) {
    for (const std::int64_t bytes : {kShort, options.from, options.to}) {
      const RankMessage message = {src, dst, bytes};
      times.push_back({message, ping_pong(*transport, message, options.times)});
    }
    one_more();
  }
  Calibration result = calibrated(machine, times, "calibrate");
  share(result, crowds, measured(crowds, *transport, options, one_more));
  return result;
}

namespace {

CollectiveKind known_log_kind(const CollectiveLog& log) {
  if (const std::optional<CollectiveKind> kind = kind_named(log.collective)) return *kind;
  throw InputError("--log", "'" + log.collective.substr(0, 40) + "' is neither two ranks nor a collective",
                   "use A-B=FILE, or such as allreduce=FILE");
}

// A log without a collective is of all that it names.
std::vector<CollectiveLog> each_named(const std::vector<CollectiveLog>& logs) {
  std::vector<CollectiveLog> result;
  for (const CollectiveLog& log : logs) {
    if (!log.collective.empty()) {
      result.push_back(log);
      continue;
    }
    const std::vector<std::string> names = collectives_in_log(log.file);
    if (names.empty())
      throw InputError("--log", log.file + " does not name its collective",
                       "use COLLECTIVE=FILE, such as allreduce=" + log.file);
    for (const std::string& name : names) result.push_back({.collective = name, .file = log.file});
  }
  return result;
}

// Times of a log beside what the machine predicts by its fastest baseline, which the library is taken to run.
class PredictedLog {
 public:
  PredictedLog(const Topology& machine, const CollectiveLog& log)
      : log_(log),
        one_(make_collective(known_log_kind(log), machine.ranks, 1)),
        measured_(read_measured(log.file, one_)),
        blocks_(blocks_of_sizes(one_, measured_.message_bytes)) {}

  // By the machine, whose call is left out.
  std::vector<CollectiveTime> times(const Topology& machine) {
    Topology flat = flatten(machine);
    flat.call_us = 0;
    const std::vector<TimedBaseline> baselines = timed_baselines(flat, one_, BaselineSet::Auto, blocks_);
    if (baselines.empty())
      throw InputError("--log", log_.collective + " has no baseline on " + machine.name,
                       "give logs of other collectives, or of two ranks (A-B=FILE)");
    std::vector<CollectiveTime> result;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const TimedBaseline& fastest =
          *std::ranges::min_element(baselines, {}, [&](const TimedBaseline& b) { return b.times.us[i]; });
      const double us = fastest.times.us[i];
      const double steps = std::min(us, point_us(flat, fastest.points[fastest.fastest[i]], 1));
      result.push_back({.us = measured_.us[i], .steps_us = steps, .bytes_us = us - steps});
      algorithm_ = fastest.times.name;
    }
    return result;
  }

  CalibratedCollective report(double off_before, double off) const {
    return {log_.collective, log_.file, algorithm_, off_before, off};
  }

 private:
  const CollectiveLog log_;
  const Collective one_;
  const MeasuredSizes measured_;
  const std::vector<std::int64_t> blocks_;
  std::string algorithm_ = {};  // at the last size
};

double median_off(const std::vector<CollectiveTime>& times, double call_us) {
  std::vector<double> off;
  for (const CollectiveTime& t : times)
    off.push_back(std::abs((call_us + t.steps_us + t.bytes_us) / t.us - 1));
  std::ranges::nth_element(off, off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2));
  return off[off.size() / 2];
}

// Which baseline is the fastest depends on the fit, so it is repeated.
void fit_to(Calibration& result, const std::vector<CollectiveLog>& logs) {
  constexpr int kRepeats = 4;
  const Topology before = result.machine;
  std::vector<PredictedLog> predicted;
  for (const CollectiveLog& log : logs) predicted.emplace_back(before, log);
  std::vector<double> off;
  for (PredictedLog& log : predicted) off.push_back(median_off(log.times(before), before.call_us));
  for (int round = 0; round < kRepeats; ++round) {
    std::vector<CollectiveTime> all;
    for (PredictedLog& log : predicted) std::ranges::copy(log.times(result.machine), std::back_inserter(all));
    const MachineFit fit = fit_machine(all);
    result.machine = with_fit(std::move(result.machine), fit);
  }
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double after = median_off(predicted[i].times(result.machine), result.machine.call_us);
    result.collectives.push_back(predicted[i].report(off[i], after));
  }
}

}  // namespace

// A log has one number per size, so least, median and most are equal. Where many messages were under way at
// once (osu_bw) no latency follows: such a time is not of a message by itself.
Calibration calibrate(const Topology& machine, const std::vector<LinkLog>& logs,
                      const std::vector<CollectiveLog>& collectives) {
  std::vector<MessageTime> times;
  for (const LinkLog& each : logs) {
    if (std::max(each.src, each.dst) >= machine.ranks || each.src == each.dst)
      throw InputError("--log",
                       fmt::format("{}-{} are not two ranks of {}", each.src, each.dst, machine.name),
                       fmt::format("use ranks 0 to {}", machine.ranks - 1));
    const TimingTable log = read_message_log(read_file(each.file), each.file);
    for (const TimingRow& row : log.rows)
      times.push_back({.message = {each.src, each.dst, row.bytes},
                       .us = {row.us, row.us, row.us},
                       .by_itself = !log.rates_only});
  }
  Calibration result = calibrated(machine, times, "--log");
  if (!collectives.empty()) fit_to(result, each_named(collectives));
  return result;
}

// Links of both are in one order: a name differs by its rates alone.
void note_line_rates(Calibration& calibration, const std::string& spec_or_file, MachineChanges changes) {
  if (changes.import.line_rates) return;
  changes.import.line_rates = true;
  const OrError<Topology> line = read_or_error([&] { return described_machine(spec_or_file, changes); });
  if (!line || (*line).links.size() != calibration.machine.links.size()) return;
  for (CalibratedClass& each : calibration.classes) {
    const Link& link = (*line).links[each.links.links.front()];
    each.line_gbs = gbs(link, link.beta_us_per_byte);
  }
}

std::string to_json(const Calibration& calibration) {
  return json_file("machine", calibration.machine.name, "classes", calibration.classes, "together",
                   calibration.crowds, "call_us", calibration.machine.call_us, "collectives",
                   calibration.collectives);
}

namespace {

// "24 links like 0 -> 1": the class by the first of its links.
std::string alike(const Topology& machine, const LinkClass& links) {
  const auto end = [&](Node n) {
    return n < machine.ranks ? fmt::format("{}", n) : fmt::format("switch {}", n - machine.ranks);
  };
  return fmt::format("{} like {} -> {}", counted(std::ssize(links.links), "link"), end(links.described.src),
                     end(links.described.dst));
}

// Links that are faster than their hardware are of another machine, or bytes are counted otherwise.
std::string above_line(const Topology& machine, const CalibratedClass& each) {
  constexpr double kAbove = 1.02;  // rates of a machine are integers, each within 2 %
  const Link& is = machine.links[each.links.links.front()];
  const double rate = gbs(is, is.beta_us_per_byte);
  if (each.line_gbs == 0 || rate <= kAbove * each.line_gbs) return "";
  return fmt::format("{}: {:.4g} GB/s is above the line rate, {:.4g} GB/s: the log may be of another machine",
                     alike(machine, each.links), rate, each.line_gbs);
}

}  // namespace

// Columns: latency measured, its spread, described; rate measured, its spread, in use, described. The least
// beta is the largest rate, so the ends of the spread are exchanged. "In use" is the rate that a link keeps
// while all of them are busy.
Report report_of(const Calibration& calibration) {
  Report report{.title = "links of " + calibration.machine.name};
  ReportTable table{.rows = {{"links", "alpha (us)", "of links", "was", "GB/s", "of links", "in use", "was"}},
                    .kinds = "lrRrrRrr"};
  for (const CalibratedClass& each : calibration.classes) {
    const Link& was = each.links.described;
    std::vector<std::string> row = {alike(calibration.machine, each.links),
                                    "-",
                                    "-",
                                    fmt::format("{:.2f}", was.alpha_us),
                                    "-",
                                    "-",
                                    "-",
                                    fmt::format("{:.4g}", gbs(was, was.beta_us_per_byte))};
    if (each.alpha_us) {
      row[1] = fmt::format("{:.2f}", each.alpha_us->median);
      row[2] = fmt::format("{:.2f}-{:.2f}", each.alpha_us->least, each.alpha_us->most);
    }
    if (each.beta_us_per_byte) {
      const Spread& beta = *each.beta_us_per_byte;
      row[4] = fmt::format("{:.4g}", gbs(was, beta.median));
      row[5] = fmt::format("{:.4g}-{:.4g}", gbs(was, beta.most), gbs(was, beta.least));
      row[6] = fmt::format("{:.4g}", gbs(was, beta.median * each.shared));
    }
    table.rows.push_back(std::move(row));
  }
  report.tables = {std::move(table)};
  for (const CalibratedCrowd& crowd : calibration.crowds)
    report.sentences.push_back(fmt::format("{}: {:.2f} times as long as links by themselves", crowd.name,
                                           crowd.us_per_byte / crowd.alone));
  for (const CalibratedClass& each : calibration.classes)
    if (std::string above = above_line(calibration.machine, each); !above.empty())
      report.sentences.push_back(std::move(above));
  for (const CalibratedCollective& each : calibration.collectives)
    report.sentences.push_back(fmt::format("{} by {}: off by {:.1f} % in the median, {:.1f} % before",
                                           each.name, each.algorithm, 100 * each.off, 100 * each.off_before));
  if (!calibration.collectives.empty()) {  // all classes have the same two factors
    const LinkClass& first = calibration.classes.front().links;
    const Link& is = calibration.machine.links[first.links.front()];
    report.sentences.push_back(fmt::format(
        "a call costs {:.2f} us; {}: {:.2f} us (was {:.2f}), {:.4g} GB/s (was {:.4g})",
        calibration.machine.call_us, alike(calibration.machine, first), is.alpha_us, first.described.alpha_us,
        gbs(is, is.beta_us_per_byte), gbs(first.described, first.described.beta_us_per_byte)));
    return report;
  }
  for (const CalibratedClass& each : calibration.classes)
    if (!each.alpha_us || !each.beta_us_per_byte)
      report.sentences.push_back(fmt::format("the {} of {} is not measured: as described",
                                             each.alpha_us           ? "rate"
                                             : each.beta_us_per_byte ? "latency"
                                                                     : "latency and rate",
                                             alike(calibration.machine, each.links)));
  return report;
}

}  // namespace chorale
