// A trace is one process per rank and one per relay. All receives of a process stand first, so that no send
// waits for a receive to be posted. A rank's step is: all sends, waits for them, waits for what comes.
#include "codegen/simulators/simgrid.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codegen/simulators/messages.h"
#include "ir/shown.h"

namespace chorale {
namespace {

// Of SMPI 3.32.
constexpr std::int64_t kEnvelope = 16;  // bytes that SMPI adds to a message
constexpr int kByte = 6;                // the data type of traces

// Each differs from the default, which corrects for clusters and TCP, or hides what is sent.
const std::vector<std::pair<std::string, std::string>> kOptions = {
    {"network/model:CM02", "flows share links evenly"},
    {"network/latency-factor:1", "latencies are those of the platform"},
    {"network/bandwidth-factor:1", "so are bandwidths"},
    {"network/weight-S:0", "shares do not depend on bandwidths"},
    {"network/crosstraffic:0", "no acknowledgements in the other direction"},
    {"network/TCP-gamma:0", "no windows"},
    {"network/optim:Full", "all shares are computed again when one changes; 'Lazy' is up to 9 % off"},
    {"smpi/simulate-computation:no", "only messages take time"},
    {"smpi/send-is-detached-thresh:0", "a message is sent when it has arrived"},
    {"surf/precision:1e-13", "seconds, far below a nanosecond"},
    {"smpi/display-timing:yes", "prints the simulated time"},
};

// Options follow from kOptions, as the table of the README does: neither can lack one.
std::string run_script() {
  std::string options;
  for (const auto& [option, why] : kOptions) options += fmt::format("  --cfg={} \\\n", option);
  return "#!/bin/sh\n# Replays the traces in SimGrid; further options of smpirun may follow.\n"
         "cd \"$(dirname \"$0\")\" || exit 2\n"
         "exec smpirun -np \"$(wc -l <hosts)\" -platform platform.xml -hostfile hosts \\\n" +
         options + "  --log=root.thresh:critical --log=smpi_utils.thresh:info \"$@\" -replay traces\n";
}

// The lines of a process. Receives are posted before all else, so that a sender never waits for them.
struct Trace {
  std::string receives = {}, work = {};
  std::string ending = {};  // waits for what a relay has announced, which it does not wait for before
};

// Processes: ranks by number, then relays by link. process_of_ maps a link to its relay.
class Traces {
 public:
  Traces(const Verified<Schedule>& schedule, std::int64_t block_bytes)
      : topology_(schedule.topology()),
        messages_(messages_by_shares(schedule, block_bytes)),
        process_of_(topology_.links.size(), -1),
        traces_(topology_.ranks),
        names_(topology_.ranks) {
    const std::vector<bool> relayed = relayed_links(topology_);
    for (Rank n = 0; n < topology_.ranks; ++n) names_[n] = fmt::format("rank{}", n);
    for (std::size_t l = 0; l < relayed.size(); ++l)
      if (relayed[l]) {
        process_of_[l] = static_cast<int>(std::ssize(names_));
        names_.push_back(fmt::format("relay{}", l));
      }
    traces_.resize(names_.size());
    for (Rank n = 0; n < topology_.ranks; ++n)
      for (const RankStep& step : messages_.by_rank[n]) perform(n, step);
    for (int i = 0; i < std::ssize(messages_.all); ++i) relay(i);
  }

  const std::vector<std::string>& names() const { return names_; }

  // Receives first, then the work, and what a relay waits for at its end. Ranks begin after the call; what
  // they receive before that cannot be there, since all begin together.
  std::string text(int p) const {
    const bool calls = p < topology_.ranks && topology_.call_us > 0;
    const std::string call = calls ? fmt::format("{} sleep {}\n", p, topology_.call_us * 1e-6) : "";
    return fmt::format("{0} init\n{1}{2}{3}{4}{0} finalize\n", p, traces_[p].receives, call, traces_[p].work,
                       traces_[p].ending);
  }

 private:
  // Numbers of messages are their tags. SMPI adds an envelope to each message, so as many bytes are taken off
  // before.
  void message(std::string& lines, const char* what, int p, int peer, int tag, std::int64_t bytes) const {
    lines += fmt::format("{} {} {} {} {} {}\n", p, what, peer, tag,
                         std::max<std::int64_t>(bytes - kEnvelope, 0), kByte);
  }
  void send(int p, int to, int tag, std::int64_t bytes) {
    message(traces_[p].work, "isend", p, to, tag, bytes);
  }
  void receive(int p, int from, int tag, std::int64_t bytes) {
    message(traces_[p].receives, "irecv", p, from, tag, bytes);
  }
  // A request is found by its ends and tag, so every message has a tag of its own.
  static std::string wait(int p, int src, int dst, int tag) {
    return fmt::format("{} wait {} {} {}\n", p, src, dst, tag);
  }

  // A send over a relay ends when the relay has announced the arrival, a latency after the data.
  void perform(Rank n, const RankStep& step) {
    for (const int i : step.sends) send(n, next_of(i), i, messages_.all[i].bytes);
    for (const int i : step.sends) {
      traces_[n].work += wait(n, n, next_of(i), i);
      if (next_of(i) != link_of(i).dst) arrival(n, i);
    }
    for (const int i : step.receives) arrival(n, i);
  }

  // Of a message at its destination, and with a relay at its source, too.
  void arrival(Rank n, int i) {
    const bool relayed = next_of(i) != link_of(i).dst;
    const int from = relayed ? next_of(i) : link_of(i).src;
    receive(n, from, i, relayed ? 0 : messages_.all[i].bytes);
    traces_[n].work += wait(n, from, n, i);
  }

  // It takes the data, and then sends an empty message to both ends.
  void relay(int i) {
    const int p = next_of(i);
    const auto [src, dst] = std::pair(link_of(i).src, link_of(i).dst);
    if (p == dst) return;
    receive(p, src, i, messages_.all[i].bytes);
    traces_[p].work += wait(p, src, p, i);
    for (const Rank end : {dst, src}) {
      send(p, end, i, 0);
      traces_[p].ending += wait(p, p, end, i);
    }
  }

  const Link& link_of(int i) const { return topology_.links[messages_.all[i].link]; }
  // The process that a message goes to first.
  int next_of(int i) const {
    const int relay = process_of_[messages_.all[i].link];
    return relay < 0 ? link_of(i).dst : relay;
  }

  const Topology& topology_;
  const Messages messages_;
  std::vector<int> process_of_;  // by link: its relay, or -1
  std::vector<Trace> traces_;    // by process
  std::vector<std::string> names_;
};

// One file per process, named as its host, which the list of traces relies on.
std::vector<NamedText> files_of(const Traces& traces) {
  std::vector<NamedText> files;
  for (int p = 0; p < std::ssize(traces.names()); ++p)
    files.push_back({traces.names()[p] + ".trace", traces.text(p)});
  return files;
}

std::string readme(const std::string& title, const Topology& topology, std::int64_t block_bytes) {
  std::string options;
  for (const auto& [option, why] : kOptions) options += fmt::format("| `--cfg={}` | {} |\n", option, why);
  return fmt::format(
      "# {}, for SimGrid\n\nBlocks of {} bytes. `sh replay.sh` needs smpirun (on Debian: libsimgrid-dev, "
      "3.32) and prints the simulated time.\n\n"
      "| file | what it is |\n|---|---|\n"
      "| platform.xml | a link of each link of the machine, and one of each shared limit |\n"
      "| hosts | the ranks in order, then processes that relay what one route cannot carry |\n"
      "| traces | the files *.trace, one per process: what it sends and receives in each step |\n"
      "| replay.sh | smpirun with the options below |\n\n"
      "These options make SimGrid the plain alpha-beta model, in which a message of b bytes over a link "
      "takes its\nlatency and b over its share of the bandwidth:\n\n| option | what for |\n|---|---|\n{}\n"
      "SMPI has an envelope of {} bytes on each message, which the traces leave out.\n\n"
      "A program over MPI runs on the same machine:\n\n```\nsmpicxx program.cpp -o program\n"
      "smpirun -np {} -platform platform.xml -hostfile hosts OPTIONS ./program\n```\n",
      shown(title), block_bytes, options, kEnvelope, topology.ranks);
}

}  // namespace

std::vector<NamedText> to_simgrid_traces(const Verified<Schedule>& schedule, std::int64_t block_bytes) {
  return files_of(Traces(schedule, block_bytes));
}

std::vector<NamedText> to_simgrid(const Verified<Schedule>& schedule, std::int64_t block_bytes,
                                  const std::string& title) {
  const Traces traces(schedule, block_bytes);
  std::vector<NamedText> files = files_of(traces);
  std::string hosts, list;
  for (const std::string& name : traces.names()) {
    hosts += name + "\n";
    list += name + ".trace\n";
  }
  files.push_back({"platform.xml", to_simgrid_platform(schedule.topology())});
  files.push_back({"hosts", std::move(hosts)});
  files.push_back({"traces", std::move(list)});
  files.push_back({"replay.sh", run_script()});
  files.push_back({"README.md", readme(title, schedule.topology(), block_bytes)});
  return files;
}

}  // namespace chorale
