#include "preload/algorithms.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "codegen/passes/lower.h"
#include "cost/cost.h"
#include "ir/error.h"
#include "ir/json.h"

namespace chorale {
namespace {

bool rooted(const std::string& collective) {
  return collective == "broadcast" || collective == "reduce" || collective == "gather" ||
         collective == "scatter";
}

}  // namespace

Algorithms::Algorithms(const std::string& path) {
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, ':');) {
    if (part.empty()) continue;
    std::error_code error;
    if (!std::filesystem::is_directory(part, error)) {
      read(part);
      continue;
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(part, error))
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());  // all ranks see them in one order
    for (const std::string& file : files) read(file);
  }
}

void Algorithms::read(const std::string& file) {
  try {
    const std::string text = read_file(file);
    for (const char c : text)  // FNV-1a
      fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    const Result result = result_from_json(text, file);
    for (std::size_t i = 0; i < result.points.size(); ++i)
      if (result.points[i].on_frontier)
        all_.push_back(std::make_unique<Algorithm>(Algorithm{.name = fmt::format("{}, point {}", file, i),
                                                             .point = result.points[i],
                                                             .topology = result.topology}));
  } catch (const InputError& error) {
    complaints_.push_back(error.what());
  }
}

void Algorithms::add(Algorithms other) {
  for (std::unique_ptr<Algorithm>& algorithm : other.all_) all_.push_back(std::move(algorithm));
}

const Algorithm* Algorithms::choose(const std::string& collective, int ranks, int root, double block_bytes,
                                    std::string& why) {
  if (all_.empty()) {
    why = "no algorithms were given";
    return nullptr;
  }
  why = fmt::format("no {} for {} ranks{}", collective, ranks,
                    rooted(collective) ? fmt::format(" with root {}", root) : "");
  while (true) {
    Algorithm* best = nullptr;
    double least = 0;
    for (const auto& algorithm : all_) {
      const Collective& does = algorithm->point.collective;
      if (does.name != collective || does.ranks != ranks || does.custom || !algorithm->why.empty()) continue;
      if (rooted(collective) && does.root != root) continue;
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
      why = best->name + ": " + best->why;
    }
  }
}

}  // namespace chorale
