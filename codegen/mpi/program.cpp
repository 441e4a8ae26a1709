// A program over MPI as codegen/mpi_source.cpp prints it, but for its tables: these are an example's, so that
// this compiles and runs as it is (tests/scripts/mpi.cmake).
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "codegen/mpi/tables.h"

using chorale::Failure;
using chorale::Form;
using chorale::Pieces;

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// The collective for blocks of n elements, from input to output, with this rank's tensors of the function
// that is applied to sums, if one is. Make it once, run it often.
// Requests are persistent: MPI sets up a message once, and a run only starts it, as soon as what it waits for
// has ended (runtime/exchange/message_plan.h). Floats that travel as something else are kept so in buffers
// beside input and output.
template <typename T>
class Algorithm {
 public:
  Algorithm(const chorale::StepTables& tables, MPI_Comm comm, int rank, long n, const float* input,
            float* output, const void* const* tensors)
      : n_(n),
        input_(input),
        output_(output),
        inputs_(Pieces{n, tables.pieces}.slot_begin(tables.slots[rank][0])),
        outputs_(Pieces{n, tables.pieces}.slot_begin(tables.slots[rank][1])),
        pieces_{chorale::units_of<T>(n), tables.pieces},
        tensors_{tensors, pieces_.slot_begin(tables.slices[rank])},
        kept_{Memory(kPacks ? pieces_.slot_begin(tables.slots[rank][0]) : 0),
              Memory(kPacks ? pieces_.slot_begin(tables.slots[rank][1]) : 0),
              Memory(tables.slots[rank][2] * pieces_.longest())},
        plan_(chorale::MessagePlanner(
                  tables, rank, pieces_, sizeof(T), [this](const chorale::Span& span) { return at(span); },
                  nullptr)
                  .plan()),
        driver_(plan_),
        requests_(plan_.size(), MPI_REQUEST_NULL) {
    using Kind = chorale::MessageTask::Kind;
    MPI_Datatype unit = MPI_DATATYPE_NULL;
    require(MPI_Type_contiguous(sizeof(T), MPI_BYTE, &unit), "MPI_Type_contiguous");
    require(MPI_Type_commit(&unit), "MPI_Type_commit");
    for (std::size_t t = 0; t < plan_.size(); ++t) {
      const chorale::MessageTask& task = plan_[t];
      if (task.kind == Kind::Sum) continue;
      T* const data = at(task.span());
      const int count = static_cast<int>(task.span().count), tag = task.row % chorale::kTags;
      const auto send_init = task.arrives ? MPI_Ssend_init : MPI_Send_init;
      require(task.kind == Kind::Receive
                  ? MPI_Recv_init(data, count, unit, task.peer, tag, comm, &requests_[t])
                  : send_init(data, count, unit, task.peer, tag, comm, &requests_[t]),
              "MPI_Recv_init or MPI_Send_init");
    }
    MPI_Type_free(&unit);  // requests keep it
  }
  ~Algorithm() {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  void run() {
    if constexpr (kPacks) chorale::pack(input_, inputs_, n_, kept_[0].data());
    driver_.run([this](int task) { return start(task); }, [this] { return ended(); });
    if constexpr (kPacks) chorale::unpack_all(kept_[1].data(), outputs_, n_, output_);
  }

 private:
  static constexpr bool kPacks = !std::is_same_v<T, float>;
  using Memory = std::vector<T>;

  T* at(const chorale::Span& span) {
    if constexpr (!kPacks)
      if (span.buffer < 2) return (span.buffer == 0 ? const_cast<float*>(input_) : output_) + span.begin;
    return kept_[span.buffer].data() + span.begin;
  }
  bool start(int task) {
    if (requests_[task] == MPI_REQUEST_NULL) {
      make(plan_[task]);
      return true;
    }
    require(MPI_Start(&requests_[task]), "MPI_Start");
    running_.push_back(requests_[task]);
    tasks_.push_back(task);
    return false;
  }
  std::vector<int> ended() {
    std::vector<int> over(running_.size()), tasks;
    int count = 0;
    require(MPI_Waitsome(static_cast<int>(running_.size()), running_.data(), &count, over.data(),
                         MPI_STATUSES_IGNORE),
            "MPI_Waitsome");
    over.resize(count);
    std::sort(over.begin(), over.end(), std::greater<int>());
    for (const int k : over) {
      tasks.push_back(tasks_[k]);
      running_[k] = running_.back(), running_.pop_back();
      tasks_[k] = tasks_.back(), tasks_.pop_back();
    }
    return tasks;
  }
  // The result of the operands, added up one after the other.
  void make(const chorale::MessageTask& sum) {
    if constexpr (kPacks) {
      std::vector<const T*> from;
      for (const chorale::Span& each : sum.from) from.push_back(at(each));
      chorale::sum_once<chorale::Combination::Sum>(from.data(), from.size(), at(sum.to), sum.to.count);
    } else if (sum.index < 0)
      make(sum, [](float value, long) { return value; });
    else
      make(sum, [&](float value, long e) { return applied(value, sum.index + e, tensors_); });
  }
  template <typename Function>
  void make(const chorale::MessageTask& sum, Function function) {
    float* const to = at(sum.to);
    const float* so_far = at(sum.from[0]);
    for (std::size_t k = 1; k + 1 < sum.from.size(); ++k, so_far = to) {
      const float* const from = at(sum.from[k]);
      for (long e = 0; e < sum.to.count; ++e) to[e] = so_far[e] + from[e];
    }
    const float* const last = sum.from.size() > 1 ? at(sum.from.back()) : nullptr;
    for (long e = 0; e < sum.to.count; ++e)
      to[e] = function(last == nullptr ? so_far[e] : so_far[e] + last[e], e);
  }

  const long n_;
  const float* const input_;
  float* const output_;
  const std::int64_t inputs_, outputs_;  // numbers
  const Pieces pieces_;                  // of units
  const Tensors tensors_;
  Memory kept_[3];  // input and output only of what is packed; scratch
  const chorale::MessagePlan plan_;
  chorale::MessageDriver driver_;
  std::vector<MPI_Request> requests_;  // by task; of sums none
  std::vector<MPI_Request> running_ = {};
  std::vector<int> tasks_ = {};  // that these are of
};

// What has failed, alike in all ranks: the first one reads it, if there is a file for that.
// Between runs only: an algorithm is not changed while it runs.
class Watch {
 public:
  Watch() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    follows_ = rank == 0 && file_.given();
    MPI_Bcast(&follows_, 1, MPI_INT, 0, MPI_COMM_WORLD);
    is_first_ = rank == 0;
  }
  // Null: there is nothing for that.
  const Failure* failure() {
    if (follows_ != 0) {
      if (is_first_) name = file_.name();
      MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    return chorale::failure_named(kFailures, name.data());
  }

  chorale::FailureName name = {};

 private:
  chorale::FailureFile file_{chorale::variable("CHORALE_FAILED"), chorale::variable("CHORALE_FAILED_SIGNAL")};
  int follows_ = 0;
  bool is_first_ = false;
};

// The ranks that are left do the collective on data that they check, and time it until something else has
// failed or nothing is left of the iterations. Returns whether all was right. A rank that has failed takes no
// part.
bool measure(const Failure& failure, long n, int& iterations, Watch& watch) {
  int world_rank = 0, rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank == failure.lost ? MPI_UNDEFINED : 0, world_rank, &comm);
  const bool is_left = comm != MPI_COMM_NULL;
  if (is_left) MPI_Comm_rank(comm, &rank);
  const Form& form =
      chorale::form_of(static_cast<double>(chorale::units_of<Travels>(n)) * sizeof(Travels), failure.forms);
  const chorale::RenumberedSteps steps(form.tables, failure.ranks);
  const chorale::StepTables& tables = steps.tables();
  const auto* const slots = tables.slots;
  const Pieces pieces{n, tables.pieces};
  std::vector<float> input(pieces.slot_begin(slots[rank][0])), output(pieces.slot_begin(slots[rank][1]));
  const auto put = [&](const chorale::SelfCheck& check, unsigned seed) {
    check.fill(rank, slots[rank][0], pieces, seed, input.data());
    std::fill(output.begin(), output.end(), -1e30f);
  };
  long whole = 0;
  for (int each = 0; each < tables.ranks; ++each)
    whole = std::max<long>(whole, pieces.slot_begin(slots[each][0]));
  std::vector<std::vector<char>> tensors;
  std::vector<const void*> addresses;
  for (int k = 0; k < kOperands; ++k)
    tensors.push_back(
        test_tensor(k, whole, pieces.slot_begin(tables.slices[rank]), pieces.slot_begin(slots[rank][1])));
  for (const std::vector<char>& tensor : tensors) addresses.push_back(tensor.data());
  const chorale::SelfCheck check = form.check();
  double best = 1e30;
  int done = 0;
  std::vector<std::uint64_t> hashes(check.promised().size());
  long wrong = 0;
  {
    std::unique_ptr<Algorithm<Travels>> algorithm;
    if (is_left)
      algorithm = std::make_unique<Algorithm<Travels>>(tables, comm, rank, n, input.data(), output.data(),
                                                       addresses.data());
    put(check, chorale::kRounding);
    if (is_left) algorithm->run();
    if (is_left) hashes = check.hashes(rank, pieces, output);
    put(check, 1);
    // The slowest rank's time counts, and of several runs the least: what else the machine does only adds to
    // it.
    do {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      if (is_left) algorithm->run();
      double took = MPI_Wtime() - start;
      MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      best = std::min(best, took);
      ++done;
    } while (--iterations > 0 && watch.failure() == &failure);
  }
  MPI_Allreduce(MPI_IN_PLACE, hashes.data(), static_cast<int>(hashes.size()), MPI_UINT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  const long differ = check.disagreements(hashes);
  if (is_left)
    wrong = check.wrong(
        rank, pieces, 1, output, [](float a, float b) { return a + b; },
        [](float have, float sum, long index) {
          return have == expected(chorale::travelled<Travels>(sum), index);
        });
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0)
    std::printf(
        "%s%s%s%s: %ld elements per block, best of %d: %.1f us%s, %ld wrong, %ld slots with ranks that "
        "differ%s\n",
        failure.name[0] == 0 ? "" : "after the failure of ", failure.name, failure.name[0] == 0 ? "" : ": ",
        form.name, n, done, 1e6 * best, form.serialized ? " with ports serialized" : "", wrong, differ,
        kAgreed ? "" : ", as they may");
  std::fflush(stdout);
  if (is_left) MPI_Comm_free(&comm);
  return wrong == 0 && (differ == 0 || !kAgreed);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != kRanks) {
    if (rank == 0) std::fprintf(stderr, "needs %d ranks: mpirun -n %d\n", kRanks, kRanks);
    MPI_Finalize();
    return 2;
  }
  const long n = chorale::integer_argument(argc, argv, 1, 65536);
  int iterations = static_cast<int>(std::min(chorale::integer_argument(argc, argv, 2, 10), 1l << 30));
  if (n < 0 || iterations < 1) {
    if (rank == 0)
      std::fprintf(stderr, "usage: %s [elements of a block, 0 or more] [iterations, 1 or more]\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  Watch watch;
  bool right = true;
  while (iterations > 0) {
    const Failure* const failure = watch.failure();
    if (failure == nullptr) {
      if (rank == 0)
        std::fprintf(stderr, "%s\n", chorale::not_ready_for(kFailures, watch.name.data()).c_str());
      MPI_Finalize();
      return 2;
    }
    right = measure(*failure, n, iterations, watch) && right;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
