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

#include "runtime/alltoallv.h"
#include "runtime/alltoallv/plan.h"
#include "runtime/mpi/transport.h"

namespace chorale {

// Everything here is PMPI_: calls of the program's functions would come back to the preload library.

// By size and not by extent: packed data have no gaps.
std::int64_t packed_bytes(MPI_Datatype type, std::int64_t count) {
  if (type == MPI_DATATYPE_NULL) return 0;  // MPI reports the error
  int size = 0;
  PMPI_Type_size(type, &size);
  return size * count;
}

int comm_size(MPI_Comm comm) {
  int ranks = 1;
  if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &ranks);
  return ranks;
}

int comm_rank(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

bool is_between_groups(MPI_Comm comm) {
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  return inter != 0;
}

const char* why_not_ours(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return "there is no communicator";
  if (is_between_groups(comm)) return "it is between two groups";
  return comm_size(comm) < 2 ? "there is one rank only" : nullptr;
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// Named types of pairs have gaps (MPI_DOUBLE_INT: 12 bytes every 16), so the size is compared with the
// extent. Of derived types that would not do: they may permute elements, and MPI_Type_create_resized sets any
// extent.
bool is_dense(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  int size = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_size(type, &size);
  MPI_Aint true_lower = 0, true_extent = 0;
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED && lower == 0 && extent == size && true_extent == size;
}

int pack(const void* from, int count, MPI_Datatype type, std::byte* to, std::int64_t bytes, MPI_Comm comm) {
  // Other ranks expect as many bytes as are received here: with other ones the call is wrong.
  if (packed_bytes(type, count) != bytes) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_TRUNCATE);
    return MPI_ERR_TRUNCATE;
  }
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Pack(from, count, type, to, static_cast<int>(bytes), &position, comm);
}

int unpack(const std::byte* from, std::int64_t bytes, void* to, int count, MPI_Datatype type, MPI_Comm comm) {
  if (is_dense(type)) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
  }
  int position = 0;
  return PMPI_Unpack(from, static_cast<int>(bytes), &position, to, count, type, comm);
}

int both(int first, int then) {
  return first != MPI_SUCCESS ? first : then;
}

// One reduction: the most of ~value is the complement of the least value, and values are equal if the most is
// the least. One rank that is not good brings the first number above 0.
bool all_agree(MPI_Comm comm, bool good, std::uint64_t value) {
  const std::uint64_t mine[3] = {good ? 0u : 1u, value, ~value};
  std::uint64_t most[3] = {};
  return PMPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, comm) == MPI_SUCCESS && most[0] == 0 &&
         most[1] == ~most[2];
}

// Memory is taken before the ranks meet in all_agree, so that none comes to the Allgather alone.
std::vector<RankLocation> located_ranks(MPI_Comm comm, const std::string& host, std::uint64_t place,
                                        bool good) {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  if (host.empty()) PMPI_Get_processor_name(name, &length);
  const Whereabouts mine{
      .host = number_of_host(host.empty() ? std::string_view(name, length) : std::string_view(host)),
      .place = place};
  std::vector<Whereabouts> all;
  std::vector<RankLocation> locations;
  try {
    all.resize(comm_size(comm));
    locations.resize(all.size());
  } catch (const std::bad_alloc&) {
    good = false;
  }
  if (!all_agree(comm, good, 0) ||
      PMPI_Allgather(&mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, comm) != MPI_SUCCESS)
    return {};
  locate_ranks(all, locations);
  return locations;
}

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
