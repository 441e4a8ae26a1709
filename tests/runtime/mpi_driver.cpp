// Started by mpirun, see tests/scripts/mpi.cmake: runs programs with one MPI process a rank, and exits with 0
// if what is asked for happened.
//
//   right     programs of all collectives give the right data, in all types and uneven sizes
//   halves    the same with halves that are added in float32
//   many      a program for one rank more is refused, in words that say what to do
//   hang      a message that is never sent ends in a Hang, whose words are printed; mpirun then ends the job
//   arrives   a rank that sends and receives nothing goes on when its message has arrived, not before
//   absent    a rank that does not come to a barrier is named
#include <fmt/format.h>

#include <cstring>
#include <random>
#include <thread>

#include "construct/baselines/classic.h"
#include "ir/error.h"
#include "runtime/rank_plan.h"
#include "runtime/run.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/runtime/losing_transport.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

std::int64_t wrong_elements(MpiSession& session, const std::string& what, const Collective& collective,
                            const Schedule& schedule, const Topology& t) {
  const RunOptions options{.bytes = {0, 4, 8, 4 * 101, 4 * 50'021},  // the last beyond eager messages
                           .types = {ElementType::Float32, ElementType::Int64},
                           .ops = {ReduceOp::Sum, ReduceOp::Max},
                           .iterations = 2,
                           .warm_up = 1};
  std::int64_t wrong = 0;
  const Program program = lower(t, collective, schedule);
  for (const Program& each : {program, in_place(t, collective, program)})
    for (const RunRow& row : run_on_mpi(session, unverified(each, collective), options)) wrong += row.wrong;
  if (wrong > 0 && session.rank() == 0) fmt::print("{}: {} elements are wrong\n", what, wrong);
  return wrong;
}

bool right(MpiSession& session) {
  const int n = session.ranks();
  std::int64_t wrong = 0;
  const Topology full = test::full(n);
  for (const char* name :
       {"ring_allgather", "ring_reducescatter", "ring_allreduce", "one_shot_allreduce", "tree_allreduce",
        "direct_alltoall", "binomial_broadcast", "binomial_gather", "binomial_scatter", "binomial_reduce"}) {
    const Point point = classic_algorithm(name, full, {.chunks = 2, .root = n - 1});
    wrong += wrong_elements(session, name, point.collective, point.schedule, full);
  }
  std::mt19937 random(n);
  const Topology ring = test::ring(n);
  const Collective alltoall = make_collective("alltoall", n, 2);
  wrong +=
      wrong_elements(session, "random alltoall", alltoall, test::random_copies(ring, alltoall, random), ring);
  wrong += wrong_elements(session, "random allreduce", make_collective("allreduce", n, n),
                          test::random_allreduce(ring, 1, random), ring);
  return wrong == 0;
}

// Halves that are added in float32, with data that show whether they are.
bool halves(MpiSession& session) {
  const int n = session.ranks();
  const Topology full = test::full(n);
  std::int64_t wrong = 0;
  for (const char* name : {"ring_allreduce", "direct_reducescatter", "binomial_reduce"}) {
    const Point point = classic_algorithm(name, full, {.chunks = 2});
    for (const RunRow& row :
         run_on_mpi(session, unverified(lower(full, point.collective, point.schedule), point.collective),
                    {.bytes = {2, 2 * 1001},
                    .types = {ElementType::Float16, ElementType::Bfloat16},
                    .ops = {ReduceOp::Sum, ReduceOp::Avg},
                    .iterations = 1,
                    .accumulation = Accumulation::Float32}))
      wrong += row.wrong;
  }
  return wrong == 0;
}

bool many(MpiSession& session) {
  const int n = session.ranks() + 1;
  const Collective c = make_collective("allgather", n, 1);
  try {
    run_on_mpi(session, lower(accepted(test::ring(n), c, test::ring_allgather(n, 1))), {});
  } catch (const InputError& error) {
    return std::strstr(
        error.what(),
        fmt::format("needs {} ranks, mpirun started {}; use mpirun -n {}", n, n - 1, n).c_str());
  }
  return false;
}

// Rank 0 sends nothing in the last step, so rank 1 waits for it in vain and all others come to their end.
bool hang(MpiSession& session) {
  const int n = session.ranks();
  const Collective c = make_collective("allgather", n, 1);
  const Program p = lower(test::ring(n), c, test::ring_allgather(n, 1));
  RankPlan plan(unverified(p), step_rows(p), session.rank(), {.elements = 10});
  session.transport(std::chrono::minutes(1))->barrier();  // starting may take its time
  try {
    const std::unique_ptr<Transport> transport = session.transport(std::chrono::seconds(2));
    LosingTransport losing(*transport, n - 2, LosingTransport::End::Send);
    plan.execute(ReduceOp::Sum, session.rank() == 0 ? losing : *transport);
  } catch (const Hang& hang) {
    fmt::print("{}\n", hang.what());
  }
  return true;
}

// Rank 1 comes late: rank 0 leaves after that, although messages of this size are taken from it at once over
// TCP. Clocks of the processes of a machine are one.
bool arrives(MpiSession& session) {
  const std::unique_ptr<Transport> transport = session.transport(std::chrono::minutes(1));
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  std::vector<std::byte> data(1 << 15);
  std::vector<Delivery> none,
      one = {
          {.peer = 1 - session.rank(), .data = data.data(), .bytes = static_cast<std::int64_t>(data.size())}};
  transport->barrier();
  if (session.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double came = now();
  if (session.rank() == 0)
    transport->exchange(one, none);
  else
    transport->exchange(none, one);
  const double left = now();
  const double late = transport->most(session.rank() == 1 ? came : 0);
  return session.rank() == 1 || left >= late;
}

// The last rank stays away from a barrier; rank 0, which speaks, reports it.
bool absent(MpiSession& session) {
  session.transport(std::chrono::minutes(1))->barrier();  // starting may take its time
  // The others are more patient: mpirun ends all of them when one of them ends, which may be before rank 0
  // has spoken.
  const auto patience = std::chrono::seconds(session.rank() == 0 ? 2 : 60);
  const std::unique_ptr<Transport> transport = session.transport(patience);
  if (session.rank() == session.ranks() - 1) {
    std::this_thread::sleep_for(std::chrono::seconds(4));
    return true;
  }
  try {
    transport->barrier();
  } catch (const Hang& hang) {
    if (session.rank() == 0) fmt::print("{}\n", hang.what());
  }
  return true;
}

}  // namespace
}  // namespace chorale

int main(int argc, char** argv) {
  using namespace chorale;
  const std::string what = argc == 2 ? argv[1] : "";
  const std::unique_ptr<MpiSession> started = start_mpi();
  MpiSession& session = *started;
  const bool good = what == "right"     ? right(session)
                    : what == "halves"  ? halves(session)
                    : what == "many"    ? many(session)
                    : what == "absent"  ? absent(session)
                    : what == "arrives" ? arrives(session)
                                        : what == "hang" && hang(session);
  if (session.rank() == 0) fmt::print("{}: {}\n", what, good ? "good" : "bad");
  return good ? 0 : 1;
}
