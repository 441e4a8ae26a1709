// An execution plan of MSCCL++ as it is in the file, with names resolved: what read_plan.cpp translates.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/json_reader.h"
#include "ir/program.h"

namespace chorale::mscclpp {

enum class Where { Nowhere, Local, Remote, Switch };

struct Role {
  Where where = Where::Nowhere;
  bool packet = false;
};
// What an operation that moves data reads and writes: some first places, and any number of others.
struct Shape {
  const char* name;
  bool pairs;  // the i-th source goes to the i-th destination; else all are added up, and go to all
  std::vector<Role> from;
  Role more_from;
  std::vector<Role> to;
  Role more_to;
};

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
  std::vector<PlanPlace> from = {}, to = {};
  int size = 0;  // of all places, in chunks of the file
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
};

struct Threadblock {
  std::vector<int> channels = {}, switches = {}, remotes = {};  // ids of the rank's
  std::vector<Operation> operations = {};
};

struct Gpu {
  int input = 0, output = 0, scratch = 0;
  std::vector<Rank> peers = {};  // by channel
  std::vector<Group> groups = {};
  std::vector<std::pair<Rank, Buffer>> remotes = {};
  std::vector<int> semaphores = {};  // initial values
  std::vector<Threadblock> blocks = {};
};

// The gpus of a plan. `notes` gets what its loader stumbles over. Throws InputError for what is missing, unknown
// or out of range, with rank, thread block and operation as places in the file.
std::vector<Gpu> gpus_of(const JsonReader& root, int most_operations, std::vector<std::string>& notes);

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
