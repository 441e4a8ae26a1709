// A folder for programs of others that a job runs; it is removed with all that is in it.
#pragma once

#include <atomic>
#include <string>

namespace chorale {

class WorkFolder {
 public:
  // Made in `where`, or, if that is "", in the system's folder for temporary files. Throws InputError, which
  // cites `what`, where that is not possible.
  WorkFolder(const std::string& what, const std::string& where);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

  // Of the shell, in the folder. Did it succeed? What it prints is in the files `out` and `err`. Ended, with
  // what it has started, once `stop` is true.
  bool run(const std::string& command, const std::atomic<bool>* stop = nullptr) const;

  std::string text(const std::string& name) const;  // "": there is no such file
  // The first line that reports an error, in printable characters; otherwise the last line printed.
  std::string complaint() const;

 private:
  std::string path_ = {};
};

// One word of a shell's command line.
std::string quoted_for_shell(const std::string&);

// Is there a program of that name?
bool has_program(const std::string& name);

}  // namespace chorale
