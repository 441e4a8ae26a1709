// An execution plan of MSCCL++ as it is in the file, with names resolved: what read_plan.cpp and
// write_plan.cpp translate from and to peer programs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/program.h"

namespace chorale::mscclpp {

// Of the executor.
inline constexpr int kMostChannels = 16, kMostChannelsAnOperation = 8, kMostLocalPlaces = 2;
inline constexpr int kMostBarriers = 16, kMostSemaphores = 16;  // semaphores of an operation

enum class Where { Nowhere, Local, Remote, Switch };

struct Role {
  Where where = Where::Nowhere;
  bool packet = false;
  bool operator==(const Role&) const = default;
};
// The operands of an operation that moves data: some first operands, and any number of others.
struct Shape {
  const char* name;
  bool pairs;  // the i-th source goes to the i-th destination; else all are added up, and go to all
  std::vector<Role> from;
  Role more_from;
  std::vector<Role> to;
  Role more_to;
};

// The shape that combines operands of the roles `from` and stores to `to`, without packets; null if there is
// none.
const Shape* shape_for(const std::vector<Role>& from, const std::vector<Role>& to);

struct PlanPlace {
  Role role = {};
  Buffer buffer = Buffer::Input;
  std::vector<Rank> ranks = {};  // several: of a switch channel
  int index = 0;                 // in chunks of the file
};

struct Operation {
  std::string name = {};
  std::string where = {};          // in the file
  const Shape* shape = nullptr;    // of those that move data
  std::vector<int> channels = {};  // of the rank
  bool port = false;               // they are port channels, and a proxy does what is put
  std::vector<PlanPlace> from = {}, to = {};
  int size = 0;  // of all operands, in chunks of the file
  int part = 0, parts = 1;
  int barrier = -1, blocks = 0;
  std::vector<int> semaphores = {};
  long long unit_bytes = 0;  // of a pipeline
  int chunks = 0;
  std::vector<Operation> inner = {};
};

struct Group {
  Buffer buffer = Buffer::Input;
  std::vector<Rank> ranks = {};
  bool operator==(const Group&) const = default;
};

struct Threadblock {
  std::vector<int> channels = {}, ports = {}, switches = {}, remotes = {};  // ids of the rank's
  std::vector<int> port_remotes = {};  // of its remotes, those that port channels reach
  std::vector<Operation> operations = {};
};

struct Gpu {
  int input = 0, output = 0, scratch = 0;
  std::vector<Rank> peers = {};  // by channel
  std::vector<Rank> ports = {};  // by port channel
  std::vector<Group> groups = {};
  std::vector<std::pair<Rank, Buffer>> remotes = {};
  std::vector<int> semaphores = {};  // initial values
  std::vector<Threadblock> blocks = {};
};

// The gpus of a plan. `notes` gets what its loader does not accept. Throws InputError for missing or unknown
// keys and values out of range, located by rank, thread block and operation.
std::vector<Gpu> gpus_of(const JsonReader& root, int most_operations, std::vector<std::string>& notes);

// The excess over the limits of executors: "a thread block with ...", and its location; none if it fits.
std::optional<Fault> excess(const std::vector<Gpu>&, int most_operations);

struct Plan {
  std::string name = {}, collective = {};
  bool in_place = false;
  std::optional<Rank> root = {};           // of a collective that has one
  long long min_bytes = 0, max_bytes = 0;  // 0: no limit
  std::vector<Gpu> gpus = {};
};

// JSON text of a plan that has no barriers, semaphores, groups of thread blocks or pipelines.
//
// The loader divides by the numbers of chunks of both buffers, on every rank. So a rank that has no input or
// output is given as many chunks as the rank that has most, and "root", which the loader does not read, says
// whose buffers are meant. Every rank thus calls with the same sizes.
std::string to_json(const Plan&);

// f(operation, the pipeline that it is in, or null).
template <typename F>
void for_all_operations(const std::vector<Gpu>& gpus, const F& f) {
  for (const Gpu& gpu : gpus)
    for (const Threadblock& block : gpu.blocks)
      for (const Operation& op : block.operations) {
        f(op, static_cast<const Operation*>(nullptr));
        for (const Operation& inner : op.inner) f(inner, &op);
      }
}

template <typename F>
void for_all_places(const Operation& op, const F& f) {
  for (const PlanPlace& place : op.from) f(place);
  for (const PlanPlace& place : op.to) f(place);
}

}  // namespace chorale::mscclpp
