#include "cli/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bounds/lower_bounds.h"
#include "cli/outcome.h"
#include "ir/error.h"
#include "ir/json.h"
#include "semantics/verify.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json");
}

// What a point states may be more than a collective can have.
Collective asked_with_chunks(const Result& result, int chunks, const std::string& where) {
  try {
    return with_chunks(result.collective, chunks);
  } catch (const InputError& error) {
    throw InputError(where + ".chunks", error.what());
  }
}

Collective reachable(const Topology& topology, Collective collective) {
  fewest_steps(topology, collective);  // throws where a chunk has no way to its destination
  return collective;
}

}  // namespace

Topology machine(const std::string& spec_or_file) {
  return flatten(load_topology(spec_or_file));
}

Collective communication(const std::string& name_or_file, const Topology& topology,
                         std::optional<Rank> root) {
  if (!is_path(name_or_file)) {
    Collective named = make_collective(name_or_file, topology.ranks, 1, root.value_or(0));
    require_rooted("--root", named.kind, root);
    return reachable(topology, std::move(named));
  }
  if (root)
    throw InputError("--root", "is for collectives that are named", "give the root in " + name_or_file);
  Collective collective = collective_from_json(read_file(name_or_file), name_or_file, topology.ranks);
  // What a search cuts a block into is its own matter, and part of its cost.
  if (collective.chunks_per_block != 1)
    throw InputError(name_or_file, fmt::format("cuts a block into {} chunks", collective.chunks_per_block),
                     is_custom(collective)
                         ? "list a block as one chunk; the command's options cut it into more"
                         : "leave 'chunks' out; the command's options cut it into more");
  return reachable(topology, std::move(collective));
}

void require_rooted(const std::string& option, CollectiveKind kind, std::optional<Rank> root) {
  if (root && !is_rooted(kind)) throw InputError(option, name_of(kind) + " has no root", "leave it out");
}

Result load_result(const std::string& file) {
  return result_from_json(read_file(file), file);
}

Result load_sound_result(const std::string& file) {
  Result result = load_result(file);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const Point& point = result.points[i];
    const std::string where = fmt::format("{}: points[{}]", file, i);
    std::vector<Fault> wrong = violations(result.topology, point.collective, point.schedule, 1);
    if (wrong.empty())
      wrong = differences(asked_with_chunks(result, point.cost.chunks, where), point.collective, 1);
    if (!wrong.empty()) throw InputError(where, wrong.front().words, "make the result again");
    if (point.cost.steps != static_cast<int>(point.schedule.steps.size()) ||
        point.cost.rounds != total_rounds(point.schedule))
      throw InputError(where, "its schedule has other steps or rounds than it states",
                       "make the result again");
  }
  return result;
}

std::vector<int> chosen_points(const std::string& file, const Result& result, std::optional<int> point,
                               bool all) {
  const int count = static_cast<int>(result.points.size());
  if (point && *point >= count)
    throw InputError("--point", fmt::format("{} has no point {}", file, *point),
                     count == 0 ? "it has none at all" : fmt::format("use 0 to {}", count - 1));
  if (point) return {*point};
  std::vector<int> chosen;
  for (int i = 0; i < count; ++i)
    if (all || result.points[i].on_frontier) chosen.push_back(i);
  return chosen;
}

void require_sums_of_halves(Accumulation accumulation, const std::vector<ElementType>& types,
                            const Collective& collective) {
  if (accumulation != Accumulation::Float32) return;
  if (!adds(collective))
    throw InputError("--accumulate", name_of(collective) + " adds nothing", "leave it out");
  if (std::none_of(types.begin(), types.end(), is_half_type))
    throw InputError("--accumulate", "none of the types is a half", "use it with --type half or bfloat16");
}

void require_writable_file(const std::string& option, const std::string& path) {
  if (path.empty() || path == kStandardOutput) return;
  const std::string why = why_not_writable(path);
  if (!why.empty()) throw InputError(option, path + ": " + why, "choose another file");
}

void make_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw InputError(option, "the directory " + path + " cannot be made: " + error.message(),
                     "choose another");
  require_writable_directory(option, path);
}

void require_writable_directory(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw InputError(option, "there is no directory " + path, "make it first, or choose another");
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw InputError(option, "the directory " + path + " cannot be written to", "choose another");
}

void require_makeable_directory(const std::string& option, const std::string& path) {
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error))
    throw InputError(option, there.string() + " is not a directory", "choose another");
  require_writable_directory(option, there.string());
}

}  // namespace chorale
