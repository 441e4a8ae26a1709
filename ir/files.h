// Whole files. A file is found as it was or as it is to be, never half-written: texts go to temporary files
// that mkstemp makes beside the real targets, and are renamed when all are written; whatever fails, a full
// disk too, leaves no temporary file behind.
//
// A symbolic link that the user names is resolved first and stays a link, also one to a file that is yet to
// be made. The target keeps its mode, and its owner where we may set it; a new file has what the umask leaves
// of rw-rw-rw-. What cannot be replaced is written directly: devices, FIFOs, what /dev/stdout and /dev/fd
// name, and a writable file in a directory that is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chorale {

struct NamedText {
  std::string path = {};
  std::string text = {};
};

// Returns the files as they are to lie in a folder.
std::vector<NamedText> in_folder(const std::string& folder, std::vector<NamedText> files);

// Whether an argument that may also be a name stands for a file: it contains a '/', or ends in .json, .xml,
// .txt, .yml, .yaml or .conf.
bool names_a_file(std::string_view argument);

// Throws InputError where the file cannot be read, is a device, or has more than 1 GiB (a pipe, too).
std::string read_file(const std::string& path);

// Throws InputError where the file cannot be written.
void write_file(const std::string& path, std::string_view text);

// All of them or none; directories that are missing are made, and removed again with the files if one fails.
// (Files that were there before and were replaced already stay replaced: only a failing rename leads there.)
void write_files(const std::vector<NamedText>& files);

// Returns why a file of this path could not be written, to be asked before long work; empty: it can.
std::string why_not_writable(const std::string& path);

}  // namespace chorale
