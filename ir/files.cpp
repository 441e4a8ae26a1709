// Writing: find the real target, draft beside it, rename. stat() is called before links are followed by hand,
// so that the kernel checks them (loops; links of others in sticky directories).
#include "ir/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "ir/error.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSymlinks = 40;  // as Linux has it

std::string reason() {
  return std::strerror(errno);
}

InputError unwritable(const std::string& path, const std::string& why) {
  return InputError(path, "cannot be written: " + why, "check the path, and the space there");
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// The descriptor of this process that a link in /proc stands for (/dev/stdout, /dev/fd/3), or -1. A second
// open of the file behind it would overwrite the output of the descriptor.
int own_descriptor(const std::string& link) {
  std::error_code error;
  const fs::path folder = fs::canonical(folder_of(link), error);
  if (error || folder != fs::canonical("/proc/self/fd", error) || error) return -1;
  return std::atoi(fs::path(link).filename().c_str());
}

// Where a path leads, found before anything is written. With `why_not` the other members mean nothing.
struct Target {
  std::string path = {};               // no link
  std::optional<struct stat> is = {};  // what is there
  int descriptor = -1;                 // an open one of ours, instead
  std::string why_not = {};            // it cannot be written

  bool is_plain() const { return descriptor < 0 && (!is || S_ISREG(is->st_mode)); }
};

// stat() follows links and finds what is at their end; ENOENT is no error: the file is to be made, possibly
// where a link already points. The walk by hand then finds the name of the end, which rename() has to
// replace, since it would replace the link itself. Relative links start at the folder that holds them.
Target target_of(const std::string& path) {
  Target target{.path = path};
  struct stat is = {};
  if (stat(path.c_str(), &is) == 0)
    target.is = is;
  else if (errno != ENOENT)
    return {.why_not = reason()};
  if (target.is && S_ISDIR(is.st_mode)) return {.why_not = "it is a directory"};
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target.path, error)); ++links) {
    target.descriptor = own_descriptor(target.path);
    if (target.descriptor >= 0) return target;
    const fs::path to = fs::read_symlink(target.path, error);
    if (error || links == kMostSymlinks) return {.why_not = "it is a link that leads nowhere"};
    target.path = to.is_absolute() ? to.string() : (fs::path(target.path).parent_path() / to).string();
  }
  if (target.is && access(target.path.c_str(), W_OK) != 0) return {.why_not = reason()};
  return target;
}

// The process has one umask, which can only be read by setting it. Files that another thread makes meanwhile
// are more private, not less.
mode_t mode_of_new_files() {
  const mode_t mask = umask(077);
  umask(mask);
  return 0666 & ~mask;
}

// write() may take a part, or be interrupted by a signal.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// What cannot be replaced. Links have been followed: one that is there now came since, and is not. A terminal
// does not become ours.
void write_directly(const std::string& path, const Target& target, std::string_view text) {
  const int file = target.descriptor >= 0
                       ? dup(target.descriptor)
                       : open(target.path.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  const bool written = file >= 0 && write_all(file, text);
  const std::string why = reason();
  if (file >= 0 && close(file) != 0 && written) throw unwritable(path, reason());
  if (!written) throw unwritable(path, why);
}

// A text on its way to its target. temporary_ names a file of ours that is to be renamed or removed; it is
// empty before that file exists, after it was renamed, and if the target is written directly. An early
// return, or any exception, thus leaves no file behind. What fails in the constructor is removed there: no
// destructor follows.
class Draft {
 public:
  Draft(const std::string& path, std::string_view text)
      : named_(path), target_(target_of(path)), text_(text) {
    if (!target_.why_not.empty()) throw unwritable(named_, target_.why_not);
    if (!target_.is_plain()) return;
    temporary_ = folder_of(target_.path) + "/.chorale-XXXXXX";
    const int file = mkstemp(temporary_.data());
    if (file < 0) {
      const int error = errno;
      temporary_.clear();
      // A writable file in a folder that is not: publish() writes it directly.
      if (target_.is && (error == EACCES || error == EPERM || error == EROFS)) return;
      throw unwritable(named_, std::strerror(error));
    }
    const bool written = take_rights(file) && write_all(file, text_);
    const std::string why = reason();
    const bool closed = close(file) == 0;
    if (written && closed) return;
    const std::string why_not_closed = reason();
    unlink(temporary_.c_str());
    throw unwritable(named_, written ? why_not_closed : why);
  }

  ~Draft() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
    if (is_new_ && !kept_) unlink(target_.path.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // The draft takes its place by rename(), which is atomic within a file system: hence it was made beside its
  // target. If nothing was there before and keep() does not follow, the file goes again.
  void publish() {
    if (temporary_.empty()) {
      write_directly(named_, target_, text_);
    } else {
      if (std::rename(temporary_.c_str(), target_.path.c_str()) != 0) throw unwritable(named_, reason());
      temporary_.clear();
      is_new_ = !target_.is;
    }
  }

  void keep() { kept_ = true; }

 private:
  // Another owner is kept if we may set it; if not, the setuid bits are dropped, so that the file never runs
  // with our rights.
  bool take_rights(int file) const {
    if (!target_.is) return fchmod(file, mode_of_new_files()) == 0;
    const struct stat& is = *target_.is;
    const bool same_owner = fchown(file, is.st_uid, is.st_gid) == 0;
    return fchmod(file, is.st_mode & (same_owner ? 07777 : 0777)) == 0;
  }

  const std::string named_;
  const Target target_;
  const std::string_view text_;
  std::string temporary_ = {};
  bool is_new_ = false, kept_ = false;
};

// Directories that were missing, outermost first; gone again unless they are kept.
class Directories {
 public:
  Directories() = default;
  ~Directories() {
    std::error_code error;
    for (auto at = made_.rbegin(); at != made_.rend(); ++at) fs::remove(*at, error);  // if empty
  }
  Directories(const Directories&) = delete;
  Directories& operator=(const Directories&) = delete;

  // From the outermost that is missing inwards; a path without a folder is in the current one.
  void make(const fs::path& path) {
    std::error_code error;
    if (path.empty() || fs::is_directory(path, error)) return;
    make(path.parent_path());
    if (mkdir(path.c_str(), 0777) != 0) throw unwritable(path.string(), reason());
    made_.push_back(path);
  }

  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_ = {};
};

constexpr std::size_t kMostFileBytes = std::size_t{1} << 30;

[[noreturn]] void refuse_size(const std::string& path) {
  throw InputError(path, "has more than 1 GiB", "no file of Chorale is as large: check the path");
}

}  // namespace

std::vector<NamedText> in_folder(const std::string& folder, std::vector<NamedText> files) {
  for (NamedText& file : files) file.path = folder + "/" + file.path;
  return files;
}

bool names_a_file(std::string_view argument) {
  if (argument.find('/') != argument.npos) return true;
  for (const std::string_view ending : {".json", ".xml", ".txt", ".yml", ".yaml", ".conf"})
    if (argument.ends_with(ending)) return true;
  return false;
}

std::string read_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(path, "is a directory", "name a file");
  if (fs::is_character_file(path, error)) throw InputError(path, "is a device", "name a file");
  if (const auto size = fs::file_size(path, error); !error && size > kMostFileBytes) refuse_size(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path, "cannot be read: " + reason(), "check the path");
  // Part by part: the length of a pipe is not known.
  std::string text;
  std::vector<char> part(1 << 16);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    if (text.size() + static_cast<std::size_t>(file.gcount()) > kMostFileBytes) refuse_size(path);
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw InputError(path, "cannot be read to its end");
  return text;
}

void write_file(const std::string& path, std::string_view text) {
  Draft draft(path, text);
  draft.publish();
  draft.keep();
}

void write_files(const std::vector<NamedText>& files) {
  // All texts are drafted before the first one takes its place, so a disk that is full is noticed while no
  // file has changed. Directories come first here, and go last, when they are empty.
  Directories directories;
  std::vector<std::unique_ptr<Draft>> drafts;
  for (const NamedText& file : files) {
    directories.make(fs::path(file.path).parent_path());
    drafts.push_back(std::make_unique<Draft>(file.path, file.text));
  }
  for (const auto& draft : drafts) draft->publish();
  for (const auto& draft : drafts) draft->keep();
  directories.keep();
}

// The questions that write_file() would ask, in its order, without a trace: no file is made. A full disk
// shows only later.
std::string why_not_writable(const std::string& path) {
  const Target target = target_of(path);
  if (!target.why_not.empty() || !target.is_plain() || target.is) return target.why_not;
  std::error_code error;
  const std::string folder = folder_of(target.path);
  if (!fs::is_directory(folder, error)) return "there is no directory " + folder;
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : "the directory " + folder + " cannot be written to";
}

}  // namespace chorale
