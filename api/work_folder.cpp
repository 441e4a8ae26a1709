// A temporary directory that goes with its object, and commands in it. A command has a process group of its
// own, so that a stop kills what it started as well (mpirun's ranks, make's compilers); signals that this
// process blocks are unblocked in it.
#include "api/work_folder.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "ir/error.h"
#include "ir/files.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLongestPoll{20};

// A shell with the command, in a process group of its own; -1: there is none.
pid_t started(const std::string& command) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string shell = "sh", option = "-c", text = command;
  char* const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
  pid_t process = -1;
  if (posix_spawn(&process, "/bin/sh", nullptr, &attributes, arguments, environ) != 0) process = -1;
  posix_spawnattr_destroy(&attributes);
  return process;
}

// Programs are compiled and run there, so nobody but root may be able to put others in their place: in the
// folder, or in one above it. The owner of / is root, also where a container has another number for it.
std::string why_others_may_change(const std::string& folder) {
  struct stat root = {}, is = {};
  std::error_code error;
  stat("/", &root);
  for (fs::path at = fs::canonical(folder, error); !error; at = at.parent_path()) {
    if (stat(at.c_str(), &is) != 0) return "";  // mkdtemp has the reason
    if (is.st_uid != geteuid() && is.st_uid != 0 && is.st_uid != root.st_uid)
      return at.string() + " belongs to another user";
    if ((is.st_mode & S_IWOTH) != 0 && (is.st_mode & S_ISVTX) == 0)
      return "others may change what is in " + at.string();
    if (at == at.root_path()) break;
  }
  return "";
}

}  // namespace

WorkFolder::WorkFolder(const std::string& what, const std::string& where) {
  // A TMPDIR that is no folder gives "".
  std::error_code error;
  const std::string folder = where.empty() ? fs::temp_directory_path(error).string() : where;
  const std::string why = why_others_may_change(folder);
  if (!why.empty()) throw InputError(what, why, "set TMPDIR to a directory of your own");
  path_ = folder + "/chorale_XXXXXX";
  if (folder.empty() || mkdtemp(path_.data()) == nullptr)
    throw InputError(
        what,
        folder.empty() ? "there is no folder for temporary files" : "no folder can be made in " + folder,
        "set TMPDIR to one that can be written to");
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

// Polled with growing pauses: most commands take seconds, some a few milliseconds.
bool WorkFolder::run(const std::string& command, const std::atomic<bool>* stop) const {
  const pid_t process =
      started(fmt::format("cd {} && {{ {}; }} >out 2>err </dev/null", quoted_for_shell(path_), command));
  if (process < 0) return false;
  bool ended = false;
  int status = 0;
  for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, kLongestPoll)) {
    const pid_t done = waitpid(process, &status, WNOHANG);
    if (done == process) break;
    if (done < 0 && errno != EINTR) return false;
    // The process group, once; the loop goes on until the shell is reaped.
    if (!ended && stop != nullptr && *stop) ended = kill(-process, SIGKILL) == 0;
    std::this_thread::sleep_for(pause);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string WorkFolder::text(const std::string& name) const {
  std::error_code error;
  return fs::exists(path_ + "/" + name, error) ? read_file(path_ + "/" + name) : "";
}

// The first line with "error", else the last one: compilers and mpirun print much around the reason.
std::string WorkFolder::complaint() const {
  std::istringstream lines(text("err") + text("out"));
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    reason = line;
    if (line.find("error") != std::string::npos) break;
  }
  // The text goes to a terminal, which must not obey any of it.
  for (char& c : reason)
    if (c < ' ' || c > '~') c = ' ';
  return reason.substr(0, 200);
}

// In single quotes nothing has a meaning but they themselves: one ends the quoted text, is written by itself,
// and begins another.
std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool has_program(const std::string& name) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0;
}

}  // namespace chorale
