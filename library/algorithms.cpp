#include "library/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "codegen/passes/lower.h"
#include "cost/cost.h"
#include "cost/format.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/shown.h"

namespace chorale {
namespace {

// A program waits while its ranks read: 1.25 s for 15 MB of points on one core.
constexpr std::uintmax_t kMostBytesOfAFile = std::uintmax_t{16} << 20, kMostBytes = std::uintmax_t{32} << 20;

bool does(const LoadedAlgorithm& algorithm, CollectiveKind collective, int ranks, int root) {
  const Collective& that = algorithm.point.collective;
  return that.kind == collective && that.ranks == ranks && (!is_rooted(collective) || that.root == root);
}

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
    all_.clear();
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
    const Result result = result_from_json(text, file);
    std::vector<std::unique_ptr<LoadedAlgorithm>> found;
    for (std::size_t i = 0; i < result.points.size(); ++i)
      if (result.points[i].on_frontier)
        found.push_back(std::make_unique<LoadedAlgorithm>(
            LoadedAlgorithm{.number = static_cast<int>(all_.size() + found.size()),
                            .name = fmt::format("{}, point {}", shown(file), i),
                            .point = result.points[i],
                            .topology = result.topology}));
    all_.reserve(all_.size() + found.size());  // from here on nothing fails: it is loaded whole or not at all
    for (std::unique_ptr<LoadedAlgorithm>& algorithm : found) all_.push_back(std::move(algorithm));
    bytes_ += bytes;
    for (const char c : text)  // FNV-1a
      fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  } catch (const InputError& error) {
    complaints_.push_back(error.what());
  } catch (const std::exception&) {
    complaints_.push_back(shown(file) + ": is not loaded: there is not enough memory");
  }
}

void Algorithms::add(Algorithms other) {
  all_.reserve(all_.size() + other.all_.size());
  for (std::unique_ptr<LoadedAlgorithm>& algorithm : other.all_) {
    algorithm->number = static_cast<int>(all_.size());
    all_.push_back(std::move(algorithm));
  }
}

bool Algorithms::has(CollectiveKind collective, int ranks, int root, std::string& why) const {
  if (std::any_of(all_.begin(), all_.end(), [&](const std::unique_ptr<LoadedAlgorithm>& each) {
        return does(*each, collective, ranks, root);
      }))
    return true;
  why = all_.empty() ? "no algorithms were given"
                     : fmt::format("no {} for {} ranks{}", name_of(collective), ranks,
                                   is_rooted(collective) ? fmt::format(" with root {}", root) : "");
  return false;
}

const LoadedAlgorithm* Algorithms::choose(CollectiveKind collective, int ranks, int root, double block_bytes,
                                          std::string& why) {
  if (!has(collective, ranks, root, why)) return nullptr;
  while (true) {
    LoadedAlgorithm* best = nullptr;
    double least = 0;
    for (const auto& algorithm : all_) {
      if (!does(*algorithm, collective, ranks, root)) continue;
      if (!algorithm->why.empty()) {
        why = algorithm->name + ": " + algorithm->why;
        continue;
      }
      const double time = time_us(algorithm->point.cost, algorithm->topology, block_bytes);
      if (best == nullptr || time < least) best = algorithm.get(), least = time;
    }
    if (best == nullptr) return nullptr;
    if (best->program) return best;
    try {
      best->program =
          std::make_shared<Program>(lower(best->topology, best->point.collective, best->point.schedule));
      return best;
    } catch (const InputError& error) {
      best->why = error.what();
    }
  }
}

}  // namespace chorale
