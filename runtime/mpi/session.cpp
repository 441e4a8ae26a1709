// What MPI_Init begins and MPI_Finalize ends; messages are those of runtime/exchange/mpi.h.
#define OMPI_SKIP_MPICXX 1

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>

#include "ir/error.h"
#include "runtime/exchange/mpi.h"
#include "runtime/mpi_session.h"

namespace chorale {

// The algorithms that an MPI library has for its collectives, and the control variables (MPI_T, chapter 15 of
// MPI 4.0) that force one: Open MPI's coll_tuned_*_algorithm, MPICH's MPIR_CVAR_*_INTRA_ALGORITHM.
// The two known libraries describe their algorithms each in its own way: Open MPI by an enumeration, MPICH by
// text.
namespace {

// The tools interface, begun once: to end and begin it again takes Open MPI a second. MPI_Finalize does not
// need its end.
void need_tools() {
  [[maybe_unused]] static const int begun = [] {
    int provided = 0;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  }();
}

// Collectives whose algorithm both libraries let a user choose, with the names of their variables.
struct SettingNames {
  CollectiveKind kind = CollectiveKind::Custom;
  const char* ompi = "";
  const char* mpich = "";
};
constexpr std::array<SettingNames, 8> kSettings = {{
    {CollectiveKind::AllReduce, "coll_tuned_allreduce_algorithm", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"},
    {CollectiveKind::Allgather, "coll_tuned_allgather_algorithm", "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM"},
    {CollectiveKind::Alltoall, "coll_tuned_alltoall_algorithm", "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM"},
    {CollectiveKind::Broadcast, "coll_tuned_bcast_algorithm", "MPIR_CVAR_BCAST_INTRA_ALGORITHM"},
    {CollectiveKind::Gather, "coll_tuned_gather_algorithm", "MPIR_CVAR_GATHER_INTRA_ALGORITHM"},
    {CollectiveKind::Reduce, "coll_tuned_reduce_algorithm", "MPIR_CVAR_REDUCE_INTRA_ALGORITHM"},
    {CollectiveKind::ReduceScatter, "coll_tuned_reduce_scatter_block_algorithm",
     "MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM"},
    {CollectiveKind::Scatter, "coll_tuned_scatter_algorithm", "MPIR_CVAR_SCATTER_INTRA_ALGORITHM"},
}};

// Values of Open MPI are an enumeration of the tools interface; MPICH has the description alone.
struct Setting {
  int variable = -1;
  bool is_ompi = false;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  std::string description = {};
};

// Variable -1: the library has neither.
Setting find_setting(CollectiveKind kind) {
  need_tools();
  const auto* const names = std::ranges::find(kSettings, kind, &SettingNames::kind);
  int variables = 0;
  if (names == kSettings.end() || MPI_T_cvar_get_num(&variables) != MPI_SUCCESS) return {};
  for (int v = 0; v < variables; ++v) {
    std::array<char, 256> name = {};
    std::array<char, 4096> text = {};
    int name_size = name.size(), text_size = text.size(), verbosity = 0, binding = 0, scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(v, name.data(), &name_size, &verbosity, &type, &values, text.data(), &text_size,
                            &binding, &scope) != MPI_SUCCESS)
      continue;
    const std::string_view found = name.data();
    if (found == names->ompi || found == names->mpich)
      return {.variable = v, .is_ompi = found == names->ompi, .values = values, .description = text.data()};
  }
  return {};
}

// Open MPI has more than a thousand variables: each is searched for once. Kinds that the library does not
// have are kept, too.
const Setting& setting_of(CollectiveKind kind) {
  static std::map<CollectiveKind, Setting> known;
  const auto [at, is_new] = known.try_emplace(kind);
  if (is_new) at->second = find_setting(kind);
  return at->second;
}

// Open MPI's variables have an enumeration; its 0 is "ignore".
std::vector<OwnAlgorithms::Algorithm> enumerated(MPI_T_enum values) {
  std::vector<OwnAlgorithms::Algorithm> all;
  int items = 0;
  std::array<char, 256> text = {};
  int size = text.size();
  if (values == MPI_T_ENUM_NULL || MPI_T_enum_get_info(values, &items, text.data(), &size) != MPI_SUCCESS)
    return all;
  for (int i = 0; i < items; ++i) {
    int number = 0;
    size = text.size();
    if (MPI_T_enum_get_item(values, i, &number, text.data(), &size) != MPI_SUCCESS || number == 0) continue;
    all.push_back({.number = number, .name = text.data()});
  }
  return all;
}

// MPICH 4.0's have none: its descriptions list the names before dashes, in the order of the numbers, and
// without the ends of lines: "... algorithm" "auto - internal (... FILE)" "nb - Force nonblocking algorithm"
// "smp - ...", as one text. The first is "auto".
std::vector<OwnAlgorithms::Algorithm> described(const std::string& description) {
  std::vector<OwnAlgorithms::Algorithm> all;
  std::istringstream words(description);
  std::string before;
  int number = -1;
  for (std::string word; words >> word; before = word) {
    if (word != "-") continue;
    std::string name = before;
    for (const std::string_view end : {"algorithm", ")"})
      if (const std::size_t at = name.rfind(end); at != std::string::npos) name.erase(0, at + end.size());
    if (++number > 0) all.push_back({.number = number, .name = name});
  }
  return all;
}

// Of a variable, for one read or write. These variables are bound to no object of MPI.
class Handle {
 public:
  explicit Handle(int variable) {
    is_open_ = MPI_T_cvar_handle_alloc(variable, nullptr, &handle_, &count_) == MPI_SUCCESS;
  }
  ~Handle() {
    if (is_open_) MPI_T_cvar_handle_free(&handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool read(int& value) const {
    return is_open_ && count_ == 1 && MPI_T_cvar_read(handle_, &value) == MPI_SUCCESS;
  }
  bool write(int value) const {
    return is_open_ && count_ == 1 && MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS;
  }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  int count_ = 0;
  bool is_open_ = false;
};

}  // namespace

// Between MPI_Init and MPI_Finalize.
OwnAlgorithms listed_algorithms(CollectiveKind);

// The variable has the algorithm's number as long as this exists. Throws InputError where it cannot be set.
class ForcedAlgorithm {
 public:
  ForcedAlgorithm(CollectiveKind, int number);
  ~ForcedAlgorithm();
  ForcedAlgorithm(const ForcedAlgorithm&) = delete;
  ForcedAlgorithm& operator=(const ForcedAlgorithm&) = delete;

 private:
  int variable_ = -1;
  int before_ = 0;
};

OwnAlgorithms listed_algorithms(CollectiveKind kind) {
  const Setting& setting = setting_of(kind);
  if (setting.variable < 0) return {};
  return {.library = setting.is_ompi ? "ompi" : "mpich",
          .algorithms = setting.is_ompi ? enumerated(setting.values) : described(setting.description)};
}

// The value that was there is kept, and put back with the end of this object.
ForcedAlgorithm::ForcedAlgorithm(CollectiveKind kind, int number) {
  variable_ = setting_of(kind).variable;
  const Handle handle(variable_);
  if (!handle.read(before_) || !handle.write(number))
    throw InputError("mpi", fmt::format("its setting of the {} algorithm cannot be changed", name_of(kind)),
                     "leave --own all out");
}

// A destructor cannot report a failure.
ForcedAlgorithm::~ForcedAlgorithm() {
  Handle(variable_).write(before_);
}

// Only here is runtime/exchange/mpi.h compiled for the runtime: all other sources see a Transport.
std::unique_ptr<Transport> mpi_transport(MPI_Comm comm, std::chrono::milliseconds patience, bool* hung) {
  return std::make_unique<MpiTransport>(comm, patience, hung);
}

namespace {

// A session is a communicator: all processes, a part of them, or a copy that was made while an algorithm was
// forced. They share the flag by which a hang is known.
class Session final : public MpiSession {
 public:
  Session() { MPI_Init(nullptr, nullptr); }
  Session(MPI_Comm comm, bool* hung) : comm_(comm), hung_(hung) {}
  Session(MPI_Comm comm, bool* hung, std::unique_ptr<ForcedAlgorithm> forced)
      : forced_(std::move(forced)), comm_(comm), hung_(hung) {}
  // After a hang nothing is ended: both calls are collective, and other ranks may never come to them.
  ~Session() override {
    if (*hung_) return;
    if (comm_ == MPI_COMM_WORLD)
      MPI_Finalize();
    else
      MPI_Comm_free(&comm_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Rank rank() const override {
    Rank rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }

  int ranks() const override {
    int ranks = 0;
    MPI_Comm_size(comm_, &ranks);
    return ranks;
  }

  std::unique_ptr<Transport> transport(std::chrono::milliseconds timeout) override {
    return mpi_transport(comm_, timeout, hung_);
  }

  // Collective over this session; ranks of the part are in the order of the ranks here.
  std::unique_ptr<MpiSession> part(int number) override {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, number, rank(), &comm);
    return std::make_unique<Session>(comm, hung_);
  }

  int communicator() const override { return MPI_Comm_c2f(comm_); }

  OwnAlgorithms own_algorithms(CollectiveKind kind) override { return listed_algorithms(kind); }

  // Open MPI reads the setting as a communicator is made, MPICH at each call: it holds as long as the
  // session.
  std::unique_ptr<MpiSession> forced(CollectiveKind kind, int number) override {
    auto forced = std::make_unique<ForcedAlgorithm>(kind, number);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_, 0, rank(), &comm);
    // An algorithm may refuse a call, which need not end the program.
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return std::make_unique<Session>(comm, hung_, std::move(forced));
  }

 private:
  std::unique_ptr<ForcedAlgorithm> forced_ = {};
  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool is_hung_ = false;
  bool* hung_ = &is_hung_;  // of the whole session
};

}  // namespace

// Without dynamic rules Open MPI ignores its settings of algorithms. What a user has set stays.
std::unique_ptr<MpiSession> start_mpi(bool can_force) {
  if (can_force) setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
  return std::make_unique<Session>();
}

}  // namespace chorale
