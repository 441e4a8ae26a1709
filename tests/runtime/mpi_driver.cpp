// Started by mpirun, see tests/scripts/mpi.cmake: runs programs with one MPI process a rank, and exits with 0
// if what is asked for happened.
//
//   right     programs of all collectives give the right data, in all types and uneven sizes
//   halves    the same with halves that are added in float32
//   wire      float32 that travels as short types gives the bits of a slow judge, over MPI and threads
//   many      a program for one rank more is refused, in words that say what to do
//   hang      a message that is never sent ends in a Hang, whose words are printed; mpirun then ends the job
//   arrives   a rank that sends and receives nothing goes on when its message has arrived, not before
//   absent    a rank that does not come to a barrier is named
#include <fmt/format.h>

#include <cmath>
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

// What travels, by its definition: digits after the first, the least exponent, the largest number, whether
// larger ones become it, and whether 32 share a scale.
struct Travels {
  Wire wire = Wire::Float16;
  int digits = 0, least = 0;
  double most = 0;
  bool saturates = false, scaled = false;
};

float rounded(float value, const Travels& as) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), as.least) - as.digits),
               nearest = std::nearbyint(value / unit) * unit;
  if (std::abs(nearest) <= as.most) return static_cast<float>(nearest);
  return std::copysign(as.saturates ? static_cast<float>(as.most) : HUGE_VALF, value);
}

// Of groups the least scale at which all are at most the largest.
std::vector<float> rounded(std::vector<float> block, const Travels& as) {
  for (std::size_t begin = 0; begin < block.size(); begin += 32) {
    const auto group = std::span(block).subspan(begin, std::min<std::size_t>(32, block.size() - begin));
    int scale = as.scaled ? -127 : 0;
    const auto is_too_large = [&](float value) { return std::ldexp(std::abs(value), -scale) > as.most; };
    while (as.scaled && std::ranges::any_of(group, is_too_large)) ++scale;
    for (float& value : group) value = std::ldexp(rounded(std::ldexp(value, -scale), as), scale);
  }
  return block;
}

// A block of all ranks, in their order.
std::vector<float> judged(const std::vector<std::vector<float>>& inputs, std::int64_t begin,
                          std::int64_t elements, ReduceOp op, const Travels& as) {
  std::vector<float> sum;
  for (const std::vector<float>& input : inputs) {
    const std::vector<float> block = rounded({input.begin() + begin, input.begin() + begin + elements}, as);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = op == ReduceOp::Max ? std::max(sum[i], block[i]) : sum[i] + block[i];
    if (sum.empty()) sum = block;
  }
  sum = rounded(sum, as);
  for (float& value : sum)
    if (op == ReduceOp::Avg) value /= static_cast<float>(inputs.size());
  return sum;
}

// Infinities of both signs have no sum.
bool same(float one, float other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

// Of this rank over MPI, and of all ranks as threads.
std::int64_t differ_on_wire(MpiSession& session, const Topology& t, const Point& point, const Travels& as,
                            std::int64_t elements, ReduceOp op) {
  const Verified<Program> program = lower(accepted(t, point.collective, point.schedule));
  const BlockShape shape{.elements = elements, .wire = as.wire};
  const std::int64_t blocks = input_chunks(point.collective, 0) / point.collective.chunks_per_block;
  const bool scatters = blocks > 1;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<std::byte>> bytes;
  std::mt19937 random(static_cast<unsigned>(elements));
  for (int n = 0; n < session.ranks(); ++n) {
    std::vector<float> input(blocks * elements);
    for (float& value : input)
      value = std::ldexp(static_cast<float>(random() % 20001) - 10000, static_cast<int>(random() % 24) - 20);
    const auto* const data = reinterpret_cast<const std::byte*>(input.data());
    bytes.emplace_back(data, data + input.size() * sizeof(float));
    inputs.push_back(std::move(input));
  }
  std::int64_t differ = 0;
  const auto count = [&](Rank n, std::span<const std::byte> output) {
    std::vector<float> have(elements);
    differ += output.size() != have.size() * sizeof(float);
    if (differ > 0 || have.empty()) return;
    std::memcpy(have.data(), output.data(), output.size());
    const std::vector<float> right = judged(inputs, scatters ? n * elements : 0, elements, op, as);
    for (std::int64_t i = 0; i < elements; ++i) differ += !same(have[i], right[i]);
  };
  RankPlan plan(program, step_rows(program), session.rank(), shape);
  std::ranges::copy(bytes[session.rank()], plan.input().begin());
  const std::unique_ptr<Transport> transport = session.transport(std::chrono::minutes(1));
  plan.execute(op, *transport);
  count(session.rank(), plan.output());
  if (session.rank() == 0) {
    const auto outputs = outputs_of(program, shape, op, bytes);
    for (Rank n = 0; n < session.ranks(); ++n) count(n, outputs[n]);
  }
  return static_cast<std::int64_t>(transport->sum(static_cast<double>(differ)));
}

// A ring, whose partial sums are rounded, differs.
bool wire(MpiSession& session) {
  const int n = session.ranks();
  const Topology full = test::full(n);
  bool good = true;
  for (const Travels& as :
       {Travels{Wire::Float16, 10, -14, 65504}, Travels{Wire::Bfloat16, 7, -126, 3.4e38},
        Travels{Wire::E4m3, 3, -6, 448, true}, Travels{Wire::E5m2, 2, -14, 57344, true},
        Travels{Wire::Int8, 6, 0, 127.0 / 64, true, true}, Travels{Wire::Mxfp8, 3, -6, 448, true, true}}) {
    for (const char* name : {"one_shot_allreduce", "direct_allreduce", "direct_reducescatter"})
      for (const std::int64_t elements : {0, 1, 7, 33, 1021})
        for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Max}) {
          Point point = classic_algorithm(name, full, {.chunks = 2});
          point.collective.order = parse_sum_order("once", n, name);
          const std::int64_t differ = differ_on_wire(session, full, point, as, elements, op);
          if (differ > 0 && session.rank() == 0)
            fmt::print("{}, {}, {} elements: {} differ\n", name, to_string(as.wire), elements, differ);
          good = good && differ == 0;
        }
    const Point ring = classic_algorithm("ring_allreduce", full, {.chunks = 2});
    good = good && (n == 2 || differ_on_wire(session, full, ring, as, 1021, ReduceOp::Sum) > 0);
  }
  return good;
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
                    : what == "wire"    ? wire(session)
                    : what == "many"    ? many(session)
                    : what == "absent"  ? absent(session)
                    : what == "arrives" ? arrives(session)
                                        : what == "hang" && hang(session);
  if (session.rank() == 0) fmt::print("{}: {}\n", what, good ? "good" : "bad");
  return good ? 0 : 1;
}
