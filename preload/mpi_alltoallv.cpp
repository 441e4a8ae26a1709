// Each call gathers the counts of all ranks, in bytes, so that every rank has the same matrix and plans alike
// without another message. The plan of the last call is kept: programs repeat their counts.
//
// Between two points where ranks meet nothing may throw or return in one of them alone, as in
// mpi_collectives.cpp. Ranks meet when a communicator is first used, and when counts are planned that differ
// from those of its last call; each call gathers counts.
#include "preload/mpi_alltoallv.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "preload/mpi_data.h"
#include "runtime/alltoallv.h"
#include "runtime/alltoallv/plan.h"
#include "runtime/mpi/transport.h"

namespace chorale {
namespace {

constexpr std::chrono::hours kLongestWait{24};  // only ends what would never end
// Planning takes that long: 64 ranks 4.6 ms (benchmarks/results/alltoallv.log).
constexpr double kPlanningUsPerPair = 1.1;
constexpr int kMostPlannedRanks = 512;  // to plan takes a third of a second there

// One side of a call: where the block of each rank lies.
template <typename Byte>
struct Blocks {
  Byte* base = nullptr;
  const int* counts = nullptr;
  const int* places = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Aint extent = 0;
  bool dense = false;

  Blocks(Byte* base_, const int* counts_, const int* places_, MPI_Datatype type_)
      : base(base_), counts(counts_), places(places_), type(type_) {
    extent = extent_of(type);
    dense = is_dense(type);
  }
  Byte* at(Rank n) const { return base + extent * places[n]; }
  std::int64_t bytes(Rank n) const { return packed_bytes(type, counts[n]); }
};

// What each rank sends this one's, or a negative number where the call is wrong: MPI reports that.
void list_bytes(const int counts[], MPI_Datatype type, std::vector<std::int64_t>& row) {
  for (std::size_t n = 0; n < row.size(); ++n)
    row[n] =
        counts == nullptr || type == MPI_DATATYPE_NULL || counts[n] < 0 ? -1 : packed_bytes(type, counts[n]);
}

}  // namespace

// What is kept with a communicator. Without a transport MPI does its calls.
struct MpiAlltoallv::Companion {
  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate, for these messages only
  std::unique_ptr<Transport> transport = {};
  TwoTiers tiers = {};
  std::vector<std::int64_t> row = {};  // the bytes of this rank
  ByteCounts counts = {};              // of the last call
  ByteCounts planned = {};             // what the plan is for
  bool spreads = false;                // it is better than direct sends
  std::optional<AlltoallvRank> mine = {};
  std::vector<std::byte> scratch = {}, packed = {};
  std::vector<const std::byte*> sends = {};
  std::vector<std::byte*> receives = {};

  Rank rank() const { return transport->rank(); }
  int ranks() const { return transport->ranks(); }
  bool worth_planning() const;
  void make_plan(std::int64_t packed_bytes);
};

// The most that a plan could save is the time of direct sends above the bound.
bool MpiAlltoallv::Companion::worth_planning() const {
  const AlltoallvPlan direct = direct_alltoallv(tiers, counts);
  return direct.us - direct.bound_us > kPlanningUsPerPair * ranks() * ranks();
}

// For the counts, with the memory that its execution takes.
void MpiAlltoallv::Companion::make_plan(std::int64_t packed_bytes) {
  planned = counts;
  spreads = false;
  if (!worth_planning()) return;
  const AlltoallvPlan plan = plan_alltoallv(tiers, counts);
  if (plan.direct) return;
  mine.emplace(plan, rank());
  scratch.resize(static_cast<std::size_t>(mine->scratch_bytes()));
  packed.resize(static_cast<std::size_t>(packed_bytes));
  sends.assign(ranks(), nullptr);
  receives.assign(ranks(), nullptr);
  spreads = true;
}

MpiAlltoallv::MpiAlltoallv(NodeRates nodes, std::string host)
    : rates_(nodes.rates), fault_(std::move(nodes.fault)), host_(std::move(host)) {}

// The rows of counts that ranks gather need memory, too: what fails before ranks meet is carried to where
// they do.
bool MpiAlltoallv::learn_nodes(MPI_Comm comm, Companion& companion) const {
  const int ranks = comm_size(comm);
  PMPI_Comm_dup(comm, &companion.comm);
  bool good = companion.comm != MPI_COMM_NULL;
  try {
    companion.tiers = {.node = std::vector<int>(ranks), .rates = *rates_};
    companion.row.resize(ranks);
    companion.counts = {.ranks = ranks,
                        .bytes = std::vector<std::int64_t>(static_cast<std::size_t>(ranks) * ranks)};
    if (good) companion.transport = mpi_transport(companion.comm, kLongestWait);
  } catch (const std::exception&) {
    good = false;
  }
  const std::vector<RankLocation> locations = located_ranks(comm, host_, 0, good);
  for (Rank n = 0; n < std::ssize(locations); ++n) companion.tiers.node[n] = locations[n].host;
  return !locations.empty();
}

// Null: MPI does the calls of this communicator.
MpiAlltoallv::Companion* MpiAlltoallv::companion_of(MPI_Comm comm) {
  if (const auto kept = companions_.kept(comm)) return *kept;
  Companion* companion = rates_ ? new (std::nothrow) Companion : nullptr;
  // Rates as a number: those that differ have other numbers with overwhelming odds.
  std::uint64_t number = 1;
  if (rates_)
    for (const double each : {double(rates_->nics), rates_->nic_gbs, rates_->node_gbs, rates_->latency_us})
      number = number * 1'000'003 + std::hash<double>{}(each);
  if (!all_agree(comm, (companion != nullptr) == rates_.has_value(), number) ||
      (companion != nullptr && !learn_nodes(comm, *companion))) {
    MpiCompanions<Companion>::forget(comm, 0, companion, nullptr);
    companion = nullptr;
  }
  return companions_.keep(comm, companion);
}

std::optional<int> MpiAlltoallv::call(const void* send, const int send_counts[], const int send_places[],
                                      MPI_Datatype send_type, void* recv, const int recv_counts[],
                                      const int recv_places[], MPI_Datatype recv_type, MPI_Comm comm,
                                      std::string& done) {
  const auto passed = [&](const char* why) {
    done = why;
    return std::nullopt;
  };
  if (const char* const why = why_not_ours(comm)) return passed(why);
  const int ranks = comm_size(comm);
  if (ranks > kMostPlannedRanks) return passed("it has more ranks than are planned for in milliseconds");
  Companion* const companion = companion_of(comm);
  if (companion == nullptr)
    return passed(rates_ ? "its ranks have other rates of nodes, or too little memory"
                  : fault_.empty()
                      ? "no rank knows the counts of all, and no rates to plan by are given (CHORALE_NODES)"
                      : fault_.c_str());
  Companion& ours = *companion;
  const bool in_place = send == MPI_IN_PLACE;
  list_bytes(in_place ? recv_counts : send_counts, in_place ? recv_type : send_type, ours.row);
  if (PMPI_Allgather(ours.row.data(), ranks, MPI_INT64_T, ours.counts.bytes.data(), ranks, MPI_INT64_T,
                     ours.comm) != MPI_SUCCESS)
    return passed("its counts cannot be gathered");
  const auto [least, most] = std::ranges::minmax(ours.counts.bytes);
  if (least < 0) return passed("its counts are wrong");
  if (most > kMostPacked) return passed("a block has more than 2 GiB");
  // Blocks that lie one after the other are used where they are, all others by way of `packed`.
  const Rank me = ours.rank();
  const Blocks<std::byte> to(static_cast<std::byte*>(recv), recv_counts, recv_places, recv_type);
  const Blocks<const std::byte> from(static_cast<const std::byte*>(in_place ? recv : send),
                                     in_place ? recv_counts : send_counts,
                                     in_place ? recv_places : send_places, in_place ? recv_type : send_type);
  // In place, what is received overwrites what is still to be sent: the blocks to send are packed first.
  const bool sends_here = from.dense && !in_place;
  const auto as_agreed = [&](Rank n) { return to.bytes(n) == ours.counts.at(n, me); };
  const auto here = [&](Rank n) { return to.dense && as_agreed(n); };
  std::int64_t packed_bytes = 0;
  for (Rank n = 0; n < ranks; ++n)
    packed_bytes += (sends_here ? 0 : ours.counts.at(me, n)) + (here(n) ? 0 : ours.counts.at(n, me));
  if (ours.counts != ours.planned) {
    bool good = true;
    try {
      ours.make_plan(packed_bytes);
    } catch (const std::exception&) {
      good = false;
    }
    if (!all_agree(ours.comm, good, 0)) {
      ours.planned = {};
      return passed("a rank has not enough memory for it");
    }
  }
  if (!ours.spreads) return passed("direct sends are predicted to be the fastest");
  done = "planned by its counts";
  if (std::ssize(ours.packed) < packed_bytes) ours.packed.resize(static_cast<std::size_t>(packed_bytes));
  std::byte* room = ours.packed.data();
  // `room` goes through `packed` once: blocks to send, then those to receive.
  int result = MPI_SUCCESS;
  for (Rank n = 0; n < ranks; ++n) {
    const std::int64_t bytes = ours.counts.at(me, n);
    if (sends_here) {
      ours.sends[n] = from.at(n);
    } else {
      ours.sends[n] = room;
      if (bytes > 0) result = both(result, pack(from.at(n), from.counts[n], from.type, room, bytes, comm));
      room += bytes;
    }
  }
  for (Rank n = 0; n < ranks; ++n) {
    ours.receives[n] = here(n) ? to.at(n) : room;
    if (!here(n)) room += ours.counts.at(n, me);
  }
  if (const std::int64_t own = ours.counts.at(me, me); own > 0)
    std::memmove(ours.receives[me], ours.sends[me], static_cast<std::size_t>(own));
  ours.mine->execute(ours.sends, ours.receives, ours.scratch.data(), *ours.transport);
  bool wrong = false;
  for (Rank n = 0; n < ranks; ++n) {
    wrong = wrong || !as_agreed(n);
    if (!to.dense && as_agreed(n) && ours.counts.at(n, me) > 0)
      result = both(result,
                    unpack(ours.receives[n], ours.counts.at(n, me), to.at(n), to.counts[n], to.type, comm));
  }
  if (wrong) {  // another rank sends more or less than this one receives
    PMPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE);
    result = both(result, MPI_ERR_TRUNCATE);
  }
  return result;
}

}  // namespace chorale
