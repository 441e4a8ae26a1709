// A walk over the steps. Within one all data are those of the steps before, so what each send waits for is
// known; a job is a send on one of its resources (several sends where a limit counts them once). Jobs are
// served in the order in which their data are there. A resource has its jobs in the order of steps, so none
// of a later step is before one of an earlier, and one pass is enough: no queue of events is needed.
#include "cost/event_time.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "cost/program_time.h"

namespace chorale {
namespace {

class EventReplay {
 public:
  // keeps_all: what sends and resources did is kept, for times and the critical path; else the last arrival.
  EventReplay(const Schedule& schedule, const Topology& topology, double chunk_bytes, bool keeps_all,
              std::vector<std::vector<Chunk>> operands = {})
      : schedule_(schedule),
        topology_(topology),
        chunk_bytes_(chunk_bytes),
        keeps_all_(keeps_all),
        operands_(std::move(operands)),
        limits_of_(topology.links.size()),
        last_job_(topology.links.size() + topology.limits.size(), -1),
        free_us_(last_job_.size()) {
    for (int i = 0; i < std::ssize(topology.limits); ++i)
      for (const LinkId l : topology.limits[i].links) limits_of_[l].push_back(i);
    Chunk most = static_cast<Chunk>(operands_.size()) - 1;
    for (const Step& step : schedule.steps)
      for (const Send& send : step.sends) most = std::max(most, send.chunk);
    const std::size_t entries = static_cast<std::size_t>(most + 1) * topology.ranks;
    if (entries <= kMaxDense) arrivals_.resize(entries);
  }

  // Returns whether it came to the end.
  bool run(const std::atomic<bool>* stop) {
    for (int s = 0; s < std::ssize(schedule_.steps); ++s) {
      if (stop != nullptr && *stop) return false;
      run_step(s);
    }
    return true;
  }

  EventTimes times() && {
    EventTimes all{.us = us(), .critical = critical_path()};
    for (const Sent& each : sends_) all.sends.push_back(each.times);
    return all;
  }
  double us() const { return topology_.call_us + last_us_; }

 private:
  static constexpr std::size_t kMaxDense = 1 << 22;  // entries by chunk and rank, in 64 MiB

  struct Sent {
    SendTimes times = {};
    double ready_us = 0;  // its data are there
    int brought_by = -1;  // the send that came last of what it carries
    int last_job = -1;    // the one that ended last
  };
  // One resource carries sends.
  struct Job {
    int resource = 0;  // a link, or number of links + a limit
    double us = 0;     // that it takes
    double ready_us = 0, start_us = 0;
    int last_ready = 0;  // of its sends
    int before = -1;     // the job that the resource did before
    std::vector<int> sends = {};
  };
  struct Arrival {
    double us = 0;
    int send = -1;
  };

  Arrival& arrival(Chunk c, Rank n) {
    const std::size_t entry = static_cast<std::size_t>(c) * topology_.ranks + n;
    return arrivals_.empty() ? few_arrivals_[entry] : arrivals_[entry];
  }
  // What a send waits for: where the chunk is made as a sum nothing else brings it.
  Arrival data(const Send& send) {
    const Rank n = topology_.links[send.link].src;
    Arrival last = arrival(send.chunk, n);
    if (last.send < 0 && std::cmp_less(send.chunk, operands_.size()))
      for (const Chunk each : operands_[send.chunk])
        if (const Arrival& came = arrival(each, n); came.send >= 0 && came.us >= last.us) last = came;
    return last;
  }
  double end_of(const Job& job) const { return job.start_us + job.us; }

  void run_step(int s) {
    const int first = static_cast<int>(sends_.size());
    for (const Send& send : schedule_.steps[s].sends) {
      const Arrival data = this->data(send);
      sends_.push_back(
          {.times = {.step = s, .send = send, .begin_us = std::numeric_limits<double>::max(), .left_us = -1},
           .ready_us = data.us,
           .brought_by = data.send});
    }
    serve(jobs_of(first));
    // After all of the step: its sends read what was there before.
    for (int i = first; i < std::ssize(sends_); ++i) {
      SendTimes& times = sends_[i].times;
      const Link& link = topology_.links[times.send.link];
      times.there_us = times.left_us + link.alpha_us;
      Arrival& at = arrival(times.send.chunk, link.dst);
      if (at.send < 0 || times.there_us > at.us) at = {.us = times.there_us, .send = i};
      last_us_ = std::max(last_us_, times.there_us);
    }
    if (keeps_all_) return;
    sends_.clear();
    jobs_.clear();
  }

  // Of the sends of a step, which are those from `first` on.
  std::vector<Job> jobs_of(int first) const {
    std::vector<Job> jobs;
    std::map<std::pair<int, CountedOnce>, std::size_t> shared;  // by limit and what it counts
    for (int i = first; i < std::ssize(sends_); ++i) {
      const Send& send = sends_[i].times.send;
      const Link& link = topology_.links[send.link];
      const double us = chunk_bytes_ * link.beta_us_per_byte;
      jobs.push_back({.resource = send.link, .us = us / link.bandwidth, .sends = {i}});
      for (const int limit : limits_of_[send.link]) {
        const SharedLimit& over = topology_.limits[limit];
        Job job{.resource = static_cast<int>(topology_.links.size()) + limit,
                .us = us / over.bandwidth,
                .sends = {i}};
        if (over.abilities.any()) {
          const auto [at, is_first] =
              shared.try_emplace({limit, counted_as(topology_, over, send)}, jobs.size());
          if (!is_first) {
            Job& with = jobs[at->second];
            with.us = std::max(with.us, job.us);
            with.sends.push_back(i);
            continue;
          }
        }
        jobs.push_back(std::move(job));
      }
    }
    for (Job& job : jobs) {
      job.last_ready = *std::ranges::max_element(job.sends, {}, [&](int i) { return sends_[i].ready_us; });
      job.ready_us = sends_[job.last_ready].ready_us;
    }
    return jobs;
  }

  void serve(std::vector<Job> jobs) {
    std::ranges::stable_sort(jobs, {}, &Job::ready_us);
    for (Job& job : jobs) {
      const int number = static_cast<int>(jobs_.size());
      job.before = std::exchange(last_job_[job.resource], number);
      job.start_us = std::max(job.ready_us, free_us_[job.resource]);
      free_us_[job.resource] = end_of(job);
      for (const int i : job.sends) {
        Sent& sent = sends_[i];
        sent.times.begin_us = std::min(sent.times.begin_us, job.start_us);
        if (end_of(job) <= sent.times.left_us) continue;
        sent.times.left_us = end_of(job);
        sent.last_job = number;
      }
      jobs_.push_back(std::move(job));
    }
  }

  // Backwards from the last arrival: the job before on the same resource if the job waited for it, else what
  // brought the data.
  std::vector<CriticalSend> critical_path() const {
    std::vector<CriticalSend> path;
    if (sends_.empty()) return path;
    using Wait = CriticalSend::Wait;
    const int links = static_cast<int>(topology_.links.size());
    int send = static_cast<int>(
        std::ranges::max_element(sends_, {}, [](const Sent& each) { return each.times.there_us; }) -
        sends_.begin());
    for (int job = sends_[send].last_job; job >= 0;) {
      const Job& at = jobs_[job];
      CriticalSend each{.send = send, .from_us = at.start_us};
      if (at.before >= 0 && at.start_us > at.ready_us) {
        each.wait = at.resource < links ? Wait::Link : Wait::Limit;
        each.limit = at.resource < links ? -1 : at.resource - links;
        job = at.before;
        send = jobs_[job].last_ready;
      } else if (const int brought = sends_[at.last_ready].brought_by; brought >= 0) {
        each.send = at.last_ready;
        each.wait = Wait::Data;
        send = brought;
        job = sends_[brought].last_job;
      } else {
        job = -1;
      }
      path.push_back(each);
    }
    std::ranges::reverse(path);
    return path;
  }

  const Schedule& schedule_;
  const Topology& topology_;
  const double chunk_bytes_;
  const bool keeps_all_;
  const std::vector<std::vector<Chunk>> operands_;  // by chunk, of what is a sum of others
  double last_us_ = 0;
  std::vector<std::vector<int>> limits_of_ = {};  // by link
  std::vector<Sent> sends_ = {};
  std::vector<Job> jobs_ = {};
  std::vector<int> last_job_ = {};      // by resource
  std::vector<double> free_us_ = {};    // from when on, by resource
  std::vector<Arrival> arrivals_ = {};  // the last one, by chunk and rank; empty where that were too many
  std::unordered_map<std::size_t, Arrival> few_arrivals_ = {};
};

}  // namespace

EventTimes event_times(const Schedule& schedule, const Topology& topology, int chunks_per_block,
                       double block_bytes) {
  EventReplay replay(schedule, topology, block_bytes / chunks_per_block, true);
  replay.run(nullptr);
  return std::move(replay).times();
}

std::optional<double> event_us(const Schedule& schedule, const Topology& topology, int chunks_per_block,
                               double block_bytes, const std::atomic<bool>* stop) {
  EventReplay replay(schedule, topology, block_bytes / chunks_per_block, false);
  if (!replay.run(stop)) return std::nullopt;
  return replay.us();
}

EventTimes event_times(const Point& point, const Topology& topology, double block_bytes) {
  EventReplay replay(point.schedule, topology, block_bytes / point.cost.chunks, true,
                     operands_of(point.collective));
  replay.run(nullptr);
  return std::move(replay).times();
}

std::optional<double> event_us(const Point& point, const Topology& topology, double block_bytes,
                               const std::atomic<bool>* stop) {
  EventReplay replay(point.schedule, topology, block_bytes / point.cost.chunks, false,
                     operands_of(point.collective));
  if (!replay.run(stop)) return std::nullopt;
  return replay.us();
}

std::optional<double> point_us(const Machine& machine, TimeModel model, const Point& point,
                               double block_bytes, const std::atomic<bool>* stop) {
  return model == TimeModel::Events ? event_us(point, machine, block_bytes, stop)
                                    : point_us(machine, point, block_bytes, stop);
}

}  // namespace chorale
