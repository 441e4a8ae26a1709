// Files are read whole and once; a schedule is lowered when it is first chosen, since most never are. What
// ranks compare is a hash of the contents of the files that were loaded, in the order of reading, so it does
// not depend on where a rank finds them; a file that is left out in one rank alone makes it differ.
//
// Two questions are kept apart. has() depends on the files alone, so ranks that loaded the same agree on it
// without asking each other. choose() may also fail, or take the next best, where lowering does: ranks that
// use it in a call compare its answer.
#include "library/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/shown.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr std::size_t kMostRemembered = 4096;

// A program waits while its ranks read: 1.25 s for 15 MB of points on one core.
constexpr std::uintmax_t kMostBytesOfAFile = std::uintmax_t{16} << 20, kMostBytes = std::uintmax_t{32} << 20;

// Of a plain file: another, such as a pipe, might never end.
std::uintmax_t readable_bytes(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return 0;  // read_file says what is wrong
  if (!std::filesystem::is_regular_file(file, error))
    throw InputError(file, "is no plain file", "name a result file, or a directory of them");
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

}  // namespace

Algorithms::Algorithms(const std::string& path) {
  try {
    read_all(path);
  } catch (const std::exception&) {
    results_.clear();
    points_.clear();
    size_ = 0;
    complaints_.assign(1, "there is not enough memory to look for algorithms");
  }
}

void Algorithms::read_all(const std::string& path) {
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, ':');) {
    if (part.empty()) continue;
    std::error_code error;
    if (!std::filesystem::is_directory(part, error)) {
      read(part);
      continue;
    }
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator at(part, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".json") files.push_back(at->path().string());
    std::sort(files.begin(), files.end());  // all ranks see them in one order
    for (const std::string& file : files) read(file);
  }
}

void Algorithms::read(const std::string& file) {
  try {
    const std::uintmax_t bytes = readable_bytes(file);
    if (bytes > kMostBytesOfAFile)
      throw InputError(file, "is not loaded: " + format_bytes(static_cast<double>(bytes)),
                       "files of at most " + format_bytes(kMostBytesOfAFile) + " are");
    if (bytes_ + bytes > kMostBytes)
      throw InputError(file, "is not loaded: files of " + format_bytes(static_cast<double>(bytes_)) + " are",
                       "at most " + format_bytes(kMostBytes) + " in all");
    const std::string text = read_file(file);
    Result result = result_from_json(text, file);
    result.claims = {};
    std::vector<std::unique_ptr<LoadedAlgorithm>> points;
    int number = size_;
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      points.push_back(std::make_unique<LoadedAlgorithm>(
          LoadedAlgorithm{.number = number, .name = fmt::format("{}, point {}", shown(file), i)}));
      number += result.points[i].on_frontier;
    }
    results_.reserve(results_.size() + 1);
    points_.reserve(points_.size() + 1);  // from here on nothing fails: it is loaded whole or not at all
    results_.push_back(std::move(result));
    points_.push_back(std::move(points));
    size_ = number;
    bytes_ += bytes;
    for (const char c : text)  // FNV-1a
      fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  } catch (const InputError& error) {
    complaints_.push_back(error.what());
  } catch (const std::exception&) {
    complaints_.push_back(shown(file) + ": is not loaded: there is not enough memory");
  }
}

// The fingerprint stays: who adds has compared the other's. Addresses of algorithms stay, too, since others
// hold them.
void Algorithms::add(Algorithms other) {
  results_.reserve(results_.size() + other.results_.size());
  points_.reserve(points_.size() + other.points_.size());
  for (std::size_t r = 0; r < other.results_.size(); ++r) {
    for (std::unique_ptr<LoadedAlgorithm>& point : other.points_[r]) point->number += size_;
    results_.push_back(std::move(other.results_[r]));
    points_.push_back(std::move(other.points_[r]));
  }
  size_ += other.size_;
  chosen_.clear();
}

// A program of others has the buffers of the collective that it names: a point that does something else in its place
// (gathers, and adds up) needs others.
bool Algorithms::fits(const CollectiveCall& call, const Choice& choice) const {
  const Collective& does = results_[choice.result].points[choice.point].collective;
  return does.kind == call.collective && !is_custom(does);
}

bool Algorithms::has(const CollectiveCall& call, std::string& why) const {
  for (int r = 0; r < static_cast<int>(results_.size()); ++r)
    for (int p = 0; is_for(results_[r], call) && p < static_cast<int>(results_[r].points.size()); ++p)
      if (results_[r].points[p].on_frontier && fits(call, {.result = r, .point = p})) return true;
  why = size_ == 0 ? "no algorithms were given"
                   : fmt::format("no {} for {} ranks{}", name_of(call.collective), call.ranks,
                                 is_rooted(call.collective) ? fmt::format(" with root {}", call.root) : "");
  return false;
}

const LoadedAlgorithm* Algorithms::choose(const CollectiveCall& call, const Lowering& lowered,
                                          std::string& why) {
  if (const auto known = chosen_.find(call); known != chosen_.end()) return known->second;
  if (!has(call, why)) return nullptr;
  const auto remembered = [&](const LoadedAlgorithm& algorithm) {
    if (chosen_.size() >= kMostRemembered) chosen_.clear();
    return chosen_[call] = &algorithm;
  };
  const auto usable = [&](const Choice& choice) {
    if (!fits(call, choice)) return false;
    const LoadedAlgorithm& algorithm = *points_[choice.result][choice.point];
    if (!algorithm.why.empty()) why = algorithm.name + ": " + algorithm.why;
    return algorithm.why.empty();
  };
  // Each turn returns, or leaves one more point that is not usable.
  while (const std::optional<Choice> best = select(results_, call, usable)) {
    LoadedAlgorithm& algorithm = *points_[best->result][best->point];
    if (algorithm.program) return remembered(algorithm);
    const Result& result = results_[best->result];
    const Point& point = result.points[best->point];
    try {
      algorithm.program =
          std::make_shared<Program>(lowered(result.topology, point.collective, point.schedule));
      return remembered(algorithm);
    } catch (const InputError& error) {
      algorithm.why = error.what();
    }
  }
  return nullptr;
}

}  // namespace chorale
