// 'chorale bench COLLECTIVE mpi' calls MPI's collective and checks every element; with the preload library in
// front it calls Chorale's.
#include "cli/optimize_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "api/work_folder.h"
#include "ir/words.h"

namespace chorale {
namespace {

constexpr int kMostTried = 32;  // processes on this host

// Of this process, so that the trial runs the same build and not one that is installed.
std::filesystem::path program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

// Both streams of a command, and whether it ended with 0.
std::pair<std::string, bool> output_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"", false};
  std::string text;
  std::array<char, 4096> some{};
  for (std::size_t n; (n = std::fread(some.data(), 1, some.size(), pipe)) > 0;) text.append(some.data(), n);
  return {text, pclose(pipe) == 0};
}

// The number before "collectives by Chorale", which the preload library reports at its end (CHORALE_LOG=1).
std::optional<long long> calls_of(const std::string& text) {
  const std::size_t end = text.find(" collectives by Chorale");
  if (end == std::string::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  if (begin == end) return std::nullopt;
  return std::stoll(text.substr(begin, end - begin));
}

// What the preload library has a function of MPI for (preload/).
bool replaces(CollectiveKind kind) {
  using Kind = CollectiveKind;
  static constexpr std::array kReplaced = {Kind::AllReduce, Kind::Allgather, Kind::ReduceScatter,
                                           Kind::Alltoall,  Kind::Broadcast, Kind::Reduce};
  return std::ranges::find(kReplaced, kind) != kReplaced.end();
}

// Reasons not to try, in words for the report. None of them is an error: the files are written in any case.
std::string why_not(int ranks, const std::vector<Collective>& collectives) {
  if (preload_folder().empty()) return "libchorale-mpi-preload.so is not beside this program: build all";
  if (ranks > kMostTried) return fmt::format("{} processes are many for one host", ranks);
  if (!output_of("command -v mpirun").second) return "there is no mpirun here";
  for (const Collective& collective : collectives)
    if (!replaces(collective.kind)) return "the preload library leaves " + name_of(collective) + " to MPI";
  return "";
}

}  // namespace

// Beside the program in a build tree and in a package; Debian's folders have the name of the processor.
std::string preload_folder() {
  for (const char* const folder : {"../lib", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu"}) {
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(program().parent_path() / folder, error);
    if (!error && std::filesystem::exists(path / "libchorale-mpi-preload.so", error)) return path.string();
  }
  return "";
}

// One iteration of each of three sizes (1K, 8K, 64K), killed after a minute: it shows that the library is
// taken and that its results are right, and not how fast it is.
std::string tried(const std::string& script, int ranks, const std::vector<Collective>& collectives) {
  if (const std::string reason = why_not(ranks, collectives); !reason.empty()) return "not tried: " + reason;
  long long calls = 0;
  for (const Collective& collective : collectives) {
    const std::string root = is_rooted(collective.kind) ? fmt::format(" -r {}", collective.root) : "";
    const auto [text, good] = output_of(fmt::format(
        "CHORALE_LOG=1 MPIRUN='mpirun --oversubscribe' timeout -s KILL 60 sh {} {} bench {} mpi{} -b 1K -e "
        "64K -f 8 -n 1 -w 0",
        quoted_for_shell(script), quoted_for_shell(program().string()), name_of(collective), root));
    const std::optional<long long> found = good ? calls_of(text) : std::nullopt;
    if (!found)
      return fmt::format("not tried: {} did not run under mpirun here: sh {} shows why", name_of(collective),
                         script);
    if (*found == 0)
      return fmt::format("tried: {} was passed on to MPI (CHORALE_LOG=1)", name_of(collective));
    calls += *found;
  }
  return fmt::format("tried: {}, every element right, {} by Chorale's algorithms",
                     counted(ranks, "process", "processes"), counted(calls, "call"));
}

}  // namespace chorale
