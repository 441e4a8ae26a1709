// A call goes through four questions: is it one of ours at all (reduction, copying, plan); have the ranks of
// its communicator loaded the same (companion_of); is there an algorithm for it (Algorithms::has); how is it
// done, which is decided at the first call of its kind (make_plan). Then its data are copied into the plan's
// buffers, it is run, and the result is copied out. If any answer is no, the call is passed on to MPI.
//
// Every answer must be the same in all ranks, or they wait for each other in different collectives. The first
// and the third follow from arguments that MPI requires to be equal in all ranks and from files that were
// compared. The second and the fourth depend on what a rank has, so ranks meet for them in an MPI_Allreduce,
// and what fails in one before that is carried there as `good`: between two points where ranks meet nothing
// may throw or return in one of them alone. So a new communicator costs a meeting and a new kind of call
// another; all other calls use tables and synchronize only in the algorithm. The calls themselves, and how
// their data go into a plan and out of it, are in mpi_calls.cpp.
#include "preload/mpi_collectives.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <new>

#include "codegen/passes/lower.h"
#include "runtime/mpi/transport.h"

#ifdef CHORALE_HWLOC
#include <hwloc.h>
#endif

namespace chorale {
namespace {

// hwloc's logical numbers go through the machine socket by socket; the system's (those of sched_getaffinity)
// may alternate between sockets. The process keeps its binding, so it is determined once; a machine that
// hwloc cannot read has core 0 for all, and ranks of a host stay in the order of their numbers.
#ifdef CHORALE_HWLOC
std::uint64_t asked_bound_core() {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return 0;
  std::uint64_t first = 0;
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  // Nothing but the cores' numbers is wanted: devices and caches take time to find.
  if (allowed != nullptr && hwloc_topology_set_all_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      hwloc_topology_load(machine) == 0 && hwloc_get_cpubind(machine, allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
      !hwloc_bitmap_iszero(allowed))
    if (const hwloc_obj_t core =
            hwloc_get_next_obj_inside_cpuset_by_type(machine, allowed, HWLOC_OBJ_PU, nullptr))
      first = core->logical_index;
  hwloc_bitmap_free(allowed);
  hwloc_topology_destroy(machine);
  return first;
}
#else
std::uint64_t asked_bound_core() {
  return 0;
}
#endif

// The first of the cores that this process may run on, as hwloc numbers them: those of a socket one after the
// other, independent of the system's numbers. 0 for a process that may run anywhere, and where hwloc was not
// built in.
std::uint64_t first_bound_core() {
  static const std::uint64_t core = asked_bound_core();
  return core;
}

constexpr std::size_t kMostPlans = 32;      // of a communicator: buffers of sizes that were used
constexpr std::size_t kMostPassed = 4'096;  // and sizes of which it is known that MPI does them
// A program may be late for reasons of its own; this only ends what would never end.
constexpr std::chrono::hours kPatience{24};

CollectiveCall wanted(const MpiCall& call, int ranks) {
  return {.collective = call.collective,
          .custom_name = call.counted,
          .ranks = ranks,
          .root = call.root,
          .block_bytes = static_cast<double>(call.elements) * static_cast<double>(size_of(call.type)),
          .counts = call.counts};
}

Verification<Program> lowered(const Verified<Schedule>& schedule, bool serialize_ports) {
  return try_lower(schedule, {.serialize_ports = serialize_ports});
}

// Messages to the user are left out where there is no memory for them: the program goes on.
template <typename Message>
void if_memory_suffices(Message message) {
  try {
    message();
  } catch (const std::exception&) {
  }
}

}  // namespace

// What is kept with a communicator.
struct MpiCollectives::Companion {
  // The call, as far as it is the same in all ranks. (A tuple would be exported, by its destructor.)
  struct Kind {
    CollectiveCall call = {};
    ElementType type = ElementType::Uint8;
    auto operator<=>(const Kind&) const = default;
  };
  // How it is done; without an algorithm by MPI, and why.
  struct Plan {
    const LoadedAlgorithm* algorithm = nullptr;
    std::unique_ptr<RankPlan> plan = {};
    std::string why_not = {};
  };

  MPI_Comm comm = MPI_COMM_NULL;  // a duplicate, for our messages only; made for the first plan
  std::unique_ptr<Transport> transport = {};
  std::map<Kind, Plan> plans = {};
  std::size_t buffered = 0;                  // of the plans
  std::vector<RankLocation> locations = {};  // by rank
  int additions = 0;                         // of algorithms, when the plans were made
  FailureName failure = {};                  // what had failed then

  void forget_plans() {
    plans.clear();
    buffered = 0;
  }
};

MpiCollectives::MpiCollectives(Algorithms algorithms, Observer observer, std::string host, NodeRates rates,
                               const std::string& failure_file, const std::string& failure_signal)
    : observer_(std::move(observer)),
      host_(std::move(host)),
      failure_file_(failure_file, failure_signal),
      alltoallv_(std::move(rates), host_),
      algorithms_(std::move(algorithms)) {}

void MpiCollectives::add(Algorithms more) {
  const std::lock_guard lock(mutex_);
  algorithms_.add(std::move(more));
  ++additions_;
}

void MpiCollectives::set_failure(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  failure_ = failure_name(failure.c_str());
  ++additions_;
}

// The first rank reads, so that all have what was there at one moment.
void MpiCollectives::learn_failure(MPI_Comm comm, Companion& companion) {
  FailureName now = {};
  const int rank = comm_rank(comm);
  if (rank == 0) now = failure_file_.name();
  PMPI_Bcast(now.data(), static_cast<int>(now.size()), MPI_CHAR, 0, comm);
  if (now == companion.failure) return;
  companion.failure = now;
  companion.forget_plans();
  if (rank != 0) return;
  if_memory_suffices([&] {
    const std::string words = [&] {
      const std::lock_guard lock(mutex_);
      return algorithms_.not_ready_for(now.data());
    }();
    if (!words.empty()) observer_.complaint(words + ": MPI does the collectives");
  });
}

// Null: its ranks loaded different algorithms, or one had no memory, and MPI does what they do together. Null
// is kept like any other companion: ranks that differed once are not compared again. A communicator made from
// this one has none.
MpiCollectives::Companion* MpiCollectives::companion_of(MPI_Comm comm) {
  int additions = 0;
  std::uint64_t fingerprint = 0;
  FailureName failure = {};
  {
    const std::lock_guard lock(mutex_);
    additions = additions_;
    failure = failure_;
    // Ranks with and without a file would wait for each other.
    fingerprint = algorithms_.fingerprint() + (failure_file_.given() ? 1 : 0);
  }
  const std::optional<Companion*> kept = companions_.kept(comm);
  Companion* companion = kept ? *kept : new (std::nothrow) Companion;
  if (!kept) {
    if (!all_agree(comm, companion != nullptr, fingerprint)) {
      delete companion;
      companion = nullptr;
      complain_of_difference(comm, fingerprint);
    } else if (companion->locations = located_ranks(comm, host_, first_bound_core());
               companion->locations.empty()) {
      delete companion;
      companion = nullptr;
      complain_of_memory(comm);
    }
    companions_.keep(comm, companion);
  }
  if (companion != nullptr && companion->additions != additions) {
    companion->forget_plans();  // there may be a better one now, in all ranks
    companion->additions = additions;
    companion->failure = failure;
  }
  return companion;
}

// Printed by the first rank, which names another; and by that one, if it has more to report.
void MpiCollectives::complain_of_difference(MPI_Comm comm, std::uint64_t fingerprint) const {
  const int rank = comm_rank(comm), ranks = comm_size(comm);
  std::uint64_t of_first = fingerprint;
  PMPI_Bcast(&of_first, 1, MPI_UINT64_T, 0, comm);
  const int mine = of_first == fingerprint ? ranks : rank;
  int other = ranks;
  PMPI_Allreduce(&mine, &other, 1, MPI_INT, MPI_MIN, comm);
  if (other == ranks) return complain_of_memory(comm);
  if_memory_suffices([&] {
    if (rank == 0)
      observer_.complaint(
          fmt::format("ranks 0 and {} of {} have loaded different algorithms: MPI does their "
                      "collectives; give all ranks the same files",
                      other, ranks));
    if (rank == other && !algorithms_.complaints().empty())
      observer_.complaint(fmt::format("rank {}: {}", rank, algorithms_.complaints().front()));
  });
}

void MpiCollectives::complain_of_memory(MPI_Comm comm) const {
  if (comm_rank(comm) != 0) return;
  if_memory_suffices([&] {
    observer_.complaint("a rank has not enough memory for our algorithms: MPI does its collectives");
  });
}

void MpiCollectives::report(MPI_Comm comm, const MpiCall& call, const std::string& algorithm,
                            const std::string& why_not) const {
  if_memory_suffices([&] { observer_.call(comm, call, algorithm, why_not); });
}

MpiCollectives::Ready MpiCollectives::pass(MPI_Comm comm, const MpiCall& call, const std::string& why) const {
  report(comm, call, "", why);
  return {};
}

// The first call of a kind: all ranks make a plan for it, or none. What needs memory stands inside of the
// try; the two calls in which ranks meet, MPI_Comm_dup and all_agree, stand outside, so that every rank comes
// to them. The number of the algorithm is compared, too: a rank that could not lower the best one would have
// chosen the next.
bool MpiCollectives::make_plan(MPI_Comm comm, const MpiCall& call, Companion& companion) {
  if (companion.comm == MPI_COMM_NULL) PMPI_Comm_dup(comm, &companion.comm);
  // Which is dropped must not depend on the rank, so all are.
  if (companion.buffered >= kMostPlans || companion.plans.size() >= kMostPassed) companion.forget_plans();
  const Companion::Kind kind{wanted(call, comm_size(comm)), call.type};
  Companion::Plan plan;
  bool good = companion.comm != MPI_COMM_NULL;
  std::uint64_t number = 0;
  try {
    if (good && !companion.transport) companion.transport = mpi_transport(companion.comm, kPatience);
    {
      const std::lock_guard lock(mutex_);
      plan.algorithm =
          algorithms_.choose(kind.call, companion.locations, lowered, plan.why_not, companion.failure.data());
    }
    if (good && plan.algorithm != nullptr)
      plan.plan = std::make_unique<RankPlan>(plan.algorithm->program, plan.algorithm->steps,
                                             companion.transport->rank(),
                                             BlockShape{.type = call.type, .elements = call.elements});
    if (plan.algorithm != nullptr) number = plan.algorithm->number + 1;
    if (plan.plan) ++companion.buffered;
    companion.plans.emplace(kind, std::move(plan));
  } catch (const std::exception&) {
    good = false;  // no memory
  }
  if (all_agree(comm, good, number)) return true;
  companion.plans.erase(kind);  // in all ranks; the next call of this kind tries again
  return false;
}

MpiCollectives::Ready MpiCollectives::plan(MPI_Comm comm, const MpiCall& call) {
  if (const char* const why = why_not_ours(comm)) return pass(comm, call, why);
  if (call.elements < 0) return pass(comm, call, "its counts are wrong");
  if (call.elements == 0) return pass(comm, call, "there is nothing to move");
  Companion* const companion = companion_of(comm);
  if (companion == nullptr) return pass(comm, call, "its ranks have loaded different algorithms");
  if (failure_file_.given()) learn_failure(comm, *companion);
  const Companion::Kind kind{wanted(call, comm_size(comm)), call.type};
  std::string why;
  bool exists = false;
  {
    const std::lock_guard lock(mutex_);
    exists = algorithms_.has(kind.call, why);
  }
  if (!exists) return pass(comm, call, why);
  auto at = companion->plans.find(kind);
  if (at == companion->plans.end()) {
    if (!make_plan(comm, call, *companion)) {
      complain_of_memory(comm);
      return pass(comm, call, "a rank has not enough memory for it");
    }
    at = companion->plans.find(kind);
  }
  const Companion::Plan& plan = at->second;
  if (plan.algorithm == nullptr) return pass(comm, call, plan.why_not);
  report(comm, call, plan.algorithm->name, "");
  return {.plan = plan.plan.get(), .transport = companion->transport.get(), .op = call.op};
}

}  // namespace chorale
