// Files are read whole and once. What ranks compare is a hash of what was loaded, in the order of reading: of
// result files their texts, of libraries their answers, failures with the ranks there, hosts and times. So it
// does not depend on where a rank finds them; a file that is left out in one rank alone makes it differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "ir/agreement.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/fnv.h"
#include "ir/group_collective.h"
#include "ir/json.h"
#include "ir/links_alone.h"
#include "ir/or_error.h"
#include "ir/shown.h"
#include "ir/words.h"
#include "library/algorithms.h"
#include "library/question.h"

namespace chorale {
namespace {

// A program waits while its ranks read: 1.25 s for 15 MB of points on one core.
constexpr std::uintmax_t kMostBytesOfAFile = std::uintmax_t{16} << 20, kMostBytes = std::uintmax_t{32} << 20;

// Of a plain file: another, such as a pipe, might never end.
std::uintmax_t readable_bytes(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return 0;  // read_file reports the error
  if (!std::filesystem::is_regular_file(file, error))
    throw InputError(file, "is not a plain file", "name a result file, or a directory of them");
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : bytes;
}

// A file of SQLite, by its first bytes.
bool is_library(const std::string& file) {
  constexpr std::string_view kBegins = "SQLite format 3";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::string begins(kBegins.size(), ' ');
  std::ifstream(file, std::ios::binary).read(begins.data(), static_cast<std::streamsize>(begins.size()));
  return begins == kBegins;
}

// "link 0-1", of an entry for "ring:4 without link 0-1"; "" of one for a whole machine.
std::string failure_of(const std::string& machine) {
  constexpr std::string_view kWithout = " without ";
  const std::size_t at = machine.find(kWithout);
  return at == std::string::npos ? "" : machine.substr(at + kWithout.size());
}

}  // namespace

Algorithms::Algorithms(const std::string& path, std::string over, const std::string& order)
    : over_(std::move(over)), fixed_order_(order == "fixed") {
  if (fixed_order_)
    fingerprint_ = fnv_of("order: fixed\n", fingerprint_);  // ranks with another one would choose otherwise
  if (!order.empty() && order != "fixed" && order != "agreed") {
    complaints_.push_back("CHORALE_ORDER: '" + shown(order.substr(0, 60)) +
                          "' is not an order of sums: no algorithms are loaded; use fixed or agreed");
    return;
  }
  try {
    // read() keeps what is wrong with a file; what comes out of read_all() is a lack of memory while paths
    // are listed, and then nothing is loaded.
    read_all(path);
  } catch (const std::exception&) {
    loaded_.clear();
    size_ = 0;
    complaints_.assign(1, "there is not enough memory to search for algorithms");
  }
}

// "results:mine.db:extra.json". Of a directory only files that end in .json are read: a library has to be
// named itself.
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
    if (error) {
      complaints_.push_back(InputError(part, "cannot be read: " + error.message(), "check the path").what());
      continue;
    }
    std::sort(files.begin(), files.end());  // all ranks see them in one order
    for (const std::string& file : files) read(file);
  }
}

// A file that is wrong, or too large for the memory left, is a complaint, and the next one is read.
void Algorithms::read(const std::string& file) {
  try {
    if (const auto error = error_of([&] { read_file_or_library(file); }))
      complaints_.push_back(error->what());
  } catch (const std::exception&) {
    complaints_.push_back(shown(file) + ": is not loaded: there is not enough memory");
  }
}

void Algorithms::read_file_or_library(const std::string& file) {
  if (is_library(file)) return read_library(file);
  const std::uintmax_t bytes = readable_bytes(file);
  const auto left_out = [&](const std::string& why) {
    complaints_.push_back(shown(file) + ": is not loaded: " + why);
  };
  if (bytes > kMostBytesOfAFile)
    return left_out(format_bytes(static_cast<double>(bytes)) + "; files of at most " +
                    format_bytes(kMostBytesOfAFile) + " are");
  if (bytes_ + bytes > kMostBytes)
    return left_out("files of " + format_bytes(static_cast<double>(bytes_)) + " are; at most " +
                    format_bytes(kMostBytes) + " in all");
  const std::string text = read_file(file);
  auto loaded = std::make_unique<Loaded>();
  loaded->result = result_from_json(text, file);
  loaded->name = shown(file);
  std::vector<std::unique_ptr<Loaded>> one;
  one.push_back(std::move(loaded));
  keep(std::move(one));
  bytes_ += bytes;
  fingerprint_ = fnv_of(text, fingerprint_);
}

// An answer becomes one Loaded, whatever number of entries it has: each adds the hosts for which it is known,
// and the failures after which it holds. The fingerprint is set at the end, when all answers are kept.
void Algorithms::read_library(const std::string& file) {
  std::vector<std::unique_ptr<Loaded>> all;
  std::uint64_t fingerprint = fingerprint_;
  std::uintmax_t bytes = 0;
  open_answers(file, false)->each([&](const StoredAnswer& stored) {
    bytes += stored.answer.size();
    if (bytes_ + bytes > kMostBytes)
      throw InputError(file, "is not loaded: it has more than " + format_bytes(kMostBytes) + " of answers",
                       "export what the program needs");
    auto loaded = std::make_unique<Loaded>();
    loaded->result = stored_result(stored, file);
    const AnswerPlace place = stored.places.empty() ? AnswerPlace{} : stored.places.front();
    loaded->name = shown(fmt::format("{}, {} of {}, {}", file, place.collective, place.machine, place.group));
    fingerprint = fnv_of(stored.answer, fingerprint);
    // An answer without an entry is stored for a machine that was changed by options
    // (cli/frontier_command.cpp): it is taken as a machine of its own, with nothing failed.
    loaded->of_whole = stored.places.empty();
    for (const AnswerPlace& each : stored.places) {
      const std::string failure = failure_of(each.machine);
      fingerprint = fnv_of(failure, fingerprint);
      loaded->of_whole = loaded->of_whole || failure.empty();
      if (!failure.empty() && each.group == "all") {
        std::vector<Rank> ranks = ranks_at(stored, each, loaded->result.topology, file);
        fingerprint = fnv_of(fmt::format("{}\n", fmt::join(ranks, " ")), fingerprint);
        loaded->failures[failure] = {.ranks = std::move(ranks), .hosts = each.hosts};
      }
      fingerprint = fnv_of(fmt::format("{}\n", fmt::join(each.hosts, " ")), fingerprint);
      if (each.hosts.empty()) continue;
      if (std::ssize(each.hosts) != loaded->result.topology.ranks)
        throw InputError(file, "an answer has an entry with other ranks than it has", "build another");
      if (std::ranges::find(loaded->hosts, each.hosts) == loaded->hosts.end())
        loaded->hosts.push_back(each.hosts);
    }
    for (const MeasuredTime& each : stored.measured)
      if (each.over == over_) {
        fingerprint = fnv_of(fmt::format("{} {} {}\n", each.point, each.bytes, each.median_us), fingerprint);
        loaded->measured.push_back(each);
      }
    all.push_back(std::move(loaded));
  });
  keep(std::move(all));
  fingerprint_ = fingerprint;
  bytes_ += bytes;
}

// Why sums are not in the requested order; "": they are. For each number of ranks the first fixed tree
// decides, in the order of reading, and later results have to have it: the choice of a point by size may not
// change the bits.
std::string Algorithms::other_order(const Collective& collective) {
  const SumOrder& order = collective.order;
  if (!adds(collective)) return "";
  if (order.kind == SumOrder::Kind::Free) return "its ranks may end with different bits";
  constexpr int kMostSources = 192;  // of a launch (LocalWork, runtime/device/local_work.h)
  if (over_ == "nccl" && adds_once(collective) && collective.ranks > kMostSources)
    return "its sums are rounded once, of more values than a GPU adds at once";
  if (!fixed_order_) return "";
  if (order.kind != SumOrder::Kind::Fixed) return "its sums have no fixed order";
  const auto [at, first] = trees_.try_emplace(collective.ranks, order);
  return at->second == order ? "" : "its sums have another order than those before it";
}

// All or nothing, except for results that add up in another order: reserve() is the last that may throw.
// Points of all results have numbers in one sequence, in the order of reading; ranks compare the number of
// the point that they chose. Claims are dropped, since a program runs schedules only.
void Algorithms::keep(std::vector<std::unique_ptr<Loaded>> more) {
  std::erase_if(more, [&](const std::unique_ptr<Loaded>& each) {
    const std::string why = other_order(each->result.collective);
    if (!why.empty()) complaints_.push_back(each->name + ": is not used: " + why);
    return !why.empty();
  });
  int number = size_;
  for (const std::unique_ptr<Loaded>& each : more) {
    each->result.claims = {};
    each->result = by_links_alone(std::move(each->result));  // calls are performed value by value
    each->counts = counts_of(each->result.collective);
    each->number = number;
    each->why_not.resize(each->result.points.size());
    number += static_cast<int>(each->result.points.size());
  }
  loaded_.reserve(loaded_.size() + more.size());
  for (std::unique_ptr<Loaded>& each : more) loaded_.push_back(std::move(each));
  size_ = number;
}

// The fingerprint stays: the caller has compared the other's. Addresses of algorithms stay, too, since
// callers hold them.
void Algorithms::add(Algorithms other) {
  loaded_.reserve(loaded_.size() + other.loaded_.size());
  for (std::unique_ptr<Loaded>& each : other.loaded_) {
    each->number += size_;
    for (auto& [key, algorithm] : each->lowered) algorithm->number += size_;
    loaded_.push_back(std::move(each));
  }
  size_ += other.size_;
  chosen_.clear();
}

}  // namespace chorale
